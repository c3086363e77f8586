import Geo
import JSONText
import NIOCore
import Points

/// Writes places as GeoJSON (RFC 7946): the id and the coordinates where GeoJSON has them, the other fields as
/// properties.
enum PlaceGeoJSON {
  /// What a feature takes beside what the place itself does, at most.
  private static let overhead = 128

  /// Appends a FeatureCollection of the places, with what OGC API Features adds to one (OGC 17-069r4, section 7.16).
  ///
  /// `timeStamp` is when the places on the page last changed and not the time of the response, so that the same places
  /// are the same bytes; a page of no places has none.
  static func writeCollection(
    of points: [FoundPoint], fields: FieldSet, next: String?, to buffer: inout ByteBuffer
  ) {
    buffer.writeStaticString("{\"type\":\"FeatureCollection\",\"features\":[")
    for index in points.indices {
      if index > 0 { buffer.writeStaticString(",") }
      writeFeature(of: points[index], fields: fields, to: &buffer)
    }
    buffer.writeString("],\"numberReturned\":\(points.count)")
    if let changedAt = points.lazy.map(\.point.updatedAt).max() {
      buffer.writeString(",\"timeStamp\":\"\(changedAt)\"")
    }
    buffer.writeStaticString(",\"links\":[")
    if let next {
      buffer.writeStaticString("{\"rel\":\"next\",\"type\":\"application/geo+json\",\"href\":")
      var href: [UInt8] = []
      JSONString.append(next, to: &href)
      buffer.writeBytes(href)
      buffer.writeStaticString("}")
    }
    buffer.writeStaticString("]}")
  }

  /// Appends a sequence of features (RFC 8142), each between a record separator and a line feed.
  static func writeSequence(of points: [FoundPoint], fields: FieldSet, to buffer: inout ByteBuffer) {
    for point in points {
      buffer.writeStaticString("\u{1E}")
      writeFeature(of: point, fields: fields, to: &buffer)
      buffer.writeStaticString("\n")
    }
  }

  /// Appends one feature.
  static func writeFeature(of found: FoundPoint, fields: FieldSet, to buffer: inout ByteBuffer) {
    let point = found.point
    PlaceJSON.write(to: &buffer, atMost: overhead + PlaceJSON.maximumLength(of: point)) { writer in
      writer.write("{\"type\":\"Feature\",")
      if fields.contains(.id) {
        writer.write("\"id\":\"")
        writer.write(point.id)
        writer.write("\",")
      }
      writer.write("\"geometry\":{\"type\":\"Point\",\"coordinates\":[")
      writer.write(degrees: point.place.coordinate.longitude)
      writer.write(",")
      writer.write(degrees: point.place.coordinate.latitude)
      writer.write("]},\"properties\":{")
      var isFirst = true
      if fields.contains(.name) {
        writer.write(key: "\"name\":", isFirst: &isFirst)
        writer.write(string: point.place.name)
      }
      if fields.contains(.category), let category = point.place.category {
        writer.write(key: "\"category\":", isFirst: &isFirst)
        writer.write(string: category)
      }
      PlaceJSON.writeRest(of: found, fields: fields, isFirst: &isFirst, to: &writer)
      writer.write("}}")
    }
  }
}
