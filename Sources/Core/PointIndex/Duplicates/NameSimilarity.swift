import Basics
import Points
import SearchWords

/// The words of the names of some places, each once, with the numbers of places that have them.
struct NameWords {
  struct Word: BitwiseCopyable {
    /// The start of the word in ``scalars``, and its length.
    let start: UInt32
    let length: UInt16

    /// The start of the word in ``bytes``, and its length.
    let byteStart: UInt32
    let byteLength: UInt16

    /// The set of the scalars, as bits by their last six bits.
    let set: UInt64

    /// A Boolean value that indicates whether the word matches only itself: a number, or a pair of characters of a
    /// script without spaces.
    let isExact: Bool

    /// The number of places that have the word.
    var count: UInt32 = 0
    fileprivate var lastPlace = UInt32.max

    /// The weight, once all places are known: 1 for a word that more than half of the places have, and one more each
    /// time that half as many have it.
    var weight: Int32 = 0
  }

  private(set) var words: ContiguousArray<Word> = []
  private(set) var scalars: ContiguousArray<UInt32> = []
  private(set) var bytes: ContiguousArray<UInt8> = []
  private var numbers: [ExactText: UInt32] = [:]

  /// Returns the number of a word that a place has in a name.
  mutating func number(of word: NormalizedText.Word, in text: NormalizedText, place: UInt32) -> UInt32 {
    let key = ExactText(text.text(of: word))
    let number: UInt32
    if let known = numbers[key] {
      number = known
    } else {
      number = UInt32(words.count)
      numbers[key] = number
      let (start, byteStart) = (UInt32(scalars.count), UInt32(bytes.count))
      var (set, isNumber) = (UInt64(0), true)
      for scalar in key.text.unicodeScalars {
        scalars.append(scalar.value)
        set |= 1 << UInt64(scalar.value & 63)
        if !("0"..."9").contains(scalar) { isNumber = false }
      }
      bytes.append(contentsOf: key.text.utf8)
      words.append(
        Word(
          start: start, length: UInt16(clamping: scalars.count - Int(start)), byteStart: byteStart,
          byteLength: UInt16(clamping: bytes.count - Int(byteStart)), set: set,
          isExact: isNumber || word.isUnspaced))
    }
    if words[Int(number)].lastPlace != place {
      words[Int(number)].lastPlace = place
      words[Int(number)].count += 1
    }
    return number
  }

  /// Computes the weights of the words of a number of places.
  mutating func weigh(places: Int) {
    for index in words.indices {
      let ratio = max(1, places / max(1, Int(words[index].count)))
      words[index].weight = Int32(Int.bitWidth - ratio.leadingZeroBitCount)
    }
  }
}

/// A name of a place: its words, each once.
struct ComparedName: BitwiseCopyable {
  /// The maximum number of words that are compared.
  static let maximumWords = 16

  /// The start of the numbers of the words.
  let start: UInt32
  let count: UInt16

  /// A hash of the words without spaces between.
  let joined: UInt64
}

/// The comparison of names, with memory that it uses again.
struct NameComparison {
  private struct Match: BitwiseCopyable {
    let similarity: Int32
    let value: Int32
    let left: UInt16
    let right: UInt16
  }

  private static let rules = TypoRules(maximumEdits: 2, freesFirstLetter: true)

  private let words: NameWords
  private let numbers: ContiguousArray<UInt32>
  private var matches: ContiguousArray<Match> = []

  init(_ words: NameWords, numbers: ContiguousArray<UInt32>) {
    (self.words, self.numbers) = (words, numbers)
  }

  /// Returns the similarity of two names in thousandths.
  ///
  /// Each word has a weight, the greater the rarer it is. Words are matched one to one, the greatest product of
  /// similarity and weights first. The result is the mean of two ratios: the matched weight to that of both names, and
  /// the greater one of those to that of either name.
  mutating func similarity(_ left: ComparedName, _ right: ComparedName) -> Int {
    if left.count == 0 || right.count == 0 { return 0 }
    if left.joined == right.joined { return 1000 }
    matches.removeAll(keepingCapacity: true)
    var (leftWeight, rightWeight) = (0, 0)
    for i in 0..<Int(left.count) { leftWeight += Int(words.words[Int(numbers[Int(left.start) + i])].weight) }
    for j in 0..<Int(right.count) { rightWeight += Int(words.words[Int(numbers[Int(right.start) + j])].weight) }
    for i in 0..<Int(left.count) {
      let first = Int(numbers[Int(left.start) + i])
      for j in 0..<Int(right.count) {
        let second = Int(numbers[Int(right.start) + j])
        let similarity = first == second ? 1000 : self.similarity(ofWord: first, second)
        if similarity == 0 { continue }
        let weight = Int(words.words[first].weight + words.words[second].weight)
        matches.append(
          Match(
            similarity: Int32(similarity), value: Int32(similarity * weight), left: UInt16(i), right: UInt16(j)))
      }
    }
    if matches.isEmpty { return 0 }
    matches.sort { ($1.value, $0.left, $0.right) < ($0.value, $1.left, $1.right) }
    var (usedLeft, usedRight) = (UInt32(0), UInt32(0))
    var (matchedLeft, matchedRight) = (0, 0)
    for match in matches {
      let (leftBit, rightBit) = (UInt32(1) << UInt32(match.left), UInt32(1) << UInt32(match.right))
      guard usedLeft & leftBit == 0, usedRight & rightBit == 0 else { continue }
      usedLeft |= leftBit
      usedRight |= rightBit
      let (first, second) = (numbers[Int(left.start) + Int(match.left)], numbers[Int(right.start) + Int(match.right)])
      matchedLeft += Int(match.similarity) * Int(words.words[Int(first)].weight)
      matchedRight += Int(match.similarity) * Int(words.words[Int(second)].weight)
    }
    let both = (matchedLeft + matchedRight) / (leftWeight + rightWeight)
    return (both + max(matchedLeft / leftWeight, matchedRight / rightWeight)) / 2
  }

  /// Returns the similarity of two different words in thousandths.
  private func similarity(ofWord first: Int, _ second: Int) -> Int {
    let (one, other) = (words.words[first], words.words[second])
    if one.isExact || other.isExact { return 0 }
    let (short, long) = one.length <= other.length ? (one, other) : (other, one)
    return words.scalars.withUnsafeBufferPointer { scalars in
      let shortLetters = scalars[Int(short.start)..<Int(short.start) + Int(short.length)]
      let longLetters = scalars[Int(long.start)..<Int(long.start) + Int(long.length)]
      let (length, longLength) = (Int(short.length), Int(long.length))
      // The set is of all letters that the longer word lacks.
      let missing = (short.set & ~long.set).nonzeroBitCount
      if missing == 0, shortLetters.first == longLetters.first {
        if longLetters.starts(with: shortLetters) { return length >= 4 ? 900 : length >= 2 ? 700 : 500 }
        if 3...5 ~= length, longLength >= 2 * length - 1, Self.areInOrder(shortLetters, in: longLetters) { return 700 }
      }
      let allowed = Self.rules.edits(letters: longLength)
      guard allowed > 0, missing <= allowed, length + allowed >= longLength else { return 0 }
      return words.bytes.withUnsafeBufferPointer { bytes in
        let letters = QueryTerm.Letters(
          scalars: UnsafeBufferPointer(rebasing: shortLetters), set: short.set, isIncomplete: false)
        let word = UnsafeBufferPointer(
          rebasing: bytes[Int(long.byteStart)..<Int(long.byteStart) + Int(long.byteLength)])
        guard let edits = Self.rules.edits(letters, word, letters: longLength) else { return 0 }
        return 1000 - 2000 * edits / longLength
      }
    }
  }

  /// Returns a Boolean value that indicates whether letters occur in a word in their order.
  private static func areInOrder(
    _ letters: Slice<UnsafeBufferPointer<UInt32>>, in word: Slice<UnsafeBufferPointer<UInt32>>
  ) -> Bool {
    var next = letters.startIndex
    for letter in word where next < letters.endIndex && letters[next] == letter { next += 1 }
    return next == letters.endIndex
  }
}
