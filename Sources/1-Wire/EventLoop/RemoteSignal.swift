/// A signal of one loop in the hands of other threads: whoever waits for it waits for what they are doing.
public struct RemoteSignal: Sendable {
  private let loop: EventLoop
  /// Touched on its loop alone.
  private nonisolated(unsafe) let signal: Signal

  /// A signal that is waited for on `loop`.
  public init(_ signal: Signal, on loop: EventLoop) {
    self.loop = loop
    unsafe self.signal = signal
  }

  /// Gives the signal, from any thread.
  public func notify() {
    let remote = self
    Task(executorPreference: loop) { unsafe remote.signal.notify() }
  }
}
