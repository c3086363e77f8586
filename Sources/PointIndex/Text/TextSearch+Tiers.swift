import Points

extension TextSearch {
  /// Searches for the places that have all words, or words that begin with them, and behind these for those of a
  /// category whose name the text is or ends with.
  func searchWords() {
    rules = .none
    searchNames()
    // Places of a category are behind all others, unless distances alone count.
    if byDistance || !top.isFull { searchCategories() }
  }

  private func searchNames() {
    if byDistance {
      tiers = .prefix ... .exact
      return searchPrefixes()
    }
    if !isPassed(.allWords) {
      tiers = .allWords ... .exact
      for index in parts.indices { searchAllWords(index) }
      if top.isFull { return }
    }
    if isPassed(.prefix) { return }
    tiers = .prefix ... .prefix
    searchPrefixes()
  }

  /// Searches for the places that have words with typos, by the present rules.
  func searchTypos() {
    tiers = .typo ... .typo
    guard terms.contains(where: { !$0.isUnspaced }) else { return }
    for index in parts.indices where !limit.isExpired {
      let drivers = TextDriver.words(for: terms, in: parts[index], rules: rules) { words(near: $0, in: index) }
      guard let first = drivers.first else { continue }
      process(first, and: drivers.dropFirst().first, in: index)
    }
  }

  /// Judges places.
  func searchTypos(among slots: ContiguousArray<UInt32>, in index: Int) {
    tiers = .typo ... .typo
    slots.withUnsafeBufferPointer { offer($0, in: parts[index]) }
  }

  /// Searches for places that have words with typos besides at least one without, which few places have.
  func searchTyposBesideRareWords() {
    tiers = .typo ... .typo
    for index in parts.indices {
      let columns = parts[index].columns
      var rest = postingLimit
      let words = Set(parts[index].prefixWords).map { ($0, columns.postingCount(of: $0)) }
        .filter { (1...TextDriver.fewPostings).contains($0.1) }
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
      guard !part.prefixWords.contains(where: \.isEmpty) else { continue }
      processFewest(Array(part.prefixWords), in: index)
    }
  }

  private func searchAllWords(_ index: Int) {
    let part = parts[index]
    guard !part.exactWords.contains(-1) else { return }
    processFewest(Set(part.exactWords).map { $0..<$0 + 1 }, in: index)
  }

  /// Searches for the places that have all words without one in a name, of a category whose name the text is or ends
  /// with.
  private func searchCategories() {
    tiers = .category ... .category
    boundCoverage(isNameNeeded: false)
    for index in parts.indices {
      let part = parts[index]
      guard let (numbers, wordCount) = part.index.categoryNames.categories(endingText: part.exactWords),
        !part.prefixWords.contains(where: \.isEmpty)
      else { continue }
      parts[index].namedCategories = numbers
      let others = part.prefixWords.dropLast(wordCount)
      processFewest(others + part.exactWords.suffix(wordCount).map { $0..<$0 + 1 }, in: index)
    }
    boundCoverage(isNameNeeded: true)
  }

  /// Judges the places that have words of all sets, by the two with the fewest postings.
  private func processFewest(_ sets: [Range<Int>], in index: Int) {
    let columns = parts[index].columns
    let words = sets.sorted { left, right in
      (columns.postingCount(of: left), left.lowerBound) < (columns.postingCount(of: right), right.lowerBound)
    }
    process([words[0]], and: words.count > 1 ? [words[1]] : nil, in: index)
  }
}
