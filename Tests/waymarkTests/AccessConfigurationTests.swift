import ArgumentParser
import Foundation
import AccessControl
import HTTPServer
import LocationsAPI
import ServerFeatures
import Testing

@testable import Hosting
@testable import waymark

@Suite struct AccessConfigurationTests {
  @Test func withoutSettingsThereAreNoKeysAndReadingIsOpen() throws {
    let configuration = try ServeConfiguration(Settings(environment: [:]), features: Features.all)

    #expect(configuration.access.keysFile == nil)
    #expect(!configuration.access.readRequiresKey)
    #expect(!configuration.requiresIfMatch)
  }

  @Test func settingsAreRead() throws {
    let configuration = try ServeConfiguration(
      Settings(environment: ["API_KEYS_FILE": "k", "READ_REQUIRES_KEY": "yes", "REQUIRE_IF_MATCH": "1"]),
      features: Features.all)

    #expect(configuration.access.keysFile == "k")
    #expect(configuration.access.readRequiresKey)
    #expect(configuration.requiresIfMatch)
  }

  @Test func scopesOfFeaturesHaveLevelsAndNamesOfTheirOwn() throws {
    let scopes = try ServeConfiguration(Settings(environment: [:]), features: Features.all).access.scopes

    #expect(scopes.map(\.description) == ["read", "suggest", "write", "admin"])
    #expect(Set(scopes).count == scopes.count)
    #expect(AccessScope.ofServer(with: []) == AccessScope.common)
  }

  @Test func requiringAKeyForReadingNeedsConfiguredKeys() {
    let error = #expect(throws: ConfigurationError.self) {
      try ServeConfiguration(Settings(environment: ["READ_REQUIRES_KEY": "true"]), features: Features.all)
    }

    #expect(error?.variable == "READ_REQUIRES_KEY")
  }

  @Test(arguments: ["", "\n\n", "# a comment\n"])
  func fileWithoutKeysIsRejected(text: String) throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "waymark-keys-\(UUID())").path
    try Data(text.utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }

    let error = #expect(throws: ConfigurationError.self) { try KeyFile(path: path) }

    #expect(error?.variable == "API_KEYS_FILE")
    #expect(error?.description.contains("has none") == true)
  }

  @Test func invalidKeyFileIsReportedWithFileAndLine() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "waymark-keys-\(UUID())").path
    try Data("# mine\nwm_secret\n".utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }

    let error = #expect(throws: ConfigurationError.self) { try KeyFile(path: path) }
    let missing = #expect(throws: ConfigurationError.self) { try KeyFile(path: path + ".none") }

    #expect(
      error?.description == "API_KEYS_FILE names '\(path)', whose line 2 must be name:scope:sha256")
    #expect(missing?.description == "API_KEYS_FILE must be a file that can be read, got '\(path).none'")
  }

  @Test func keyWithoutAScopeOnlyReads() throws {
    let command = try #require(try Waymark.parseAsRoot(["keys", "create", "a"]) as? CreateKeyCommand)

    #expect(command.scope == "read")
  }

  @Test(arguments: [["keys", "create", "a b"], ["keys", "create", "a", "--scope", "root"]])
  func keyCreationNeedsAValidNameAndScope(arguments: [String]) async throws {
    let command = try #require(try Waymark.parseAsRoot(arguments) as? CreateKeyCommand)

    await #expect(throws: Exit.usage) { try await command.run() }
  }
}
