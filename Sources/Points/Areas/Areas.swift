import Basics
public import Geo
import Synchronization

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
  public func indexes(containing coordinate: Coordinate, kind: AreaKind? = nil) -> [Int] {
    let position = EarthCentred(coordinate)
    var found: [Int] = []
    tree.forEach(in: AreaOutline.Box(coordinate)) { index in
      let index = Int(index)
      // An area on both sides of the antimeridian has two boxes.
      guard kind == nil || all[index].draft.kind == kind, !found.contains(index) else { return }
      if all[index].draft.outline.contains(coordinate, at: position) { found.append(index) }
    }
    return found
  }

  /// Returns the areas that a place is in, the smallest first.
  public func containing(_ coordinate: Coordinate, kind: AreaKind? = nil) -> [Area] {
    indexes(containing: coordinate, kind: kind).map { all[$0] }.sorted {
      ($0.draft.outline.squareMetres, $0.id) < ($1.draft.outline.squareMetres, $1.id)
    }
  }

  /// Returns the areas whose boxes intersect a box, by id.
  public func intersecting(_ box: BoundingBox) -> [Area] {
    var found: Set<Int32> = []
    for box in AreaOutline.Box.boxes(of: box) { tree.forEach(in: box) { found.insert($0) } }
    return found.sorted().map { all[Int($0)] }
  }

  // MARK: Names

  /// Returns the area that a text means: the one of that id; or else, of those of that name in any language, the
  /// nearest to a position if there is one, of these the most important, and then the largest; `nil` if there is none.
  public func area(named text: String, near coordinate: Coordinate? = nil, of kind: AreaKind? = nil) -> Area? {
    if let id = PointID(text) { return self[id] }
    let named = names[NormalizedText(text).text]
    return best(of: named.filter { kind == nil || all[Int($0)].draft.kind == kind }, near: coordinate)
  }

  private func best(of indexes: some Collection<Int32>, near coordinate: Coordinate?) -> Area? {
    func rank(_ area: Area) -> (Double, Double, Double) {
      let distance = coordinate.map { area.draft.outline.distanceMetres(from: $0) } ?? 0
      return (distance, -area.draft.importance, -area.draft.outline.squareMetres)
    }
    return indexes.lazy.map { self.all[Int($0)] }.map { (area: $0, rank: rank($0)) }.min { $0.rank < $1.rank }?.area
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

  /// Returns the areas that have all words of a text at the beginning of words of a name: those of that name first, and
  /// then those whose names begin with it, each by importance and size.
  public func matching(_ text: String) -> [Area] {
    let wanted = NormalizedText(text).text
    let words = wanted.split(separator: " ")
    guard !words.isEmpty else { return [] }
    func rank(_ name: String) -> Int? {
      if name.hasSameBytes(as: wanted) { return 0 }
      if name.utf8.starts(with: wanted.utf8) { return 1 }
      let parts = name.split(separator: " ")
      return words.allSatisfy { word in parts.contains { $0.utf8.starts(with: word.utf8) } } ? 2 : nil
    }
    var best: [Int32: Int] = [:]
    names.forEach { name, area in
      if let rank = rank(name) { best[area] = min(best[area] ?? rank, rank) }
    }
    let found = best.map { index, rank in
      let area = all[Int(index)]
      return (rank: (rank, -area.draft.importance, -area.draft.outline.squareMetres, area.id), area: area)
    }
    return found.sorted { $0.rank < $1.rank }.map(\.area)
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

  /// Returns 0 for a place in the boxes, and else the distance from the nearest position of a box, metres.
  fileprivate func distanceMetres(from coordinate: Coordinate) -> Double {
    let place = Box(coordinate)
    return boxes.lazy.map { box -> Double in
      if box.intersects(place) { return 0 }
      func degrees(_ units: Int32) -> Double { Double(units) / Self.unitsPerDegree }
      // The nearest meridian, the short way around.
      let (west, east, own) = (degrees(box.west), degrees(box.east), coordinate.longitude)
      func gap(_ other: Double) -> Double { abs((own - other).remainder(dividingBy: 360)) }
      let longitude = own >= west && own <= east ? own : gap(west) < gap(east) ? west : east
      let latitude = min(max(coordinate.latitude, degrees(box.south)), degrees(box.north))
      guard let nearest = try? Coordinate(latitude: latitude, longitude: longitude) else { return .infinity }
      return Geodesic.distanceMetres(from: coordinate, to: nearest)
    }.min() ?? .infinity
  }
}

/// A cache of the areas that places were searched in last.
private final class AreaShapes: Sendable {
  private struct State {
    var shapes: [PointID: (version: Int64, shape: GeodesicArea, use: Int)] = [:]
    var uses = 0
    var byteCount = 0
  }

  /// The number of bytes from which on the areas of the earliest uses are evicted.
  private static let maximumBytes = 64 << 20

  private let state = Mutex(State())

  func hasShape(of area: Area) -> Bool { state.withLock { $0.shapes[area.id]?.version == area.version } }

  func shape(of area: Area) throws(GeodesicShapeError) -> GeodesicArea {
    let known: GeodesicArea? = state.withLock { state in
      guard let entry = state.shapes[area.id], entry.version == area.version else { return nil }
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
  func forEach(in box: AreaOutline.Box, _ body: (Int32) -> Void) {
    guard !values.isEmpty else { return }
    visit(0, level: levels.count - 1, box, body)
  }

  private func visit(_ index: Int, level: Int, _ box: AreaOutline.Box, _ body: (Int32) -> Void) {
    guard levels[level][index].intersects(box) else { return }
    guard level > 0 else { return body(values[index]) }
    let start = index * Self.fanout
    for child in start..<min(start + Self.fanout, levels[level - 1].count) {
      visit(child, level: level - 1, box, body)
    }
  }
}
