public import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request that imports places: `POST /locations/import`. It is retried only with an `Idempotency-Key`, because
/// without one, rows that have neither an id nor an origin would be created twice.
package struct ImportPointsRequest: ServiceRequest {
  /// The result of the import.
  package typealias ResponseDataType = ImportReport

  private let baseURL: URL
  private let idempotencyKey: @Sendable () -> String?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - idempotencyKey: returns the key of each request, 1 to 255 visible ASCII characters; `nil` for none.
  package init(baseURL: URL, idempotencyKey: @escaping @Sendable () -> String? = { nil }) {
    self.baseURL = baseURL
    self.idempotencyKey = idempotencyKey
  }

  /// Creates the request.
  ///
  /// - Throws: ``RequestError/invalidIdempotencyKey`` and ``RequestError/invalidBaseURL``.
  package func makeRequest(from places: PointImport) throws -> URLRequest {
    let parameters = [
      places.mode == .partial ? nil : QueryParameter("mode", .text(places.mode.rawValue)),
      places.isDryRun ? QueryParameter("dryRun", .flag(true)) : nil,
      places.replacedSource.map { QueryParameter("replaceSource", .text($0)) },
      places.maximumDeletions.map { QueryParameter("maxDeletions", .text($0.text)) },
    ]
    var request = try URLRequest("POST", baseURL, "/locations/import", parameters: parameters)
    request.setBody(places.data, mediaType: places.format.mediaType)
    if let key = idempotencyKey() {
      guard URLRequest.isToken(key, maximumLength: 255) else { throw RequestError.invalidIdempotencyKey }
      request.setValue(key, forHTTPHeaderField: "Idempotency-Key")
    }
    return request
  }
}

/// A set of places to import.
///
/// A row with an id replaces or creates the place with that id. A row without one replaces the place with the same
/// origin, or creates one.
///
/// ```swift
/// let ofFile = PointImport(data: file, format: .geoJSON, isDryRun: true)
/// var ofRows = try PointImport(rows: [PointImport.Row(id: id, draft: draft)], mode: .atomic)
/// ofRows.replacedSource = "osm"
/// ofRows.maximumDeletions = .count(20)
/// ```
public struct PointImport: Hashable, Sendable {
  /// One row of an import.
  public struct Row: Hashable, Sendable {
    /// The id of the place; `nil` to find it by its origin, or to let the service assign one.
    public var id: UUID?

    /// The data of the place.
    public var draft: PointDraft

    /// Creates a row.
    public init(id: UUID? = nil, draft: PointDraft) {
      self.id = id
      self.draft = draft
    }
  }

  /// The treatment of valid rows in an import that also has invalid ones.
  ///
  /// ```swift
  /// let mode = PointImport.Mode.atomic
  /// ```
  public enum Mode: String, Hashable, Sendable {
    /// Valid rows are imported, and invalid ones are reported.
    case partial
    /// Either all rows are imported, or none.
    case atomic
  }

  /// The number of places of ``replacedSource`` that an import may delete. If there are more, it fails with
  /// ``ProblemDetails/Code-swift.struct/tooManyDeletions``.
  ///
  /// ```swift
  /// let limit = PointImport.DeletionLimit.percent(40)
  /// ```
  public enum DeletionLimit: Hashable, Sendable {
    /// A number of places.
    case count(Int)
    /// A percentage of the places of the source, which allows ten in any case.
    case percent(Int)

    /// The value of the parameter.
    var text: String {
      switch self {
      case .count(let count): "\(count)"
      case .percent(let percent): "\(percent)%"
      }
    }
  }

  /// The places, encoded in ``format``.
  public var data: Data

  /// The format of the data.
  public var format: PointFormat

  /// The treatment of valid rows where others are invalid.
  public var mode: Mode

  /// A Boolean value that indicates whether the service only reports what the import would do.
  public var isDryRun: Bool

  /// The data set that the import replaces: its places that no row has are deleted, all in one transaction; `nil` for
  /// none.
  public var replacedSource: String?

  /// The limit of ``replacedSource``; `nil` for the service's, a fifth of its places.
  public var maximumDeletions: DeletionLimit?

  /// Creates an import of a file's contents.
  public init(data: Data, format: PointFormat, mode: Mode = .partial, isDryRun: Bool = false) {
    self.data = data
    self.format = format
    self.mode = mode
    self.isDryRun = isDryRun
  }

  /// Creates an import of rows, as NDJSON.
  ///
  /// - Throws: `EncodingError` where a text or number can't be encoded as JSON.
  public init(rows: [Row], mode: Mode = .partial, isDryRun: Bool = false) throws {
    var data = Data()
    for row in rows {
      data.append(try ServiceJSON.data(of: row))
      data.append(UInt8(ascii: "\n"))
    }
    self.init(data: data, format: .ndjson, mode: mode, isDryRun: isDryRun)
  }
}

extension PointImport.Row: Encodable {
  private enum CodingKeys: CodingKey {
    case id
  }

  /// Encodes the row as a JSON object.
  public func encode(to encoder: any Encoder) throws {
    try draft.encode(to: encoder)
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encodeIfPresent(id?.uuidString.lowercased(), forKey: .id)
  }
}

/// The result of an import or of its dry run.
///
/// ```swift
/// let rejected = ImportReport.RejectedRow(row: 2, detail: "name is missing")
/// let report = ImportReport(created: 1, rejected: 1, errors: [rejected])
/// ```
public struct ImportReport: Hashable, Sendable, Decodable {
  /// A rejected row.
  public struct RejectedRow: Hashable, Sendable, Decodable {
    /// The row's number, counted from 1.
    public var row: Int

    /// The reason for the rejection.
    public var detail: String

    /// Creates a rejection.
    public init(row: Int, detail: String) {
      self.row = row
      self.detail = detail
    }
  }

  /// The number of places that were created.
  public var created: Int
  /// The number of places that were updated.
  public var updated: Int
  /// The number of places that were unchanged.
  public var unchanged: Int
  /// The number of places that were deleted; `nil` where the import replaced no source.
  public var deleted: Int?
  /// The number of rows that were rejected.
  public var rejected: Int
  /// The first 100 rejected rows.
  public var errors: [RejectedRow]

  /// Creates a report.
  public init(
    created: Int = 0, updated: Int = 0, unchanged: Int = 0, deleted: Int? = nil, rejected: Int = 0,
    errors: [RejectedRow] = []
  ) {
    self.created = created
    self.updated = updated
    self.unchanged = unchanged
    self.deleted = deleted
    self.rejected = rejected
    self.errors = errors
  }
}
