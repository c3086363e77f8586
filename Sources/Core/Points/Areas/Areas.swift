import Basics
public import Geo
import SearchWords
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// All named areas at one moment, found by id, origin, name and position.
///
/// A value is immutable. It is made in O(n log n) for n areas, of which there are some ten thousand.
public final class Areas: Sendable {
  /// The version of the set, which no other set of a store has.
  public let version: Int64

  /// The areas, by id.
  public let all: [Area]

  /// The indexes of the areas with an origin, by that.
  private let byOrigin: [Int32]

  /// The kind of each area.
  private let kinds: [AreaKind]

  /// The rank of each area by its size and its id, that of the smallest as 0.
  private let sizeRanks: [Int32]
  private let names: AreaNames
  private let tree: BoxTree
  private let shapes: AreaShapes

  /// Creates a set without areas.
  public convenience init() { self.init([], version: 0, shapes: AreaShapes()) }

  /// Creates a set of areas.
  ///
  /// - Parameter former: the set before, whose prepared areas are kept.
  public convenience init(_ areas: some Collection<Area>, version: Int64, after former: Areas? = nil) {
    self.init(areas.sorted { $0.id < $1.id }, version: version, shapes: former?.shapes ?? AreaShapes())
  }

  private init(_ areas: [Area], version: Int64, shapes: AreaShapes) {
    all = areas
    self.version = version
    self.shapes = shapes
    byOrigin = areas.indices.filter { areas[$0].draft.origin != nil }
      .sorted { Self.precedes(areas[$0].draft.origin, areas[$1].draft.origin) }.map { Int32($0) }
    kinds = areas.map(\.draft.kind)
    let sizes = areas.map(\.draft.outline.squareMetres)
    var sizeRanks = [Int32](repeating: 0, count: areas.count)
    for (rank, index) in areas.indices.sorted(by: { (sizes[$0], $0) < (sizes[$1], $1) }).enumerated() {
      sizeRanks[index] = Int32(rank)
    }
    self.sizeRanks = sizeRanks
    names = AreaNames(areas)
    tree = BoxTree(
      areas.enumerated().flatMap { index, area in area.draft.outline.boxes.map { ($0, Int32(index)) } })
  }

  /// Returns the set after a change.
  public func applying(puts: [Area], removals: [PointID], version: Int64) -> Areas {
    var areas = Dictionary(all.map { ($0.id, $0) }) { $1 }
    for id in removals { areas[id] = nil }
    for area in puts { areas[area.id] = area }
    return Areas(areas.values, version: version, after: self)
  }

  /// The area of an id, or `nil`. O(log n) for n areas.
  public subscript(id: PointID) -> Area? {
    let index = all.partitioningIndex { $0.id >= id }
    return index < all.endIndex && all[index].id == id ? all[index] : nil
  }

  /// The area of an origin, or `nil`. O(log n) for n areas.
  public subscript(origin: SourceReference) -> Area? {
    let index = byOrigin.partitioningIndex { !Self.precedes(all[Int($0)].draft.origin, origin) }
    guard index < byOrigin.endIndex else { return nil }
    let area = all[Int(byOrigin[index])]
    return Self.precedes(origin, area.draft.origin) ? nil : area
  }

  /// Returns a Boolean value that indicates whether an origin comes before another by the bytes of its texts.
  private static func precedes(_ left: SourceReference?, _ right: SourceReference?) -> Bool {
    guard let left, let right else { return left == nil && right != nil }
    if left.source.hasSameBytes(as: right.source) { return ExactText(left.sourceID) < ExactText(right.sourceID) }
    return ExactText(left.source) < ExactText(right.source)
  }

  // MARK: Positions

  /// Returns the indexes in ``all`` of the areas that a place is in.
  ///
  /// - Throws: ``PointStoreError`` at the limit of the steps.
  package func indexes(
    containing coordinate: Coordinate, kind: AreaKind? = nil, within steps: inout AreaSteps
  ) throws(PointStoreError) -> [Int] {
    let position = EarthCentred(coordinate)
    var found: [Int] = []
    // An area on both sides of the antimeridian has two boxes, of which one alone has the place.
    try tree.forEach(in: AreaOutline.Box(coordinate)) { value throws(PointStoreError) in
      let index = Int(value)
      try steps.spend(1)
      guard kind == nil || kinds[index] == kind else { return }
      if try steps.compare(coordinate, at: position, with: all[index].draft.outline) { found.append(index) }
    }
    return found
  }

  /// Returns the areas that a place is in, the smallest first.
  ///
  /// - Throws: ``PointStoreError/filterTimeout`` at the deadline of the present computation.
  public func containing(_ coordinate: Coordinate, kind: AreaKind? = nil) throws(PointStoreError) -> [Area] {
    var steps = AreaSteps()
    return try containing(coordinate, kind: kind, within: &steps)
  }

  /// Returns the areas that a place is in, the smallest first.
  ///
  /// - Throws: ``PointStoreError`` at the limit of the steps.
  package func containing(
    _ coordinate: Coordinate, kind: AreaKind? = nil, within steps: inout AreaSteps
  ) throws(PointStoreError) -> [Area] {
    let found = try indexes(containing: coordinate, kind: kind, within: &steps)
    return found.sorted { sizeRanks[$0] < sizeRanks[$1] }.map { all[$0] }
  }

  /// Returns the areas that complete the address of a place, the smallest first: of those that it is in, the smallest
  /// of each kind but ``AreaKind/custom``, and of the regions the largest.
  ///
  /// Only areas that would take the place of one found so far are compared with the place.
  ///
  /// - Throws: ``PointStoreError`` at the limit of the steps.
  package func completingAddress(
    at coordinate: Coordinate, within steps: inout AreaSteps
  ) throws(PointStoreError) -> [Area] {
    let position = EarthCentred(coordinate)
    var found: [Int] = []
    try tree.forEach(in: AreaOutline.Box(coordinate)) { value throws(PointStoreError) in
      let index = Int(value)
      try steps.spend(1)
      let kind = kinds[index]
      guard kind != .custom else { return }
      let former = found.firstIndex { kinds[$0] == kind }
      if let former, (sizeRanks[index] < sizeRanks[found[former]]) == (kind == .region) { return }
      guard try steps.compare(coordinate, at: position, with: all[index].draft.outline) else { return }
      if let former { found[former] = index } else { found.append(index) }
    }
    return found.sorted { sizeRanks[$0] < sizeRanks[$1] }.map { all[$0] }
  }

  /// Returns the areas whose boxes intersect a box, by id.
  public func intersecting(_ box: BoundingBox) -> [Area] {
    var found: Set<Int32> = []
    for box in AreaOutline.Box.boxes(of: box) {
      tree.forEach(in: box) { index in _ = found.insert(index) }
    }
    return found.sorted().map { all[Int($0)] }
  }

  // MARK: Names

  /// Returns the area that a text means: the one of that id; or else, of those of that name in any language, the
  /// nearest to a position if there is one, of these the most important, and then the largest; `nil` if there is none.
  public func area(named text: String, near coordinate: Coordinate? = nil, of kind: AreaKind? = nil) -> Area? {
    if let id = PointID(text) { return self[id] }
    return best(of: names[NormalizedText(text).text], near: coordinate, kind: kind)
  }

  /// Returns the area that ``area(named:near:of:)`` returns for a part of a text, whose name may be declined.
  ///
  /// - Parameter isIncomplete: a Boolean value that indicates whether the last word is being typed.
  package func area(mentionedAs text: String, isIncomplete: Bool, near coordinate: Coordinate?) -> Area? {
    names.areas(named: NormalizedText(text).text, isIncomplete: isIncomplete).flatMap { best(of: $0, near: coordinate) }
  }

  private func best(of named: NamedAreas, near coordinate: Coordinate?, kind: AreaKind? = nil) -> Area? {
    named.best(near: coordinate.map { AreaDistance(from: $0) }, kind: kind).map { all[Int($0)] }
  }

  /// A text without the words that name an area.
  package struct Reading: Sendable {
    package let area: Area

    /// The other words of the text, at least one.
    package let rest: String

    /// A Boolean value that indicates whether the words of the area are the end of the text.
    package let isAtEnd: Bool
  }

  /// The maximum number of areas that a text names one after another, each in the next: `mitte berlin germany`.
  private static let maximumNesting = 3

  /// Returns the readings of a text that ends or begins with the name of an area, and has other words. A text without one
  /// costs two look-ups. Of several areas of a name, the one counts that ``area(named:near:)`` returns; where the words
  /// before name an area too that is in it, that one.
  ///
  /// - Parameter isIncomplete: a Boolean value that indicates whether the last word is being typed.
  package func readings(of text: String, isIncomplete: Bool, near coordinate: Coordinate?) -> [Reading] {
    if isEmpty { return [] }
    var readings: [Reading] = []
    if let mention = names.mention(atEndOf: text, isIncomplete: isIncomplete),
      var area = best(of: mention.areas, near: coordinate)
    {
      var rest = mention.rest
      for _ in 1..<Self.maximumNesting {
        guard let inner = names.mention(atEndOf: rest, isIncomplete: false),
          let smaller = best(of: inner.areas, near: coordinate ?? area.draft.outline.center),
          smaller.draft.outline.meets(area.draft.outline)
        else { break }
        (area, rest) = (smaller, inner.rest)
      }
      readings.append(Reading(area: area, rest: rest, isAtEnd: true))
    }
    if let mention = names.mention(atBeginningOf: text), let area = best(of: mention.areas, near: coordinate) {
      readings.append(Reading(area: area, rest: mention.rest, isAtEnd: false))
    }
    return readings
  }

  /// The number of steps to split a name into words, beside those for its bytes.
  private static let stepsPerName = 64

  /// The number of steps to put an area that matches in order.
  private static let stepsPerMatch = 32

  /// Returns the areas that have all words of a text at the beginning of words of a name: those of that name first, and
  /// then those whose names begin with it, each by importance and size.
  ///
  /// - Parameter wantedKinds: the kinds of the areas; `nil` for all.
  /// - Throws: ``PointStoreError/filterTimeout`` at the deadline of the present computation.
  public func matching(_ text: String, kinds wantedKinds: [AreaKind]? = nil) throws(PointStoreError) -> [Area] {
    let wanted = NormalizedText(text).text
    let words = wanted.split(separator: " ")
    guard !words.isEmpty else { return [] }
    func rank(_ name: String) -> Int? {
      if name.hasSameBytes(as: wanted) { return 0 }
      if name.utf8.starts(with: wanted.utf8) { return 1 }
      let parts = name.split(separator: " ")
      return words.allSatisfy { word in parts.contains { $0.utf8.starts(with: word.utf8) } } ? 2 : nil
    }
    var steps = AreaSteps()
    var best: [Int32: Int] = [:]
    try names.forEach { name, area throws(PointStoreError) in
      try steps.spend(1)
      if let wantedKinds, !wantedKinds.contains(kinds[Int(area)]) { return }
      try steps.spend(Self.stepsPerName + name.utf8.count)
      if let rank = rank(name) { best[area] = min(best[area] ?? rank, rank) }
    }
    try steps.spend(best.count * Self.stepsPerMatch)
    return best.map { index, rank in (rank: rank, order: names.ranks[Int(index)], index: index) }
      .sorted { ($0.rank, $0.order) < ($1.rank, $1.order) }.map { all[Int($0.index)] }
  }

  // MARK: Shapes

  /// Returns an area with an index of its edges, as searches need it; the last ones are kept.
  public func shape(of area: Area) throws(GeodesicShapeError) -> GeodesicArea { try shapes.shape(of: area) }

  /// Returns a Boolean value that indicates whether ``shape(of:)`` returns at once.
  public func hasShape(of area: Area) -> Bool { shapes.hasShape(of: area) }

  /// A Boolean value that indicates whether there are no areas.
  public var isEmpty: Bool { all.isEmpty }

  /// The number of bytes of the outlines.
  public var byteCount: Int { all.reduce(0) { $0 + $1.draft.outline.byteCount } }
}

extension Areas: Hashable {
  public static func == (left: Areas, right: Areas) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(version) }
}

extension AreaOutline {
  /// The centre of the first box.
  package var center: Coordinate? {
    guard let box = boxes.first else { return nil }
    let (latitude, longitude) = (Double(box.south) + Double(box.north), Double(box.west) + Double(box.east))
    return try? Coordinate(
      latitude: latitude / 2 / Self.unitsPerDegree, longitude: longitude / 2 / Self.unitsPerDegree)
  }

  /// Returns a Boolean value that indicates whether boxes of both intersect.
  fileprivate func meets(_ other: AreaOutline) -> Bool {
    boxes.contains { box in other.boxes.contains { $0.intersects(box) } }
  }
}

/// The steps of a search of areas, each of some nanoseconds, and the limit that ends it.
package struct AreaSteps {
  /// The number of steps so far.
  package private(set) var count = 0

  private let maximum: Int?

  /// The number of steps after which the limit is checked.
  private var nextCheck: Int

  /// The number of steps between two checks of the time, about a millisecond.
  private static let stepsPerCheck = 32_768

  /// Creates the steps of a search that ends with ``PointStoreError/stepLimit`` after a number of them.
  package init(atMost maximum: Int) {
    self.maximum = maximum
    nextCheck = maximum
  }

  /// Creates the steps of a search that ends with ``PointStoreError/filterTimeout`` at
  /// ``Basics/ComputationDeadline``, or once the task is cancelled. The first step checks both.
  package init() {
    maximum = nil
    nextCheck = 0
  }

  /// Adds steps.
  ///
  /// - Throws: ``PointStoreError`` at the limit.
  package mutating func spend(_ steps: Int) throws(PointStoreError) {
    count += steps
    guard count > nextCheck else { return }
    if maximum != nil { throw .stepLimit }
    if ComputationDeadline.hasPassed { throw .filterTimeout }
    nextCheck = count + Self.stepsPerCheck
  }

  /// Returns a Boolean value that indicates whether a place is in an outline. If the time must be checked meanwhile,
  /// the comparison begins again with four times as many steps, which takes less than three times as long in all.
  ///
  /// - Parameter position: `EarthCentred(coordinate)`.
  fileprivate mutating func compare(
    _ coordinate: Coordinate, at position: EarthCentred, with outline: AreaOutline
  ) throws(PointStoreError) -> Bool {
    var allowed = maximum.map { $0 - count } ?? Self.stepsPerCheck
    while true {
      var rest = allowed
      let isInside = outline.contains(coordinate, at: position, within: &rest)
      try spend(allowed - rest)
      if let isInside { return isInside }
      allowed *= 4
    }
  }
}

/// The distance of boxes from a place on the sphere, by which areas of one name are compared.
struct AreaDistance {
  private let place: AreaOutline.Box
  private let longitude: Double
  private let latitude: Double

  init(from coordinate: Coordinate) {
    place = AreaOutline.Box(coordinate)
    longitude = coordinate.longitude * .pi / 180
    latitude = coordinate.latitude * .pi / 180
  }

  private static func radians(_ units: Int32) -> Double { Double(units) / AreaOutline.unitsPerDegree * .pi / 180 }

  /// Returns 0 for a box with the place, and else the haversine of the angle to its nearest position, which grows with
  /// the distance. That of a box in the box is not less.
  func haversine(to box: AreaOutline.Box) -> Double {
    if box.intersects(place) { return 0 }
    let (south, north) = (Self.radians(box.south), Self.radians(box.north))
    func haversine(_ other: Double, _ gap: Double) -> Double {
      let (half, across) = (sin((other - latitude) / 2), sin(gap / 2))
      return half * half + cos(latitude) * cos(other) * across * across
    }
    if place.west >= box.west, place.west <= box.east { return haversine(min(max(latitude, south), north), 0) }
    // The nearest meridian, the short way around.
    func gap(_ edge: Int32) -> Double { abs((longitude - Self.radians(edge)).remainder(dividingBy: 2 * .pi)) }
    let gap = min(gap(box.west), gap(box.east))
    if gap >= .pi / 2 { return min(haversine(south, gap), haversine(north, gap)) }
    // The foot of the perpendicular on the meridian.
    let foot = atan2(sin(latitude), cos(latitude) * cos(gap))
    return haversine(min(max(foot, south), north), gap)
  }
}

/// A cache of the areas that places were searched in last. Those that are still in use elsewhere are not made again.
private final class AreaShapes: Sendable {
  private struct Evicted {
    let version: Int64
    weak var shape: GeodesicArea?
  }

  private struct State {
    var shapes: [PointID: (version: Int64, shape: GeodesicArea, use: Int)] = [:]
    var evicted: [PointID: Evicted] = [:]
    var uses = 0
    var byteCount = 0
  }

  /// The number of bytes from which on the areas of the earliest uses are evicted.
  private static let maximumBytes = 64 << 20

  private let state = Mutex(State())

  func hasShape(of area: Area) -> Bool { state.withLock { $0.shapes[area.id]?.version == area.version } }

  func shape(of area: Area) throws(GeodesicShapeError) -> GeodesicArea {
    let known: GeodesicArea? = state.withLock { state in
      guard let entry = state.shapes[area.id], entry.version == area.version else {
        guard let evicted = state.evicted[area.id], evicted.version == area.version else { return nil }
        return evicted.shape
      }
      state.uses += 1
      state.shapes[area.id]?.use = state.uses
      return entry.shape
    }
    if let known { return known }
    let shape = try area.draft.outline.geodesicArea()
    state.withLock { state in
      state.uses += 1
      if let former = state.shapes[area.id] { state.byteCount -= former.shape.byteCount }
      state.shapes[area.id] = (area.version, shape, state.uses)
      state.byteCount += shape.byteCount
      while state.byteCount > Self.maximumBytes, state.shapes.count > 1,
        let oldest = state.shapes.min(by: { $0.value.use < $1.value.use })
      {
        state.shapes[oldest.key] = nil
        state.byteCount -= oldest.value.shape.byteCount
        state.evicted = state.evicted.filter { $0.value.shape != nil }
        state.evicted[oldest.key] = Evicted(version: oldest.value.version, shape: oldest.value.shape)
      }
    }
    return shape
  }
}

/// A packed R-tree of boxes (S. T. Leutenegger, M. A. Lopez, J. Edgington, "STR: A Simple and Efficient Algorithm for
/// R-Tree Packing", 1997).
private struct BoxTree {
  private static let fanout = 16

  /// The boxes of each level: those of the values, those of each ``fanout`` of these, and so on up to one.
  private var levels: [[AreaOutline.Box]]
  private let values: [Int32]

  init(_ items: [(box: AreaOutline.Box, value: Int32)]) {
    func longitude(_ box: AreaOutline.Box) -> Int64 { Int64(box.west) + Int64(box.east) }
    func latitude(_ box: AreaOutline.Box) -> Int64 { Int64(box.south) + Int64(box.north) }
    var sorted = items.sorted { longitude($0.box) < longitude($1.box) }
    let leaves = (items.count + Self.fanout - 1) / Self.fanout
    let slice = max(1, Int(Double(leaves).squareRoot().rounded(.up))) * Self.fanout
    for start in stride(from: 0, to: sorted.count, by: slice) {
      sorted[start..<min(start + slice, sorted.count)].sort { latitude($0.box) < latitude($1.box) }
    }
    values = sorted.map(\.value)
    levels = [sorted.map(\.box)]
    while let last = levels.last, last.count > 1 {
      levels.append(
        stride(from: 0, to: last.count, by: Self.fanout).map { start in
          last[start + 1..<min(start + Self.fanout, last.count)].reduce(last[start]) { $0.union($1) }
        })
    }
  }

  /// Calls a closure with the values of the boxes that intersect a box.
  func forEach<Failure: Error>(
    in box: AreaOutline.Box, _ body: (Int32) throws(Failure) -> Void
  ) throws(Failure) {
    guard !values.isEmpty else { return }
    try visit(0, level: levels.count - 1, box, body)
  }

  private func visit<Failure: Error>(
    _ index: Int, level: Int, _ box: AreaOutline.Box, _ body: (Int32) throws(Failure) -> Void
  ) throws(Failure) {
    guard levels[level][index].intersects(box) else { return }
    guard level > 0 else { return try body(values[index]) }
    let start = index * Self.fanout
    for child in start..<min(start + Self.fanout, levels[level - 1].count) {
      try visit(child, level: level - 1, box, body)
    }
  }
}
