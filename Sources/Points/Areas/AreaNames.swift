import Basics

/// The names of areas in the form in which texts are compared, and the parts of texts that are such names.
struct AreaNames: Sendable {
  /// A name at an end of a text.
  struct Mention {
    /// The positions of the areas of the name.
    let areas: ArraySlice<Int32>

    /// The text without the name, and without the words that lead to it.
    let rest: String
  }

  /// The words that lead to the name of a place: in, at and of in languages that have such words.
  private static let prepositions: Set<ExactText> = [
    "in", "im", "at", "of", "a", "au", "aux", "en", "de", "del", "des", "du", "d", "la", "da", "do", "di", "nel",
    "nella", "em", "no", "na", "w", "we", "v", "ve", "te", "в", "во", "на",
  ]

  /// The characters that lead from the name of a place to what is there.
  private static let particles: Set<Unicode.Scalar> = ["の", "的"]

  /// The number of letters from which on the beginning of a word that is being typed stands for a name.
  private static let lettersOfBeginning = 3

  /// The number of characters up to which a part of a text is compared.
  private static let maximumLength = 100

  /// The names of all areas.
  private let exact: NameTable

  /// The names as they are declined.
  private let declined: NameTable
  private let firstWords: Set<ExactText>
  private let lastWords: Set<ExactText>

  /// The greatest number of words of a name.
  private let maximumWordCount: Int

  /// Creates the names of areas, which are known by their positions.
  init(_ areas: [Area]) {
    var (exact, declined): ([NameTable.Entry], [NameTable.Entry]) = ([], [])
    var (first, last, count): (Set<ExactText>, Set<ExactText>, Int) = ([], [], 0)
    func add(_ name: String, _ area: Int, to entries: inout [NameTable.Entry]) {
      entries.append((ExactText(name), Int32(area)))
      let text = NormalizedText(name)
      if let word = text.words.first { first.insert(ExactText(text.text(of: word))) }
      if let word = text.words.last { last.insert(ExactText(text.text(of: word))) }
      count = max(count, text.words.count)
    }
    for (index, area) in areas.enumerated() {
      for name in [area.draft.name] + area.draft.names.pairs.map(\.value) {
        let name = NormalizedText(name).text
        if name.isEmpty { continue }
        add(name, index, to: &exact)
        for form in Self.declensions(of: name) { add(form, index, to: &declined) }
      }
    }
    self.exact = NameTable(exact)
    self.declined = NameTable(declined)
    (firstWords, lastWords, maximumWordCount) = (first, last, count)
  }

  /// Returns the areas of a normalized name.
  subscript(name: String) -> ArraySlice<Int32> { exact[name] }

  /// Calls a closure with each normalized name and an area of it.
  func forEach(_ body: (_ name: String, _ area: Int32) -> Void) {
    for (name, area) in zip(exact.names, exact.areas) { body(name.text, area) }
  }

  // MARK: Texts

  /// Returns the longest name that a text ends with, beside other words.
  ///
  /// - Parameter isIncomplete: a Boolean value that indicates whether the last word is being typed.
  func mention(atEndOf text: String, isIncomplete: Bool) -> Mention? {
    let normalized = NormalizedText(text)
    let words = normalized.words
    guard let last = words.last, words.count > 1,
      isIncomplete || lastWords.contains(ExactText(normalized.text(of: last)))
    else { return nil }
    let scalars = text.unicodeScalars
    for word in words[max(1, words.count - maximumWordCount)...] {
      let start = Int(word.sourceStart)
      guard scalars.count - start <= Self.maximumLength else { continue }
      let name = NormalizedText(String(Substring(scalars.dropFirst(start)))).text
      guard let areas = areas(named: name) ?? (isIncomplete ? areas(beginningWith: name) : nil) else { continue }
      return Mention(areas: areas, rest: Self.withoutPrepositions(String(Substring(scalars.prefix(start)))))
    }
    return nil
  }

  /// Returns the longest name that a text begins with, beside other words.
  func mention(atBeginningOf text: String) -> Mention? {
    let normalized = NormalizedText(text)
    let words = normalized.words
    guard let first = words.first, words.count > 1, firstWords.contains(ExactText(normalized.text(of: first))) else {
      return nil
    }
    let scalars = text.unicodeScalars
    for word in words[1...min(words.count - 1, maximumWordCount)].reversed() {
      let end = Int(word.sourceStart)
      guard end <= Self.maximumLength else { continue }
      let name = NormalizedText(String(Substring(scalars.prefix(end)))).text
      guard let areas = areas(named: name) else { continue }
      var rest = scalars.dropFirst(end)
      if let particle = rest.first, Self.particles.contains(particle), rest.count > 1 { rest = rest.dropFirst() }
      return Mention(areas: areas, rest: String(Substring(rest)))
    }
    return nil
  }

  private func areas(named name: String) -> ArraySlice<Int32>? {
    [exact[name], declined[name]].first { !$0.isEmpty }
  }

  private func areas(beginningWith text: String) -> ArraySlice<Int32>? {
    let isUnspaced = NormalizedText(text).words.last?.isUnspaced == true
    guard isUnspaced || text.unicodeScalars.count >= Self.lettersOfBeginning else { return nil }
    let found = exact.areas(beginningWith: text)
    return found.isEmpty ? nil : found
  }

  private static func withoutPrepositions(_ text: String) -> String {
    let normalized = NormalizedText(text)
    var count = normalized.words.count
    while count > 1, prepositions.contains(ExactText(normalized.text(of: normalized.words[count - 1]))) { count -= 1 }
    return String(Substring(text.unicodeScalars.prefix(Int(normalized.words[count - 1].sourceEnd))))
  }

  // MARK: Declension

  /// The endings of Russian names in the prepositional and the genitive case, by the ending in the nominative as it is
  /// normalized: the first that fits.
  private static let endings: [(nominative: String, others: [String])] = [
    ("ия", ["ии"]), ("ая", ["ои"]), ("ыи", ["ом", "ого"]), ("ии", ["ем", "ом", "его", "ого"]), ("а", ["е", "ы", "и"]),
    ("я", ["е", "и"]), ("ь", ["и", "е", "я"]), ("ы", ["ах"]),
  ]

  private static let vowels: Set<Character> = ["о", "е", "и", "у", "э", "ю"]

  /// Returns the prepositional and the genitive case of a Russian name, of its last word or of two words; of other
  /// names none.
  private static func declensions(of name: String) -> [String] {
    guard name.unicodeScalars.contains(where: { (0x0410...0x044F).contains($0.value) }) else { return [] }
    var words = name.split(separator: " ").map(String.init)
    guard let last = words.popLast() else { return [] }
    func forms(_ word: String) -> [String] {
      for (ending, others) in endings where word.hasSuffix(ending) {
        return others.map { word.dropLast(ending.count) + $0 }
      }
      return word.last.map(vowels.contains) == true ? [] : [word + "е", word + "а"]
    }
    var beginnings = [words.joined(separator: " ")]
    if words.count == 1 { beginnings += forms(words[0]) }
    return beginnings.flatMap { beginning in forms(last).map { beginning.isEmpty ? $0 : beginning + " " + $0 } }
  }
}

/// Areas by their names, in two arrays: a dictionary takes several times their memory.
private struct NameTable: Sendable {
  typealias Entry = (name: ExactText, area: Int32)

  /// The names in their order, each as often as it has areas.
  let names: [ExactText]

  /// The area of each name.
  let areas: [Int32]

  /// Creates a table of entries, of which equal ones count once.
  init(_ entries: [Entry]) {
    let sorted = entries.sorted { $0 < $1 }
    let distinct = sorted.indices.filter { $0 == 0 || sorted[$0] != sorted[$0 - 1] }
    names = distinct.map { sorted[$0].name }
    areas = distinct.map { sorted[$0].area }
  }

  /// The areas of a name. O(log n) for n names.
  subscript(name: String) -> ArraySlice<Int32> {
    let name = ExactText(name)
    let start = names.partitioningIndex { $0 >= name }
    return areas[start..<(names[start...].firstIndex { $0 != name } ?? names.endIndex)]
  }

  /// Returns the areas of the names that begin with a text.
  func areas(beginningWith text: String) -> ArraySlice<Int32> {
    let start = names.partitioningIndex { $0 >= ExactText(text) }
    return areas[start...].prefix(names[start...].prefix { $0.text.utf8.starts(with: text.utf8) }.count)
  }
}
