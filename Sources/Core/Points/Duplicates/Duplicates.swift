package import Basics
package import Geo

/// Two places, whichever of them is named first.
package struct PlacePair: Hashable, Sendable, BitwiseCopyable {
  /// The smaller id.
  package let lower: PointID

  /// The greater id.
  package let upper: PointID

  /// Creates the pair of two places; `nil` if they are the same.
  package init?(_ first: PointID, _ second: PointID) {
    guard first != second else { return nil }
    (lower, upper) = first < second ? (first, second) : (second, first)
  }
}

extension PlacePair: Comparable {
  package static func < (left: PlacePair, right: PlacePair) -> Bool {
    left.lower != right.lower ? left.lower < right.lower : left.upper < right.upper
  }
}

extension PlacePair: LosslessStringConvertible {
  /// Creates the pair of a ``description``; `nil` for any other text, such as one with the greater id first.
  package init?(_ description: String) {
    let parts = description.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let first = PointID(String(parts[0])), let second = PointID(String(parts[1])),
      first < second
    else { return nil }
    (lower, upper) = (first, second)
  }

  /// The ids, the smaller first, separated by a full stop.
  package var description: String { "\(lower).\(upper)" }
}

/// The decision of people on a pair of places.
package enum DuplicateState: String, Hashable, Sendable, CaseIterable {
  /// There is none.
  case open
  /// The two are one place.
  case confirmed
  /// The two are different places.
  case refuted
}

/// A search for places of two data sets that are likely the same.
public struct DuplicateQuery: Hashable, Sendable {
  /// The accepted range of a minimum score, in thousandths.
  package static let minimumScores = 500...1000
  package static let defaultMinimumScore = 700

  /// Returns a minimum score in thousandths, rounded up; `nil` if it is out of range.
  package static func thousandths(_ score: Double) -> Int? {
    Int(exactly: (score * 1000).rounded(.up)).flatMap { minimumScores.contains($0) ? $0 : nil }
  }

  /// The names of the two data sets, which may be the same.
  package let source: ExactText
  package let other: ExactText

  /// The box that both places are in; `nil` for all places.
  package var box: BoundingBox?

  /// The minimum score, in thousandths.
  package var minimumScore = DuplicateQuery.defaultMinimumScore

  /// The maximum number of places that are compared; `nil` for any number.
  package var maximumPlaces: Int?

  /// The longest time of the search; `nil` for any time.
  package var timeLimit: Duration?

  /// A Boolean value that indicates whether the places of one data set are compared with each other.
  package var isWithinOneSource: Bool { source == other }

  package init(source: ExactText, other: ExactText) {
    (self.source, self.other) = (source, other)
  }
}

/// The similarity of two places, in thousandths.
package struct DuplicateScore: Hashable, Sendable, BitwiseCopyable {
  /// The weighted mean of the parts that are known.
  package let total: Int16

  /// The part of the distance.
  package let distance: Int16

  /// The part of the names.
  package let name: Int16

  /// The part of the categories; `nil` if a place has none.
  package let category: Int16?

  /// The parts of the numbers of telephones, the websites and the addresses; `nil` if a place has none.
  package let phone: Int16?
  package let website: Int16?
  package let address: Int16?

  /// The weights of the parts.
  package static let weights = (distance: 35, name: 50, category: 15, phone: 40, website: 30, address: 20)

  /// Creates the score of parts.
  package init(
    distance: Int, name: Int, category: Int?, phone: Int? = nil, website: Int? = nil, address: Int? = nil
  ) {
    let weights = Self.weights
    var sum = weights.distance * distance + weights.name * name
    var weight = weights.distance + weights.name
    func add(_ part: Int?, _ partWeight: Int) {
      guard let part else { return }
      sum += partWeight * part
      weight += partWeight
    }
    add(category, weights.category)
    add(phone, weights.phone)
    add(website, weights.website)
    add(address, weights.address)
    total = Int16(sum / weight)
    (self.distance, self.name) = (Int16(distance), Int16(name))
    (self.category, self.phone) = (category.map { Int16($0) }, phone.map { Int16($0) })
    (self.website, self.address) = (website.map { Int16($0) }, address.map { Int16($0) })
  }
}

/// Two places that may be the same.
public struct DuplicateCandidate: Hashable, Sendable, BitwiseCopyable {
  /// The place of ``DuplicateQuery/source``.
  package let first: PointID

  /// The place of ``DuplicateQuery/other``.
  package let second: PointID

  /// The distance along the ellipsoid, rounded down to whole metres.
  package let distanceMetres: Int32

  package let score: DuplicateScore

  package let pair: PlacePair

  /// Creates a candidate; `nil` if the two are one place.
  package init?(first: PointID, second: PointID, distanceMetres: Int, score: DuplicateScore) {
    guard let pair = PlacePair(first, second) else { return nil }
    self.pair = pair
    (self.first, self.second) = (first, second)
    self.distanceMetres = Int32(clamping: distanceMetres)
    self.score = score
  }

  /// The position among all candidates: the greatest score first, ties by the pair.
  package var rank: Rank { Rank(score: Int(score.total), pair: pair) }

  /// The order of candidates.
  package struct Rank: Hashable, Comparable, Sendable {
    package let score: Int
    package let pair: PlacePair

    package init(score: Int, pair: PlacePair) { (self.score, self.pair) = (score, pair) }

    package static func < (left: Rank, right: Rank) -> Bool {
      left.score != right.score ? left.score > right.score : left.pair < right.pair
    }
  }
}

/// A candidate, with the decision of people on it.
package struct DuplicatePair: Hashable, Sendable {
  package let candidate: DuplicateCandidate
  package let state: DuplicateState

  /// Returns the pairs among candidates, of which each place is in at most one, except refuted ones: first those that
  /// are confirmed, then by score. Refuted candidates keep no place from another pair.
  ///
  /// - Parameters:
  ///   - candidates: the candidates, in any order.
  ///   - decisions: all decisions.
  ///   - states: the states of the pairs to return.
  /// - Returns: the pairs, by score, ties by the ids of the pairs.
  /// - Throws: ``PointStoreError/filterTimeout`` at the deadline of the present computation.
  package static func pairs(
    among candidates: [DuplicateCandidate], _ decisions: [PlacePair: DuplicateState],
    in states: Set<DuplicateState> = [.open, .confirmed]
  ) throws(PointStoreError) -> [DuplicatePair] {
    let ranked = try sorted(candidates).map { DuplicatePair(candidate: $0, state: decisions[$0.pair] ?? .open) }
    var taken: Set<PointID> = []
    var chosen: [DuplicatePair] = []
    for state in [DuplicateState.confirmed, .open] {
      if state == .open {
        // Those of confirmed pairs that are no candidates, as after a change of a place.
        for (pair, state) in decisions where state == .confirmed { taken.formUnion([pair.lower, pair.upper]) }
      }
      for pair in ranked where pair.state == state {
        let (first, second) = (pair.candidate.first, pair.candidate.second)
        guard !taken.contains(first), !taken.contains(second) else { continue }
        taken.insert(first)
        taken.insert(second)
        if states.contains(state) { chosen.append(pair) }
      }
    }
    if states.contains(.refuted) { chosen += ranked.filter { $0.state == .refuted } }
    return chosen.sorted { $0.candidate.rank < $1.candidate.rank }
  }

  /// The number of comparisons between two looks at the time, less than a millisecond.
  private static let comparisonsPerCheck = 16_384

  private static func sorted(_ candidates: [DuplicateCandidate]) throws(PointStoreError) -> [DuplicateCandidate] {
    var comparisons = 0
    do {
      return try candidates.sorted { left, right in
        comparisons += 1
        if comparisons % comparisonsPerCheck == 0, ComputationDeadline.hasPassed { throw PointStoreError.filterTimeout }
        return left.rank < right.rank
      }
    } catch {
      // The only error of the closure.
      throw .filterTimeout
    }
  }
}
