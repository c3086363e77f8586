import IndexedStore
import Testing

@testable import waymark

@Suite struct IndexConfigurationTests {
  private func configuration(_ settings: [String: String]) throws(ConfigurationError) -> IndexConfiguration {
    try IndexConfiguration(Settings(environment: settings))
  }

  @Test func readsAreStrictByDefault() throws {
    let index = try configuration([:])

    #expect(index.use == .auto)
    #expect(index.freshness == ReadFreshness(.strict, maximumAgeWhenUnavailable: .zero))
  }

  @Test func boundAndOutageTimeAreTakenFromTheSettings() throws {
    let index = try configuration([
      "READ_CONSISTENCY": "bounded", "READ_MAX_STALENESS_MS": "250", "READ_STALE_WHEN_UNAVAILABLE_S": "60",
    ])

    #expect(
      index.freshness
        == ReadFreshness(.bounded(maximumAge: .milliseconds(250)), maximumAgeWhenUnavailable: .seconds(60)))
  }

  @Test(arguments: [
    (["READ_MAX_STALENESS_MS": "250"], "READ_MAX_STALENESS_MS needs READ_CONSISTENCY=bounded"),
    (
      ["POINT_INDEX": "off", "READ_CONSISTENCY": "strict"],
      "READ_CONSISTENCY is for reads from the index, but POINT_INDEX is off"
    ),
    (
      ["POINT_INDEX": "off", "READ_STALE_WHEN_UNAVAILABLE_S": "1"],
      "READ_STALE_WHEN_UNAVAILABLE_S is for reads from the index, but POINT_INDEX is off"
    ),
  ])
  func settingWithoutEffectIsRejected(settings: [String: String], message: String) {
    let error = #expect(throws: ConfigurationError.self) { try configuration(settings) }

    #expect(error?.description == message)
  }
}
