import Foundation
import PostgresTestSupport
import Testing

/// Tests of imports of OpenStreetMap's files, with the built program.
@Suite struct OSMImportTests {
  private static let town = """
    <?xml version="1.0"?><osm version="0.6">
    <node id="1" lat="52.5" lon="13.4" version="1"><tag k="name" v="Eins"/><tag k="amenity" v="cafe"/></node>
    <node id="2" lat="52.51" lon="13.41" version="1"><tag k="shop" v="bakery"/><tag k="created_by" v="x"/></node>
    <node id="3" lat="52.52" lon="13.40" version="1"/><node id="4" lat="52.52" lon="13.42" version="1"/>
    <node id="5" lat="52.53" lon="13.42" version="1"/>
    <node id="6" lat="52.6" lon="13.9" version="1"><tag k="name" v="Far"/><tag k="place" v="town"/></node>
    <way id="10" version="1"><nd ref="3"/><nd ref="4"/><nd ref="5"/><nd ref="3"/>
    <tag k="leisure" v="park"/><tag k="name" v="Park"/></way></osm>
    """

  private static let changes = """
    <?xml version="1.0"?><osmChange version="0.6">
    <modify><node id="1" lat="52.5" lon="13.4" version="2"><tag k="name" v="Neu"/><tag k="amenity" v="cafe"/></node>
    <way id="10" version="2"><nd ref="3"/><nd ref="4"/><nd ref="5"/><nd ref="3"/><tag k="leisure" v="park"/>
    <tag k="name" v="Garden"/></way></modify>
    <delete><node id="2" version="2" lat="52.51" lon="13.41"/></delete>
    <create><node id="7" lat="52.5" lon="13.3" version="1"><tag k="tourism" v="hotel"/></node></create></osmChange>
    """

  @Test func anExtractIsImportedAndUpdatedByAChangeFile() async throws {
    let store = try await EmptyStore(.postgres)
    let town = try store.folder.write(Self.town, to: "town.osm")
    let changes = try store.folder.write(Self.changes, to: "changes.osc")

    let imported = try await WaymarkProcess.run(["import", town], environment: store.environment)
    let before = try await places(of: store)
    let dry = try await WaymarkProcess.run(["import", "--dry-run", changes], environment: store.environment)
    let updated = try await WaymarkProcess.run(["import", changes], environment: store.environment)
    let again = try await WaymarkProcess.run(["import", changes], environment: store.environment)
    let after = try await places(of: store)
    let refreshed = try await WaymarkProcess.run(
      ["import", "--replace-source", "osm", town], environment: store.environment)

    #expect(imported.output.hasPrefix("4 rows: 4 created, 0 updated, 0 unchanged, 0 rejected\n"), "\(imported.log)")
    #expect(imported.output.contains("kinds: nodes 3, ways 1\n"))
    #expect(imported.output.contains("categories: bakery 1, cafe 1, park 1, place:town 1\n"))
    #expect(Set(before.keys) == ["Eins", "Bakery", "Far", "Park"])
    #expect(before["Bakery"]?.tags == ["shop": "bakery"])
    #expect(dry.output.hasPrefix("3 rows: 1 created, 2 updated, 0 unchanged, 1 deleted, 0 rejected (dry run"))
    #expect(updated.output.hasPrefix("3 rows: 1 created, 2 updated, 0 unchanged, 1 deleted, 0 rejected\n"))
    #expect(again.output.hasPrefix("3 rows: 0 created, 0 updated, 3 unchanged, 0 deleted, 0 rejected\n"))
    #expect(Set(after.keys) == ["Neu", "Far", "Garden", "Hotel"])
    #expect(after["Garden"]?.id == before["Park"]?.id && after["Garden"]?.lat == before["Park"]?.lat)
    #expect(refreshed.output.hasPrefix("4 rows: 1 created, 2 updated, 1 unchanged, 1 deleted, 0 rejected\n"))
  }

  /// A city of two ways with a hole, an area across the hole's border, a boundary of which a way is missing, one that is
  /// open, and one without a name.
  private static let boundaries = """
    <?xml version="1.0"?><osm version="0.6">
    <node id="1" lat="48" lon="16" version="1"/><node id="2" lat="48" lon="17" version="1"/>
    <node id="3" lat="49" lon="17" version="1"/><node id="4" lat="49" lon="16" version="1"/>
    <node id="5" lat="48.4" lon="16.4" version="1"/><node id="6" lat="48.4" lon="16.6" version="1"/>
    <node id="7" lat="48.6" lon="16.6" version="1"/>
    <way id="10" version="1"><nd ref="1"/><nd ref="2"/><nd ref="3"/></way>
    <way id="11" version="1"><nd ref="1"/><nd ref="4"/><nd ref="3"/></way>
    <way id="12" version="1"><nd ref="5"/><nd ref="6"/><nd ref="7"/><nd ref="5"/></way>
    <relation id="20" version="1"><member type="way" ref="10" role="outer"/><member type="way" ref="11" role="outer"/>
    <member type="way" ref="12" role="inner"/><tag k="type" v="boundary"/><tag k="boundary" v="administrative"/>
    <tag k="admin_level" v="8"/><tag k="name" v="Wien"/><tag k="name:en" v="Vienna"/>
    <tag k="population" v="1000000"/></relation>
    <relation id="21" version="1"><member type="way" ref="12" role="outer"/><tag k="type" v="boundary"/>
    <tag k="boundary" v="postal_code"/><tag k="postal_code" v="1010"/></relation>
    <relation id="22" version="1"><member type="way" ref="12" role="outer"/><member type="way" ref="99" role="outer"/>
    <tag k="type" v="boundary"/><tag k="boundary" v="administrative"/><tag k="name" v="Cut"/></relation>
    <relation id="23" version="1"><member type="way" ref="10" role="outer"/><tag k="type" v="boundary"/>
    <tag k="boundary" v="administrative"/><tag k="name" v="Open"/></relation>
    <relation id="24" version="1"><member type="way" ref="12" role="outer"/><tag k="type" v="boundary"/>
    <tag k="boundary" v="administrative"/></relation></osm>
    """

  @Test(arguments: StoreKind.allCases)
  func boundariesOfAnExtractAreImportedAsAreas(_ kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    let town = try store.folder.write(Self.boundaries, to: "town.osm")
    let server = try await store.serve()
    let driver = ServerDriver(port: try await server.port())
    let address = ["--url", "http://127.0.0.1:\(try await server.port())"]
    let target = kind == .memory ? address : []

    let dry = try await WaymarkProcess.run(
      ["import", "--areas", "--dry-run", town] + target, environment: kind == .memory ? [:] : store.environment)
    let imported = try await WaymarkProcess.run(
      ["import", "--areas", town] + target, environment: kind == .memory ? [:] : store.environment)
    let again = try await WaymarkProcess.run(
      ["import", "--areas", town] + target, environment: kind == .memory ? [:] : store.environment)
    func text(_ target: String) async throws -> String {
      String(decoding: try await driver.get(target).body, as: UTF8.self)
    }
    let sources = try await text("/sources")
    let inHole = try await text("/areas?lat=48.42&long=16.55")
    let outside = try await text("/areas?lat=48.1&long=16.55")
    let export = try store.folder.write(try await text("/areas/export?f=geojson"), to: "areas.geojson")
    let exported = try await WaymarkProcess.run(
      ["import", "--areas", export] + target, environment: kind == .memory ? [:] : store.environment)
    let replaced = try await WaymarkProcess.run(
      ["import", "--areas", "--replace-source", "osm", "--dry-run", town] + target,
      environment: kind == .memory ? [:] : store.environment)
    let mixed = try await WaymarkProcess.run(
      ["import", "--areas", "--exclusive", town] + target, environment: store.environment)

    #expect(dry.output.hasPrefix("4 rows: 2 created, 0 updated, 0 unchanged, 2 rejected (dry run"), "\(dry.log)")
    #expect(imported.output.hasPrefix("4 rows: 2 created, 0 updated, 0 unchanged, 2 rejected\n"), "\(imported.log)")
    #expect(imported.output.contains("relation/22 (Cut): 1 member is not in the file"), "\(imported.output)")
    #expect(imported.output.contains("relation/23 (Open): its members do not join"), "\(imported.output)")
    #expect(again.output.hasPrefix("4 rows: 0 created, 0 updated, 2 unchanged, 2 rejected\n"))
    #expect(inHole.contains(#""name":"1010""#) && inHole.contains(#""kind":"postcode""#), "\(inHole)")
    #expect(!inHole.contains("Wien"))
    #expect(
      sources.contains(#"[{"name":"osm","licence":"ODbL-1.0","attribution":"© OpenStreetMap contributors""#),
      "\(sources)")
    for part in [
      #""names":{"en":"Vienna"}"#, #""kind":"city""#, #""level":8"#, #""importance":0.6"#,
      #""source":"osm","sourceId":"relation/20""#,
    ] { #expect(outside.contains(part), "\(outside)") }
    #expect(exported.output.hasPrefix("2 rows: 0 created, 0 updated, 2 unchanged, 0 rejected\n"), "\(exported.log)")
    #expect(replaced.status == 0 && replaced.output.contains("0 deleted"), "\(replaced.output) \(replaced.log)")
    #expect(mixed.status == 64)
    withExtendedLifetime(server) {}
  }

  @Test func coordinatesThatAreImplausibleAreAWarning() async throws {
    let store = try await EmptyStore(.postgres)
    let file = try store.folder.write(
      """
      <?xml version="1.0"?><osm version="0.6">
      <node id="1" version="1" lat="0" lon="0"><tag k="amenity" v="cafe"/><tag k="name" v="Null"/></node>
      <node id="2" version="1" lat="48.2" lon="16.2"><tag k="amenity" v="cafe"/><tag k="name" v="B"/></node></osm>
      """, to: "edited.osm")

    let lenient = try await WaymarkProcess.run(["import", "--dry-run", file], environment: store.environment)
    let strict = try await WaymarkProcess.run(
      ["import", "--dry-run", "--strict", file], environment: store.environment)

    #expect(lenient.status == 0 && lenient.log.contains("0, 0"), "\(lenient.log)")
    #expect(strict.status == 65 && strict.log.contains("coordinates are implausible"), "\(strict.log)")
  }

  @Test func objectsThatAnEditorDeletedAreNoPlacesAndHoursThatCannotBeParsedAreAWarning() async throws {
    let store = try await EmptyStore(.postgres)
    let file = try store.folder.write(
      """
      <?xml version="1.0"?><osm version="0.6" generator="JOSM">
      <node id="1" action="delete" visible="true" lat="48.1" lon="16.1"><tag k="amenity" v="cafe"/></node>
      <node id="2" visible="false" lat="48.2" lon="16.2"><tag k="amenity" v="cafe"/></node>
      <node id="-3" action="modify" visible="true" lat="48.3" lon="16.3"><tag k="amenity" v="cafe"/>
      <tag k="name" v="New"/><tag k="opening_hours" v="ask the cat"/></node></osm>
      """, to: "town.osm")

    let imported = try await WaymarkProcess.run(["import", file], environment: store.environment)

    #expect(imported.output.hasPrefix("1 rows: 1 created"), "\(imported.output)")
    #expect(imported.log.contains("opening_hours of 1 of 1 rows that have them cannot be parsed"), "\(imported.log)")
  }

  @Test func placesOfAnExtractAreFoundByTheirOtherNamesAndBrands() async throws {
    let store = try await EmptyStore(.postgres)
    let town = try store.folder.write(
      """
      <?xml version="1.0"?><osm version="0.6">
      <node id="1" lat="48.2" lon="16.37" version="1"><tag k="name" v="Wien"/><tag k="name:en" v="Vienna"/>
      <tag k="official_name" v="Bundeshauptstadt"/><tag k="place" v="city"/></node>
      <node id="2" lat="48.3" lon="16.4" version="1"><tag k="name" v="Station 7"/><tag k="brand" v="Petrolia"/>
      <tag k="amenity" v="fuel"/></node></osm>
      """, to: "town.osm")

    let imported = try await WaymarkProcess.run(["import", town], environment: store.environment)
    let server = try await store.serve()
    let driver = ServerDriver(port: try await server.port())
    func names(_ query: String) async throws -> [String] {
      try await driver.get("/locations?\(query)").places.map(\.name)
    }

    #expect(imported.status == 0, "\(imported.log)")
    #expect(try await names("q=vienna&lang=de") == ["Wien"])
    #expect(try await names("q=bundeshauptstadt&lang=de") == ["Wien"])
    #expect(try await names("q=petrolia&lang=de") == ["Station 7"])
    #expect(try await names("lat=48.2&long=16.37&limit=1&lang=en") == ["Vienna"])
    withExtendedLifetime(server) {}
  }

  @Test func anAreaAndTagsSelectObjects() async throws {
    let store = try await EmptyStore(.postgres)
    let town = try store.folder.write(Self.town, to: "town.osm")
    let area = try store.folder.write(
      #"{"type":"Polygon","coordinates":[[[13.3,52.4],[13.405,52.4],[13.405,52.505],[13.3,52.505],[13.3,52.4]]]}"#,
      to: "area.geojson")
    func run(_ arguments: String...) async throws -> String {
      try await WaymarkProcess.run(["import", "--dry-run"] + arguments + [town], environment: store.environment).output
    }

    #expect(try await run("--bbox", "13,52.4,13.5,52.55").contains("kinds: nodes 2, ways 1\n"))
    #expect(try await run("--polygon", area).contains("categories: cafe 1\n"))
    #expect(
      try await run("--only", "amenity=cafe,bar", "--only", "place").contains("categories: cafe 1, place:town 1\n"))
  }

  @Test func linesAreTakenOnRequestAndEachIsOnePlace() async throws {
    let store = try await EmptyStore(.postgres)
    let nodes = (0..<6).map { "<node id=\"\($0)\" lat=\"50\" lon=\"10.00\($0)\" version=\"1\"/>" }
    let streets = (0..<5).map {
      """
      <way id="\($0)" version="1"><nd ref="\($0)"/><nd ref="\($0 + 1)"/><tag k="highway" v="residential"/>
      <tag k="name" v="High Street"/></way>
      """
    }
    let town = try store.folder.write(
      """
      <?xml version="1.0"?><osm version="0.6">\(nodes.joined())
      <node id="7" lat="50" lon="10" version="1"><tag k="amenity" v="cafe"/></node>\(streets.joined())
      <way id="9" version="1"><nd ref="0"/><nd ref="1"/><tag k="building" v="yes"/><tag k="name" v="House"/></way></osm>
      """, to: "town.osm")
    func run(_ arguments: String...) async throws -> String {
      try await WaymarkProcess.run(["import", "--dry-run"] + arguments + [town], environment: store.environment).output
    }

    let without = try await run()
    let streetsToo = try await run("--keep", "highway")
    let all = try await run("--all")

    #expect(without.contains("categories: cafe 1\n"), "\(without)")
    #expect(streetsToo.hasPrefix("2 rows: 2 created"), "\(streetsToo)")
    #expect(streetsToo.contains("categories: cafe 1, highway:residential 1\n"))
    #expect(streetsToo.contains("pieces of a line that is one place 4"))
    #expect(all.contains("categories: building 1, cafe 1, highway:residential 1\n"), "\(all)")
  }

  @Test func aBrokenExtractImportsNothing() async throws {
    let store = try await EmptyStore(.postgres)
    let cut = try store.folder.write(String(Self.town.prefix(400)), to: "cut.osm")
    let empty = try store.folder.write("", to: "empty.osm.pbf")

    for file in [cut, empty] {
      let outcome = try await WaymarkProcess.run(["import", file], environment: store.environment)

      #expect(outcome.status == 65, "\(outcome.log)")
      #expect(outcome.log.contains(file) && outcome.log.contains("nothing was imported"))
    }
    #expect(try await places(of: store).isEmpty)
  }

  private func places(of store: EmptyStore) async throws -> [String: ServerDriver.PointResponse] {
    let server = try await store.serve()
    defer { server.send(SIGTERM) }
    let places = try await ServerDriver(port: try await server.port()).get("/locations").places
    return Dictionary(places.map { ($0.name, $0) }) { $1 }
  }
}
