import Points
import ServerFeatures
import Testing

@testable import Hosting
@testable import waymark

@Suite struct SearchConfigurationTests {
  private func search(_ environment: [String: String]) throws(ConfigurationError) -> SearchConfiguration {
    try ServeConfiguration(Settings(environment: environment), features: Features.all).search
  }

  @Test func namesAreThoseOfTheDefaultWithoutSettings() throws {
    let search = try search([:])

    #expect(search.textIndex.nameTags.contains("name:*"))
    #expect(search.minimumTextCount == nil)
  }

  @Test func settingsReplaceTheDefaults() throws {
    let search = try search(["SEARCH_NAME_TAGS": "name:*, iata"])

    #expect(search.textIndex.nameTags == ["name:*", "iata"])
  }

  @Test func textsAreReportedFromFiveSearchesOn() throws {
    #expect(try search(["ANALYTICS_SEARCH_TEXTS": "true"]).minimumTextCount == 5)
  }

  @Test(arguments: [
    (["SEARCH_NAME_TAGS": "na*me"], "SEARCH_NAME_TAGS must be at most 100 keys"),
    (["SEARCH_NAME_TAGS": String(repeating: "a", count: 201)], "SEARCH_NAME_TAGS must be at most 100 keys"),
    (["ANALYTICS_SEARCH_TEXTS": "true", "ANALYTICS": "off"], "ANALYTICS_SEARCH_TEXTS needs ANALYTICS=log"),
    (
      ["DATABASE_URL": "postgresql://db/places", "POINT_INDEX": "off", "SEARCH_NAME_TAGS": "ref"],
      "SEARCH_NAME_TAGS is for searches in the index, but POINT_INDEX is off"
    ),
  ])
  func invalidOrUselessValuesAreRejected(environment: [String: String], words: String) {
    let error = #expect(throws: ConfigurationError.self) { try search(environment) }

    #expect(error?.description.hasPrefix(words) == true)
  }
}
