public import Basics
public import Geo
import JSONText
public import Points
import VectorTiles

extension PointSnapshot: IndexSnapshot {
  /// Returns the version of the places of a tile. O(log n).
  public func contentVersion(of tile: TileAddress) -> ContentVersion {
    knownVersions(of: tile).own ?? version(of: places(of: tile))
  }

  /// Returns an upper bound of the number of places of a tile. O(log n).
  public func maximumCount(of tile: TileAddress) -> Int {
    pyramid.version(around: MapSquare(tile)).version.count
  }

  /// Returns the versions of a tile. Its own is not known where its places have to be visited, which are at most 256.
  /// O(log n).
  public func knownVersions(of tile: TileAddress) -> TileVersions {
    let (version, isOwn) = pyramid.version(around: MapSquare(tile))
    return TileVersions(own: isOwn ? version : nil, enclosing: version)
  }

  private func version(of places: ContiguousArray<TilePlace>) -> ContentVersion {
    var digest = ContentDigest()
    placeColumns.withUnsafeBufferPointer { columns in
      for place in places {
        digest.add(ContentDigest(place.id, columns[Int(place.part)].records.stamp(at: Int(place.slot))))
      }
    }
    return ContentVersion(count: places.count, high: digest.high, low: digest.low)
  }

  /// Returns an encoded vector tile: the clusters of its cells, or its places where they are few enough and the zoom
  /// level is not one of clusters. The version is that of all places of the tile, whatever the filters.
  ///
  /// - Parameter isKnown: returns whether the tile need not be drawn.
  /// - Returns: the tile; `nil` where it need not be drawn.
  /// - Throws: ``Points/PointStoreError/filterTimeout``.
  public func tile(
    matching query: TileQuery, unless isKnown: (ContentVersion) -> Bool
  ) throws(PointStoreError) -> (version: ContentVersion, bytes: [UInt8]?) {
    let known = knownVersions(of: query.tile).own
    let visited = known == nil ? places(of: query.tile) : nil
    let version = known ?? version(of: visited ?? [])
    if isKnown(version) { return (version, nil) }
    return (version, version.count == 0 ? [] : try draw(query, of: version.count, visited))
  }

  /// Returns an encoded vector tile.
  ///
  /// - Parameters:
  ///   - count: the number of places of the tile, whatever the filters.
  ///   - visited: those places; `nil` where they were not visited.
  private func draw(
    _ query: TileQuery, of count: Int, _ visited: ContiguousArray<TilePlace>?
  ) throws(PointStoreError) -> [UInt8] {
    let square = MapSquare(query.tile)
    let limit = mapLimit(query.filters, query.text)
    let filter = try mapFilter(query.filters, query.text, limit)
    if query.tile.zoom > TileQuery.clusterMaximumZoom {
      var found = filter.matchesAll ? visited : nil
      if found == nil, !filter.matchesAll || count <= TileQuery.maximumPlaces {
        found = try places(of: query.tile, matching: filter, atMost: TileQuery.maximumPlaces, limit)
      }
      if var places = found, places.count <= TileQuery.maximumPlaces {
        let texts = texts(of: places, withTags: !query.tags.isEmpty)
        if texts.byteCount <= PointPage.maximumTextBytes {
          places.sort { $0.id < $1.id }
          var drawing = TileDrawing(query, of: self, capacity: places.count, textBytes: texts.byteCount)
          drawing.append(places, texts)
          return drawing.finished()
        }
      }
    }
    let level = square.level + TileQuery.cellBits
    guard let cells = try cells(ofLevel: level, in: [square.area], matching: filter, limit: .max, limit) else {
      return []
    }
    var drawing = TileDrawing(query, of: self, capacity: cells.count, textBytes: 0)
    for cell in cells { drawing.append(cell, level: level) }
    return drawing.finished()
  }

  /// Returns the cells of a grid, or the places themselves, that touch a box; `nil` if they are more than a limit.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout``.
  public func cells(matching query: CellQuery, limit: Int) throws(PointStoreError) -> [MapCell]? {
    let search = mapLimit(query.filters, query.text)
    var filter = try mapFilter(query.filters, query.text, search)
    if let level = query.level {
      let areas = MapArea.cells(of: level, touching: query.box)
      return try cells(ofLevel: level, in: areas, matching: filter, limit: limit, search)?.map { cell in
        let (segment, isSingle) = (parts[cell.part].segment, cell.count == 1)
        return MapCell(
          level: level, x: Int(cell.x), y: Int(cell.y), count: cell.count,
          center: isSingle ? segment.columns.coordinates[cell.slot] : cell.center.coordinate,
          id: segment.columns.ids[cell.slot], name: segment.records.name(at: cell.slot),
          category: cell.categoryNumber == PointRecord.none ? nil : pyramid.categories.texts[Int(cell.categoryNumber)])
      }
    }
    filter.query.box = query.box
    var found: [MapCell] = []
    try forEachPlace(matching: filter, search) { part, slot in
      let segment = parts[part].segment
      let category = segment.records.category(at: slot)
      found.append(
        MapCell(
          level: 0, x: 0, y: 0, count: 1, center: segment.columns.coordinates[slot],
          id: segment.columns.ids[slot], name: segment.records.name(at: slot),
          category: category == PointRecord.none ? nil : segment.categories.names[Int(category)]))
      return found.count <= limit
    }
    return found.count > limit ? nil : found.sorted { $0.id < $1.id }
  }

  private func places(of tile: TileAddress) -> ContiguousArray<TilePlace> {
    var search = TileSearch(tile)
    forEachTree(for: PointQuery()) { tree, _ in tree.walk(&search) }
    return search.places
  }

  /// Returns the places of a tile that match; some more than the limit where they are more.
  private func places(
    of tile: TileAddress, matching filter: MapFilter, atMost limit: Int, _ search: SearchLimit
  ) throws(PointStoreError) -> ContiguousArray<TilePlace> {
    if filter.matchesAll { return places(of: tile) }
    var places: ContiguousArray<TilePlace> = []
    try forEachPlace(in: MapSquare(tile).area, matching: filter, search) { part, slot, position in
      places.append(
        TilePlace(placeColumns[part].ids[slot], part: UInt32(part), slot: slot, at: position, zoom: tile.zoom))
      return places.count <= limit
    }
    return places
  }
}

extension MapSquare {
  init(_ tile: TileAddress) {
    self.init(level: tile.zoom, x: UInt32(tile.x), y: UInt32(tile.y))
  }
}

extension PointSnapshot {
  /// The least box of all places that does not cross the antimeridian. O(log n) and the removed places at its edges.
  public var bounds: BoundingBox? { edges(of: PointQuery())?.plainBox }

  /// Returns a box of the places of some categories, or of all places where there are no categories; `nil` where there
  /// are no places. It crosses the antimeridian where that makes it at most half as wide. O(log n) for each category,
  /// and the removed places at its edges.
  public func extent(ofCategories categories: Set<ExactText>) -> BoundingBox? {
    var query = PointQuery()
    query.categories = categories
    return edges(of: query).flatMap { $0.crossingBox ?? $0.plainBox }
  }

  /// Returns the outermost places of a query that has no conditions but categories; `nil` if it has none.
  private func edges(of query: PointQuery) -> OutermostPlaces? {
    func least(_ value: PlaceValue) -> Double? {
      var search = LeastValueSearch(of: value)
      forEachTree(for: query) { tree, _ in tree.walk(&search) }
      return search.least.isFinite ? search.least : nil
    }
    guard let south = least(.north), let north = least(.south) else { return nil }
    var edges = OutermostPlaces(south: south, north: -north)
    if let west = least(.eastInWest), let east = least(.westInWest) { edges.western = west...(-east) }
    if let west = least(.eastInEast), let east = least(.westInEast) { edges.eastern = west...(-east) }
    return edges
  }
}

/// The outermost places in each direction, by hemisphere.
private struct OutermostPlaces {
  let south: Double
  let north: Double

  /// The longitudes of the places west of the prime meridian; `nil` where there are none.
  var western: ClosedRange<Double>?

  /// The longitudes of the other places; `nil` where there are none.
  var eastern: ClosedRange<Double>?

  /// The box that does not cross the antimeridian.
  var plainBox: BoundingBox? {
    guard let first = western ?? eastern, let last = eastern ?? western else { return nil }
    return box(west: first.lowerBound, east: last.upperBound)
  }

  /// The box that crosses the antimeridian; `nil` if it is more than half as wide as the other.
  var crossingBox: BoundingBox? {
    guard let western, let eastern else { return nil }
    let width = 360 - (eastern.lowerBound - western.upperBound)
    guard 2 * width <= eastern.upperBound - western.lowerBound else { return nil }
    return box(west: eastern.lowerBound, east: western.upperBound)
  }

  private func box(west: Double, east: Double) -> BoundingBox? {
    try? BoundingBox(west: west, south: south, east: east, north: north)
  }
}

/// A value of a place that is least at an edge of its neighbours. Values of the western hemisphere are those of
/// negative longitudes; other places have none.
private enum PlaceValue {
  /// The latitude, and its negative.
  case north, south

  /// The longitude of a place in a hemisphere, and its negative.
  case eastInWest, westInWest, eastInEast, westInEast

  /// Returns the value of a place; infinity where it has none.
  func of(_ coordinate: Coordinate) -> Double {
    let longitude = coordinate.longitude
    return switch self {
    case .north: coordinate.latitude
    case .south: -coordinate.latitude
    case .eastInWest: longitude < 0 ? longitude : .infinity
    case .westInWest: longitude < 0 ? -longitude : .infinity
    case .eastInEast: longitude < 0 ? .infinity : longitude
    case .westInEast: longitude < 0 ? .infinity : -longitude
    }
  }

  /// Returns a value that no place within bounds is below; infinity where no place in them has one.
  func lowerBound(in bounds: GeographicBounds) -> Double {
    switch self {
    case .north: Double(bounds.south)
    case .south: Double(-bounds.north)
    case .eastInWest: bounds.west < 0 ? Double(bounds.west) : .infinity
    case .westInWest: bounds.west < 0 ? Double(-min(bounds.east, 0)) : .infinity
    case .eastInEast: bounds.east < 0 ? .infinity : Double(max(bounds.west, 0))
    case .westInEast: bounds.east < 0 ? .infinity : Double(-bounds.east)
    }
  }
}

/// A search for the least value of the places of trees.
private struct LeastValueSearch: TreeVisitor {
  private let value: PlaceValue

  /// The least value so far; infinity where no place has one.
  private(set) var least = Double.infinity

  init(of value: PlaceValue) {
    self.value = value
  }

  func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    let bound = value.lowerBound(in: tree.nodes.geographic[node])
    return bound < least ? bound : nil
  }

  func wants(_ key: Double) -> Bool { key < least }

  mutating func visit(places: Range<Int>, in tree: SearchTree) {
    for place in places {
      let slot = tree.slot(of: place)
      let found = value.of(tree.columns.coordinates[slot])
      if found < least, !tree.isDead(slot) { least = found }
    }
  }
}
