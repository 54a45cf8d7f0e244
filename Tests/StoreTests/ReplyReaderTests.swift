import Testing

@testable import Store

@Suite struct ReplyReaderTests {
  private func read(_ pieces: [[UInt8]]) -> [ReplyReader.Outcome] {
    let reader = ReplyReader()
    var outcomes: [ReplyReader.Outcome] = []
    for piece in pieces {
      reader.feed(piece.span)
      loop: while true {
        let outcome = reader.next()
        switch outcome {
        case .incomplete: break loop
        case .reply: outcomes.append(outcome)
        case .malformed:
          outcomes.append(outcome)
          return outcomes
        }
      }
    }
    return outcomes
  }

  private static let stream: [(String, RedisReply)] = [
    ("+OK\r\n", .bytes(Array("OK".utf8))),
    ("-ERR no\r\n", .error("ERR no")),
    (":-42\r\n", .integer(-42)),
    (":9223372036854775807\r\n", .integer(.max)),
    ("$0\r\n\r\n", .bytes([])),
    ("$5\r\na\r\nb\0\r\n", .bytes([0x61, 13, 10, 0x62, 0])),
    ("$-1\r\n", .null),
    ("*-1\r\n", .null),
    ("*0\r\n", .array([])),
    ("*3\r\n*2\r\n:1\r\n*0\r\n$1\r\nx\r\n*-1\r\n", .array([.array([.integer(1), .array([])]), .bytes([0x78]), .null])),
    ("*2\r\n-ERR in\r\n+x\r\n", .array([.error("ERR in"), .bytes([0x78])])),
  ]

  @Test func repliesAreReadInOrder() {
    let bytes = Self.stream.flatMap { Array($0.0.utf8) }
    #expect(read([bytes]) == Self.stream.map { .reply($0.1) })
  }

  @Test func repliesMayComeInAnyPieces() {
    let bytes = Self.stream.flatMap { Array($0.0.utf8) }
    #expect(read(bytes.map { [$0] }) == Self.stream.map { .reply($0.1) })
    for cut in 1..<bytes.count { #expect(read([Array(bytes[..<cut]), Array(bytes[cut...])]).count == Self.stream.count) }
  }

  @Test(arguments: [
    "!huh\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", ":12x\r\n", ":\r\n", ":99999999999999999999\r\n", "$-2\r\n", "$x\r\n", "*-2\r\n",
    "*99999999999\r\n", "*2147483647\r\n", "*1000000\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    "*2\r\n*100000\r\n",
  ])
  func whatIsNoReplyIsMalformedForGood(text: String) {
    let outcomes = read([Array(text.utf8), Array("+OK\r\n".utf8)])
    guard case .malformed(let reason) = outcomes.first else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(!reason.isEmpty)
    #expect(outcomes.count == 1)
  }

  @Test func aStringLargerThanTheLimitIsRefusedBeforeItHasCome() {
    let reader = ReplyReader()
    reader.feed(Array("$999999999999\r\n".utf8).span)
    let chunk = [UInt8](repeating: 0x61, count: 65_536)
    var fed = 0
    while fed < 64 << 20 {
      reader.feed(chunk.span)
      fed += chunk.count
      if case .malformed = reader.next() { break }
    }
    #expect(fed <= ReplyReader.bufferedBytesMax + chunk.count)
  }

  @Test func manySmallStringsAreBoundedToo() {
    let reader = ReplyReader()
    let element = Array("$60000\r\n".utf8) + [UInt8](repeating: 0x61, count: 60_000) + [13, 10]
    reader.feed(Array("*60000\r\n".utf8).span)
    var fed = 0
    while fed < 64 << 20 {
      reader.feed(element.span)
      fed += element.count
      if case .malformed = reader.next() { break }
    }
    #expect(fed <= ReplyBuilder.stringBytesMax + 2 * element.count)
  }

  @Test func noBytesTrap() {
    var random = SeededRandom(state: 42)
    let letters = Array("+-:$*0123456789-1\r\n\r\n\r\nax\0\u{FF}".utf8)
    for _ in 0..<20_000 {
      let reader = ReplyReader()
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in letters.randomElement(using: &random)! }
        reader.feed(bytes.span)
        for _ in 0..<30 { _ = reader.next() }
      }
    }
  }

  @Test func spoiledRepliesAreReadOrMalformedAndNeverTrap() {
    var random = SeededRandom(state: 43)
    let bytes = Self.stream.flatMap { Array($0.0.utf8) }
    for _ in 0..<5_000 {
      var spoiled = bytes
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        spoiled[Int.random(in: 0..<spoiled.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      let outcomes = read([spoiled])
      let malformed = outcomes.count { if case .malformed = $0 { true } else { false } }
      #expect(malformed <= 1)
    }
  }
}
