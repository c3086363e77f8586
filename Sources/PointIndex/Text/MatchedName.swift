import Points

/// The choice of the name of a place that matches a text best, and of its parts that do.
struct MatchedName {
  private let terms: ContiguousArray<QueryTerm>
  private let fields: TextFields
  private let rules = TypoRules(maximumEdits: 2, freesFirstLetter: true)
  private var text = NormalizedText()

  init(_ terms: ContiguousArray<QueryTerm>, _ configuration: TextIndexConfiguration) {
    self.terms = terms
    fields = TextFields(configuration)
  }

  /// Returns the name; `nil` where none has a word of the text.
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
    for word in text.words {
      letters += Int(word.letters)
      guard let (count, isWhole) = bestMatch(of: word) else { continue }
      covered += count
      let start = Int(word.sourceStart)
      var end = Int(word.sourceEnd)
      // The beginning of a word is marked where its letters are one scalar each.
      if !isWhole, !word.isUnspaced, end - start == Int(word.letters) { end = min(end, start + count) }
      if let last = ranges.last, start <= last.upperBound {
        ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, end)
      } else {
        ranges.append(start..<end)
      }
    }
    return covered == 0 ? nil : (Double(covered) / Double(letters), ranges)
  }

  private func bestMatch(of word: NormalizedText.Word) -> (covered: Int, isWhole: Bool)? {
    text.bytes.withUnsafeBufferPointer { bytes in
      let bytes = UnsafeBufferPointer(rebasing: bytes[Int(word.start)..<Int(word.end)])
      var best: (covered: Int, isWhole: Bool)?
      for term in terms {
        var covered = 0
        if bytes.elementsEqual(term.bytes) { return (Int(word.letters), true) }
        let isBeginning = bytes.starts(with: term.bytes)
        if isBeginning {
          covered = term.letters
        } else if !word.isUnspaced, !term.isUnspaced,
          let edits = rules.edits(term, bytes, letters: Int(word.letters))
        {
          covered = max(1, min(term.letters, Int(word.letters)) - edits)
        }
        if covered > best?.covered ?? 0 { best = (covered, !isBeginning) }
      }
      return best
    }
  }
}
