import Geo
import Points

/// The score of a match: the number of its tier, and a fraction below 1.
///
///     0.5 × coverage × (1 − 0.1 × edits) + 0.2 × importance + 0.29 × weight / (1 + distance / scale)
///
/// The coverage is the part of the letters of the best name that the query has, less for a name of a list; the distance
/// is that through the earth from the location of the bias. While a text is being typed, what its letters say is less the
/// fewer they are: a part of the coverage's weight is that of the bias, or of the importance where there is none.
struct TextScore: Sendable {
  private let center: EarthCentred?
  private let weight: Double
  private let scale: Double

  private let coverageWeight: Double
  private let importanceWeight: Double
  private let listedFactor: Double
  private let abbreviationFactor: Double

  /// The factor of the coverage of a name that does not begin with a word of a text that is being typed.
  static let laterWordFactor = 0.7

  /// The loss of the coverage's weight for the shortest text that is being typed, and the number of letters from which
  /// there is none.
  private static let shiftOfShortTexts = 0.35
  private static let lettersOfLongText = 9

  static let editPenalty = 0.1

  /// The number of edits above which further ones do not lower the score.
  static let maximumEdits = 5

  /// Creates the weights of a query.
  ///
  /// - Parameter typedLetters: the number of its letters where it is being typed; `nil` where it is complete.
  init(_ bias: LocationBias?, typedLetters: Int? = nil) {
    let shortness = typedLetters.map { max(0, Double(Self.lettersOfLongText - $0) / 8) } ?? 0
    let shift = Self.shiftOfShortTexts * shortness
    let isBiased = (bias?.weight ?? 0) > 0
    coverageWeight = 0.5 - shift
    importanceWeight = isBiased ? 0.2 : 0.2 + shift
    let biasWeight = isBiased ? 0.29 + shift : 0
    listedFactor = typedLetters == nil ? 0.95 : 0.4
    abbreviationFactor = typedLetters == nil ? 0.5 : 0.2
    center = bias.map { EarthCentred($0.center) }
    weight = biasWeight * (bias?.weight ?? 0)
    scale = bias?.scaleMetres ?? 1
  }

  /// The greatest bonus of the bias.
  var maximumBonus: Double { weight }

  /// A Boolean value that indicates whether there is a bias.
  var isBiased: Bool { center != nil && weight > 0 }

  /// Returns the bonus of a position.
  @inline(__always)
  func bonus(of position: EarthCentred) -> Double {
    guard let center else { return 0 }
    return weight / (1 + center.chordSquared(to: position).squareRoot() / scale)
  }

  /// Returns an upper bound of the bonus of the places of a block.
  @inline(__always)
  func maximumBonus(of block: PostingBlock) -> Double {
    guard let center else { return 0 }
    return weight / (1 + block.leastChord(to: center) / scale)
  }

  /// Returns an upper bound of the part by coverage.
  ///
  /// - Parameters:
  ///   - nameLetters: the least number of letters of a name, 255 for any greater number too.
  ///   - letters: the number of letters of the query.
  func maximumCoverage(nameLetters: Int, letters: Int) -> Double {
    let coverage = nameLetters == 255 ? 1 : min(1, Double(letters) / Double(max(nameLetters, 1)))
    return coverageWeight * coverage
  }

  /// Returns the factor of the coverage of a name.
  @inline(__always)
  func factor(of kind: NameKind) -> Double {
    switch kind {
    case .whole: 1
    case .listed: listedFactor
    case .abbreviation: abbreviationFactor
    }
  }

  /// Returns what an importance of 0 to 255 adds to the fraction.
  @inline(__always)
  func importanceTerm(_ importance: UInt8) -> Double { importanceWeight * Double(importance) / 255 }

  /// Returns the fraction without the bonus.
  @inline(__always)
  func fraction(coverage: Double, edits: Int, importance: UInt8) -> Double {
    coverageWeight * coverage * (1 - Self.editPenalty * Double(min(edits, Self.maximumEdits)))
      + importanceTerm(importance)
  }
}

/// The choice of the name of a place that matches a text best, and of its parts that do.
struct MatchedName {
  private let terms: ContiguousArray<QueryTerm>
  private let fields: TextFields
  private let rules = TypoRules(maximumEdits: 2, freesFirstLetter: true)
  private let scoring: TextScore
  private let limit: SearchLimit
  private var text = NormalizedText()

  /// The number of steps to compare a word with a term, and to compute the edits between them.
  private static let stepsPerTerm = 8
  private static let stepsPerMisspelledTerm = 40

  init(
    _ terms: ContiguousArray<QueryTerm>, _ scoring: TextScore, _ configuration: TextIndexConfiguration,
    _ limit: SearchLimit
  ) {
    self.terms = terms
    self.scoring = scoring
    self.limit = limit
    fields = TextFields(configuration)
  }

  /// Returns the name; `nil` if none has a word of the text, or a limit is exceeded.
  mutating func name(of point: PointOfInterest) -> TextMatch.Name? {
    var best: (coverage: Double, name: TextMatch.Name)?
    func consider(_ key: @autoclosure () -> String, _ name: String, _ kind: NameKind) {
      guard let (covered, ranges) = ranges(in: name) else { return }
      let coverage = covered * scoring.factor(of: kind)
      guard coverage > best?.coverage ?? 0 else { return }
      best = (coverage, TextMatch.Name(key: key(), text: name, ranges: ranges))
    }
    consider("name", point.draft.name, .whole)
    var json = point.draft.tags.json
    let fields = fields
    json.withUTF8 { json in
      TextFields.forEachTag(in: json) { key, value in
        guard fields.kind(of: key) == .name else { return }
        NameKind.forEachName(in: value) { name, kind in
          consider(String(decoding: key, as: UTF8.self), String(decoding: name, as: UTF8.self), kind)
        }
      }
    }
    return best?.name
  }

  /// Returns the part of a name's letters that the text has, and their ranges; `nil` if it has none.
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
