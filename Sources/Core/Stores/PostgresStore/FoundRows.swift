import Geo
import Points
import PostgresClient

/// The columns of places. Rows are decoded by the positions of the columns of ``all``.
enum PointColumns {
  private static let fields: [PointField] = [
    .id, .latitude, .longitude, .name, .category, .tags, .version, .createdAt, .updatedAt, .source, .sourceID,
  ]
  private static let draftFields = fields.filter { $0.isWritable && $0 != .id }

  /// The columns that queries read for each place, as SQL.
  static let all = list(replacing: [:])

  /// The columns of ``all`` without values.
  static let nulls = fields.map { "NULL::\($0.type.rawValue)" }.joined(separator: ", ")

  /// The columns of a draft, in the order in which its values are added to parameters.
  static let draft = draftFields.compactMap(\.column).joined(separator: ", ")

  /// The values of ``draft`` as the parameters that follow an id.
  static let draftValues = draftFields.enumerated().map { "$\($0 + 2)::\($1.type.rawValue)" }.joined(separator: ", ")

  /// Returns the columns of ``all`` with expressions in place of some.
  static func list(replacing expressions: [PointField: String]) -> String {
    fields.compactMap { expressions[$0] ?? $0.column }.joined(separator: ", ")
  }

  /// Returns the columns of ``all``, with the length of long tags in place of the tags.
  ///
  /// - Parameter ids: the places whose long tags are included.
  static func list(including ids: [PointID], _ values: inout BoundValues) -> String {
    let placeholder = ids.isEmpty ? nil : values.bind(ids)
    return list(replacing: [.tags: "\(LongTags.expression(including: placeholder)) AS tags"])
  }

  /// Returns the prefix of the names of statements that return ``list(including:_:)``.
  static func prefix(including ids: [PointID]) -> String { ids.isEmpty ? "bounded_" : "whole_" }

  /// The number of columns of ``all``; a query's additional columns come after them.
  static let count = Int32(fields.count)

  /// Returns columns qualified by a table's name.
  static func qualified(_ columns: String, by table: String) -> String {
    "\(table)." + columns.replacing(", ", with: ", \(table).")
  }
}

extension QueryResult.Row {
  /// Returns the id from column 0.
  func pointID() throws(PointStoreError) -> PointID { try id(0) }

  /// Returns the coordinate from columns 1 and 2.
  func coordinate() throws(PointStoreError) -> Coordinate {
    let (latitude, longitude) = (try double(1), try double(2))
    guard let coordinate = try? Coordinate(latitude: latitude, longitude: longitude) else {
      throw .unexpected(reason: "a place has the invalid coordinate \(latitude), \(longitude)")
    }
    return coordinate
  }

  /// Returns a place from the columns of ``PointColumns/all``.
  func point() throws(PointStoreError) -> PointOfInterest {
    var origin: SourceReference?
    if let source = optionalText(9), let sourceID = optionalText(10) {
      origin = SourceReference(source: source, sourceID: sourceID)
    }
    return PointOfInterest(
      id: try pointID(),
      draft: PointDraft(
        storedName: try text(3),
        category: optionalText(4),
        coordinate: try coordinate(),
        tags: try tags(5),
        origin: origin
      ),
      version: try integer(6),
      createdAt: try timestamp(7),
      updatedAt: try timestamp(8)
    )
  }

  /// The sizes of columns 3 and 5, the name and the tags.
  var texts: PageStep.Texts {
    let tags = bytes(5)
    let length = tags.flatMap(LongTags.length)
    return PageStep.Texts(bytes: (bytes(3)?.count ?? 0) + (length ?? tags?.count ?? 0), lacksTags: length != nil)
  }
}

/// The ordered rows of a page, still in the statement's result, followed by the first row of the next page if there is
/// one.
struct FoundRows: Sendable {
  /// The places that were found, ordered and without duplicates.
  let candidates: [NearestSearch.Candidate]
  /// The number of places on the page.
  private(set) var count: Int
  private let hasDistances: Bool
  private let result: QueryResult?

  init() {
    candidates = []
    hasDistances = false
    result = nil
    count = 0
  }

  /// Creates a page of candidates that are rows of a result.
  init(_ candidates: [NearestSearch.Candidate], in result: QueryResult, limit: Int) {
    self.candidates = candidates
    self.result = result
    hasDistances = true
    count = min(candidates.count, limit)
  }

  /// Creates a page without distances of a result's rows.
  init(listed result: QueryResult, limit: Int) throws(PointStoreError) {
    var candidates: [NearestSearch.Candidate] = []
    candidates.reserveCapacity(min(result.count, limit + 1))
    for row in result.rows.prefix(limit + 1) {
      let (id, coordinate) = (try row.pointID(), try row.coordinate())
      candidates.append(.init(distanceMetres: 0, id: id, coordinate: coordinate, row: row.index))
    }
    self.candidates = candidates
    self.result = result
    hasDistances = false
    count = min(candidates.count, limit)
  }

  /// Returns the next step towards the page.
  ///
  /// - Parameter included: the places whose long tags were included.
  func step(including included: [PointID]) -> PageStep {
    guard let result else { return .page(count: 0) }
    return PageStep(
      count: count,
      included: included,
      texts: { result.row(candidates[$0].row).texts },
      id: { candidates[$0].id }
    )
  }

  /// Returns a page of the first `count` places.
  func prefix(_ count: Int) -> FoundRows {
    var page = self
    page.count = count
    return page
  }

  /// Returns the page, decoded from all columns.
  func page() throws(PointStoreError) -> PointPage {
    guard let result else { return PointPage(points: [], hasMore: false) }
    var points: [FoundPoint] = []
    points.reserveCapacity(count)
    for candidate in candidates.prefix(count) {
      let point = try result.row(candidate.row).point()
      points.append(FoundPoint(point: point, distanceMetres: hasDistances ? candidate.distanceMetres : nil))
    }
    return PointPage(points: points, hasMore: candidates.count > count)
  }
}

/// The handling of long tags, which the first statement of a page leaves out of its rows.
///
/// libpq buffers all rows of a result, and a statement returns a thousand places or more. Only a few places with long
/// tags fit on a page (``Points/PointPage/maximumTextBytes``), but which ones is known only after ranking. So a
/// statement returns tags of more than ``maximumIncludedBytes`` bytes as a JSON number, their length. If a place that
/// fits on the page lacks its tags, the search runs again for just the places that fit, and includes their tags. The
/// whole page then comes from that statement's snapshot.
enum LongTags {
  /// The maximum number of bytes of tags that are included for every place.
  static let maximumIncludedBytes = 4096

  /// The maximum stored size of tags, in bytes, that are included without measuring them, which costs PostgreSQL a
  /// copy. Tags that compress to this size are 11 KB at most with pglz, and 31 KB with LZ4.
  private static let unmeasuredBytes = 128

  /// The maximum ratio of the length of a text to its stored size, with LZ4; 92 with pglz.
  static let maximumCompression = 256

  /// The SQL expression for the tags in the column `tags`, or their length if they are long.
  ///
  /// It belongs after a statement's `LIMIT`, because PostgreSQL reads long tags completely to measure them.
  private static let expression = """
    CASE WHEN pg_column_size(tags) <= \(unmeasuredBytes) THEN tags ELSE coalesce(
      to_json(nullif(greatest(octet_length(tags::text), \(maximumIncludedBytes)), \(maximumIncludedBytes))), tags
    ) END
    """

  /// Returns the SQL expression.
  ///
  /// - Parameter ids: the placeholder of the ids of places whose tags are included whatever their length; `nil` for
  ///   none.
  static func expression(including ids: String?) -> String {
    ids.map { "CASE WHEN id = ANY (\($0)) THEN tags ELSE \(expression) END" } ?? expression
  }

  /// Returns the length of the tags if the expression's value is a length; `nil` where it is the tags.
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
  /// The first `count` places are the page, with their tags.
  case page(count: Int)
  /// The search runs again for `limit` places, and includes the tags of the given ones.
  case search(limit: Int, including: [PointID])

  /// The size of the texts of a place.
  struct Texts: Hashable {
    /// The number of bytes of the name and the tags.
    let bytes: Int
    /// A Boolean value that indicates whether the row holds the length of the tags instead of the tags.
    let lacksTags: Bool
  }

  /// Creates the next step.
  ///
  /// Tags that were requested can't be missing. Concurrent writes may have put other places with long tags on the page:
  /// the page then ends before the first of them, or the search runs again if that is its first place.
  ///
  /// - Parameters:
  ///   - count: the number of places that were found for the page.
  ///   - included: the ids of the places whose tags the statement included.
  ///   - texts: the size of the texts of the place at an index.
  ///   - id: the id of the place at an index.
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
