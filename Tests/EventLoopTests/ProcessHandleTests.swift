import Testing

@testable import EventLoop

@Suite struct ProcessHandleTests {
  /// Its number may be another's by now, so nothing may be sent to that.
  @Test func aProcessThatHasEndedAlreadyIsNotReachedByItsNumber() {
    // Above what the kernel numbers (PID_MAX_LIMIT of proc(5)).
    let handle = ProcessHandle(1 << 23)
    #expect(handle == .ended)
    #expect(handle.hasEnded(withinMilliseconds: 60_000))
  }
}
