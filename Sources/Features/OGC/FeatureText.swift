import Basics
import CQL2
import JSONText
import LocationsAPI
import NIOCore
import PointFormats
import Points

/// The GeoJSON of features, in a reference system.
struct FeatureText {
  let properties: FeatureProperties
  let system: ReferenceSystem

  /// Returns a FeatureCollection (OGC 17-069r4, section 7.16).
  func collection(_ page: FeaturePage) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.write("{\"type\":\"FeatureCollection\",\"features\":[")
    for index in page.points.indices { append(page.points[index], isFollowing: index > 0, to: &buffer) }
    buffer.write("]")
    var json = JSONWriter([UInt8](), continuesList: true)
    if let count = page.numberMatched { json.write(member: "numberMatched", count) }
    json.write(member: "numberReturned", page.points.count)
    json.write(name: "links")
    json.write(page.links.json)
    json.endObject()
    buffer.writeBytes(json.sink)
    return buffer
  }

  func feature(_ point: PointOfInterest, links: [PointGeoJSON.Link]) -> ByteBuffer {
    var buffer = ByteBuffer()
    append(FoundPoint(point: point, distanceMetres: nil), isFollowing: false, to: &buffer)
    reopen(&buffer, braces: 1)
    var json = JSONWriter([UInt8](), continuesList: true)
    json.write(name: "links")
    json.write(links.json)
    json.endObject()
    buffer.writeBytes(json.sink)
    return buffer
  }

  private func append(_ found: FoundPoint, isFollowing: Bool, to buffer: inout ByteBuffer) {
    guard !properties.tags.isEmpty else { return write(found, isFollowing: isFollowing, to: &buffer) }
    let (rest, members) = split(found.point)
    write(FoundPoint(point: rest, distanceMetres: nil), isFollowing: isFollowing, to: &buffer)
    guard !members.isEmpty else { return }
    // They follow the other properties, of which there always are some.
    reopen(&buffer, braces: 2)
    var json = JSONWriter([UInt8](), continuesList: true)
    for member in members {
      json.write(escapedName: member.name)
      json.write(member.value)
    }
    json.endObject()
    json.endObject()
    buffer.writeBytes(json.sink)
  }

  private func write(_ found: FoundPoint, isFollowing: Bool, to buffer: inout ByteBuffer) {
    if system == .crs84 {
      PointGeoJSON.append(found, fields: .all, isFollowing: isFollowing, to: &buffer)
    } else {
      let position = system.position(of: found.point.draft.coordinate)
      PointGeoJSON.append(
        found, fields: .all, isFollowing: isFollowing, coordinates: (position.first, position.second), to: &buffer)
    }
  }

  /// Removes the closing braces at the end.
  private func reopen(_ buffer: inout ByteBuffer, braces: Int) {
    buffer.moveWriterIndex(to: buffer.writerIndex - braces)
  }

  // MARK: Declared tags

  /// Returns the place without the tags that are properties of their own, and these.
  private func split(_ point: PointOfInterest) -> (PointOfInterest, [JSONValue.Member]) {
    var rest: [(key: String, value: String)] = []
    var members: [JSONValue.Member] = []
    for (key, value) in point.draft.tags.pairs {
      let declared = properties.tags.first { $0.tag.hasSameBytes(as: key) }
      if let declared, let json = Self.json(value, as: declared.type) {
        members.append(.init(name: declared.name, value: json))
      } else {
        rest.append((key, value))
      }
    }
    guard !members.isEmpty, let tags = try? Tags(rest) else { return (point, []) }
    let draft = PointDraft(
      storedName: point.draft.name, category: point.draft.category, coordinate: point.draft.coordinate, tags: tags,
      origin: point.draft.origin)
    let bare = PointOfInterest(
      id: point.id, draft: draft, version: point.version, createdAt: point.createdAt, updatedAt: point.updatedAt)
    return (bare, members)
  }

  /// Returns the value of a tag in JSON; `nil` where it is none of the type.
  private static func json(_ text: String, as type: FilterType) -> JSONValue? {
    switch FilterValue(text, as: type) {
    case .number(let number):
      if case .number(let text)? = try? JSONReader.value(of: text.utf8) { return .number(text) }
      var json = JSONWriter()
      json.write(number: number)
      return .number(String(decoding: json.sink, as: UTF8.self))
    case .boolean(let value): return .bool(value)
    case .string, .date, .timestamp: return .string(text)
    case .array(let elements):
      return .array(
        elements.map { element in
          if case .string(let text) = element { .string(text.text) } else { .null }
        })
    case .null, .point, nil: return nil
    }
  }
}
