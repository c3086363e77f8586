import Points

/// The different terms of a query with their words in a part, and the memory in which a place is matched with them.
///
/// A search compares each word of thousands of places with the terms. Counting references to arrays, and checking
/// accesses to properties, would take longer than the comparisons, so that all of it is plain memory.
final class JudgedTerms {
  /// A term with the words that it has in the part.
  struct Term: BitwiseCopyable {
    /// The number of the word that the term is; -1 where it is none.
    let word: Int

    /// The first of the words that begin with the term, and their number.
    let firstWord: Int
    let wordCount: UInt

    /// The letters, and the number of those that count for the coverage of a name.
    let letters: QueryTerm.Letters
    let letterCount: Int
    let isUnspaced: Bool

    /// A Boolean value that indicates whether the term may be missing where the rules allow it for short words.
    let isShort: Bool

    /// Returns a Boolean value that indicates whether a word is the term or begins with it.
    @inline(__always)
    func begins(_ word: Int) -> Bool { UInt(bitPattern: word &- firstWord) < wordCount }
  }

  fileprivate let terms: UnsafeMutableBufferPointer<Term>

  /// The Unicode scalars of the terms, one term after another.
  private let scalars: UnsafeMutableBufferPointer<UInt32>

  /// The numbers of the words that the terms are, also of equal terms, in the order of the query; -1 for none.
  fileprivate let sequence: UnsafeMutableBufferPointer<Int>

  /// The best kind of match of each term in the name that is judged, its category and its address: 0 for a word, 1 for
  /// the beginning of one, more for typos.
  fileprivate let best: UnsafeMutableBufferPointer<UInt8>

  /// The same of the words of its category and address alone.
  fileprivate let bestOfContext: UnsafeMutableBufferPointer<UInt8>

  /// The indices of the terms of which each must have a word, the one that was missing last before the others: where
  /// one place has no such word, the next often has none either.
  fileprivate let required: UnsafeMutableBufferPointer<Int>
  fileprivate var requiredCount = 0

  /// The edits between a term and the words that it was compared with last, since names share words: for each term
  /// the edits of ``typosPerTerm`` words with the words and the rules. Empty until a rule allows typos.
  fileprivate var typos: UnsafeMutableBufferPointer<UInt64>

  fileprivate static let typosPerTerm = 256

  /// The words that were matched with the terms last, without typos: each at its number modulo ``wordsOfMemory``. Empty
  /// until a place is judged without typos, and for more terms than a set has bits.
  fileprivate var words: UnsafeMutableBufferPointer<MatchedWord>

  fileprivate static let wordsOfMemory = 256

  /// The maximum number of terms of a ``TermSets``.
  static let maximumTermsOfSets = UInt64.bitWidth

  /// The terms of a script without spaces, and the terms that are short.
  fileprivate let unspaced: UInt64
  fileprivate let short: UInt64

  /// Creates the terms at some indices.
  init(
    _ terms: ContiguousArray<QueryTerm>, at indices: ContiguousArray<Int>, exactWords: ContiguousArray<Int>,
    prefixWords: ContiguousArray<Range<Int>>
  ) {
    let count = indices.count
    var (unspaced, short): (UInt64, UInt64) = (0, 0)
    self.terms = .allocate(capacity: count)
    scalars = .allocate(capacity: indices.reduce(0) { $0 + terms[$1].scalars.count })
    var start = 0
    for (position, index) in indices.enumerated() {
      let (term, words) = (terms[index], prefixWords[index])
      let end = scalars[start...].initialize(fromContentsOf: term.scalars)
      self.terms.initializeElement(
        at: position,
        to: Term(
          word: exactWords[index], firstWord: words.lowerBound, wordCount: UInt(words.count),
          letters: term.letters(in: UnsafeBufferPointer(rebasing: scalars[start..<end])), letterCount: term.letters,
          isUnspaced: term.isUnspaced, isShort: !term.isUnspaced && term.scalars.count < TypoRules.lettersForOne))
      start = end
      // Shifted out where there are more terms than bits.
      if term.isUnspaced { unspaced |= 1 << position }
      if self.terms[position].isShort { short |= 1 << position }
    }
    (self.unspaced, self.short) = (unspaced, short)
    sequence = .allocate(capacity: exactWords.count)
    _ = sequence.initialize(from: exactWords)
    best = .allocate(capacity: count)
    best.initialize(repeating: .max)
    bestOfContext = .allocate(capacity: count)
    bestOfContext.initialize(repeating: .max)
    required = .allocate(capacity: count)
    required.initialize(repeating: 0)
    typos = .init(start: nil, count: 0)
    words = .init(start: nil, count: 0)
  }

  deinit {
    terms.deallocate()
    scalars.deallocate()
    sequence.deallocate()
    best.deallocate()
    bestOfContext.deallocate()
    required.deallocate()
    typos.deallocate()
    words.deallocate()
  }

  /// Allocates the memory of matched words, if the terms fit into sets.
  fileprivate func prepareWords() {
    guard words.isEmpty, terms.count <= Self.maximumTermsOfSets else { return }
    words = .allocate(capacity: Self.wordsOfMemory)
    words.initialize(repeating: MatchedWord(word: .max, covered: 0, terms: TermSets()))
  }

  /// Sets which terms must have a word by the rules for typos.
  func setRules(_ rules: TypoRules) {
    requiredCount = 0
    for (index, term) in terms.enumerated() {
      if term.isUnspaced ? rules.maximumMissingPairs > 0 : term.isShort && rules.omitsShortWords { continue }
      required[requiredCount] = index
      requiredCount += 1
    }
    if rules.maximumEdits > 0, typos.isEmpty, !terms.isEmpty {
      typos = .allocate(capacity: Self.typosPerTerm * terms.count)
      typos.initialize(repeating: .max)
    }
  }
}

/// The terms that words of a place match without typos, as bits by their positions.
private struct TermSets: BitwiseCopyable {
  /// The terms that are one of the words.
  var whole: UInt64 = 0

  /// The terms that one of the words begins with.
  var begun: UInt64 = 0

  @inline(__always)
  mutating func formUnion(_ other: TermSets) {
    whole |= other.whole
    begun |= other.begun
  }
}

/// A word of a place with the terms that it matches without typos, and the number of its letters that they have.
private struct MatchedWord: BitwiseCopyable {
  let word: UInt32
  let covered: UInt32
  let terms: TermSets
}

/// The judgement of the places of a part by the words of their names, categories and addresses.
struct PlaceJudge {
  private let columns: TextColumns
  private let terms: UnsafeMutableBufferPointer<JudgedTerms.Term>
  private let sequence: UnsafeMutableBufferPointer<Int>
  private let best: UnsafeMutableBufferPointer<UInt8>
  private let bestOfContext: UnsafeMutableBufferPointer<UInt8>
  private let required: UnsafeMutableBufferPointer<Int>
  private let typos: UnsafeMutableBufferPointer<UInt64>

  /// The memory of matched words; `nil` where typos are allowed or the terms do not fit into sets.
  private let words: UnsafeMutablePointer<MatchedWord>?

  /// All terms, those of a script without spaces, and those that are short.
  private let allTerms: UInt64
  private let unspaced: UInt64
  private let short: UInt64
  private let rules: TypoRules
  private let scoring: TextScore
  private let letters: Int
  private let isCategory: Bool
  private let isReading: Bool
  private let isAlternative: Bool
  private let completesLastWord: Bool

  /// The steps since they were taken last.
  private var steps = 0

  /// The number of required terms up to which a place is judged at once: its first words are those of the postings.
  private static let manyTerms = 2

  /// The number of steps to compute the edits between two words.
  private static let stepsPerDistance = 24

  /// Creates the judgement by the present rules. The terms and the part must outlive it.
  ///
  /// - Parameters:
  ///   - letters: the number of letters of the query.
  ///   - isCategory: a Boolean value that indicates whether the places are of a category that the text names, and match
  ///     without a word in a name.
  ///   - isReading: a Boolean value that indicates whether the terms are those beside the name of the category, and may be
  ///     in a name.
  ///   - isAlternative: a Boolean value that indicates whether the terms are not those of the query.
  ///   - usesSets: a Boolean value that indicates whether terms are compared as sets where that is possible.
  init(
    _ terms: JudgedTerms, in columns: TextColumns, _ rules: TypoRules, _ scoring: TextScore, letters: Int,
    isCategory: Bool, isReading: Bool, isAlternative: Bool, completesLastWord: Bool, usesSets: Bool = true
  ) {
    if rules.maximumEdits == 0, usesSets { terms.prepareWords() }
    words = rules.maximumEdits == 0 && usesSets ? terms.words.baseAddress : nil
    allTerms = terms.terms.count < UInt64.bitWidth ? 1 << UInt64(terms.terms.count) - 1 : .max
    (unspaced, short) = (terms.unspaced, terms.short)
    self.columns = columns
    self.terms = terms.terms
    sequence = terms.sequence
    best = terms.best
    bestOfContext = terms.bestOfContext
    required = .init(rebasing: terms.required[..<terms.requiredCount])
    typos = terms.typos
    self.rules = rules
    self.scoring = scoring
    self.letters = letters
    self.isCategory = isCategory
    self.isReading = isReading
    self.isAlternative = isAlternative
    self.completesLastWord = completesLastWord
  }

  /// Returns the steps since they were taken last.
  mutating func takeSteps() -> Int {
    defer { steps = 0 }
    return steps
  }

  /// Returns the tier of the place in a slot and the fraction of its score without the bonus, by the best of its names,
  /// which has all terms with the category and the address; `nil` where it does not match.
  mutating func judge(_ slot: Int) -> (tier: TextMatch.Tier, fraction: Double)? {
    let entries = UnsafeBufferPointer(
      start: columns.entries + Int(columns.entryStarts[slot]),
      count: Int(columns.entryStarts[slot + 1] - columns.entryStarts[slot]))
    steps += entries.count
    if let words { return judge(slot, entries, words) }
    if required.count > Self.manyTerms, !hasRequiredTerms(entries) { return nil }
    for term in best.indices { best[term] = .max }
    var namesEnd = entries.count
    while namesEnd > 0, entries[namesEnd - 1] & TextColumns.context != 0 {
      namesEnd -= 1
      _ = match(Int(entries[namesEnd] & TextColumns.wordMask))
    }
    for term in best.indices { bestOfContext[term] = best[term] }
    let importance = columns.places[slot].importance
    var found: (tier: TextMatch.Tier, fraction: Double)?
    var name = NameCoverage()
    for entry in entries[..<namesEnd] {
      let word = Int(entry & TextColumns.wordMask)
      let covered = match(word)
      let isNext = name.words < sequence.count && sequence[name.words] == word
      name.add(letters: columns.dictionary.letterCount(word), covered: covered, isNext: isNext)
      if entry & TextColumns.nameEnd == 0 { continue }
      defer { name = NameCoverage() }
      if name.covered == 0 { continue }
      if isCategory, !isReading { return nil }
      if let judged = judge(name, TextColumns.kind(ofNameEndingWith: entry), importance),
        judged > found ?? (.category, 0)
      {
        found = judged
      }
      for term in best.indices { best[term] = bestOfContext[term] }
    }
    if isCategory {
      // Whatever a name has of the text, so that a place has one score for all readings of it.
      guard found != nil || kindAndEdits != nil else { return nil }
      found = (.category, scoring.fraction(coverage: 0, edits: 0, importance: importance))
    }
    if found != nil { steps += entries.count * terms.count }
    return found
  }

  /// Returns the same as ``judge(_:)`` by rules without typos, for terms that fit into sets.
  private mutating func judge(
    _ slot: Int, _ entries: UnsafeBufferPointer<UInt32>, _ words: UnsafeMutablePointer<MatchedWord>
  ) -> (tier: TextMatch.Tier, fraction: Double)? {
    if required.count > Self.manyTerms {
      var sets = TermSets()
      for entry in entries { sets.formUnion(matched(entry, words).terms) }
      if !hasRequiredTerms(sets, entryCount: entries.count) { return nil }
    }
    var context = TermSets()
    var namesEnd = entries.count
    while namesEnd > 0, entries[namesEnd - 1] & TextColumns.context != 0 {
      namesEnd -= 1
      context.formUnion(matched(entries[namesEnd], words).terms)
    }
    let importance = columns.places[slot].importance
    var found: (tier: TextMatch.Tier, fraction: Double)?
    var name = NameCoverage()
    var sets = context
    for entry in entries[..<namesEnd] {
      let word = matched(entry, words)
      sets.formUnion(word.terms)
      let number = Int(word.word)
      let isNext = name.words < sequence.count && sequence[name.words] == number
      name.add(letters: columns.dictionary.letterCount(number), covered: Int(word.covered), isNext: isNext)
      if entry & TextColumns.nameEnd == 0 { continue }
      defer {
        name = NameCoverage()
        sets = context
      }
      if name.covered == 0 { continue }
      if isCategory, !isReading { return nil }
      steps += terms.count
      guard let kindAndEdits = kindAndEdits(sets) else { continue }
      let judged = judge(name, TextColumns.kind(ofNameEndingWith: entry), importance, kindAndEdits)
      if judged > found ?? (.category, 0) { found = judged }
    }
    if isCategory {
      // Whatever a name has of the text, so that a place has one score for all readings of it.
      guard found != nil || kindAndEdits(context) != nil else { return nil }
      found = (.category, scoring.fraction(coverage: 0, edits: 0, importance: importance))
    }
    if found != nil { steps += entries.count * terms.count }
    return found
  }

  /// Returns a word of a place with the terms that it matches without typos.
  @inline(__always)
  private mutating func matched(_ entry: UInt32, _ words: UnsafeMutablePointer<MatchedWord>) -> MatchedWord {
    let word = entry & TextColumns.wordMask
    let position = Int(word) & (JudgedTerms.wordsOfMemory - 1)
    if words[position].word != word { words[position] = matched(word) }
    return words[position]
  }

  /// Matches a word of a place with all terms. Mutating, since the judgement would be copied otherwise.
  @inline(never)
  private mutating func matched(_ number: UInt32) -> MatchedWord {
    let word = Int(number)
    var (sets, covered) = (TermSets(), 0)
    // Four comparisons take about as long as a step.
    steps += terms.count / 4
    for (index, term) in terms.enumerated() {
      if term.word == word {
        sets.whole |= 1 << UInt64(index)
        covered = columns.dictionary.letterCount(word)
      } else if term.begins(word) {
        sets.begun |= 1 << UInt64(index)
        covered = max(covered, term.letterCount)
      }
    }
    return MatchedWord(word: number, covered: UInt32(covered), terms: sets)
  }

  /// Returns a Boolean value that indicates whether all terms that must have a word are in the sets.
  @inline(__always)
  private mutating func hasRequiredTerms(_ sets: TermSets, entryCount: Int) -> Bool {
    let matched = sets.whole | sets.begun
    if matched == allTerms {
      steps += entryCount * required.count
      return true
    }
    for position in required.indices {
      steps += entryCount
      if matched & (1 << UInt64(required[position])) != 0 { continue }
      // The next place is compared with this term first.
      if position > 0 { required.swapAt(0, position) }
      return false
    }
    return true
  }

  /// The worst of the kinds of matches of all terms, and the number of edits; `nil` where terms are missing.
  @inline(__always)
  private func kindAndEdits(_ sets: TermSets) -> (worst: UInt8, edits: Int)? {
    let begun = sets.begun & ~sets.whole
    let missing = allTerms & ~(sets.whole | sets.begun)
    var (worst, edits): (UInt8, Int) = (begun == 0 ? 0 : 1, isAlternative ? 1 : 0)
    if begun != 0, rules.requiresWholeShortWords {
      for (index, term) in terms.enumerated() where begun & (1 << UInt64(index)) != 0 {
        if term.letters.scalars.count < TypoRules.lettersForBeginning { return nil }
      }
    }
    if missing != 0 {
      guard (missing & unspaced).nonzeroBitCount <= rules.maximumMissingPairs else { return nil }
      let missingSpaced = missing & ~unspaced
      guard missingSpaced == 0 || (rules.omitsShortWords && missingSpaced & ~short == 0) else { return nil }
      worst = 2
      edits += missing.nonzeroBitCount
    }
    return (worst, edits)
  }

  /// Returns the tier and the fraction of a name whose words, with those of the context, are matched with the terms;
  /// `nil` where terms are missing.
  @inline(__always)
  private mutating func judge(
    _ name: NameCoverage, _ kind: NameKind, _ importance: UInt8
  ) -> (tier: TextMatch.Tier, fraction: Double)? {
    steps += terms.count
    guard let kindAndEdits else { return nil }
    return judge(name, kind, importance, kindAndEdits)
  }

  /// Returns the tier and the fraction of a name that has all terms with the context.
  @inline(__always)
  private func judge(
    _ name: NameCoverage, _ kind: NameKind, _ importance: UInt8, _ kindAndEdits: (worst: UInt8, edits: Int)
  ) -> (tier: TextMatch.Tier, fraction: Double) {
    let (worst, edits) = kindAndEdits
    var coverage = scoring.factor(of: kind) * (Double(min(name.covered, letters)) / Double(name.letters))
    if completesLastWord, !name.isBegun { coverage *= TextScore.laterWordFactor }
    let fraction = scoring.fraction(coverage: coverage, edits: edits, importance: importance)
    if isAlternative || worst > 1 { return (.typo, fraction) }
    if worst == 1 || completesLastWord { return (.prefix, fraction) }
    let isExact = name.isSequence && name.words == sequence.count && kind != .abbreviation
    return (isExact ? .exact : .allWords, fraction)
  }

  /// The worst of the kinds of matches of all terms, and the number of edits; `nil` where terms are missing.
  @inline(__always)
  private var kindAndEdits: (worst: UInt8, edits: Int)? {
    var missingPairs = 0
    var (worst, edits): (UInt8, Int) = (0, isAlternative ? 1 : 0)
    for (index, term) in terms.enumerated() {
      let kind = best[index]
      if kind == .max {
        if term.isUnspaced {
          missingPairs += 1
          guard missingPairs <= rules.maximumMissingPairs else { return nil }
        } else {
          guard rules.omitsShortWords, term.isShort else { return nil }
        }
        worst = max(worst, 2)
        edits += 1
      } else {
        if kind == 1, rules.requiresWholeShortWords, term.letters.scalars.count < TypoRules.lettersForBeginning {
          return nil
        }
        worst = max(worst, kind)
        if kind > 1 { edits += Int(kind) - 1 }
      }
    }
    return (worst, edits)
  }

  /// Returns a Boolean value that indicates whether a place has a word for each term that must have one.
  private mutating func hasRequiredTerms(_ entries: UnsafeBufferPointer<UInt32>) -> Bool {
    for position in required.indices {
      let index = required[position]
      steps += entries.count
      var isFound = false
      for entry in entries where isMatch(Int(entry & TextColumns.wordMask), index) {
        isFound = true
        break
      }
      if isFound { continue }
      // The next place is compared with this term first.
      if position > 0 { required.swapAt(0, position) }
      return false
    }
    return true
  }

  @inline(__always)
  private mutating func isMatch(_ word: Int, _ index: Int) -> Bool {
    let term = terms[index]
    return term.word == word || term.begins(word) || edits(word, index) != nil
  }

  /// Matches a word of a place with the terms, and returns the number of its letters that they have.
  @inline(__always)
  private mutating func match(_ word: Int) -> Int {
    var covered = 0
    for (index, term) in terms.enumerated() {
      if term.word == word {
        best[index] = 0
        covered = columns.dictionary.letterCount(word)
      } else if term.begins(word) {
        best[index] = min(best[index], 1)
        covered = max(covered, term.letterCount)
      } else if rules.maximumEdits > 0, best[index] > 1, let edits = edits(word, index) {
        best[index] = min(best[index], UInt8(1 + max(edits, 1)))
        covered = max(covered, min(term.letterCount, columns.dictionary.letterCount(word)) - edits)
      }
    }
    return covered
  }

  /// Returns the edits between a word of a place and a term, which are computed where they are not known; `nil` if
  /// they are too many.
  @inline(__always)
  private mutating func edits(_ word: Int, _ index: Int) -> Int? {
    guard rules.maximumEdits > 0, !columns.dictionary.isUnspaced(word), !terms[index].isUnspaced else { return nil }
    let position = index * JudgedTerms.typosPerTerm + word & (JudgedTerms.typosPerTerm - 1)
    let key = UInt64(word) << 8 | UInt64(rules.key)
    if typos[position] >> 8 != key { typos[position] = key << 8 | UInt64(computedEdits(word, index)) }
    let edits = typos[position] & 0xFF
    return edits == 0xFF ? nil : Int(edits)
  }

  /// Returns the edits between a word of a place and a term; 255 if they are too many.
  @inline(never)
  private mutating func computedEdits(_ word: Int, _ index: Int) -> UInt8 {
    steps += Self.stepsPerDistance
    let dictionary = columns.dictionary
    let edits = rules.edits(terms[index].letters, dictionary.word(word), letters: dictionary.letterCount(word))
    return edits.map { UInt8($0) } ?? .max
  }
}

/// The letters of a name that a query has.
private struct NameCoverage {
  private(set) var words = 0
  private(set) var letters = 0
  private(set) var covered = 0
  private(set) var isSequence = true

  /// A Boolean value that indicates whether the first word of the name matches.
  private(set) var isBegun = false

  @inline(__always)
  mutating func add(letters: Int, covered: Int, isNext: Bool) {
    if words == 0 { isBegun = covered > 0 }
    words += 1
    self.letters += letters
    self.covered += covered
    if !isNext { isSequence = false }
  }
}
