import Geo
import JSONText
import NIOCore
import Points

/// Writes places as JSON objects, straight into the buffer that goes to the socket.
package enum PlaceJSON {
  /// Appends a JSON array of the places.
  static func writeArray(of points: [FoundPoint], fields: FieldSet, to buffer: inout ByteBuffer) {
    let maximumLength = points.reduce(2) { $0 + 1 + self.maximumLength(of: $1.point) }
    write(to: &buffer, atMost: maximumLength) { writer in
      writer.write("[")
      for index in points.indices {
        if index > 0 { writer.write(",") }
        write(points[index], fields: fields, to: &writer)
      }
      writer.write("]")
    }
  }

  /// Appends a JSON array of the places, none of whose fields is an administrative one.
  package static func writeArray(of summaries: any PointSummaries, fields: FieldSet, to buffer: inout ByteBuffer) {
    buffer.reserveCapacity(minimumWritableBytes: fixedLength * (summaries.count + 1))
    var separator: StaticString = "[{"
    summaries.forEach { summary in
      write(to: &buffer, atMost: 2 + maximumLength(of: summary)) { writer in
        writer.write(separator)
        var isFirst = true
        write(summary, fields: fields, isFirst: &isFirst, to: &writer)
        writer.write("}")
      }
      separator = ",{"
    }
    buffer.writeStaticString(summaries.count == 0 ? "[]" : "]")
  }

  /// Appends one JSON object.
  static func writeObject(of point: FoundPoint, fields: FieldSet, to buffer: inout ByteBuffer) {
    write(to: &buffer, atMost: maximumLength(of: point.point)) { writer in
      write(point, fields: fields, to: &writer)
    }
  }

  /// Reserves room in the buffer and lets the body write there.
  static func write(to buffer: inout ByteBuffer, atMost length: Int, _ body: (inout ByteWriter) -> Void) {
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { bytes in
      guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return 0 }
      var writer = ByteWriter(at: start)
      body(&writer)
      let written = writer.position - start
      precondition(written <= length, "more was written than reserved")
      return written
    }
  }

  /// How many bytes the place takes at most as an object or a feature, the names of its fields included.
  static func maximumLength(of point: PointOfInterest) -> Int {
    var length = 0
    FoundPoint(point: point, distanceMetres: nil).withSummary { length = maximumLength(of: $0) }
    if let origin = point.place.origin {
      length += JSONString.maximumLength(utf8Count: origin.source.utf8.count)
      length += JSONString.maximumLength(utf8Count: origin.sourceID.utf8.count)
    }
    return length
  }

  /// How many bytes the summary takes at most as an object.
  private static func maximumLength(of point: PointSummary) -> Int {
    var length = fixedLength + JSONString.maximumLength(utf8Count: point.name.count) + point.tags.count
    length += maximumLength(ofDegrees: point.coordinate.latitude)
    length += maximumLength(ofDegrees: point.coordinate.longitude)
    if let category = point.category { length += JSONString.maximumLength(utf8Count: category.count) }
    return length
  }

  /// What stands around the texts and the coordinates at most: names, punctuation, the id, the distance (at most 20,004
  /// km), the version and two times.
  private static let fixedLength = 384

  /// A coordinate takes a sign, three digits, a point and at most 17 more; one that is nearly 0 takes zeros too.
  private static func maximumLength(ofDegrees degrees: Double) -> Int {
    degrees.magnitude > 1e-3 || degrees == 0 ? 24 : DecimalText.maximumLength
  }

  /// Writes one place as an object.
  static func write(_ found: FoundPoint, fields: FieldSet, to writer: inout ByteWriter) {
    writer.write("{")
    var isFirst = true
    found.withSummary { write($0, fields: fields, isFirst: &isFirst, to: &writer) }
    writeAdministrative(of: found.point, fields: fields, isFirst: &isFirst, to: &writer)
    writer.write("}")
  }

  /// Writes the members that most answers carry.
  private static func write(
    _ point: PointSummary,
    fields: FieldSet,
    isFirst: inout Bool,
    to writer: inout ByteWriter
  ) {
    if fields.contains(.id) {
      writer.write("\"id\":\"")
      writer.write(point.id)
      writer.write("\"")
      isFirst = false
    }
    if fields.contains(.name) {
      writer.write(key: "\"name\":", isFirst: &isFirst)
      writer.write(string: point.name)
    }
    if fields.contains(.category), let category = point.category {
      writer.write(key: "\"category\":", isFirst: &isFirst)
      writer.write(string: category)
    }
    if fields.contains(.latitude) {
      writer.write(key: "\"lat\":", isFirst: &isFirst)
      writer.write(degrees: point.coordinate.latitude)
    }
    if fields.contains(.longitude) {
      writer.write(key: "\"long\":", isFirst: &isFirst)
      writer.write(degrees: point.coordinate.longitude)
    }
    if fields.contains(.distance), let distance = point.distanceMetres {
      writer.write(key: "\"distance\":", isFirst: &isFirst)
      writer.write(metres: distance)
    }
    if fields.contains(.tags) {
      writer.write(key: "\"tags\":", isFirst: &isFirst)
      writer.copy(point.tags)
    }
  }

  /// Writes the members that follow the coordinates, which a GeoJSON feature's properties have too.
  static func writeRest(of found: FoundPoint, fields: FieldSet, isFirst: inout Bool, to writer: inout ByteWriter) {
    if fields.contains(.distance), let distance = found.distanceMetres {
      writer.write(key: "\"distance\":", isFirst: &isFirst)
      writer.write(metres: distance)
    }
    if fields.contains(.tags) {
      writer.write(key: "\"tags\":", isFirst: &isFirst)
      writer.copy(found.point.place.tags.json)
    }
    writeAdministrative(of: found.point, fields: fields, isFirst: &isFirst, to: &writer)
  }

  private static func writeAdministrative(
    of point: PointOfInterest,
    fields: FieldSet,
    isFirst: inout Bool,
    to writer: inout ByteWriter
  ) {
    guard !fields.isDisjoint(with: .administrative) else { return }
    if fields.contains(.source), let origin = point.place.origin {
      writer.write(key: "\"source\":", isFirst: &isFirst)
      writer.write(string: origin.source)
    }
    if fields.contains(.sourceID), let origin = point.place.origin {
      writer.write(key: "\"sourceId\":", isFirst: &isFirst)
      writer.write(string: origin.sourceID)
    }
    if fields.contains(.version) {
      writer.write(key: "\"version\":", isFirst: &isFirst)
      writer.write(integer: point.version)
    }
    if fields.contains(.createdAt) {
      writer.write(key: "\"createdAt\":", isFirst: &isFirst)
      writer.write(point.createdAt)
    }
    if fields.contains(.updatedAt) {
      writer.write(key: "\"updatedAt\":", isFirst: &isFirst)
      writer.write(point.updatedAt)
    }
  }
}

extension ByteWriter {
  /// Writes a member's name and colon, after a comma where it is not the first.
  mutating func write(key: StaticString, isFirst: inout Bool) {
    if !isFirst { write(",") }
    isFirst = false
    write(key)
  }
}
