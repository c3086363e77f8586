import Basics
import Geo
import SearchWords

/// The names of areas in the form in which texts are compared, and the parts of texts that are such names.
struct AreaNames: Sendable {
  /// A name at an end of a text.
  struct Mention {
    /// The areas of the name.
    let areas: NamedAreas

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

  /// The rank of each area by its importance, its size and its id, the first as 0.
  let ranks: [Int32]

  /// Creates the names of areas, which are known by their positions.
  init(_ areas: [Area]) {
    var (exact, declined): ([NameTable.Entry], [NameTable.Entry]) = ([], [])
    var (first, last, count): (Set<ExactText>, Set<ExactText>, Int) = ([], [], 0)
    let places = areas.map { Self.place(of: $0) }
    func add(_ name: String, _ area: Int, to entries: inout [NameTable.Entry]) {
      entries.append((ExactText(name), places[area], Int32(area)))
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
    let order = areas.indices.map { (-areas[$0].draft.importance, -areas[$0].draft.outline.squareMetres, $0) }
      .sorted { $0 < $1 }
    var ranks = [Int32](repeating: 0, count: areas.count)
    for (rank, area) in order.enumerated() { ranks[area.2] = Int32(rank) }
    self.ranks = ranks
    let leaves = areas.enumerated().map { index, area in
      NameTable.Leaf(boxes: area.draft.outline.boxes, rank: ranks[index], kind: area.draft.kind)
    }
    self.exact = NameTable(exact, leaves)
    self.declined = NameTable(declined, leaves)
    (firstWords, lastWords, maximumWordCount) = (first, last, count)
  }

  /// Returns a number by which areas near each other are near each other in their order: the bits of the longitude and
  /// the latitude of the centre in turn (Morton order).
  private static func place(of area: Area) -> UInt32 {
    guard let box = area.draft.outline.boxes.first else { return 0 }
    func bits(_ low: Int32, _ high: Int32, _ extent: Int64) -> UInt32 {
      var bits = UInt32(clamping: (Int64(low) + Int64(high) + extent) * 0xFFFF / (2 * extent))
      for (shift, mask): (UInt32, UInt32) in [(8, 0x00FF_00FF), (4, 0x0F0F_0F0F), (2, 0x3333_3333), (1, 0x5555_5555)] {
        bits = (bits | bits << shift) & mask
      }
      return bits
    }
    return bits(box.west, box.east, 3_600_000_000) | bits(box.south, box.north, 1_800_000_000) << 1
  }

  /// Returns the areas of a normalized name.
  subscript(name: String) -> NamedAreas { exact[name] }

  /// Calls a closure with each normalized name and an area of it.
  func forEach<Failure: Error>(_ body: (_ name: String, _ area: Int32) throws(Failure) -> Void) throws(Failure) {
    for (name, area) in zip(exact.names, exact.areas) { try body(name.text, area) }
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
      guard let areas = areas(named: name, isIncomplete: isIncomplete) else { continue }
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
      guard let areas = areas(named: name, isIncomplete: false) else { continue }
      var rest = scalars.dropFirst(end)
      if let particle = rest.first, Self.particles.contains(particle), rest.count > 1 { rest = rest.dropFirst() }
      return Mention(areas: areas, rest: String(Substring(rest)))
    }
    return nil
  }

  /// Returns the areas of a normalized name, which may be declined; `nil` if there are none.
  ///
  /// - Parameter isIncomplete: a Boolean value that indicates whether the last word is being typed.
  func areas(named name: String, isIncomplete: Bool) -> NamedAreas? {
    let found = [exact[name], declined[name]].first { !$0.isEmpty }
    return found ?? (isIncomplete ? areas(beginningWith: name) : nil)
  }

  private func areas(beginningWith text: String) -> NamedAreas? {
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

/// The areas of a name, or of the names with a beginning.
struct NamedAreas {
  fileprivate let table: NameTable
  fileprivate let range: Range<Int>

  var isEmpty: Bool { range.isEmpty }

  /// Returns the index of the nearest area, of these that of the least rank; `nil` if there is none.
  ///
  /// - Parameter distance: the distance from a place; `nil` if all are as near.
  func best(near distance: AreaDistance?, kind: AreaKind?) -> Int32? {
    table.best(in: range, near: distance, kind: kind).map { table.areas[$0] }
  }
}

/// Areas by their names, in arrays: a dictionary takes several times their memory. A tree over them finds the nearest of
/// a name that many have.
private final class NameTable: Sendable {
  typealias Entry = (name: ExactText, place: UInt32, area: Int32)

  /// The properties of an area that are compared.
  struct Leaf {
    let boxes: [AreaOutline.Box]
    let rank: Int32
    let kind: AreaKind
  }

  /// The properties of some successive entries.
  private struct Node: BitwiseCopyable {
    var box: AreaOutline.Box
    /// The least rank.
    var rank: Int32
    /// The kinds as bits.
    var kinds: UInt8

    mutating func include(_ other: Node) {
      box = box.union(other.box)
      rank = min(rank, other.rank)
      kinds |= other.kinds
    }
  }

  private static let fanout = 16

  /// The names in their order, each as often as it has areas.
  let names: [ExactText]

  /// The area of each name. Those of a name are in the order of their places.
  let areas: [Int32]

  /// The second boxes, by the index of the entry, of areas on both sides of the antimeridian.
  private let secondBoxes: [Int: AreaOutline.Box]

  /// The nodes of the entries, of each ``fanout`` of these, and so on up to one.
  private let levels: [[Node]]

  /// Creates a table of entries, of which equal ones count once.
  init(_ entries: [Entry], _ leaves: [Leaf]) {
    let sorted = entries.sorted { $0 < $1 }
    let distinct = sorted.indices.filter { $0 == 0 || sorted[$0] != sorted[$0 - 1] }
    names = distinct.map { sorted[$0].name }
    let areas = distinct.map { sorted[$0].area }
    self.areas = areas
    var secondBoxes: [Int: AreaOutline.Box] = [:]
    var levels = [
      areas.enumerated().map { index, area -> Node in
        let leaf = leaves[Int(area)]
        if leaf.boxes.count > 1 { secondBoxes[index] = leaf.boxes[1] }
        return Node(box: leaf.boxes.first ?? .earth, rank: leaf.rank, kinds: Self.bit(of: leaf.kind))
      }
    ]
    while let last = levels.last, last.count > 1 {
      let isFirst = levels.count == 1
      levels.append(
        stride(from: 0, to: last.count, by: Self.fanout).map { start in
          var node = last[start]
          for index in start..<min(start + Self.fanout, last.count) {
            node.include(last[index])
            if isFirst, let box = secondBoxes[index] { node.box = node.box.union(box) }
          }
          return node
        })
    }
    self.secondBoxes = secondBoxes
    self.levels = levels
  }

  private static func bit(of kind: AreaKind) -> UInt8 {
    switch kind {
    case .country: 1
    case .region: 2
    case .city: 4
    case .district: 8
    case .postcode: 16
    case .custom: 32
    }
  }

  /// The areas of a name. O(log n) for n names.
  subscript(name: String) -> NamedAreas {
    let name = ExactText(name)
    let start = names.partitioningIndex { $0 >= name }
    return NamedAreas(table: self, range: start..<names[start...].partitioningIndex { $0 > name })
  }

  /// Returns the areas of the names that begin with a text. O(log n) for n names.
  func areas(beginningWith text: String) -> NamedAreas {
    let start = names.partitioningIndex { $0 >= ExactText(text) }
    let end = names[start...].partitioningIndex { !$0.text.utf8.starts(with: text.utf8) }
    return NamedAreas(table: self, range: start..<end)
  }

  // MARK: The nearest

  private typealias Key = (distance: Double, rank: Int32)

  /// The index of the best entry so far.
  private struct Best {
    var index: Int?
    var key: Key = (.infinity, .max)
  }

  /// Returns the index of the nearest entry, of these that of the least rank; `nil` if there is none.
  func best(in range: Range<Int>, near distance: AreaDistance?, kind: AreaKind?) -> Int? {
    guard !range.isEmpty else { return nil }
    var best = Best()
    visit(0, level: levels.count - 1, range, distance, kind.map(Self.bit) ?? .max, &best)
    return best.index
  }

  private func key(_ index: Int, level: Int, _ distance: AreaDistance?) -> Key {
    let node = levels[level][index]
    guard let distance else { return (0, node.rank) }
    var least = distance.haversine(to: node.box)
    if level == 0, let box = secondBoxes[index] { least = min(least, distance.haversine(to: box)) }
    return (least, node.rank)
  }

  /// Looks for a better entry in the children of a node: first in those that may have the best.
  private func visit(
    _ index: Int, level: Int, _ range: Range<Int>, _ distance: AreaDistance?, _ kinds: UInt8, _ best: inout Best
  ) {
    guard level > 0 else {
      let key = key(index, level: 0, distance)
      if levels[0][index].kinds & kinds != 0, key < best.key { best = Best(index: index, key: key) }
      return
    }
    var width = 1
    for _ in 1..<level { width *= Self.fanout }
    let start = index * Self.fanout
    var children: [(key: Key, index: Int)] = []
    for child in start..<min(start + Self.fanout, levels[level - 1].count) {
      guard child * width < range.upperBound, (child + 1) * width > range.lowerBound,
        levels[level - 1][child].kinds & kinds != 0
      else { continue }
      children.append((key(child, level: level - 1, distance), child))
    }
    children.sort { $0.key < $1.key }
    for child in children where child.key < best.key {
      visit(child.index, level: level - 1, range, distance, kinds, &best)
    }
  }
}
