import Geo
import Points

/// A search for the places that match a text.
///
/// The tiers are searched one after another until the page is full. Of each tier one word is chosen as the driver: that
/// with the fewest postings. Its postings are judged by the words of their places, best bounds first, until no other
/// can be among the first matches. The first page determines the stage, in which the pages after it continue.
final class TextSearch {
  /// The maximum number of postings of a driver that are examined, best bounds first; a query for which that is not
  /// enough may miss matches.
  static let maximumPostings = 400_000

  /// The same where nothing matches by the usual rules, and a place takes longer to judge.
  static let maximumPostingsOfFallbacks = 10_000

  /// The number of steps, without those of filters and of the index, after which no further rules are tried where
  /// nothing matches.
  static let maximumStepsOfFallbacks = 4_000_000

  /// The number of matches without typos from which no typos are searched.
  static let enoughWithoutTypos = 5

  let query: TextQuery
  let limit: SearchLimit
  private let filter: PointFilter
  private let isFiltered: Bool
  private let propertyFilter: SlotFilter?
  private let scoring: TextScore
  let byDistance: Bool
  private let center: (coordinate: Coordinate, position: EarthCentred)?

  var terms: ContiguousArray<QueryTerm>

  /// The indices of the terms without those that are equal to an earlier one.
  var distinctTerms: ContiguousArray<Int> = []

  var parts: [TextPart] = []

  /// The rules for typos.
  var rules = TypoRules.none {
    didSet { requireTerms() }
  }

  /// The indices of the terms of which each must have a word, the one that was missing last before the others: where
  /// one place has no such word, the next often has none either.
  var requiredTerms: ContiguousArray<Int> = []

  /// The rules by which the matches are found.
  private(set) var stage = TextQuery.Stage.words

  /// The words near terms, which several rules need.
  private var expansions: [WordExpansion.Key: [Range<Int>]] = [:]

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

  /// All matches where their order is not needed, as bits by slot.
  private var marks: [ContiguousArray<UInt64>] = []
  var tiers = TextMatch.Tier.typo...TextMatch.Tier.exact

  /// The number of matches without typos, counted up to ``enoughWithoutTypos``.
  private var matchesWithoutTypos = 0

  /// The steps of the judgement of places since they were added to those of the search.
  var steps = 0

  /// The steps of the search that were those of filters, and of places' words that were not indexed yet.
  private var otherSteps = 0

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
    terms = QueryTerm.terms(of: query.text, completesLastWord: query.completesLastWord)
    // The same searches are needed for a page of any size, so that typos are not left out of some pages only.
    top = TopMatches(capacity: max(query.limit + 1, Self.enoughWithoutTypos))
    // Where that is too much work, it is done by a search that holds up no other request.
    for part in snapshot.parts where !part.segment.hasTextIndex {
      limit.spend(
        Self.stepsPerIndexedPlace * part.segment.count
          + Self.stepsPerIndexedByte * part.segment.records.texts.count)
    }
    otherSteps = limit.steps
    if terms.isEmpty || limit.isExpired { return }
    parts = snapshot.parts.enumerated().map {
      TextPart($1, number: $0, terms: terms, plannedSlots: plan?.slots[$0], limit)
    }
    setTerms(terms)
  }

  /// The numbers of steps to index the words of a place, and each byte of its texts.
  private static let stepsPerIndexedPlace = 1_000
  private static let stepsPerIndexedByte = 4

  /// Searches for other terms.
  func replaceTerms(_ terms: ContiguousArray<QueryTerm>) {
    for index in parts.indices { parts[index].setTerms(terms) }
    setTerms(terms)
  }

  private func setTerms(_ terms: ContiguousArray<QueryTerm>) {
    self.terms = terms
    distinctTerms = ContiguousArray(
      terms.indices.filter { index in
        !terms[..<index].contains { $0.isSame(as: terms[index]) }
      })
    requireTerms()
    letters = terms.reduce(0) { $0 + $1.letters }
    best = ContiguousArray(repeating: .max, count: terms.count)
    boundCoverage(isNameNeeded: true)
    typos = ContiguousArray(repeating: TypoCache(), count: terms.count)
  }

  /// Sets the upper bounds of a score's part by coverage.
  ///
  /// - Parameter isNameNeeded: a Boolean value that indicates whether a name must have a word of the text.
  func boundCoverage(isNameNeeded: Bool) {
    coverageBounds = ContiguousArray(
      (0...255).map { isNameNeeded ? TextScore.maximumCoverage(nameLetters: $0, letters: letters) : 0 })
  }

  private func requireTerms() {
    requiredTerms = distinctTerms.filter { index in
      let term = terms[index]
      if term.isUnspaced { return rules.maximumMissingPairs == 0 }
      return !rules.omitsShortWords || term.scalars.count >= TypoRules.lettersForOne
    }
  }

  /// Returns the first matches in order, one more than the limit where there are more.
  func run() -> ContiguousArray<TextCandidate> {
    guard !terms.isEmpty else { return [] }
    if let after = query.after {
      stage = after.stage
      continueSearch(after.stage)
    } else {
      searchWords()
      if !top.isFull, matchesWithoutTypos < Self.enoughWithoutTypos { search(.typos) }
      if !hasMatches { searchFallbacks() }
    }
    return top.sorted()
  }

  /// A Boolean value that indicates whether the search has done so much that it tries no further rules. Nothing has
  /// matched yet, so that this does not depend on the page.
  var isExhausted: Bool { limit.isExpired || limit.steps - otherSteps > Self.maximumStepsOfFallbacks }

  /// Searches by the rules of a stage, which are those of all pages.
  func search(_ stage: TextQuery.Stage) {
    self.stage = stage
    searchStage(stage)
  }

  /// Returns all matches, of any number of postings.
  func allMatches() -> TextMatches {
    top = TopMatches(capacity: .max)
    keepsOrder = false
    postingLimit = .max
    marks = parts.map { ContiguousArray(repeating: 0, count: ($0.segment.count + 63) / 64) }
    _ = run()
    return TextMatches(
      slots: marks.map { marks in
        var slots: [UInt32] = []
        slots.reserveCapacity(marks.reduce(0) { $0 + $1.nonzeroBitCount })
        for (index, word) in marks.enumerated() {
          var word = word
          while word != 0 {
            slots.append(UInt32(index * 64 + word.trailingZeroBitCount))
            word &= word - 1
          }
        }
        return slots
      })
  }

  /// A Boolean value that indicates whether all matches of a tier are on earlier pages.
  func isPassed(_ tier: TextMatch.Tier) -> Bool {
    guard !byDistance, let after = query.after else { return false }
    return after.value < Double(tier.rawValue)
  }

  /// Returns the words near a term, as ranges that may overlap.
  func words(near term: QueryTerm, in index: Int) -> [Range<Int>] {
    let key = WordExpansion.Key(term, rules, part: index)
    if let known = expansions[key] { return known }
    let words = WordExpansion(of: term, in: parts[index].columns.dictionary, rules: rules, limit).ranges
    expansions[key] = words
    return words
  }

  /// The number of postings of a driver up to which all places are judged, and of the other words up to which they are
  /// marked.
  private static let fewForIntersection = 256
  private static let manyForIntersection = 500_000

  /// The number of words of 64 marks that are initialized in a step.
  private static let markWordsPerStep = 4

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
    guard limit.spend(wordCount / Self.markWordsPerStep) else { return }
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: wordCount) { marks in
      marks.initialize(repeating: 0)
      for postings in postings(others) {
        guard limit.spend(postings.count) else { return }
        for slot in postings { marks[Int(slot >> 6)] |= 1 << UInt64(slot & 63) }
      }
      for postings in postings(words) {
        guard limit.spend(postings.count) else { return }
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
      let slots = filtering({ parts[index].slots(matching: query.filters, atMost: max(Self.fewFiltered, total / 8)) })
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
  private static let stepsPerPiece = 8
  private static let fewFiltered = 2_048

  private func processPieces(_ pieces: TextPieces, in part: TextPart) {
    guard limit.spend(Self.stepsPerPiece * pieces.count) else { return }
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

  /// The number of steps to read a posting and the bounds of its place, and of those to read its words.
  private static let stepsPerPosting = 4
  private static let stepsPerPlace = 16

  /// The number of steps to compute a distance on the geodesic.
  private static let stepsPerGeodesic = 100

  /// Judges places, in groups: a place's words are usually in no cache of the processor, so that they are fetched
  /// for a group before any of its places is judged.
  ///
  /// - Parameter isRareWord: a Boolean value that indicates whether the places are all of a word without blocks, so
  ///   that after the important ones they are ordered by the lengths of their names.
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
          let end = min(start + Self.groupSize, slots.count)
          guard limit.spend(Self.stepsPerPosting * (end - start)) else { return }
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
          limit.spend(Self.stepsPerPlace * count + steps)
          steps = 0
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
    guard !isFiltered || filtering({ filter.matches(slot, of: part.segment) }),
      let (tier, fraction) = judge(slot, in: part), tiers.contains(tier)
    else { return }
    if let propertyFilter, !filtering({ propertyFilter.matches(slot, of: part.segment) }) { return }
    let bonus =
      scoring.isBiased ? scoring.bonus(x: positions.x[slot], y: positions.y[slot], z: positions.z[slot]) : 0
    let score = Double(tier.rawValue) + fraction + bonus
    var key = score
    if byDistance, let center {
      steps += Self.stepsPerGeodesic
      key = -Geodesic.distanceMetres(
        from: center.coordinate, at: center.position, to: positions.coordinates[slot],
        at: EarthCentred(x: positions.x[slot], y: positions.y[slot], z: positions.z[slot]))
    }
    if top.isFull, key < top.last.value { return }
    let id = positions.ids[slot]
    if let after = query.after {
      let last = byDistance ? -after.value : after.value
      if key > last || (key == last && id <= after.id) { return }
    }
    guard isNew(slot, in: part) else { return }
    hasMatches = true
    if tier != .typo { matchesWithoutTypos += 1 }
    guard keepsOrder else { return }
    let candidate = TextCandidate(
      value: key, id: id, score: score, part: part.number, slot: UInt32(truncatingIfNeeded: slot), tier: tier)
    top.offer(candidate)
  }

  /// Returns the result of a filter, whose steps do not count as those of the text.
  @inline(__always)
  private func filtering<Result>(_ filter: () -> Result) -> Result {
    let stepsBefore = limit.steps
    defer { otherSteps += limit.steps - stepsBefore }
    return filter()
  }

  /// Adds a match, and returns a Boolean value that indicates whether it was none yet.
  private func isNew(_ slot: Int, in part: TextPart) -> Bool {
    if keepsOrder { return seen.insert(UInt64(part.number) << 32 | UInt64(slot)).inserted }
    let bit: UInt64 = 1 << UInt64(slot & 63)
    guard marks[Int(part.number)][slot >> 6] & bit == 0 else { return false }
    marks[Int(part.number)][slot >> 6] |= bit
    return true
  }
}
