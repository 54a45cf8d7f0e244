/// One worker's share of a limit that is divided among all of them.
public struct WorkerShare: Sendable {
  private let number: Int
  private let count: Int

  /// The share of the worker with this number, counted from 0, of so many.
  public init(number: Int, of count: Int) {
    precondition(0..<count ~= number, "a worker that does not exist")
    self.number = number
    self.count = count
  }

  /// Its part of `limit`; the parts of all workers are the whole.
  public func part(of limit: Int) -> Int { limit / count + (number < limit % count ? 1 : 0) }
}
