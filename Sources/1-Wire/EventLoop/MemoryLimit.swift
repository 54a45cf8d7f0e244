import CLinux

/// How much memory the process may take, as far as the system tells.
public enum MemoryLimit {
  /// The least of what the machine has and what the control groups above the process allow, in bytes; nil when nothing can be read.
  public static func ofSystem() -> Int? {
    let groups = text("/proc/self/cgroup").map { Self.limitFiles(ofGroups: $0) } ?? []
    return (groups.compactMap { text($0).flatMap(number) } + [physical()].compactMap(\.self)).min()
  }

  /// What `ulimit -v` leaves to the process (RLIMIT_AS), in bytes; nil when there is no such limit.
  static func ofAddressSpace() -> Int? {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0, limit.rlim_cur < rlim_t(Int.max) else { return nil }
    return Int(limit.rlim_cur)
  }

  /// To be called before the process has threads: under a limit of the address space the allocator must not set some of it apart for
  /// each of them. Without one each has a heap of its own, which is faster.
  public static func prepareAllocator() {
    if ofAddressSpace() != nil { clinux_share_one_heap() } else { clinux_keep_some_free_memory() }
  }

  private static func physical() -> Int? {
    let (pages, size) = (sysconf(Int32(_SC_PHYS_PAGES)), sysconf(Int32(_SC_PAGESIZE)))
    return pages > 0 && size > 0 ? pages * size : nil
  }

  /// Where the limits of a process's groups and of all groups above stand, by what cgroups(7) says of `/proc/self/cgroup`.
  ///
  /// A container may see the path of its group as the host does, and the files of its own group at the root: the root is among them.
  static func limitFiles(ofGroups text: String) -> [String] {
    var files: [String] = []
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      let isUnified = parts[0] == "0" && parts[1].isEmpty
      guard isUnified || parts[1].split(separator: ",").contains("memory") else { continue }
      let (root, name) = isUnified ? ("/sys/fs/cgroup", "memory.max") : ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
      var folders = parts[2].split(separator: "/").map(String.init)
      while true {
        files.append(([root] + folders + [name]).joined(separator: "/"))
        guard folders.popLast() != nil else { break }
      }
    }
    return files
  }

  /// Such as `max`, which is none, or a number of bytes.
  private static func number(_ text: String) -> Int? { Int(text.prefix { $0 != "\n" }) }

  static func text(_ path: String, bytesMax: Int = 64 << 10) -> String? {
    guard let bytes = try? InputFile.read(path, bytesMax: bytesMax) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}
