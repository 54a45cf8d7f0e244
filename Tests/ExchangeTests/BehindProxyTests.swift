import Bytes
import EventLoop
import Fixtures
import Foundation
import Gate
import HTTP
import SimulatedDevice
import Testing

@testable import Exchange

/// What a trusted proxy's word changes, and what it never changes; and WebSocket through the gate itself.
@Suite struct BehindProxyTests {
  private static let loopback = TrustedPeers(networks: [IPNetwork(IPAddress(ipv4: 0x7F00_0000), prefixBits: 8)!])

  /// The fields of a request whose client data names this host besides.
  private static func fields(_ app: TestApp, host: String, at gate: TestGate) throws -> String {
    var clientData = ClientData()
    clientData.challenge = try gate.exchange("GET /assert/challenge HTTP/1.1\r\nHost: a\r\n\r\n").text
    clientData.method = "GET"
    clientData.path = "/v1"
    clientData.host = host
    let encoded = clientData.encoded
    let assertion = Data(app.device.assert(clientData: encoded)).base64EncodedString()
    return "X-App-Attest-Assertion: \(assertion)\r\nX-App-Attest-Client-Data: \(Data(encoded).base64EncodedString())\r\n"
  }

  @Test func theDefaultPortOfABoundHostIsThatOfTheClientsScheme() async throws {
    let app = try TestApp()
    try await TestGate.run({ site in
      site.listeners[0].trustedPeers = Self.loopback
      site.routes = [try .route("/**") { $0.binding = [.method, .path, .host] }]
      app.admit(to: &site)
    }) { gate, _ in
      #expect(try app.enroll(at: gate).status == 200)
      for (scheme, host, port, status) in [
        ("X-Forwarded-Proto: https\r\n", "api.example.com", 443, 200), ("X-Forwarded-Proto: http\r\n", "api.example.com", 443, 403),
        ("", "api.example.com", 80, 200), ("X-Forwarded-Proto: https\r\n", "api.example.com:80", 80, 200),
      ] {
        let fields = try Self.fields(app, host: host, at: gate)
        let answer = try gate.exchange("GET /v1 HTTP/1.1\r\nHost: api.example.com:\(port)\r\n\(scheme)\(fields)\r\n")
        if status == 200 { #expect(answer.status == 200, "\(answer)") } else { #expect(400..<500 ~= answer.status, "\(answer)") }
      }
    }
  }

  @Test func ratesByAddressCountTheClientsBehindATrustedProxyOneByOne() async throws {
    try await TestGate.run({ site in
      site.listeners[0].trustedPeers = Self.loopback
      site.routes[0].addressRate = Rate(1, per: .hour)
    }) { gate, _ in
      func status(of client: String) throws -> Int {
        try gate.exchange("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: \(client)\r\n\r\n").status
      }
      // Who prepends somebody else's address stays who he is.
      let clients = ["203.0.113.1", "203.0.113.1", "203.0.113.2", "203.0.113.3, 203.0.113.1"]
      let answers = try clients.map(status)
      #expect(answers == [200, 429, 200, 429])
    }
  }

  @Test func aPeerWhoIsNotTrustedCannotChooseWhoHeIs() async throws {
    try await TestGate.run({ $0.routes[0].addressRate = Rate(1, per: .hour) }) { gate, _ in
      let first = try gate.exchange("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.1\r\n\r\n")
      let second = try gate.exchange("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.2\r\n\r\n")
      #expect(first.status == 200 && second.status == 429)
    }
  }

  @Test func aVerifiedHandshakeBecomesATunnel() async throws {
    let app = try TestApp()
    try await TestGate.run(
      script: { exchange in
        try exchange.send(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
        while case let bytes = try exchange.connection.readSome(), !bytes.isEmpty { try exchange.connection.send(bytes) }
        exchange.close()
      },
      { site in
        site.routes = [try .route("/**") { _ in }]
        site.routes[0].passesWebSocket = true
        app.admit(to: &site)
      }
    ) { gate, upstream in
      #expect(try app.enroll(at: gate).status == 200)
      let fields = try app.sign("GET", "/v1", at: gate)
      let request =
        "GET /v1 HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        + "Sec-WebSocket-Version: 13\r\n\(fields)\r\n"
      let client = try gate.connect()
      try client.send(request)
      #expect(try client.readAnswerHead().status == 101)
      try client.send("frame")
      #expect(try client.readExactly(5) == Array("frame".utf8))
      #expect(gate.metric("attestgate_tunnels") == 1)
      client.closeWriting()
      #expect(try client.readToEnd().isEmpty)
      #expect(upstream.requests[0].message.value("X-App-Attest-Status") == "verified")
      // A handshake is a request like any other: it cannot be played again.
      let replay = try gate.exchange(request)
      #expect(400..<500 ~= replay.status)
      #expect(upstream.requests.count == 1)
    }
  }
}
