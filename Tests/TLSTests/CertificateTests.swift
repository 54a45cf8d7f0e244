import EventLoop
import Fixtures
import Testing

@testable import TLS

@Suite struct CertificateTests {
  let authority: CertificateAuthority

  init() throws { authority = try CertificateAuthority() }

  private func identity(_ issued: CertificateAuthority.Issued) throws -> TLSIdentity {
    try TLSIdentity(certificate: issued.certificate, privateKey: issued.key)
  }

  private func client(_ name: String, _ identity: TLSIdentity? = nil) throws -> TLSClient {
    try TLSClient(TLSClientIdentity(authorities: authority.certificate, identity: identity), name: name, offersHTTP: true)
  }

  @Test func theClientsNameChoosesTheCertificate() async throws {
    let shop = try identity(authority.issue("shop", names: ["shop.example.com"]))
    let wild = try identity(authority.issue("wild", names: ["*.example.org"]))
    try await TLSStage.run { stage in
      let server = try TLSServer([shop, wild], tickets: TicketKeys())
      for (name, digest) in [("shop.example.com", shop), ("a.example.org", wild)] {
        let pair = try await stage.secured(server, client(name))
        #expect(pair.atClient.peerSubject == "CN=\(digest.names[0])")
      }
    }
  }

  @Test func aServerForAnotherNameIsRefused() async throws {
    let shop = try identity(authority.issue("shop", names: ["shop.example.com"]))
    try await TLSStage.run { stage in
      let failures = await #expect(throws: HandshakeFailures.self) {
        _ = try await stage.secured(TLSServer([shop], tickets: TicketKeys()), client("pay.example.com"))
      }
      #expect(
        failures?.client?.reason
          == "the certificate does not hold: hostname mismatch (it is not for pay.example.com but for shop.example.com; "
          + "tls.server_name names another, where that is right)")
      #expect(failures?.server.side == .peer)
    }
  }

  @Test func aNameThatWouldWriteToATerminalIsNotRepeated() async throws {
    let odd = try identity(authority.issue("odd", names: ["a\u{1B}[2J.example.com", "shop.example.com"], commonName: "odd"))
    #expect(odd.names.count == 2)
    try await TLSStage.run { stage in
      let failures = await #expect(throws: HandshakeFailures.self) {
        _ = try await stage.secured(TLSServer([odd], tickets: TicketKeys()), client("pay.example.com"))
      }
      #expect(failures?.client?.reason.contains("not for pay.example.com but for shop.example.com;") == true)
    }
  }

  @Test func aServerOfAnUnknownAuthorityIsRefused() async throws {
    let stranger = try CertificateAuthority(name: "Stranger")
    let shop = try identity(stranger.issue("shop", names: ["shop.example.com"]))
    try await TLSStage.run { stage in
      let failures = await #expect(throws: HandshakeFailures.self) {
        _ = try await stage.secured(TLSServer([shop], tickets: TicketKeys()), client("shop.example.com"))
      }
      let reason = failures?.client?.reason ?? ""
      #expect(reason.hasPrefix("the certificate does not hold"))
      #expect(reason.hasSuffix(" (signed by CN=Stranger; tls.ca does not lead there)"))
    }
  }

  @Test func aKeyOfACertificateFurtherDownTellsThatTheOrderIsWrong() throws {
    let shop = try authority.issue("shop", names: ["shop.example.com"])
    let leaf = Array(authority.folder.read("shop.leaf").utf8)
    let failure = #expect(throws: TLSFailure.self) { try TLSIdentity(certificate: authority.certificate + leaf, privateKey: shop.key) }
    #expect(
      failure?.reason == "the private key is that of certificate 2 of the file; put that one first, and behind it those that signed it")
  }

  @Test func aKeyInTheCertificatesPlaceIsSaid() throws {
    let shop = try authority.issue("shop", names: ["shop.example.com"])
    let failure = #expect(throws: TLSFailure.self) { try TLSIdentity(certificate: shop.key, privateKey: shop.certificate) }
    #expect(failure?.reason == "there is no certificate in PEM form but a private key; are the two files exchanged?")
  }

  @Test func aChainThatDoesNotLeadToItsAuthorityIsNoticed() throws {
    let shop = try authority.issue("shop", names: ["shop.example.com"])
    let leaf = Array(authority.folder.read("shop.leaf").utf8)
    #expect(try TLSIdentity(certificate: shop.certificate, privateKey: shop.key).missingIssuer == nil)
    #expect(try TLSIdentity(certificate: leaf, privateKey: shop.key).missingIssuer == "CN=Test authority")
    let stranger = try CertificateAuthority(name: "Stranger")
    #expect(try TLSIdentity(certificate: leaf + stranger.certificate, privateKey: shop.key).missingIssuer == "CN=Test authority")
    let own = try TLSIdentity(certificate: authority.certificate, privateKey: CertificateAuthority.bytes(authority.folder.file("ca.key")))
    #expect(own.missingIssuer == nil)
  }

  @Test func anAddressIsVerifiedAsAnAddress() async throws {
    let local = try identity(authority.issue("local", names: ["IP:127.0.0.1"]))
    try await TLSStage.run { stage in
      let server = try TLSServer([local], tickets: TicketKeys())
      _ = try await stage.secured(server, client("127.0.0.1"))
      await #expect(throws: HandshakeFailures.self) { _ = try await stage.secured(server, client("127.0.0.2")) }
    }
  }

  @Test func certificatesWithBothKindsOfKeysStandSideBySide() throws {
    let rsa = try identity(authority.issue("rsa", names: ["a.example.com", "b.example.com"], key: .rsa(2048)))
    let curve = try identity(authority.issue("curve", names: ["a.example.com"]))
    var choice = IdentityChoice([rsa, curve])
    #expect(choice.standIn() == 0)
    let names = choice.byName()
    #expect(choice.sets[names["a.example.com"] ?? 9] == [0, 1])
    #expect(choice.sets[names["b.example.com"] ?? 9] == [0])
    #expect(rsa.keyKind == .rsa)
    #expect(curve.keyKind == .ellipticCurve)
  }

  @Test func aClientMayShowACertificateAndOneOfAnotherAuthorityEndsTheHandshake() async throws {
    let shop = try identity(authority.issue("shop", names: ["shop.example.com"]))
    let device = try identity(authority.issue("device", names: ["device-7"]))
    let strangers = try CertificateAuthority(name: "Stranger")
    let stranger = try identity(strangers.issue("device", names: ["device-7"]))
    var settings = TLSServerSettings()
    settings.clientAuthorities = authority.certificate
    let demanding = settings
    try await TLSStage.run { stage in
      let server = try TLSServer([shop], settings: demanding, tickets: TicketKeys())
      let known = try await stage.secured(server, client("shop.example.com", device))
      #expect(known.atServer.peerSubject == "CN=device-7")
      #expect(known.atServer.peerFingerprint?.count == 32)
      let nobody = try await stage.secured(server, client("shop.example.com"))
      #expect(nobody.atServer.peerFingerprint == nil)
      await #expect(throws: (any Error).self) { _ = try await stage.secured(server, client("shop.example.com", stranger)) }
    }
  }

  @Test func aSessionGoesOnByItsTicketWithNewCertificatesToo() async throws {
    let first = try identity(authority.issue("first", names: ["shop.example.com"]))
    let second = try identity(authority.issue("second", names: ["shop.example.com"]))
    try await TLSStage.run { stage in
      let tickets = TicketKeys()
      let client = try client("shop.example.com")
      for (index, identity) in [first, first, second].enumerated() {
        let pair = try await stage.secured(TLSServer([identity], tickets: tickets), client)
        #expect(pair.atServer.isResumed == (index > 0))
        // The tickets come with the first bytes.
        _ = try await stage.send("x", from: pair.server, to: pair.client)
      }
    }
  }

  @Test func everyConnectionIsVerifiedAnewWhereClientsAreVerified() async throws {
    let shop = try identity(authority.issue("shop", names: ["shop.example.com"]))
    let device = try identity(authority.issue("device", names: ["device-7"]))
    let others = try CertificateAuthority(name: "Others")
    var settings = [TLSServerSettings(), TLSServerSettings(), TLSServerSettings()]
    settings[0].clientAuthorities = authority.certificate
    settings[1].clientAuthorities = authority.certificate
    settings[2].clientAuthorities = others.certificate + authority.certificate
    let ofServers = settings
    try await TLSStage.run { stage in
      let tickets = TicketKeys()
      let client = try client("shop.example.com", device)
      for (index, settings) in ofServers.enumerated() {
        let pair = try await stage.secured(TLSServer([shop], settings: settings, tickets: tickets), client)
        #expect(!pair.atServer.isResumed, "\(index)")
        #expect(pair.atServer.peerSubject == "CN=device-7")
        _ = try await stage.send("x", from: pair.server, to: pair.client)
      }
    }
  }

  @Test func ticketKeysAreReplacedAndOldOnesOpenForAWhile() throws {
    let keys = TicketKeys()
    let first = try #require(keys.sealing(at: 0))
    #expect(keys.sealing(at: TicketKeys.sealingSeconds - 1)?.name == first.name)
    let second = try #require(keys.sealing(at: TicketKeys.sealingSeconds))
    #expect(second.name != first.name)
    #expect(keys.opening(first.name, at: TicketKeys.sealingSeconds)?.seals == false)
    #expect(keys.opening(second.name, at: TicketKeys.sealingSeconds)?.seals == true)
    #expect(keys.opening(first.name, at: TicketKeys.sealingSeconds * 3) == nil)
  }

  @Test func aKeyOfAnotherCertificateIsRefused() throws {
    let one = try authority.issue("one", names: ["a.example.com"])
    let other = try authority.issue("other", names: ["a.example.com"])
    #expect(throws: TLSFailure(.ours, "the private key is another certificate's")) {
      _ = try TLSIdentity(certificate: one.certificate, privateKey: other.key)
    }
    #expect(throws: TLSFailure(.ours, "there is no certificate in PEM form")) {
      _ = try TLSIdentity(certificate: [], privateKey: one.key)
    }
    #expect(throws: TLSFailure(.ours, "there is no private key in PEM form without a passphrase")) {
      _ = try TLSIdentity(certificate: one.certificate, privateKey: one.certificate)
    }
    let weak = try authority.issue("weak", names: ["a.example.com"], key: .rsa(1024))
    #expect(throws: TLSFailure(.ours, "the key is neither RSA of 2048 bits or more, ECDSA nor Ed25519")) { _ = try identity(weak) }
  }

  @Test func ofManyNamesOnlyTheFirstAreTold() throws {
    let names = (0..<500).map { "n\($0).example.com" }
    let many = try identity(authority.issue("many", names: names))
    #expect(many.names == names)
    #expect(CertificateNames.served(by: many.certificate, atMost: 3) == Array(names.prefix(3)))
  }

  @Test func expiryAndNamesAreRead() throws {
    let identity = try identity(authority.issue("a", names: ["A.example.com", "*.example.org"], days: 10))
    #expect(identity.names == ["a.example.com", "*.example.org"])
    #expect(abs(identity.notAfter - WallClock.unixSeconds - 10 * 86_400) < 60)
  }
}
