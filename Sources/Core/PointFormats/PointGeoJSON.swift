public import Basics
import Geo
public import JSONText
public import Points

/// The GeoJSON Feature of a place (RFC 7946): the id and the coordinates as members of GeoJSON, the other fields as
/// properties. The same bytes for the same fields in every response, export and file.
public enum PointGeoJSON {
  /// A link from a FeatureCollection to another resource (RFC 8288).
  public struct Link: Sendable {
    /// The relation type, such as `next`.
    public var relation: String
    /// The media type of the other resource.
    public var mediaType: String
    /// The URI reference of the other resource.
    public var target: String

    public init(relation: String, mediaType: String, target: String) {
      self.relation = relation
      self.mediaType = mediaType
      self.target = target
    }
  }

  /// The number of bytes that a Feature takes at most beyond the object of the same place.
  @usableFromInline static let overhead = 128

  /// Appends a Feature.
  ///
  /// - Parameter isFollowing: a Boolean value that indicates whether a comma precedes it.
  @inlinable
  public static func append(
    _ found: FoundPoint, fields: FieldSet, isFollowing: Bool = false, to sink: inout some ByteSink
  ) {
    sink.write(atMost: overhead + PointJSON.maximumLength(of: found)) { start in
      write(found, fields: fields, isFollowing: isFollowing, to: start)
    }
  }

  /// Appends a Feature with other coordinates than longitude and latitude, as in another reference system.
  ///
  /// - Parameter isFollowing: a Boolean value that indicates whether a comma precedes it.
  @inlinable
  public static func append(
    _ found: FoundPoint, fields: FieldSet, isFollowing: Bool = false, coordinates: (Double, Double),
    to sink: inout some ByteSink
  ) {
    sink.write(atMost: overhead + 2 * DecimalText.maximumLength + PointJSON.maximumLength(of: found)) { start in
      write(found, fields: fields, isFollowing: isFollowing, coordinates: coordinates, to: start)
    }
  }

  /// Appends a FeatureCollection of a page of places, with the members that OGC API Features adds (OGC 17-069r4,
  /// section 7.16).
  ///
  /// `timeStamp` is the time of the last change to a place on the page and not that of the response, so that the same
  /// places are the same bytes; a page of no places has none.
  ///
  /// - Parameter links: the members of `links`, in their order.
  public static func appendCollection(
    of points: [FoundPoint], fields: FieldSet, links: [Link], to sink: inout some ByteSink
  ) {
    sink.write("{\"type\":\"FeatureCollection\",\"features\":[")
    for index in points.indices { append(points[index], fields: fields, isFollowing: index > 0, to: &sink) }
    sink.write("]")
    var json = JSONWriter([UInt8](), continuesList: true)
    json.write(member: "numberReturned", points.count)
    if let changedAt = points.lazy.map(\.point.updatedAt).max() {
      json.write(member: "timeStamp", changedAt.description)
    }
    json.write(name: "links")
    json.beginArray()
    for link in links {
      json.beginObject()
      json.write(member: "rel", link.relation)
      json.write(member: "type", link.mediaType)
      json.write(member: "href", link.target)
      json.endObject()
    }
    json.endArray()
    json.endObject()
    json.sink.withUnsafeBufferPointer { sink.write($0) }
  }

  /// Appends a record of a GeoJSON text sequence (RFC 8142): a Feature between a record separator and a line feed.
  @inlinable
  public static func appendRecord(_ found: FoundPoint, fields: FieldSet, to sink: inout some ByteSink) {
    sink.write(0x1E as UInt8)
    append(found, fields: fields, to: &sink)
    sink.write(UInt8(ascii: "\n"))
  }

  /// Writes a Feature and returns the number of bytes.
  @usableFromInline
  static func write(
    _ found: FoundPoint, fields: FieldSet, isFollowing: Bool, coordinates: (Double, Double)? = nil,
    to start: UnsafeMutablePointer<UInt8>
  ) -> Int {
    let coordinate = found.point.draft.coordinate
    let (first, second) = coordinates ?? (coordinate.longitude, coordinate.latitude)
    var json = JSONWriter(UncheckedBytes(at: start), continuesList: isFollowing)
    json.beginObject()
    json.write(member: "type", "Feature")
    if fields.contains(.id) { PointJSON.writeID(found.point.id, to: &json) }
    json.write(name: "geometry")
    json.beginObject()
    json.write(member: "type", "Point")
    json.write(name: "coordinates")
    json.beginArray()
    json.write(number: first)
    json.write(number: second)
    json.endArray()
    json.endObject()
    json.write(name: "properties")
    json.beginObject()
    found.withBorrowed { point in
      PointJSON.writeNames(of: point, fields: fields, to: &json)
      PointJSON.writeOthers(of: point, fields: fields, to: &json)
    }
    PointJSON.writeDerived(found, fields: fields, to: &json)
    json.endObject()
    json.endObject()
    return json.sink.end - start
  }
}
