import Testing

@testable import EventLoop

/// What a process that dies of a fault of its own writes. Each test is a process.
@Suite struct CrashReportTests {
  private static func text(_ result: ExitTest.Result?) -> String { String(decoding: result?.standardErrorContent ?? [], as: UTF8.self) }

  @Test func aTrapIsReportedWithTheRequestsOfItsThread() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      CrashReport.install(program: "gate 1")
      let place = ReportedRequest()
      let other = ReportedRequest()
      let ended = ReportedRequest()
      place.begin(0xABCD, 0x12)
      other.begin(1, 2)
      other.rename(Array("given-by-a-proxy".utf8))
      ended.begin(3, 4)
      ended.end()
      trap()
    }
    let text = Self.text(result)
    #expect(text.contains("gate 1 crashed: SIG"), "\(text)")
    #expect(text.contains("\n  request 000000000000abcd0000000000000012 "), "\(text)")
    #expect(text.contains("\n  request given-by-a-proxy "), "\(text)")
    #expect(text.components(separated: "\n  request ") == 3, "\(text)")
    #expect(text.contains("\nbacktrace:\n"), "\(text)")
  }

  /// A thread whose stack has overflowed has the report's own stack left; what another thread serves is in the report too.
  @Test func aStackThatOverflowedIsReported() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      CrashReport.install(program: "gate 1")
      let place = ReportedRequest()
      place.begin(5, 6)
      NativeThread.start(name: "deep") { _ = descend(0) }
      // The place lives for as long as it is used.
      while true { place.begin(5, 6) }
    }
    let text = Self.text(result)
    #expect(text.contains("gate 1 crashed: SIGSEGV at address 0x"), "\(text)")
    #expect(text.contains("\n  request 00000000000000050000000000000006 "), "\(text)")
  }

  @Test func aPlaceThatWasGivenBackIsTakenAgainAndManyThereMayBe() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      CrashReport.install(program: "gate 1")
      fill(1_100)
      fill(1_100)
      trap()
    }
    #expect(Self.text(result).contains("requests being served:\n  none\nbacktrace:\n"))
  }
}

@inline(never) private func trap() { fatalError("on purpose") }

@inline(never) private func descend(_ depth: Int) -> Int { depth < 0 ? 0 : descend(depth + 1) + depth }

/// So many requests at a time, which then end.
@inline(never) private func fill(_ count: Int) {
  let place = ReportedRequest()
  place.begin(7, UInt64(count))
  if count > 0 { fill(count - 1) }
}

extension String {
  fileprivate func components(separated separator: String) -> Int { split(separator: separator, omittingEmptySubsequences: false).count }
}
