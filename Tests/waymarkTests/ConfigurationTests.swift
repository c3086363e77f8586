import ArgumentParser
import Foundation
import HTTPServer
import Logging
import Pages
import PostgresClient
import PostgresStore
import ServerFeatures
import Testing

@testable import Hosting
@testable import waymark

@Suite struct ConfigurationTests {
  @Test func withoutSettingsTheSampleIsServedFromMemoryOnLoopback() throws {
    let configuration = try ServeConfiguration(Settings(environment: [:]), features: Features.all)

    #expect(configuration.http.host == "127.0.0.1")
    #expect(configuration.http.port == 8080)
    #expect(configuration.store == .memory(dataFiles: [], keptIn: nil))
    #expect(configuration.analytics == .log)
    #expect(!configuration.isUnitTesting)
  }

  @Test func aFlagWinsOverTheEnvironment() throws {
    let settings = Settings(options: ["HTTP_PORT": "9"], environment: ["HTTP_PORT": "7", "HTTP_HOST": "0.0.0.0"])

    let configuration = try ServeConfiguration(settings, features: Features.all)

    #expect(configuration.http.port == 9)
    #expect(configuration.http.host == "0.0.0.0")
  }

  @Test func databaseURLSelectsPostgresUnlessMemoryIsSet() throws {
    let database = ["DATABASE_URL": "postgresql://db/places", "DATABASE_POOL_SIZE": "3"]

    let implied = try ServeConfiguration(
      Settings(options: database, environment: ["MIGRATIONS_PATH": "/m"]), features: Features.all)
    let askedFor = try ServeConfiguration(
      Settings(environment: ["POINT_STORE": "memory", "DATA_FILE": "a.csv, b.csv"]), features: Features.all)

    guard case .postgres(let database) = implied.store else {
      Issue.record("expected PostgreSQL, got \(implied.store)")
      return
    }
    #expect(database.poolSize == 3)
    #expect(database.statementTimeout == .seconds(5))
    #expect(database.preparedStatements == .automatic)
    #expect(database.migrationsPath == "/m")
    #expect(askedFor.store == .memory(dataFiles: ["a.csv", "b.csv"], keptIn: nil))
  }

  @Test func statementsArePreparedAsTheSettingSays() throws {
    func preparedStatements(_ value: String) throws -> PostgresConfiguration.PreparedStatements {
      let settings = ["DATABASE_URL": "postgresql://db/places", "DATABASE_PREPARED_STATEMENTS": value]
      return try PostgresConfiguration(DatabaseConfiguration(Settings(environment: settings))).preparedStatements
    }

    #expect(try preparedStatements("auto") == .automatic)
    #expect(try preparedStatements("on") == .always)
    #expect(try preparedStatements("off") == .never)
    let error = #expect(throws: ConfigurationError.self) { try preparedStatements("maybe") }
    #expect(error.map { "\($0)" } == "DATABASE_PREPARED_STATEMENTS must be one of auto, on, off, got 'maybe'")
  }

  @Test func searchesMayBeKeptInPostgresButNotUnderTest() throws {
    var environment = [
      "DATABASE_URL": "postgresql://db/places", "MIGRATIONS_PATH": "/m", "ANALYTICS": "postgres",
      "ANALYTICS_RETENTION_DAYS": "7",
    ]
    let configuration = try ServeConfiguration(Settings(environment: environment), features: Features.all)
    environment["IS_UNIT_TESTING"] = "1"
    let underTest = try ServeConfiguration(Settings(environment: environment), features: Features.all)

    #expect(configuration.analytics == .postgres)
    #expect(configuration.analyticsRetention == .seconds(7 * 86_400))
    #expect(underTest.analytics == .off)
  }

  @Test func memoryMayBeKeptInAFile() throws {
    let settings = Settings(environment: ["MEMORY_STORE_PATH": "/var/lib/waymark/places.db", "DATA_FILE": "a.csv"])

    let configuration = try ServeConfiguration(settings, features: Features.all)

    let path = "/var/lib/waymark/places.db"
    #expect(configuration.store == .memory(dataFiles: ["a.csv"], keptIn: path, indexPath: "\(path).index"))
  }

  @Test func indexOfMemoryMayBeKeptElsewhere() throws {
    let settings = Settings(environment: ["MEMORY_STORE_PATH": "/a.db", "INDEX_PATH": "/fast/index"])

    let configuration = try ServeConfiguration(settings, features: Features.all)

    #expect(configuration.store == .memory(dataFiles: [], keptIn: "/a.db", indexPath: "/fast/index"))
  }

  @Test(arguments: ["1", "true", "YES"])
  func unitTestingUsesNothingOutsideTheProcess(value: String) throws {
    let configuration = try ServeConfiguration(
      Settings(environment: ["IS_UNIT_TESTING": value, "DATABASE_URL": "postgresql://db/places", "ANALYTICS": "log"]),
      features: Features.all)
    let memory = try ServeConfiguration(
      Settings(environment: ["IS_UNIT_TESTING": value, "MEMORY_STORE_PATH": "/var/lib/waymark/places.db"]),
      features: Features.all)

    #expect(configuration.isUnitTesting)
    #expect(configuration.store == .memory(dataFiles: [], keptIn: nil))
    #expect(memory.store == .memory(dataFiles: [], keptIn: nil))
    #expect(configuration.analytics == .off)
  }

  @Test(arguments: [
    ("HTTP_PORT", "http", "must be an integer from 0 to 65535"),
    ("HTTP_PORT", "65536", "must be an integer from 0 to 65535"),
    ("HTTP_PORT", "-1", "must be an integer from 0 to 65535"),
    ("POINT_STORE", "redis", "must be one of memory, postgres"),
    ("ANALYTICS", "redis", "must be one of off, log, postgres"),
    ("ANALYTICS", "postgres", "must be off or log without POINT_STORE=postgres"),
    ("ANALYTICS_RETENTION_DAYS", "0", "must be an integer from 1 to 36500"),
    ("ACCESS_LOG", "maybe", "must be 1, true, yes, 0, false or no"),
    ("IS_UNIT_TESTING", "maybe", "must be 1, true, yes, 0, false or no"),
    ("DRAIN_TIMEOUT_MS", "0", "must be an integer from 1 to 3600000"),
    ("HTTP_MAX_CONNECTIONS", "1e3", "must be an integer from 1 to 1000000"),
  ])
  func invalidValueIsNamedWithItsSettingAndTheAcceptedValues(variable: String, value: String, expectation: String) {
    let error = #expect(throws: ConfigurationError.self) {
      try ServeConfiguration(Settings(environment: [variable: value]), features: Features.all)
    }

    #expect(error?.description == "\(variable) \(expectation), got '\(value)'")
  }

  @Test func postgresWithoutAURLNamesTheMissingSetting() {
    let error = #expect(throws: ConfigurationError.self) {
      try ServeConfiguration(Settings(environment: ["POINT_STORE": "postgres"]), features: Features.all)
    }

    #expect(error?.variable == "DATABASE_URL")
  }

  @Test func migrationsAreThoseOfTheProgramUnlessAFolderIsNamed() throws {
    let environment = ["DATABASE_URL": "postgresql://db/places"]
    let named = environment.merging(["MIGRATIONS_PATH": "/no/such/folder"]) { $1 }

    #expect(try DatabaseConfiguration(Settings(environment: environment)).migrations() == Migration.builtIn)
    #expect(throws: MigrationError.unreadable(path: "/no/such/folder")) {
      try DatabaseConfiguration(Settings(environment: named)).migrations()
    }
  }

  @Test func theMapPageHasABaseMapWhereItsAddressAndAttributionAreSet() throws {
    let tiles = "https://tile.example.com/{z}/{x}/{y}.png"
    let environment = ["MAP_TILES_URL": tiles, "MAP_TILES_ATTRIBUTION": "© Contributors"]

    #expect(try ServeConfiguration(Settings(environment: environment), features: Features.all).baseMap != nil)
    #expect(try ServeConfiguration(Settings(environment: [:]), features: Features.all).baseMap == nil)
  }

  @Test(arguments: [
    (["MAP_TILES_URL": "https://a.example/{z}/{x}/{y}"], "MAP_TILES_URL needs MAP_TILES_ATTRIBUTION"),
    (["MAP_TILES_ATTRIBUTION": "© Contributors"], "MAP_TILES_ATTRIBUTION needs MAP_TILES_URL or MAP_TILES_FILE"),
    (
      ["MAP_TILES_URL": "/{z}/{x}/{y}", "MAP_TILES_ATTRIBUTION": "A", "MAP_TILES_FILE": "a.mbtiles"],
      "MAP_TILES_FILE can't be combined with MAP_TILES_URL"
    ),
    (["MAP_TILES_URL": "https://a.example/", "MAP_TILES_ATTRIBUTION": "A"], "MAP_TILES_URL must be an address"),
  ])
  func anIncompleteBaseMapIsRejected(environment: [String: String], words: String) {
    let error = #expect(throws: ConfigurationError.self) {
      try ServeConfiguration(Settings(environment: environment), features: Features.all)
    }

    #expect(error?.description.hasPrefix(words) == true, "\(error?.description ?? "")")
  }

  @Test func aFileOfTilesThatCannotBeUsedIsRejected() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "tiles-\(UUID())")
    defer { try? FileManager.default.removeItem(at: file) }
    try Data("no tiles".utf8).write(to: file)
    for (path, reason) in [(file.path, "is neither an MBTiles nor a PMTiles file"), ("/nonexistent", "can't be read")] {
      let configuration = try ServeConfiguration(
        Settings(environment: ["MAP_TILES_FILE": path]), features: Features.all)
      let error = #expect(throws: ConfigurationError.self) { try configuration.baseMap?.open() }

      #expect(error?.description == "MAP_TILES_FILE names '\(path)', which \(reason)")
    }
  }

  @Test func theLogIsTextOnATerminalAndElseJSON() throws {
    #expect(try LogConfiguration(Settings(environment: [:]), isTerminal: true).format == .text)
    #expect(try LogConfiguration(Settings(environment: [:]), isTerminal: false).format == .json)
    #expect(try LogConfiguration(Settings(environment: ["LOG_LEVEL": "debug"]), isTerminal: true).level == .debug)
  }

  @Test func everyOptionIsAVariableOfTheSameName() throws {
    let options = try SettingOptions<ServerSettings>.parse([
      "--http-port", "1", "--database-statement-timeout-ms", "2", "--data-file", "x",
      "--database-prepared-statements", "off",
    ])

    #expect(
      options.values == [
        "HTTP_PORT": "1", "DATABASE_STATEMENT_TIMEOUT_MS": "2", "DATA_FILE": "x", "DATABASE_PREPARED_STATEMENTS": "off",
      ])
  }
}

extension ServeConfiguration {
  /// The base map that the operator has chosen instead of the built-in one.
  fileprivate var baseMap: BaseMapSource? { features.lazy.compactMap { ($0 as? PagesFeature)?.baseMap }.first }
}
