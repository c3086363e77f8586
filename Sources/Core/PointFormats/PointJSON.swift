public import Basics
import Geo
import JSONText
public import Points

/// The JSON object of a place: the same bytes for the same fields in every response, export and file.
///
/// Each place is written in place and without bounds checks, into room that is reserved for the most that it can take.
public enum PointJSON {
  /// Appends a place.
  ///
  /// - Parameter isFollowing: a Boolean value that indicates whether a comma precedes it.
  @inlinable
  public static func append(
    _ found: FoundPoint, fields: FieldSet, isFollowing: Bool = false, to sink: inout some ByteSink
  ) {
    found.withBorrowed { point in
      sink.write(atMost: maximumLength(of: point) + maximumLength(ofDerived: found)) { start in
        write(found, point, fields: fields, isFollowing: isFollowing, to: start)
      }
    }
  }

  /// Appends an array of places.
  @inlinable
  public static func appendArray(of points: [FoundPoint], fields: FieldSet, to sink: inout some ByteSink) {
    sink.reserve(points.reduce(2) { $0 + maximumLength(of: $1) })
    sink.write(UInt8(ascii: "["))
    for index in points.indices { append(points[index], fields: fields, isFollowing: index > 0, to: &sink) }
    sink.write(UInt8(ascii: "]"))
  }

  /// Appends an array of borrowed places.
  ///
  /// - Parameter fields: none of the derived ones.
  @inlinable
  public static func appendArray(of points: any PagePoints, fields: FieldSet, to sink: inout some ByteSink) {
    let capacity = fixedLength * (points.count + 1)
    var rest: [UInt8] = []
    sink.write(UInt8(ascii: "["))
    sink.write(atMost: capacity) { start in
      let page = write(points, fields: fields, to: start, capacity: capacity)
      rest = page.rest
      return page.count
    }
    if !rest.isEmpty { rest.withUnsafeBufferPointer { sink.write($0) } }
    sink.write(UInt8(ascii: "]"))
  }

  /// Writes places with commas between them and returns the number of bytes, and the text from the first place on that
  /// there might not be enough room for.
  @usableFromInline
  static func write(
    _ points: any PagePoints, fields: FieldSet, to start: UnsafeMutablePointer<UInt8>, capacity: Int
  ) -> (count: Int, rest: [UInt8]) {
    var page = PageWriter(fields: fields, limit: start + capacity, end: start)
    points.forEach { page.write($0) }
    return (page.end - start, page.rest)
  }

  private struct PageWriter {
    let fields: FieldSet
    let limit: UnsafeMutablePointer<UInt8>
    var end: UnsafeMutablePointer<UInt8>
    var rest: [UInt8] = []
    var isFollowing = false

    mutating func write(_ point: BorrowedPoint) {
      let maximumLength = maximumLength(of: point)
      if rest.isEmpty, limit - end >= maximumLength {
        end += PointJSON.write(point, fields: fields, isFollowing: isFollowing, to: end)
      } else {
        writeToRest(point, maximumLength)
      }
      isFollowing = true
    }

    @inline(never)
    private mutating func writeToRest(_ point: BorrowedPoint, _ maximumLength: Int) {
      rest.write(atMost: maximumLength) {
        PointJSON.write(point, fields: fields, isFollowing: isFollowing, to: $0)
      }
    }
  }

  // MARK: Lengths

  /// The maximum length of the texts around the strings and the coordinates: names, punctuation, the id, the distance
  /// (at most 20,004 km), the length along a route (at most 2,000,000 km), the version and two times.
  @usableFromInline static let fixedLength = 416

  /// Returns the maximum number of bytes that a place takes as an object, with a comma.
  @usableFromInline
  static func maximumLength(of found: FoundPoint) -> Int {
    var length = 0
    found.withBorrowed { length = maximumLength(of: $0) }
    return length + maximumLength(ofDerived: found)
  }

  @usableFromInline
  static func maximumLength(ofDerived found: FoundPoint) -> Int {
    var length = 0
    if let attribution = found.attribution {
      length += 20 + JSONString.maximumLength(utf8Count: attribution.utf8.count)
    }
    if let label = found.label { length += 12 + JSONString.maximumLength(utf8Count: label.utf8.count) }
    if found.score != nil { length += 9 + DecimalText.maximumLength }
    if let match = found.match { length += maximumLength(of: match) }
    // Names, a state, two times and a zone.
    if let state = found.state { length += 160 + JSONString.maximumLength(utf8Count: state.timeZone.utf8.count) }
    return length
  }

  private static func maximumLength(of match: TextMatch.Name) -> Int {
    // Two numbers with brackets and commas around.
    64 + JSONString.maximumLength(utf8Count: match.key.utf8.count)
      + JSONString.maximumLength(utf8Count: match.text.utf8.count) + match.ranges.count * 48
  }

  @usableFromInline @inline(__always)
  static func maximumLength(of point: BorrowedPoint) -> Int {
    let stringLength =
      point.name.count &+ (point.category?.count ?? 0) &+ (point.source?.count ?? 0) &+ (point.sourceID?.count ?? 0)
    // A coordinate takes a sign, three digits, a point and at most 17 more; one that is nearly 0 takes zeros too.
    let (latitude, longitude) = (point.coordinate.latitude.magnitude, point.coordinate.longitude.magnitude)
    let coordinateLength = latitude > 1e-3 && longitude > 1e-3 ? 24 : DecimalText.maximumLength
    return fixedLength &+ JSONString.maximumLength(utf8Count: stringLength) &+ point.tags.beginning.count
      &+ point.tags.rest.count &+ 2 &* coordinateLength
  }

  // MARK: Members

  /// Writes a place and returns the number of bytes.
  @usableFromInline
  static func write(
    _ found: FoundPoint, _ point: BorrowedPoint, fields: FieldSet, isFollowing: Bool,
    to start: UnsafeMutablePointer<UInt8>
  ) -> Int {
    var json = JSONWriter(UncheckedBytes(at: start), continuesList: isFollowing)
    json.beginObject()
    writeMembers(of: point, fields: fields, to: &json)
    writeDerived(found, fields: fields, to: &json)
    json.endObject()
    return json.sink.end - start
  }

  /// Writes a place and returns the number of bytes.
  @inline(__always)
  static func write(
    _ point: BorrowedPoint, fields: FieldSet, isFollowing: Bool, to start: UnsafeMutablePointer<UInt8>
  ) -> Int {
    var json = JSONWriter(UncheckedBytes(at: start), continuesList: isFollowing)
    json.beginObject()
    writeMembers(of: point, fields: fields, to: &json)
    json.endObject()
    return json.sink.end - start
  }

  @inline(__always)
  private static func writeMembers(
    of point: BorrowedPoint, fields: FieldSet, to json: inout JSONWriter<UncheckedBytes>
  ) {
    if fields.contains(.id) { writeID(point.id, to: &json) }
    writeNames(of: point, fields: fields, to: &json)
    if fields.contains(.latitude) {
      json.write(name: "lat")
      json.write(number: point.coordinate.latitude)
    }
    if fields.contains(.longitude) {
      json.write(name: "long")
      json.write(number: point.coordinate.longitude)
    }
    writeOthers(of: point, fields: fields, to: &json)
  }

  @inline(__always)
  static func writeID(_ id: PointID, to json: inout JSONWriter<UncheckedBytes>) {
    json.write(name: "id")
    json.writeString(atMost: PointID.textLength) { text in
      id.write(to: text)
      return PointID.textLength
    }
  }

  /// Writes the members before the coordinates.
  @inline(__always)
  static func writeNames(of point: BorrowedPoint, fields: FieldSet, to json: inout JSONWriter<UncheckedBytes>) {
    if fields.contains(.name) {
      json.write(name: "name")
      json.write(string: point.name)
    }
    if fields.contains(.category), let category = point.category {
      json.write(name: "category")
      json.write(string: category)
    }
  }

  /// Writes the members behind the coordinates, except those that are derived.
  @inline(__always)
  static func writeOthers(
    of point: BorrowedPoint, fields: FieldSet, to json: inout JSONWriter<UncheckedBytes>
  ) {
    if fields.contains(.distance), let distance = point.distanceMetres {
      json.write(name: "distance")
      json.write(tenths: distance)
    }
    if fields.contains(.along), let along = point.alongMetres {
      json.write(name: "alongMetres")
      json.write(tenths: along)
    }
    if fields.contains(.tags) {
      json.write(name: "tags")
      json.write(json: point.tags.beginning)
      json.sink.write(point.tags.rest)
    }
    guard !fields.isDisjoint(with: .administrative) else { return }
    // A copy, so that the writer itself can stay in registers.
    var rest = json
    writeAdministrative(of: point, fields: fields, to: &rest)
    json = rest
  }

  private static func writeAdministrative(
    of point: BorrowedPoint, fields: FieldSet, to json: inout JSONWriter<UncheckedBytes>
  ) {
    if fields.contains(.source), let source = point.source {
      json.write(name: "source")
      json.write(string: source)
    }
    if fields.contains(.sourceID), let sourceID = point.sourceID {
      json.write(name: "sourceId")
      json.write(string: sourceID)
    }
    if fields.contains(.version) {
      json.write(name: "version")
      json.write(integer: point.version)
    }
    if fields.contains(.createdAt) {
      json.write(name: "createdAt")
      json.writeString(atMost: Timestamp.maximumTextLength) { point.createdAt.write(to: $0) }
    }
    if fields.contains(.updatedAt) {
      json.write(name: "updatedAt")
      json.writeString(atMost: Timestamp.maximumTextLength) { point.updatedAt.write(to: $0) }
    }
  }

  /// Writes the members that are no fields of the place itself.
  static func writeDerived(_ found: FoundPoint, fields: FieldSet, to json: inout JSONWriter<UncheckedBytes>) {
    guard !fields.isDisjoint(with: .derived) else { return }
    if fields.contains(.attribution), let attribution = found.attribution {
      json.write(member: "attribution", attribution)
    }
    if let state = found.state {
      if fields.contains(.openState) { json.write(member: "openState", state.state.rawValue) }
      if fields.contains(.openUntil), let time = state.openUntil { json.write(member: "openUntil", time) }
      if fields.contains(.opensAt), let time = state.opensAt { json.write(member: "opensAt", time) }
      if fields.contains(.timeZone) { json.write(member: "timeZone", state.timeZone) }
    }
    if fields.contains(.label), let label = found.label { json.write(member: "label", label) }
    if fields.contains(.score), let score = found.score {
      json.write(name: "score")
      json.write(number: rounded(score))
    }
    if fields.contains(.match), let match = found.match {
      json.write(name: "match")
      write(match, to: &json)
    }
  }

  /// Returns a score as it is printed.
  static func rounded(_ score: Double) -> Double { (score * 10_000).rounded() / 10_000 }

  /// Writes a name with the parts that match, as pairs of the first scalar and the one behind the last.
  static func write(_ match: TextMatch.Name, to json: inout JSONWriter<some ByteSink>) {
    json.beginObject()
    json.write(member: "key", match.key)
    json.write(member: "text", match.text)
    json.write(name: "ranges")
    json.beginArray()
    for range in match.ranges {
      json.beginArray()
      json.write(integer: range.lowerBound)
      json.write(integer: range.upperBound)
      json.endArray()
    }
    json.endArray()
    json.endObject()
  }
}
