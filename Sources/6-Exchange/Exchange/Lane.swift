import EventLoop

/// A task that serves one connection after the other. Its stack, which grows with the first request to some twenty kilobytes, is the
/// larger part of what a connection takes to begin, or to wake from its rest.
final class Lane {
  /// Which to serve next, by its socket; nil when the worker has stopped.
  var connection: ObjectIdentifier?
  /// Given when there is a next one.
  let given: Signal

  init(_ connection: ObjectIdentifier, loop: EventLoop) {
    self.connection = connection
    given = Signal(loop: loop)
  }
}

extension Worker {
  /// Tasks without a connection that are kept for the next ones.
  static let spareLanesMax = 64

  /// Serves the connection of this socket, from the loop's next turn on.
  func begin(_ connection: ObjectIdentifier) {
    guard let lane = spareLanes.popLast() else {
      Task(executorPreference: loop) { await self.serveLane(from: connection) }
      return
    }
    lane.connection = connection
    lane.given.notify()
  }

  private func serveLane(from first: ObjectIdentifier) async {
    let lane = Lane(first, loop: loop)
    while let connection = lane.connection {
      await run(connection)
      guard spareLanes.count < Self.spareLanesMax, !isStopped else { return }
      lane.connection = nil
      spareLanes.append(lane)
      _ = await loop.wait(for: .signal(lane.given), until: .never)
    }
  }

  /// Ends the tasks that have nothing to do.
  func endSpareLanes() {
    for lane in spareLanes { lane.given.notify() }
    spareLanes = []
  }
}
