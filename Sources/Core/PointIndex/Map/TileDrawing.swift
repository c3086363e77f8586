import Basics
import CPrefetch
import Geo
import JSONText
import Points
import VectorTiles

struct TilePlace: BitwiseCopyable {
  let id: PointID
  let part: UInt32
  let slot: UInt32

  /// The grid units from the north-western corner of the tile.
  let x: UInt16
  let y: UInt16

  @inline(__always)
  init(_ id: PointID, part: UInt32, slot: Int, at position: MercatorPosition, zoom: Int) {
    self.id = id
    self.part = part
    self.slot = UInt32(truncatingIfNeeded: slot)
    x = Self.units(position.x, zoom: zoom)
    y = Self.units(position.y, zoom: zoom)
  }

  /// Returns the grid units from the edge of the tile.
  @inline(__always)
  static func units(_ position: UInt64, zoom: Int) -> UInt16 {
    UInt16(truncatingIfNeeded: position >> UInt64(MercatorPosition.bits - 12 - zoom)) & UInt16(VectorTile.extent - 1)
  }
}

/// Sums over the texts of the places of a tile.
struct TileTexts {
  /// The number of bytes of the names, and of the tags where they are wanted.
  fileprivate(set) var byteCount = 0

  /// A Boolean value that indicates whether a name or a category is as long as an id, and thus may be equal to one.
  fileprivate(set) var mayRepeatIDs = false
}

extension PointSnapshot {
  /// Returns the sums over the texts of places, which it prefetches.
  func texts(of places: ContiguousArray<TilePlace>, withTags: Bool) -> TileTexts {
    var texts = TileTexts()
    placeColumns.withUnsafeBufferPointer { columns in
      for place in places {
        let (columns, slot) = (columns[Int(place.part)], Int(place.slot))
        let nameLength = columns.records.texts(at: slot).name.count
        columns.records.prefetchTexts(at: slot)
        texts.byteCount += withTags ? columns.records.textBytes(at: slot) : nameLength
        if nameLength == PointID.textLength { texts.mayRepeatIDs = true }
        let category = columns.records.category(at: slot)
        if category != PointRecord.none, columns.categories[Int(category)].count == PointID.textLength {
          texts.mayRepeatIDs = true
        }
      }
    }
    return texts
  }
}

/// A search for all places of a tile.
struct TileSearch: TreeVisitor {
  private let zoom: Int
  private let area: MapArea

  /// A box around the tile; `nil` for the whole map.
  private let box: BoxFilter?

  private(set) var places: ContiguousArray<TilePlace> = []

  init(_ tile: TileAddress) {
    zoom = tile.zoom
    area = MapSquare(tile).area
    box = zoom == 0 ? nil : BoxFilter(area.box)
  }

  @inline(__always)
  mutating func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? {
    box?.meets(tree.nodes.geographic[node]) ?? true ? 0 : nil
  }

  @inline(__always)
  func wants(_ key: Double) -> Bool { true }

  @inline(__always)
  mutating func visit(places: Range<Int>, in tree: SearchTree) {
    for place in places {
      let slot = tree.slot(of: place)
      let coordinate = tree.columns.coordinates[slot]
      if tree.isDead(slot) || !(box?.contains(coordinate) ?? true) { continue }
      let position = MercatorPosition(coordinate)
      let onMap = MapPosition(position)
      guard area.contains(x: onMap.x, y: onMap.y) else { continue }
      self.places.append(TilePlace(tree.columns.ids[slot], part: tree.part, slot: slot, at: position, zoom: zoom))
    }
  }
}

/// The drawing of a vector tile: its layers `places` and `clusters`.
struct TileDrawing {
  private let snapshot: PointSnapshot
  private let zoom: Int
  private let tags: [(jsonKey: [UInt8], key: VectorTileLayer.Key)]
  private var places: VectorTileLayer
  private let placeKeys: (id: VectorTileLayer.Key, name: VectorTileLayer.Key, category: VectorTileLayer.Key)
  private var clusters: ClusterLayer?

  /// The values of some categories, by the last digits of their numbers.
  private var categoryValues: ContiguousArray<(part: UInt32, number: UInt32, value: VectorTileLayer.Value)?>

  private static let keptCategories = 32

  /// The estimated number of bytes of a place's values, its name aside.
  private static let placeBytes = PointID.textLength + 4 + 6

  /// Creates a drawing of nothing.
  ///
  /// - Parameters:
  ///   - capacity: the number of places that memory is reserved for.
  ///   - textBytes: the number of bytes of texts that memory is reserved for.
  init(_ query: TileQuery, of snapshot: PointSnapshot, capacity: Int, textBytes: Int) {
    self.snapshot = snapshot
    categoryValues = ContiguousArray(repeating: nil, count: Self.keptCategories)
    zoom = query.tile.zoom
    places = VectorTileLayer(
      name: "places", capacity: capacity, textBytes: capacity * Self.placeBytes + textBytes + 1024)
    placeKeys = (places.addKey("id"), places.addKey("name"), places.addKey("category"))
    var tags: [(jsonKey: [UInt8], key: VectorTileLayer.Key)] = []
    for tag in query.tags { tags.append((JSONString.bytes(of: tag.text), places.addKey(tag.text))) }
    self.tags = tags
  }

  /// Appends places of different ids, all that are drawn one by one.
  ///
  /// - Parameter texts: the sums over the texts of the places.
  mutating func append(_ places: ContiguousArray<TilePlace>, _ texts: TileTexts) {
    let areIDsUnique = tags.isEmpty && !texts.mayRepeatIDs
    snapshot.placeColumns.withUnsafeBufferPointer { columns in
      for place in places { append(place, of: columns[Int(place.part)], isIDUnique: areIDsUnique) }
    }
  }

  private mutating func append(_ place: TilePlace, of columns: PlaceColumns, isIDUnique: Bool) {
    let (records, slot) = (columns.records, Int(place.slot))
    places.set(placeKeys.id, isIDUnique ? uniqueValue(place.id) : value(place.id))
    places.set(placeKeys.name, places.value(records.texts(at: slot).name))
    let category = records.category(at: slot)
    if category != PointRecord.none {
      places.set(placeKeys.category, value(ofCategory: category, part: place.part, of: columns))
    }
    if !tags.isEmpty {
      records.withTags(at: slot) { texts in
        for (jsonKey, key) in tags {
          guard let text = PointRecords.text(ofTag: jsonKey, in: texts) else { continue }
          places.set(key, places.value(text))
        }
      }
    }
    places.appendPoint(x: Int(place.x), y: Int(place.y))
  }

  /// Returns the value of the name of a category, which is looked up only where it is not that of the place before.
  private mutating func value(
    ofCategory category: UInt32, part: UInt32, of columns: PlaceColumns
  ) -> VectorTileLayer.Value {
    let slot = Int(category) & (Self.keptCategories - 1)
    if let kept = categoryValues[slot], kept.number == category, kept.part == part { return kept.value }
    let value = places.value(columns.categories[Int(category)])
    categoryValues[slot] = (part, category, value)
    return value
  }

  private mutating func uniqueValue(_ id: PointID) -> VectorTileLayer.Value {
    places.uniqueValue(byteCount: PointID.textLength) { id.write(to: $0) }
  }

  private mutating func value(_ id: PointID) -> VectorTileLayer.Value {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: PointID.textLength) { text in
      id.write(to: text.baseAddress.unsafelyUnwrapped)
      return places.value(UnsafeBufferPointer(text))
    }
  }

  mutating func append(_ cell: FoundCell, level: Int) {
    let columns = snapshot.placeColumns[cell.part]
    if cell.count == 1 {
      let position = MercatorPosition(columns.coordinates[cell.slot])
      append(
        TilePlace(cell.sample.id, part: UInt32(cell.part), slot: cell.slot, at: position, zoom: zoom), of: columns,
        isIDUnique: false)
      return
    }
    var layer = clusters.take() ?? ClusterLayer()
    layer.append(
      cell, level: level, name: columns.records.texts(at: cell.slot).name,
      category: cell.categoryNumber == PointRecord.none
        ? nil : snapshot.pyramid.categories.texts[Int(cell.categoryNumber)], zoom: zoom)
    clusters = layer
  }

  func finished() -> [UInt8] {
    var tile = VectorTile()
    tile.append(places)
    if let clusters { tile.append(clusters.layer) }
    return tile.bytes
  }
}

/// The layer `clusters` of a tile.
private struct ClusterLayer {
  private(set) var layer = VectorTileLayer(name: "clusters")
  private let keys:
    (
      cell: VectorTileLayer.Key, count: VectorTileLayer.Key, name: VectorTileLayer.Key, category: VectorTileLayer.Key
    )

  init() {
    keys = (layer.addKey("cell"), layer.addKey("count"), layer.addKey("name"), layer.addKey("category"))
  }

  mutating func append(
    _ cell: FoundCell, level: Int, name: UnsafeBufferPointer<UInt8>, category: String?, zoom: Int
  ) {
    layer.set(keys.cell, layer.value("\(level)/\(cell.x)/\(cell.y)"))
    layer.set(keys.count, layer.value(UInt64(cell.count)))
    layer.set(keys.name, layer.value(name))
    if let category { layer.set(keys.category, layer.value(category)) }
    layer.appendPoint(
      x: Int(TilePlace.units(cell.center.x, zoom: zoom)), y: Int(TilePlace.units(cell.center.y, zoom: zoom)))
  }
}
