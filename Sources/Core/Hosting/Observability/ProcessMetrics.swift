import CoreMetrics
import Glibc
import PrometheusMetrics
import ServerFeatures

/// Collects the system's figures of this process, by the names that Prometheus' client libraries have for them.
struct ProcessMetrics: MetricsCollector {
  static let residentMemory = MetricDescription("process_resident_memory_bytes", "Resident memory size in bytes.")
  static let virtualMemory = MetricDescription("process_virtual_memory_bytes", "Virtual memory size in bytes.")
  static let processorTime = MetricDescription(
    "process_cpu_seconds_total", "Total user and system CPU time spent in seconds.")
  static let openDescriptors = MetricDescription("process_open_fds", "Number of open file descriptors.")
  static let maximumDescriptors = MetricDescription("process_max_fds", "Maximum number of open file descriptors.")
  static let startTime = MetricDescription(
    "process_start_time_seconds", "Start time of the process since unix epoch in seconds.")

  static let descriptions = [
    residentMemory, virtualMemory, processorTime, openDescriptors, maximumDescriptors, startTime,
  ]

  private let residentMemory, virtualMemory, openDescriptors, maximumDescriptors, startTime: Meter
  private let processorTime: TotalFollower

  init(factory: any MetricsFactory) {
    residentMemory = Meter(label: Self.residentMemory.name, factory: factory)
    virtualMemory = Meter(label: Self.virtualMemory.name, factory: factory)
    openDescriptors = Meter(label: Self.openDescriptors.name, factory: factory)
    maximumDescriptors = Meter(label: Self.maximumDescriptors.name, factory: factory)
    startTime = Meter(label: Self.startTime.name, factory: factory)
    processorTime = TotalFollower(Self.processorTime, factory: factory)
  }

  func collect() async {
    // In microseconds, whatever the precision of the clock (POSIX).
    let microseconds = clock()
    if microseconds >= 0 { processorTime.follow(Double(microseconds) / 1e6) }
    if let stat = ProcFile.text("/proc/self/stat").flatMap(ProcessStat.init) {
      residentMemory.set(stat.residentPages * Int64(sysconf(Int32(_SC_PAGESIZE))))
      virtualMemory.set(stat.virtualBytes)
      if let boot = ProcFile.text("/proc/stat").flatMap(ProcessStat.bootTime) {
        startTime.set(Double(boot) + Double(stat.startTicks) / Double(sysconf(Int32(_SC_CLK_TCK))))
      }
    }
    if let count = ProcFile.entryCount("/proc/self/fd") {
      // One of them is the folder's own, open while it is read.
      openDescriptors.set(count - 1)
    }
    var limit = rlimit()
    if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 { maximumDescriptors.set(limit.rlim_cur) }
  }
}

/// The figures of a process in `/proc/PID/stat` (proc(5)).
struct ProcessStat: Hashable {
  /// The start of the process, in clock ticks since that of the system.
  let startTicks: Int64
  /// The size of the address space.
  let virtualBytes: Int64
  /// The number of resident pages of memory.
  let residentPages: Int64

  /// Creates the figures from the file's text; `nil` where it is malformed.
  init?(_ text: String) {
    // The second field is the program's name in parentheses, which may itself have blanks and parentheses.
    guard let nameEnd = text.lastIndex(of: ")") else { return nil }
    let fields = text[nameEnd...].dropFirst().split(whereSeparator: \.isWhitespace)
    // The first of these is field 3.
    guard fields.count > 21, let start = Int64(fields[19]), let virtual = Int64(fields[20]),
      let resident = Int64(fields[21])
    else { return nil }
    startTicks = start
    virtualBytes = virtual
    residentPages = resident
  }

  /// Returns the start of the system in seconds since 1970, from the text of `/proc/stat`.
  static func bootTime(_ text: String) -> Int64? {
    for line in text.split(separator: "\n") where line.hasPrefix("btime ") { return Int64(line.dropFirst(6)) }
    return nil
  }
}

/// Files of the proc and cgroup file systems, whose reads do not block.
enum ProcFile {
  /// Returns the text of a file; `nil` where it can't be read.
  static func text(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = chunk.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { return count == 0 ? String(decoding: bytes, as: UTF8.self) : nil }
      bytes += chunk[..<count]
    }
  }

  /// Returns the number of entries of a folder, without itself and its parent; `nil` where it can't be read.
  static func entryCount(_ path: String) -> Int? {
    guard let folder = opendir(path) else { return nil }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count - 2
  }
}
