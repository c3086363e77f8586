import ServerFeatures
import Testing

@testable import Hosting

@Suite struct AvailableMemoryTests {
  private func memory(_ files: [String: String]) -> Int {
    AvailableMemory(physicalBytes: 16 << 30) { files[$0] }.bytes
  }

  @Test func withoutALimitAllMemoryOfTheMachineIsAvailable() {
    #expect(memory([:]) == 16 << 30)
    #expect(memory(["/sys/fs/cgroup/memory.max": "max\n", "/proc/self/cgroup": "0::/\n"]) == 16 << 30)
    #expect(memory(["/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"]) == 16 << 30)
  }

  @Test func memoryLimitOfTheContainerIsUsed() {
    #expect(memory(["/sys/fs/cgroup/memory.max": "536870912\n"]) == 512 << 20)
    #expect(memory(["/sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n"]) == 512 << 20)
  }

  @Test func leastLimitOfAllParentGroupsIsUsed() {
    let files = [
      "/proc/self/cgroup": "0::/pods/one/main\n", "/sys/fs/cgroup/pods/one/main/memory.max": "max\n",
      "/sys/fs/cgroup/pods/one/memory.max": "268435456\n", "/sys/fs/cgroup/pods/memory.max": "1073741824\n",
    ]
    #expect(memory(files) == 256 << 20)
  }

  @Test func memoryLimitOfCgroupVersion1IsUsed() {
    let files = [
      "/proc/self/cgroup": "5:cpu,cpuacct:/other\n4:memory:/app\n",
      "/sys/fs/cgroup/memory/app/memory.limit_in_bytes": "134217728\n",
      "/sys/fs/cgroup/memory/other/memory.limit_in_bytes": "1\n",
    ]
    #expect(memory(files) == 128 << 20)
  }

  @Test(arguments: [
    ([:], 192), (["READ_STALE_S": "60"], 128), (["READ_CONSISTENCY": "bounded"], 128), (["POINT_INDEX": "on"], nil),
  ])
  func indexLeavesMemoryForItsBuildAndForResponses(_ settings: [String: String], mebibytes: Int?) throws {
    let settings = settings.merging(["DATABASE_URL": "postgres://localhost/waymark"]) { $1 }
    let configuration = try IndexConfiguration(Settings(environment: settings))

    #expect(
      configuration.memoryLimit(of: AvailableMemory(physicalBytes: 512 << 20) { _ in nil })
        == mebibytes.map { $0 << 20 })
  }

  @Test(arguments: [(512 << 20, 128 << 20), (16 << 20, 16 << 20)])
  func responsesAndImportsMayTakeAQuarterOfTheMemoryEach(bytes: Int, quarter: Int) {
    let memory = AvailableMemory(physicalBytes: bytes) { _ in nil }

    #expect(memory.defaultBufferedBytes == quarter)
    #expect(memory.importBytes == quarter)
  }
}
