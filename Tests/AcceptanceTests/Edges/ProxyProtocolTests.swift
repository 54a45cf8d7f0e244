import Fixtures
import Glibc
import Testing

/// Connections that begin with a PROXY header.
@Suite struct ProxyProtocolTests {
  static let listener = ["proxy_protocol: true", "trusted_proxies: [127.0.0.1]", "head_timeout: 300ms"]
  static let patient = ["proxy_protocol: true", "trusted_proxies: [127.0.0.1]"]
  static let line = Array("PROXY TCP4 203.0.113.9 192.0.2.2 56324 443\r\n".utf8)
  static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
  static let addresses: [UInt8] = [203, 0, 113, 9, 192, 0, 2, 2, 0xDC, 0x04, 0x01, 0xBB]
  static let request = Array("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n".utf8)

  static func binary(_ command: UInt8, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
    signature + [command, family, 0, UInt8(rest.count)] + rest
  }

  @Test func theClientIsWhomTheHeaderNames() throws {
    try withProxy(listener: Self.patient) { gate, upstream in
      let headers = [
        Self.line, Self.binary(0x21, 0x11, Self.addresses), Self.binary(0x21, 0x11, Self.addresses + [0x20, 0, 5, 1, 0, 0, 0, 0]),
        Self.binary(0x20, 0, []), Array("PROXY UNKNOWN\r\n".utf8),
      ]
      for header in headers {
        let client = try gate.connect()
        try client.send(header + Self.request)
        #expect(try client.readAnswer().status == 200)
        // The header holds for the whole connection, also when that has rested.
        usleep(150_000)
        try client.send(Self.request)
        #expect(try client.readAnswer().status == 200)
      }
      // Whom the header names is not himself trusted: what he says of others is replaced. Of a local connection the socket's address
      // holds, which is trusted.
      let chains = upstream.requests.map { $0.message.values("X-Forwarded-For") }
      #expect(chains == [[String]](repeating: ["203.0.113.9"], count: 6) + [[String]](repeating: ["6.6.6.6, 127.0.0.1"], count: 4))
      let schemes = upstream.requests.map { $0.message.value("X-Forwarded-Proto") }
      #expect(schemes == ["http", "http", "http", "http", "https", "https", "http", "http", "http", "http"])
      let clients = try gate.accessLog(count: 10).map { $0["client"] }
      #expect(clients == [String](repeating: "203.0.113.9", count: 6) + [String](repeating: "6.6.6.6", count: 4))
    }
  }

  @Test func aHeaderMayComeInTwoPiecesCutAnywhere() throws {
    try withProxy(listener: Self.patient) { gate, _ in
      var count = 0
      for header in [Self.line, Self.binary(0x21, 0x11, Self.addresses)] {
        let whole = header + Self.request
        for cut in 1...header.count {
          let client = try gate.connect()
          try client.send(Array(whole[..<cut]))
          // A connection of another client in between, so that the first piece has been read for certain.
          if cut % 8 == 0 {
            let other = try gate.connect()
            try other.send(header + Self.request)
            #expect(try other.readAnswer().status == 200)
            count += 1
          }
          try client.send(Array(whole[cut...]))
          #expect(try client.readAnswer().status == 200, "cut at \(cut)")
          count += 1
        }
      }
      #expect(try gate.accessLog(count: count).allSatisfy { $0["client"] == "203.0.113.9" })
    }
  }

  @Test(arguments: [
    ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "signature"), ("PROXY TCP4 1.2.3.4 5.6.7.8 1\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "line"),
    ("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "line"),
    ("PROXY UNKNOWN \(String(repeating: "a", count: 200))", "too_long"),
  ])
  func whatIsNoHeaderEndsTheConnection(bytes: String, reason: String) throws {
    try withProxy(listener: Self.patient) { gate, upstream in
      let client = try gate.connect()
      try client.send(bytes)
      #expect(try client.endsNow())
      #expect(upstream.requests.isEmpty)
      #expect(try gate.metric("attestgate_proxy_headers_refused_total", ["reason": reason]) == 1)
    }
  }

  @Test func aHeaderThatDoesNotEndInTimeEndsTheConnection() throws {
    try withProxy(listener: Self.listener) { gate, _ in
      let client = try gate.connect()
      try client.send("PROXY TCP4 ")
      #expect(try client.endsNow())
      #expect(try gate.metric("attestgate_proxy_headers_refused_total", ["reason": "timeout"]) == 1)
    }
  }

  @Test func aPeerWhoIsNotTrustedIsNotHeard() throws {
    try withProxy(listener: ["proxy_protocol: true", "trusted_proxies: [10.0.0.0/8]"]) { gate, upstream in
      let client = try gate.connect()
      #expect(try client.endsNow())
      #expect(upstream.requests.isEmpty)
      #expect(try gate.metric("attestgate_proxy_headers_refused_total", ["reason": "untrusted"]) == 1)
    }
  }

  @Test func aConnectionWithoutAnythingDoesNotHoldTheDrainingUp() throws {
    try withProxy(listener: Self.patient) { gate, _ in
      let silent = try gate.connect()
      let other = try gate.connect()
      try other.send(Self.line + Self.request)
      #expect(try other.readAnswer().status == 200)
      gate.process.signal(15)
      #expect(gate.process.wait(milliseconds: 8_000) == .exited(0))
      silent.close()
    }
  }
}
