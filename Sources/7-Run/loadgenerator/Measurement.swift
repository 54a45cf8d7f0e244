/// What one round measured.
struct Measurement {
  /// `gate` or `beside`.
  var target: String
  var tally: Tally
  /// From the first byte sent to the last answer.
  var nanoseconds: UInt64
  /// Of the measured process, in that time.
  var cpuNanoseconds: UInt64?

  private var requestCount: Int { tally.succeeded + tally.others.values.reduce(0, +) }
  private var seconds: Double { Double(nanoseconds) / 1e9 }
  private var requestsPerSecond: Int { Int(Double(requestCount) / seconds) }
  private var cpuMicroseconds: Double? { cpuNanoseconds.map { Double($0) / 1e3 / Double(requestCount) } }

  /// For people.
  var text: String {
    var line = "\(target): \(requestCount) requests, \(Self.rounded(seconds)) s, \(requestsPerSecond) requests/s"
    if let cpuMicroseconds { line += ", \(Self.rounded(cpuMicroseconds)) CPU µs a request" }
    if tally.others.isEmpty { return line + ", every answer 200" }
    for (status, count) in tally.others.sorted(by: { $0.key < $1.key }) { line += "\n  \(count) answers \(status)" }
    return line + "\n  the first: \(tally.firstOther ?? "")"
  }

  /// For programs, one line.
  var json: String {
    let others = tally.others.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
    var members = "\"target\":\"\(target)\",\"requests\":\(requestCount),\"succeeded\":\(tally.succeeded),\"others\":{\(others)}"
    members += ",\"seconds\":\(Self.rounded(seconds)),\"requests_per_second\":\(requestsPerSecond)"
    if let cpuMicroseconds { members += ",\"cpu_us\":\(Self.rounded(cpuMicroseconds))" }
    return "{\(members)}"
  }

  /// Three decimals.
  static func rounded(_ number: Double) -> Double { (number * 1000).rounded() / 1000 }
}
