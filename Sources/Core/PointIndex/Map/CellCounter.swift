import Geo
import Points

/// A cell of a grid with its sums.
struct FoundCell {
  /// The numbers of the cell from the north-west.
  let x: UInt32
  let y: UInt32
  var count: Int

  /// The sums of the places' positions in 2⁻³² of the map's side.
  var sumX: UInt64
  var sumY: UInt64

  /// The sample, and where it is.
  var sample: SamplePlace
  var part: Int
  var slot: Int

  /// The number in the pyramid of the most frequent category, or ``PointRecord/none``.
  var categoryNumber = PointRecord.none

  /// The centre of mass.
  var center: MercatorPosition {
    let shift = UInt64(MercatorPosition.bits - 32)
    return MercatorPosition(x: (sumX / UInt64(count)) << shift, y: (sumY / UInt64(count)) << shift)
  }
}

/// The sums of the cells of a grid while places are added one by one.
struct CellCounter {
  private let level: Int
  private let names: [String]
  private(set) var cells: [FoundCell] = []
  private var indexes: [UInt64: Int] = [:]

  /// The numbers of places by the index of their cell and the number of their category.
  private var tallies: [UInt64: Int] = [:]

  /// Creates sums of no places.
  ///
  /// - Parameter names: the categories by their numbers in the pyramid.
  init(level: Int, names: [String]) {
    self.level = level
    self.names = names
  }

  /// Adds a place.
  ///
  /// - Parameter category: the number of its category in the pyramid, or ``PointRecord/none``.
  mutating func add(_ id: PointID, at position: MapPosition, category: UInt32, part: Int, slot: Int) {
    let shift = UInt32(32 - level)
    let (x, y) = (position.x >> shift, position.y >> shift)
    let sample = SamplePlace(id)
    let index: Int
    if let known = indexes[UInt64(x) << 32 | UInt64(y)] {
      index = known
      cells[index].count += 1
      cells[index].sumX += UInt64(position.x)
      cells[index].sumY += UInt64(position.y)
      if sample < cells[index].sample {
        (cells[index].sample, cells[index].part, cells[index].slot) = (sample, part, slot)
      }
    } else {
      index = cells.count
      indexes[UInt64(x) << 32 | UInt64(y)] = index
      cells.append(
        FoundCell(
          x: x, y: y, count: 1, sumX: UInt64(position.x), sumY: UInt64(position.y), sample: sample, part: part,
          slot: slot))
    }
    if category != PointRecord.none { tallies[UInt64(index) << 32 | UInt64(category), default: 0] += 1 }
  }

  /// Returns the cells with their most frequent categories.
  consuming func finished() -> [FoundCell] {
    var best = [Int](repeating: 0, count: cells.count)
    for (key, count) in tallies {
      let (index, category) = (Int(key >> 32), UInt32(truncatingIfNeeded: key))
      guard count >= best[index] else { continue }
      let known = cells[index].categoryNumber
      if count > best[index]
        || names[Int(category)].utf8.lexicographicallyPrecedes(names[Int(known)].utf8)
      {
        best[index] = count
        cells[index].categoryNumber = category
      }
    }
    return cells
  }
}

extension PointSnapshot {
  /// Returns the cells of a grid with matching places in some rectangles of whole cells, by row and column; `nil` where
  /// they are more than a limit.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout``.
  func cells(
    ofLevel level: Int, in areas: [MapArea], matching filter: MapFilter, limit: Int, _ searchLimit: SearchLimit
  ) throws(PointStoreError) -> [FoundCell]? {
    var search = CellSearch(self, level: level, limit: limit, searchLimit)
    for area in areas {
      if filter.matchesAll {
        if let root = pyramid.root { try search.visit(root, .map, area) }
      } else {
        try search.add(area, matching: filter)
      }
    }
    return search.finished()
  }
}

/// A search for the cells of a grid.
private struct CellSearch {
  private let snapshot: PointSnapshot
  private let level: Int
  private let limit: Int
  private let searchLimit: SearchLimit
  private var complete: [FoundCell] = []
  private var counter: CellCounter
  private var columns: [MapColumns]
  private var categories: TextNumbers

  /// The number of steps to visit a node, several microseconds.
  private static let stepsPerNode = 512

  init(_ snapshot: PointSnapshot, level: Int, limit: Int, _ searchLimit: SearchLimit) {
    self.snapshot = snapshot
    self.level = level
    self.limit = limit
    self.searchLimit = searchLimit
    categories = snapshot.pyramid.categories
    counter = CellCounter(level: level, names: categories.texts)
    columns = snapshot.parts.map { $0.segment.mapColumns }
  }

  private var isOverLimit: Bool { complete.count + counter.cells.count > limit }

  /// Adds the cells of a node that are in a rectangle.
  mutating func visit(_ node: Pyramid.Node, _ square: MapSquare, _ area: MapArea) throws(PointStoreError) {
    guard !isOverLimit, let common = square.area.intersection(area) else { return }
    guard searchLimit.spend(Self.stepsPerNode) else { throw searchLimit.error }
    if square.level == level {
      if let cell = try cell(of: node, square) { complete.append(cell) }
    } else if node.isLeaf {
      try add(common, matching: .everything)
    } else {
      for index in 0..<4 {
        if let quarter = node.quarters[index] { try visit(quarter, square.quarter(index), area) }
      }
    }
  }

  private func cell(of node: Pyramid.Node, _ square: MapSquare) throws(PointStoreError) -> FoundCell? {
    let totals = node.totals
    guard let sample = totals.sample, let location = snapshot.location(of: sample.id) else { return nil }
    let tallies = try snapshot.tallies(of: node, square, searchLimit)
    return FoundCell(
      x: square.x, y: square.y, count: totals.count, sumX: totals.sumX, sumY: totals.sumY, sample: sample,
      part: Int(location.part), slot: Int(location.slot),
      categoryNumber: tallies.mostFrequent(names: categories.texts) ?? PointRecord.none)
  }

  /// Adds the matching places in a rectangle.
  mutating func add(_ area: MapArea, matching filter: MapFilter) throws(PointStoreError) {
    try snapshot.forEachPlace(in: area, matching: filter, searchLimit) { part, slot, position in
      let (id, category) = (columns[part].ids[slot], columns[part].fields(at: slot).category)
      counter.add(
        id, at: MapPosition(position), category: columns[part].number(of: category, in: &categories), part: part,
        slot: slot)
      return !isOverLimit
    }
  }

  consuming func finished() -> [FoundCell]? {
    if isOverLimit { return nil }
    var cells = complete
    cells.append(contentsOf: counter.finished())
    cells.sort { ($0.y, $0.x) < ($1.y, $1.x) }
    return cells
  }
}

extension PointSnapshot {
  /// Returns the numbers of places of each category of a node.
  fileprivate func tallies(
    of node: Pyramid.Node, _ square: MapSquare, _ limit: SearchLimit
  ) throws(PointStoreError) -> CategoryTallies {
    if let known = node.totals.categories { return known }
    var sum = CategoryTallies()
    if !node.isLeaf {
      for index in 0..<4 {
        if let quarter = node.quarters[index] { sum.add(try tallies(of: quarter, square.quarter(index), limit)) }
      }
      return sum
    }
    var columns = parts.map { $0.segment.mapColumns }
    var categories = pyramid.categories
    try forEachPlace(in: square.area, matching: .everything, limit) { part, slot, _ in
      let number = columns[part].number(of: columns[part].fields(at: slot).category, in: &categories)
      if number != PointRecord.none { sum.add(number) }
      return true
    }
    return sum
  }
}
