/// One alternative of a wait.
@safe
public enum Waitable {
  /// Bytes, or the end, can be read.
  case readable(WaitSource)
  /// Bytes can be written.
  case writable(WaitSource)
  /// Both directions are gone; a peer that only shut its sending half has not hung up.
  case hangUp(WaitSource)
  /// The signal was given; waiting takes it.
  case signal(Signal)

  @inline(__always)
  var source: WaitSource {
    switch self {
    case .readable(let source), .writable(let source), .hangUp(let source): source
    case .signal(let signal): signal
    }
  }

  var isReady: Bool {
    switch self {
    case .readable(let source): return source.isReadable
    case .writable(let source): return source.isWritable
    case .hangUp(let source): return source.isHungUp
    case .signal(let signal):
      defer { signal.isReadable = false }
      return signal.isReadable
    }
  }

  func link(_ link: WaitSource.Link) {
    switch self {
    case .readable(let source):
      precondition(source.readLink.first == nil, "two tasks wait to read one source")
      source.readLink = link
    case .writable(let source):
      precondition(source.writeLink.first == nil, "two tasks wait to write one source")
      source.writeLink = link
    case .hangUp(let source):
      precondition(source.hangUpLink.first == nil, "two tasks wait for one source to hang up")
      source.hangUpLink = link
    case .signal(let signal):
      precondition(signal.readLink.first == nil, "two tasks wait for one signal")
      signal.readLink = link
    }
  }

  func unlink() {
    switch self {
    case .readable(let source): source.readLink = WaitSource.Link()
    case .writable(let source): source.writeLink = WaitSource.Link()
    case .hangUp(let source): source.hangUpLink = WaitSource.Link()
    case .signal(let signal): signal.readLink = WaitSource.Link()
    }
  }
}

/// How a wait ended.
public enum WaitOutcome: Sendable, Equatable {
  /// The alternative with this index, in the order of the call, became ready first.
  case ready(Int)
  /// The deadline passed.
  case timedOut
}

extension EventLoop {
  /// Waits until `waitable` is ready or the deadline passes; true when it is ready.
  public func wait(for waitable: Waitable, until deadline: Instant) async -> Bool {
    if waitable.isReady { return true }
    let source = waitable.source
    let result = unsafe await withUnsafeContinuation { continuation in
      // A caller that is isolated to no actor comes here by a hop, in which the source may have become ready.
      if waitable.isReady { return unsafe continuation.resume(returning: 0) }
      unsafe source.continuation = continuation
      waitable.link(WaitSource.Link(first: source, alternative: 0))
      schedule(source, at: deadline)
    }
    waitable.unlink()
    if case .signal(let signal) = waitable, result == 0 { signal.isReadable = false }
    return result != WaitSource.timedOut
  }

  /// Waits for the first of two alternatives, or the deadline. When both are ready already, the first one wins.
  public func wait(for first: Waitable, or second: Waitable, until deadline: Instant) async -> WaitOutcome {
    if first.isReady { return .ready(0) }
    if second.isReady { return .ready(1) }
    let source = first.source
    let result = unsafe await withUnsafeContinuation { continuation in
      if first.isReady { return unsafe continuation.resume(returning: 0) }
      if second.isReady { return unsafe continuation.resume(returning: 1) }
      unsafe source.continuation = continuation
      first.link(WaitSource.Link(first: source, alternative: 0))
      second.link(WaitSource.Link(first: source, alternative: 1))
      schedule(source, at: deadline)
    }
    first.unlink()
    second.unlink()
    return outcome(result, first, second)
  }

  /// Waits for the first of three alternatives, or the deadline. Of those that are ready already, the first one wins.
  public func wait(for first: Waitable, or second: Waitable, or third: Waitable, until deadline: Instant) async -> WaitOutcome {
    if first.isReady { return .ready(0) }
    if second.isReady { return .ready(1) }
    if third.isReady { return .ready(2) }
    let source = first.source
    let result = unsafe await withUnsafeContinuation { continuation in
      if first.isReady { return unsafe continuation.resume(returning: 0) }
      if second.isReady { return unsafe continuation.resume(returning: 1) }
      if third.isReady { return unsafe continuation.resume(returning: 2) }
      unsafe source.continuation = continuation
      first.link(WaitSource.Link(first: source, alternative: 0))
      second.link(WaitSource.Link(first: source, alternative: 1))
      third.link(WaitSource.Link(first: source, alternative: 2))
      schedule(source, at: deadline)
    }
    first.unlink()
    second.unlink()
    third.unlink()
    return outcome(result, first, second, third)
  }

  private func outcome(_ result: Int, _ waitables: Waitable...) -> WaitOutcome {
    guard result != WaitSource.timedOut else { return .timedOut }
    if case .signal(let signal) = waitables[result] { signal.isReadable = false }
    return .ready(result)
  }

  /// Waits until the moment has come.
  public func sleep(until deadline: Instant) async {
    let never = Signal(loop: self)
    _ = await wait(for: .signal(never), until: deadline)
  }

  /// Lets others run once this turn has lasted two milliseconds: for loops whose waits may all find their sources ready, so that they
  /// would hold the thread for as long as a fast peer keeps them busy.
  public func giveWay() async {
    if now.advanced(byMilliseconds: 2) < Instant.now { await yield() }
  }

  /// Lets every other job that is ready run first, and what the kernel has to say be heard.
  public func yield() async {
    // A continuation that is resumed before it is waited for would not give the thread back; a timer that is due does, for one turn.
    await sleep(until: now)
  }
}
