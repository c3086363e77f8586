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

    /// A Boolean value that indicates whether the term may be missing from an address where the rules allow it for house
    /// numbers.
    let isNumber: Bool

    /// The first of the words of other letters than the term's Latin ones, and their number; 0 if it has such letters.
    let firstOfOtherLetters: Int
    let otherLettersCount: UInt

    /// Returns a Boolean value that indicates whether a word is of other letters than the term.
    @inline(__always)
    func hasOtherLetters(_ word: Int) -> Bool { UInt(bitPattern: word &- firstOfOtherLetters) < otherLettersCount }

    /// The words that stand for the term.
    let equivalents: UnsafeBufferPointer<Range<Int>>

    /// Returns a Boolean value that indicates whether a word stands for the term.
    @inline(__always)
    func hasEquivalent(_ word: Int) -> Bool { !equivalents.isEmpty && equivalents.contains { $0.contains(word) } }

    /// A Boolean value that indicates whether the term may be missing by all rules.
    let isSmall: Bool

    /// Returns a Boolean value that indicates whether a word is the term or begins with it.
    @inline(__always)
    func begins(_ word: Int) -> Bool { UInt(bitPattern: word &- firstWord) < wordCount }
  }

  fileprivate let terms: UnsafeMutableBufferPointer<Term>

  /// The Unicode scalars of the terms, one term after another.
  private let scalars: UnsafeMutableBufferPointer<UInt32>

  /// The words that stand for the terms, one term after another.
  private let equivalents: UnsafeMutableBufferPointer<Range<Int>>

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

  /// The small words of the query, and those of them that may be missing by the present rules.
  private let smallWords: UInt64
  fileprivate var small: UInt64

  /// Creates the terms at some indices.
  init(
    _ terms: ContiguousArray<QueryTerm>, at indices: ContiguousArray<Int>, exactWords: ContiguousArray<Int>,
    prefixWords: ContiguousArray<Range<Int>>, equivalentWords: ContiguousArray<ContiguousArray<Range<Int>>>,
    wordsOfOtherLetters: Range<Int>
  ) {
    let count = indices.count
    var (unspaced, short, small): (UInt64, UInt64, UInt64) = (0, 0, 0)
    self.terms = .allocate(capacity: count)
    scalars = .allocate(capacity: indices.reduce(0) { $0 + terms[$1].scalars.count })
    equivalents = .allocate(capacity: indices.reduce(0) { $0 + equivalentWords[$1].count })
    var (start, equivalentStart) = (0, 0)
    for (position, index) in indices.enumerated() {
      let (term, words) = (terms[index], prefixWords[index])
      let end = scalars[start...].initialize(fromContentsOf: term.scalars)
      let equivalentEnd = equivalents[equivalentStart...].initialize(fromContentsOf: equivalentWords[index])
      self.terms.initializeElement(
        at: position,
        to: Term(
          word: exactWords[index], firstWord: words.lowerBound, wordCount: UInt(words.count),
          letters: term.letters(in: UnsafeBufferPointer(rebasing: scalars[start..<end])), letterCount: term.letters,
          isUnspaced: term.isUnspaced, isShort: !term.isUnspaced && term.scalars.count < TypoRules.lettersForOne,
          isNumber: term.isNumber,
          firstOfOtherLetters: wordsOfOtherLetters.lowerBound,
          otherLettersCount: LatinLetters.isLatin(term.bytes) ? UInt(wordsOfOtherLetters.count) : 0,
          equivalents: UnsafeBufferPointer(rebasing: equivalents[equivalentStart..<equivalentEnd]),
          isSmall: term.isSmall))
      (start, equivalentStart) = (end, equivalentEnd)
      // Shifted out where there are more terms than bits.
      if term.isUnspaced { unspaced |= 1 << position }
      if self.terms[position].isShort { short |= 1 << position }
      if term.isSmall { small |= 1 << position }
    }
    (self.unspaced, self.short, smallWords, self.small) = (unspaced, short, small, small)
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
    equivalents.deallocate()
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
    small = smallWords
    for (index, term) in terms.enumerated() {
      // Beside typos, a letter alone is likely a part of another word.
      let isSmall = term.isSmall && (rules.maximumEdits == 0 || term.letters.scalars.count > 1)
      if isSmall { continue }
      if index < UInt64.bitWidth { small &= ~(1 << UInt64(index)) }
      if term.isUnspaced ? rules.maximumMissingPairs > 0 : term.isShort && rules.omitsShortWords { continue }
      if rules.omitsHouseNumbers, term.isNumber { continue }
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
  private let small: UInt64
  private let rules: TypoRules
  private let scoring: TextScore
  private let letters: Int
  private let isCategory: Bool
  private let isReading: Bool
  private let role: Role
  private let completesLastWord: Bool

  /// The steps since they were taken last.
  private var steps = 0

  /// The number of required terms up to which a place is judged at once: its first words are those of the postings.
  private static let manyTerms = 2

  /// The number of steps to compute the edits between two words.
  private static let stepsPerDistance = 24

  /// The relation of terms to the text of a query.
  enum Role {
    /// The text, or a part of it.
    case text
    /// The text with words joined or separated, which are those of places.
    case variant
    /// The text with other words than it has, so that matches are typos.
    case typo
    /// Those beside a name of the category: a name that has them has all of the text.
    case besideCategory
    /// The name of the category, near which places are searched.
    case categoryAlone
  }

  /// Creates the judgement by the present rules. The terms and the part must outlive it.
  ///
  /// - Parameters:
  ///   - letters: the number of letters of the query.
  ///   - isCategory: a Boolean value that indicates whether the places are of a category that the text names, and match
  ///     without a word in a name.
  ///   - isReading: a Boolean value that indicates whether the terms are those beside the name of the category, and may be
  ///     in a name.
  ///   - role: what the terms are.
  ///   - usesSets: a Boolean value that indicates whether terms are compared as sets where that is possible.
  init(
    _ terms: JudgedTerms, in columns: TextColumns, _ rules: TypoRules, _ scoring: TextScore, letters: Int,
    isCategory: Bool, isReading: Bool, role: Role, completesLastWord: Bool, usesSets: Bool = true
  ) {
    if rules.maximumEdits == 0, usesSets { terms.prepareWords() }
    words = rules.maximumEdits == 0 && usesSets ? terms.words.baseAddress : nil
    allTerms = terms.terms.count < UInt64.bitWidth ? 1 << UInt64(terms.terms.count) - 1 : .max
    (unspaced, short, small) = (terms.unspaced, terms.short, terms.small)
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
    self.role = role
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
    if role == .categoryAlone { return category(slot) }
    if let words { return judge(slot, entries, words) }
    // With typos, to match all terms takes longer than to look for the one that is missing.
    let many = rules.maximumEdits > 0 ? 1 : Self.manyTerms
    if required.count > many, !hasRequiredTerms(entries) { return nil }
    for term in best.indices { best[term] = .max }
    var namesEnd = entries.count
    while namesEnd > 0, entries[namesEnd - 1] & TextColumns.context != 0 {
      namesEnd -= 1
      _ = match(Int(entries[namesEnd] & TextColumns.wordMask))
    }
    for term in best.indices { bestOfContext[term] = best[term] }
    let importance = columns.places[slot].importance
    var found = isReading ? nil : addressMatch(entries[namesEnd...], importance)
    if isCategory, found != nil { return nil }
    var name = NameCoverage()
    for entry in entries[..<namesEnd] {
      let word = Int(entry & TextColumns.wordMask)
      let covered = match(word)
      if TextColumns.isVariant(entry) {
        name.addVariant(entry, letters: columns.dictionary.letterCount(word), covered: covered)
        continue
      }
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
    if isCategory, role != .besideCategory || found == nil {
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
    var found = isReading ? nil : addressMatch(entries[namesEnd...], context, words, importance)
    if isCategory, found != nil { return nil }
    var name = NameCoverage()
    var sets = context
    for entry in entries[..<namesEnd] {
      let word = matched(entry, words)
      sets.formUnion(word.terms)
      let number = Int(word.word)
      if TextColumns.isVariant(entry) {
        name.addVariant(entry, letters: columns.dictionary.letterCount(number), covered: Int(word.covered))
        continue
      }
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
    if isCategory, role != .besideCategory || found == nil {
      // Whatever a name has of the text, so that a place has one score for all readings of it.
      guard found != nil || kindAndEdits(context) != nil else { return nil }
      found = (.category, scoring.fraction(coverage: 0, edits: 0, importance: importance))
    }
    if found != nil { steps += entries.count * terms.count }
    return found
  }

  /// Returns the judgement of a place of a category that the whole text names: near a location, that of a place with the
  /// text as its name.
  private func category(_ slot: Int) -> (tier: TextMatch.Tier, fraction: Double) {
    let importance = columns.places[slot].importance
    guard scoring.isBiased else { return (.category, scoring.fraction(coverage: 0, edits: 0, importance: importance)) }
    let edits = rules.maximumEdits
    let tier: TextMatch.Tier = edits > 0 ? .typo : completesLastWord ? .prefix : .exact
    return (tier, scoring.fraction(coverage: 1, edits: edits, importance: importance))
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
      } else if term.hasEquivalent(word) {
        sets.whole |= 1 << UInt64(index)
        covered = max(covered, lettersOfEquivalent(word, of: term))
      } else if term.begins(word) {
        sets.begun |= 1 << UInt64(index)
        covered = max(covered, term.letterCount)
      }
    }
    return MatchedWord(word: number, covered: UInt32(covered), terms: sets)
  }

  /// Returns the number of letters of a word that a term has for which the word stands: one less than its own, so that
  /// the words of the text come first, and fewer of a word of other letters.
  private func lettersOfEquivalent(_ word: Int, of term: JudgedTerms.Term) -> Int {
    let letters = columns.dictionary.letterCount(word)
    return max(1, term.hasOtherLetters(word) ? letters * 3 / 5 : letters - 1)
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

  /// The worst of the kinds of matches of all terms, the number of edits, and whether a small word is missing; `nil` where
  /// other terms are.
  @inline(__always)
  private func kindAndEdits(_ sets: TermSets) -> (worst: UInt8, edits: Int, missesSmallWord: Bool)? {
    let begun = sets.begun & ~sets.whole
    var missing = allTerms & ~(sets.whole | sets.begun)
    var (worst, edits): (UInt8, Int) = (begun == 0 ? 0 : 1, ownEdits)
    let missesSmallWord = missing & small != 0
    if missesSmallWord {
      edits += (missing & small).nonzeroBitCount
      missing &= ~small
    }
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
    return (worst, edits, missesSmallWord)
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
    _ name: NameCoverage, _ kind: NameKind, _ importance: UInt8,
    _ kindAndEdits: (worst: UInt8, edits: Int, missesSmallWord: Bool)
  ) -> (tier: TextMatch.Tier, fraction: Double) {
    let (worst, edits, missesSmallWord) = kindAndEdits
    let part = Double(min(name.covered, letters)) / Double(name.letters)
    let coverage = scoring.factor(of: kind) * part
    var fraction = scoring.fraction(coverage: coverage, edits: edits, importance: importance)
    if completesLastWord { fraction *= scoring.typedFactor(of: kind, coverage: part, isBegun: name.isBegun) }
    if role == .typo || worst > 1 { return (.typo, fraction) }
    if completesLastWord { return (missesSmallWord ? .typo : .prefix, fraction) }
    if worst == 1 || missesSmallWord { return (.prefix, fraction) }
    let isExact = name.isSequence && name.words == sequence.count && kind != .abbreviation && role == .text
    return (isExact ? .exact : .allWords, fraction)
  }

  /// The number of edits by which the terms differ from the text.
  private var ownEdits: Int { role == .text ? 0 : 1 }

  /// The worst of the kinds of matches of all terms, the number of edits, and whether a small word is missing; `nil` where
  /// other terms are.
  @inline(__always)
  private var kindAndEdits: (worst: UInt8, edits: Int, missesSmallWord: Bool)? {
    kindAndEdits(omitting: { _ in false })
  }

  /// Returns the same where further terms may be missing.
  @inline(__always)
  private func kindAndEdits(
    omitting isOmitted: (JudgedTerms.Term) -> Bool
  ) -> (worst: UInt8, edits: Int, missesSmallWord: Bool)? {
    var missingPairs = 0
    var missingSmallWords = 0
    var (worst, edits): (UInt8, Int) = (0, ownEdits)
    for (index, term) in terms.enumerated() {
      let kind = best[index]
      if kind == .max {
        if term.isSmall, rules.maximumEdits == 0 || term.letters.scalars.count > 1 {
          missingSmallWords += 1
          continue
        }
        if term.isUnspaced {
          missingPairs += 1
          guard missingPairs <= rules.maximumMissingPairs else { return nil }
        } else {
          guard rules.omitsShortWords && term.isShort || isOmitted(term) else { return nil }
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
    return (worst, edits + missingSmallWords, missingSmallWords > 0)
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
    return term.word == word || term.begins(word) || term.hasEquivalent(word) || edits(word, index) != nil
  }

  /// Matches a word of a place with the terms, and returns the number of its letters that they have.
  @inline(__always)
  private mutating func match(_ word: Int) -> Int {
    var covered = 0
    for (index, term) in terms.enumerated() {
      if term.word == word {
        best[index] = 0
        covered = columns.dictionary.letterCount(word)
      } else if term.hasEquivalent(word) {
        best[index] = 0
        covered = max(covered, lettersOfEquivalent(word, of: term))
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

  // MARK: Addresses

  /// Returns the tier and the fraction of a place whose category and address have all terms, and its street one of them;
  /// `nil` if it does not match so.
  @inline(__always)
  private mutating func addressMatch(
    _ entries: Slice<UnsafeBufferPointer<UInt32>>, _ sets: TermSets, _ words: UnsafeMutablePointer<MatchedWord>,
    _ importance: UInt8
  ) -> (tier: TextMatch.Tier, fraction: Double)? {
    guard sets.whole | sets.begun != 0, let kindAndEdits = kindAndEdits(sets) else { return nil }
    var address = AddressCoverage()
    for entry in entries where TextColumns.addressPart(of: entry) != .other {
      let word = matched(entry, words)
      let letters = columns.dictionary.letterCount(Int(word.word))
      address.add(
        TextColumns.addressPart(of: entry), letters: letters, covered: Int(word.covered),
        isWhole: Int(word.covered) == letters)
    }
    return judge(address, importance, kindAndEdits)
  }

  /// Returns the same by rules with typos, after the words of the category and the address were matched.
  private mutating func addressMatch(
    _ entries: Slice<UnsafeBufferPointer<UInt32>>, _ importance: UInt8
  ) -> (tier: TextMatch.Tier, fraction: Double)? {
    var (kindAndEdits, omitsNumber) = (kindAndEdits, false)
    if kindAndEdits == nil, rules.omitsHouseNumbers {
      kindAndEdits = self.kindAndEdits(omitting: { $0.isNumber })
      omitsNumber = true
    }
    guard let kindAndEdits else { return nil }
    var address = AddressCoverage()
    for entry in entries where TextColumns.addressPart(of: entry) != .other {
      let word = Int(entry & TextColumns.wordMask)
      let letters = columns.dictionary.letterCount(word)
      let covered = match(word)
      address.add(
        TextColumns.addressPart(of: entry), letters: letters, covered: covered, isWhole: covered == letters)
    }
    if omitsNumber, !address.hasWholeStreet { return nil }
    return judge(address, importance, kindAndEdits)
  }

  /// Returns the tier and the fraction of an address that has all terms; `nil` if too little of the street is among
  /// them: `restaurant` does not find the places in Restaurant Row.
  @inline(__always)
  private func judge(
    _ address: AddressCoverage, _ importance: UInt8,
    _ kindAndEdits: (worst: UInt8, edits: Int, missesSmallWord: Bool)
  ) -> (tier: TextMatch.Tier, fraction: Double)? {
    let isTyped = completesLastWord && address.leadingWords > 0
    guard address.matchedWords > 0,
      address.hasWholeStreet || address.hasNumber || address.matchedWords > 1 || isTyped
    else { return nil }
    let (worst, edits, missesSmallWord) = kindAndEdits
    let isAddress = address.hasNumber || (address.hasWholeStreet && terms.count > 1)
    var coverage = Double(min(address.covered, letters)) / Double(address.letters)
    if completesLastWord, terms.count > 1, address.leadingWords >= terms.count {
      coverage = max(coverage, TextScore.beginningOfStreet)
    } else {
      coverage *= scoring.addressFactor(isAddress: isAddress, isWholeNumber: address.hasWholeNumber)
      if completesLastWord, address.leadingWords == 0 { coverage *= TextScore.laterWordFactor }
    }
    let fraction = scoring.fraction(coverage: coverage, edits: edits, importance: importance)
    if role == .typo || worst > 1 { return (.typo, fraction) }
    if completesLastWord { return (missesSmallWord ? .typo : .prefix, fraction) }
    return (worst == 1 || missesSmallWord ? .prefix : .allWords, fraction)
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

/// The letters of a street that a query has, and whether it has the house number.
private struct AddressCoverage {
  private(set) var letters = 0
  private(set) var covered = 0
  private(set) var hasWholeNumber = false
  private(set) var hasNumber = false

  /// A Boolean value that indicates whether each word of the street matches.
  private(set) var hasWholeStreet = true

  /// The numbers of words of the street that match, and of those of them at its beginning.
  private(set) var matchedWords = 0
  private(set) var leadingWords = 0

  @inline(__always)
  mutating func add(_ part: AddressPart, letters: Int, covered: Int, isWhole: Bool) {
    switch part {
    case .street:
      self.letters += letters
      self.covered += covered
      if covered == 0 {
        hasWholeStreet = false
      } else {
        matchedWords += 1
        if hasWholeStreet { leadingWords += 1 }
      }
    case .number: if isWhole { (hasNumber, hasWholeNumber) = (true, true) }
    case .partOfNumber: if isWhole { hasNumber = true }
    case .other: break
    }
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

  /// The letters of the words that a variant stands for, and those of these that the query has.
  private var variantLetters = 0
  private var variantCovered = 0

  /// Adds another form of the words that follow.
  @inline(__always)
  mutating func addVariant(_ entry: UInt32, letters: Int, covered: Int) {
    guard covered > 0 else { return }
    let isWhole = covered >= letters
    if TextColumns.isJoined(entry) {
      (variantLetters, variantCovered) = (letters, covered)
    } else {
      // Of one word, whatever its length is.
      (variantLetters, variantCovered) = (1, max(variantCovered, isWhole ? .max : covered))
    }
  }

  @inline(__always)
  mutating func add(letters: Int, covered own: Int, isNext: Bool) {
    var covered = own
    if variantLetters > 0 {
      let part = min(letters, variantCovered)
      covered = max(own, part)
      variantLetters -= letters
      variantCovered = variantLetters > 0 ? variantCovered - part : 0
    }
    if words == 0 { isBegun = covered > 0 }
    words += 1
    self.letters += letters
    self.covered += covered
    if !isNext { isSequence = false }
  }
}
