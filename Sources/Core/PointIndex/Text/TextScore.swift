import Geo
import Points
import SearchWords

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
  private let nameFactor: Double
  private let isTyped: Bool

  /// The factors of the coverage of a street: by a text that has the house number, or several words and the whole street,
  /// and by others.
  private let addressFactors: (address: Double, street: Double)

  /// The factor of the coverage of a street where the text has a part of the house number, or a number of its range.
  private static let partOfNumberFactor = 0.95

  /// The coverage of a street by a text that is being typed and is the beginning of the street, of several words.
  static let beginningOfStreet = 0.95

  /// The factor of the fraction of a name that does not begin with a word of a text that is being typed, and those of
  /// names of lists: for any, and by their coverage.
  static let laterWordFactor = 0.7
  private static let typedListFactor = 0.1
  private static let typedListedFactor = 0.85
  private static let typedAbbreviationFactor = 0.6

  /// The loss of the coverage's weight for short texts that are being typed.
  private static let shiftOfShortTexts = 0.42

  /// The number of letters up to which the loss is as great, and that from which there is none.
  private static let lettersOfShortText = 6
  private static let lettersOfLongText = 14

  /// The same of a text of several words, which say more than as many letters of one.
  private static let lettersOfLongTextOfWords = 9

  /// The same where the text has a location, which says more of a nearby place than its importance does.
  private static let biasedShiftOfShortTexts = 0.35
  private static let biasedLettersOfShortText = 1
  private static let biasedLettersOfLongText = 9

  /// The factor of the coverage of a name that is no code, where the text is one.
  private static let nameFactorOfCodes = 0.5

  static let editPenalty = 0.1

  /// The number of edits above which further ones do not lower the score.
  static let maximumEdits = 5

  /// Creates the weights of a query.
  ///
  /// - Parameters:
  ///   - typedLetters: the number of its letters if it is being typed; `nil` if it is complete.
  ///   - wordCount: the number of its words.
  ///   - isCode: a Boolean value that indicates whether it is written like the code of an airport.
  init(_ bias: LocationBias?, typedLetters: Int? = nil, wordCount: Int = 1, isCode: Bool = false) {
    let isBiased = (bias?.weight ?? 0) > 0
    let shift = typedLetters.map { Self.shift(ofLetters: $0, wordCount: wordCount, isBiased: isBiased) } ?? 0
    nameFactor = isCode ? Self.nameFactorOfCodes : 1
    coverageWeight = 0.5 - shift
    importanceWeight = isBiased ? 0.2 : 0.2 + shift
    let biasWeight = isBiased ? 0.29 + shift : 0
    listedFactor = typedLetters == nil ? 0.95 : 0.4
    abbreviationFactor = typedLetters == nil ? 0.5 : 0.2
    isTyped = typedLetters != nil
    addressFactors = typedLetters == nil ? (0.8, 0.5) : (0.7, 0.5)
    center = bias.map { EarthCentred($0.center) }
    weight = biasWeight * (bias?.weight ?? 0)
    scale = bias?.scaleMetres ?? 1
  }

  private static func shift(ofLetters count: Int, wordCount: Int, isBiased: Bool) -> Double {
    let (short, long) =
      isBiased
      ? (biasedLettersOfShortText, biasedLettersOfLongText)
      : (lettersOfShortText, wordCount > 1 ? lettersOfLongTextOfWords : lettersOfLongText)
    let shortness = max(0, min(1, Double(long - count) / Double(long - short)))
    return (isBiased ? biasedShiftOfShortTexts : shiftOfShortTexts) * shortness
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
  ///   - isStreetBegun: a Boolean value that indicates whether the query may be the beginning of a street.
  func maximumCoverage(nameLetters: Int, letters: Int, isStreetBegun: Bool) -> Double {
    var coverage = nameLetters == 255 ? 1 : min(1, Double(letters) / Double(max(nameLetters, 1)))
    if isStreetBegun, isTyped { coverage = max(coverage, Self.beginningOfStreet) }
    return coverageWeight * coverage
  }

  /// Returns the factor of the coverage of a name.
  @inline(__always)
  func factor(of kind: NameKind) -> Double {
    switch kind {
    case .whole: nameFactor
    case .listed: nameFactor * listedFactor
    case .abbreviation: nameFactor * abbreviationFactor
    case .code: 1
    }
  }

  /// Returns the factor of the coverage of a street.
  ///
  /// - Parameters:
  ///   - isAddress: a Boolean value that indicates whether the text has the house number, or several words and the
  ///     whole street.
  ///   - isWholeNumber: a Boolean value that indicates whether the text has the whole house number.
  @inline(__always)
  func addressFactor(isAddress: Bool, isWholeNumber: Bool) -> Double {
    if !isAddress { return addressFactors.street }
    return isWholeNumber ? addressFactors.address : addressFactors.address * Self.partOfNumberFactor
  }

  /// Returns the factor of the fraction of a name where the text is being typed.
  @inline(__always)
  func typedFactor(of kind: NameKind, coverage: Double, isBegun: Bool) -> Double {
    let factor =
      switch kind {
      case .whole, .code: 1.0
      case .listed: Self.typedListFactor + Self.typedListedFactor * coverage
      case .abbreviation: Self.typedListFactor + Self.typedAbbreviationFactor * coverage
      }
    return isBegun ? factor : factor * Self.laterWordFactor
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
  private var variants = NameVariants()

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
    var (nameTerms, addressTerms): (Set<Int>, Set<Int>) = ([], [])
    var street: TextMatch.Name?
    func consider(_ key: @autoclosure () -> String, _ name: String, _ kind: NameKind) {
      guard let (covered, ranges) = ranges(in: name, noting: &nameTerms) else { return }
      let coverage = covered * scoring.factor(of: kind)
      guard coverage > best?.coverage ?? 0 else { return }
      best = (coverage, TextMatch.Name(key: key(), text: name, ranges: ranges))
    }
    consider("name", point.draft.name, .whole)
    var json = point.draft.tags.json
    let fields = fields
    json.withUTF8 { json in
      TextFields.forEachTag(in: json) { key, value in
        switch fields.kind(of: key) {
        case .name:
          NameKind.forEachName(in: value) { name, kind in
            consider(String(decoding: key, as: UTF8.self), String(decoding: name, as: UTF8.self), kind)
          }
        case .street, .houseNumber, .address:
          let (isStreet, value) = (fields.kind(of: key) == .street, String(decoding: value, as: UTF8.self))
          guard let (_, ranges) = ranges(in: value, noting: &addressTerms), isStreet else { return }
          street = TextMatch.Name(key: String(decoding: key, as: UTF8.self), text: value, ranges: ranges)
        case .other: break
        }
      }
    }
    // A name that has no more of the text than the address has is not what matches.
    if let street, nameTerms.isStrictSubset(of: addressTerms) { return street }
    return best?.name
  }

  /// Returns the part of a name's letters that the text has, and their ranges; `nil` if it has none.
  ///
  /// - Parameter found: the terms that have a word, to which those of the name are added.
  private mutating func ranges(
    in name: String, noting found: inout Set<Int>
  ) -> (coverage: Double, ranges: [Range<Int>])? {
    var name = name
    name.withUTF8 { text.fill(with: $0) }
    var (covered, letters) = (0, 0)
    var ranges: [Range<Int>] = []
    guard limit.spend(Self.stepsPerTerm * text.words.count * terms.count) else { return nil }
    let misspelled = termsWithoutWord
    guard limit.spend(Self.stepsPerMisspelledTerm * text.words.count * misspelled.count) else { return nil }
    let byVariants = name.withUTF8 { NameVariants.mayBe(in: $0) ? wordsWithVariants(in: $0) : [:] }
    for (index, word) in text.words.enumerated() {
      letters += Int(word.letters)
      let byVariant = byVariants[index].map { (Int(word.letters), true, $0) }
      guard let (count, isWhole, term) = byVariant ?? bestMatch(of: word, misspelled: misspelled) else { continue }
      found.insert(term)
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

  /// Returns the terms that are another form of words of a name, or its beginning if they are being typed, by the
  /// positions of these words.
  private mutating func wordsWithVariants(in name: UnsafeBufferPointer<UInt8>) -> [Int: Int] {
    var found: [Int: Int] = [:]
    for variant in variants.variants(of: name, text.words) {
      let term = terms.firstIndex {
        $0.isIncomplete ? variant.bytes.starts(with: $0.bytes) : variant.bytes == $0.bytes
      }
      guard let term else { continue }
      var (word, letters) = (variant.word, variant.isJoined ? Int(variant.letters) : 1)
      while letters > 0, word < text.words.count {
        found[word] = term
        letters -= Int(text.words[word].letters)
        word += 1
      }
    }
    return found
  }

  /// The indices of the terms that no word of the name begins with. Only these match words with typos.
  private var termsWithoutWord: [Int] {
    text.bytes.withUnsafeBufferPointer { bytes in
      terms.indices.filter { index in
        let term = terms[index]
        return !term.isUnspaced && !text.words.contains { bytes[Int($0.start)..<Int($0.end)].starts(with: term.bytes) }
      }
    }
  }

  private func bestMatch(
    of word: NormalizedText.Word, misspelled: [Int]
  ) -> (covered: Int, isWhole: Bool, term: Int)? {
    text.bytes.withUnsafeBufferPointer { bytes in
      let bytes = UnsafeBufferPointer(rebasing: bytes[Int(word.start)..<Int(word.end)])
      var best: (covered: Int, isWhole: Bool, term: Int)?
      for (index, term) in terms.enumerated() {
        if bytes.elementsEqual(term.bytes) { return (Int(word.letters), true, index) }
        if bytes.starts(with: term.bytes), term.letters > best?.covered ?? 0 { best = (term.letters, false, index) }
      }
      for (index, term) in terms.enumerated() where term.hasEquivalent(bytes) {
        return (Int(word.letters), true, index)
      }
      if best != nil || word.isUnspaced { return best }
      for index in misspelled {
        let term = terms[index]
        guard let edits = rules.edits(term, bytes, letters: Int(word.letters)) else { continue }
        let covered = max(1, min(term.letters, Int(word.letters)) - edits)
        if covered > best?.covered ?? 0 { best = (covered, true, index) }
      }
      return best
    }
  }
}
