import HTTPServer
import JSONText
import NIOHTTP1
import Points
import Synchronization

/// How answers are named by the version of the data that they were made from, so that a client need not be sent again
/// what it has (RFC 9110, sections 8.8 and 13; RFC 9111, section 4.3).
///
/// The entity tags are weak: what they promise is the same places, whichever content coding they are sent in. A tag names
/// the version that was known before the search (``Points/DataVersion`` says why that is right) and the format, for
/// formats share an address, and whatever program made the answer, since another one may write it differently.
///
/// `Last-Modified` is sent where the store knows a time, and the second of that time has passed: what is written later
/// then has a later second. `If-Modified-Since` is compared with it as a text, as an opaque name: dates that other
/// servers or earlier lives of this one have given are no one's.
final class Revalidation: Sendable {
  /// What caches are told.
  let policy: CachePolicy

  private let service: PointsService
  private let programTag: String
  private let clock: any WallClock

  /// The fields of the last answer, which most are named by.
  private let last = Mutex<(version: DataVersion, format: ResponseFormat, fields: HTTPHeaders)?>(nil)

  /// Makes what names answers.
  ///
  /// - Parameters:
  ///   - service: what knows the versions.
  ///   - policy: what caches are told.
  ///   - program: the version of this program.
  ///   - clock: the time of day, by the same clock as the store's.
  init(service: PointsService, policy: CachePolicy, program: String, clock: any WallClock = SystemClock()) {
    self.service = service
    self.policy = policy
    self.clock = clock
    programTag = String(program.utf8.reduce(5381 as UInt32) { $0 &* 33 ^ UInt32($1) }, radix: 36)
  }

  /// Answers with 304 where the request has what would be found, without a search; else with what the search gives, and
  /// the fields that name it.
  ///
  /// - Throws: `Problem`: what the search throws, or that the store did not tell the version.
  func respond(
    to request: HTTPRequest,
    in format: ResponseFormat,
    _ search: () async throws(Problem) -> HTTPResponse
  ) async throws(Problem) -> HTTPResponse {
    guard !policy.isOff else {
      var response = try await search()
      response.headers.add(contentsOf: unnamed)
      return response
    }
    let condition = Condition(request.headers)
    let version: DataVersion?
    if let condition {
      version = try await request.reportingStoreErrors { () throws(PointStoreError) in try await service.dataVersion() }
      if let version, condition.isMet(by: self.fields(of: version, in: format)) {
        return HTTPResponse(status: .notModified, headers: self.fields(of: version, in: format))
      }
    } else {
      version = service.knownDataVersion()
    }
    var response = try await search()
    // The search may have gone to another server than the one that told the version.
    if let version, service.knownDataVersion()?.source == version.source {
      response.headers.add(contentsOf: self.fields(of: version, in: format))
    } else {
      response.headers.add(contentsOf: unnamed)
    }
    return response
  }

  /// What a request asks about what it has; `nil` where it asks nothing.
  private enum Condition {
    case noneMatch(HTTPHeaders)
    case modifiedSince(String)

    init?(_ headers: HTTPHeaders) {
      if headers.contains(name: "if-none-match") {
        self = .noneMatch(headers)
      } else if let date = headers.first(name: "if-modified-since") {
        self = .modifiedSince(date)
      } else {
        return nil
      }
    }

    func isMet(by fields: HTTPHeaders) -> Bool {
      switch self {
      case .noneMatch(let headers):
        fields.first(name: "etag").map { Self.names($0, in: headers) } ?? false
      case .modifiedSince(let date): fields.first(name: "last-modified").hasSameBytes(as: date)
      }
    }

    /// Whether `If-None-Match` names a weak tag. Most send back the one tag that they were given, as it was.
    private static func names(_ tag: String, in headers: HTTPHeaders) -> Bool {
      if headers.first(name: "if-none-match").hasSameBytes(as: tag) { return true }
      // `*` is whatever there is, and an answer there always is.
      return EntityTag.matches(
        String(tag.dropFirst(2)), ifNoneMatch: headers[canonicalForm: "if-none-match"])
    }
  }

  // MARK: Header fields

  private static let variation = "accept, accept-encoding"

  private var unnamed: HTTPHeaders {
    ["cache-control": policy.cacheControl, "vary": policy.vary(by: Self.variation)]
  }

  private func fields(of version: DataVersion, in format: ResponseFormat) -> HTTPHeaders {
    if let fields = last.withLock({ $0?.version == version && $0?.format == format ? $0?.fields : nil }) {
      return fields
    }
    var fields: HTTPHeaders = ["etag": "W/\"\(version.token)-\(programTag)\(format.etagSuffix)\""]
    fields.add(contentsOf: unnamed)
    var isSettled = true
    if let changedAt = version.changedAt {
      let second = changedAt.secondsSinceEpoch
      isSettled = second < clock.now().secondsSinceEpoch
      if isSettled { fields.add(name: "last-modified", value: HTTPDate.text(secondsSinceEpoch: Int(second))) }
    }
    if isSettled {
      let settled = fields
      last.withLock { $0 = (version, format, settled) }
    }
    return fields
  }
}

extension Timestamp {
  /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
  fileprivate var secondsSinceEpoch: Int64 {
    let (quotient, remainder) = millisecondsSinceEpoch.quotientAndRemainder(dividingBy: 1000)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
