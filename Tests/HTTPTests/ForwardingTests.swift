import Bytes
import HTTP
import Testing

private func address(_ text: String) -> IPAddress { IPAddress(Array(text.utf8).span)! }

private func request(_ lines: String) -> RequestHead { RequestHead.parsed("GET / HTTP/1.1\r\nHost: h\r\n\(lines)\r\n") }

private let trusted = TrustedPeers(networks: [IPNetwork(address("10.0.0.0"), prefixBits: 8)!, IPNetwork(address("fd00::"), prefixBits: 8)!])

private func forwarding(_ lines: String) -> ForwardingOutcome { request(lines).forwarding(trusting: trusted) }

private func believed(client: IPAddress? = nil, isTLS: Bool? = nil) -> ForwardingOutcome {
  var forwarding = Forwarding()
  forwarding.client = client
  forwarding.isTLS = isTLS
  return .believed(forwarding)
}

private func client(_ value: String) -> IPAddress? {
  guard case .believed(let forwarding) = forwarding("X-Forwarded-For: \(value)\r\n") else { return nil }
  return forwarding.client
}

@Suite struct ForwardingTests {
  @Test(arguments: [
    ("203.0.113.9", "203.0.113.9"), ("6.6.6.6, 203.0.113.9", "203.0.113.9"), ("6.6.6.6, 203.0.113.9, 10.0.0.5", "203.0.113.9"),
    ("6.6.6.6,203.0.113.9,10.0.0.5 , fd00::1", "203.0.113.9"), ("10.0.0.1, 10.0.0.2", "10.0.0.1"), ("2001:db8::1, 10.0.0.2", "2001:db8::1"),
    ("203.0.113.9:4711, 10.0.0.2:80", "203.0.113.9"), ("[2001:db8::1]:4711", "2001:db8::1"), ("[2001:db8::1]", "2001:db8::1"),
    ("::ffff:203.0.113.9", "203.0.113.9"), ("unknown, 203.0.113.9", "203.0.113.9"), ("203.0.113.9, unknown, 10.0.0.2", "10.0.0.2"),
  ])
  func theClientIsTheFirstFromTheRightThatIsNotTrusted(chain: String, expected: String) {
    #expect(client(chain) == address(expected))
  }

  @Test func severalFieldsAreOneChain() {
    let lines = "X-Forwarded-For: 6.6.6.6\r\nX-Other: 1\r\nX-Forwarded-For: 203.0.113.9, 10.1.1.1\r\n"
    #expect(forwarding(lines) == believed(client: address("203.0.113.9")))
  }

  @Test(arguments: [
    "", ",", "203.0.113.9,", ", 203.0.113.9", "a", "203.0.113", "203.0.113.9;10.0.0.1", "for=203.0.113.9", "203.0.113.9 10.0.0.1",
    "203.0.113.9:99999", "2001:db8::1:4711:x", "[203.0.113.9]", "fe80::1%eth0", "\"203.0.113.9\"", "localhost", "garbage, 203.0.113.9",
  ])
  func whatIsNoChainOfAddressesIsRefused(value: String) {
    #expect(forwarding("X-Forwarded-For: \(value)\r\n") == .refused(.forwardedForMalformed))
  }

  @Test func aChainThatIsTooLongIsALoop() {
    let chain = [String](repeating: "10.0.0.1", count: 33).joined(separator: ", ")
    #expect(forwarding("X-Forwarded-For: \(chain)\r\n") == .refused(.forwardingLoop))
  }

  @Test func theSchemeTellsWhetherTheClientSpokeTLS() {
    for (scheme, isTLS) in [("https", true), ("HTTPS", true), ("wss", true), ("http", false), ("ws", false)] {
      #expect(forwarding("X-Forwarded-Proto: \(scheme)\r\n") == believed(isTLS: isTLS))
    }
    for lines in [
      "X-Forwarded-Proto: ftp\r\n", "X-Forwarded-Proto: https, http\r\n", "X-Forwarded-Proto: https\r\nX-Forwarded-Proto: https\r\n",
    ] {
      #expect(forwarding(lines) == .refused(.forwardedProtoMalformed))
    }
  }

  @Test func anIdentifierIsTakenOverWhenItCanStandInALogAsItIs() {
    func identifier(_ lines: String) -> String? {
      let head = request(lines)
      guard case .believed(let forwarding) = head.forwarding(trusting: trusted) else { return nil }
      return forwarding.requestID.map(head.text)
    }
    #expect(identifier("X-Request-Id: 7f3a-_.:/+=@Z\r\n") == "7f3a-_.:/+=@Z")
    for lines in [
      "", "X-Request-Id: \r\n", "X-Request-Id: a\"b\r\n", "X-Request-Id: a b\r\n", "X-Request-Id: a\r\nX-Request-Id: b\r\n",
      "X-Request-Id: \(String(repeating: "a", count: 129))\r\n",
    ] { #expect(identifier(lines) == nil, "\(lines)") }
  }

  private let fields = [
    "X-Forwarded-Proto: https", "X-Forwarded-Host: a.example", "X-Forwarded-Port: 443", "X-Forwarded-Prefix: /p", "X-Forwarded-Server: s",
    "X-Forwarded-Uri: /u", "X-Forwarded-Method: PUT", "X-Real-IP: 6.6.6.6", "Forwarded: for=6.6.6.6",
  ]

  @Test func theFieldsOfAPeerWhoIsNotTrustedAllGo() {
    let head = request((fields + ["X-Forwarded-For: 6.6.6.6", "X-Request-Id: a", "X-Original-URL: /x"]).map { "\($0)\r\n" }.joined())
    #expect(head.written() == "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
  }

  @Test func theFieldsOfATrustedPeerArePassedOnButForThoseThatAreWrittenAnew() {
    let lines = (fields + ["X-Forwarded-For: 6.6.6.6", "X-Request-Id: a", "X-Original-URL: /x", "X-Rewrite-URL: /x", "X_Real_IP: 1"])
    let head = request(lines.map { "\($0)\r\n" }.joined())
    #expect(head.prepareFields(FieldPolicy(), believesForwarding: true) == nil)
    var output = ByteQueue()
    head.writeUpstream(to: &output, host: .addedByCaller, framing: .none, changes: .none)
    #expect(output.text == "GET / HTTP/1.1\r\n" + fields.map { "\($0)\r\n" }.joined())
  }

  @Test func whatTheUpstreamsSettingsReplaceGoesAlsoFromATrustedPeer() throws {
    let changes = try #require(FieldChanges(set: [("X-Forwarded-Proto", "https")], remove: ["forwarded"]))
    let head = request("X-Forwarded-Proto: http\r\nForwarded: for=6.6.6.6\r\n")
    #expect(head.prepareFields(FieldPolicy(changes: changes), believesForwarding: true) == nil)
    var output = ByteQueue()
    head.writeUpstream(to: &output, host: .addedByCaller, framing: .none, changes: changes)
    #expect(output.text == "GET / HTTP/1.1\r\nX-Forwarded-Proto: https\r\n")
  }

  @Test func thePeerIsAppendedToTheChain() {
    func written(_ lines: String, peer: String) -> String {
      var output = ByteQueue()
      request(lines).writeForwardedFor(to: &output, addingPeer: Array(peer.utf8))
      return output.text
    }
    #expect(
      written("X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 7.7.7.7, 8.8.8.8\r\n", peer: "10.0.0.1")
        == "X-Forwarded-For: 6.6.6.6, 7.7.7.7, 8.8.8.8, 10.0.0.1\r\n")
    #expect(written("", peer: "10.0.0.1") == "X-Forwarded-For: 10.0.0.1\r\n")
    #expect(written("X-Forwarded-For: 6.6.6.6\r\n", peer: "") == "X-Forwarded-For: 6.6.6.6\r\n")
    #expect(written("", peer: "") == "")
  }
}
