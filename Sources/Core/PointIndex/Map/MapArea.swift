import Geo
import Basics
import Points

/// A rectangle of the map, in 2⁻³² of its side from the north-west; both ends are included.
struct MapArea: BitwiseCopyable, Equatable {
  var west: UInt32
  var north: UInt32
  var east: UInt32
  var south: UInt32

  init(west: UInt32, north: UInt32, east: UInt32, south: UInt32) {
    self.west = west
    self.north = north
    self.east = east
    self.south = south
  }

  /// Returns a Boolean value that indicates whether a position is in the rectangle.
  func contains(x: UInt32, y: UInt32) -> Bool { x >= west && x <= east && y >= north && y <= south }

  /// Returns the part of the rectangle in another one; `nil` if there is none.
  func intersection(_ other: MapArea) -> MapArea? {
    let (west, east) = (max(west, other.west), min(east, other.east))
    let (north, south) = (max(north, other.north), min(south, other.south))
    guard west <= east, north <= south else { return nil }
    return MapArea(west: west, north: north, east: east, south: south)
  }

  /// More degrees than positions are rounded by.
  private static let margin = 1e-7

  /// A box with all coordinates in the rectangle, and some beyond its edges.
  var box: BoundingBox {
    let side = Double(1 << 32 as UInt64)
    let northWest = MercatorPosition.coordinate(x: Double(west) / side, y: Double(north) / side)
    let southEast = MercatorPosition.coordinate(x: (Double(east) + 1) / side, y: (Double(south) + 1) / side)
    let box = try? BoundingBox(
      west: max(northWest.longitude - Self.margin, -180),
      south: south == .max ? -90 : max(southEast.latitude - Self.margin, -90),
      east: min(southEast.longitude + Self.margin, 180),
      north: north == 0 ? 90 : min(northWest.latitude + Self.margin, 90))
    guard let box else { preconditionFailure("a rectangle of the map is a box") }
    return box
  }

  /// Returns the rectangles of the whole cells of a level that touch a box, which have no cell in common.
  static func cells(of level: Int, touching box: BoundingBox?) -> [MapArea] {
    guard let box else { return [MapSquare.map.area] }
    let mask = level == 0 ? UInt32.max : UInt32.max >> UInt32(level)
    func area(_ west: Double, _ east: Double) -> MapArea? {
      guard let northWest = try? Coordinate(latitude: box.north, longitude: west),
        let southEast = try? Coordinate(latitude: box.south, longitude: east)
      else { return nil }
      let (first, last) = (MapPosition(northWest), MapPosition(southEast))
      return MapArea(west: first.x & ~mask, north: first.y & ~mask, east: last.x | mask, south: last.y | mask)
    }
    let areas = box.longitudeRanges.compactMap { area($0.lowerBound, $0.upperBound) }.sorted { $0.west < $1.west }
    guard areas.count == 2, areas[0].east >= areas[1].west else { return areas }
    var union = areas[0]
    union.east = max(areas[0].east, areas[1].east)
    return [union]
  }
}

/// A position in 2⁻³² of the map's side from the north-west.
struct MapPosition: BitwiseCopyable {
  let x: UInt32
  let y: UInt32

  init(_ coordinate: Coordinate) {
    self.init(MercatorPosition(coordinate))
  }

  init(_ position: MercatorPosition) {
    x = UInt32(position.x >> UInt64(MercatorPosition.bits - 32))
    y = UInt32(position.y >> UInt64(MercatorPosition.bits - 32))
  }
}

/// A search for all places of a tree in a region.
struct RegionWalk: TreeVisitor {
  let region: RegionFilter

  /// Receives the tree and the slot of each place that was not removed, and returns whether to go on.
  let body: (SearchTree, Int) -> Bool

  private(set) var isStopped = false

  init(in region: RegionFilter, _ body: @escaping (SearchTree, Int) -> Bool) {
    self.region = region
    self.body = body
  }

  mutating func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    !isStopped && region.meets(tree.nodes.geographic[node]) ? 0 : nil
  }

  func wants(_ key: Double) -> Bool { !isStopped }

  mutating func visit(places: Range<Int>, in tree: SearchTree) {
    for place in places where !isStopped {
      let slot = tree.slot(of: place)
      if !tree.isDead(slot), region.contains(slot, tree.columns), !body(tree, slot) { isStopped = true }
    }
  }
}

extension PointSnapshot {
  /// Calls the closure with the part and the slot of each place that matches the filter, until it returns `false`.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout`` where the limit is exceeded.
  func forEachPlace(
    matching mapFilter: MapFilter, _ limit: SearchLimit, _ body: (_ part: Int, _ slot: Int) -> Bool
  ) throws(PointStoreError) {
    let query = mapFilter.query
    if let matches = mapFilter.textMatches {
      forEachPlace(of: matches, in: query.box.map { BoxFilter($0) }, body)
      if limit.isExpired { throw .filterTimeout }
      return
    }
    guard let narrowed = query.narrowedByFilter else { return }
    let filter = SlotFilter(query, in: self, limit)
    let region = RegionFilter(narrowed, limit)
    let source = query.source?.sourceID == nil ? nil : query.source
    withoutActuallyEscaping(body) { body in
      var isStopped = false
      func visit(_ tree: SearchTree, _ slot: Int) -> Bool {
        let part = Int(tree.part)
        if let source, !parts[part].segment.records.isPoint(at: slot, of: source) { return true }
        if let filter, !filter.matches(slot, in: tree) { return !limit.isExpired }
        return body(part, slot)
      }
      forEachTree(for: narrowed, filter) { tree, _ in
        guard !isStopped else { return }
        if let region {
          var walk = RegionWalk(in: region, visit)
          tree.walk(&walk)
          isStopped = walk.isStopped
        } else {
          for place in 0..<tree.nodes.count where !isStopped {
            let slot = tree.slot(of: place)
            if !tree.isDead(slot), !visit(tree, slot) { isStopped = true }
          }
        }
      }
    }
    if limit.isExpired { throw .filterTimeout }
  }

  private func forEachPlace(
    of matches: TextMatches, in box: BoxFilter?, _ body: (_ part: Int, _ slot: Int) -> Bool
  ) {
    for (part, slots) in matches.slots.enumerated() {
      let coordinates = parts[part].segment.columns.coordinates
      for slot in slots where box?.contains(coordinates[Int(slot)]) ?? true {
        if !body(part, Int(slot)) { return }
      }
    }
  }

  /// The number of steps to visit a place.
  private static let stepsPerPlace = 16

  /// Calls the closure with the part, the slot and the position of each matching place in a rectangle of the map.
  func forEachPlace(
    in area: MapArea, matching filter: MapFilter, _ limit: SearchLimit,
    _ body: (_ part: Int, _ slot: Int, MercatorPosition) -> Bool
  ) throws(PointStoreError) {
    var filter = filter
    filter.query.box = area == MapSquare.map.area ? nil : area.box
    try forEachPlace(matching: filter, limit) { part, slot in
      guard limit.spend(Self.stepsPerPlace) else { return false }
      let position = MercatorPosition(parts[part].segment.columns.coordinates[slot])
      let mapPosition = MapPosition(position)
      guard area.contains(x: mapPosition.x, y: mapPosition.y) else { return true }
      return body(part, slot, position)
    }
  }
}

/// The conditions on the places of a map.
struct MapFilter {
  /// The box, the area, the categories, those excluded, the source and the property filter. The order and the page are ignored, and so
  /// are the proximity and the route.
  var query: PointQuery

  /// The places that match the text and the query; `nil` if there is no text.
  let textMatches: TextMatches?

  /// The condition that every place satisfies.
  static let everything = MapFilter(PointQuery(), textMatches: nil)

  init(_ query: PointQuery, textMatches: TextMatches?) {
    self.query = query
    self.textMatches = textMatches
  }

  /// A Boolean value that indicates whether all places match, the box aside.
  var matchesAll: Bool {
    textMatches == nil && query.categories.isEmpty && query.excludedCategories.isEmpty && query.source == nil
      && !query.needsIndex
  }
}

extension PointSnapshot {
  /// Returns the limit of a query of the map, of which a search for a text has a time limit in any case.
  func mapLimit(_ query: PointQuery, _ text: ExactText?) -> SearchLimit {
    text == nil ? SearchLimit(query) : SearchLimit(query.timeLimit)
  }

  /// Returns the conditions of a query of the map, with all places that match its text, which are found within a limit.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout``.
  func mapFilter(
    _ query: PointQuery, _ text: ExactText?, _ limit: SearchLimit
  ) throws(PointStoreError) -> MapFilter {
    guard let text else { return MapFilter(query, textMatches: nil) }
    return MapFilter(query, textMatches: try textMatches(of: TextQuery(text: text.text, filters: query), limit))
  }
}
