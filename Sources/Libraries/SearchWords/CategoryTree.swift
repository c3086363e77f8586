package import Basics

/// A tree of categories: groups, the categories below them, and their names in languages.
///
/// A name in data belongs to at most one category of the tree: to the one of that name, or to the one that has it among
/// its further names. Two trees are equal if they are the same object.
package final class CategoryTree: Sendable {
  /// The names of a category in a language.
  package struct Names: Hashable, Sendable {
    /// The language tag, in lower case.
    @ComparedByBytes package private(set) var language: String

    /// The label and then the synonyms, at least one.
    @ComparedByBytes package private(set) var label: String
    package let synonyms: [ExactText]

    package init(language: String, label: String, synonyms: [ExactText] = []) {
      self.language = language
      self.label = label
      self.synonyms = synonyms
    }

    /// The label and the synonyms.
    fileprivate var all: [String] { [label] + synonyms.map(\.text) }
  }

  /// A category as it is declared.
  package struct Declaration: Hashable, Sendable {
    package var name: ExactText

    /// The name of the category above; `nil` for a group.
    package var parent: ExactText?

    /// Further names of the category in data.
    package var otherNames: [ExactText]
    package var names: [Names]

    package init(name: ExactText, parent: ExactText? = nil, otherNames: [ExactText] = [], names: [Names]) {
      self.name = name
      self.parent = parent
      self.otherNames = otherNames
      self.names = names
    }
  }

  /// The error of a declaration.
  package struct InvalidDeclaration: Error {
    /// The position of the declaration.
    package let index: Int

    /// The reason: the rest of a sentence that begins with the category.
    package let reason: String
  }

  /// A text without the name of categories that it begins or ends with.
  package struct Reading: Hashable, Sendable {
    /// The names in data of the categories, and of those below.
    package let categories: Set<ExactText>

    /// The rest of the text; empty where the whole text is the name.
    @ComparedByBytes package private(set) var rest: String

    /// A Boolean value that indicates whether the name is the end of the text.
    package let isAtEnd: Bool

    /// A Boolean value that indicates whether the whole text is the name.
    package let isWhole: Bool
  }

  /// The character before a category that is excluded, with which no name of a category begins.
  package static let exclusionMark: Unicode.Scalar = "!"

  /// The maximum length of a name in data, in Unicode scalars.
  package static let maximumNameLength = 100

  /// The maximum length of a label or synonym, in Unicode scalars.
  package static let maximumLabelLength = 500

  /// The language of labels where no other is wanted.
  package static let defaultLanguage = "en"

  /// The tree without categories.
  package static let empty = CategoryTree()

  /// The categories, each directly before those below it.
  package let categories: [Declaration]

  /// The end of the categories below each.
  private let ends: [Int]

  /// The parent of each; `nil` for a group.
  private let parents: [Int?]

  /// The categories by their names in data.
  private let numbers: [ExactText: Int]

  /// The categories by the words of a label or synonym in any language, and the first and last words of these.
  private let terms: [ExactText: [Int]]
  private let edgeWords: Set<ExactText>
  private let maximumWordCount: Int

  /// The words of labels and synonyms, by their bytes, each with the words of its whole name.
  private let words: [(word: ExactText, name: Int)]

  /// The same labels, synonyms and plurals without the spaces between their words.
  private let spellings: CategorySpellings
  private let names: [(words: [ExactText], category: Int, language: ExactText)]

  private init() {
    (categories, ends, parents, numbers, terms) = ([], [], [], [:], [:])
    (edgeWords, maximumWordCount, words, names, spellings) = ([], 0, [], [], CategorySpellings([:]))
  }

  /// Creates a tree.
  ///
  /// - Throws: ``InvalidDeclaration`` at the first declaration that breaks a rule.
  package init(_ declarations: [Declaration]) throws(InvalidDeclaration) {
    let order = try Self.order(of: declarations)
    let categories = order.map { declarations[$0.index] }
    var numbers: [ExactText: Int] = [:]
    for (number, category) in categories.enumerated() {
      for name in [category.name] + category.otherNames { numbers[name] = number }
    }
    self.categories = categories
    self.numbers = numbers
    parents = categories.map { [numbers] in $0.parent.flatMap { numbers[$0] } }
    ends = order.indices.map { number in
      order[(number + 1)...].firstIndex { $0.depth <= order[number].depth } ?? order.count
    }
    let names = try Self.wordsOfNames(categories) { order[$0].index }
    self.names = names
    words = names.indices.flatMap { name in names[name].words.map { ($0, name) } }.sorted { $0.0 < $1.0 }
    var terms: [ExactText: [Int]] = [:]
    var (edges, plurals): (Set<ExactText>, Set<ExactText>) = ([], [])
    for name in names {
      let term = Self.joined(name.words[...])
      if terms[term]?.contains(name.category) != true { terms[term, default: []].append(name.category) }
      edges.formUnion([name.words[0], name.words[name.words.count - 1]])
    }
    for name in names {
      for words in Plural.forms(of: name.words, name.language) {
        let term = Self.joined(words[...])
        // The name of another category is not a plural.
        guard terms[term] == nil || plurals.contains(term) else { continue }
        plurals.insert(term)
        if terms[term]?.contains(name.category) != true { terms[term, default: []].append(name.category) }
        edges.formUnion([words[0], words[words.count - 1]])
      }
    }
    self.terms = terms
    spellings = CategorySpellings(terms)
    edgeWords = edges
    maximumWordCount = names.lazy.map(\.words.count).max() ?? 0
  }

  // MARK: Rules

  /// Returns the positions of the declarations, each directly before those below it, and their depths.
  private static func order(
    of declarations: [Declaration]
  ) throws(InvalidDeclaration) -> [(index: Int, depth: Int)] {
    var owners: [ExactText: Int] = [:]
    for (index, declaration) in declarations.enumerated() {
      for name in [declaration.name] + declaration.otherNames {
        if let reason = violation(ofName: name) {
          throw .init(index: index, reason: "has the name '\(name)', which \(reason)")
        }
        if let owner = owners.updateValue(index, forKey: name) {
          throw .init(
            index: index, reason: "has the name '\(name)', which is also one of '\(declarations[owner].name)'")
        }
      }
    }
    let indexes = Dictionary(uniqueKeysWithValues: declarations.enumerated().map { ($1.name, $0) })
    var children: [Int?: [Int]] = [:]
    for (index, declaration) in declarations.enumerated() {
      var parent: Int?
      if let name = declaration.parent {
        guard let known = indexes[name] else {
          throw .init(index: index, reason: "has the parent '\(name)', which is not a category")
        }
        parent = known
      }
      children[parent, default: []].append(index)
    }
    var order: [(index: Int, depth: Int)] = []
    var rest = children[.none, default: []].reversed().map { (index: $0, depth: 0) }
    while let next = rest.popLast() {
      order.append(next)
      rest += children[next.index, default: []].reversed().map { ($0, next.depth + 1) }
    }
    // A category that no group leads to is in a cycle or below one.
    if order.count < declarations.count {
      let reached = Set(order.lazy.map(\.index))
      let index = declarations.indices.first { !reached.contains($0) } ?? 0
      throw .init(index: index, reason: "has itself above it, or a category that has")
    }
    return order
  }

  private static func violation(ofName name: ExactText) -> String? {
    if name.text.isEmpty { return "must not be empty" }
    if name.text.unicodeScalars.first == exclusionMark { return "must not begin with '\(exclusionMark)'" }
    if name.text.utf8.contains(UInt8(ascii: ",")) { return "must not contain a comma" }
    return name.text.violation(maximumLength: maximumNameLength)
  }

  /// Returns the words of the labels and synonyms.
  ///
  /// - Parameter index: returns the position at which a category was declared.
  private static func wordsOfNames(
    _ categories: [Declaration], _ index: (Int) -> Int
  ) throws(InvalidDeclaration) -> [(words: [ExactText], category: Int, language: ExactText)] {
    var found: [(words: [ExactText], category: Int, language: ExactText)] = []
    var owners: [ExactText: [ExactText: Int]] = [:]
    for (number, category) in categories.enumerated() {
      if category.names.isEmpty { throw .init(index: index(number), reason: "has no label in any language") }
      for names in category.names {
        let language = ExactText(names.language)
        for name in names.all {
          let words = self.words(of: NormalizedText(name))
          if words.isEmpty || name.violation(maximumLength: maximumLabelLength) != nil {
            throw .init(
              index: index(number),
              reason: "has '\(name)' in \(language), which must have a letter or a digit and at most "
                + "\(maximumLabelLength) characters"
            )
          }
          let owner = owners[language, default: [:]].updateValue(number, forKey: joined(words[...]))
          if let owner, owner != number {
            throw .init(
              index: index(number),
              reason: "has '\(name)' in \(language), which is also a label or synonym of '\(categories[owner].name)'")
          }
          if owner == nil { found.append((words, number, language)) }
        }
      }
    }
    return found
  }

  private static func words(of text: NormalizedText) -> [ExactText] { text.words.map { ExactText(text.text(of: $0)) } }

  private static func joined(_ words: ArraySlice<ExactText>) -> ExactText {
    guard let first = words.first, words.count > 1 else { return words.first ?? ExactText("") }
    // Faster than the generic joined(separator:).
    var text = first.text
    for word in words.dropFirst() {
      text += " "
      text += word.text
    }
    return ExactText(text)
  }

  // MARK: Categories

  package var isEmpty: Bool { categories.isEmpty }

  /// Returns the number of the category that a name in data belongs to; `nil` if it is in no category.
  package func number(ofNameInData name: ExactText) -> Int? { numbers[name] }

  /// Returns the number of the category of a name; `nil` if there is none, or it is a further name of one.
  package func number(of name: ExactText) -> Int? {
    numbers[name].flatMap { name == categories[$0].name ? $0 : nil }
  }

  /// Returns the number of the group that a category is in.
  package func group(of number: Int) -> Int {
    var group = number
    while let parent = parents[group] { group = parent }
    return group
  }

  /// Returns the groups with a total, the most frequent first, ties in the order of the tree.
  package func roots(mostFrequentBy totals: [Int]) -> [Int] { children(in: categories.indices, totals) }

  /// Returns the categories directly below one with a total, the most frequent first, ties in the order of the tree.
  package func children(of number: Int, mostFrequentBy totals: [Int]) -> [Int] {
    children(in: number + 1..<ends[number], totals)
  }

  /// Returns those of some categories that have none of the others above them.
  private func children(in range: Range<Int>, _ totals: [Int]) -> [Int] {
    var children: [Int] = []
    var next = range.lowerBound
    while next < range.upperBound {
      if totals[next] > 0 { children.append(next) }
      next = ends[next]
    }
    // Sorting is stable by the number.
    return children.sorted { (totals[$1], $0) < (totals[$0], $1) }
  }

  /// Returns the numbers of a category and of those below it.
  package func subtree(of number: Int) -> Range<Int> { number..<ends[number] }

  /// Returns the names in data of a category and of those below it; a name that is not that of a category stands for
  /// itself alone.
  package func namesInData(of name: ExactText) -> [ExactText] {
    guard let number = number(of: name) else { return [name] }
    return categories[subtree(of: number)].flatMap { [$0.name] + $0.otherNames }
  }

  /// Returns the label of a category in the most preferred language that it has one in, or else in
  /// ``defaultLanguage`` or the first one, and that language.
  package func label(
    of number: Int, in languages: LanguagePriorityList? = nil
  ) -> (label: String, language: String) {
    let names = categories[number].names
    func label(_ language: Substring) -> (String, String)? {
      names.first { $0.language.utf8.elementsEqual(language.utf8) }.map { ($0.label, $0.language) }
    }
    if let found = languages?.first(label) ?? label(Self.defaultLanguage[...]) { return found }
    return (names[0].label, names[0].language)
  }

  /// Returns the sum of the counts of each category and those below it.
  ///
  /// - Parameter counts: the count of each category, in the order of ``categories``.
  package func totals(of counts: [Int]) -> [Int] {
    var totals = counts
    for number in categories.indices.reversed() {
      if let parent = parents[number] { totals[parent] += totals[number] }
    }
    return totals
  }

  // MARK: Texts

  /// Returns the readings of a text that is, or begins or ends with, a label or synonym in any language, the longest
  /// at either side. Spaces between the words of these do not matter if they are the whole text, or two words at an
  /// end of it. A text without one costs a few look-ups.
  package func readings(of text: String) -> [Reading] { readings(of: text, NormalizedText(text)) }

  /// Returns the same of a text whose normal form is known.
  package func readings(of text: String, _ normalized: NormalizedText) -> [Reading] {
    guard let first = normalized.words.first, let last = normalized.words.last, !isEmpty else { return [] }
    let (begins, ends) = (
      edgeWords.contains(ExactText(normalized.text(of: first))),
      edgeWords.contains(ExactText(normalized.text(of: last)))
    )
    let scalars = text.unicodeScalars
    guard begins || ends else { return readings(ofOtherSpacingIn: normalized, scalars) }
    let words = Self.words(of: normalized)
    var readings: [Reading] = []
    let counts = (1...min(maximumWordCount, words.count)).reversed()
    if ends, let (count, found) = longest(counts, { words.suffix($0) }) {
      let rest = scalars.prefix(Int(normalized.words[words.count - count].sourceStart))
      readings.append(reading(found, rest: rest, isAtEnd: true))
      if count == words.count { return readings }
    }
    if begins, let (count, found) = longest(counts, { words.prefix($0) }) {
      let rest = scalars.dropFirst(Int(normalized.words[count - 1].sourceEnd))
      readings.append(reading(found, rest: rest, isAtEnd: false))
    }
    let others = self.readings(ofOtherSpacingIn: normalized, scalars).filter { other in
      other.isWhole || !readings.contains { $0.isAtEnd == other.isAtEnd }
    }
    return others + readings
  }

  /// Returns the readings by names whose spaces are others than those of the text.
  private func readings(ofOtherSpacingIn text: NormalizedText, _ scalars: String.UnicodeScalarView) -> [Reading] {
    let words = text.words
    if let found = spellings.categories(of: text, words.indices) {
      return [reading(found, rest: scalars.prefix(0), isAtEnd: true)]
    }
    guard words.count > 2 else { return [] }
    var readings: [Reading] = []
    if let found = spellings.categories(of: text, words.count - 2..<words.count) {
      readings.append(
        reading(found, rest: scalars.prefix(Int(words[words.count - 2].sourceStart)), isAtEnd: true))
    }
    if let found = spellings.categories(of: text, 0..<2) {
      readings.append(reading(found, rest: scalars.dropFirst(Int(words[1].sourceEnd)), isAtEnd: false))
    }
    return readings
  }

  /// Returns the names in data of the categories of which a label or synonym differs from a text by one edit, spaces
  /// aside, and of those below them; none for a text of less than five letters, or one that is a label or synonym.
  package func categories(nearlyNamed text: NormalizedText) -> Set<ExactText> {
    guard spellings.categories(of: text, text.words.indices) == nil else { return [] }
    let numbers = spellings.categories(near: text)
    return Set(numbers.flatMap { namesInData(of: categories[$0].name) })
  }

  private func longest(
    _ counts: ReversedCollection<ClosedRange<Int>>, _ words: (Int) -> ArraySlice<ExactText>
  ) -> (count: Int, categories: [Int])? {
    for count in counts {
      if let found = terms[Self.joined(words(count))] { return (count, found) }
    }
    return nil
  }

  private func reading(_ numbers: [Int], rest: Substring.UnicodeScalarView, isAtEnd: Bool) -> Reading {
    let names = numbers.flatMap { namesInData(of: categories[$0].name) }
    let text = String(Substring(rest))
    return Reading(categories: Set(names), rest: text, isAtEnd: isAtEnd, isWhole: NormalizedText(text).isEmpty)
  }

  /// Returns the categories that have a label or synonym with all words of a text, the last one as the beginning of a
  /// word, and whether that is in one of some languages or in ``defaultLanguage``.
  package func completions(of text: String, in languages: LanguagePriorityList?) -> [Int: Bool] {
    let wanted = Self.words(of: NormalizedText(text))
    guard let last = wanted.last else { return [:] }
    let start = words.partitioningIndex { $0.word >= last }
    var found: [Int: Bool] = [:]
    for (word, number) in words[start...] {
      guard word.text.utf8.starts(with: last.text.utf8) else { break }
      let name = names[number]
      guard wanted.dropLast().allSatisfy(name.words.contains) else { continue }
      let isPreferred =
        name.language == ExactText(Self.defaultLanguage)
        || languages?.first { $0.utf8.elementsEqual(name.language.text.utf8) ? true : nil } == true
      found[name.category] = found[name.category] == true || isPreferred
    }
    return found
  }
}

extension CategoryTree: Hashable {
  package static func == (left: CategoryTree, right: CategoryTree) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The names of categories without spaces, by which a text is compared with them whatever its spaces are.
private struct CategorySpellings: Sendable {
  private struct Spelling: Sendable {
    let letters: [UInt32]

    /// The set of the letters, as bits by their last six bits.
    let set: UInt64
    let categories: [Int]

    init(_ name: ExactText, _ categories: [Int]) {
      letters = name.text.unicodeScalars.map(\.value)
      set = letters.reduce(0) { $0 | 1 << UInt64($1 & 63) }
      self.categories = categories
    }
  }

  private let categories: [ExactText: [Int]]

  /// The names with enough letters for an edit, by their numbers of letters and their first letters, and by their last
  /// letters: an edit changes one of these at most.
  private let byEdges: [Edge: [Spelling]]

  private struct Edge: Hashable {
    let count: Int
    let letter: UInt32
    let isFirst: Bool
  }

  private static let lettersForEdit = 5
  private static let maximumLetters = 60

  /// Creates the spellings of names, whose words have spaces between them.
  init(_ names: [ExactText: [Int]]) {
    var categories: [ExactText: [Int]] = [:]
    for (name, numbers) in names {
      let spelling = ExactText(name.text.filter { $0 != " " })
      categories[spelling, default: []] += numbers.filter { categories[spelling]?.contains($0) != true }
    }
    self.categories = categories.mapValues { $0.sorted() }
    let spellings = self.categories.sorted { $0.key < $1.key }.map { Spelling($0.key, $0.value) }
    var byEdges: [Edge: [Spelling]] = [:]
    for spelling in spellings where spelling.letters.count >= Self.lettersForEdit {
      let letters = spelling.letters
      byEdges[Edge(count: letters.count, letter: letters[0], isFirst: true), default: []].append(spelling)
      byEdges[Edge(count: letters.count, letter: letters[letters.count - 1], isFirst: false), default: []]
        .append(spelling)
    }
    self.byEdges = byEdges
  }

  /// Returns the categories whose name is that of some words; `nil` if there are none.
  func categories(of text: NormalizedText, _ words: Range<Int>) -> [Int]? {
    guard let last = words.last else { return nil }
    let bytes = Int(text.words[words.lowerBound].start)..<Int(text.words[last].end)
    guard bytes.count <= 4 * Self.maximumLetters else { return nil }
    return categories[ExactText(String(decoding: text.bytes[bytes], as: UTF8.self))]
  }

  /// Returns the categories of a name within one edit of a text.
  func categories(near text: NormalizedText) -> [Int] {
    let letters = String(decoding: text.bytes, as: UTF8.self).unicodeScalars.map(\.value)
    guard (Self.lettersForEdit...Self.maximumLetters).contains(letters.count),
      !text.words.contains(where: \.isUnspaced)
    else { return [] }
    let set = letters.reduce(UInt64(0)) { $0 | 1 << UInt64($1 & 63) }
    var found: Set<Int> = []
    let edges = (letters.count - 1...letters.count + 1).flatMap { count in
      [
        Edge(count: count, letter: letters[0], isFirst: true),
        Edge(count: count, letter: letters[letters.count - 1], isFirst: false),
      ]
    }
    for edge in edges {
      for spelling in byEdges[edge] ?? []
      where (spelling.set & ~set).nonzeroBitCount <= 1 && (set & ~spelling.set).nonzeroBitCount <= 1
        && Self.isOneEdit(letters, spelling.letters)
      {
        found.formUnion(spelling.categories)
      }
    }
    return found.sorted()
  }

  /// Returns a Boolean value that indicates whether one letter is inserted, deleted, replaced or exchanged with its
  /// neighbour. Equal texts are no edit.
  private static func isOneEdit(_ left: [UInt32], _ right: [UInt32]) -> Bool {
    let beginning = zip(left, right).prefix { $0 == $1 }.count
    let (first, second) = (left[beginning...], right[beginning...])
    let ending = zip(first.reversed(), second.reversed()).prefix { $0 == $1 }.count
    let (own, other) = (first.dropLast(ending), second.dropLast(ending))
    switch (own.count, other.count) {
    case (1, 0), (0, 1), (1, 1): return true
    case (2, 2):
      return own[own.startIndex] == other[other.startIndex + 1] && own[own.startIndex + 1] == other[other.startIndex]
    default: return false
    }
  }
}

/// The plurals of names of categories, by rules for the endings of words as they are normalized.
private enum Plural {
  /// The endings in the plural by that in the singular, by language: the first that fits.
  private static let endings: [ExactText: [(singular: String, plurals: [String])]] = [
    "de": [("um", ["en"]), ("", ["s", "n", "en", "e", "er"])],
    "en": [
      ("s", ["ses"]), ("x", ["xes"]), ("ch", ["ches"]), ("sh", ["shes"]), ("ay", ["ays"]), ("ey", ["eys"]),
      ("y", ["ies"]), ("", ["s"]),
    ],
    "es": [("z", ["ces"]), ("a", ["as"]), ("e", ["es"]), ("o", ["os"]), ("", ["es", "s"])],
    "fr": [("s", []), ("x", []), ("eau", ["eaux"]), ("al", ["aux"]), ("", ["s"])],
    "it": [("ca", ["che"]), ("go", ["ghi"]), ("a", ["e"]), ("o", ["i"]), ("e", ["i"])],
    "nl": [("", ["en", "s"])],
    "pl": [("um", ["a"]), ("ka", ["ki"]), ("a", ["y"]), ("", ["y", "e"])],
    "pt": [("m", ["ns"]), ("l", ["is"]), ("a", ["as"]), ("e", ["es"]), ("o", ["os"]), ("", ["es"])],
    "ru": [
      ("ка", ["ки"]), ("га", ["ги"]), ("ха", ["хи"]), ("ия", ["ии"]), ("а", ["ы"]), ("я", ["и"]), ("ь", ["и"]),
      ("и", []), ("о", []), ("е", []), ("к", ["ки"]), ("г", ["ги"]), ("ж", ["жи"]), ("ш", ["ши"]), ("", ["ы"]),
    ],
  ]

  /// The languages whose last word is the one that has a plural.
  private static let headsAtEnd: Set<ExactText> = ["de", "en", "nl"]

  /// Returns the words of a name in the plural; none for a name of several words in a language with the main word first.
  static func forms(of words: [ExactText], _ language: ExactText) -> [[ExactText]] {
    let language = ExactText(String(language.text.prefix { $0 != "-" }))
    guard let rules = endings[language], let last = words.last, words.count == 1 || headsAtEnd.contains(language),
      let rule = rules.first(where: { last.text.hasSuffix($0.singular) })
    else { return [] }
    return rule.plurals.map { words.dropLast() + [ExactText(last.text.dropLast(rule.singular.count) + $0)] }
  }
}
