import CLinux

/// Something that a task can wait for: a socket, an acceptor, a signal. Confined to its loop.
///
/// The first source of a wait holds the continuation and the deadline; the others point to it. So a wait costs no allocation, and
/// taking the continuation out of the first source is what makes it resume exactly once.
@safe
public class WaitSource {
  static let timedOut = -1

  /// Which wait a readiness ends, and as which of its alternatives.
  struct Link {
    var first: WaitSource?
    var alternative = 0
  }

  let loop: EventLoop
  var slot = -1

  var continuation: UnsafeContinuation<Int, Never>?
  var deadline = Instant.never
  var scheduledAt = Instant.never

  // Sticky until the call that meets the opposite: a read that finds nothing, a write that takes less than all.
  final var isReadable = false
  final var isWritable = false
  /// Both directions are gone, or the connection failed.
  final var isHungUp = false
  /// The peer will send no more: it closed, or shut its sending half.
  final var isReadClosed = false

  // A layer's read may have to write first, and its write to read.
  final var readsWhenWritable = false
  final var writesWhenReadable = false

  /// Who is told of the next readiness when no task waits for it.
  final var observer: ReadinessObserver?

  final var readLink = Link()
  final var writeLink = Link()
  final var hangUpLink = Link()

  init(loop: EventLoop) { self.loop = loop }

  final func take(events: UInt32) {
    let failed = events & UInt32(CLINUX_EPOLLHUP | CLINUX_EPOLLERR) != 0
    if failed || events & UInt32(CLINUX_EPOLLRDHUP) != 0 { isReadClosed = true }
    if isReadClosed || events & UInt32(CLINUX_EPOLLIN) != 0 { becomeReadable() }
    if failed || events & UInt32(CLINUX_EPOLLOUT) != 0 {
      becomeWritable()
      if readsWhenWritable {
        readsWhenWritable = false
        becomeReadable()
      }
    }
    if failed {
      isHungUp = true
      end(hangUpLink)
    }
  }

  final func becomeReadable() {
    isReadable = true
    end(readLink)
    tellObserver()
    guard writesWhenReadable else { return }
    writesWhenReadable = false
    becomeWritable()
  }

  private final func becomeWritable() {
    isWritable = true
    end(writeLink)
  }

  /// Ends whatever waits here as if everything had become ready: the owner closed the source.
  final func endAllWaits() {
    isReadable = true
    isWritable = true
    isHungUp = true
    end(readLink)
    end(writeLink)
    end(hangUpLink)
    tellObserver()
  }

  /// Tells the observer, once.
  final func tellObserver() {
    guard let observer else { return }
    self.observer = nil
    observer.becameReady()
  }

  private final func end(_ link: Link) {
    guard let first = link.first, let continuation = unsafe first.continuation else { return }
    unsafe first.continuation = nil
    unsafe continuation.resume(returning: link.alternative)
  }
}

/// A wake-up from one task to another on the same loop. Notifying one that nobody waits for is remembered, once.
public final class Signal: WaitSource {
  /// A signal that was not given.
  public override init(loop: EventLoop) { super.init(loop: loop) }

  /// Wakes whoever waits for it, now or next.
  public func notify() {
    becomeReadable()
  }

  /// Forgets a wake-up that nobody took.
  public func reset() { isReadable = false }
}
