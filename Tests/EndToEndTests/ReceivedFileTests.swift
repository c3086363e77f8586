import Foundation
import Gzip
import PostgresTestSupport
import Testing

/// Tests of imports of files as people have them, with the built program.
@Suite struct ReceivedFileTests {
  private static let german =
    "sep=;\r\nBezeichnung;Breitengrad;Längengrad;Öffnungszeiten\r\nCafé;48°12'30\"N;16,3;Mo-Fr\r\n"

  @Test(arguments: StoreKind.allCases) func aTableInAnEncodingOfItsTimeIsReadWhateverItsName(kind: StoreKind)
    async throws
  {
    let store = try await EmptyStore(kind)
    let server = try await store.serve()
    let (target, environment) = try await Self.target(kind, store, server)
    let file = store.folder.path(of: "Filialen Export")
    try #require(Self.german.data(using: .isoLatin1)).write(to: URL(filePath: file))
    func run(_ arguments: [String], input: String? = nil) async throws -> WaymarkProcess.Outcome {
      try await WaymarkProcess.run(["import"] + target + arguments, environment: environment, input: input)
    }

    let dry = try await run(["--dry-run", file])
    let imported = try await run(["-"], input: file)
    let places = try await ServerDriver(port: try await server.port()).get("/locations?fields=*").places

    #expect(dry.output.hasPrefix("1 rows: 1 created"), "\(dry.output)\(dry.log)")
    #expect(imported.output.hasPrefix("1 rows: 1 created"), "\(imported.output)\(imported.log)")
    #expect(imported.log.contains("was read as Windows-1252, as it is not in UTF-8"), "\(imported.log)")
    #expect(places.map(\.name) == ["Café"] && places.first?.tags["opening_hours"] == "Mo-Fr")
    withExtendedLifetime(server) {}
  }

  @Test(arguments: StoreKind.allCases)
  func aFileOfAnotherProgramExitsWith65AndTheCommandThatConvertsIt(kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    let server = try await store.serve()
    let (target, environment) = try await Self.target(kind, store, server)
    let gpx = try store.folder.write("<?xml version=\"1.0\"?><gpx/>", to: "track.gpx")
    let named = try store.folder.write("<?xml version=\"1.0\"?><kml/>", to: "places.csv")

    for (file, noun, command) in [
      (gpx, "a GPX file", "ogr2ogr -f GeoJSONSeq places.geojsonseq \(gpx) waypoints"), (named, "a KML file", "ogr2ogr"),
    ] {
      let outcome = try await WaymarkProcess.run(["import"] + target + [file], environment: environment)

      #expect(outcome.status == 65 && outcome.log.contains("\(file): "), "\(outcome.log)")
      #expect(outcome.log.contains(noun) && outcome.log.contains(command), "\(outcome.log)")
    }
    withExtendedLifetime(server) {}
  }

  /// Returns the options and the environment by which an import reaches a store.
  private static func target(
    _ kind: StoreKind, _ store: EmptyStore, _ server: WaymarkProcess
  ) async throws -> (options: [String], environment: [String: String]) {
    kind == .memory ? (["--url", "http://127.0.0.1:\(try await server.port())"], [:]) : ([], store.environment)
  }
}
