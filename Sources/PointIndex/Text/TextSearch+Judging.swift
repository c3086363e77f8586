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
    guard coverage > 0 else { return nil }
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
    let fraction = TextScore.fraction(
      coverage: coverage, edits: edits, importance: columns.places[slot].bounds.importance)
    if isAlternative || worst > 1 { return (.typo, fraction) }
    return (worst == 1 ? .prefix : isExact ? .exact : .allWords, fraction)
  }

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
      } else if rules.maximumEdits > 0, best[index] > 1, !dictionary.isUnspaced(word), !terms[index].isUnspaced,
        let edits = typos[index].edits(
          word, of: part.number, rules,
          computedBy: { rules.edits(terms[index], dictionary.word(word), letters: dictionary.letterCount(word)) })
      {
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
