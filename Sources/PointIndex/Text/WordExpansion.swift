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
      freesFirst = rules.freesFirstLetter(of: term)
      edits = WordExpansion.edits(of: term, rules)
      self.part = part
    }
  }

  private let dictionary: WordDictionary
  private let limit: SearchLimit
  private let scalars: ContiguousArray<UInt32>
  private let bytes: ContiguousArray<UInt8>
  private let byteStarts: ContiguousArray<Int>
  private let isBeginning: Bool
  private let freesFirst: Bool
  private var steps = 0

  /// The words found, as ranges that may overlap.
  private(set) var ranges: [Range<Int>] = []

  /// Finds the words that match a word of a query, with and without edits.
  init(of term: QueryTerm, in dictionary: WordDictionary, rules: TypoRules, _ limit: SearchLimit) {
    self.dictionary = dictionary
    self.limit = limit
    scalars = term.scalars
    bytes = term.bytes
    isBeginning = term.isIncomplete
    freesFirst = rules.freesFirstLetter(of: term)
    var starts: ContiguousArray<Int> = [0]
    for scalar in term.scalars { starts.append(starts[starts.count - 1] + Self.utf8Length(scalar)) }
    byteStarts = starts
    let exact = dictionary.words(beginningWith: term.bytes)
    if !exact.isEmpty { ranges.append(exact) }
    guard !term.isUnspaced else { return }
    let edits = Self.edits(of: term, rules)
    if edits > 0 { visit(0..<dictionary.count, depth: 0, index: 0, edits: edits) }
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
    guard !range.isEmpty, steps < Self.maximumSteps, ranges.count < Self.maximumRanges,
      limit.spend(Self.stepsPerNode)
    else { return }
    steps += 1
    if edits == 0 { return lookUp(range, depth: depth, index: index) }
    let rest = scalars.count - index
    if isBeginning, rest <= edits { return found(range) }
    let isFixed = index == 0 && !freesFirst
    if isFixed {
      let child = self.range(of: index..<index + 1, in: range, depth: depth)
      return visit(child, depth: depth + byteStarts[1], index: 1, edits: edits)
    }
    // A deletion: the text has a scalar that the word has not.
    if rest > 0 { visit(range, depth: depth, index: index + 1, edits: edits - 1) }
    var next = range.lowerBound
    if dictionary.word(next).count == depth {
      if rest <= edits { found(next..<next + 1) }
      next += 1
    }
    while next < range.upperBound, steps < Self.maximumSteps {
      let word = dictionary.word(next)
      let (scalar, length) = WordDictionary.scalar(word, at: depth)
      if depth == 0, scalar >= Self.firstUnspaced { break }
      let child = dictionary.words(
        in: next..<range.upperBound, after: depth,
        beginningWith: UnsafeBufferPointer(rebasing: word[depth..<depth + length]))
      next = child.upperBound
      let isEqual = rest > 0 && scalar == scalars[index]
      if isEqual { visit(child, depth: depth + length, index: index + 1, edits: edits) }
      // A replacement, and an insertion: the word has a scalar that the text has not.
      if rest > 0, !isEqual { visit(child, depth: depth + length, index: index + 1, edits: edits - 1) }
      visit(child, depth: depth + length, index: index, edits: edits - 1)
      if rest > 1, scalar == scalars[index + 1], !isEqual {
        let both = self.range(of: index..<index + 1, in: child, depth: depth + length)
        let bothLength = length + byteStarts[index + 1] - byteStarts[index]
        visit(both, depth: depth + bothLength, index: index + 2, edits: edits - 1)
      }
    }
  }

  private func range(of part: Range<Int>, in range: Range<Int>, depth: Int) -> Range<Int> {
    bytes.withUnsafeBufferPointer { bytes in
      dictionary.words(
        in: range, after: depth,
        beginningWith: UnsafeBufferPointer(
          rebasing: bytes[byteStarts[part.lowerBound]..<byteStarts[part.upperBound]]))
    }
  }

  /// Adds the words that end, or go on, with the rest of the text.
  private mutating func lookUp(_ range: Range<Int>, depth: Int, index: Int) {
    let words = self.range(of: index..<scalars.count, in: range, depth: depth)
    guard !words.isEmpty else { return }
    if isBeginning { return found(words) }
    // The shortest of the words is the first.
    let length = depth + byteStarts[scalars.count] - byteStarts[index]
    if dictionary.word(words.lowerBound).count == length { found(words.lowerBound..<words.lowerBound + 1) }
  }

  private mutating func found(_ words: Range<Int>) { ranges.append(words) }
}
