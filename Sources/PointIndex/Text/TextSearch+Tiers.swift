import Points

extension TextSearch {
  /// Searches for the places that have all words, or words that begin with them.
  func searchTiers() {
    rules = .none
    if byDistance {
      tiers = .prefix ... .exact
      searchPrefixes()
      return
    }
    tiers = .allWords ... .exact
    for index in parts.indices { searchAllWords(index) }
    if top.isFull { return }
    tiers = .prefix ... .prefix
    searchPrefixes()
  }

  /// Searches for the places that have words with typos, by the present rules.
  func searchTypos() {
    tiers = .typo ... .typo
    guard terms.contains(where: { !$0.isUnspaced }) else { return }
    for index in parts.indices {
      let words = TextDriver.words(for: terms, in: parts[index], rules: rules)
      guard let first = words.first else { continue }
      process(first, and: words.dropFirst().first, in: index)
    }
  }

  /// Judges places.
  func searchTypos(among slots: ContiguousArray<UInt32>, in index: Int) {
    tiers = .typo ... .typo
    slots.withUnsafeBufferPointer { offer($0, in: parts[index]) }
  }

  /// Searches for places that have words with typos besides at least one without.
  func searchTyposBesideMatches() {
    tiers = .typo ... .typo
    for index in parts.indices {
      for words in parts[index].prefixWords
      where !words.isEmpty && parts[index].columns.postingCount(of: words) <= TextDriver.fewPostings {
        process([words], in: index)
      }
    }
  }

  /// Judges the places of words of a part.
  func search(_ words: [Range<Int>], in index: Int) { process(words, in: index) }

  /// Searches for the places that have words that begin with the terms: by the two terms with the fewest postings.
  private func searchPrefixes() {
    for index in parts.indices {
      let part = parts[index]
      guard !part.prefixWords.contains(where: \.isEmpty) else { continue }
      let words = part.prefixWords.sorted { part.columns.postingCount(of: $0) < part.columns.postingCount(of: $1) }
      process([words[0]], and: words.count > 1 ? [words[1]] : nil, in: index)
    }
  }

  private func searchAllWords(_ index: Int) {
    let part = parts[index]
    guard !part.exactWords.contains(-1) else { return }
    let words = Set(part.exactWords).map { $0..<$0 + 1 }.sorted {
      (part.columns.postingCount(of: $0), $0.lowerBound) < (part.columns.postingCount(of: $1), $1.lowerBound)
    }
    process([words[0]], and: words.count > 1 ? [words[1]] : nil, in: index)
  }
}
