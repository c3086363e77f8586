import Geo
import Points
import PostgresClient

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

  /// Adds a `uuid`.
  mutating func add(_ id: PointID) { add((id.high, id.low)) }

  /// Adds a `uuid[]`.
  mutating func add(_ ids: [PointID]) { add(ids.map { (high: $0.high, low: $0.low) }) }

  /// Adds a `timestamptz`.
  mutating func add(_ time: Timestamp) {
    add(time.microsecondsSinceEpoch &- BinaryFormat.microsecondsToPostgresEpoch)
  }

  /// Adds the versions of a place that may be changed, an `int8[]`: null for any, and an empty array if the place must
  /// not exist.
  mutating func addVersions(_ condition: WriteCondition) {
    switch condition {
    case .none, .exists: add(nil as String?)
    case .absent: add([] as [Int64])
    case .versions(let versions): add(versions.sorted())
    }
  }
}

extension BinaryFormat {
  /// Appends an id's 16 bytes.
  static func append(_ id: PointID, to bytes: inout [UInt8]) {
    append(id.high, to: &bytes)
    append(id.low, to: &bytes)
  }
}
