import Basics
import Geo
public import Points
import SearchWords

extension PointSnapshot {
  /// Returns the pairs of places of two data sets that are likely the same, in any order; `nil` if their places are
  /// more than the query allows.
  ///
  /// O(n) for n places of the data sets, and for the pairs of places that are near each other.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout``.
  public func duplicates(matching query: DuplicateQuery) throws(PointStoreError) -> [DuplicateCandidate]? {
    let limit = SearchLimit(query.timeLimit)
    guard let places = try ComparedPlaces(query, in: self, limit) else { return nil }
    var search = DuplicateSearch(places, DuplicateGrids(places), in: self, query, limit)
    search.compare(places.first)
    if limit.isExpired { throw limit.error }
    return search.candidates
  }

  /// Returns the same pairs by the work of two threads, without limits.
  ///
  /// - Throws: ``Points/PointStoreError``.
  package func allDuplicates(matching query: DuplicateQuery) throws(PointStoreError) -> [DuplicateCandidate] {
    var query = query
    (query.maximumPlaces, query.timeLimit) = (nil, nil)
    guard let places = try ComparedPlaces(query, in: self, SearchLimit(nil)) else { return [] }
    let grids = DuplicateGrids(places)
    let middle = places.first.count / 2
    let (left, right) = Parallel.both(where: middle > 1000) { [query] in
      var search = DuplicateSearch(places, grids, in: self, query, SearchLimit(nil))
      search.compare(places.first.lowerBound..<middle)
      return search.candidates
    } and: { [query] in
      var search = DuplicateSearch(places, grids, in: self, query, SearchLimit(nil))
      search.compare(middle..<places.first.upperBound)
      return search.candidates
    }
    return left + right
  }
}

/// The distances up to which places of categories may be the same.
enum DuplicateRadius {
  /// The radius of a category that is not in ``table``, in metres.
  static let standard = 300

  /// The radii by category, in metres. That of a category stands for those below it.
  static let table: [ExactText: Int] = [
    "aerodrome": 5_000, "helipad": 1_000, "hospital": 1_000, "island": 5_000, "nature": 2_000, "nature_reserve": 5_000,
    "natural:bay": 5_000, "natural:glacier": 5_000, "natural:valley": 5_000, "natural:water": 5_000, "park": 1_000,
    "place:city": 25_000, "place:country": 25_000, "place:region": 25_000, "place:town": 25_000,
    "populated_place": 5_000, "place:square": 300, "station": 1_000, "university": 1_000, "waterway:river": 5_000,
  ]

  /// Returns the radius of a category in data.
  static func metres(ofCategory name: ExactText, in tree: CategoryTree) -> Int {
    var next = tree.number(ofNameInData: name).map { tree.categories[$0].name } ?? name
    while true {
      if let radius = table[next] { return radius }
      guard let number = tree.number(of: next), let parent = tree.categories[number].parent else { return standard }
      next = parent
    }
  }
}

/// The places of two data sets, in the form in which they are compared.
struct ComparedPlaces: Sendable {
  struct Place: BitwiseCopyable {
    let id: PointID
    let position: EarthCentred
    let part: UInt32
    let slot: UInt32

    /// The number of the category in ``categories``, or ``PointRecord/none``.
    let categoryNumber: UInt32

    /// The distance up to which a place may be the same, in metres.
    let radius: Int32

    /// The start of the names, and their number.
    let firstName: UInt32
    let nameCount: UInt8

    let contact: ContactKinds
  }

  /// A category of the places.
  struct Category {
    let name: ExactText

    /// The numbers in the tree of the category and those below it; `nil` if it is not there.
    let subtree: Range<Int>?
    let group: Int?
  }

  /// The maximum number of names of a place.
  private static let maximumNames = 8

  private(set) var places: ContiguousArray<Place> = []
  private(set) var names: ContiguousArray<ComparedName> = []
  private(set) var numbers: ContiguousArray<UInt32> = []
  private(set) var words = NameWords()
  private(set) var categories: [Category] = []

  /// The places of the first data set, and of the second one: the same ones if it is the same.
  private(set) var first = 0..<0
  private(set) var second = 0..<0

  private var categoryNumbers: [ExactText: UInt32] = [:]
  private var radii: [Int32] = []
  private var text = NormalizedText()

  /// The number of steps to prepare a place.
  private static let stepsPerPlace = 256

  /// Creates the places of a query; `nil` if they are too many.
  ///
  /// - Throws: ``Points/PointStoreError/filterTimeout``.
  init?(_ query: DuplicateQuery, in snapshot: PointSnapshot, _ limit: SearchLimit) throws(PointStoreError) {
    try append(query.source, query, of: snapshot, limit)
    guard places.count <= query.maximumPlaces ?? .max else { return nil }
    first = 0..<places.count
    if query.isWithinOneSource {
      second = first
    } else {
      try append(query.other, query, of: snapshot, limit)
      guard places.count <= query.maximumPlaces ?? .max else { return nil }
      second = first.upperBound..<places.count
    }
    words.weigh(places: places.count)
  }

  private mutating func append(
    _ source: ExactText, _ query: DuplicateQuery, of snapshot: PointSnapshot, _ limit: SearchLimit
  ) throws(PointStoreError) {
    var conditions = PointQuery()
    conditions.source = PointQuery.Source(name: source.text)
    conditions.box = query.box
    let (fields, maximum) = (TextFields(snapshot.textConfiguration), query.maximumPlaces ?? .max)
    var filter = MapFilter.everything
    filter.query = conditions
    var categoriesOfParts: [[UInt32]] = Array(repeating: [], count: snapshot.parts.count)
    try snapshot.forEachPlace(matching: filter, limit) { part, slot in
      append(slot, of: snapshot, part: part, fields, &categoriesOfParts[part])
      return limit.spend(Self.stepsPerPlace) && places.count <= maximum
    }
  }

  private mutating func append(
    _ slot: Int, of snapshot: PointSnapshot, part: Int, _ fields: TextFields, _ categoriesOfPart: inout [UInt32]
  ) {
    let segment = snapshot.parts[part].segment
    let (columns, place, firstName) = (segment.columns, UInt32(places.count), UInt32(names.count))
    var name = segment.records.name(at: slot)
    name.withUTF8 { appendName($0, of: place, after: firstName) }
    var contact = ContactKinds()
    segment.records.withTags(at: slot) { tags in
      TextFields.forEachTag(in: tags) { key, value in
        contact.add(key)
        guard fields.kind(of: key) == .name else { return }
        NameKind.forEachName(in: value) { name, kind in
          if kind != .abbreviation, names.count - Int(firstName) < Self.maximumNames {
            appendName(name, of: place, after: firstName)
          }
        }
      }
    }
    let inPart = segment.records.category(at: slot)
    var category = PointRecord.none
    if inPart != PointRecord.none {
      if categoriesOfPart.isEmpty {
        categoriesOfPart = segment.categories.names.map { number(ofCategory: ExactText($0), snapshot) }
      }
      category = categoriesOfPart[Int(inPart)]
    }
    places.append(
      Place(
        id: columns.ids[slot], position: columns.positions[slot],
        part: UInt32(part), slot: UInt32(slot), categoryNumber: category,
        radius: category == PointRecord.none ? Int32(DuplicateRadius.standard) : radii[Int(category)],
        firstName: firstName, nameCount: UInt8(names.count - Int(firstName)), contact: contact))
  }

  private mutating func number(ofCategory name: ExactText, _ snapshot: PointSnapshot) -> UInt32 {
    if let known = categoryNumbers[name] { return known }
    let tree = snapshot.textConfiguration.categories
    let number = tree.number(ofNameInData: name)
    categories.append(
      Category(name: name, subtree: number.map { tree.subtree(of: $0) }, group: number.map { tree.group(of: $0) }))
    radii.append(Int32(DuplicateRadius.metres(ofCategory: name, in: tree)))
    categoryNumbers[name] = UInt32(categories.count - 1)
    return UInt32(categories.count - 1)
  }

  /// Appends a name, unless the place, whose names begin at an index, has it already.
  private mutating func appendName(
    _ name: UnsafeBufferPointer<UInt8>, of place: UInt32, after firstName: UInt32
  ) {
    text.fill(with: name)
    let start = numbers.count
    var joined = FNV1a()
    for word in text.words {
      for byte in text.bytes[Int(word.start)..<Int(word.end)] { joined.combine(UInt64(byte)) }
      guard numbers.count - start < ComparedName.maximumWords else { continue }
      let number = words.number(of: word, in: text, place: place)
      if !numbers[start...].contains(number) { numbers.append(number) }
    }
    if text.words.isEmpty { return }
    if names[Int(firstName)...].contains(where: { $0.joined == joined.value }) {
      numbers.removeLast(numbers.count - start)
      return
    }
    names.append(
      ComparedName(start: UInt32(start), count: UInt16(numbers.count - start), joined: joined.value))
  }

  /// Returns the part of the score for the categories of two places, in thousandths; `nil` if one has none.
  func categorySimilarity(_ left: Place, _ right: Place) -> Int? {
    if left.categoryNumber == PointRecord.none || right.categoryNumber == PointRecord.none { return nil }
    if left.categoryNumber == right.categoryNumber { return 1000 }
    let (one, other) = (categories[Int(left.categoryNumber)], categories[Int(right.categoryNumber)])
    guard let first = one.subtree, let second = other.subtree else { return 0 }
    if first.lowerBound == second.lowerBound { return 1000 }
    if first.contains(second.lowerBound) || second.contains(first.lowerBound) { return 800 }
    return one.group == other.group ? 500 : 0
  }
}

/// The places of the second data set by the cells of grids in space, one grid for each radius.
struct DuplicateGrids: Sendable {
  struct Grid: Sendable {
    let radius: Int
    let cellMetres: Double
    let places: ContiguousArray<UInt32>
    let cells: [UInt64: Range<UInt32>]
  }

  let grids: [Grid]

  /// A length that makes all coordinates positive, in metres.
  private static let origin = 7e6

  init(_ places: ComparedPlaces) {
    let radii = Set(places.second.lazy.map { places.places[$0].radius }).sorted()
    grids = radii.map { radius in
      // No sphere of the radius touches more than two cells along an axis.
      let cell = 2 * Double(radius)
      var entries: ContiguousArray<(cell: UInt64, place: UInt32)> = []
      for index in places.second where places.places[index].radius == radius {
        let position = places.places[index].position
        entries.append(
          (
            Self.key(
              Self.number(position.x, cell), Self.number(position.y, cell), Self.number(position.z, cell)),
            UInt32(index)
          ))
      }
      entries.sort { $0 < $1 }
      var cells: [UInt64: Range<UInt32>] = [:]
      var start = 0
      while start < entries.count {
        var end = start + 1
        while end < entries.count, entries[end].cell == entries[start].cell { end += 1 }
        cells[entries[start].cell] = UInt32(start)..<UInt32(end)
        start = end
      }
      return Grid(
        radius: Int(radius), cellMetres: cell, places: ContiguousArray(entries.lazy.map(\.place)), cells: cells)
    }
  }

  @inline(__always)
  private static func number(_ metres: Double, _ cell: Double) -> UInt64 { UInt64((metres + origin) / cell) }

  @inline(__always)
  private static func key(_ x: UInt64, _ y: UInt64, _ z: UInt64) -> UInt64 { x << 42 | y << 21 | z }

  /// Calls the closure with the places of the cells that a sphere touches, until it returns `false`.
  @inline(__always)
  func forEachPlace(around center: EarthCentred, radius: Int, in grid: Grid, _ body: (Int) -> Bool) {
    let (radius, cell) = (Double(radius), grid.cellMetres)
    for x in Self.number(center.x - radius, cell)...Self.number(center.x + radius, cell) {
      for y in Self.number(center.y - radius, cell)...Self.number(center.y + radius, cell) {
        for z in Self.number(center.z - radius, cell)...Self.number(center.z + radius, cell) {
          guard let range = grid.cells[Self.key(x, y, z)] else { continue }
          for index in range where !body(Int(grid.places[Int(index)])) { return }
        }
      }
    }
  }
}

/// A search for the pairs of some places.
struct DuplicateSearch {
  private let places: ComparedPlaces
  private let grids: DuplicateGrids
  private let snapshot: PointSnapshot
  private let minimumScore: Int
  private let isWithinOneSource: Bool
  private let limit: SearchLimit
  private var comparison: NameComparison

  /// The contacts of places, by their index.
  private var contacts: [Int: ComparedContact] = [:]
  private static let maximumContacts = 20_000

  /// The maximum number of candidates of a place.
  private static let maximumCandidates = 32

  private static let stepsPerNeighbour = 4
  private static let stepsPerName = 64
  private static let stepsPerContact = 4096

  /// The pairs found.
  private(set) var candidates: [DuplicateCandidate] = []

  init(
    _ places: ComparedPlaces, _ grids: DuplicateGrids, in snapshot: PointSnapshot, _ query: DuplicateQuery,
    _ limit: SearchLimit
  ) {
    (self.places, self.grids, self.snapshot, self.limit) = (places, grids, snapshot, limit)
    minimumScore = query.minimumScore
    isWithinOneSource = query.isWithinOneSource
    comparison = NameComparison(places.words, numbers: places.numbers)
  }

  /// Compares some places of the first data set with all near ones of the second.
  mutating func compare(_ range: Range<Int>) {
    let (places, grids, limit) = (places, grids, limit)
    for index in range {
      if limit.isExpired { return }
      let start = candidates.count
      let place = places.places[index]
      for grid in grids.grids {
        let radius = min(Int(place.radius), grid.radius)
        let bound = Double(radius) * Double(radius)
        grids.forEachPlace(around: place.position, radius: radius, in: grid) { other in
          guard limit.spend(Self.stepsPerNeighbour) else { return false }
          let chordSquared = place.position.chordSquared(to: places.places[other].position)
          guard chordSquared < bound, !isWithinOneSource || place.id < places.places[other].id else { return true }
          if let candidate = candidate(index, other, chord: chordSquared.squareRoot(), radius: radius) {
            candidates.append(candidate)
            if candidates.count - start == 2 * Self.maximumCandidates { keepBest(from: start) }
          }
          return true
        }
      }
      if candidates.count - start > Self.maximumCandidates { keepBest(from: start) }
    }
  }

  /// Removes all but the best candidates from a position on.
  private mutating func keepBest(from start: Int) {
    candidates[start...].sort { $0.rank < $1.rank }
    candidates.removeSubrange((start + Self.maximumCandidates)...)
  }

  /// Returns the pair of two places; `nil` if its score is too low.
  private mutating func candidate(_ index: Int, _ other: Int, chord: Double, radius: Int) -> DuplicateCandidate? {
    let (place, neighbour) = (places.places[index], places.places[other])
    let category = places.categorySimilarity(place, neighbour)
    let kinds = place.contact.intersection(neighbour.contact)
    // The chord is not longer than the distance.
    let nearest = Self.distance(Int(chord), radius: radius)
    guard bestScore(distance: nearest, name: 1000, category: category, kinds) >= minimumScore else { return nil }
    let name = nameSimilarity(place, neighbour)
    guard bestScore(distance: nearest, name: name, category: category, kinds) >= minimumScore else { return nil }
    let columns = (snapshot.placeColumns[Int(place.part)], snapshot.placeColumns[Int(neighbour.part)])
    let metres = Int(
      Geodesic.distanceMetres(
        from: columns.0.coordinates[Int(place.slot)], to: columns.1.coordinates[Int(neighbour.slot)]))
    guard metres < radius else { return nil }
    let distance = Self.distance(metres, radius: radius)
    let score: DuplicateScore
    if kinds.isEmpty {
      score = DuplicateScore(distance: distance, name: name, category: category)
    } else {
      let (left, right) = (contact(index), contact(other))
      score = DuplicateScore(
        distance: distance, name: name, category: category, phone: left.phone(right), website: left.website(right),
        address: left.address(right))
    }
    guard score.total >= minimumScore else { return nil }
    return DuplicateCandidate(first: place.id, second: neighbour.id, distanceMetres: metres, score: score)
  }

  /// Returns the part of the score for a distance, in thousandths.
  private static func distance(_ metres: Int, radius: Int) -> Int { 1000 - 1000 * min(metres, radius) / radius }

  /// Returns the score of places whose contacts are the same.
  private func bestScore(distance: Int, name: Int, category: Int?, _ kinds: ContactKinds) -> Int {
    Int(
      DuplicateScore(
        distance: distance, name: name, category: category, phone: kinds.contains(.phone) ? 1000 : nil,
        website: kinds.contains(.website) ? 1000 : nil, address: kinds.contains(.address) ? 1000 : nil
      ).total)
  }

  /// Returns the similarity of the names of two places that are most alike. Names are compared in the order of the
  /// places' ids, so that the result is the same whichever data set is named first.
  private mutating func nameSimilarity(_ one: ComparedPlaces.Place, _ other: ComparedPlaces.Place) -> Int {
    let (left, right) = one.id < other.id ? (one, other) : (other, one)
    var best = 0
    for first in Int(left.firstName)..<Int(left.firstName) + Int(left.nameCount) {
      for second in Int(right.firstName)..<Int(right.firstName) + Int(right.nameCount) {
        limit.spend(Self.stepsPerName)
        best = max(best, comparison.similarity(places.names[first], places.names[second]))
        if best == 1000 { return best }
      }
    }
    return best
  }

  private mutating func contact(_ index: Int) -> ComparedContact {
    if let known = contacts[index] { return known }
    limit.spend(Self.stepsPerContact)
    let place = places.places[index]
    let contact = snapshot.parts[Int(place.part)].segment.records.withTags(at: Int(place.slot)) { tags in
      ComparedContact(Tags(storedJSON: String(decoding: tags, as: UTF8.self)))
    }
    if contacts.count == Self.maximumContacts { contacts.removeAll(keepingCapacity: true) }
    contacts[index] = contact
    return contact
  }
}
