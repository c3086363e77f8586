import Geo
import Points

extension Parameters {
  /// Adds what is said of a place: latitude, longitude, name, category, tags, source and source id.
  mutating func add(_ place: Place) {
    add(place.coordinate.latitude)
    add(place.coordinate.longitude)
    add(place.name)
    add(place.category)
    add(place.tags.json)
    add(place.origin?.source)
    add(place.origin?.sourceID)
  }

  /// Adds a `boolean`.
  mutating func add(_ flag: Bool) {
    add(bytes: [flag ? 1 : 0])
  }

  /// Adds a `timestamptz`.
  mutating func add(_ time: Timestamp) {
    add(time.microsecondsSinceEpoch &- BinaryFormat.microsecondsToPostgresEpoch)
  }

  /// Adds which versions of a place may be changed, an `int8[]`: null for any, and none for a place that must be
  /// absent.
  mutating func addVersions(_ condition: WriteCondition) {
    switch condition {
    case .none, .exists: add(nil as String?)
    case .absent: addArray([])
    case .versions(let versions): addArray(versions.sorted())
    }
  }

  /// Adds an `int8[]`.
  mutating func add(_ numbers: [Int64]) {
    addArray(numbers)
  }

  private mutating func addArray(_ numbers: [Int64]) {
    // As `array_send` lays it out: dimensions, whether there are nulls, the type `int8`, length, lower bound, elements.
    var bytes: [UInt8] = []
    BinaryFormat.append(Int32(numbers.isEmpty ? 0 : 1), to: &bytes)
    BinaryFormat.append(Int32(0), to: &bytes)
    BinaryFormat.append(UInt32(20), to: &bytes)
    if !numbers.isEmpty {
      BinaryFormat.append(Int32(numbers.count), to: &bytes)
      BinaryFormat.append(Int32(1), to: &bytes)
    }
    for number in numbers {
      BinaryFormat.append(Int32(8), to: &bytes)
      BinaryFormat.append(number, to: &bytes)
    }
    add(bytes: bytes)
  }
}
