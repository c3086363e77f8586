import Points

extension TextSearch {
  /// Searches with more typos where nothing matches: two edits in long words, then an edit of the first letter of a
  /// short word and short words that are missing, then words that are joined or separated, at last more edits of one word
  /// beside another one.
  func searchFallbacks() {
    postingLimit = Self.maximumPostingsOfFallbacks
    if !terms.contains(where: { !$0.isUnspaced }) { return searchWithoutPairs() }
    rules = TypoRules(maximumEdits: 2, freesFirstLetter: false)
    if terms.count > 1 { searchTyposBesideMatches() }
    if hasMatches { return }
    if terms.contains(where: { $0.scalars.count + 2 >= TypoRules.lettersForTwo }) { searchTypos() }
    if hasMatches { return }
    rules = TypoRules(maximumEdits: 2, freesFirstLetter: true)
    rules.omitsShortWords = terms.contains { $0.scalars.count >= TypoRules.lettersForOne }
    searchTypos()
    if hasMatches { return }
    let terms = terms
    searchAlternatives()
    if hasMatches || terms.count == 1 { return }
    replaceTerms(terms)
    isAlternative = false
    searchLeniently()
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
      guard words.reduce(0, { $0 + columns.postingCount(of: $1) }) <= Self.manyPostingsOfPairs else { continue }
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

  /// Searches for places of which one word matches by the usual rules, and all others by lenient ones.
  private func searchLeniently() {
    rules = TypoRules(maximumEdits: 2, freesFirstLetter: true)
    let drivers = parts.map { TextDriver.wordsOfEachTerm(terms, in: $0, rules: rules) }
    rules.isLenient = true
    for (index, words) in drivers.enumerated() {
      for words in words { search(words, in: index) }
    }
  }

  private func replaceTerms(_ terms: ContiguousArray<QueryTerm>) {
    setTerms(terms)
    for index in parts.indices { parts[index].setTerms(terms) }
  }

  /// The maximum number of other texts that are searched for.
  private static let maximumAlternatives = 16

  private func searchAlternatives() {
    isAlternative = true
    for alternative in joined(terms) + separated(terms) {
      replaceTerms(alternative)
      rules = TypoRules(maximumEdits: 1, freesFirstLetter: false)
      searchTypos()
      // Scores and highlights are those of the present terms.
      if hasMatches { return }
    }
  }

  /// Returns the terms with two neighbours joined, for each of the first pairs.
  private func joined(_ terms: ContiguousArray<QueryTerm>) -> [ContiguousArray<QueryTerm>] {
    let pairs = terms.indices.dropFirst().lazy.filter { !terms[$0 - 1].isUnspaced && !terms[$0].isUnspaced }
    return pairs.prefix(Self.maximumAlternatives).map { index in
      let (left, right) = (terms[index - 1], terms[index])
      var joined = terms
      joined[index - 1] = QueryTerm(
        bytes: left.bytes + right.bytes, letters: left.letters + right.letters, isUnspaced: false,
        isIncomplete: right.isIncomplete)
      joined.remove(at: index)
      return joined
    }
  }

  /// Returns the terms with one separated into a word of a dictionary and another, with or without the letter between
  /// them. Where the other is the beginning of a word too, the terms come first.
  private func separated(_ terms: ContiguousArray<QueryTerm>) -> [ContiguousArray<QueryTerm>] {
    var (alternatives, others): ([ContiguousArray<QueryTerm>], [ContiguousArray<QueryTerm>]) = ([], [])
    for (index, term) in terms.enumerated() where !term.isUnspaced && term.scalars.count >= TypoRules.lettersForOne {
      for middle in 1..<term.scalars.count {
        let left = self.term(term.scalars[..<middle], isIncomplete: false)
        guard isWord(left) else { continue }
        for start in [middle, middle + 1] where start < term.scalars.count {
          let right = self.term(term.scalars[start...], isIncomplete: term.isIncomplete)
          var separated = terms
          separated.replaceSubrange(index...index, with: [left, right])
          if isBeginning(right) {
            alternatives.append(separated)
          } else if middle > 1, right.scalars.count >= TypoRules.lettersForOne {
            others.append(separated)
          }
        }
      }
    }
    return Array((alternatives + others).prefix(Self.maximumAlternatives))
  }

  private func term(_ scalars: some Collection<UInt32>, isIncomplete: Bool) -> QueryTerm {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars.lazy.compactMap { Unicode.Scalar($0) })
    return QueryTerm(
      bytes: ContiguousArray(String(text).utf8), letters: scalars.count, isUnspaced: false, isIncomplete: isIncomplete)
  }

  private func isWord(_ term: QueryTerm) -> Bool {
    parts.contains { part in
      let words = part.columns.dictionary.words(beginningWith: term.bytes)
      return !words.isEmpty && part.columns.dictionary.word(words.lowerBound).count == term.bytes.count
    }
  }

  private func isBeginning(_ term: QueryTerm) -> Bool {
    parts.contains { !$0.columns.dictionary.words(beginningWith: term.bytes).isEmpty }
  }
}
