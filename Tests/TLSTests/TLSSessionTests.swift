import Bytes
import COpenSSL
import EventLoop
import Fixtures
import Testing

@testable import TLS

@Suite struct TLSSessionTests {
  let authority: CertificateAuthority
  let issued: CertificateAuthority.Issued

  init() throws {
    authority = try CertificateAuthority()
    issued = try authority.issue("api", names: ["api.example.com"])
  }

  private func server(_ minimum: TLSVersion = .tls12) throws -> TLSServer {
    var settings = TLSServerSettings()
    settings.minimumVersion = minimum
    return try TLSServer([TLSIdentity(certificate: issued.certificate, privateKey: issued.key)], settings: settings, tickets: TicketKeys())
  }

  private func client(_ name: String = "api.example.com") throws -> TLSClient {
    try TLSClient(TLSClientIdentity(authorities: authority.certificate, identity: nil), name: name, offersHTTP: true)
  }

  @Test func bytesPassBothWaysEncrypted() async throws {
    try await TLSStage.run { stage in
      let pair = try await stage.secured(server(), client())
      #expect(pair.atServer.version == .tls13)
      #expect(!pair.atServer.isResumed)
      #expect(try await stage.send("GET / HTTP/1.1", from: pair.client, to: pair.server) == "GET / HTTP/1.1")
      #expect(try await stage.send("HTTP/1.1 200 OK", from: pair.server, to: pair.client) == "HTTP/1.1 200 OK")
    }
  }

  @Test(arguments: [1, 16_384, 16_385, 3_000_000]) func anyNumberOfBytesArrivesWhole(count: Int) async throws {
    try await TLSStage.run { stage in
      let pair = try await stage.secured(server(), client())
      let text = String(repeating: "0123456789", count: (count + 9) / 10)
      #expect(try await stage.send(text, from: pair.server, to: pair.client) == text)
    }
  }

  @Test func twoQueuesLeaveInTheirOrder() async throws {
    try await TLSStage.run { stage in
      let pair = try await stage.secured(server(), client())
      var head = ByteQueue()
      var body = ByteQueue()
      head.append("head;")
      body.append(String(repeating: "body;", count: 10_000))
      var read = ByteQueue()
      while read.count < 50_005 {
        _ = pair.server.write(from: &head, then: &body)
        if case .wouldBlock = pair.client.read(into: &read) { _ = await stage.loop.wait(for: .readable(pair.client), until: stage.soon) }
      }
      #expect(String(decoding: read.copied(), as: UTF8.self) == "head;" + String(repeating: "body;", count: 10_000))
    }
  }

  @Test func nothingIsReadableOnceEverythingIsRead() async throws {
    try await TLSStage.run { stage in
      let pair = try await stage.secured(server(), client())
      _ = try await stage.send("answer", from: pair.server, to: pair.client)
      // The tickets that came with the answer are no news for the user.
      #expect(!pair.client.hasSomethingToRead)
      _ = try await stage.send("more", from: pair.server, to: pair.client, count: 4)
      #expect(!pair.client.hasSomethingToRead)
    }
  }

  @Test func bytesLeftInsideTheLayerKeepTheSocketReadable() async throws {
    try await TLSStage.run { stage in
      let pair = try await stage.secured(server(), client())
      var output = ByteQueue()
      output.append("first")
      _ = pair.server.write(from: &output)
      output.append("second")
      _ = pair.server.write(from: &output)
      _ = await stage.loop.wait(for: .readable(pair.client), until: stage.soon)
      await stage.loop.sleep(until: stage.loop.now.advanced(byMilliseconds: 20))
      var input = ByteQueue()
      while input.count < 11 {
        #expect(pair.client.hasSomethingToRead)
        guard case .bytes = pair.client.read(into: &input) else { break }
      }
      #expect(String(decoding: input.copied(), as: UTF8.self) == "firstsecond")
    }
  }

  @Test func aClosedSocketLetsGoOfWhatEncryptedIt() async throws {
    try await TLSStage.run { stage in
      let ends = try await stage.pair()
      weak let session = try server().secure(ends.server)
      #expect(session != nil)
      ends.server.close()
      // The socket itself may be kept for longer, by a timer that was set for it.
      #expect(session == nil)
      #expect(!ends.server.isOpen)
    }
  }

  @Test func anOrderlyEndIsToldFromATruncation() async throws {
    try await TLSStage.run { stage in
      var input = ByteQueue()
      let orderly = try await stage.secured(server(), client())
      _ = try await stage.send("x", from: orderly.server, to: orderly.client)
      orderly.server.close()
      _ = await stage.loop.wait(for: .readable(orderly.client), until: stage.soon)
      #expect(orderly.client.read(into: &input) == .end)

      let truncated = try await stage.secured(server(), client())
      _ = try await stage.send("x", from: truncated.server, to: truncated.client)
      truncated.server.shutDownBelowTheLayer()
      _ = await stage.loop.wait(for: .readable(truncated.client), until: stage.soon)
      #expect(truncated.client.read(into: &input) == .failed(KernelError.brokenProtocol))
      #expect(truncated.atClient.failure?.side == .network)
    }
  }

  @Test(arguments: [1, 16_384, 300_000]) func theEndLeavesWithTheLastOfTheAnswer(count: Int) async throws {
    try await TLSStage.run { stage in
      let pair = try await stage.secured(server(), client())
      let answer = String(repeating: "0123456789", count: (count + 9) / 10)
      pair.server.expectEnd()
      #expect(try await stage.send(answer, from: pair.server, to: pair.client) == answer)
      // Nobody has closed anything yet.
      var input = ByteQueue()
      _ = await stage.loop.wait(for: .readable(pair.client), until: stage.soon)
      #expect(pair.client.read(into: &input) == .end)
      // What the peer still says is heard, and the end is said once.
      #expect(try await stage.send("more", from: pair.client, to: pair.server) == "more")
      pair.server.close()
      #expect(pair.client.read(into: &input) == .end)
      #expect(pair.atClient.failure == nil)
    }
  }

  @Test func aRecordThatIsHeldBackCannotBeReplaced() async throws {
    try await TLSStage.run { stage in
      let pair = try await stage.secured(server(), client())
      #expect(!pair.server.hasUnfinishedWrite)
      var output = ByteQueue()
      repeat { output.append(String(repeating: "x", count: 1 << 20)) } while pair.server.write(from: &output) == .complete
      #expect(pair.server.hasUnfinishedWrite)
      var input = ByteQueue()
      while !output.isEmpty {
        input.removeAll()
        if case .wouldBlock = pair.client.read(into: &input) { _ = await stage.loop.wait(for: .readable(pair.client), until: stage.soon) }
        _ = pair.server.write(from: &output)
      }
      #expect(!pair.server.hasUnfinishedWrite)
    }
  }

  @Test func garbageEndsTheConnectionAndIsThePeersFault() async throws {
    try await TLSStage.run { stage in
      let ends = try await stage.pair()
      let session = try #require(try server().secure(ends.server))
      var garbage = ByteQueue()
      garbage.append("GET / HTTP/1.1\r\nHost: plain\r\n\r\n")
      _ = ends.client.write(from: &garbage)
      await #expect(throws: TLSFailure(.peer, "http request")) { try await session.handshake(on: stage.loop, until: stage.soon) }
    }
  }

  @Test func aHandshakeThatDoesNotComeEndsInTime() async throws {
    try await TLSStage.run { stage in
      let ends = try await stage.pair()
      let session = try #require(try server().secure(ends.server))
      let error = await #expect(throws: TLSFailure.self) {
        try await session.handshake(on: stage.loop, until: stage.loop.now.advanced(byMilliseconds: 30))
      }
      #expect(error?.side == .time)
      ends.client.close()
    }
  }

  @Test func aFloodOfKeyUpdatesEndsTheConnection() async throws {
    try await TLSStage.run { stage in
      let pair = try await stage.secured(server(), client())
      _ = try await stage.send("x", from: pair.client, to: pair.server)
      var input = ByteQueue()
      var outcome = ReadOutcome.wouldBlock
      var updates = 0
      while outcome == .wouldBlock && updates < 20_000 {
        for _ in 0..<100 {
          _ = SSL_key_update(pair.atClient.ssl, SSL_KEY_UPDATE_NOT_REQUESTED)
          _ = SSL_do_handshake(pair.atClient.ssl)
        }
        updates += 100
        _ = await stage.loop.wait(for: .readable(pair.server), until: stage.loop.now.advanced(byMilliseconds: 50))
        outcome = pair.server.read(into: &input)
      }
      #expect(outcome == .failed(KernelError.brokenProtocol))
      #expect(updates <= 8_000)
      #expect(pair.atServer.failure?.reason == "too much came without any data in it")
    }
  }

  @Test func smallRecordsAreNoFlood() async throws {
    try await TLSStage.run { stage in
      let pair = try await stage.secured(server(), client())
      for _ in 0..<5_000 { #expect(try await stage.send("x", from: pair.client, to: pair.server) == "x") }
    }
  }

  @Test func whatWasReadBeforeTLSBelongsToIt() async throws {
    try await TLSStage.run { stage in
      let pair = try await stage.secured(server(), client(), readsBefore: true)
      #expect(try await stage.send("GET / HTTP/1.1", from: pair.client, to: pair.server) == "GET / HTTP/1.1")
    }
  }
}
