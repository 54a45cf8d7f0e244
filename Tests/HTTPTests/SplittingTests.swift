import Bytes
import HTTP
import Testing

/// What comes out may not depend on the pieces in which the bytes came.
@Suite struct SplittingTests {
  /// The outcome when the first `first` bytes come alone, and the number of bytes that were seen then.
  private func outcome(_ bytes: [UInt8], splitAt first: Int, head: RequestHead, limits: HeadLimits) -> HeadOutcome {
    let early = head.parse(Array(bytes.prefix(first)).span, limits: limits)
    return early == .incomplete ? head.parse(bytes.span, limits: limits) : early
  }

  @Test(arguments: validRequests + refusedRequests)
  func aHeadSplitAnywhereIsJudgedAsInOnePiece(request: RequestCase) {
    let bytes = Array(request.text.utf8)
    let head = RequestHead()
    let whole = head.parse(bytes.span, limits: HeadLimits())
    let summary = head.summary
    for first in 0...bytes.count {
      #expect(outcome(bytes, splitAt: first, head: head, limits: HeadLimits()) == whole, "split at \(first)")
      #expect(head.summary == summary, "split at \(first)")
    }
  }

  @Test(arguments: validRequests + refusedRequests)
  func aHeadThatComesByteByByteIsJudgedAsInOnePiece(request: RequestCase) {
    let bytes = Array(request.text.utf8)
    let whole = RequestHead().parse(bytes.span, limits: HeadLimits())
    let head = RequestHead()
    var outcome = HeadOutcome.incomplete
    for count in 1...bytes.count where outcome == .incomplete {
      outcome = head.parse(Array(bytes.prefix(count)).span, limits: HeadLimits())
    }
    #expect(outcome == whole)
  }

  @Test(arguments: [16, 17, 23, 24, 25, 32, 33, 40, 48])
  func limitsStrikeAtTheSameByteHoweverTheHeadIsSplit(limit: Int) {
    let bytes = Array("\r\nGET /abcdef HTTP/1.1\r\nHost: h\r\nAccept: a/b\r\nC: d\r\n\r\n".utf8)
    let head = RequestHead()
    for limits in [
      HeadLimits(headBytesMax: limit), HeadLimits(startLineBytesMax: limit), HeadLimits(fieldCountMax: limit % 4),
    ] {
      let whole = head.parse(bytes.span, limits: limits)
      for first in 0...bytes.count {
        #expect(outcome(bytes, splitAt: first, head: head, limits: limits) == whole, "split at \(first)")
      }
    }
  }

  @Test(arguments: validResponses + refusedResponses)
  func anAnswersHeadSplitAnywhereIsJudgedAsInOnePiece(response: ResponseCase) {
    let bytes = Array(response.text.utf8)
    let head = ResponseHead()
    let whole = head.parse(bytes.span, answering: response.method, limits: HeadLimits())
    for first in 0...bytes.count {
      var outcome = head.parse(Array(bytes.prefix(first)).span, answering: response.method, limits: HeadLimits())
      if outcome == .incomplete { outcome = head.parse(bytes.span, answering: response.method, limits: HeadLimits()) }
      #expect(outcome == whole, "split at \(first)")
    }
  }

  @Test(arguments: validBodies + malformedBodies)
  func aChunkedBodySplitAnywhereIsDecodedAsInOnePiece(body: BodyCase) {
    let bytes = Array(body.text.utf8)
    let whole = decode(.chunked, pieces: [bytes])
    // Every position of a short body; of the long ones, which are long by repetition, some.
    for first in stride(from: 0, through: bytes.count, by: bytes.count / 500 + 1) {
      let split = decode(.chunked, pieces: [Array(bytes.prefix(first)), Array(bytes.dropFirst(first))])
      #expect(split.end == whole.end, "split at \(first)")
      #expect(split.content == whole.content, "split at \(first)")
    }
    #expect(decode(.chunked, pieces: bytes.map { [$0] }).end == whole.end)
  }
}
