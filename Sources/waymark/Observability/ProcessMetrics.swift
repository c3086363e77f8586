import CoreMetrics
import Glibc

/// What the system knows of this process, by the names that Prometheus' client libraries have for it.
struct ProcessMetrics: MetricsCollector {
  static let residentMemory = "process_resident_memory_bytes"
  static let virtualMemory = "process_virtual_memory_bytes"
  static let processorTime = "process_cpu_seconds_total"
  static let openDescriptors = "process_open_fds"
  static let maximumDescriptors = "process_max_fds"
  static let startTime = "process_start_time_seconds"

  private let residentMemory, virtualMemory, openDescriptors, maximumDescriptors, startTime: Meter
  private let processorTime: TotalFollower

  init(factory: any MetricsFactory) {
    residentMemory = Meter(label: Self.residentMemory, factory: factory)
    virtualMemory = Meter(label: Self.virtualMemory, factory: factory)
    openDescriptors = Meter(label: Self.openDescriptors, factory: factory)
    maximumDescriptors = Meter(label: Self.maximumDescriptors, factory: factory)
    startTime = Meter(label: Self.startTime, factory: factory)
    processorTime = TotalFollower(FloatingPointCounter(label: Self.processorTime, factory: factory))
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
