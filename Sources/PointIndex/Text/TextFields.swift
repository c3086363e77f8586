import Basics
import JSONText
import Points

/// The texts of a place that are searched: its names, and the context in which a name may be searched.
struct TextFields: Sendable {
  /// The kinds of texts.
  enum Kind {
    case name
    case address
    case other
  }

  private let keys: [ContiguousArray<UInt8>]
  private let prefixes: [ContiguousArray<UInt8>]
  private let importanceKey: ContiguousArray<UInt8>?
  private static let addressPrefix = ContiguousArray("addr:".utf8)

  init(_ configuration: TextIndexConfiguration) {
    keys = configuration.nameTags.filter { !$0.hasSuffix("*") }.map { ContiguousArray($0.utf8) }
    prefixes = configuration.nameTags.filter { $0.hasSuffix("*") }.map { ContiguousArray($0.utf8.dropLast()) }
    importanceKey = configuration.importanceTag.map { ContiguousArray($0.utf8) }
  }

  /// Returns the kind of the value of a key.
  func kind(of key: UnsafeBufferPointer<UInt8>) -> Kind {
    if key.starts(with: Self.addressPrefix) { return .address }
    if keys.contains(where: { key.count == $0.count && key.elementsEqual($0) }) { return .name }
    return prefixes.contains { key.count > $0.count && key.starts(with: $0) } ? .name : .other
  }

  /// Returns a Boolean value that indicates whether the value of a key is the importance of the place.
  func isImportance(_ key: UnsafeBufferPointer<UInt8>) -> Bool {
    importanceKey.map { key.elementsEqual($0) } ?? false
  }

  /// Calls the closure with each tag, in the order of the keys. A key with an escaped character is left out.
  ///
  /// - Parameter tags: a JSON object of strings.
  @inline(__always)
  static func forEachTag(
    in tags: UnsafeBufferPointer<UInt8>,
    _ body: (_ key: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Void
  ) {
    var index = 0
    while let key = nextString(in: tags, &index), let value = nextString(in: tags, &index) {
      if key.hasEscapes { continue }
      if value.hasEscapes {
        let quoted = UnsafeBufferPointer(rebasing: tags[value.range.lowerBound - 1..<value.range.upperBound + 1])
        guard case .string(var text)? = try? JSONReader.value(of: quoted) else { continue }
        text.withUTF8 { body(.init(rebasing: tags[key.range]), $0) }
      } else {
        body(.init(rebasing: tags[key.range]), .init(rebasing: tags[value.range]))
      }
    }
  }

  /// Returns the range between the next two quotation marks.
  @inline(__always)
  private static func nextString(
    in tags: UnsafeBufferPointer<UInt8>, _ index: inout Int
  ) -> (range: Range<Int>, hasEscapes: Bool)? {
    while index < tags.count, tags[index] != UInt8(ascii: "\"") { index += 1 }
    index += 1
    let start = index
    var hasEscapes = false
    while index < tags.count, tags[index] != UInt8(ascii: "\"") {
      if tags[index] == UInt8(ascii: "\\") {
        hasEscapes = true
        index += 1
      }
      index += 1
    }
    guard index < tags.count else { return nil }
    defer { index += 1 }
    return (start..<index, hasEscapes)
  }
}

/// The importance of a place, 0…1, as a sum of what its tags say.
///
/// - `wikidata` or `wikipedia`: 0.35.
/// - `population`: a tenth of its decimal logarithm, up to 0.7: 0.6 for a million people.
/// - The category: up to 0.3, see ``categories``.
///
/// The tag of the operator's choice replaces the sum: a number up to 1 is taken as it is, a greater one counts as a
/// tenth of its decimal logarithm.
struct Importance {
  private var isKnown = false
  private var population = 0.0
  private var category = 0.0
  private var chosen: Double?

  /// The parts that words of a category add.
  static let categories: [ExactText: Double] = [
    "country": 0.3, "continent": 0.3, "capital": 0.3, "state": 0.25, "province": 0.25, "city": 0.25, "region": 0.2,
    "island": 0.15, "town": 0.2, "airport": 0.2, "aerodrome": 0.15, "village": 0.1, "suburb": 0.1, "station": 0.1,
    "attraction": 0.1, "museum": 0.1, "university": 0.1, "cathedral": 0.1, "castle": 0.1, "stadium": 0.1,
    "hospital": 0.05, "park": 0.05, "peak": 0.05,
  ]

  /// Adds a word of the category.
  mutating func add(categoryWord word: String) { category = max(category, Self.categories[ExactText(word)] ?? 0) }

  /// Adds what a category was computed to add.
  mutating func add(category value: Double) { category = max(category, value) }

  /// The part of the category.
  var categoryValue: Double { category }

  /// Adds a tag.
  @inline(__always)
  mutating func add(
    _ key: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, isChosen: Bool
  ) {
    if isChosen { chosen = Self.scaled(Self.number(value)) }
    guard let first = key.first else { return }
    if first == UInt8(ascii: "w") {
      if key.elementsEqual("wikidata".utf8) || key.elementsEqual("wikipedia".utf8) { isKnown = true }
    } else if first == UInt8(ascii: "p"), key.elementsEqual("population".utf8) {
      population = max(0, Self.number(value))
    }
  }

  /// The importance in steps of 1/255.
  var steps: UInt8 {
    let sum = chosen ?? (isKnown ? 0.35 : 0) + min(0.7, population > 1 ? Self.logarithm(population) / 10 : 0) + category
    return UInt8((max(0, min(1, sum)) * 255).rounded())
  }

  private static func scaled(_ number: Double) -> Double { number <= 1 ? number : logarithm(number) / 10 }

  private static func number(_ text: UnsafeBufferPointer<UInt8>) -> Double {
    guard text.count <= 40, let number = Double(String(decoding: text, as: UTF8.self)), number.isFinite else {
      return 0
    }
    return number
  }

  /// Returns the decimal logarithm of a number above 1, linear between powers of 10, exact at them.
  private static func logarithm(_ number: Double) -> Double {
    var (power, rest) = (0.0, number)
    while rest >= 10 {
      rest /= 10
      power += 1
    }
    return power + (rest - 1) / 9
  }
}
