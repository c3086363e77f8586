import Foundation
import HTTPServer
import Logging
import NIOCore
import NIOHTTP1
import ServerFeatures
import Testing

@testable import Hosting
@testable import waymark

/// The entity tags of responses under different settings.
@Suite struct ResponseSettingsTests {
  /// Values other than the defaults, of the settings whose kind does not tell any. A new setting needs one here.
  private static let values = [
    "HTTP_HOST": "127.0.0.2", "PUBLIC_URL": "https://example.com/poi", "TRUSTED_PROXIES": "127.0.0.1",
    "DATA_FILE": "places.csv", "SEARCH_NAME_TAGS": "city",
    "OGC_COLLECTIONS": "sights=museum,castle", "MAP_TILES_URL": "/tiles/{z}/{x}/{y}.png",
    "MAP_TILES_ATTRIBUTION": "Somebody", "DATABASE_URL": "postgresql://db/places",
    "JWT_JWKS": "https://example.com/keys", "JWT_ISSUER": "issuer", "JWT_AUDIENCE": "audience",
    "CORS_ALLOWED_ORIGINS": "https://example.com", "CACHE_CONTROL": "max-age=5",
    "WEBHOOK_ALLOWED_NETWORKS": "10.0.0.0/8",
  ]

  /// Returns a value of a setting other than its default.
  private static func value(of setting: Setting) throws -> String {
    if let value = values[setting.name] { return value }
    switch setting.kind {
    case .boolean: return "true"
    case .integer(let range), .milliseconds(let range):
      guard case .value(let fallback) = setting.fallback else { return "\(range.lowerBound)" }
      return fallback == "\(range.lowerBound)" ? "\(range.lowerBound + 1)" : "\(range.lowerBound)"
    case .numberOrZero(let range): return "\(range.upperBound)"
    case .choice(let choices):
      guard case .value(let fallback) = setting.fallback else { return choices[0] }
      return try #require(choices.first { $0 != fallback })
    case .file, .folder: return "/nonexistent"
    case .text, .list:
      return try #require(Optional<String>.none, "\(setting.name) needs a value in ResponseSettingsTests.values")
    }
  }

  private static func digest(_ environment: [String: String]) -> UInt64 {
    Settings(environment: environment).responseDigest(of: ServerSettings.settings)
  }

  @Test(arguments: ServerSettings.settings)
  func digestChangesWithTheSettingsThatAffectResponsesAlone(setting: Setting) throws {
    var value = try Self.value(of: setting)
    let file = FileManager.default.temporaryDirectory.appending(path: "setting-\(UUID())")
    defer { try? FileManager.default.removeItem(at: file) }
    if case .file = setting.kind {
      try Data("{}".utf8).write(to: file)
      value = file.path
    }

    let changed = Self.digest([setting.name: value])

    #expect((changed != Self.digest([:])) == (setting.effect == .responses))
    if case .value(let fallback) = setting.fallback {
      #expect(Self.digest([setting.name: fallback]) == Self.digest([:]))
    }
  }

  @Test func digestChangesWithTheContentsOfAFileAndNotWithItsPath() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let files = ["a", "b", "c"].map { folder.appending(path: $0) }
    for (file, text) in zip(files, ["{}", "{}", #"{"city": {"type": "string"}}"#]) {
      try Data(text.utf8).write(to: file)
    }

    let digests = files.map { Self.digest(["QUERYABLES": $0.path]) }

    #expect(digests[0] == digests[1])
    #expect(digests[0] != digests[2])
  }

  // MARK: Responses

  private static let item = "/ogc/collections/places/items/00000000-0000-74af-9dd5-148eb1a99880"

  private static let targets = [
    "/locations?lat=37.3293&long=-121.8893&limit=2", "/locations?q=tech", "/locations?q=Paris&f=geojson&limit=1",
    "/locations?filter=city%20LIKE%20'S%25'", "/locations/suggest?q=te", "/locations/reverse?lat=37.3&long=-121.9",
    "/locations/check?lat=37.3316&long=-121.8901&radius=50", "/categories", "/categories?tree=true", "/api?q=tech",
    "/reverse?lat=37.3&lon=-121.9",
    "/locations/clusters?zoom=10", "/locations/facets?by=category,tag.country", "/tiles/6/10/24.mvt",
    "/ogc/collections/sights/items", "/ogc/collections/places/items?limit=2",
    "/ogc/collections/places/items?limit=2&f=html", item, item + "?f=html",
    "/ogc/collections/places/tiles/WebMercatorQuad/6/24/10", "/openapi.json", "/map/settings.json",
  ]

  /// The part of a response that a client uses: the body and the links, without the times of this start, and the part
  /// of the entity tag that is not of the places; `nil` without a tag.
  private struct Seen: Equatable {
    var content: String
    var tag: String?
  }

  private static func seen(_ environment: [String: String]) async throws -> [String: Seen] {
    let environment = ["IS_UNIT_TESTING": "true", "OGC_COLLECTIONS": "sights=museum"].merging(environment) { $1 }
    let configuration = try ServeConfiguration(Settings(environment: environment), features: Features.all)
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let application = try await Application(configuration, logger: logger)
    var all: [String: Seen] = [:]
    for target in targets {
      let request = HTTPRequest(
        method: .GET, target: target, headers: ["host": "localhost:8080", "x-forwarded-prefix": "/prefix"],
        body: .bytes(ByteBuffer()), remoteAddress: try SocketAddress(ipAddress: "127.0.0.1", port: 1))
      let response = await application.responder.respond(to: request)
      var content = String(buffer: try await response.body.collect()) + response.headers["link"].joined()
      content = content.replacing(/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]*Z/, with: "TIME")
      content = content.replacing(/("version":|<th[^>]*>version<\/th><td[^>]*>)[0-9]+/, with: "VERSION")
      let tag = response.status == .ok ? response.headers.first(name: "etag") : nil
      all[target] = Seen(content: content, tag: tag.map { String($0.split(separator: "-").last ?? "") })
    }
    return all
  }

  /// Returns the settings with which one is accepted; `nil` for one that has to name an existing file of its own
  /// format.
  private static func environment(for setting: Setting) throws -> [String: String]? {
    switch setting.name {
    case _ where setting.name.hasPrefix("JWT_"), "DATA_FILE", "TLS_CERTIFICATE_FILE", "TLS_PRIVATE_KEY_FILE",
      "API_KEYS_FILE", "READ_REQUIRES_KEY", "IS_UNIT_TESTING", "QUERYABLES", "CATEGORIES_FILE", "POINT_STORE",
      "MAP_TILES_FILE":
      return nil
    default: break
    }
    var environment: [String: String] = [:]
    if Setting.postgres.settings.contains(where: { $0.name == setting.name }) {
      environment["DATABASE_URL"] = "postgresql://db/places"
    }
    switch setting.name {
    case "MIGRATIONS_PATH": environment["DATABASE_URL"] = "postgresql://db/places"
    case "CHANGES_RETENTION_DAYS", "INDEX_PATH", "WEBHOOK_ALLOWED_NETWORKS":
      environment["MEMORY_STORE_PATH"] = "places.db"
    case "READ_MAX_STALENESS_MS": environment["READ_CONSISTENCY"] = "bounded"
    case "ANALYTICS", "ANALYTICS_RETENTION_DAYS":
      environment = ["DATABASE_URL": "postgresql://db/places", "ANALYTICS": "postgres"]
    case "MAP_TILES_URL": environment["MAP_TILES_ATTRIBUTION"] = "Somebody"
    case "MAP_TILES_ATTRIBUTION": environment["MAP_TILES_URL"] = "/tiles/{z}/{x}/{y}.png"
    default: break
    }
    environment[setting.name] = try value(of: setting)
    return environment
  }

  @Test func responsesThatDifferByASettingHaveDifferentEntityTags() async throws {
    let plain = try await Self.seen([:])
    #expect(plain.values.count { $0.tag != nil } == Self.targets.count)
    let file = FileManager.default.temporaryDirectory.appending(path: "queryables-\(UUID())")
    try Data(#"{"city": {"type": "string-array"}, "country": {"type": "string-array"}}"#.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let categories = FileManager.default.temporaryDirectory.appending(path: "categories-\(UUID())")
    try Data("categories: {culture: {also: [museum], names: {en: Culture}}}".utf8).write(to: categories)
    defer { try? FileManager.default.removeItem(at: categories) }
    let files = ["QUERYABLES": file.path, "CATEGORIES_FILE": categories.path]
    var changing: Set<String> = []

    for setting in ServerSettings.settings {
      let environment = try files[setting.name].map { [setting.name: $0] } ?? Self.environment(for: setting)
      guard let environment else { continue }
      let changed = try await Self.seen(environment)
      for target in Self.targets {
        guard let before = plain[target], let after = changed[target], after.tag != nil else { continue }
        if after.content != before.content {
          changing.insert(setting.name)
          #expect(after.tag != before.tag, "\(setting.name) changes \(target)")
        } else if setting.effect == .operation {
          #expect(after.tag == before.tag, "\(setting.name) does not change \(target)")
        }
      }
    }

    // The comparison sees what it is for.
    #expect(
      changing.isSuperset(of: [
        "PUBLIC_URL", "TRUSTED_PROXIES", "SEARCH_NAME_TAGS", "QUERYABLES", "OGC_COLLECTIONS", "CATEGORIES_FILE",
      ]), "\(changing)")
  }
}
