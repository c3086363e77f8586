import Points

/// Long tags, which a page's statements leave out of their rows at first.
///
/// libpq holds all rows of a result, and a statement returns up to a thousand places and more. Of long ones only a few
/// fit into a page (``Points/PointPage/maximumTextBytes``), but which ones is known when all have been ranked. So a
/// statement returns tags of more than ``maximumIncludedBytes`` bytes as a JSON number, which is their length. Where a
/// place that fits into the page lacks its tags, the search is run again for just the places that fit, and told to include
/// their tags. All that the page holds is then of that statement's snapshot.
enum LongTags {
  /// The maximum number of bytes of tags that are included for every place.
  static let maximumIncludedBytes = 4096

  /// The maximum number of bytes in storage of tags that are included unmeasured. To measure them costs PostgreSQL a copy.
  /// Those that it has compressed to so few are 11 KB at most with pglz, and 31 KB with LZ4.
  private static let unmeasuredBytes = 128

  /// The tags, or their length where they are long, as an SQL expression of the column `tags`.
  ///
  /// It belongs behind a statement's `LIMIT`, for PostgreSQL reads long tags as a whole to measure them.
  private static let expression = """
    CASE WHEN pg_column_size(tags) <= \(unmeasuredBytes) THEN tags ELSE coalesce(
      to_json(nullif(greatest(octet_length(tags::text), \(maximumIncludedBytes)), \(maximumIncludedBytes))), tags
    ) END
    """

  /// Returns the SQL expression.
  ///
  /// - Parameter ids: the placeholder of the ids of places whose tags are included whatever their length; `nil` for none.
  static func expression(including ids: String?) -> String {
    ids.map { "CASE WHEN id = ANY (\($0)) THEN tags ELSE \(expression) END" } ?? expression
  }

  /// Returns the length of the tags that a value of the expression stands for; `nil` where it is the tags.
  static func length(from value: UnsafeBufferPointer<UInt8>) -> Int? {
    guard 1...10 ~= value.count else { return nil }
    var length = 0
    for byte in value {
      guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
      length = length * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return length
  }
}

/// The next step towards a page after a statement has found its places.
enum PageStep: Hashable {
  /// The first so many places are the page; they have their tags.
  case page(count: Int)
  /// The search is run again for so many places, and includes the tags of these.
  case search(limit: Int, including: [PointID])

  /// The texts of a place.
  struct Texts: Hashable {
    /// The number of bytes of its name and its tags.
    let bytes: Int
    /// A Boolean value that indicates whether there is only the length of the tags.
    let lacksTags: Bool
  }

  /// Decides what follows.
  ///
  /// Tags that were asked for can't be missing. What was written between two statements may have put other long places on
  /// the page: it then ends before the first of them, or is searched again where that is its first place.
  ///
  /// - Parameters:
  ///   - count: the number of places that were found for the page.
  ///   - included: the ids of the places whose tags the statement was to include.
  ///   - texts: the texts of a place, by its place in the order.
  ///   - id: the id of a place, by its place in the order.
  init(
    count: Int,
    included: [PointID],
    texts: (Int) -> Texts,
    id: (Int) -> PointID
  ) {
    var lacksTags = false
    let fitting = PointPage.fittingCount(of: count) { index in
      let texts = texts(index)
      lacksTags = lacksTags || texts.lacksTags
      return texts.bytes
    }
    guard lacksTags else {
      self = .page(count: fitting)
      return
    }
    let known = Set(included)
    guard let first = (0..<fitting).first(where: { texts($0).lacksTags && !known.contains(id($0)) }) else {
      self = .page(count: fitting)
      return
    }
    if first > 0, !included.isEmpty {
      self = .page(count: first)
    } else {
      let ids = (0..<fitting).filter { texts($0).lacksTags || known.contains(id($0)) }.map(id)
      self = .search(limit: fitting, including: ids)
    }
  }
}
