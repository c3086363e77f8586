import Basics
import Points

/// The digest of a set of places: the sum of a hash of each, so that it does not depend on their order, and a change is
/// an addition or a subtraction.
struct ContentDigest: BitwiseCopyable, Equatable {
  var high: UInt64 = 0
  var low: UInt64 = 0

  /// Creates the digest of no places.
  init() {}

  /// Creates the digest of one place. Its version and time determine its fields.
  init(_ id: PointID, _ record: PointRecord) {
    let identity = SplitMix64.mix(id.high ^ SplitMix64.mix(id.low))
    let state = SplitMix64.mix(
      UInt64(bitPattern: record.version) ^ SplitMix64.mix(UInt64(bitPattern: record.updatedAtMicroseconds)))
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

  /// The sample; `nil` where there is no place, and after ``subtract(_:)`` of the sample.
  var sample: SamplePlace?

  /// The categories; `nil` where they are too many to be kept.
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
