import Points

extension TextSearch {
  /// Searches by the rules of the stages behind ``TextQuery/Stage/typos``, one after another until something matches:
  /// two edits in long words, then an edit of the first letter of a short word and short words that are missing, then
  /// words that are joined or separated, at last more edits of one word beside another one.
  func searchFallbacks() {
    postingLimit = Self.maximumPostingsOfFallbacks
    guard terms.contains(where: { !$0.isUnspaced }) else { return search(.missingPairs) }
    let groups: [() -> [TextQuery.Stage]] = [
      { self.stagesOfMoreTypos }, { self.joinedStages }, { self.separatedStages },
      { self.terms.count > 1 ? [.lenient] : [] },
    ]
    for group in groups {
      for stage in group() {
        if isExhausted { return }
        search(stage)
        if hasMatches { return }
      }
    }
  }

  /// Searches by the rules of the stage of the pages before.
  func continueSearch(_ stage: TextQuery.Stage) {
    if stage == .words || stage == .typos { searchWords() }
    if stage == .words { return }
    if stage != .typos { postingLimit = Self.maximumPostingsOfFallbacks }
    if !isPassed(.typo) { search(stage) }
  }

  private var stagesOfMoreTypos: [TextQuery.Stage] {
    let hasLongTerm = terms.contains { $0.scalars.count + 2 >= TypoRules.lettersForTwo }
    return (terms.count > 1 ? [.typosBesideRareWord] : []) + (hasLongTerm ? [.moreTypos] : []) + [.missingWords]
  }

  /// Searches by the rules of a stage; those of ``TextQuery/Stage/typos`` without the words that need no typos.
  func searchStage(_ stage: TextQuery.Stage) {
    let own = terms
    isAlternative = false
    switch stage {
    case .words: searchWords()
    case .typos:
      rules = TypoRules(maximumEdits: 1, freesFirstLetter: false)
      searchTypos()
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
    case .joined, .separated:
      guard let alternative = alternative(stage) else { return }
      isAlternative = true
      replaceTerms(alternative)
      rules = TypoRules(maximumEdits: 1, freesFirstLetter: false)
      searchTypos()
      // Scores and highlights of matches are those of the other terms.
      if !hasMatches { replaceTerms(own) }
    case .lenient: searchLeniently()
    case .missingPairs: searchWithoutPairs()
    }
  }

  /// Searches for places that have all but a few of the pairs of characters. An edit changes up to three pairs.
  ///
  /// Of the rarest pairs, two more than may be missing, a match has at least two.
  private func searchWithoutPairs() {
    let missing = terms.count < 6 ? 2 : 3
    guard terms.count >= missing + 2 else { return }
    rules = .none
    rules.maximumMissingPairs = missing
    for index in parts.indices {
      let columns = parts[index].columns
      let words = Set(parts[index].prefixWords).sorted {
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
      TextDriver.wordsOfEachTerm(terms, in: parts[index]) { words(near: $0, in: index) }
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

  /// Returns the terms of a stage with words joined or separated; `nil` where the text has no such words.
  private func alternative(_ stage: TextQuery.Stage) -> ContiguousArray<QueryTerm>? {
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
          return alternative
        }
        middle -= term.scalars.count
      }
      return nil
    default: return nil
    }
    return alternative
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
    bytes.withUnsafeBufferPointer { bytes in
      parts.contains { part in
        limit.spend(TextPart.stepsPerTerm)
        let dictionary = part.columns.dictionary
        // The shortest of the words is the first.
        let words = dictionary.words(in: 0..<dictionary.count, after: 0, beginningWith: bytes)
        return !words.isEmpty && predicate(dictionary, words)
      }
    }
  }
}
