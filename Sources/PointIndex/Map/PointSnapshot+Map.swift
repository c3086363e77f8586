public import Geo
import JSONText
public import Points
import VectorTiles

extension PointSnapshot: MapSnapshot {
  /// Returns the version of the places of a tile. O(log n).
  public func contentVersion(of tile: TileAddress) -> ContentVersion {
    let square = MapSquare(tile)
    guard let (node, around) = pyramid.node(around: square) else { return ContentVersion(count: 0, high: 0, low: 0) }
    if around.level == square.level {
      let totals = node.totals
      return ContentVersion(count: totals.count, high: totals.digest.high, low: totals.digest.low)
    }
    var (count, digest) = (0, ContentDigest())
    // Without a property filter there is no time limit.
    try? forEachPlace(in: square.area, matching: PointQuery()) { part, slot, _ in
      let segment = parts[part].segment
      count += 1
      digest.add(ContentDigest(segment.columns.ids[slot], segment.records.record(at: slot)))
      return true
    }
    return ContentVersion(count: count, high: digest.high, low: digest.low)
  }

  /// Returns an encoded vector tile: the clusters of its cells, or its places where they are few enough and the zoom
  /// level is not one of clusters.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout``.
  public func tile(matching query: TileQuery) throws(PointStoreError) -> [UInt8] {
    let square = MapSquare(query.tile)
    var drawing = TileDrawing(query, of: self)
    if query.tile.zoom > query.clusterMaximumZoom, let places = try places(of: query, in: square.area) {
      for place in places { drawing.append(place) }
      return drawing.finished()
    }
    let level = square.level + TileQuery.cellBits
    guard let cells = try cells(ofLevel: level, in: [square.area], matching: query.filters, limit: .max) else {
      return []
    }
    for cell in cells { drawing.append(cell, level: level) }
    return drawing.finished()
  }

  /// Returns the cells of a grid, or the places themselves, that touch a box; `nil` where they are more than a limit.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout``.
  public func cells(matching query: CellQuery, limit: Int) throws(PointStoreError) -> [MapCell]? {
    if let level = query.level {
      let areas = MapArea.cells(of: level, touching: query.box)
      return try cells(ofLevel: level, in: areas, matching: query.filters, limit: limit)?.map { cell in
        let (segment, isSingle) = (parts[cell.part].segment, cell.count == 1)
        return MapCell(
          level: level, x: Int(cell.x), y: Int(cell.y), count: cell.count,
          center: isSingle ? segment.columns.coordinates[cell.slot] : cell.center.coordinate,
          id: segment.columns.ids[cell.slot], name: segment.records.name(at: cell.slot),
          category: cell.categoryNumber == PointRecord.none ? nil : pyramid.categories.texts[Int(cell.categoryNumber)])
      }
    }
    var filters = query.filters
    filters.box = query.box
    var found: [MapCell] = []
    try forEachPlace(matching: filters) { part, slot in
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

  /// Returns the places of a tile by id; `nil` where they are too many, or their texts too long, to be drawn one by
  /// one.
  private func places(of query: TileQuery, in area: MapArea) throws(PointStoreError) -> [TilePlace]? {
    if query.filters.matchesAll, contentVersion(of: query.tile).count > TileQuery.maximumPlaces { return nil }
    var places: [TilePlace] = []
    var textBytes = 0
    try forEachPlace(in: area, matching: query.filters) { part, slot, position in
      let columns = summaryColumns[part]
      textBytes += query.tags.isEmpty ? Int(columns.records[slot].nameLength) : columns.textBytes(at: slot)
      places.append(TilePlace(id: columns.ids[slot], part: part, slot: slot, position: position))
      return places.count <= TileQuery.maximumPlaces && textBytes <= PointPage.maximumTextBytes
    }
    guard places.count <= TileQuery.maximumPlaces, textBytes <= PointPage.maximumTextBytes else { return nil }
    places.sort { $0.id < $1.id }
    return places
  }
}

extension MapSquare {
  init(_ tile: TileAddress) {
    self.init(level: tile.zoom, x: UInt32(tile.x), y: UInt32(tile.y))
  }
}

/// A place of a tile.
private struct TilePlace: BitwiseCopyable {
  let id: PointID
  let part: Int
  let slot: Int
  let position: MercatorPosition
}

/// The drawing of a vector tile: its layers `places` and `clusters`.
private struct TileDrawing {
  private let snapshot: PointSnapshot
  private let zoom: Int
  private let tags: [(jsonKey: [UInt8], key: VectorTileLayer.Key)]
  private var places = VectorTileLayer(name: "places")
  private var clusters = VectorTileLayer(name: "clusters")
  private let placeKeys: (id: VectorTileLayer.Key, name: VectorTileLayer.Key, category: VectorTileLayer.Key)
  private let clusterKeys:
    (
      cell: VectorTileLayer.Key, count: VectorTileLayer.Key, name: VectorTileLayer.Key, category: VectorTileLayer.Key
    )
  private var id = [UInt8](repeating: 0, count: PointID.textLength)

  init(_ query: TileQuery, of snapshot: PointSnapshot) {
    self.snapshot = snapshot
    zoom = query.tile.zoom
    placeKeys = (places.addKey("id"), places.addKey("name"), places.addKey("category"))
    clusterKeys = (
      clusters.addKey("cell"), clusters.addKey("count"), clusters.addKey("name"), clusters.addKey("category")
    )
    var tags: [(jsonKey: [UInt8], key: VectorTileLayer.Key)] = []
    for tag in query.tags {
      var jsonKey: [UInt8] = []
      JSONString.write(tag.text, to: &jsonKey)
      tags.append((jsonKey, places.addKey(tag.text)))
    }
    self.tags = tags
  }

  mutating func append(_ place: TilePlace) {
    let summary = snapshot.summaryColumns[place.part].summary(at: place.slot, distanceMetres: nil)
    id.withUnsafeMutableBufferPointer { place.id.write(to: $0.baseAddress.unsafelyUnwrapped) }
    let idValue = id.withUnsafeBufferPointer { places.value($0) }
    places.set(placeKeys.id, idValue)
    places.set(placeKeys.name, places.value(summary.name))
    if let category = summary.category { places.set(placeKeys.category, places.value(category)) }
    for (jsonKey, key) in tags {
      guard let text = PointRecords.text(ofTag: jsonKey, in: summary.tags) else { continue }
      places.set(key, places.value(text))
    }
    places.appendPoint(x: units(place.position.x), y: units(place.position.y))
  }

  mutating func append(_ cell: FoundCell, level: Int) {
    let columns = snapshot.summaryColumns[cell.part]
    if cell.count == 1 {
      append(
        TilePlace(
          id: cell.sample.id, part: cell.part, slot: cell.slot,
          position: MercatorPosition(columns.coordinates[cell.slot])))
      return
    }
    clusters.set(clusterKeys.cell, clusters.value("\(level)/\(cell.x)/\(cell.y)"))
    clusters.set(clusterKeys.count, clusters.value(UInt64(cell.count)))
    clusters.set(
      clusterKeys.name, clusters.value(columns.summary(at: cell.slot, distanceMetres: nil).name))
    if cell.categoryNumber != PointRecord.none {
      let name = snapshot.pyramid.categories.texts[Int(cell.categoryNumber)]
      clusters.set(clusterKeys.category, clusters.value(name))
    }
    clusters.appendPoint(x: units(cell.center.x), y: units(cell.center.y))
  }

  /// Returns the grid units from the edge of the tile.
  private func units(_ position: UInt64) -> Int {
    Int(position >> UInt64(MercatorPosition.bits - 12 - zoom)) & (VectorTile.extent - 1)
  }

  func finished() -> [UInt8] {
    var tile = VectorTile()
    tile.append(places)
    tile.append(clusters)
    return tile.bytes
  }
}
