import CLinux
import EventLoop
import SimulatedDevice

/// Runs the rounds of `send` on one loop, so that it takes as little of its CPU as it can.
actor LoadGenerator {
  nonisolated let loop = EventLoop()
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  private let options: SendOptions
  private var lanes: [Lane] = []

  init(_ options: SendOptions) { self.options = options }

  /// Enrols, then prepares and sends round after round; false when anything but 200 was answered.
  func run() async -> Bool {
    do throws(LoadFailure) {
      try await enrol()
      var succeeded = true
      for round in 0..<options.roundCount {
        try await inEveryLane { (index) async throws(LoadFailure) in try await self.prepare(index) }
        if options.waitsForInput {
          say("ready")
          guard readLine() != nil else { return succeeded }
        }
        for measurement in try await self.round(round) {
          say(options.asJSON ? measurement.json : measurement.text)
          if !measurement.tally.others.isEmpty { succeeded = false }
        }
      }
      return succeeded
    } catch {
      StandardError.write("attestgate-load: \(error.message)\n")
      return false
    }
  }

  /// Prints a line at once: whoever reads it through a pipe waits for it.
  private func say(_ line: String) {
    print(line)
    fflush(nil)
  }

  /// Opens the connections, and enrols each one's keys.
  private func enrol() async throws(LoadFailure) {
    var authority: SimulatedAuthority?
    if let folder = options.authority {
      do throws(DeviceFailure) {
        authority = try SimulatedAuthority(loadingFrom: folder)
      } catch {
        throw LoadFailure("\(error)")
      }
    }
    for index in 0..<options.connectionCount {
      let lane = try await Lane(options, on: loop)
      lanes.append(lane)
      if let authority { try await lane.enrol(share(of: options.keyCount, index), authority: authority) }
    }
  }

  private func round(_ number: Int) async throws(LoadFailure) -> [Measurement] {
    var order = [false]
    if options.beside != nil { order = number.isMultiple(of: 2) ? [false, true] : [true, false] }
    var measurements: [Measurement] = []
    for beside in order { measurements.append(try await measure(beside: beside)) }
    return measurements
  }

  private func measure(beside: Bool) async throws(LoadFailure) -> Measurement {
    let target = beside ? options.beside : options.gate
    let process = target?.process
    let cpuBefore = process.flatMap { ProcessTime.nanoseconds(of: $0) }
    let start = Instant.now
    try await inEveryLane { (index) async throws(LoadFailure) in try await self.send(index, beside: beside) }
    let nanoseconds = Instant.now.nanoseconds - start.nanoseconds
    let cpuAfter = process.flatMap { ProcessTime.nanoseconds(of: $0) }
    var tally = Tally()
    for lane in lanes { tally.add(lane.takeTally()) }
    var measurement = Measurement(target: beside ? "beside" : "gate", tally: tally, nanoseconds: nanoseconds)
    if let cpuBefore, let cpuAfter { measurement.cpuNanoseconds = cpuAfter - cpuBefore }
    return measurement
  }

  private func prepare(_ index: Int) async throws(LoadFailure) {
    try await lanes[index].prepare(share(of: options.requestCount + options.withheldCount, index))
  }

  private func send(_ index: Int, beside: Bool) async throws(LoadFailure) {
    try await lanes[index].send(share(of: options.requestCount, index), beside: beside)
  }

  private func inEveryLane(_ work: @escaping @Sendable (Int) async throws(LoadFailure) -> Void) async throws(LoadFailure) {
    let failure = await withTaskGroup(of: LoadFailure?.self) { group in
      for index in lanes.indices {
        group.addTask(executorPreference: loop) {
          do throws(LoadFailure) {
            try await work(index)
            return nil
          } catch {
            return error
          }
        }
      }
      var failure: LoadFailure?
      for await result in group { failure = failure ?? result }
      return failure
    }
    if let failure { throw failure }
  }

  private func share(of total: Int, _ index: Int) -> Int {
    total / options.connectionCount + (index < total % options.connectionCount ? 1 : 0)
  }
}
