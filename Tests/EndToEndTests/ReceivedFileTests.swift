import Foundation
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

  /// An archive, written by Python's module zipfile, with the file `a.csv`.
  private static let archive = """
    UEsDBBQAAAAIAAAAIVxR6RKsHAAAABoAAAAFAAAAYS5jc3bLS8xN1clJLNHJyc9L53JOTDu8UsdQz1THiAsAUEsBAhQDFAAAAAgAAAAhXFHpEq\
    wcAAAAGgAAAAUAAAAAAAAAAAAAAIABAAAAAGEuY3N2UEsFBgAAAAABAAEAMwAAAD8AAAAAAA==
    """

  /// A CSV file, compressed by Python's module gzip.
  private static let compressed = "H4sIAAAAAAACA8tLzE3VyUks0cnJz0vnck5MO7xSx8RCz0jH0EzPmAsAcFORYB4AAAA="

  @Test(arguments: StoreKind.allCases) func aPackedTableIsReadWhateverItsName(kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    let server = try await store.serve()
    let (target, environment) = try await Self.target(kind, store, server)

    for (packed, name) in [
      (Self.archive, "a.zip"), (Self.archive, "b.csv"), (Self.compressed, "c.csv.gz"), (Self.compressed, "d.csv"),
      (Self.compressed, "e"),
    ] {
      let file = store.folder.path(of: name)
      try #require(Data(base64Encoded: packed)).write(to: URL(filePath: file))

      let outcome = try await WaymarkProcess.run(["import"] + target + [file], environment: environment)

      #expect(outcome.status == 0 && outcome.output.hasPrefix("1 rows: 1 created"), "\(name): \(outcome.log)")
    }
    withExtendedLifetime(server) {}
  }

  @Test(arguments: StoreKind.allCases)
  func aFileOfAnotherProgramExitsWith65AndTheCommandThatConvertsIt(kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    let server = try await store.serve()
    let (target, environment) = try await Self.target(kind, store, server)
    let gpx = try store.folder.write("<?xml version=\"1.0\"?><gpx/>", to: "track.gpx")
    let named = try store.folder.write("<?xml version=\"1.0\"?><kml/>", to: "places.csv")

    let korean = store.folder.path(of: "korean.csv")
    try Data(Array("name,lat,long\n".utf8) + [0xBC, 0xAD, 0xBF, 0xEF, 0xBF, 0xAA] + Array(",1,2\n".utf8))
      .write(to: URL(filePath: korean))

    for (file, noun, command) in [
      (gpx, "a GPX file", "ogr2ogr -f GeoJSONSeq places.geojsonseq \(gpx) waypoints"),
      (named, "a KML file", "ogr2ogr -f GeoJSONSeq places.geojsonseq \(named)"),
      (korean, "in an encoding other than UTF-8", "iconv -f CP949 -t UTF-8 \(korean) > places.csv"),
    ] {
      let outcome = try await WaymarkProcess.run(["import"] + target + [file], environment: environment)

      #expect(outcome.status == 65 && outcome.log.contains("\(file): "), "\(outcome.log)")
      #expect(outcome.log.contains(noun) && outcome.log.contains(command), "\(outcome.log)")
    }
    withExtendedLifetime(server) {}
  }

  @Test(arguments: StoreKind.allCases)
  func implausibleCoordinatesAreWarningsAndErrorsWithStrict(kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    let server = try await store.serve()
    let (target, environment) = try await Self.target(kind, store, server)
    func run(_ arguments: [String]) async throws -> WaymarkProcess.Outcome {
      try await WaymarkProcess.run(["import", "--dry-run"] + target + arguments, environment: environment)
    }
    let zero = try store.folder.write(
      "name,lat,long,source,sourceId\nA,48.2,16.3,s,1\nB,0,0,s,2\nA,48.2,16.3,s,1\n", to: "zero.csv")
    let duplicate = try store.folder.write(
      "name,lat,long,source,sourceId\nA,48.2,16.3,s,1\nA,48.2,16.3,s,1\n", to: "duplicate.csv")

    let lenient = try await run([zero])
    let strict = try await run(["--strict", zero])
    let mapped = try await run(["--strict", "--mapping", "columns", zero])
    let repeated = try await run(["--strict", duplicate])

    #expect(lenient.status == 0 && lenient.output.hasPrefix("3 rows: 2 created, 0 updated, 1 unchanged, 0 rejected"))
    #expect(lenient.log.contains("1 row, 2, has the coordinates 0, 0"), "\(lenient.log)")
    #expect(strict.status == 65 && strict.log.contains("implausible, which --strict forbids"), "\(strict.log)")
    #expect(mapped.status == 65 && mapped.log.contains("implausible, which --strict forbids"), "\(mapped.log)")
    #expect(
      repeated.status == 0 && repeated.log.contains("1 row, 2, is an exact duplicate of others"), "\(repeated.log)")
    withExtendedLifetime(server) {}
  }

  @Test(arguments: StoreKind.allCases) func anAreaChoosesTheRowsOfEveryFormat(kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    let server = try await store.serve()
    let (target, environment) = try await Self.target(kind, store, server)
    let id = "0199a1b2-0000-7000-8000-000000000001"
    let csv = try store.folder.write(
      "id,name,lat,long\n\(id),in,48.2,16.3\n,out,47,16.3\n,swapped,16.3,48.2\n", to: "a.csv")
    let json = try store.folder.write(
      #"[{"name":"in, too","lat":48.3,"long":16.4},{"name":"b","lat":1,"long":2}]"#, to: "b.json")
    let polygon = try store.folder.write(
      #"{"type":"Polygon","coordinates":[[[16,48],[17,48],[17,49],[16,49],[16,48]]]}"#, to: "area.geojson")

    for area in [["--bbox", "16,48,17,49"], ["--polygon", polygon]] {
      let outcome = try await WaymarkProcess.run(
        ["import", "--dry-run"] + target + area + [csv, json], environment: environment)

      #expect(outcome.output.hasPrefix("2 rows: 2 created"), "\(outcome.output)\(outcome.log)")
      #expect(outcome.output.contains("skipped 3: outside the area 3"), "\(outcome.output)")
      #expect(outcome.log.contains("1 row, 3, is outside the area, and inside with latitude and longitude swapped"))
    }
    _ = try await WaymarkProcess.run(
      ["import"] + target + ["--bbox", "16,48,17,49", csv, json], environment: environment)
    let places = try await ServerDriver(port: try await server.port()).get("/locations?fields=*").places
    #expect(Set(places.map(\.name)) == ["in", "in, too"])
    #expect(places.first { $0.name == "in" }.map { "\($0.id)".lowercased() } == id)
    withExtendedLifetime(server) {}
  }

  /// Returns the options and the environment by which an import reaches a store.
  private static func target(
    _ kind: StoreKind, _ store: EmptyStore, _ server: WaymarkProcess
  ) async throws -> (options: [String], environment: [String: String]) {
    kind == .memory ? (["--url", "http://127.0.0.1:\(try await server.port())"], [:]) : ([], store.environment)
  }
}
