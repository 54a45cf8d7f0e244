import Dispatch
import Synchronization

/// Holds threads up until a test opens it.
public final class Latch: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  /// A closed latch.
  public init() {}

  /// Lets everybody through, those that come later too.
  public func open() { semaphore.signal() }

  /// Waits for it; false when it was not opened within the time.
  @discardableResult
  public func wait(milliseconds: Int = 30_000) -> Bool {
    guard semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else { return false }
    semaphore.signal()
    return true
  }
}
