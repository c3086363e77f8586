import Basics
import Geo
import Points
import Synchronization

/// A square of the map: one of the 4^level of a level, counted from the north-west.
struct MapSquare: BitwiseCopyable, Hashable {
  /// The level of the smallest squares.
  static let maximumLevel = 26

  let level: Int
  let x: UInt32
  let y: UInt32

  /// The whole map.
  static let map = MapSquare(level: 0, x: 0, y: 0)

  /// Returns a quarter: bit 0 of its index is set for the east, bit 1 for the south.
  func quarter(_ index: Int) -> MapSquare {
    MapSquare(level: level + 1, x: x << 1 | UInt32(index & 1), y: y << 1 | UInt32(index >> 1))
  }

  /// The positions in the square.
  var area: MapArea {
    let shift = UInt64(32 - level)
    let (west, north) = (UInt64(x) << shift, UInt64(y) << shift)
    let side = UInt64(1) << shift
    return MapArea(
      west: UInt32(west), north: UInt32(north), east: UInt32(west + side - 1), south: UInt32(north + side - 1))
  }
}

/// Sums over the places of squares of the map, in a tree of squares: each square with many places has its quarters
/// beneath it.
///
/// It is persistent: a change makes new nodes on the paths to the changed places and shares all others with the former
/// pyramid (J. R. Driscoll and others, "Making data structures persistent", Journal of Computer and System Sciences 38,
/// 1989). A square that is not in the tree has fewer places than ``leafCapacity``, which are found in the index.
struct Pyramid: Sendable {
  /// The maximum number of places of a square without quarters, except on the lowest level.
  static let leafCapacity = 256

  /// The number of places below which a square loses its quarters.
  static let minimumDivided = leafCapacity / 2

  /// The nodes of a square's quarters, by the indices of ``MapSquare/quarter(_:)``.
  typealias Quarters = InlineArray<4, Node?>

  final class Node: Sendable {
    let totals: MapTotals

    /// The quarters, `nil` where there are no places; all `nil` for a leaf.
    let quarters: Quarters

    var isLeaf: Bool { quarters.indices.allSatisfy { quarters[$0] == nil } }

    /// The estimated number of bytes of the node and of those beneath it, allocations included.
    var byteCount: Int {
      let tallies = (totals.categories?.categoryCount ?? 0) * MemoryLayout<CategoryTallies.Tally>.stride
      let own = MemoryLayout<MapTotals>.stride + MemoryLayout<Quarters>.stride + tallies + 2 * 32
      return quarters.indices.reduce(own) { $0 + (quarters[$1]?.byteCount ?? 0) }
    }

    init(_ totals: MapTotals, quarters: Quarters = Quarters(repeating: nil)) {
      self.totals = totals
      self.quarters = quarters
    }
  }

  /// The node of the whole map; `nil` where there are no places.
  var root: Node?

  /// The names of the categories by their numbers, with some that no place has any more.
  var categories = TextNumbers()

  /// The number of categories when the pyramid was built.
  var builtCategoryCount = 0

  /// A Boolean value that indicates whether so many categories are in no use that the pyramid should be built anew.
  var hasManyUnusedCategories: Bool { categories.texts.count > 2 * builtCategoryCount + 1024 }

  /// Returns the version of the places of the smallest square of the tree around a square, and whether that is the
  /// square itself.
  func version(around square: MapSquare) -> (version: ContentVersion, isOwn: Bool) {
    guard var node = root else { return (.empty, true) }
    var level = 0
    while level < square.level, !node.isLeaf {
      let shift = UInt32(square.level - level - 1)
      let index = Int((square.x >> shift) & 1 | ((square.y >> shift) & 1) << 1)
      guard let next = node.quarters[index] else { return (.empty, true) }
      level += 1
      node = next
    }
    let digest = node.totals.digest
    return (
      ContentVersion(count: node.totals.count, high: digest.high, low: digest.low), level == square.level
    )
  }
}

/// The columns of places that a pyramid is built from.
struct MapColumns {
  let ids: UnsafeBufferPointer<PointID>

  /// The other fields of the places: those of a segment, or of places that are added.
  enum Fields {
    case segment(RecordColumns)
    case buffer(UnsafeBufferPointer<PointRecord>, stamps: UnsafeBufferPointer<PointStamp>)
  }

  private let fields: Fields

  /// The categories by their numbers in the records, and their numbers in the pyramid as far as they are known.
  private let names: [String]
  private var numbers: ContiguousArray<UInt32> = []

  init(ids: UnsafeBufferPointer<PointID>, _ fields: Fields, categories: [String]) {
    self.ids = ids
    self.fields = fields
    names = categories
  }

  /// Returns the number of the category, and the stamp, of the place at an index.
  func fields(at index: Int) -> (category: UInt32, stamp: PointStamp) {
    switch fields {
    case .segment(let columns): (columns.category(at: index), columns.stamp(at: index))
    case .buffer(let records, let stamps): (records[index].category, stamps[Int(records[index].stamp)])
    }
  }

  /// Returns the category of the place at an index; `nil` if it has none.
  func category(at index: Int) -> String? {
    let number = fields(at: index).category
    return number == PointRecord.none ? nil : names[Int(number)]
  }

  /// Returns the place at an index.
  ///
  /// - Parameters:
  ///   - x, y: its position in 2⁻³² of the map's side.
  ///   - category: the number of its category in the pyramid, or ``PointRecord/none``.
  func place(at index: Int, x: UInt32, y: UInt32, category: UInt32) -> MapPlace {
    MapPlace(
      x: x, y: y, categoryNumber: category, digest: ContentDigest(ids[index], fields(at: index).stamp),
      sample: SamplePlace(ids[index]))
  }

  /// Returns the number in the pyramid of a category of the records.
  mutating func number(of category: UInt32, in pyramid: inout TextNumbers) -> UInt32 {
    if category == PointRecord.none { return category }
    if numbers.isEmpty { numbers = ContiguousArray(repeating: PointRecord.none, count: names.count) }
    let index = Int(category)
    if numbers[index] == PointRecord.none { numbers[index] = pyramid.number(of: names[index]) }
    return numbers[index]
  }
}

/// A place that is added to a pyramid or removed from it, as squares are updated with it.
struct MapChange: BitwiseCopyable {
  /// The position in 2⁻³² of the map's side.
  let x: UInt32
  let y: UInt32

  /// The index of the place in its columns.
  let index: UInt32

  private let columnsAndKind: UInt32

  /// Creates the addition of a place of a segment.
  ///
  /// - Parameter columns: the index of the columns that the place is in.
  init(_ coordinate: Coordinate, index: Int, columns: Int) {
    let position = MapPosition(coordinate)
    (x, y) = (position.x, position.y)
    self.index = UInt32(index)
    columnsAndKind = UInt32(columns + 1) << 1
  }

  /// Creates the change of a place, which is at an index of the changed ones.
  init(_ place: MapPlace, index: Int, isRemoval: Bool) {
    (x, y) = (place.x, place.y)
    self.index = UInt32(index)
    columnsAndKind = isRemoval ? 1 : 0
  }

  /// The index of the columns that the place is in; `nil` if it is among the changed ones.
  var columns: Int? { columnsAndKind > 1 ? Int(columnsAndKind >> 1) - 1 : nil }

  var isRemoval: Bool { columnsAndKind & 1 == 1 }
}

/// The next pyramid after changes.
struct PyramidUpdate {
  /// The number of changes of a square above which its totals are summed up from its quarters: the hashes of each
  /// change would otherwise be computed again on each level.
  private static let summedChanges = 256

  private(set) var pyramid: Pyramid
  private let changedPlaces: UnsafeBufferPointer<MapPlace>
  private var columns: [MapColumns]

  /// Returns the present places of a square, as additions.
  private let placesOfSquare: (MapSquare) -> ContiguousArray<MapChange>

  private init(
    _ pyramid: Pyramid, _ changedPlaces: UnsafeBufferPointer<MapPlace>, _ columns: [MapColumns],
    places: @escaping (MapSquare) -> ContiguousArray<MapChange>
  ) {
    self.pyramid = pyramid
    self.changedPlaces = changedPlaces
    self.columns = columns
    placesOfSquare = places
  }

  /// Returns the pyramid after changes. For m changes O(m log n).
  ///
  /// - Parameters:
  ///   - changes: the changed places. They are permuted.
  ///   - pyramid: the pyramid before them, whose categories have those of the changed places too.
  ///   - changedPlaces: the places that are removed, as they were, and those that are added, except those of columns.
  ///   - columns: the columns of other places, valid during the call.
  ///   - places: returns the places of a square after the changes, as additions.
  static func applying(
    _ changes: inout ContiguousArray<MapChange>, to pyramid: Pyramid,
    changedPlaces: UnsafeBufferPointer<MapPlace> = .init(start: nil, count: 0), columns: [MapColumns],
    places: (MapSquare) -> ContiguousArray<MapChange>
  ) -> Pyramid {
    withoutActuallyEscaping(places) { places in
      var update = PyramidUpdate(pyramid, changedPlaces, columns, places: places)
      let root = changes.withUnsafeMutableBufferPointer { update.updated(pyramid.root, .map, $0) }
      update.pyramid.root = root
      return update.pyramid
    }
  }

  /// Returns the pyramid of places, as additions. O(n log n).
  static func building(_ places: inout ContiguousArray<MapChange>, columns: [MapColumns]) -> Pyramid {
    var pyramid = applying(&places, to: Pyramid(), columns: columns) { _ in [] }
    pyramid.builtCategoryCount = pyramid.categories.texts.count
    return pyramid
  }

  private mutating func place(_ change: MapChange) -> MapPlace {
    let index = Int(change.index)
    guard let position = change.columns else { return changedPlaces[index] }
    let category = columns[position].number(
      of: columns[position].fields(at: index).category, in: &pyramid.categories)
    return columns[position].place(at: index, x: change.x, y: change.y, category: category)
  }

  /// Returns the node of a square after changes in it; `nil` if it has no places.
  private mutating func updated(
    _ node: Pyramid.Node?, _ square: MapSquare, _ changes: UnsafeMutableBufferPointer<MapChange>
  ) -> Pyramid.Node? {
    guard let node else { return built(square, changes) }
    if changes.isEmpty { return node }
    if changes.count > Self.summedChanges, !node.isLeaf {
      return Self.divided(MapTotals(), quarters: quarters(of: square, changes) { node.quarters[$0] }, isUpdate: false)
    }
    var totals = node.totals
    var (isSampleRemoved, best) = (false, SamplePlace?.none)
    for change in changes {
      let place = place(change)
      if change.isRemoval {
        totals.subtract(place)
        if place.sample == node.totals.sample { isSampleRemoved = true }
      } else {
        totals.add(place)
        best = best.map { min($0, place.sample) } ?? place.sample
      }
    }
    if totals.count == 0 { return nil }
    if node.isLeaf {
      return updatedLeaf(node, square, totals, isSampleRemoved: isSampleRemoved, bestAddition: best)
    }
    return Self.divided(totals, quarters: quarters(of: square, changes) { node.quarters[$0] }, isUpdate: true)
  }

  private mutating func updatedLeaf(
    _ node: Pyramid.Node, _ square: MapSquare, _ totals: MapTotals, isSampleRemoved: Bool, bestAddition: SamplePlace?
  ) -> Pyramid.Node? {
    if totals.count > Pyramid.leafCapacity, square.level < MapSquare.maximumLevel {
      return rebuilt(square)
    }
    guard isSampleRemoved, let former = node.totals.sample else { return Pyramid.Node(totals) }
    guard let bestAddition, bestAddition <= former else { return rebuilt(square) }
    var totals = totals
    totals.sample = bestAddition
    return Pyramid.Node(totals)
  }

  private mutating func rebuilt(_ square: MapSquare) -> Pyramid.Node? {
    var places = placesOfSquare(square)
    return places.withUnsafeMutableBufferPointer { built(square, $0) }
  }

  /// Returns the node of places that are additions.
  private mutating func built(
    _ square: MapSquare, _ places: UnsafeMutableBufferPointer<MapChange>
  ) -> Pyramid.Node? {
    if places.isEmpty { return nil }
    if places.count <= Pyramid.leafCapacity || square.level == MapSquare.maximumLevel {
      var totals = MapTotals()
      for change in places where !change.isRemoval { totals.add(place(change)) }
      return totals.count > 0 ? Pyramid.Node(totals) : nil
    }
    return Self.divided(MapTotals(), quarters: quarters(of: square, places) { _ in nil }, isUpdate: false)
  }

  /// Returns a node of quarters.
  ///
  /// It is static, because `self` would be copied before the quarters are made, and the columns with it.
  ///
  /// - Parameter isUpdate: whether the totals are known, except the sample; otherwise they are summed up.
  private static func divided(_ known: MapTotals, quarters: Pyramid.Quarters, isUpdate: Bool) -> Pyramid.Node? {
    var totals = known
    if isUpdate {
      totals.sample = quarters.indices.lazy.compactMap { quarters[$0]?.totals.sample }.min()
      if totals.categories == nil { totals.categories = tallies(of: quarters) }
    } else {
      for index in quarters.indices {
        if let quarter = quarters[index] { totals.add(quarter.totals) }
      }
      if totals.count == 0 { return nil }
    }
    if totals.count < Pyramid.minimumDivided { return Pyramid.Node(totals) }
    return Pyramid.Node(totals, quarters: quarters)
  }

  /// Returns the numbers of places of each category of some quarters; `nil` where one has too many categories, or
  /// they may have together.
  private static func tallies(of quarters: Pyramid.Quarters) -> CategoryTallies? {
    var sum = CategoryTallies()
    var count = 0
    for index in quarters.indices {
      guard let quarter = quarters[index] else { continue }
      guard let tallies = quarter.totals.categories else { return nil }
      count += tallies.categoryCount
      guard count <= MapTotals.maximumCategories else { return nil }
      sum.add(tallies)
    }
    return sum
  }

  /// Returns the quarters after the changes in each of them.
  private mutating func quarters(
    of square: MapSquare, _ changes: UnsafeMutableBufferPointer<MapChange>, former: (Int) -> Pyramid.Node?
  ) -> Pyramid.Quarters {
    let bit = UInt32(1) << UInt32(31 - square.level)
    let southern = Self.partition(changes[...]) { $0.y & bit != 0 }
    let northEastern = Self.partition(changes[..<southern]) { $0.x & bit != 0 }
    let southEastern = Self.partition(changes[southern...]) { $0.x & bit != 0 }
    let bounds: InlineArray<5, Int> = [0, northEastern, southern, southEastern, changes.count]
    return Pyramid.Quarters { index in
      let part = UnsafeMutableBufferPointer(rebasing: changes[bounds[index]..<bounds[index + 1]])
      return updated(former(index), square.quarter(index), part)
    }
  }

  /// Moves the elements that satisfy a predicate behind the others, and returns the index of the first.
  private static func partition(
    _ changes: Slice<UnsafeMutableBufferPointer<MapChange>>, by belongsBehind: (MapChange) -> Bool
  ) -> Int {
    var changes = changes
    return changes.partition(by: belongsBehind)
  }
}

extension PointSnapshot {
  /// Returns the pyramid of the places of some parts. O(n log n).
  static func pyramid(of parts: [Part]) -> Pyramid {
    var places = presentPlaces(of: .map, in: parts)
    return withExtendedLifetime(parts) {
      PyramidUpdate.building(&places, columns: parts.map { $0.segment.mapColumns })
    }
  }

  /// Returns the places of a square as additions.
  fileprivate static func presentPlaces(of square: MapSquare, in parts: [Part]) -> ContiguousArray<MapChange> {
    var places = ContiguousArray<MapChange>()
    let area = square.area
    if square == .map { places.reserveCapacity(parts.reduce(0) { $0 + $1.count }) }
    for (index, part) in parts.enumerated() {
      let coordinates = part.segment.columns.coordinates
      func add(_ slot: Int) {
        let change = MapChange(coordinates[slot], index: slot, columns: index)
        if area.contains(x: change.x, y: change.y) { places.append(change) }
      }
      if square == .map {
        for slot in 0..<part.segment.count where !part.isDead(slot) { add(slot) }
      } else {
        withExtendedLifetime(part) {
          withoutActuallyEscaping(add) { add in
            var walk = RegionWalk(in: RegionFilter(BoxFilter(area.box))) { _, slot in
              add(slot)
              return true
            }
            SearchTree(
              part: UInt32(index), columns: part.segment.columns, tombstones: part.tombstones?.pointer,
              nodes: part.segment.tree
            ).walk(&walk)
          }
        }
      }
    }
    return places
  }
}

/// A pyramid, and changes of places that its squares do not have yet.
struct PyramidChanges: Sendable {
  /// The pyramid before the changes, whose categories have those of the changed places too.
  private var pyramid: Pyramid

  /// The removed places, as they were, and the added ones. A place that was added and removed again is in neither.
  private var removals: ContiguousArray<MapPlace> = []
  private var additions: ContiguousArray<MapPlace> = []

  /// The number of changes.
  var count: Int { removals.count + additions.count }

  /// A Boolean value that indicates whether many categories are in no use, some of places that were added and removed.
  var hasManyUnusedCategories: Bool { pyramid.hasManyUnusedCategories }

  init(of pyramid: Pyramid) { self.pyramid = pyramid }

  /// Removes places of a part.
  mutating func remove(_ slots: [Int], of part: PointSnapshot.Part) {
    let columns = part.segment.mapColumns
    for slot in slots {
      let id = columns.ids[slot]
      if let index = additions.firstIndex(where: { $0.sample.id == id }) {
        additions.swapAt(index, additions.count - 1)
        additions.removeLast()
      } else {
        removals.append(place(at: slot, part.segment.columns.coordinates[slot], in: columns))
      }
    }
  }

  /// Adds places.
  mutating func add(_ buffer: PointBuffer) {
    buffer.withMapColumns { columns in
      for (index, coordinate) in buffer.coordinates.enumerated() {
        additions.append(place(at: index, coordinate, in: columns))
      }
    }
  }

  private mutating func place(at index: Int, _ coordinate: Coordinate, in columns: MapColumns) -> MapPlace {
    let position = MapPosition(coordinate)
    let category = columns.category(at: index).map { pyramid.categories.number(of: $0) }
    return columns.place(at: index, x: position.x, y: position.y, category: category ?? PointRecord.none)
  }

  /// Returns the pyramid after the changes. For m changes O(m log n).
  ///
  /// - Parameter parts: the parts of the snapshot after them.
  func applied(_ parts: [PointSnapshot.Part]) -> Pyramid {
    if count == 0 { return pyramid }
    let places = removals + additions
    var changes = ContiguousArray(
      places.enumerated().map { MapChange($1, index: $0, isRemoval: $0 < removals.count) })
    let updated = withExtendedLifetime(parts) {
      places.withUnsafeBufferPointer { places in
        PyramidUpdate.applying(
          &changes, to: pyramid, changedPlaces: places, columns: parts.map { $0.segment.mapColumns }
        ) { PointSnapshot.presentPlaces(of: $0, in: parts) }
      }
    }
    return updated.hasManyUnusedCategories ? PointSnapshot.pyramid(of: parts) : updated
  }
}

/// The pyramid of a snapshot, whose squares are brought up to date when they are needed.
///
/// Single changes arrive faster than maps are requested: the squares around many changed places are updated together,
/// which takes far less time for each.
final class DeferredPyramid: Sendable {
  /// The number of changes that are deferred: they take a few milliseconds.
  private static let maximumDeferred = 256

  private let state: Mutex<PyramidChanges>

  init(_ pyramid: Pyramid) { state = Mutex(PyramidChanges(of: pyramid)) }

  private init(_ changes: PyramidChanges) { state = Mutex(changes) }

  /// Returns the pyramid.
  ///
  /// - Parameter parts: the parts of the snapshot.
  func pyramid(of parts: [PointSnapshot.Part]) -> Pyramid {
    state.withLock { changes in
      let pyramid = changes.applied(parts)
      if changes.count > 0 { changes = PyramidChanges(of: pyramid) }
      return pyramid
    }
  }

  /// Returns the pyramid with its deferred changes, to which more are added.
  ///
  /// - Parameters:
  ///   - count: the number of those.
  ///   - parts: the parts of the snapshot.
  func changes(before count: Int, of parts: [PointSnapshot.Part]) -> PyramidChanges {
    let changes = state.withLock { $0 }
    if changes.count + count <= Self.maximumDeferred, !changes.hasManyUnusedCategories { return changes }
    return PyramidChanges(of: pyramid(of: parts))
  }

  /// Creates the pyramid after changes: many of them are made now.
  ///
  /// - Parameter parts: the parts of the snapshot after them.
  convenience init(_ changes: PyramidChanges, of parts: [PointSnapshot.Part]) {
    self.init(
      changes.count > Self.maximumDeferred ? PyramidChanges(of: changes.applied(parts)) : changes)
  }
}

extension PointBuffer {
  /// Calls a closure with the columns that a pyramid is built from.
  fileprivate func withMapColumns(_ body: (MapColumns) -> Void) {
    ids.withUnsafeBufferPointer { ids in
      records.withUnsafeBufferPointer { records in
        stamps.stamps.withUnsafeBufferPointer { stamps in
          body(MapColumns(ids: ids, .buffer(records, stamps: stamps), categories: categories.texts))
        }
      }
    }
  }
}

extension Segment {
  /// The columns that a pyramid is built from; valid for the life of the segment.
  var mapColumns: MapColumns {
    MapColumns(
      ids: UnsafeBufferPointer(start: columns.ids, count: count), .segment(records.columns),
      categories: categories.names)
  }
}

/// The digest of a set of places: the sum of a hash of each, so that it does not depend on their order, and a change is
/// an addition or a subtraction.
struct ContentDigest: BitwiseCopyable, Equatable {
  var high: UInt64 = 0
  var low: UInt64 = 0

  init() {}

  /// Creates the digest of one place. Its version and time determine its fields.
  init(_ id: PointID, _ stamp: PointStamp) {
    let identity = SplitMix64.mix(id.high ^ SplitMix64.mix(id.low))
    let state = SplitMix64.mix(
      UInt64(bitPattern: stamp.version) ^ SplitMix64.mix(UInt64(bitPattern: stamp.updatedAtMicroseconds)))
    high = SplitMix64.mix(identity ^ state)
    low = SplitMix64.mix((identity &+ 0x9E37_79B9_7F4A_7C15) ^ (state << 1 | state >> 63))
  }

  mutating func add(_ other: ContentDigest) {
    high &+= other.high
    low &+= other.low
  }

  mutating func subtract(_ other: ContentDigest) {
    high &-= other.high
    low &-= other.low
  }
}

/// The place that stands for others: the one with the least shuffle key, so that every process chooses the same.
struct SamplePlace: BitwiseCopyable, Comparable {
  let shuffleKey: UInt64
  let id: PointID

  init(_ id: PointID) {
    shuffleKey = id.shuffleKey
    self.id = id
  }

  static func < (left: SamplePlace, right: SamplePlace) -> Bool {
    left.shuffleKey != right.shuffleKey ? left.shuffleKey < right.shuffleKey : left.id < right.id
  }
}

/// The numbers of places of each category, by the numbers of the categories in ascending order.
struct CategoryTallies: Sendable {
  struct Tally: BitwiseCopyable {
    let number: UInt32
    var count: UInt32
  }

  private(set) var tallies: ContiguousArray<Tally> = []

  init() {}

  /// Creates the numbers of categories, which are in ascending order.
  init(_ tallies: ContiguousArray<Tally>) { self.tallies = tallies }

  /// The number of categories.
  var categoryCount: Int { tallies.count }

  mutating func add(_ category: UInt32) {
    let position = position(of: category)
    if position < tallies.count, tallies[position].number == category {
      tallies[position].count += 1
    } else {
      tallies.insert(Tally(number: category, count: 1), at: position)
    }
  }

  /// Removes a place of a category, which must have one.
  mutating func subtract(_ category: UInt32) {
    let position = position(of: category)
    precondition(position < tallies.count && tallies[position].number == category)
    tallies[position].count -= 1
    if tallies[position].count == 0 { tallies.remove(at: position) }
  }

  /// Adds other tallies. O(n).
  mutating func add(_ other: CategoryTallies) {
    if tallies.isEmpty {
      tallies = other.tallies
      return
    }
    var merged = ContiguousArray<Tally>()
    merged.reserveCapacity(tallies.count + other.tallies.count)
    var position = 0
    for var tally in tallies {
      while position < other.tallies.count, other.tallies[position].number < tally.number {
        merged.append(other.tallies[position])
        position += 1
      }
      if position < other.tallies.count, other.tallies[position].number == tally.number {
        tally.count += other.tallies[position].count
        position += 1
      }
      merged.append(tally)
    }
    merged.append(contentsOf: other.tallies[position...])
    tallies = merged
  }

  /// Returns the category with most places, of those with equally many the one whose name's bytes come first; `nil`
  /// where there is none.
  func mostFrequent(names: [String]) -> UInt32? {
    var best: Tally?
    for tally in tallies {
      if let known = best, known.count > tally.count { continue }
      if let known = best, known.count == tally.count,
        names[Int(known.number)].utf8.lexicographicallyPrecedes(names[Int(tally.number)].utf8)
      {
        continue
      }
      best = tally
    }
    return best?.number
  }

  private func position(of category: UInt32) -> Int {
    tallies.withUnsafeBufferPointer { tallies in tallies.firstPosition { $0.number >= category } }
  }
}

/// The sums over the places of a square of the map.
struct MapTotals: Sendable {
  var count = 0

  /// The sums of the places' positions in 2⁻³² of the map's side.
  var sumX: UInt64 = 0
  var sumY: UInt64 = 0
  var digest = ContentDigest()

  /// The sample; `nil` if there is no place, and after ``subtract(_:)`` of the sample.
  var sample: SamplePlace?

  /// The categories; `nil` if they are too many to be kept.
  var categories: CategoryTallies? = CategoryTallies()

  /// The maximum number of categories that are kept: a change of one place copies those of every square around it.
  static let maximumCategories = 512

  mutating func add(_ place: MapPlace) {
    count += 1
    sumX += UInt64(place.x)
    sumY += UInt64(place.y)
    digest.add(place.digest)
    sample = sample.map { min($0, place.sample) } ?? place.sample
    if place.categoryNumber != PointRecord.none { categories?.add(place.categoryNumber) }
    limitCategories()
  }

  /// Subtracts a place that was added, except from the sample.
  mutating func subtract(_ place: MapPlace) {
    count -= 1
    sumX -= UInt64(place.x)
    sumY -= UInt64(place.y)
    digest.subtract(place.digest)
    if place.categoryNumber != PointRecord.none { categories?.subtract(place.categoryNumber) }
  }

  mutating func add(_ other: MapTotals) {
    count += other.count
    sumX += other.sumX
    sumY += other.sumY
    digest.add(other.digest)
    if let place = other.sample { sample = sample.map { min($0, place) } ?? place }
    if let others = other.categories { categories?.add(others) } else { categories = nil }
    limitCategories()
  }

  private mutating func limitCategories() {
    if let categories, categories.categoryCount > Self.maximumCategories { self.categories = nil }
  }
}

/// A place as ``MapTotals`` count it.
struct MapPlace: BitwiseCopyable {
  /// The position in 2⁻³² of the map's side.
  let x: UInt32
  let y: UInt32

  /// The number of the category in the pyramid, or ``PointRecord/none``.
  let categoryNumber: UInt32
  let digest: ContentDigest
  let sample: SamplePlace
}
