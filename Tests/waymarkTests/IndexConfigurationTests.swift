import IndexedStore
import ServerFeatures
import Testing

@testable import Hosting

@Suite struct IndexConfigurationTests {
  private func configuration(_ settings: [String: String]) throws(ConfigurationError) -> IndexConfiguration {
    try IndexConfiguration(Settings(environment: settings))
  }

  @Test func readsAreStrictByDefault() throws {
    let index = try configuration([:])

    #expect(index.use == .auto)
    #expect(index.freshness == ReadFreshness(.strict, staleLifetime: .zero))
    #expect(index.readinessLimit == .seconds(300))
  }

  @Test func boundAndTimeOfStaleReadsAreTakenFromTheSettings() throws {
    let index = try configuration([
      "READ_CONSISTENCY": "bounded", "READ_MAX_STALENESS_MS": "250", "READ_STALE_S": "60",
    ])

    #expect(
      index.freshness == ReadFreshness(.bounded(maximumAge: .milliseconds(250)), staleLifetime: .seconds(60)))
  }

  @Test(arguments: [([:], 60), (["READ_STALE_S": "0"], 0), (["READ_STALE_S": "5"], 5)])
  func boundedReadsOutlastARestartOfTheDatabaseByDefault(settings: [String: String], seconds: Int) throws {
    let index = try configuration(settings.merging(["READ_CONSISTENCY": "bounded"]) { $1 })

    #expect(index.freshness.staleLifetime == .seconds(seconds))
  }

  @Test func waitOfReadinessIsTakenFromTheSettings() throws {
    #expect(try configuration(["READY_INDEX_WAIT_S": "5"]).readinessLimit == .seconds(5))
    // The areas are waited for without an index too.
    let withoutIndex = try configuration(["POINT_INDEX": "off", "READY_INDEX_WAIT_S": "5"])
    #expect(withoutIndex.readinessLimit == .seconds(5))
  }

  @Test(arguments: [
    (["READ_MAX_STALENESS_MS": "250"], "READ_MAX_STALENESS_MS needs READ_CONSISTENCY=bounded"),
    (
      ["POINT_INDEX": "off", "READ_CONSISTENCY": "strict"],
      "READ_CONSISTENCY is for the index, but POINT_INDEX is off"
    ),
    (["POINT_INDEX": "off", "READ_STALE_S": "1"], "READ_STALE_S is for the index, but POINT_INDEX is off"),
  ])
  func settingWithoutEffectIsRejected(settings: [String: String], message: String) {
    let error = #expect(throws: ConfigurationError.self) { try configuration(settings) }

    #expect(error?.description == message)
  }
}
