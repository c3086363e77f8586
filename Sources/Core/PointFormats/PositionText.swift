import Basics
import Geo
import JSONText
import Points

/// The order of two coordinates in one text.
package enum PairOrder: Hashable, Sendable {
  case latitudeFirst, longitudeFirst

  /// Creates the order that the name of a field tells, such as `coordonneesXY` or `geo_point_2d`; `nil` if it tells
  /// none.
  package init?(fieldName name: String) {
    let form = ColumnNames.normalized(name)
    func has(_ parts: [String]) -> Bool { parts.contains { form.hasSuffix($0) } }
    func isOne(_ names: [String]) -> Bool { names.contains { ColumnNames.normalized($0).hasSameBytes(as: form) } }
    if has(["xy", "lonlat", "longlat", "lnglat", "longitudelatitude", "longitudelatitud", "lonlatitude"])
      || isOne(["경위도", "경도위도", "経度緯度", "経緯度", "经纬度"])
    {
      self = .longitudeFirst
    } else if has(["yx", "latlon", "latlong", "latlng", "latitudelongitude", "geopoint2d", "geopoint"])
      || isOne(["위경도", "위도경도", "緯度経度", "纬度经度"])
    {
      self = .latitudeFirst
    } else {
      return nil
    }
  }

  /// Returns a Boolean value that indicates whether a field is named as the positions of GeoJSON, which are arrays with
  /// the longitude first.
  static func isOfGeoJSON(_ name: String) -> Bool { ColumnNames.normalized(name).hasSuffix("coordinates") }
}

/// A position in one text: two coordinates, a point as well-known text, or GeoJSON.
package enum PositionText {
  /// Returns the position, in whichever range; `nil` if the text is none.
  ///
  /// - Parameter order: the order of two coordinates without letters that tell it.
  package static func position(
    of text: UnsafeBufferPointer<UInt8>, order: PairOrder
  ) -> (latitude: Double, longitude: Double)? {
    if let point = WellKnownPoint(text: text) { return (point.latitude, point.longitude) }
    if text.first == UInt8(ascii: "{") { return (try? JSONReader.value(of: text)).flatMap(GeoJSONPosition.position) }
    guard let pair = DegreesText.pair(of: text) else { return nil }
    return switch pair.order ?? order {
    case .latitudeFirst: (pair.first, pair.second)
    case .longitudeFirst: (pair.second, pair.first)
    }
  }
}

/// The order of the coordinates in a field that has both, found from its name and from the values of many rows.
///
/// A name such as `coordonneesXY` decides. Otherwise a coordinate beyond ±90 of one of several rows is a longitude, and
/// arrays of a field that is named as those of GeoJSON have the longitude first. What is then still open is read as
/// latitude and longitude.
package struct PairOrderFinder: Sendable {
  /// The name of the field.
  let name: String

  private let named: PairOrder?
  private let isOfGeoJSON: Bool
  private var pairs = 0
  private var arrays = 0
  private var longitudesFirst = 0
  private var longitudesSecond = 0

  package init(name: String) {
    self.name = name
    named = PairOrder(fieldName: name)
    isOfGeoJSON = named == nil && PairOrder.isOfGeoJSON(name)
  }

  /// A Boolean value that indicates whether the values matter.
  var needsValues: Bool { named == nil }

  /// Notes the value of a row.
  package mutating func note(_ text: UnsafeBufferPointer<UInt8>) {
    guard let pair = DegreesText.pair(of: text), pair.order == nil else { return }
    pairs += 1
    if pair.isArray { arrays += 1 }
    func isLongitude(_ value: Double) -> Bool { value.magnitude > 90 && value.magnitude <= 180 }
    if isLongitude(pair.first), pair.second.magnitude <= 90 { longitudesFirst += 1 }
    if isLongitude(pair.second), pair.first.magnitude <= 90 { longitudesSecond += 1 }
  }

  /// The order; `nil` if nothing tells it.
  package var found: PairOrder? {
    if let named { return named }
    let areArrays = isOfGeoJSON && arrays == pairs && pairs > 0
    // One row by itself may as well be invalid.
    if pairs > 1 || areArrays, longitudesFirst != longitudesSecond {
      return longitudesFirst > longitudesSecond ? .longitudeFirst : .latitudeFirst
    }
    return areArrays ? .longitudeFirst : nil
  }

  /// The order that is used.
  package var order: PairOrder { found ?? .latitudeFirst }

  /// The warning about an order that is open; `nil` if there is none.
  package var warning: String? {
    guard found == nil, pairs > 0 else { return nil }
    return
      "the two coordinates of '\(name.prefix(40))' were read as latitude and longitude, as neither its name nor its"
      + " values tell the order; 'lat_long' or 'long_lat' as its name would"
  }
}
