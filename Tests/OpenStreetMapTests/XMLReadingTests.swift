import Foundation
import Gzip
import Testing

@testable import OpenStreetMap

@Suite struct XMLReadingTests {
  private static let town = """
    <?xml version='1.0' encoding='UTF-8'?>
    <osm version="0.6" generator="test">
      <note>not an object</note>
      <bounds minlat="50" minlon="8" maxlat="51" maxlon="9"/>
      <node id="1" version="1" lat="50.0" lon="8.0"/>
      <node id="2" version="1" lat="50.0" lon="8.01"/>
      <node id="-3" lat="5.001E1" lon="8.01">
        <tag k="name" v="A &amp; B &lt;&#233;&gt;"/><tag k="shop" v="books"/></node>
      <way id="9223372036854775807" version="4">
        <nd ref="1"/><nd ref="2"/><nd ref="-3"/><nd ref="1"/>
        <tag k="amenity" v="school"/>
      </way>
      <relation id="5" version="2">
        <member type="way" ref="9223372036854775807" role="outer"/><member type="node" ref="-3" role="label"/>
        <tag k="type" v="site"/><tag k="name" v="S"/>
      </relation>
    </osm>
    """

  private func gzip(_ text: String) throws -> [UInt8] {
    let encoder = try GzipEncoder()
    var bytes: [UInt8] = []
    Array(text.utf8).withUnsafeBytes { encoder.encode($0, into: &bytes) }
    encoder.finish(into: &bytes)
    return bytes
  }

  @Test(arguments: [false, true])
  func objectsAreReadFromXML(isCompressed: Bool) throws {
    let bytes = isCompressed ? try gzip(Self.town) : Array(Self.town.utf8)

    let places = try places(of: bytes, name: isCompressed ? "town.osm.gz" : "town.osm.xml")

    #expect(places.map(\.id) == [-3, .max, 5])
    #expect(places.map(\.version) == [nil, 4, 2])
    #expect(places[0].tags == [OSMTag("name", "A & B <é>"), OSMTag("shop", "books")])
    #expect(places[0].latitude == 50.01)
    #expect(places[1].longitude == 8.0066667)
    #expect(places[2].latitude == 50.01)
  }

  @Test func filesOfManyBlocksAreReadCompletely() throws {
    var text = "<osm>"
    for id in 1...20_000 {
      text += "<node id='\(id)' lat='1.5' lon='\(Double(id) / 1000)'><tag k='name' v='N\(id)'/></node>"
    }

    let places = try places(of: Array((text + "</osm>").utf8), name: "many.osm")

    #expect(places.map(\.id) == Array(1...20_000))
    #expect(places.last?.longitude == 20)
  }

  @Test func normalFormsOfATextAreKeptApart() throws {
    let text =
      "<osm><node id='1' lat='1' lon='1'><tag k='name' v='\u{E9}'/><tag k='name:fr' v='e\u{301}'/></node></osm>"

    let place = try #require(try places(of: Array(text.utf8), name: "forms.osm").first)

    #expect(place.tags == [OSMTag("name", "\u{E9}"), OSMTag("name:fr", "e\u{301}")])
    #expect(OSMTag("name", "\u{E9}") != OSMTag("name", "e\u{301}"))
  }

  // MARK: - Change files

  private static let changes = """
    <osmChange version="0.6">
      <create>
        <node id="1" version="1" lat="1" lon="2"><tag k="name" v="new"/></node>
        <node id="2" version="1" lat="1" lon="2"/>
        <way id="10" version="1"><nd ref="1"/><nd ref="3"/><tag k="name" v="complete"/></way>
      </create>
      <modify>
        <node id="3" version="2" lat="1" lon="2.51"/>
        <node id="1" version="2" lat="1" lon="2.5"><tag k="name" v="newer"/></node>
        <way id="11" version="5"><nd ref="1"/><nd ref="99"/><tag k="name" v="elsewhere"/></way>
      </modify>
      <delete>
        <node id="4" version="7"/>
        <relation id="20" version="2"/>
      </delete>
    </osmChange>
    """

  @Test func changesAreReadInOrder() throws {
    let file = try TestFile(gzip(Self.changes), name: "1.osc.gz")

    let changes = try file.changes()

    #expect(
      changes == [
        OSMChange(
          action: .create, kind: .node, id: 1, version: 1, tags: [OSMTag("name", "new")],
          position: OSMPosition(latitude: 1, longitude: 2)),
        // No place any more, if it was one.
        OSMChange(action: .delete, kind: .node, id: 3, version: 2, tags: [], position: nil),
        OSMChange(
          action: .modify, kind: .node, id: 1, version: 2, tags: [OSMTag("name", "newer")],
          position: OSMPosition(latitude: 1, longitude: 2.5)),
        OSMChange(action: .delete, kind: .node, id: 4, version: 7, tags: [], position: nil),
        OSMChange(
          action: .create, kind: .way, id: 10, version: 1, tags: [OSMTag("name", "complete")],
          position: OSMPosition(latitude: 1, longitude: 2.505)),
        // One of its nodes is not in the file.
        OSMChange(
          action: .modify, kind: .way, id: 11, version: 5, tags: [OSMTag("name", "elsewhere")], position: nil),
        OSMChange(action: .delete, kind: .relation, id: 20, version: 2, tags: [], position: nil),
      ])
  }

  @Test func changesOutsideTheBoxAreDeletions() throws {
    let file = try TestFile(Array(Self.changes.utf8), name: "1.osc")
    let area = try OSMArea(
      geoJSON: Array(#"{"type":"Polygon","coordinates":[[[1,0],[2.2,0],[2.2,2],[1,2],[1,0]]]}"#.utf8))

    let nodes = try file.changes(OSMSelection(kinds: [.node], area: area))

    #expect(nodes.map(\.action) == [.create, .delete, .delete, .delete])
  }

  @Test func extractsAndChangesAreNotConfused() throws {
    let extract = try TestFile(Array(Self.town.utf8), name: "changes.osc")
    let changes = try TestFile(Array(Self.changes.utf8), name: "town.osm")

    #expect(throws: OSMError.isChangeFile) { try extract.places() }
    #expect(throws: OSMError.isNoChangeFile) { try changes.changes() }
    #expect { try extract.changes() } throws: { "\($0)".contains("the root element is 'osm', expected 'osmChange'") }
    #expect { try changes.places() } throws: { "\($0)".contains("the root element is 'osmChange', expected 'osm'") }
  }

  // MARK: - Hostile files

  private func message(_ text: String, name: String = "test.osm") -> String {
    do {
      _ = try places(of: Array(text.utf8), name: name)
      return "no error"
    } catch {
      return "\(error)"
    }
  }

  @Test(arguments: [
    (
      "<!DOCTYPE x [<!ENTITY a \"b\"><!ENTITY c \"&a;&a;\">]><osm>&c;</osm>", "document type declaration is not allowed"
    ),
    ("<osm><node id='9223372036854775808' lat='1' lon='1'/></osm>", "an id that is not a 64-bit integer: '92233720"),
    ("<osm><node id='1.5' lat='1' lon='1'/></osm>", "not a 64-bit integer: '1.5'"),
    ("<osm><node lat='1' lon='1'/></osm>", "has no id"),
    (
      "<osm><node id='1' lat='90.1' lon='1'/></osm>",
      "node 1 has no valid position: lat must be a number from -90 to 90"
    ),
    ("<osm><node id='1' lat='1' lon='nan'/></osm>", "lon must be a number from -180 to 180, got 'nan'"),
    ("<osm><node id='1' lat='' lon='1'/></osm>", "lat must be a number"),
    ("<osm><node id='1' lon='1'/></osm>", "lat or lon is missing"),
    ("<osm><way id='1'><nd/></way></osm>", "has no id"),
    ("<osm><way id='1'><tag k='a'/></way></osm>", "a tag has no key or no value"),
    ("<osm><relation id='1'><member type='area' ref='1'/></relation></osm>", "no type that is node, way or relation"),
    ("<osm><node id='1' lat='1' lon='1'></osm>", "mismatched tag (line 1)"),
    ("<osm><node id='1' lat='1' lon='1'/>", "truncated"),
    ("", "the file is empty"), ("   ", "truncated"), ("<html></html>", "the root element is 'html', expected 'osm'"),
    ("<osm>" + String(repeating: "<a>", count: 17), "nested too deeply"),
  ])
  func invalidXMLIsRejected(text: String, expected: String) {
    #expect(message(text).contains(expected))
  }

  @Test func longTagsAndObjectsAreRejected() {
    let long = "<osm><node id='1' lat='1' lon='1' user='" + String(repeating: "x", count: 2 << 20) + "'/></osm>"
    let many = "<osm><way id='1'>" + String(repeating: "<nd ref='1'/>", count: 1_100_000) + "</way></osm>"

    #expect(message(long).contains("the XML tag at byte"))
    #expect(message(many).contains("way 1 at byte"))
  }

  @Test func damagedGzipIsRejected() throws {
    let bytes = try gzip(Self.town)

    #expect(throws: OSMError.truncated(offset: bytes.count - 9)) {
      try places(of: Array(bytes.dropLast(9)), name: "town.osm.gz")
    }
    #expect { try places(of: try gzip(String(repeating: " ", count: 40 << 20)), name: "bomb.osm.gz") } throws: {
      "\($0)".contains("holds more than 100 times its length")
    }
  }

  @Test func damagedXMLNeverCrashes() throws {
    let bytes = Array(Self.town.utf8)
    var random = SeededGenerator(seed: 18)
    var (read, rejected) = (0, 0)
    for _ in 0..<1000 {
      var damaged = bytes
      let place = Int.random(in: 0..<damaged.count, using: &random)
      if Bool.random(using: &random) {
        damaged[place] = UInt8.random(in: 32...126, using: &random)
      } else {
        damaged.removeSubrange(place..<min(damaged.count, place + Int.random(in: 1...20, using: &random)))
      }
      do {
        _ = try places(of: damaged, name: "damaged.osm")
        read += 1
      } catch is OSMError {
        rejected += 1
      }
    }
    #expect(read > 10)
    #expect(rejected > 50)
  }
}
