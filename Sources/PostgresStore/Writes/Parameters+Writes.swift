import Geo
import Points

extension Parameters {
  /// Adds a draft: latitude, longitude, name, category, tags, source and source id.
  mutating func add(_ draft: PointDraft) {
    add(draft.coordinate.latitude)
    add(draft.coordinate.longitude)
    add(draft.name)
    add(draft.category)
    add(draft.tags.json)
    add(draft.origin?.source)
    add(draft.origin?.sourceID)
  }

  /// Adds a `boolean`.
  mutating func add(_ flag: Bool) {
    add(bytes: [flag ? 1 : 0])
  }

  /// Adds a `timestamptz`.
  mutating func add(_ time: Timestamp) {
    add(time.microsecondsSinceEpoch &- BinaryFormat.microsecondsToPostgresEpoch)
  }

  /// Adds the versions of a place that may be changed, an `int8[]`: null for any, and an empty array if the place must
  /// not exist.
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
    // The layout of `array_send`: number of dimensions, a flag for nulls, the element type, length, lower bound,
    // elements.
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
