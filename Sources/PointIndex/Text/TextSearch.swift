import Geo
import Points

/// A search for the places that match a text.
///
/// The tiers are searched one after another until the page is full. Of each tier one word is chosen as the driver: that
/// with the fewest postings. Its postings are judged by the words of their places, best bounds first, until no other
/// can be among the first matches.
final class TextSearch {
  /// The maximum number of postings of a driver that are examined, best bounds first; a query for which that is not
  /// enough may miss matches.
  static let maximumPostings = 400_000

  /// The same where nothing matches by the usual rules, and a place takes longer to judge.
  static let maximumPostingsOfFallbacks = 10_000

  /// The number of matches without typos from which no typos are searched.
  static let enoughWithoutTypos = 5

  private let query: TextQuery
  private let limit: SearchLimit
  private let filter: PointFilter
  private let isFiltered: Bool
  private let propertyFilter: SlotFilter?
  private let scoring: TextScore
  let byDistance: Bool
  private let center: (coordinate: Coordinate, position: EarthCentred)?

  var terms: ContiguousArray<QueryTerm>

  /// The indices of the terms without those that are equal to an earlier one.
  var distinctTerms: ContiguousArray<Int> = []

  var parts: [TextPart]
  var rules = TypoRules.none

  /// The number of letters of the query.
  var letters = 0

  /// The upper bounds of a score's part by coverage, by the least number of letters of a name.
  private var coverageBounds: ContiguousArray<Double> = []

  /// The part of a score by importance, in steps of 1/255.
  private static let importances = ContiguousArray((0...255).map { TextScore.importanceTerm($0) })

  /// A Boolean value that indicates whether the terms are not those of the query, so that matches are typos.
  var isAlternative = false

  private(set) var top: TopMatches

  /// A Boolean value that indicates whether the first matches are needed in order.
  private var keepsOrder = true
  var postingLimit = TextSearch.maximumPostings
  private var seen: Set<UInt64> = []
  var tiers = TextMatch.Tier.typo...TextMatch.Tier.exact

  /// The number of matches without typos, counted up to ``enoughWithoutTypos``.
  private var matchesWithoutTypos = 0

  /// A Boolean value that indicates whether any place matches.
  var hasMatches = false

  /// The best kind of match of each term in the place that is judged: 0 for a word, 1 for the beginning of one, more
  /// for typos.
  var best: ContiguousArray<UInt8> = []

  /// The edits between each term and the words that it was compared with.
  var typos: ContiguousArray<TypoCache> = []

  /// Creates a search.
  ///
  /// - Parameters:
  ///   - propertyFilter: the property filter, which the query itself does not have.
  ///   - plan: the places that may match the property filter, where an index has them.
  ///   - limit: the time limit.
  init(
    _ query: TextQuery, in snapshot: PointSnapshot, _ propertyFilter: SlotFilter? = nil, _ plan: IndexPlan? = nil,
    _ limit: SearchLimit = SearchLimit(nil)
  ) {
    self.query = query
    self.limit = limit
    self.propertyFilter = propertyFilter
    filter = PointFilter(query.filters, limit)
    isFiltered =
      query.filters.box != nil || query.filters.proximity?.radiusMetres != nil || !query.filters.categories.isEmpty
      || query.filters.source != nil || query.filters.area != nil || query.filters.route != nil
      || plan != nil
    scoring = TextScore(query.bias)
    byDistance = query.order == .distance && query.center != nil
    center = query.center.map { ($0, EarthCentred($0)) }
    let terms = QueryTerm.terms(of: query.text, completesLastWord: query.completesLastWord)
    self.terms = terms
    // The same searches are needed for a page of any size, so that typos are not left out of some pages only.
    top = TopMatches(capacity: max(query.limit + 1, Self.enoughWithoutTypos))
    parts =
      terms.isEmpty
      ? []
      : snapshot.parts.enumerated().map {
        TextPart($1, number: $0, terms: terms, plannedSlots: plan?.slots[$0])
      }
    setTerms(terms)
  }

  /// Searches for other terms.
  func setTerms(_ terms: ContiguousArray<QueryTerm>) {
    self.terms = terms
    distinctTerms = ContiguousArray(
      terms.indices.filter { index in
        !terms[..<index].contains { $0.bytes == terms[index].bytes && $0.isIncomplete == terms[index].isIncomplete }
      })
    letters = terms.reduce(0) { $0 + $1.letters }
    best = ContiguousArray(repeating: .max, count: terms.count)
    coverageBounds = ContiguousArray((0...255).map { TextScore.maximumCoverage(nameLetters: $0, letters: letters) })
    typos = ContiguousArray(repeating: TypoCache(), count: terms.count)
  }

  /// Returns the first matches in order, one more than the limit where there are more.
  func run() -> ContiguousArray<TextCandidate> {
    guard !terms.isEmpty else { return [] }
    searchTiers()
    if isTypoSearchNeeded {
      rules = TypoRules(maximumEdits: 1, freesFirstLetter: false)
      searchTypos()
    }
    if !hasMatches { searchFallbacks() }
    return top.sorted()
  }

  /// Returns all matches, of any number of postings.
  func allMatches() -> TextMatches {
    top = TopMatches(capacity: .max)
    keepsOrder = false
    postingLimit = .max
    _ = run()
    var slots = parts.map { _ in [UInt32]() }
    for key in seen { slots[Int(key >> 32)].append(UInt32(truncatingIfNeeded: key)) }
    for part in slots.indices { slots[part].sort() }
    return TextMatches(slots: slots)
  }

  private var isTypoSearchNeeded: Bool { !top.isFull && matchesWithoutTypos < Self.enoughWithoutTypos }

  /// The number of postings of a driver up to which all places are judged, and of the other words up to which they are
  /// marked.
  private static let fewForIntersection = 256
  private static let manyForIntersection = 500_000

  /// Judges the places that have words of both sets, where that is less work, otherwise of the first.
  func process(_ words: [Range<Int>], and others: [Range<Int>]?, in index: Int) {
    let columns = parts[index].columns
    func count(_ ranges: [Range<Int>]) -> Int { ranges.reduce(0) { $0 + columns.postingCount(of: $1) } }
    guard let others, count(words) > Self.fewForIntersection, count(others) <= Self.manyForIntersection else {
      return process(words, in: index)
    }
    func postings(_ ranges: [Range<Int>]) -> [UnsafeBufferPointer<UInt32>] {
      ranges.map {
        UnsafeBufferPointer(
          start: columns.postings + Int(columns.postingStarts[$0.lowerBound]), count: columns.postingCount(of: $0))
      }
    }
    let wordCount = (parts[index].segment.count + 63) / 64
    var slots: ContiguousArray<UInt32> = []
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: wordCount) { marks in
      marks.initialize(repeating: 0)
      for postings in postings(others) {
        for slot in postings { marks[Int(slot >> 6)] |= 1 << UInt64(slot & 63) }
      }
      for postings in postings(words) {
        for slot in postings {
          let mark: UInt64 = 1 << UInt64(slot & 63)
          if marks[Int(slot >> 6)] & mark == 0 { continue }
          // Not again when another word has the place too.
          marks[Int(slot >> 6)] &= ~mark
          slots.append(slot)
        }
      }
    }
    if slots.count > postingLimit { slots.removeLast(slots.count - postingLimit) }
    slots.withUnsafeBufferPointer { offer($0, in: parts[index]) }
  }

  /// Judges the places of words, best bounds first where they are many.
  func process(_ ranges: [Range<Int>], in index: Int) {
    let columns = parts[index].columns
    let total = ranges.reduce(0) { $0 + columns.postingCount(of: $1) }
    if total == 0 { return }
    if isFiltered, total > Self.fewFiltered,
      let slots = parts[index].slots(matching: query.filters, atMost: max(Self.fewFiltered, total / 8))
    {
      slots.withUnsafeBufferPointer { offer($0, in: parts[index]) }
      return
    }
    let part = parts[index]
    guard total > Self.fewPostings else {
      for range in ranges {
        let start = Int(columns.postingStarts[range.lowerBound])
        offer(.init(start: columns.postings + start, count: columns.postingCount(of: range)), in: part)
      }
      return
    }
    processPieces(TextPieces(of: ranges, in: columns) { self.bound(of: $0, $1) }, in: part)
  }

  private static let fewPostings = 512
  private static let fewFiltered = 2_048

  private func processPieces(_ pieces: TextPieces, in part: TextPart) {
    // Postings that are skipped count too, so that all pages have the same ones.
    var examined = 0
    for piece in pieces.inOrder() where examined < postingLimit {
      examined += Int(piece.count)
      if top.isFull, piece.bound < top.last.value { continue }
      offer(
        .init(start: part.columns.postings + Int(piece.start), count: Int(piece.count)), in: part,
        isRareWord: piece.isRareWord)
    }
  }

  /// Returns an upper bound of the keys of places with some bounds, and of a block where they are of one.
  private func bound(of bounds: StaticBounds, _ block: PostingBlock?) -> Double {
    if byDistance {
      guard let block, let center else { return 0 }
      return -block.leastChord(to: center.position)
    }
    let bonus = block.map { scoring.maximumBonus(of: $0) } ?? scoring.maximumBonus
    // Added in the order of a score, so that rounding never makes the bound less than it.
    return tierBound(bounds) + (coverageBounds[Int(bounds.letters)] + Self.importances[Int(bounds.importance)]) + bonus
  }

  /// Returns an upper bound of the tier of places with some bounds.
  @inline(__always)
  private func tierBound(_ bounds: StaticBounds) -> Double {
    if tiers.upperBound == .exact, Int(bounds.letters) > letters { return Double(TextMatch.Tier.allWords.rawValue) }
    return Double(tiers.upperBound.rawValue)
  }

  /// The number of places whose memory is fetched together.
  private static let groupSize = 32

  /// Judges places, in groups: a place's words are usually in no cache of the processor, so that they are fetched
  /// for a group before any of its places is judged.
  ///
  /// - Parameter isRareWord: a Boolean value that indicates whether the places are all of a word without blocks, so that
  ///   after the important ones they are ordered by the lengths of their names.
  func offer(_ slots: UnsafeBufferPointer<UInt32>, in part: TextPart, isRareWord: Bool = false) {
    let columns = part.columns
    let ids = part.positions.ids
    let tombstones = part.tombstones?.pointer
    withExtendedLifetime((part.segment, part.index, part.tombstones)) {
      withUnsafeTemporaryAllocation(of: Int.self, capacity: Self.groupSize) { group in
        if top.isFull {
          for slot in slots.prefix(Self.groupSize) { prefetch(columns.places + Int(slot)) }
        }
        for start in stride(from: 0, to: slots.count, by: Self.groupSize) {
          guard limit.spend(Self.groupSize * SearchLimit.stepsPerEvaluation) else { return }
          let end = min(start + Self.groupSize, slots.count)
          if top.isFull {
            for slot in slots[end..<min(end + Self.groupSize, slots.count)] { prefetch(columns.places + Int(slot)) }
          }
          var count = 0
          var isComplete = false
          for slot in slots[start..<end] {
            let slot = Int(slot)
            if top.isFull {
              if isRareWord, !byDistance, boundOfFollowing(columns.places[slot].bounds) < top.last.value {
                isComplete = true
                break
              }
              if bound(of: columns.places[slot]) < top.last.value { continue }
            }
            if let tombstones, tombstones[slot >> 6] & (1 << UInt64(slot & 63)) != 0 { continue }
            prefetch(columns.entryStarts + slot)
            if top.isFull { prefetch(ids + slot) }
            group.initializeElement(at: count, to: slot)
            count += 1
          }
          for slot in group[..<count] { prefetch(columns.entries + Int(columns.entryStarts[slot])) }
          for slot in group[..<count] where canEnter(slot, in: part) { offer(slot, in: part) }
          if isComplete { return }
        }
      }
    }
  }

  /// Returns a Boolean value that indicates whether a place can be among the first matches, by its bounds and its id.
  @inline(__always)
  private func canEnter(_ slot: Int, in part: TextPart) -> Bool {
    guard top.isFull else { return true }
    let last = top.last
    let bound = bound(of: part.columns.places[slot])
    return bound > last.value || (bound == last.value && part.positions.ids[slot] < last.id)
  }

  /// Returns an upper bound of the scores of a place and those after it among the postings of a rare word.
  @inline(__always)
  private func boundOfFollowing(_ bounds: StaticBounds) -> Double {
    if bounds.importance >= PostingOrder.highImportance { return .infinity }
    return tierBound(bounds)
      + (coverageBounds[Int(bounds.letters)] + Self.importances[Int(PostingOrder.highImportance)])
      + scoring.maximumBonus
  }

  /// Returns an upper bound of the key of a place.
  @inline(__always)
  private func bound(of place: PlaceBounds) -> Double {
    if byDistance, let center { return -place.leastChord(to: center.position) }
    let bounds = place.bounds
    return tierBound(bounds) + (coverageBounds[Int(bounds.letters)] + Self.importances[Int(bounds.importance)])
      + scoring.maximumBonus(of: place)
  }

  private func offer(_ slot: Int, in part: TextPart) {
    let positions = part.positions
    if isFiltered, !filter.matches(slot, of: part.segment) { return }
    guard let (tier, fraction) = judge(slot, in: part), tiers.contains(tier) else { return }
    if let propertyFilter, !propertyFilter.matches(slot, of: part.segment) { return }
    let bonus =
      scoring.isBiased ? scoring.bonus(x: positions.x[slot], y: positions.y[slot], z: positions.z[slot]) : 0
    let score = Double(tier.rawValue) + fraction + bonus
    var key = score
    if byDistance, let center {
      key = -Geodesic.distanceMetres(
        from: center.coordinate, at: center.position, to: positions.coordinates[slot],
        at: EarthCentred(x: positions.x[slot], y: positions.y[slot], z: positions.z[slot]))
    }
    if top.isFull, key < top.last.value { return }
    let id = positions.ids[slot]
    var isOnEarlierPage = false
    if let after = query.after {
      let last = byDistance ? -after.value : after.value
      isOnEarlierPage = key > last || (key == last && id <= after.id)
    }
    // Matches of earlier pages are counted only until it is decided whether typos are searched.
    if isOnEarlierPage, hasMatches, tier == .typo || matchesWithoutTypos >= Self.enoughWithoutTypos { return }
    guard seen.insert(UInt64(part.number) << 32 | UInt64(slot)).inserted else { return }
    hasMatches = true
    if tier > .typo { matchesWithoutTypos += 1 }
    guard keepsOrder, !isOnEarlierPage else { return }
    let candidate = TextCandidate(
      value: key, id: id, score: score, part: part.number, slot: UInt32(truncatingIfNeeded: slot), tier: tier)
    top.offer(candidate)
  }
}
