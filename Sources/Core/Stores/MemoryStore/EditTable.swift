import Basics
package import Points

/// Changes of the edits of places, by their ids; `nil` removes them.
package typealias EditChanges = [PointID: PlaceEdits?]

/// The edits of the places of a store in memory. A change of a table to which a page or an import refers copies some of
/// it only.
struct EditTable: Sendable {
  private var all = DividedDictionary<PointID, PlaceEdits>()
  private var deletions = DividedDictionary<SourceReference, PointID>()

  /// The number of edits.
  private(set) var count = 0

  /// The maximum number of edits, above which no further place gets any.
  let maximumCount: Int

  init(_ places: [PlaceEdits] = [], maximumCount: Int = PlaceEdits.defaultMaximumCount) {
    self.maximumCount = maximumCount
    for edits in places { set(edits, of: edits.id) }
  }

  var isEmpty: Bool { all.isEmpty }

  var hasDeletions: Bool { !deletions.isEmpty }

  /// The edits of the place of an id, or its deletion; `nil` for none.
  subscript(id: PointID) -> PlaceEdits? { all[id] }

  /// Returns the id of the deletion of a place with a source reference; `nil` for none.
  func deletion(of origin: SourceReference) -> PointID? { deletions[origin] }

  /// Returns the ids of the deletions of places of a data set. O(n) for n deletions.
  func deletions(ofSource source: String) -> [PointID] {
    deletions.elements.filter { $0.key.source.hasSameBytes(as: source) }.map(\.value)
  }

  /// Returns a page of the places that match, by id. O(n) for n places, if pages are much shorter.
  func page(matching query: EditQuery) -> EditPage {
    var found: [PlaceEdits] = []
    for (_, edits) in all.elements {
      if found.count > query.limit, let last = found.last, edits.id > last.id { continue }
      guard query.matches(edits) else { continue }
      found.insert(edits, at: found.partitioningIndex { $0.id > edits.id })
      if found.count > query.limit + 1 { found.removeLast() }
    }
    return EditPage(places: Array(found.prefix(query.limit)), hasMore: found.count > query.limit)
  }

  /// Returns a Boolean value that indicates whether changes leave the table within its maximum, or give no edits to a
  /// place without any.
  func hasRoom(for changes: EditChanges) -> Bool {
    var (rest, addsPlace) = (count, false)
    for (id, edits) in changes {
      let former = all[id]
      rest += (edits?.edits.count ?? 0) - (former?.edits.count ?? 0)
      if former == nil, edits != nil { addsPlace = true }
    }
    return !addsPlace || rest <= maximumCount
  }

  mutating func apply(_ changes: EditChanges) {
    // A removal must not take a deletion from another place that has its origin since.
    for (id, edits) in changes where edits == nil { set(nil, of: id) }
    for case (let id, let edits?) in changes { set(edits, of: id) }
  }

  private mutating func set(_ edits: PlaceEdits?, of id: PointID) {
    if let former = all[id] {
      count -= former.edits.count
      if former.isDeletion, deletions[former.origin] == id { deletions[former.origin] = nil }
    }
    all[id] = edits
    guard let edits else { return }
    count += edits.edits.count
    if edits.isDeletion { deletions[edits.origin] = id }
  }
}

/// A dictionary in many parts. A change while something else refers to it copies one of them.
private struct DividedDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// The number of bits of the hash of a key that select its part.
  private static var bits: Int { 10 }

  private var parts: [[Key: Value]] = Array(repeating: [:], count: 1 << Self.bits)
  private var count = 0

  var isEmpty: Bool { count == 0 }

  /// All keys with their values, in no order.
  var elements: some Sequence<(key: Key, value: Value)> { parts.lazy.joined() }

  subscript(key: Key) -> Value? {
    get { parts[Self.part(of: key)][key] }
    set {
      let part = Self.part(of: key)
      count -= parts[part].count
      parts[part][key] = newValue
      count += parts[part].count
    }
  }

  private static func part(of key: Key) -> Int { Int(UInt(bitPattern: key.hashValue) >> (UInt.bitWidth - bits)) }
}
