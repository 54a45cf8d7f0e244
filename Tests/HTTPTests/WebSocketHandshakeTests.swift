import Bytes
import HTTP
import Testing

private let whole =
  "GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
  + "Sec-WebSocket-Version: 13\r\n\r\n"

private func key(_ text: String) -> String? {
  let head = RequestHead.parsed(text)
  guard head.prepareFields(FieldPolicy()) == nil else { return nil }
  return head.webSocketKey.map(head.text)
}

@Suite struct WebSocketHandshakeTests {
  // RFC 6455 section 4.1
  @Test func aWholeHandshakeIsRecognised() { #expect(key(whole) == "dGhlIHNhbXBsZSBub25jZQ==") }

  @Test(arguments: [
    ("GET /chat", "POST /chat"), ("HTTP/1.1", "HTTP/1.0"), ("Upgrade: WebSocket", "Upgrade: h2c"),
    ("Upgrade: WebSocket", "Upgrade: websocket, h2c"),
    ("Upgrade: WebSocket", "Upgrade: websocket\r\nUpgrade: websocket"), ("Upgrade: WebSocket", "Upgrade: h2c\r\nUpgrade: websocket"),
    ("Upgrade: WebSocket\r\n", ""), ("keep-alive, Upgrade", "keep-alive"), ("keep-alive, Upgrade", "upgrade, sec-websocket-key"),
    ("keep-alive, Upgrade", "upgrade, sec-websocket-version"), ("Version: 13", "Version: 8"), ("Sec-WebSocket-Version: 13\r\n", ""),
    ("Version: 13", "Version: 13\r\nSec-WebSocket-Version: 13"), ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ"),
    ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25j!Q=="), ("dGhlIHNhbXBsZSBub25jZQ==", ""),
    ("Version: 13", "Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="), ("Version: 13", "Version: 13\r\nContent-Length: 0"),
    ("Version: 13", "Version: 13\r\nTransfer-Encoding: chunked"),
  ])
  func anythingLessIsAnOrdinaryRequest(part: String, replacement: String) {
    let text = whole.replacing(part, with: replacement, maxReplacements: 1)
    #expect(text != whole)
    #expect(key(text) == nil)
  }

  private func outcome(_ text: String, asks: Bool) -> HeadOutcome {
    ResponseHead().parse(Array(text.utf8).span, answering: .get, asksForWebSocket: asks, limits: HeadLimits())
  }

  @Test func aSwitchIsTakenWhereItWasAskedFor() {
    let text =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nKeep-Alive: 1\r\nSec-WebSocket-Accept: a\r\n\r\n"
    #expect(outcome(text, asks: false) == .refused(.upgradeNotRequested))
    #expect(outcome(text, asks: true) == .complete(byteCount: text.utf8.count))
    let head = ResponseHead()
    _ = head.parse(Array(text.utf8).span, answering: .get, asksForWebSocket: true, limits: HeadLimits())
    #expect(head.switchesProtocols && !head.isInterim)
    var output = ByteQueue()
    head.writeSwitchToWebSocket(to: &output, changes: .none)
    #expect(
      output.text
        == "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
  }

  @Test(arguments: [
    "Upgrade: h2c\r\nConnection: Upgrade\r\n", "Upgrade: websocket\r\n", "Connection: Upgrade\r\n",
    "Upgrade: websocket, h2c\r\nConnection: Upgrade\r\n", "Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 0\r\n",
    "Upgrade: websocket\r\nConnection: Upgrade\r\nTransfer-Encoding: chunked\r\n",
  ])
  func aSwitchToSomethingElseIsRefused(fields: String) {
    #expect(outcome("HTTP/1.1 101 Switching Protocols\r\n\(fields)\r\n", asks: true) == .refused(.upgradeMalformed))
  }
}
