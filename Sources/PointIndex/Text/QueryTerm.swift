import Points

/// A word of a query.
struct QueryTerm: Sendable {
  /// The word in UTF-8.
  let bytes: ContiguousArray<UInt8>

  /// The word's Unicode scalars.
  let scalars: ContiguousArray<UInt32>

  /// The set of the scalars, as bits by their last six bits.
  private let letterSet: UInt64

  /// The number of letters that count for the coverage of a name.
  let letters: Int

  /// A Boolean value that indicates whether the word is of a script without spaces, which has no typos.
  let isUnspaced: Bool

  /// A Boolean value that indicates whether the word is being typed, so that its typos are those of a beginning.
  let isIncomplete: Bool

  init(bytes: ContiguousArray<UInt8>, letters: Int, isUnspaced: Bool, isIncomplete: Bool) {
    self.bytes = bytes
    scalars = ContiguousArray(String(decoding: bytes, as: UTF8.self).unicodeScalars.lazy.map(\.value))
    letterSet = scalars.reduce(0) { $0 | 1 << UInt64($1 & 63) }
    self.letters = letters
    self.isUnspaced = isUnspaced
    self.isIncomplete = isIncomplete
  }

  /// The ends of the scalars in ``bytes``.
  var scalarEnds: ContiguousArray<Int> {
    var ends: ContiguousArray<Int> = []
    for index in bytes.indices.dropFirst() where bytes[index] & 0xC0 != 0x80 { ends.append(index) }
    ends.append(bytes.count)
    return ends
  }

  /// Returns a Boolean value that indicates whether the same words match this term and another.
  func isSame(as other: QueryTerm) -> Bool { bytes == other.bytes && isIncomplete == other.isIncomplete }

  /// Returns a Boolean value that indicates whether a word has too many or too few different letters to be within some
  /// edits of this one.
  @inline(__always)
  func isSurelyFar(from word: UnsafeBufferPointer<UInt8>, edits: Int) -> Bool {
    var others: UInt64 = 0
    for byte in word {
      // The last six bits of a scalar are those of its last byte.
      if byte & 0xC0 != 0xC0 { others |= 1 << UInt64(byte & 63) }
    }
    // An edit takes away one letter and adds another. Bytes between the first and the last only add bits.
    return (letterSet & ~others).nonzeroBitCount > edits
  }

  /// Returns the words of a text.
  static func terms(of text: String, completesLastWord: Bool) -> ContiguousArray<QueryTerm> {
    let text = NormalizedText(text)
    return ContiguousArray(
      text.words.enumerated().map { index, word in
        QueryTerm(
          bytes: ContiguousArray(text.bytes[Int(word.start)..<Int(word.end)]), letters: Int(word.letters),
          isUnspaced: word.isUnspaced, isIncomplete: completesLastWord && index == text.words.count - 1)
      })
  }
}

/// The rules by which a word matches one with typos.
struct TypoRules: BitwiseCopyable {
  /// The number of letters from which a word may have one edit.
  static let lettersForOne = 4

  /// The number of letters from which a word may have two edits.
  static let lettersForTwo = 8

  /// The maximum number of edits of a word: 0, 1 or 2.
  var maximumEdits: Int

  /// A Boolean value that indicates whether the first letter may differ.
  var freesFirstLetter: Bool

  /// A Boolean value that indicates whether words with less than ``lettersForOne`` letters may be missing.
  var omitsShortWords = false

  /// The maximum number of pairs of characters of a script without spaces that may be missing.
  var maximumMissingPairs = 0

  /// A Boolean value that indicates whether words of three letters may have one edit and words of four two.
  var isLenient = false

  /// A number that stands for the rules that edits depend on.
  @inline(__always)
  var key: UInt8 { UInt8(maximumEdits) << 2 | (freesFirstLetter ? 2 : 0) | (isLenient ? 1 : 0) }

  /// No typos.
  static let none = TypoRules(maximumEdits: 0, freesFirstLetter: false)

  /// Returns the maximum number of edits between two words, by the length of the longer one.
  @inline(__always)
  func edits(letters: Int) -> Int {
    let forTwo = isLenient ? Self.lettersForOne : Self.lettersForTwo
    let forOne = isLenient ? Self.lettersForOne - 1 : Self.lettersForOne
    return letters < forOne ? 0 : letters < forTwo ? min(maximumEdits, 1) : maximumEdits
  }

  /// Returns a Boolean value that indicates whether the first letter of a word of a query may differ.
  @inline(__always)
  func freesFirstLetter(of term: QueryTerm) -> Bool {
    freesFirstLetter || (maximumEdits == 2 && term.scalars.count >= Self.lettersForTwo)
  }

  /// Returns the number of edits between a word of a query and a place's, or `nil` where they are too many.
  ///
  /// The distance is that of optimal string alignment: insertions, deletions, replacements and transpositions of
  /// neighbours, no part being edited twice. O(n · edits).
  func edits(_ term: QueryTerm, _ word: UnsafeBufferPointer<UInt8>, letters: Int) -> Int? {
    let count = term.scalars.count
    let allowed = edits(letters: term.isIncomplete ? count : max(count, letters))
    guard allowed > 0 else { return nil }
    if letters + allowed < count || (!term.isIncomplete && letters > count + allowed) { return nil }
    if term.isSurelyFar(from: word, edits: allowed) { return nil }
    return term.scalars.withUnsafeBufferPointer { scalars in
      if !freesFirstLetter(of: term), scalars[0] != WordDictionary.scalar(word, at: 0).value { return nil }
      return Self.distance(scalars, word, allowed: allowed, isBeginning: term.isIncomplete)
    }
  }

  /// Returns the distance of a text to a word, or to the beginning of it that is nearest; `nil` where it is not
  /// allowed.
  private static func distance(
    _ text: UnsafeBufferPointer<UInt32>, _ word: UnsafeBufferPointer<UInt8>, allowed: Int, isBeginning: Bool
  ) -> Int? {
    let width = text.count + 1
    return withUnsafeTemporaryAllocation(of: Int32.self, capacity: 3 * width) { rows in
      var (before, last, next) = (rows.baseAddress!, rows.baseAddress! + width, rows.baseAddress! + 2 * width)
      for column in 0..<width { last[column] = Int32(column) }
      let tooFar = Int32(allowed + 1)
      var (offset, row, previous) = (0, 0, UInt32.max)
      var best = isBeginning ? last[text.count] : tooFar
      while offset < word.count {
        let (scalar, length) = WordDictionary.scalar(word, at: offset)
        offset += length
        row += 1
        next[0] = Int32(row)
        var least = next[0]
        // Only cells near the diagonal can be within the allowed distance.
        let (low, high) = (max(1, row - allowed), min(text.count, row + allowed))
        if low > high { return best < tooFar ? Int(best) : nil }
        if low > 1 { next[low - 1] = tooFar }
        for column in low...high {
          var cell = last[column - 1] + (text[column - 1] == scalar ? 0 : 1)
          cell = min(cell, next[column - 1] + 1)
          if column < row + allowed { cell = min(cell, last[column] + 1) }
          if column > 1, row > 1, text[column - 1] == previous, text[column - 2] == scalar {
            cell = min(cell, before[column - 2] + 1)
          }
          next[column] = cell
          least = min(least, cell)
        }
        if least > tooFar - 1 { return best < tooFar ? Int(best) : nil }
        if isBeginning, high == text.count { best = min(best, next[text.count]) }
        previous = scalar
        (before, last, next) = (last, next, before)
      }
      if !isBeginning, row + allowed >= text.count { best = last[text.count] }
      return best < tooFar ? Int(best) : nil
    }
  }
}
