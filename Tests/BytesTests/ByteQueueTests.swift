import Bytes
import Testing

@Suite struct ByteQueueTests {
  @Test func bytesComeOutInTheOrderTheyWentIn() {
    var queue = ByteQueue()
    queue.append("hello ")
    queue.append(decimal: -120)
    queue.append(UInt8(ascii: " "))
    queue.append(hexadecimal: 0x1A40)
    #expect(queue.copied() == Array("hello -120 1a40".utf8))
    queue.consume(6)
    #expect(queue.copied() == Array("-120 1a40".utf8))
  }

  @Test func zeroHasOneDigitInBothBases() {
    var queue = ByteQueue()
    queue.append(decimal: 0)
    queue.append(hexadecimal: 0)
    #expect(queue.copied() == Array("00".utf8))
  }

  @Test func movingAndGrowingKeepsWhatWaits() {
    var queue = ByteQueue()
    var expected = [UInt8]()
    for round in 0..<2_000 {
      queue.append([UInt8](repeating: UInt8(round % 251), count: round % 97))
      expected += [UInt8](repeating: UInt8(round % 251), count: round % 97)
      let dropped = min(round % 61, expected.count)
      queue.consume(dropped)
      expected.removeFirst(dropped)
    }
    #expect(queue.copied() == expected)
  }

  @Test func anEmptyQueueGivesItsStorageBackAndWorksOn() {
    var queue = ByteQueue()
    queue.append("abc")
    queue.releaseStorageIfEmpty()
    #expect(queue.copied() == Array("abc".utf8))
    queue.consume(3)
    queue.releaseStorageIfEmpty()
    queue.append("de")
    #expect(queue.copied() == Array("de".utf8))
  }

  @Test func aFillingCallThatFailsAddsNothing() {
    var queue = ByteQueue()
    #expect(queue.appendFilling(minimum: 10) { _ in -1 } == -1)
    #expect(queue.isEmpty == true)
  }

  @Test func consumingMoreThanWaitsTraps() async {
    await #expect(processExitsWith: .failure) {
      var queue = ByteQueue()
      queue.append("abc")
      queue.consume(4)
    }
  }
}
