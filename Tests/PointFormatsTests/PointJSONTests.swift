import Basics
import Geo
import JSONText
import Points
import TestSupport
import Testing

@testable import PointFormats

@Suite struct PointJSONTests {
  @Test(arguments: ["\u{1}", "\"", "\u{1F3D4}"])
  func maximumLengthIsNeverExceeded(character: String) throws {
    let text = String(repeating: character, count: 1000)
    let draft = PointDraft(
      storedName: text, category: text, coordinate: try Coordinate(latitude: -89.123456789012345, longitude: -1e-9),
      tags: try Tags(["k": text]), origin: SourceReference(source: text, sourceID: text))
    let time = Timestamp(microsecondsSinceEpoch: .max / 100)
    let point = PointOfInterest(id: .sample(1), draft: draft, version: .max, createdAt: time, updatedAt: time)
    var found = FoundPoint(point: point, distanceMetres: 20_003_931.123456789, alongMetres: 1.0 / 3)
    (found.attribution, found.label) = (text, text)
    let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 1 << 20)
    defer { memory.deallocate() }

    let fields = FieldSet.all.union(.derived)
    found.withBorrowed { point in
      let length = PointJSON.write(found, point, fields: fields, isFollowing: true, to: memory)
      #expect(length <= PointJSON.maximumLength(of: found))
      #expect(length > 6 * 1000)

      let storedLength = PointJSON.write(point, fields: .all, isFollowing: true, to: memory)
      #expect(storedLength <= PointJSON.maximumLength(of: point))
    }
  }
}
