import Geo
import JSONText
import NIOCore
import Points

/// Writes places as JSON objects, straight into the buffer that goes to the socket.
enum PlaceJSON {
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
    let place = point.place
    var length = fixedLength + JSONString.maximumLength(utf8Count: place.name.utf8.count) + place.tags.json.utf8.count
    length += maximumLength(ofDegrees: place.coordinate.latitude)
    length += maximumLength(ofDegrees: place.coordinate.longitude)
    if let category = place.category { length += JSONString.maximumLength(utf8Count: category.utf8.count) }
    if let origin = place.origin {
      length += JSONString.maximumLength(utf8Count: origin.source.utf8.count)
      length += JSONString.maximumLength(utf8Count: origin.sourceID.utf8.count)
    }
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
    let point = found.point
    writer.write("{")
    var isFirst = true
    if fields.contains(.id) {
      writer.write("\"id\":\"")
      writer.write(point.id)
      writer.write("\"")
      isFirst = false
    }
    if fields.contains(.name) {
      writer.write(key: "\"name\":", isFirst: &isFirst)
      writer.write(string: point.place.name)
    }
    if fields.contains(.category), let category = point.place.category {
      writer.write(key: "\"category\":", isFirst: &isFirst)
      writer.write(string: category)
    }
    if fields.contains(.latitude) {
      writer.write(key: "\"lat\":", isFirst: &isFirst)
      writer.write(degrees: point.place.coordinate.latitude)
    }
    if fields.contains(.longitude) {
      writer.write(key: "\"long\":", isFirst: &isFirst)
      writer.write(degrees: point.place.coordinate.longitude)
    }
    writeRest(of: found, fields: fields, isFirst: &isFirst, to: &writer)
    writer.write("}")
  }

  /// Writes the members that follow the coordinates, which a GeoJSON feature's properties have too.
  static func writeRest(of found: FoundPoint, fields: FieldSet, isFirst: inout Bool, to writer: inout ByteWriter) {
    let point = found.point
    if fields.contains(.distance), let distance = found.distanceMetres {
      writer.write(key: "\"distance\":", isFirst: &isFirst)
      writer.write(metres: distance)
    }
    if fields.contains(.tags) {
      writer.write(key: "\"tags\":", isFirst: &isFirst)
      writer.copy(point.place.tags.json)
    }
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
      writer.write(string: point.createdAt.description)
    }
    if fields.contains(.updatedAt) {
      writer.write(key: "\"updatedAt\":", isFirst: &isFirst)
      writer.write(string: point.updatedAt.description)
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
