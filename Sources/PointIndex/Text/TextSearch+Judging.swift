import Points

extension TextSearch {
  /// Returns the tier of the place in a slot and the fraction of its score without the bonus; `nil` where it does not
  /// match.
  func judge(_ slot: Int, in part: TextPart) -> (tier: TextMatch.Tier, fraction: Double)? {
    let columns = part.columns
    for term in best.indices { best[term] = .max }
    var name = NameCoverage()
    var coverage = 0.0
    var isExact = false
    let entries = UnsafeBufferPointer(
      start: columns.entries + Int(columns.entryStarts[slot]),
      count: Int(columns.entryStarts[slot + 1] - columns.entryStarts[slot]))
    let isCategory = tiers.upperBound == .category
    steps += entries.count
    if requiredTerms.count > Self.manyTerms, !hasRequiredTerms(entries, in: part) { return nil }
    for entry in entries {
      let word = Int(entry & TextColumns.wordMask)
      let covered = match(word, in: part)
      if entry & TextColumns.context != 0 { continue }
      let isNext = name.words < terms.count && part.exactWords[name.words] == word
      name.add(letters: columns.dictionary.letterCount(word), covered: covered, isNext: isNext)
      if entry & TextColumns.nameEnd == 0 { continue }
      coverage = max(coverage, Double(min(name.covered, letters)) / Double(name.letters))
      if name.isSequence, name.words == terms.count { isExact = true }
      name = NameCoverage()
    }
    guard isCategory ? coverage == 0 && isNamed(slot, in: part) : coverage > 0 else { return nil }
    var missingPairs = 0
    var (worst, edits): (UInt8, Int) = (0, isAlternative ? 1 : 0)
    for index in distinctTerms {
      let kind = best[index]
      if kind == .max {
        if terms[index].isUnspaced {
          missingPairs += 1
          guard missingPairs <= rules.maximumMissingPairs else { return nil }
        } else {
          guard rules.omitsShortWords, terms[index].scalars.count < TypoRules.lettersForOne else { return nil }
        }
        worst = max(worst, 2)
        edits += 1
      } else {
        worst = max(worst, kind)
        if kind > 1 { edits += Int(kind) - 1 }
      }
    }
    steps += entries.count * distinctTerms.count
    let fraction = TextScore.fraction(
      coverage: coverage, edits: edits, importance: columns.places[slot].bounds.importance)
    if isCategory { return (.category, fraction) }
    if isAlternative || worst > 1 { return (.typo, fraction) }
    return (worst == 1 ? .prefix : isExact ? .exact : .allWords, fraction)
  }

  /// The number of required terms up to which a place is judged at once: its first words are those of the postings.
  private static let manyTerms = 2

  /// Returns a Boolean value that indicates whether a place has a word for each term that must have one.
  private func hasRequiredTerms(_ entries: UnsafeBufferPointer<UInt32>, in part: TextPart) -> Bool {
    for position in requiredTerms.indices {
      let index = requiredTerms[position]
      steps += entries.count
      if entries.contains(where: { isMatch(Int($0 & TextColumns.wordMask), index, in: part) }) { continue }
      // The next place is compared with this term first.
      if position > 0 { requiredTerms.swapAt(0, position) }
      return false
    }
    return true
  }

  /// Returns a Boolean value that indicates whether the category of the place in a slot is named by the text.
  private func isNamed(_ slot: Int, in part: TextPart) -> Bool {
    part.namedCategories.contains(part.segment.records.category(at: slot))
  }

  @inline(__always)
  private func isMatch(_ word: Int, _ index: Int, in part: TextPart) -> Bool {
    part.exactWords[index] == word || part.prefixWords[index].contains(word) || edits(word, index, in: part) != nil
  }

  /// Returns the edits between a word of a place and a term; `nil` where they are too many.
  @inline(__always)
  private func edits(_ word: Int, _ index: Int, in part: TextPart) -> Int? {
    let dictionary = part.columns.dictionary
    guard rules.maximumEdits > 0, !dictionary.isUnspaced(word), !terms[index].isUnspaced else { return nil }
    return typos[index].edits(
      word, of: part.number, rules,
      computedBy: {
        steps += Self.stepsPerDistance
        return rules.edits(terms[index], dictionary.word(word), letters: dictionary.letterCount(word))
      })
  }

  /// The number of steps to compute the edits between two words.
  private static let stepsPerDistance = 24

  /// Matches a word of a place with the terms, and returns the number of its letters that they have.
  @inline(__always)
  private func match(_ word: Int, in part: TextPart) -> Int {
    let dictionary = part.columns.dictionary
    var covered = 0
    for index in distinctTerms {
      if part.exactWords[index] == word {
        best[index] = 0
        covered = dictionary.letterCount(word)
      } else if part.prefixWords[index].contains(word) {
        best[index] = min(best[index], 1)
        covered = max(covered, terms[index].letters)
      } else if best[index] > 1, let edits = edits(word, index, in: part) {
        best[index] = min(best[index], UInt8(1 + max(edits, 1)))
        covered = max(covered, min(terms[index].letters, dictionary.letterCount(word)) - edits)
      }
    }
    return covered
  }
}

/// The edits between a term and the words that it was compared with last: names share words.
struct TypoCache {
  private static let size = 256

  private var keys: ContiguousArray<UInt64> = []
  private var values: ContiguousArray<UInt8> = []

  /// Returns the edits, which are computed where they are not known; `nil` where they are too many.
  @inline(__always)
  mutating func edits(_ word: Int, of part: UInt32, _ rules: TypoRules, computedBy compute: () -> Int?) -> Int? {
    if keys.isEmpty {
      keys = ContiguousArray(repeating: .max, count: Self.size)
      values = ContiguousArray(repeating: 0, count: Self.size)
    }
    let key = UInt64(word) << 24 | UInt64(part & 0xFFFF) << 8 | UInt64(rules.key)
    let index = word & (Self.size - 1)
    if keys[index] != key {
      keys[index] = key
      values[index] = UInt8(compute() ?? 255)
    }
    return values[index] == 255 ? nil : Int(values[index])
  }
}

/// The letters of a name that a query has.
private struct NameCoverage {
  private(set) var words = 0
  private(set) var letters = 0
  private(set) var covered = 0
  private(set) var isSequence = true

  @inline(__always)
  mutating func add(letters: Int, covered: Int, isNext: Bool) {
    words += 1
    self.letters += letters
    self.covered += covered
    if !isNext { isSequence = false }
  }
}
