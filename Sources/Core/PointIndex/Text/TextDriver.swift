import Points

/// The choice of the word whose postings are examined for matches with typos.
///
/// A match has a word for each term, so that the words near one term are enough. The longest terms are tried first,
/// which have the fewest words near them.
enum TextDriver {
  /// The number of postings below which no other term is tried.
  static let fewPostings = 500

  /// The maximum number of terms that are tried.
  private static let maximumTrials = 3

  /// Returns the words near one term, as ranges that may overlap, and near a second one where the first has many
  /// postings; none where no place can match.
  ///
  /// - Parameters:
  ///   - indices: the indices of the different terms.
  ///   - words: returns the words near a term.
  static func words(
    for terms: ContiguousArray<QueryTerm>, at indices: some Collection<Int>, in part: TextPart, rules: TypoRules,
    near words: (QueryTerm) -> [Range<Int>]
  ) -> [[Range<Int>]] {
    let columns = part.columns
    // Pairs of characters have no typos: the rarest one is enough.
    let pair = indices.filter { terms[$0].isUnspaced }.min {
      columns.postingCount(of: part.prefixWords[$0]) < columns.postingCount(of: part.prefixWords[$1])
    }
    let longest = indices.filter { !terms[$0].isUnspaced && !isOptional(terms[$0], rules) }.sorted {
      left, right in
      let (first, second) = (terms[left].scalars.count, terms[right].scalars.count)
      return first != second ? first > second : left < right
    }
    let order = (pair.map { [$0] } ?? []) + longest
    var trials: [(words: [Range<Int>], postings: Int)] = []
    for term in order.prefix(maximumTrials) {
      let words = words(terms[term])
      let postings = words.reduce(0) { $0 + part.columns.postingCount(of: $1) }
      if postings == 0 { return [] }
      trials.append((words, postings))
      if postings <= fewPostings { return [words] }
    }
    return trials.sorted { $0.postings < $1.postings }.prefix(2).map(\.words)
  }

  /// Returns the words near each term, of those terms that have few postings near them, or of all.
  ///
  /// - Parameter takesAll: whether the number of postings does not matter, because the searcher may not know of all places.
  static func wordsOfEachTerm(
    _ terms: ContiguousArray<QueryTerm>, in part: TextPart, takesAll: Bool, near words: (QueryTerm) -> [Range<Int>]
  ) -> [[Range<Int>]] {
    terms.prefix(maximumTerms).compactMap { term in
      let words = words(term)
      if takesAll { return words }
      let postings = words.reduce(0) { $0 + part.columns.postingCount(of: $1) }
      return postings <= manyPostings ? words : nil
    }
  }

  private static let maximumTerms = 6
  private static let manyPostings = 3_000

  private static func isOptional(_ term: QueryTerm, _ rules: TypoRules) -> Bool {
    rules.omitsShortWords && term.scalars.count < TypoRules.lettersForOne || rules.omitsHouseNumbers && term.isNumber
  }
}

/// The postings of words in pieces with an upper bound of the keys of their places.
struct TextPieces {
  struct Piece: BitwiseCopyable {
    let bound: Double
    let start: UInt32
    let count: UInt32
    let isRareWord: Bool
  }

  private var pieces: ContiguousArray<Piece> = []

  /// The number of pieces.
  var count: Int { pieces.count }

  /// Creates the pieces: blocks of frequent words, and other words as a whole.
  init(
    of ranges: [Range<Int>], in columns: TextColumns,
    bound: (_ bounds: StaticBounds, _ block: PostingBlock?) -> Double
  ) {
    pieces.reserveCapacity(ranges.reduce(0) { $0 + $1.count })
    for range in ranges {
      for word in range {
        let (start, end) = (Int(columns.postingStarts[word]), Int(columns.postingStarts[word + 1]))
        if end - start >= PostingBlock.minimumPostings, let blocks = columns.blocks(of: word) {
          for (index, first) in stride(from: start, to: end, by: PostingBlock.capacity).enumerated() {
            pieces.append(
              Piece(
                bound: bound(blocks[index].bounds, blocks[index]), start: UInt32(first),
                count: UInt32(min(PostingBlock.capacity, end - first)), isRareWord: false))
          }
        } else {
          pieces.append(
            Piece(
              bound: bound(columns.wordBounds[word], nil), start: UInt32(start), count: UInt32(end - start),
              isRareWord: true))
        }
      }
    }
  }

  private static let bucketCount = 256

  /// Returns the pieces ordered by their bounds, greatest first, to 1/256 of the range of the bounds. O(n).
  func inOrder() -> ContiguousArray<Piece> {
    guard let least = pieces.lazy.map(\.bound).min(), let greatest = pieces.lazy.map(\.bound).max(), least < greatest
    else { return pieces }
    let scale = Double(Self.bucketCount - 1) / (greatest - least)
    func bucket(_ piece: Piece) -> Int { Int((greatest - piece.bound) * scale) }
    var starts = ContiguousArray(repeating: 0, count: Self.bucketCount + 1)
    for piece in pieces { starts[bucket(piece) + 1] += 1 }
    for index in 0..<Self.bucketCount { starts[index + 1] += starts[index] }
    return ContiguousArray(unsafeUninitializedCapacity: pieces.count) { buffer, count in
      for piece in pieces {
        let bucket = bucket(piece)
        buffer.initializeElement(at: starts[bucket], to: piece)
        starts[bucket] += 1
      }
      count = pieces.count
    }
  }
}
