import Bytes
import CLinux
import FoundationEssentials
import Telemetry

/// The process as the kernel sees it, by the names that Prometheus' own clients use.
enum ProcessMetrics {
  static func append(to output: inout ByteQueue, startedAtUnixSeconds: Double) {
    append("process_start_time_seconds", "Start of the process, in seconds since 1970.", startedAtUnixSeconds, to: &output)
    guard let statistics = contents("/proc/self/stat"), let behindName = statistics.lastIndex(of: ")") else { return }
    // proc(5): behind the name in parentheses, utime and stime are fields 12 and 13, vsize and rss 21 and 22, counted from the state as 1.
    let fields = statistics[behindName...].split(separator: " ").dropFirst().map(String.init)
    guard fields.count > 21 else { return }
    let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
    let processor = ((Double(fields[11]) ?? 0) + (Double(fields[12]) ?? 0)) / ticks
    append("process_cpu_seconds_total", "User and system time.", processor, kind: .counter, to: &output)
    append("process_virtual_memory_bytes", "Virtual memory.", Double(fields[20]) ?? 0, to: &output)
    let resident = (Double(fields[21]) ?? 0) * Double(sysconf(Int32(_SC_PAGESIZE)))
    append("process_resident_memory_bytes", "Resident memory.", resident, to: &output)
    if let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
      append("process_open_fds", "Open file descriptors.", Double(descriptors.count), to: &output)
    }
    if let limit = contents("/proc/self/limits")?.split(separator: "\n").first(where: { $0.hasPrefix("Max open files") }),
      let soft = limit.split(separator: " ").dropFirst(3).first.flatMap({ Double($0) })
    {
      append("process_max_fds", "Most file descriptors that may be open.", soft, to: &output)
    }
  }

  private static func contents(_ path: String) -> String? {
    guard let data = FileManager.default.contents(atPath: path) else { return nil }
    return String(decoding: data, as: UTF8.self)
  }

  private static func append(
    _ name: String, _ help: String, _ value: Double, kind: MetricFamily.Kind = .gauge, to output: inout ByteQueue
  ) {
    Exposition.appendHeader(MetricFamily(name, kind, help), to: &output)
    output.append("\(name) \(Exposition.number(value))\n")
  }
}
