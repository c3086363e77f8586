import Points
import SearchWords

/// A word of a query.
struct QueryTerm: Sendable {
  /// The word in UTF-8.
  let bytes: ContiguousArray<UInt8>

  /// The word's Unicode scalars.
  let scalars: ContiguousArray<UInt32>

  /// The set of the scalars, as bits by their last six bits.
  private let letterSet: UInt64

  /// The number of letters that count for the coverage of a name.
  let letters: Int

  /// A Boolean value that indicates whether the word is of a script without spaces, which has no typos.
  let isUnspaced: Bool

  /// A Boolean value that indicates whether the word is being typed, so that its typos are those of a beginning.
  let isIncomplete: Bool

  /// The words that stand for the word.
  let equivalents: ContiguousArray<ContiguousArray<UInt8>>

  /// A Boolean value that indicates whether the word begins with a digit, as house numbers do.
  var isNumber: Bool { bytes.first.map { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ?? false }

  /// A Boolean value that indicates whether the word is an article, a preposition or the like beside other words, so
  /// that a place may lack it.
  private(set) var isSmall = false

  init(bytes: ContiguousArray<UInt8>, letters: Int, isUnspaced: Bool, isIncomplete: Bool) {
    self.bytes = bytes
    var scalars: ContiguousArray<UInt32> = []
    scalars.reserveCapacity(bytes.count)
    bytes.withUnsafeBufferPointer { bytes in
      var offset = 0
      while offset < bytes.count {
        let (scalar, length) = WordDictionary.scalar(bytes, at: offset)
        scalars.append(scalar)
        offset += length
      }
    }
    self.scalars = scalars
    letterSet = scalars.reduce(0) { $0 | 1 << UInt64($1 & 63) }
    self.letters = letters
    self.isUnspaced = isUnspaced
    self.isIncomplete = isIncomplete
    equivalents = Equivalents.shared.words(for: bytes)
  }

  /// The ends of the scalars in ``bytes``.
  var scalarEnds: ContiguousArray<Int> {
    var ends: ContiguousArray<Int> = []
    for index in bytes.indices.dropFirst() where bytes[index] & 0xC0 != 0x80 { ends.append(index) }
    ends.append(bytes.count)
    return ends
  }

  /// Returns a Boolean value that indicates whether a word stands for this one: of the table, or of other letters.
  func hasEquivalent(_ word: UnsafeBufferPointer<UInt8>) -> Bool {
    equivalents.contains { $0.elementsEqual(word) }
      || LatinLetters.shared.isForm(bytes, of: word, isBeginning: isIncomplete)
  }

  /// Returns a Boolean value that indicates whether the same words match this term and another.
  func isSame(as other: QueryTerm) -> Bool { bytes == other.bytes && isIncomplete == other.isIncomplete }

  /// The letters of a term in plain memory.
  struct Letters: BitwiseCopyable {
    /// The Unicode scalars.
    let scalars: UnsafeBufferPointer<UInt32>

    /// The set of the scalars, as bits by their last six bits.
    let set: UInt64

    /// A Boolean value that indicates whether the term is being typed.
    let isIncomplete: Bool

    /// Returns a Boolean value that indicates whether a word has too many or too few different letters to be within
    /// some edits of these.
    @inline(__always)
    func areSurelyFar(from word: UnsafeBufferPointer<UInt8>, edits: Int) -> Bool {
      var others: UInt64 = 0
      for byte in word {
        // The last six bits of a scalar are those of its last byte.
        if byte & 0xC0 != 0xC0 { others |= 1 << UInt64(byte & 63) }
      }
      // An edit takes away one letter and adds another. Bytes between the first and the last only add bits.
      return (set & ~others).nonzeroBitCount > edits
    }
  }

  /// Returns the letters with the scalars in given memory, which has those of the term and outlives the letters.
  func letters(in scalars: UnsafeBufferPointer<UInt32>) -> Letters {
    Letters(scalars: scalars, set: letterSet, isIncomplete: isIncomplete)
  }

  /// Returns the words of a text.
  static func terms(of text: String, completesLastWord: Bool) -> ContiguousArray<QueryTerm> {
    terms(of: NormalizedText(text), completesLastWord: completesLastWord)
  }

  /// Returns the words of a text in its normal form.
  static func terms(of text: NormalizedText, completesLastWord: Bool) -> ContiguousArray<QueryTerm> {
    var terms = ContiguousArray(
      text.words.enumerated().map { index, word in
        QueryTerm(
          bytes: ContiguousArray(text.bytes[Int(word.start)..<Int(word.end)]), letters: Int(word.letters),
          isUnspaced: word.isUnspaced, isIncomplete: completesLastWord && index == text.words.count - 1)
      })
    noteSmallWords(in: &terms)
    return terms
  }

  /// Notes which terms are small words, if there are others.
  static func noteSmallWords(in terms: inout ContiguousArray<QueryTerm>) {
    let areAllSmall = terms.allSatisfy(\.isSmallWord)
    for index in terms.indices { terms[index].isSmall = !areAllSmall && terms[index].isSmallWord }
  }

  private var isSmallWord: Bool {
    bytes.count <= Self.maximumSmallBytes && !isIncomplete && Self.smallWords.contains(bytes)
  }

  private static let maximumSmallBytes = 8

  /// The articles, prepositions and words for "and" of languages, as they are normalized.
  private static let smallWords = Set(
    """
    the of a an at in on and by for to
    le la les l de du des d et en aux au
    el los las del y e o os as do da dos das
    il lo gli i di della dei delle dell dall all
    der die das den dem am im zum zur und von
    het van op aan bij och pa ja v s i z w
    и в на у с
    """.split { $0.isWhitespace }.map { ContiguousArray($0.utf8) })
}

/// The rules by which a word matches one with typos.
struct TypoRules: BitwiseCopyable {
  /// The number of letters from which a word may have one edit.
  static let lettersForOne = 4

  /// The number of letters from which a word may have two edits.
  static let lettersForTwo = 8

  /// The same where nothing else matches.
  static let lettersForTwoAtLast = 6

  /// The number of letters from which a word may be the beginning of another where words of the text are omitted: one
  /// or two letters are the beginning of too many.
  static let lettersForBeginning = 3

  /// The maximum number of edits of a word: 0, 1 or 2.
  var maximumEdits: Int

  /// A Boolean value that indicates whether the first letter may differ.
  var freesFirstLetter: Bool

  /// A Boolean value that indicates whether words with less than ``lettersForOne`` letters may be missing.
  var omitsShortWords = false

  /// A Boolean value that indicates whether a house number may be missing from the address of a place in the street.
  var omitsHouseNumbers = false

  /// The maximum number of pairs of characters of a script without spaces that may be missing.
  var maximumMissingPairs = 0

  /// A Boolean value that indicates whether terms of less than ``lettersForBeginning`` letters match whole words only.
  var requiresWholeShortWords = false

  /// A Boolean value that indicates whether words of ``lettersForTwoAtLast`` letters may have two edits.
  var allowsTwoAtLast = false

  /// A Boolean value that indicates whether words of three letters may have one edit and words of four two.
  var isLenient = false

  /// A number that stands for the rules that edits depend on.
  @inline(__always)
  var key: UInt8 {
    UInt8(maximumEdits) << 3 | (allowsTwoAtLast ? 4 : 0) | (freesFirstLetter ? 2 : 0) | (isLenient ? 1 : 0)
  }

  /// No typos.
  static let none = TypoRules(maximumEdits: 0, freesFirstLetter: false)

  /// Returns the maximum number of edits between two words, by the length of the longer one.
  @inline(__always)
  func edits(letters: Int) -> Int {
    let forTwo =
      isLenient ? Self.lettersForOne : allowsTwoAtLast ? Self.lettersForTwoAtLast : Self.lettersForTwo
    let forOne = isLenient ? Self.lettersForOne - 1 : Self.lettersForOne
    return letters < forOne ? 0 : letters < forTwo ? min(maximumEdits, 1) : maximumEdits
  }

  /// Returns a Boolean value that indicates whether the first letter of a word of a query may differ.
  @inline(__always)
  func freesFirstLetter(ofLetters count: Int) -> Bool {
    freesFirstLetter || (maximumEdits == 2 && count >= Self.lettersForTwo)
  }

  /// Returns the number of edits between a word of a query and a place's, or `nil` if they are too many.
  ///
  /// The distance is that of optimal string alignment: insertions, deletions, replacements and transpositions of
  /// neighbours, no part being edited twice. O(n · edits).
  func edits(_ term: QueryTerm, _ word: UnsafeBufferPointer<UInt8>, letters: Int) -> Int? {
    term.scalars.withUnsafeBufferPointer { edits(term.letters(in: $0), word, letters: letters) }
  }

  /// Returns the number of edits between the letters of a word of a query and a place's word.
  func edits(_ term: QueryTerm.Letters, _ word: UnsafeBufferPointer<UInt8>, letters: Int) -> Int? {
    let count = term.scalars.count
    let allowed = edits(letters: term.isIncomplete ? count : max(count, letters))
    guard allowed > 0 else { return nil }
    if letters + allowed < count || (!term.isIncomplete && letters > count + allowed) { return nil }
    if term.areSurelyFar(from: word, edits: allowed) { return nil }
    if !freesFirstLetter(ofLetters: count), term.scalars[0] != WordDictionary.scalar(word, at: 0).value { return nil }
    return Self.distance(term.scalars, word, allowed: allowed, isBeginning: term.isIncomplete)
  }

  /// Returns the distance of a text to a word, or to the beginning of it that is nearest; `nil` if it is not
  /// allowed.
  private static func distance(
    _ text: UnsafeBufferPointer<UInt32>, _ word: UnsafeBufferPointer<UInt8>, allowed: Int, isBeginning: Bool
  ) -> Int? {
    let width = text.count + 1
    return withUnsafeTemporaryAllocation(of: Int32.self, capacity: 3 * width) { rows in
      var (before, last, next) = (rows.baseAddress!, rows.baseAddress! + width, rows.baseAddress! + 2 * width)
      for column in 0..<width { last[column] = Int32(column) }
      let tooFar = Int32(allowed + 1)
      var (offset, row, previous) = (0, 0, UInt32.max)
      var best = isBeginning ? last[text.count] : tooFar
      while offset < word.count {
        let (scalar, length) = WordDictionary.scalar(word, at: offset)
        offset += length
        row += 1
        next[0] = Int32(row)
        var least = next[0]
        // Only cells near the diagonal can be within the allowed distance.
        let (low, high) = (max(1, row - allowed), min(text.count, row + allowed))
        if low > high { return best < tooFar ? Int(best) : nil }
        if low > 1 { next[low - 1] = tooFar }
        for column in low...high {
          var cell = last[column - 1] + (text[column - 1] == scalar ? 0 : 1)
          cell = min(cell, next[column - 1] + 1)
          if column < row + allowed { cell = min(cell, last[column] + 1) }
          if column > 1, row > 1, text[column - 1] == previous, text[column - 2] == scalar {
            cell = min(cell, before[column - 2] + 1)
          }
          next[column] = cell
          least = min(least, cell)
        }
        if least > tooFar - 1 { return best < tooFar ? Int(best) : nil }
        if isBeginning, high == text.count { best = min(best, next[text.count]) }
        previous = scalar
        (before, last, next) = (last, next, before)
      }
      if !isBeginning, row + allowed >= text.count { best = last[text.count] }
      return best < tooFar ? Int(best) : nil
    }
  }
}

/// A search for the words of a dictionary within one or two edits of a word.
///
/// The sorted dictionary is walked as a trie, whose nodes are ranges of words with a common beginning. Where no edit is
/// left the rest is looked up; so one edit costs some hundred look-ups whatever the size of the dictionary is. The work
/// is bounded by ``maximumSteps``.
struct WordExpansion {
  /// The maximum number of nodes that are visited.
  static let maximumSteps = 30_000

  /// The maximum number of ranges of words that are found.
  static let maximumRanges = 2_000

  /// The first scalar of scripts that have no typos, which follow all others but rare ones.
  private static let firstUnspaced: UInt32 = 0x2E80

  /// The properties of a term that determine the words near it.
  struct Key: Hashable {
    private let bytes: ContiguousArray<UInt8>
    private let isBeginning: Bool
    private let freesFirst: Bool
    private let edits: Int
    private let part: Int

    init(_ term: QueryTerm, _ rules: TypoRules, part: Int) {
      bytes = term.bytes
      isBeginning = term.isIncomplete
      freesFirst = rules.freesFirstLetter(ofLetters: term.scalars.count)
      edits = WordExpansion.edits(of: term, rules)
      self.part = part
    }
  }

  private let dictionary: WordDictionary
  private let limit: SearchLimit
  private let scalars: ContiguousArray<UInt32>
  private let byteStarts: ContiguousArray<Int>

  /// The bytes from each scalar on, and none; in the memory of the term while words are searched.
  private var rests: ContiguousArray<WordDictionary.Prefix> = []
  private let isBeginning: Bool
  private let freesFirst: Bool
  private let maximumSteps: Int
  private let maximumRanges: Int
  private var steps = 0

  /// The words found, as ranges that may overlap.
  private(set) var ranges: [Range<Int>] = []

  /// Finds the words that match a word of a query, with and without edits.
  ///
  /// - Parameter isBounded: a Boolean value that indicates whether the numbers of nodes and of ranges are limited. They
  ///   depend on words that the caller may not know of.
  init(
    of term: QueryTerm, in dictionary: WordDictionary, rules: TypoRules, _ limit: SearchLimit, isBounded: Bool = true
  ) {
    self.dictionary = dictionary
    (maximumSteps, maximumRanges) = isBounded ? (Self.maximumSteps, Self.maximumRanges) : (.max, .max)
    self.limit = limit
    scalars = term.scalars
    isBeginning = term.isIncomplete
    freesFirst = rules.freesFirstLetter(ofLetters: term.scalars.count)
    var starts: ContiguousArray<Int> = [0]
    for scalar in term.scalars { starts.append(starts[starts.count - 1] + Self.utf8Length(scalar)) }
    byteStarts = starts
    let exact = dictionary.words(beginningWith: term.bytes)
    if !exact.isEmpty { ranges.append(exact) }
    guard !term.isUnspaced else { return }
    let edits = Self.edits(of: term, rules)
    guard edits > 0 else { return }
    term.bytes.withUnsafeBufferPointer { bytes in
      rests = ContiguousArray(starts.map { .init(UnsafeBufferPointer(rebasing: bytes[$0...])) })
      visit(0..<dictionary.count, depth: 0, index: 0, edits: edits)
      rests = []
    }
  }

  private static func edits(of term: QueryTerm, _ rules: TypoRules) -> Int {
    // A word of the dictionary may be longer, and then have more edits.
    rules.edits(letters: term.scalars.count + (term.isIncomplete ? 0 : rules.maximumEdits))
  }

  /// The number of steps of the search for a node.
  private static let stepsPerNode = 40

  private static func utf8Length(_ scalar: UInt32) -> Int {
    scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4
  }

  /// Visits the words of a range, which have their first bytes in common.
  ///
  /// - Parameters:
  ///   - depth: the number of common bytes.
  ///   - index: the number of scalars of the text that they stand for.
  ///   - edits: the number of edits that are left.
  private mutating func visit(_ range: Range<Int>, depth: Int, index: Int, edits: Int) {
    guard !range.isEmpty, steps < maximumSteps, ranges.count < maximumRanges,
      limit.spend(Self.stepsPerNode)
    else { return }
    steps += 1
    if edits == 0 {
      lookUp(range, depth: depth, index: index)
      return
    }
    let rest = scalars.count - index
    if isBeginning, rest <= edits { return found(range) }
    let isFixed = index == 0 && !freesFirst
    if isFixed {
      return visit(
        words(in: range, after: depth, withScalar: index), depth: depth + byteStarts[1], index: 1, edits: edits)
    }
    // A deletion: the text has a scalar that the word has not.
    if rest > 0 { visit(range, depth: depth, index: index + 1, edits: edits - 1) }
    var next = range.lowerBound
    if dictionary.word(next).count == depth {
      if rest <= edits { found(next..<next + 1) }
      next += 1
    }
    while next < range.upperBound, steps < maximumSteps, !limit.isExpired {
      let word = dictionary.word(next)
      let (scalar, length) = WordDictionary.scalar(word, at: depth)
      if depth == 0, scalar >= Self.firstUnspaced { break }
      let child = next..<dictionary.end(ofScalarIn: next..<range.upperBound, after: depth, length: length)
      next = child.upperBound
      let isEqual = rest > 0 && scalar == scalars[index]
      if isEqual { visit(child, depth: depth + length, index: index + 1, edits: edits) }
      // A replacement, and an insertion: the word has a scalar that the text has not.
      if rest > 0, !isEqual { visit(child, depth: depth + length, index: index + 1, edits: edits - 1) }
      visit(child, depth: depth + length, index: index, edits: edits - 1)
      if rest > 1, scalar == scalars[index + 1], !isEqual {
        let both = words(in: child, after: depth + length, withScalar: index)
        let bothLength = length + byteStarts[index + 1] - byteStarts[index]
        visit(both, depth: depth + bothLength, index: index + 2, edits: edits - 1)
      }
    }
  }

  /// Returns the words of a range that go on with a scalar of the text.
  private func words(in range: Range<Int>, after depth: Int, withScalar index: Int) -> Range<Int> {
    dictionary.words(
      in: range, after: depth, beginningWith: rests[index].prefix(byteStarts[index + 1] - byteStarts[index]))
  }

  /// Adds the words that end, or go on, with the rest of the text.
  @inline(__always)
  private mutating func lookUp(_ range: Range<Int>, depth: Int, index: Int) {
    if isBeginning {
      let words = dictionary.words(in: range, after: depth, beginningWith: rests[index])
      if !words.isEmpty { found(words) }
    } else if let word = dictionary.number(in: range, after: depth, endingWith: rests[index]) {
      found(word..<word + 1)
    }
  }

  private mutating func found(_ words: Range<Int>) { ranges.append(words) }
}
