import Points

/// The choice of the name of a place that matches a text best, and of its parts that do.
struct MatchedName {
  private let terms: ContiguousArray<QueryTerm>
  private let fields: TextFields
  private let rules = TypoRules(maximumEdits: 2, freesFirstLetter: true)
  private let limit: SearchLimit
  private var text = NormalizedText()

  /// The number of steps to compare a word with a term, and to compute the edits between them.
  private static let stepsPerTerm = 8
  private static let stepsPerMisspelledTerm = 40

  init(_ terms: ContiguousArray<QueryTerm>, _ configuration: TextIndexConfiguration, _ limit: SearchLimit) {
    self.terms = terms
    self.limit = limit
    fields = TextFields(configuration)
  }

  /// Returns the name; `nil` where none has a word of the text, or a limit is exceeded.
  mutating func name(of point: PointOfInterest) -> TextMatch.Name? {
    var best: (coverage: Double, name: TextMatch.Name)?
    func consider(_ key: @autoclosure () -> String, _ name: String) {
      guard let (coverage, ranges) = ranges(in: name), coverage > best?.coverage ?? 0 else { return }
      best = (coverage, TextMatch.Name(key: key(), text: name, ranges: ranges))
    }
    consider("name", point.draft.name)
    var json = point.draft.tags.json
    let fields = fields
    json.withUTF8 { json in
      TextFields.forEachTag(in: json) { key, value in
        guard fields.kind(of: key) == .name else { return }
        consider(String(decoding: key, as: UTF8.self), String(decoding: value, as: UTF8.self))
      }
    }
    return best?.name
  }

  /// Returns the part of a name's letters that the text has, and their ranges; `nil` where it has none.
  private mutating func ranges(in name: String) -> (coverage: Double, ranges: [Range<Int>])? {
    var name = name
    name.withUTF8 { text.fill(with: $0) }
    var (covered, letters) = (0, 0)
    var ranges: [Range<Int>] = []
    guard limit.spend(Self.stepsPerTerm * text.words.count * terms.count) else { return nil }
    let misspelled = termsWithoutWord
    guard limit.spend(Self.stepsPerMisspelledTerm * text.words.count * misspelled.count) else { return nil }
    for word in text.words {
      letters += Int(word.letters)
      guard let (count, isWhole) = bestMatch(of: word, misspelled: misspelled) else { continue }
      covered += count
      let start = Int(word.sourceStart)
      var end = Int(word.sourceEnd)
      // The beginning of a word is marked where its letters are one scalar each; that of a pair is its first character.
      if !isWhole, end - start == (word.isUnspaced ? 2 : Int(word.letters)) {
        end = min(end, start + (word.isUnspaced ? 1 : count))
      }
      if let last = ranges.last, start <= last.upperBound {
        ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, end)
      } else {
        ranges.append(start..<end)
      }
    }
    return covered == 0 ? nil : (Double(covered) / Double(letters), ranges)
  }

  /// The terms that no word of the name begins with. Only these match words with typos.
  private var termsWithoutWord: ContiguousArray<QueryTerm> {
    text.bytes.withUnsafeBufferPointer { bytes in
      terms.filter { term in
        !term.isUnspaced && !text.words.contains { bytes[Int($0.start)..<Int($0.end)].starts(with: term.bytes) }
      }
    }
  }

  private func bestMatch(
    of word: NormalizedText.Word, misspelled: ContiguousArray<QueryTerm>
  ) -> (covered: Int, isWhole: Bool)? {
    text.bytes.withUnsafeBufferPointer { bytes in
      let bytes = UnsafeBufferPointer(rebasing: bytes[Int(word.start)..<Int(word.end)])
      var best: (covered: Int, isWhole: Bool)?
      for term in terms {
        if bytes.elementsEqual(term.bytes) { return (Int(word.letters), true) }
        if bytes.starts(with: term.bytes), term.letters > best?.covered ?? 0 { best = (term.letters, false) }
      }
      if best != nil || word.isUnspaced { return best }
      for term in misspelled {
        guard let edits = rules.edits(term, bytes, letters: Int(word.letters)) else { continue }
        let covered = max(1, min(term.letters, Int(word.letters)) - edits)
        if covered > best?.covered ?? 0 { best = (covered, true) }
      }
      return best
    }
  }
}
