import Glibc

/// The memory that the process may use: the limit of its control group, else the machine's memory.
struct AvailableMemory: Hashable {
  let bytes: Int

  /// The default of `HTTP_MAX_BUFFERED_BYTES`: a quarter of the memory. The rest is for the places, for results that
  /// are being encoded, and for what the C library keeps.
  var defaultBufferedBytes: Int { max(bytes / 4, 16 << 20) }

  /// Creates the least of all limits.
  ///
  /// - Parameters:
  ///   - physicalBytes: the machine's memory.
  ///   - text: returns the text of a file, or `nil` where it can't be read.
  init(physicalBytes: Int, text: (String) -> String?) {
    var least = physicalBytes
    func note(_ path: String) {
      // "max" is no limit; version 1 has a number beyond all memory instead.
      let value = text(path)?.split(whereSeparator: \.isWhitespace).first
      if let limit = value.flatMap({ Int($0) }), limit > 0 { least = min(least, limit) }
    }
    // In a container the process's own group is usually mounted as the root of the file system.
    note("/sys/fs/cgroup/memory.max")
    note("/sys/fs/cgroup/memory/memory.limit_in_bytes")
    for line in text("/proc/self/cgroup")?.split(separator: "\n") ?? [] {
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { continue }
      let isUnified = fields[1].isEmpty
      guard isUnified || fields[1].split(separator: ",").contains("memory") else { continue }
      // The limits of the groups above apply too.
      var path = fields[2]
      while !path.isEmpty, path != "/" {
        note(
          isUnified ? "/sys/fs/cgroup\(path)/memory.max" : "/sys/fs/cgroup/memory\(path)/memory.limit_in_bytes")
        path = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
      }
    }
    bytes = least
  }

  /// The memory that this process may use.
  static var ofProcess: AvailableMemory {
    AvailableMemory(
      physicalBytes: sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE)), text: ProcFile.text)
  }
}
