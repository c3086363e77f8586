import Basics
import Geo
import Points
import SearchWords

/// The marks of a set of slots, which takes memory by the number of these rather than of all places.
///
/// Where there are fewer marks than places, slots share them: of the slots that are not in the set, some 1 in 16 have the
/// mark of one that is.
private struct MarkScale {
  private static let marksPerSlot = 16
  private static let leastBits = 12

  private let shift: UInt32
  private let isShared: Bool

  /// The number of words of 64 marks.
  let wordCount: Int

  /// - Parameters:
  ///   - marked: the maximum number of slots that are marked.
  ///   - slots: the number of all slots.
  init(marked: Int, slots: Int) {
    let bits = max(Self.leastBits, Int.bitWidth - max(marked * Self.marksPerSlot - 1, 1).leadingZeroBitCount)
    isShared = bits < UInt32.bitWidth && 1 << bits < slots
    shift = isShared ? UInt32(UInt32.bitWidth - bits) : 0
    wordCount = isShared ? 1 << (bits - 6) : (slots + 63) / 64
  }

  /// Returns the mark of a slot, by multiplicative hashing where marks are shared (Knuth, The Art of Computer
  /// Programming, volume 3, section 6.4).
  @inline(__always)
  func mark(of slot: UInt32) -> Int { isShared ? Int((slot &* 0x9E37_79B1) &>> shift) : Int(slot) }
}

/// A search for the places that match a text.
///
/// The tiers are searched one after another until the page is full. Of each tier one word is chosen as the driver: that
/// with the fewest postings. Its postings are judged by the words of their places, best bounds first, until no other
/// can be among the first matches. The first page determines the stage, in which the pages after it continue.
final class TextSearch {
  /// The maximum number of postings of a driver that are examined, best bounds first; a query for which that is not
  /// enough may miss matches.
  private static let maximumPostings = 400_000

  /// The same where nothing matches by the usual rules, and a place takes longer to judge.
  private static let maximumPostingsOfFallbacks = 10_000

  /// The number of steps, without those of filters and of the index, after which no further rules are tried where
  /// nothing matches.
  private static let maximumStepsOfFallbacks = 4_000_000

  /// The same for those before words of the text are omitted.
  private static let maximumStepsOfTypos = 3_000_000

  /// The number of matches of whole words, or of a category, from which no typos are searched.
  private static let enoughWithoutTypos = 5

  /// The same of all matches, with those of the beginnings of words.
  private static let enoughWithBeginnings = 10

  let query: TextQuery
  let limit: SearchLimit

  /// The text of the query in its normal form.
  private let text: NormalizedText
  private var filter: QueryFilter
  private var isFiltered: Bool

  /// The conditions of the query; while it is searched in an area that the text names, with that.
  private var filters: PointQuery {
    didSet {
      filter = QueryFilter(filters, limit)
      isFiltered = isFiltered || filters.area != nil
      for index in parts.indices { parts[index].resetFilters() }
    }
  }

  private let propertyFilter: SlotFilter?
  let scoring: TextScore
  private let byDistance: Bool
  private let center: (coordinate: Coordinate, position: EarthCentred)?

  var terms: ContiguousArray<QueryTerm>

  /// The words of ``searchVariants()`` that the text has joined or separated.
  private(set) var variantTerms: ContiguousArray<QueryTerm> = []

  /// The indices of the terms without those that are equal to an earlier one.
  private var distinctTerms: ContiguousArray<Int> = []

  /// The same without those that a place may lack.
  private(set) var requiredTerms: ContiguousArray<Int> = []

  var parts: [TextPart] = []

  /// The rules for typos.
  var rules = TypoRules.none {
    didSet { for index in parts.indices { parts[index].judgedTerms.setRules(rules) } }
  }

  /// The rules by which the matches are found.
  private(set) var stage = TextQuery.Stage.words

  /// The words near terms, which several rules need.
  private var expansions: [WordExpansion.Key: [Range<Int>]] = [:]

  /// The number of letters of the query.
  var letters = 0

  /// A Boolean value that indicates whether a name must have a word of the text.
  private var isNameNeeded = true

  /// The upper bounds of a score's part by coverage, by the least number of letters of a name, for a text of
  /// ``boundedLetters``, which are 0 where no name needs a word of it.
  private var coverageBounds: ContiguousArray<Double> = []
  private var boundedLetters: Int?

  /// The bounds of a number of letters, which are kept while those of a part of the text are needed.
  private var knownBounds: (letters: Int, isStreetBegun: Bool, bounds: ContiguousArray<Double>)?

  /// The bounds where no name needs a word of the text.
  private static let noCoverage = ContiguousArray(repeating: 0.0, count: 256)

  /// The part of a score by importance, in steps of 1/255.
  private let importances: ContiguousArray<Double>

  /// The relation of the terms to the text.
  private var role = PlaceJudge.Role.text

  /// A Boolean value that indicates whether places must be of a category that the text names.
  private var searchesCategories = false

  /// The tree whose labels and synonyms name categories.
  let categories: CategoryTree

  /// A Boolean value that indicates whether the text names the places' categories by a label or synonym, which is not
  /// among ``terms``. Places that the whole text finds are none then.
  private var isReading = false

  /// The tier from which on a place that the whole text finds is none that a part of it finds.
  private var wholeTier = TextMatch.Tier.typo

  private(set) var top: TopMatches

  /// A Boolean value that indicates whether the first matches are needed in order.
  private var keepsOrder = true
  var postingLimit: Int
  private var seen = Set<UInt64>(minimumCapacity: 48)

  /// All matches where their order is not needed, as bits by slot.
  private var marks: [ContiguousArray<UInt64>] = []
  var tiers = TextMatch.Tier.typo...TextMatch.Tier.exact

  /// The number of matches without typos, counted up to ``enoughWithoutTypos``.
  private var matchesWithoutTypos = 0

  /// The number of all matches, counted up to ``enoughWithBeginnings``.
  private var matchCount = 0

  /// The steps of the search that were those of filters, and of places' words that were not indexed yet.
  private var otherSteps = 0

  /// A Boolean value that indicates whether any place matches.
  private var hasMatches = false

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
    text = NormalizedText(query.text)
    self.limit = limit
    postingLimit = query.filters.restriction == nil ? Self.maximumPostings : .max
    self.propertyFilter = propertyFilter
    filters = query.filters
    filter = QueryFilter(query.filters, limit)
    isFiltered =
      query.filters.box != nil || query.filters.proximity?.radiusMetres != nil || !query.filters.categories.isEmpty
      || !query.filters.excludedCategories.isEmpty || query.filters.source != nil || query.filters.area != nil
      || query.filters.restriction?.area != nil
      || query.filters.route != nil || plan != nil
    categories = snapshot.textConfiguration.categories
    byDistance = query.order == .distance && query.center != nil
    center = query.center.map { ($0, EarthCentred($0)) }
    terms = QueryTerm.terms(of: text, completesLastWord: query.completesLastWord)
    let scoring = TextScore(
      query.bias, typedLetters: query.completesLastWord ? terms.reduce(0) { $0 + $1.letters } : nil,
      wordCount: terms.count, isCode: Self.isCode(query.text))
    self.scoring = scoring
    importances = ContiguousArray((0...255).map { scoring.importanceTerm($0) })
    // The same searches are needed for a page of any size, so that typos are not left out of some pages only.
    top = TopMatches(capacity: max(query.limit + 1, Self.enoughWithBeginnings))
    // Where that is too much work, it is done by a search that holds up no other request.
    for part in snapshot.parts where !part.segment.hasTextIndex {
      limit.spend(
        Self.stepsPerIndexedPlace * part.segment.count
          + Self.stepsPerIndexedByte * part.segment.records.textBytes)
    }
    otherSteps = limit.steps
    if terms.isEmpty || limit.isExpired { return }
    parts = snapshot.parts.enumerated().map {
      TextPart(
        $1, number: $0, terms: terms, plannedSlots: plan?.slots[$0], isRestricted: query.filters.restriction != nil,
        limit)
    }
    setTerms(terms)
  }

  /// Returns a Boolean value that indicates whether a text is written like the code of an airport.
  private static func isCode(_ text: String) -> Bool {
    (3...4).contains(text.utf8.count) && text.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
  }

  /// The numbers of steps to index the words of a place, and each byte of its texts.
  private static let stepsPerIndexedPlace = 1_000
  private static let stepsPerIndexedByte = 4

  /// Searches for other terms.
  private func replaceTerms(_ terms: ContiguousArray<QueryTerm>) {
    for index in parts.indices { parts[index].setTerms(terms) }
    setTerms(terms)
  }

  private func setTerms(_ terms: ContiguousArray<QueryTerm>) {
    self.terms = terms
    distinctTerms = ContiguousArray(
      terms.indices.filter { index in
        !terms[..<index].contains { $0.isSame(as: terms[index]) }
      })
    requiredTerms = distinctTerms.filter { !terms[$0].isSmall }
    boundedLetters = nil
    letters = terms.reduce(0) { $0 + $1.letters }
    for index in parts.indices { parts[index].setJudgedTerms(terms, at: distinctTerms, rules) }
    isNameNeeded = true
  }

  /// Sets the upper bounds of a score's part by coverage to those of the terms.
  private func boundCoverage() {
    if role == .categoryAlone {
      guard boundedLetters != -1 else { return }
      boundedLetters = -1
      let bound = scoring.maximumCoverage(nameLetters: 1, letters: 1, isStreetBegun: false)
      coverageBounds = ContiguousArray(repeating: bound, count: 256)
      return
    }
    let letters = isNameNeeded ? letters : 0
    if boundedLetters == letters { return }
    boundedLetters = letters
    if letters == 0 {
      coverageBounds = Self.noCoverage
    } else if let known = knownBounds, known.letters == letters, known.isStreetBegun == (terms.count > 1) {
      coverageBounds = known.bounds
    } else {
      let isStreetBegun = terms.count > 1
      coverageBounds = ContiguousArray(unsafeUninitializedCapacity: 256) { bounds, count in
        for nameLetters in 0..<256 {
          bounds.initializeElement(
            at: nameLetters,
            to: scoring.maximumCoverage(nameLetters: nameLetters, letters: letters, isStreetBegun: isStreetBegun))
        }
        count = 256
      }
      knownBounds = (letters, isStreetBegun, coverageBounds)
    }
  }

  /// Returns the first matches in order, one more than the limit where there are more.
  func run() -> ContiguousArray<TextCandidate> {
    guard !terms.isEmpty else { return [] }
    if let after = query.after {
      stage = after.stage
      continueSearch(after.stage)
    } else if !query.areaReadings.isEmpty, searchAreas() {
      stage = .areas
    } else {
      searchWords()
      if !hasMatches {
        // With as many postings as the pages after the first.
        let postings = postingLimit
        limitPostings(to: Self.maximumPostingsOfFallbacks)
        search(stagesOfStreets, until: Self.maximumStepsOfTypos)
        if !hasMatches { search(separatedVariants, until: .max) }
        if !hasMatches { (stage, postingLimit) = (.words, postings) }
      }
      if stage == .words, !top.isFull, matchesWithoutTypos < Self.enoughWithoutTypos,
        matchCount < Self.enoughWithBeginnings
      {
        search(.typos)
      }
      if !hasMatches { searchFallbacks() }
    }
    return top.sorted()
  }

  /// A Boolean value that indicates whether the words of all places must not decide on the rules, since the query is
  /// joined to a restriction: they would tell which words places outside of it have.
  private var isRestricted: Bool { query.filters.restriction != nil }

  /// A Boolean value that indicates whether the search has done so much that it tries no further rules. Nothing has
  /// matched yet, so that this does not depend on the page.
  ///
  /// The steps are those of all places. A query that is joined to a restriction tries all rules, until its time ends, so
  /// that its matches do not depend on places outside of the restriction.
  private func isExhausted(beyond steps: Int) -> Bool {
    limit.isExpired || (!isRestricted && limit.steps - otherSteps > steps)
  }

  /// Sets the number of postings that are examined, which are those of all places: of a query that is joined to a
  /// restriction, all are.
  private func limitPostings(to count: Int) {
    if !isRestricted { postingLimit = count }
  }

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
  private func isPassed(_ tier: TextMatch.Tier) -> Bool {
    guard !byDistance, let after = query.after else { return false }
    return after.value < Double(tier.rawValue)
  }

  /// Returns the words near a term, as ranges that may overlap.
  func words(near term: QueryTerm, in index: Int) -> [Range<Int>] {
    let key = WordExpansion.Key(term, rules, part: index)
    if let known = expansions[key] { return known }
    var words = WordExpansion(
      of: term, in: parts[index].columns.dictionary, rules: rules, limit, isBounded: !isRestricted
    ).ranges
    words += parts[index].equivalentWords(of: term)
    expansions[key] = words
    return words
  }

  /// The number of postings of a driver up to which all places are judged, and of the other words up to which they are
  /// marked.
  private static let fewForIntersection = 256
  private static let manyForIntersection = 500_000

  /// The number of words of 64 marks that are initialized in a step.
  private static let markWordsPerStep = 4

  /// Judges the places that have words of both sets, where that is less work than to judge those of the first. A few of
  /// these that have no word of the second are judged too.
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
    let scale = MarkScale(marked: count(others), slots: parts[index].segment.count)
    var slots: ContiguousArray<UInt32> = []
    guard limit.spend(scale.wordCount / Self.markWordsPerStep) else { return }
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: scale.wordCount) { marks in
      marks.initialize(repeating: 0)
      for postings in postings(others) {
        guard limit.spend(postings.count) else { return }
        for slot in postings {
          let mark = scale.mark(of: slot)
          marks[mark >> 6] |= 1 << UInt64(mark & 63)
        }
      }
      for postings in postings(words) {
        guard limit.spend(postings.count) else { return }
        for slot in postings {
          let mark = scale.mark(of: slot)
          if marks[mark >> 6] & (1 << UInt64(mark & 63)) != 0 { slots.append(slot) }
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
      let slots = filtering({ parts[index].slots(matching: filters, atMost: max(Self.fewFiltered, total / 8)) })
    {
      slots.withUnsafeBufferPointer { offer($0, in: parts[index]) }
      return
    }
    boundCoverage()
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
    return tierBound(bounds) + (coverageBounds[Int(bounds.letters)] + importances[Int(bounds.importance)]) + bonus
  }

  /// Returns an upper bound of the tier of places with some bounds.
  @inline(__always)
  private func tierBound(_ bounds: StaticBounds) -> Double {
    if tiers.upperBound == .exact, Int(bounds.letters) > letters, role != .categoryAlone {
      return Double(TextMatch.Tier.allWords.rawValue)
    }
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
    boundCoverage()
    let columns = part.columns
    let ids = part.positions.ids
    // A copy for each place would count references.
    let filter = isFiltered ? filter : nil
    let tombstones = part.tombstones?.pointer
    withExtendedLifetime((part.segment, part.index, part.tombstones, part.judgedTerms, part.wholeTerms)) {
      var judge = PlaceJudge(
        part.judgedTerms, in: columns, rules, scoring, letters: letters, isCategory: searchesCategories,
        isReading: isReading, role: role, completesLastWord: query.completesLastWord)
      var whole = part.wholeTerms.map { terms in
        PlaceJudge(
          terms, in: columns, rules, scoring, letters: letters, isCategory: false, isReading: false,
          role: .text, completesLastWord: query.completesLastWord)
      }
      withUnsafeTemporaryAllocation(of: BoundedSlot.self, capacity: Self.groupSize) { group in
        if top.isFull {
          prefetchBounds(of: slots.prefix(Self.groupSize), in: part)
        }
        for start in stride(from: 0, to: slots.count, by: Self.groupSize) {
          let end = min(start + Self.groupSize, slots.count)
          guard limit.spend(Self.stepsPerPosting * (end - start)) else { return }
          if top.isFull {
            prefetchBounds(of: slots[end..<min(end + Self.groupSize, slots.count)], in: part)
          }
          var count = 0
          var isComplete = false
          let isBounded = top.isFull
          for slot in slots[start..<end] {
            let slot = Int(slot)
            var bound = Double.infinity
            if isBounded {
              if isRareWord, !byDistance, boundOfFollowing(columns.places[slot]) < top.last.value {
                isComplete = true
                break
              }
              bound = self.bound(of: slot, in: part)
              if bound < top.last.value { continue }
            }
            if let tombstones, tombstones[slot >> 6] & (1 << UInt64(slot & 63)) != 0 { continue }
            prefetch(columns.entryStarts + slot)
            if isBounded { prefetch(ids + slot) }
            group.initializeElement(at: count, to: BoundedSlot(slot: slot, bound: bound))
            count += 1
          }
          for place in group[..<count] { prefetch(columns.entries + Int(columns.entryStarts[place.slot])) }
          for place in group[..<count] {
            let bound = isBounded || !top.isFull ? place.bound : bound(of: place.slot, in: part)
            if canEnter(place.slot, bound, in: part) { offer(place.slot, in: part, filter, &judge, &whole) }
          }
          limit.spend(Self.stepsPerPlace * count + judge.takeSteps() + (whole?.takeSteps() ?? 0))
          if isComplete { return }
        }
      }
    }
  }

  /// A place with an upper bound of its key.
  private struct BoundedSlot: BitwiseCopyable {
    let slot: Int
    let bound: Double
  }

  /// Returns a Boolean value that indicates whether a place can be among the first matches, by an upper bound of its
  /// key and its id.
  @inline(__always)
  private func canEnter(_ slot: Int, _ bound: Double, in part: TextPart) -> Bool {
    guard top.isFull else { return true }
    let last = top.last
    return bound > last.value || (bound == last.value && part.positions.ids[slot] < last.id)
  }

  /// Returns an upper bound of the scores of a place and those after it among the postings of a rare word.
  @inline(__always)
  private func boundOfFollowing(_ bounds: StaticBounds) -> Double {
    if bounds.importance >= PostingOrder.highImportance { return .infinity }
    return tierBound(bounds)
      + (coverageBounds[Int(bounds.letters)] + importances[Int(PostingOrder.highImportance)])
      + scoring.maximumBonus
  }

  /// Returns an upper bound of the key of a place.
  @inline(__always)
  private func bound(of slot: Int, in part: TextPart) -> Double {
    if byDistance, let center {
      return Self.chordSlack - part.positions.positions[slot].chordSquared(to: center.position).squareRoot()
    }
    let bounds = part.columns.places[slot]
    let bound = tierBound(bounds) + (coverageBounds[Int(bounds.letters)] + importances[Int(bounds.importance)])
    return scoring.isBiased ? bound + scoring.bonus(of: part.positions.positions[slot]) : bound
  }

  /// The maximum by which a chord exceeds its geodesic, by rounding, in metres.
  private static let chordSlack = 0.001

  /// Prefetches the bounds of places, and their positions where the order depends on them.
  @inline(__always)
  private func prefetchBounds(of slots: some Sequence<UInt32>, in part: TextPart) {
    let (places, positions) = (part.columns.places, part.positions.positions)
    let needsPositions = byDistance || scoring.isBiased
    for slot in slots {
      prefetch(places + Int(slot))
      if needsPositions { prefetch(positions + Int(slot)) }
    }
  }

  private func offer(
    _ slot: Int, in part: TextPart, _ filter: QueryFilter?, _ judge: inout PlaceJudge, _ whole: inout PlaceJudge?
  ) {
    let positions = part.positions
    guard !isFiltered || filtering({ filter?.matches(slot, of: part.segment) ?? true }),
      !searchesCategories || isNamed(slot, in: part), let (tier, fraction) = judge.judge(slot),
      tiers.contains(tier)
    else { return }
    if let judged = whole?.judge(slot), judged.tier >= wholeTier { return }
    if let propertyFilter, !filtering({ propertyFilter.matches(slot, ofPart: Int(part.number)) }) { return }
    let bonus = scoring.isBiased ? scoring.bonus(of: positions.positions[slot]) : 0
    let score = Double(tier.rawValue) + fraction + bonus
    var key = score
    if byDistance, let center {
      limit.spend(Self.stepsPerGeodesic)
      key = -Geodesic.distanceMetres(
        from: center.coordinate, at: center.position, to: positions.coordinates[slot],
        at: positions.positions[slot])
    }
    if top.isFull, key < top.last.value { return }
    let id = positions.ids[slot]
    if let after = query.after {
      let last = byDistance ? -after.value : after.value
      if key > last || (key == last && id <= after.id) {
        // It is on an earlier page, and not found by another reading of the text with a lower score.
        if role != .text { _ = isNew(slot, in: part) }
        return
      }
    }
    guard isNew(slot, in: part) else { return }
    hasMatches = true
    matchCount += 1
    if tier != .typo, tier != .prefix || query.completesLastWord { matchesWithoutTypos += 1 }
    guard keepsOrder else { return }
    let candidate = TextCandidate(
      value: key, id: id, score: score, part: part.number, slot: UInt32(truncatingIfNeeded: slot), tier: tier)
    top.offer(candidate)
  }

  /// Returns a Boolean value that indicates whether the category of the place in a slot is named by the text.
  private func isNamed(_ slot: Int, in part: TextPart) -> Bool {
    part.namedCategories?.contains(part.segment.records.category(at: slot)) ?? true
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

extension TextSearch {
  /// Searches for the places that have all words, or words that begin with them, also joined or separated, and for those
  /// of a category whose name the text is or ends with: these are behind the others, unless the text has other words.
  private func searchWords() {
    rules = .none
    let readings = categories.readings(of: query.text, text)
    if scoring.isBiased, !byDistance { searchCategoriesNearby(readings) }
    searchWholeWords()
    searchVariants()
    searchBeginnings()
    let (whole, beside) = (readings.filter(\.isWhole), readings.filter { !$0.isWhole })
    search(beside, role: .besideCategory, tiers: .category ... .allWords)
    // Places of a category are behind all others, unless distances alone count.
    guard byDistance || !top.isFull else { return }
    searchCategories()
    search(whole, role: .text, tiers: .category ... .category)
  }

  /// Searches for the places of the category that the whole text names, which near a location rank like those that have
  /// the text as their name.
  private func searchCategoriesNearby(_ readings: [CategoryTree.Reading]) {
    let named = readings.filter(\.isWhole).reduce(into: Set<ExactText>()) { $0.formUnion($1.categories) }
    (role, tiers, searchesCategories) = (.categoryAlone, .prefix ... .exact, true)
    for index in parts.indices where !limit.isExpired {
      let part = parts[index]
      var numbers = Set(named.compactMap { part.segment.categories.number(of: $0.text) }.map { UInt32($0) })
      numbers.formUnion(part.index.categoryNames.categories(named: part.exactWords))
      searchAll(of: numbers, in: index)
    }
    (role, searchesCategories) = (.text, false)
  }

  /// Judges all places of some categories.
  private func searchAll(of numbers: Set<UInt32>, in index: Int) {
    guard !numbers.isEmpty else { return }
    parts[index].namedCategories = numbers
    process(words(of: numbers, in: index), in: index)
  }

  /// Searches for the places of a category of which a label or synonym differs from the text by one edit.
  private func searchNearlyNamedCategories() {
    let named = categories.categories(nearlyNamed: text)
    guard !named.isEmpty else { return }
    (role, tiers, searchesCategories) = (.categoryAlone, .category ... .typo, true)
    for index in parts.indices where !limit.isExpired {
      let part = parts[index]
      searchAll(of: Set(named.compactMap { part.segment.categories.number(of: $0.text) }.map { UInt32($0) }), in: index)
    }
    (role, searchesCategories) = (.text, false)
  }

  // MARK: Words that are joined or separated

  /// The maximum number of texts with two words joined, and with a word separated, that are searched for with the text.
  private static let maximumVariants = 4

  /// The least number of letters of the parts of a word that is separated.
  private static let lettersOfParts = 3

  /// The number of words of a text up to which some are joined or separated with the text.
  private static let wordsOfVariants = 8

  /// Searches for places that have the words of the text with two of them joined to a word of a place.
  private func searchVariants() {
    let stages = joinedVariants
    guard !stages.isEmpty else { return }
    let own = terms
    variantTerms = []
    for index in parts.indices { parts[index].keepWholeTerms() }
    // Those that the whole text finds by the beginnings of words have a lower score by these.
    wholeTier = query.completesLastWord ? .prefix : .allWords
    role = .variant
    for stage in stages where !limit.isExpired {
      guard let variant = alternative(stage, of: own) else { continue }
      variantTerms += variant.filter { term in !own.contains { $0.isSame(as: term) } }
      replaceTerms(variant)
      searchVariant()
    }
    (role, wholeTier) = (.text, .typo)
    for index in parts.indices { parts[index].dropWholeTerms() }
    replaceTerms(own)
  }

  /// Searches for places that have all words, of which some are joined or separated.
  private func searchVariant() {
    if query.completesLastWord {
      tiers = .prefix ... .prefix
      searchPrefixes()
    } else {
      tiers = .allWords ... .allWords
      for index in parts.indices { searchAllWords(index) }
    }
  }

  private var joinedVariants: [TextQuery.Stage] {
    guard terms.count <= Self.wordsOfVariants else { return [] }
    let pairs = terms.indices.dropFirst().filter { index in
      let (left, right) = (terms[index - 1], terms[index])
      guard !left.isUnspaced, !right.isUnspaced else { return false }
      let joined = left.bytes + right.bytes
      return right.isIncomplete ? isBeginning(joined[...]) : isWord(joined[...])
    }
    return pairs.prefix(Self.maximumVariants).map { .joined(word: UInt16($0)) }
  }

  /// The stages of a word that no place has separated into two words of places.
  private var separatedVariants: [TextQuery.Stage] {
    if isRestricted || terms.count > Self.wordsOfVariants { return [] }
    var found: [(stage: TextQuery.Stage, postings: Int)] = []
    var start = 0
    for (index, term) in terms.enumerated() {
      defer { start += term.scalars.count }
      guard !term.isUnspaced, !term.isIncomplete, Self.separatedLetters ~= term.scalars.count,
        term.scalars.count >= 2 * Self.lettersOfParts, !parts.contains(where: { $0.exactWords[index] >= 0 })
      else { continue }
      let ends = term.scalarEnds
      for middle in Self.lettersOfParts...ends.count - Self.lettersOfParts {
        let left = postings(of: term.bytes[..<ends[middle - 1]])
        guard left > 0 else { continue }
        let right = postings(of: term.bytes[ends[middle - 1]...])
        if right > 0 {
          found.append((.separatedWords(letter: UInt16(clamping: start + middle)), min(left, right)))
        }
      }
    }
    // Sorting is stable: of parts that as many places have, the first.
    return found.sorted { $0.postings > $1.postings }.prefix(Self.maximumVariants).map(\.stage)
  }

  /// Returns the number of places that have a word.
  private func postings(of word: ContiguousArray<UInt8>.SubSequence) -> Int {
    let word = ContiguousArray(word)
    return parts.reduce(0) { sum, part in
      limit.spend(TextPart.stepsPerTerm)
      let dictionary = part.columns.dictionary
      let number = dictionary.number(of: word, in: dictionary.words(beginningWith: word))
      return sum + (number.map { part.columns.postingCount(of: $0..<$0 + 1) } ?? 0)
    }
  }

  /// Searches for the places that have the other words of the text in an area that some of its words name; and if there
  /// is any, for those that have all of its words, which come before.
  ///
  /// - Returns: a Boolean value that indicates whether there is a place in an area.
  private func searchAreas() -> Bool {
    rules = .none
    let own = (terms: terms, filters: filters, isFiltered: isFiltered)
    for index in parts.indices { parts[index].keepWholeTerms() }
    wholeTier = query.completesLastWord ? .prefix : .allWords
    (isReading, searchesCategories) = (true, true)
    for reading in query.areaReadings where !limit.isExpired {
      filters.area = reading.area
      search(reading)
    }
    (isReading, searchesCategories) = (false, false)
    wholeTier = .typo
    for index in parts.indices {
      parts[index].dropWholeTerms()
      parts[index].namedCategories = []
    }
    (filters, isFiltered) = (own.filters, own.isFiltered)
    replaceTerms(own.terms)
    guard hasMatches || query.after != nil else { return false }
    if query.completesLastWord {
      tiers = .prefix ... .prefix
      searchPrefixes()
    } else if !isPassed(.allWords) {
      tiers = .allWords ... .exact
      for index in parts.indices { searchAllWords(index) }
    }
    return true
  }

  /// Searches for the places of the category that the text beside an area is; or else for those that have its words.
  private func search(_ reading: TextQuery.AreaReading) {
    let completesLastWord = query.completesLastWord && !reading.isAtEnd
    let named = categories.readings(of: reading.text)
    let whole = named.filter { NormalizedText($0.rest).isEmpty }
    tiers = .category ... .category
    if whole.isEmpty {
      replaceTerms(QueryTerm.terms(of: reading.text, completesLastWord: completesLastWord))
      isNameNeeded = false
      for index in parts.indices { parts[index].namedCategories = nil }
      if completesLastWord { searchPrefixes() } else { for index in parts.indices { searchAllWords(index) } }
    }
    for category in whole.isEmpty ? named : whole {
      replaceTerms(QueryTerm.terms(of: category.rest, completesLastWord: completesLastWord && !category.isAtEnd))
      isNameNeeded = false
      for index in parts.indices { searchPlaces(of: category.categories, in: index) }
    }
  }

  /// Searches for the places that have all words. While a text is being typed, its last word is the beginning of one, also
  /// where a place has it whole.
  private func searchWholeWords() {
    guard !byDistance, !query.completesLastWord, !isPassed(.allWords) else { return }
    tiers = .allWords ... .exact
    for index in parts.indices { searchAllWords(index) }
  }

  /// Searches for the places that have words that begin with those of the text, or that lack small ones.
  private func searchBeginnings() {
    if byDistance {
      tiers = .prefix ... .exact
    } else {
      if isPassed(.prefix) || (top.isFull && top.last.value >= Double(TextMatch.Tier.allWords.rawValue)) { return }
      tiers = .prefix ... .prefix
    }
    searchPrefixes()
  }

  /// Searches for the places that have words with typos, by the present rules.
  private func searchTypos() {
    tiers = .typo ... .typo
    guard terms.contains(where: { !$0.isUnspaced }) else { return }
    for index in parts.indices where !limit.isExpired {
      let drivers = TextDriver.words(for: terms, at: requiredTerms, in: parts[index], rules: rules) {
        words(near: $0, in: index)
      }
      guard let first = drivers.first else { continue }
      process(first, and: drivers.dropFirst().first, in: index)
    }
  }

  /// Judges places.
  private func searchTypos(among slots: ContiguousArray<UInt32>, in index: Int) {
    tiers = .typo ... .typo
    slots.withUnsafeBufferPointer { offer($0, in: parts[index]) }
  }

  /// Searches for places that have words with typos besides at least one without, which few places have.
  private func searchTyposBesideRareWords() {
    tiers = .typo ... .typo
    for index in parts.indices {
      let columns = parts[index].columns
      var rest = postingLimit
      let words = Set(requiredTerms.flatMap { parts[index].words(ofTerm: $0) })
        .map { ($0, columns.postingCount(of: $0)) }
        .filter { (1...(isRestricted ? .max : TextDriver.fewPostings)).contains($0.1) }
        .sorted { ($0.1, $0.0.lowerBound) < ($1.1, $1.0.lowerBound) }
      for (words, count) in words where count <= rest && !limit.isExpired {
        rest -= count
        process([words], in: index)
      }
    }
  }

  /// Searches for places that have words that begin with the terms: by the two terms with the fewest postings.
  private func searchPrefixes() {
    for index in parts.indices {
      let part = parts[index]
      guard part.hasWords(of: terms) else { continue }
      processFewest(requiredTerms.map { part.words(ofTerm: $0) }, in: index)
    }
  }

  private func searchAllWords(_ index: Int) {
    let part = parts[index]
    let words = requiredTerms.map { part.wholeWords(ofTerm: $0) }
    guard !words.isEmpty, !words.contains(where: \.isEmpty) else { return }
    processFewest(words, in: index)
  }

  /// Searches for the places that have all words without one in a name, of a category whose name the text is or ends
  /// with.
  private func searchCategories() {
    tiers = .category ... .category
    (isNameNeeded, searchesCategories) = (false, true)
    for index in parts.indices {
      let part = parts[index]
      guard let (numbers, wordCount) = part.index.categoryNames.categories(endingText: part.exactWords),
        part.hasWords(of: terms)
      else { continue }
      parts[index].namedCategories = numbers
      let others = terms.indices.dropLast(wordCount).filter { !terms[$0].isSmall }.map { part.words(ofTerm: $0) }
      processFewest(others + part.exactWords.suffix(wordCount).map { [$0..<$0 + 1] }, in: index)
    }
    (isNameNeeded, searchesCategories) = (true, false)
  }

  /// Searches for the places of a category that a label or synonym at an end of the text names, and that have the other
  /// words of the text, if any, in a name, the category or the address.
  private func search(
    _ readings: [CategoryTree.Reading], role: PlaceJudge.Role, tiers: ClosedRange<TextMatch.Tier>
  ) {
    guard !readings.isEmpty, !limit.isExpired else { return }
    let own = terms
    for index in parts.indices { parts[index].keepWholeTerms() }
    (isReading, searchesCategories, self.role) = (true, true, role)
    self.tiers = tiers
    for reading in readings where !limit.isExpired {
      replaceTerms(
        QueryTerm.terms(of: reading.rest, completesLastWord: query.completesLastWord && !reading.isAtEnd))
      isNameNeeded = role == .besideCategory
      for index in parts.indices { searchPlaces(of: reading.categories, in: index) }
    }
    (isReading, searchesCategories, self.role) = (false, false, .text)
    for index in parts.indices { parts[index].dropWholeTerms() }
    replaceTerms(own)
  }

  /// Judges the places of categories, by the words of these and of the text.
  private func searchPlaces(of categories: Set<ExactText>, in index: Int) {
    let part = parts[index]
    let numbers = categories.compactMap { part.segment.categories.number(of: $0.text) }
    guard !numbers.isEmpty, part.hasWords(of: terms) else { return }
    let all = Set(numbers.map { UInt32($0) })
    parts[index].namedCategories = all
    let columns = part.columns
    let named = words(of: all, in: index)
    let others = requiredTerms.map { part.words(ofTerm: $0) }
    guard let fewest = others.min(by: { columns.postingCount(of: $0) < columns.postingCount(of: $1) }) else {
      return process(named, in: index)
    }
    if columns.postingCount(of: named) < columns.postingCount(of: fewest) {
      process(named, and: fewest, in: index)
    } else {
      process(fewest, and: named, in: index)
    }
  }

  /// Returns one word of each of some categories, that with the fewest postings, as ascending ranges: every place has the
  /// words of its category. A category without words is a rare one.
  private func words(of numbers: Set<UInt32>, in index: Int) -> [Range<Int>] {
    let (columns, names) = (parts[index].columns, parts[index].index.categoryNames)
    let words = Set(
      numbers.compactMap { number in
        names.words(of: Int(number)).min {
          columns.postingCount(of: $0..<$0 + 1) < columns.postingCount(of: $1..<$1 + 1)
        }
      })
    return words.sorted().map { $0..<$0 + 1 }
  }

  /// Judges the places that have words of all sets, by the two with the fewest postings.
  private func processFewest(_ sets: [[Range<Int>]], in index: Int) {
    let columns = parts[index].columns
    guard !sets.isEmpty else { return }
    let words = sets.sorted { left, right in
      (columns.postingCount(of: left), left[0].lowerBound) < (columns.postingCount(of: right), right[0].lowerBound)
    }
    process(words[0], and: words.count > 1 ? words[1] : nil, in: index)
  }
}

extension TextSearch {
  /// Searches by the rules of the stages behind ``TextQuery/Stage/typos``, one after another until something matches:
  /// where all are words of places, so that none is likely to be misspelt, words that are joined and a text without some
  /// of them, two edits in long words, then an edit of the first letter of a short word and short words that are
  /// missing, then words that are joined or separated, two edits in shorter words, more edits of one word beside another
  /// one, and at last without words of the text.
  private func searchFallbacks() {
    limitPostings(to: Self.maximumPostingsOfFallbacks)
    guard terms.contains(where: { !$0.isUnspaced }) else { return search(.missingPairs) }
    let areWords = self.areWords
    var known: (stage: TextQuery.Stage, share: Double)??
    func omission() -> (stage: TextQuery.Stage, share: Double)? {
      if let known { return known }
      let found = isExhausted(beyond: Self.maximumStepsOfFallbacks) ? nil : omissionByRarity
      known = .some(found)
      return found
    }
    func omission(ofShare least: Double) -> [TextQuery.Stage] {
      omission().map { $0.share >= least ? [$0.stage] : [] } ?? []
    }
    if areWords {
      search(joinedStages + omission(ofShare: 0) + omittingStages, until: Self.maximumStepsOfFallbacks)
    }
    let groups: [() -> [TextQuery.Stage]] = [
      { self.stagesOfMoreTypos }, { areWords ? [] : self.joinedStages }, { self.separatedStages },
      { self.stagesOfTwoTypos }, { areWords ? [] : omission(ofShare: Self.shareOfConvincing) },
      { self.terms.count > 1 ? [.lenient] : [] },
    ]
    for group in groups where !hasMatches { search(group(), until: Self.maximumStepsOfTypos) }
    if !hasMatches, !areWords {
      search(omission(ofShare: 0) + omittingStages, until: Self.maximumStepsOfFallbacks)
    }
  }

  /// The stages of a street that is written in another way, which are tried before typos: with a word such as `platz`
  /// joined to the one before it or apart from it, and without one such as `ulica`.
  private var stagesOfStreets: [TextQuery.Stage] {
    let table = Equivalents.shared
    var (stages, start): ([TextQuery.Stage], Int) = ([], 0)
    for (index, term) in terms.enumerated() {
      defer { start += term.scalars.count }
      if term.isUnspaced { continue }
      if index > 0, !terms[index - 1].isUnspaced, table.isJoinable(term.bytes) || isAbbreviation(endingAt: index) {
        stages.append(.joined(word: UInt16(clamping: index)))
      }
      if let stem = table.stem(of: term.bytes) {
        let letters = term.bytes[..<stem].count { $0 & 0xC0 != 0x80 }
        stages.append(.separated(letter: UInt16(clamping: start + letters), omitsLetter: false))
      }
      if terms.count > 1, index < Self.maximumWordsToOmit, table.isOmissible(term.bytes) {
        stages.append(.omitted(words: 1 << UInt8(index), hasTypos: false))
      }
    }
    return Array(stages.prefix(Self.maximumAlternatives))
  }

  /// Returns a Boolean value that indicates whether a word and the one before it are an abbreviation: `v.le` of `viale`.
  private func isAbbreviation(endingAt index: Int) -> Bool {
    let (first, second) = (terms[index - 1].bytes, terms[index].bytes)
    return first.count + second.count <= Self.maximumAbbreviation && first.count <= 2
      && !Equivalents.shared.words(for: first + second).isEmpty
  }

  /// The maximum number of bytes of an abbreviation of two words.
  private static let maximumAbbreviation = 8

  /// The part of what the words of a text say from which a place that has them is found before more typos.
  private static let shareOfConvincing = 0.4

  /// Searches by the rules of stages until something matches, or a number of steps is exceeded.
  private func search(_ stages: [TextQuery.Stage], until steps: Int) {
    for stage in stages where !hasMatches && !isExhausted(beyond: steps) { search(stage) }
  }

  /// Searches by the rules of the stage of the pages before.
  private func continueSearch(_ stage: TextQuery.Stage) {
    if stage == .areas {
      _ = searchAreas()
      return
    }
    if stage == .words || stage == .typos { searchWords() }
    if stage == .words { return }
    if stage != .typos { limitPostings(to: Self.maximumPostingsOfFallbacks) }
    if !isPassed(.typo) || stage == .typos { search(stage) }
  }

  private var stagesOfMoreTypos: [TextQuery.Stage] {
    let hasLongTerm = terms.contains { $0.scalars.count + 2 >= TypoRules.lettersForTwo }
    return (terms.count > 1 ? [.typosBesideRareWord] : []) + (hasLongTerm ? [.moreTypos] : []) + [.missingWords]
  }

  private var stagesOfTwoTypos: [TextQuery.Stage] {
    let lengths = TypoRules.lettersForTwoAtLast - 2..<TypoRules.lettersForTwo
    return terms.contains { !$0.isUnspaced && lengths.contains($0.scalars.count) } ? [.twoTypos] : []
  }

  /// Searches by the rules of a stage; those of ``TextQuery/Stage/typos`` without the words that need no typos.
  private func searchStage(_ stage: TextQuery.Stage) {
    let own = terms
    role = .text
    switch stage {
    case .words: searchWords()
    case .typos:
      rules = TypoRules(maximumEdits: 1, freesFirstLetter: false)
      rules.omitsHouseNumbers = terms.contains { !$0.isNumber }
      searchNearlyNamedCategories()
      if !isPassed(.typo) { searchTypos() }
    case .typosBesideRareWord:
      rules = TypoRules(maximumEdits: 2, freesFirstLetter: false)
      searchTyposBesideRareWords()
    case .moreTypos:
      rules = TypoRules(maximumEdits: 2, freesFirstLetter: false)
      searchTypos()
    case .missingWords:
      rules = TypoRules(maximumEdits: 2, freesFirstLetter: true)
      rules.omitsShortWords = terms.contains { $0.scalars.count >= TypoRules.lettersForOne }
      searchTypos()
    case .joined, .separated, .omitted:
      guard let alternative = alternative(stage) else { return }
      role = .typo
      replaceTerms(alternative)
      if case .omitted(_, hasTypos: false) = stage {
        rules = .none
        rules.requiresWholeShortWords = true
        tiers = .typo ... .typo
        searchPrefixes()
      } else {
        rules = TypoRules(maximumEdits: 1, freesFirstLetter: false)
        searchTypos()
      }
      // Scores and highlights of matches are those of the other terms.
      if !hasMatches { replaceTerms(own) }
    case .separatedWords(let letter):
      guard let alternative = alternative(.separated(letter: letter, omitsLetter: false)) else { return }
      (rules, role) = (.none, .variant)
      replaceTerms(alternative)
      searchVariant()
      role = .text
      if !hasMatches { replaceTerms(own) }
    case .twoTypos:
      rules = TypoRules(maximumEdits: 2, freesFirstLetter: false)
      rules.allowsTwoAtLast = true
      searchTypos()
    case .lenient: searchLeniently()
    case .missingPairs: searchWithoutPairs()
    case .areas: _ = searchAreas()
    }
  }

  /// Searches for places that have all but a few of the pairs of characters. An edit changes up to three pairs.
  ///
  /// Of the rarest pairs, two more than may be missing, a match has at least two.
  private func searchWithoutPairs() {
    let missing = terms.count < 6 ? 2 : 3
    guard terms.count >= missing + 2, !isRestricted else { return }
    rules = .none
    rules.maximumMissingPairs = missing
    for index in parts.indices {
      let columns = parts[index].columns
      let words = Set(requiredTerms.map { parts[index].prefixWords[$0] }).sorted {
        (columns.postingCount(of: $0), $0.lowerBound) < (columns.postingCount(of: $1), $1.lowerBound)
      }
      .prefix(missing + 2)
      let count = words.reduce(0) { $0 + columns.postingCount(of: $1) }
      guard count <= Self.manyPostingsOfPairs, limit.spend(Self.stepsPerSortedPosting * count) else { continue }
      var slots = ContiguousArray(
        words.flatMap { words in
          UnsafeBufferPointer(
            start: columns.postings + Int(columns.postingStarts[words.lowerBound]),
            count: columns.postingCount(of: words))
        })
      slots.sort()
      searchTypos(among: ContiguousArray(zip(slots, slots.dropFirst()).lazy.filter { $0 == $1 }.map(\.0)), in: index)
    }
  }

  private static let manyPostingsOfPairs = 20_000
  private static let stepsPerSortedPosting = 32

  /// Searches for places of which one word matches by the usual rules, and all others by lenient ones.
  private func searchLeniently() {
    tiers = .typo ... .typo
    rules = TypoRules(maximumEdits: 2, freesFirstLetter: true)
    let drivers = parts.indices.map { index in
      TextDriver.wordsOfEachTerm(
        terms.filter { !$0.isSmall }, in: parts[index], takesAll: isRestricted
      ) { words(near: $0, in: index) }
    }
    rules.isLenient = true
    for (index, words) in drivers.enumerated() {
      for words in words where !limit.isExpired { process(words, in: index) }
    }
  }

  // MARK: Words that are joined or separated

  /// The maximum number of other texts that are searched for.
  private static let maximumAlternatives = 16

  /// The numbers of letters of a word that is separated. Longer ones are no words without a space.
  private static let separatedLetters = TypoRules.lettersForOne...60

  /// The stages of two neighbours joined, for each of the first pairs.
  private var joinedStages: [TextQuery.Stage] {
    let pairs = terms.indices.dropFirst().lazy.filter { [terms] in !terms[$0 - 1].isUnspaced && !terms[$0].isUnspaced }
    return pairs.prefix(Self.maximumAlternatives).map { .joined(word: UInt16($0)) }
  }

  /// The stages of a word separated into a word of a dictionary and another, with or without the letter between them.
  /// Where the other is the beginning of a word too, the stages come first.
  private var separatedStages: [TextQuery.Stage] {
    var (stages, others): ([TextQuery.Stage], [TextQuery.Stage]) = ([], [])
    var start = 0
    for term in terms {
      defer { start += term.scalars.count }
      guard !term.isUnspaced, Self.separatedLetters ~= term.scalars.count else { continue }
      let ends = term.scalarEnds
      for middle in 1..<ends.count where isWord(term.bytes[..<ends[middle - 1]]) {
        for omitsLetter in [false, true] where middle + (omitsLetter ? 1 : 0) < ends.count {
          let letters = ends.count - middle - (omitsLetter ? 1 : 0)
          let stage = TextQuery.Stage.separated(
            letter: UInt16(clamping: start + middle), omitsLetter: omitsLetter)
          if isBeginning(term.bytes[ends[omitsLetter ? middle : middle - 1]...]) {
            stages.append(stage)
          } else if middle > 1, letters >= TypoRules.lettersForOne {
            others.append(stage)
          }
        }
        if stages.count >= Self.maximumAlternatives { return Array(stages.prefix(Self.maximumAlternatives)) }
      }
    }
    return Array((stages + others).prefix(Self.maximumAlternatives))
  }

  /// Returns the terms of a stage with words joined, separated or omitted; `nil` if the text has no such words.
  private func alternative(_ stage: TextQuery.Stage) -> ContiguousArray<QueryTerm>? { alternative(stage, of: terms) }

  private func alternative(
    _ stage: TextQuery.Stage, of terms: ContiguousArray<QueryTerm>
  ) -> ContiguousArray<QueryTerm>? {
    var alternative = terms
    switch stage {
    case .joined(let word):
      let index = Int(word)
      guard index > 0, index < terms.count else { return nil }
      let (left, right) = (terms[index - 1], terms[index])
      alternative[index - 1] = QueryTerm(
        bytes: left.bytes + right.bytes, letters: left.letters + right.letters, isUnspaced: false,
        isIncomplete: right.isIncomplete)
      alternative.remove(at: index)
    case .separated(let letter, let omitsLetter):
      var middle = Int(letter)
      for (index, term) in terms.enumerated() {
        let end = middle + (omitsLetter ? 1 : 0)
        if middle > 0, end < term.scalars.count {
          alternative.replaceSubrange(
            index...index,
            with: [
              self.term(term.scalars[..<middle], isIncomplete: false),
              self.term(term.scalars[end...], isIncomplete: term.isIncomplete),
            ])
          QueryTerm.noteSmallWords(in: &alternative)
          return alternative
        }
        middle -= term.scalars.count
      }
      return nil
    case .omitted(let words, _):
      alternative = []
      for (index, term) in terms.enumerated() {
        let isOmitted = index < Self.maximumWordsToOmit && (words >> UInt8(index)) & 1 == 1
        if !isOmitted { alternative.append(term) }
      }
      if alternative.isEmpty { return nil }
    default: return nil
    }
    QueryTerm.noteSmallWords(in: &alternative)
    return alternative
  }

  // MARK: Words that are omitted

  /// The number of words up to which some of a text may be omitted.
  private static let maximumWordsToOmit = 8

  /// The numbers of words at the end of a text that are omitted together: a country's name has up to four.
  private static let wordsOfTails = 2...4

  /// The stages without words of the text: those that no place has, and then others.
  private var omittingStages: [TextQuery.Stage] {
    guard (2...Self.maximumWordsToOmit).contains(terms.count) else { return [] }
    rules = TypoRules(maximumEdits: 1, freesFirstLetter: false)
    let spaced = terms.indices.filter { !terms[$0].isUnspaced }
    let unknown = isRestricted ? 0 : Self.bits(spaced.filter { !isKnown($0) })
    let misspelt = isRestricted ? 0 : Self.bits(spaced.filter { !hasWords($0) && isKnown($0) })
    let omissions = omissions(besides: unknown)
    // Those that leave a word with a typo come last.
    return [false, true].flatMap { hasTypos in
      omissions.filter { (misspelt & ~$0 != 0) == hasTypos }.map { .omitted(words: $0, hasTypos: hasTypos) }
    }
  }

  /// The number of rare words whose places are compared to find which words to omit, and of the places of all of them.
  private static let rareWordsOfOmissions = 4
  private static let postingsOfOmissions = 20_000

  /// The stage without the words that a place lacks which has those that say most, with the part of it: a word says the
  /// more the fewer places have it, and most if none has. `nil` if no place has a word in its name, or the words of all
  /// places must not decide.
  private var omissionByRarity: (stage: TextQuery.Stage, share: Double)? {
    guard (2...Self.maximumWordsToOmit).contains(terms.count), !isRestricted else { return nil }
    let places = parts.reduce(1) { $0 + $1.segment.count }
    func postings(_ term: Int) -> Int {
      parts.reduce(0) { $0 + $1.columns.postingCount(of: words(ofTerm: term, in: $1)) }
    }
    let counts = terms.indices.map(postings)
    let weights = terms.indices.map { term in
      terms[term].isSmall ? Self.weightOfSmallWord : Self.weight(counts[term], of: places)
    }
    let rare = terms.indices.filter { counts[$0] > 0 && !terms[$0].isSmall }.sorted { counts[$0] < counts[$1] }
      .prefix(Self.rareWordsOfOmissions)
    let rarest = rare.first.map { weights[$0] } ?? 0
    let first =
      terms.indices.first { !terms[$0].isSmall && weights[$0] >= Self.shareOfFirst * rarest }
      .map { $0 == terms.firstIndex { !$0.isSmall } ? 1 << UInt8($0) : 0 as UInt8 } ?? 0
    var best = KeptTerms()
    var rest = Self.postingsOfOmissions
    for term in rare where counts[term] <= rest && !limit.isExpired {
      rest -= counts[term]
      for index in parts.indices {
        let found = bestTerms(ofPlacesWith: term, weights, first: first, in: index)
        if found.rank > best.rank { best = found }
      }
    }
    let all = Self.bits(terms.indices)
    guard best.terms != 0, best.terms != all else { return nil }
    return (.omitted(words: all & ~best.terms, hasTypos: false), best.weight / weights.reduce(0, +))
  }

  private static let weightOfSmallWord = 0.1

  /// Returns what a word says: about the binary logarithm of the number of places by that of those that have it.
  private static func weight(_ postings: Int, of places: Int) -> Double {
    var (weight, rest) = (1.0, Double(places) / Double(postings + 1))
    while rest >= 2 {
      weight += 1
      rest /= 2
    }
    return weight + rest - 1
  }

  /// The terms that a place has.
  private struct KeptTerms {
    /// The terms as bits.
    var terms: UInt8 = 0

    /// The sum of the information of the words: the rarer a word, the more it has.
    var weight = 0.0

    /// The same, less for a name with other words.
    var rank = 0.0
  }

  /// The part of the rank of one kept term that the coverage of the name decides; of several terms it is less.
  private static let rankOfCoverage = 0.5

  /// The factor of the rank if the first term is kept, since a text begins with what it is about; and the part of what
  /// the rarest term says that the first one must say for that.
  private static let factorOfFirst = 4.0
  private static let shareOfFirst = 0.6

  /// The number of comparisons of a word with a term that take about as long as a step.
  private static let comparisonsPerStep = 4

  /// Returns the words that a term is, begins if it is being typed, or stands for.
  private func words(ofTerm term: Int, in part: TextPart) -> [Range<Int>] {
    terms[term].isIncomplete ? part.words(ofTerm: term) : part.wholeWords(ofTerm: term)
  }

  /// Returns the terms of the name, with those of the context, that has the greatest rank of the places that have a term.
  ///
  /// - Parameter first: the first term as a bit, if it says much.
  private func bestTerms(
    ofPlacesWith term: Int, _ weights: [Double], first: UInt8, in index: Int
  ) -> KeptTerms {
    let part = parts[index]
    let columns = part.columns
    let words = terms.indices.map { self.words(ofTerm: $0, in: part) }
    func matching(_ entry: UInt32) -> UInt8 {
      let word = Int(entry & TextColumns.wordMask)
      var found: UInt8 = 0
      for (index, own) in words.enumerated() where own.contains(where: { $0.contains(word) }) {
        found |= 1 << UInt8(index)
      }
      return found
    }
    var best = KeptTerms()
    for posting in words[term].lazy.flatMap({
      Int(columns.postingStarts[$0.lowerBound])..<Int(columns.postingStarts[$0.upperBound])
    }) {
      let slot = Int(columns.postings[posting])
      if let tombstones = part.tombstones?.pointer, tombstones[slot >> 6] & (1 << UInt64(slot & 63)) != 0 { continue }
      let entries = Int(columns.entryStarts[slot])..<Int(columns.entryStarts[slot + 1])
      guard limit.spend(max(Self.stepsPerPlace, entries.count * terms.count / Self.comparisonsPerStep)) else { break }
      var (context, name): (UInt8, UInt8) = (0, 0)
      var (letters, covered) = (0, 0)
      for entry in entries where columns.entries[entry] & TextColumns.context != 0 {
        context |= matching(columns.entries[entry])
      }
      for index in entries {
        let entry = columns.entries[index]
        if entry & TextColumns.context != 0 { break }
        let own = matching(entry)
        name |= own
        if !TextColumns.isVariant(entry) {
          let count = columns.dictionary.letterCount(Int(entry & TextColumns.wordMask))
          letters += count
          if own != 0 { covered += count }
        }
        guard entry & TextColumns.nameEnd != 0 else { continue }
        let found = name | context
        if name != 0 {
          let weight = weights.indices.reduce(0.0) { found & (1 << UInt8($1)) == 0 ? $0 : $0 + weights[$1] }
          let coverage = Double(covered) / Double(max(letters, 1))
          let kept = weights.indices.count { found & (1 << UInt8($0)) != 0 && !terms[$0].isSmall }
          var rank = weight * (1 - Self.rankOfCoverage / Double(max(kept * kept, 1)) * (1 - coverage))
          if found & first != 0 { rank *= Self.factorOfFirst }
          if rank > best.rank { best = KeptTerms(terms: found, weight: weight, rank: rank) }
        }
        (name, letters, covered) = (0, 0, 0)
      }
    }
    return best
  }

  /// A Boolean value that indicates whether each word of the text is one of a place, or the beginning of one where it is
  /// being typed.
  private var areWords: Bool {
    !isRestricted
      && terms.indices.allSatisfy { term in
        terms[term].isIncomplete
          ? hasWords(term) : parts.contains { $0.exactWords[term] >= 0 || !$0.equivalentWords[term].isEmpty }
      }
  }

  /// Returns the words to omit, together with some that no place has.
  ///
  /// A text begins with what it is about: words are omitted from the end, the first one last.
  private func omissions(besides unknown: UInt8) -> [UInt8] {
    let spaced = terms.indices.filter { !terms[$0].isUnspaced }
    let singles = spaced.reversed().map { Self.bits([$0]) }
    let tails = Self.wordsOfTails.filter { $0 < spaced.count }.map { Self.bits(spaced.suffix($0)) }
    var omissions = [unknown]
    for words in singles.dropLast() + tails + singles.suffix(1) { omissions.append(words | unknown) }
    var known: Set<UInt8> = [0, Self.bits(terms.indices)]
    omissions.removeAll { !known.insert($0).inserted }
    return omissions
  }

  private static func bits(_ terms: some Sequence<Int>) -> UInt8 { terms.reduce(into: 0) { $0 |= 1 << UInt8($1) } }

  /// Returns a Boolean value that indicates whether a place has a word that begins with a term.
  private func hasWords(_ term: Int) -> Bool {
    parts.contains { !$0.prefixWords[term].isEmpty || !$0.equivalentWords[term].isEmpty }
  }

  /// Returns a Boolean value that indicates whether a place has a word for a term by the present rules.
  private func isKnown(_ term: Int) -> Bool {
    hasWords(term) || parts.indices.contains { !words(near: terms[term], in: $0).isEmpty }
  }

  private func term(_ scalars: some Collection<UInt32>, isIncomplete: Bool) -> QueryTerm {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars.lazy.compactMap { Unicode.Scalar($0) })
    return QueryTerm(
      bytes: ContiguousArray(String(text).utf8), letters: scalars.count, isUnspaced: false, isIncomplete: isIncomplete)
  }

  private func isWord(_ bytes: ContiguousArray<UInt8>.SubSequence) -> Bool {
    isAny(bytes) { dictionary, words in dictionary.word(words.lowerBound).count == bytes.count }
  }

  private func isBeginning(_ bytes: ContiguousArray<UInt8>.SubSequence) -> Bool { isAny(bytes) { _, _ in true } }

  /// Returns a Boolean value that indicates whether a dictionary has words that begin with a text, for which a closure
  /// returns `true`.
  private func isAny(
    _ bytes: ContiguousArray<UInt8>.SubSequence, where predicate: (WordDictionary, Range<Int>) -> Bool
  ) -> Bool {
    if isRestricted { return true }
    return bytes.withUnsafeBufferPointer { bytes in
      parts.contains { part in
        limit.spend(TextPart.stepsPerTerm)
        let dictionary = part.columns.dictionary
        // The shortest of the words is the first.
        let words = dictionary.words(in: 0..<dictionary.count, after: 0, beginningWith: .init(bytes))
        return !words.isEmpty && predicate(dictionary, words)
      }
    }
  }
}
