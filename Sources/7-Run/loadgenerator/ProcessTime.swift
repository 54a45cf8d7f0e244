import FoundationEssentials

/// The CPU time of a process, all its threads together.
enum ProcessTime {
  /// Nanoseconds on a CPU so far (`/proc/PID/task/*/schedstat`, first number); nil when there is no such process.
  static func nanoseconds(of process: Int) -> UInt64? {
    let folder = "/proc/\(process)/task"
    guard let threads = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return nil }
    return threads.reduce(0) { sum, thread in
      guard let text = FileManager.default.contents(atPath: "\(folder)/\(thread)/schedstat") else { return sum }
      return sum + (UInt64(String(decoding: text.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)) ?? 0)
    }
  }
}
