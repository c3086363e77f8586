import Basics
import Crypto
package import HTTPServer
import NIOCore
import NIOHTTP1
package import PointFormats
import Points
import Synchronization

/// The revalidation of responses by the version of the data that they were made from, so that clients are not sent
/// again what they have (RFC 9110, sections 8.8 and 13; RFC 9111, section 4.3).
///
/// The entity tags are weak: they identify the same places, in whichever content coding they are sent. A tag contains
/// the version that was known before the search (``Points/DataVersion`` explains why that is right), the format,
/// because formats share an address, and the ``ProgramTag``.
///
/// The result of a search may be newer than the version that was known before it. Where that is possible the tag also
/// has a digest of the result, so that no two representations share one. A tag whose version is still the current one
/// stands for the present result, with or without a digest: nothing has changed since that version was read.
///
/// A response that depends on the time of the request, since it is of places that are open now, ends at the next
/// opening or closing of any place. That time is in `Expires`, bounds `max-age` and is the end of the entity tag, which
/// stands for the present result up to then.
package final class Revalidation: Sendable {
  /// The directives for caches.
  let policy: CachePolicy

  private let service: PointsService
  private let program: ProgramTag
  private let clock: any WallClock

  /// The fields of a response without a version.
  private let unnamed: HTTPHeaders

  /// The fields of responses of a version and a representation. A class, so that the lock is held for one reference.
  private final class NamedFields: Sendable {
    let version: DataVersion
    let suffix: String
    let fields: HTTPHeaders

    init(version: DataVersion, suffix: String, fields: HTTPHeaders) {
      (self.version, self.suffix, self.fields) = (version, suffix, fields)
    }
  }

  /// The fields of the last response.
  private let last = Mutex<NamedFields?>(nil)

  /// The fields of a response that ends.
  private struct ExpiringFields {
    /// The entity tag without the end.
    let tag: String?
    /// The end, in minutes since 1970-01-01T00:00:00Z.
    let minute: Int64
    /// The second for which they are valid.
    let second: Int64
    let fields: HTTPHeaders
  }

  /// The fields of the last response that ends.
  private let lastExpiring = Mutex<ExpiringFields?>(nil)

  /// Creates a revalidation.
  ///
  /// - Parameters:
  ///   - service: the service that has the versions.
  ///   - policy: the directives for caches.
  ///   - program: what responses depend on beside the places.
  ///   - clock: the time of day.
  init(service: PointsService, policy: CachePolicy, program: ProgramTag, clock: any WallClock = SystemClock()) {
    self.service = service
    self.policy = policy
    self.program = program
    self.clock = clock
    unnamed = ["cache-control": policy.cacheControl, "vary": policy.vary]
  }

  /// The suffix that distinguishes the entity tags of representations that share an address.
  private static func suffix(_ format: PointFormat, _ languages: LanguageNegotiation) -> String {
    format.etagSuffix + languages.etagSuffix
  }

  /// Returns 304 without a search where the client has the present result; else the response of the search with the
  /// fields that identify it.
  ///
  /// - Parameters:
  ///   - languages: the languages of the names.
  ///   - representation: the suffix of the entity tags of a representation that is in none of the formats.
  ///   - areas: the areas that the response depends on.
  ///   - hasVersion: a Boolean value that indicates whether the version of the places identifies the response; `false`
  ///     for one with other data, which is always made anew.
  ///   - expires: a Boolean value that indicates whether the response depends on the time of the request.
  /// - Throws: `Problem` of the search, or of the store.
  package func respond(
    to request: HTTPRequest,
    in format: PointFormat,
    languages: LanguageNegotiation = .none,
    representation: String = "",
    areas: RequestAreas? = nil,
    hasVersion: Bool = true,
    expires: Bool = false,
    _ search: () async throws(Problem) -> ExpiringResponse
  ) async throws(Problem) -> HTTPResponse {
    let suffix = Self.suffix(format, languages) + representation + areas.tagSuffix
    var version: DataVersion?
    if hasVersion, !policy.isOff {
      if request.headers.contains(name: "if-none-match") {
        version = try await request.result(of: await service.dataVersion(notBefore: request.minimumPosition))
        if let version, let fields = confirmed(request.headers, version: version, suffix, expires: expires) {
          return HTTPResponse(status: .notModified, headers: varying(fields, by: languages))
        }
      } else {
        version = service.knownDataVersion()
      }
    }
    var found = try await search()
    var fields = fields(of: found.response, foundSince: version, suffix)
    if !policy.isOff { expire(&fields, at: found.expiry) }
    if ContentCoding.isAsked(by: request) { try await ContentCoding.apply(to: &found.response, of: request) }
    found.response.headers.add(contentsOf: varying(fields, by: languages))
    return found.response
  }

  /// Returns the response as ``respond(to:in:languages:representation:areas:hasVersion:expires:_:)`` does, for a
  /// search that does not wait, whose response has no end and is not compressed; `nil` if the search has none, or the
  /// version of the places has to be waited for.
  ///
  /// - Parameter search: searches in places of the moment that it is called or later, since the version is known before.
  /// - Throws: `Problem` of the search.
  @inline(__always)
  func respondAtOnce(
    to request: HTTPRequest, in format: PointFormat, _ search: () throws(Problem) -> HTTPResponse?
  ) throws(Problem) -> HTTPResponse? {
    let version = policy.isOff ? nil : service.knownDataVersion()
    if !policy.isOff, request.headers.contains(name: "if-none-match") {
      guard let version, version.isExact else { return nil }
      if let fields = confirmed(request.headers, version: version, format.etagSuffix, expires: false) {
        return HTTPResponse(status: .notModified, headers: fields)
      }
    }
    guard var response = try search() else { return nil }
    response.headers.add(contentsOf: fields(of: response, foundSince: version, format.etagSuffix))
    return response
  }

  /// Has the fields of a response end at a time, in minutes since 1970-01-01T00:00:00Z; `nil` for none.
  private func expire(_ fields: inout HTTPHeaders, at minute: Int64?) {
    guard let minute, minute < Expiry.never else { return }
    let now = clock.now()
    let tag = fields.first(name: "etag")
    let last = lastExpiring.withLock { $0 }
    if let last, last.minute == minute, last.second == now.secondsSinceEpoch, last.tag.hasSameBytes(as: tag) {
      fields = last.fields
      return
    }
    if let tag { fields.replaceOrAdd(name: "etag", value: Expiry.tag(tag, until: minute)) }
    policy.expire(&fields, at: minute, now: now)
    let expiring = ExpiringFields(tag: tag, minute: minute, second: now.secondsSinceEpoch, fields: fields)
    lastExpiring.withLock { $0 = expiring }
  }

  /// Returns the fields with `Accept-Language` in `Vary` where a response depends on it.
  private func varying(_ fields: HTTPHeaders, by languages: LanguageNegotiation) -> HTTPHeaders {
    guard languages.isByHeader else { return fields }
    var fields = fields
    fields.replaceOrAdd(name: "vary", value: policy.vary + ", accept-language")
    return fields
  }

  /// Returns a digest of the body and of the link to the next page.
  private static func digest(of response: HTTPResponse) -> String {
    var hash = SHA256()
    if case .bytes(let bytes) = response.body { bytes.withUnsafeReadableBytes { hash.update(bufferPointer: $0) } }
    hash.update(data: Array((response.headers.first(name: "link") ?? "").utf8))
    return Hexadecimal.encode(Array(hash.finalize().prefix(8)))
  }

  /// Returns the fields of a 304 if `If-None-Match` has the result of the version; else `nil`.
  private func confirmed(
    _ headers: RequestFields, version: DataVersion, _ suffix: String, expires: Bool
  ) -> HTTPHeaders? {
    var fields = self.fields(of: version, suffix)
    // Most clients send back the one tag that they were given, unchanged.
    let isSame = fields.first(name: "etag").map { headers.first(name: "if-none-match").hasSameBytes(as: $0) }
    if isSame == true { return fields }
    guard case .tags(let tags, _) = headers.entityTags("if-none-match") else {
      // `*` matches every representation, and there always is one.
      return fields
    }
    if let known = tags.first(where: { names($0.text, version, suffix) }) {
      fields.replaceOrAdd(name: "etag", value: "W/\(known.text)")
      return fields
    }
    guard expires else { return nil }
    let now = clock.now()
    for known in tags {
      guard let (tag, minute) = Expiry.parts(of: known.text), minute > now.minutesSinceEpoch,
        names(tag[...], version, suffix)
      else { continue }
      fields.replaceOrAdd(name: "etag", value: "W/\(known.text)")
      policy.expire(&fields, at: minute, now: now)
      return fields
    }
    return nil
  }

  /// Returns a Boolean value that indicates whether a tag, without its prefix of weakness, was made from the version
  /// and the suffix, with a digest or without.
  private func names(_ tag: Substring, _ version: DataVersion, _ suffix: String) -> Bool {
    let plain = self.tag(of: version, suffix).utf8.dropFirst(2)
    if tag.utf8.elementsEqual(plain) { return true }
    let rest = suffix.utf8.count + 1
    guard tag.utf8.count == plain.count + 1 + Self.digestLength, tag.utf8.starts(with: plain.dropLast(rest)),
      tag.utf8.suffix(rest).elementsEqual(plain.suffix(rest))
    else { return false }
    let digest = tag.utf8.dropFirst(plain.count - rest).dropLast(rest)
    return digest.first == UInt8(ascii: "_")
      && digest.dropFirst().allSatisfy { $0 &- UInt8(ascii: "0") < 10 || $0 &- UInt8(ascii: "a") < 6 }
  }

  private static let digestLength = 16

  private func tag(of version: DataVersion, _ suffix: String, digest: String? = nil) -> String {
    "W/\"\(version.token)\(program.suffix)\(digest.map { "_" + $0 } ?? "")\(suffix)\""
  }

  // MARK: Header fields

  /// Returns the fields of the response of a search, by the version that was known before it.
  private func fields(of response: HTTPResponse, foundSince version: DataVersion?, _ suffix: String) -> HTTPHeaders {
    // The search may have used another server than the one that the version is from.
    guard let version, let known = service.knownDataVersion(), known.source == version.source else { return unnamed }
    var fields = fields(of: version, suffix)
    if !known.isExact || known.token != version.token {
      fields.replaceOrAdd(name: "etag", value: tag(of: version, suffix, digest: Self.digest(of: response)))
    }
    return fields
  }

  private func fields(of version: DataVersion, _ suffix: String) -> HTTPHeaders {
    let last = last.withLock { $0 }
    if let last, last.version == version, last.suffix.hasSameBytes(as: suffix) { return last.fields }
    var fields: HTTPHeaders = ["etag": tag(of: version, suffix)]
    fields.add(contentsOf: unnamed)
    let named = NamedFields(version: version, suffix: suffix, fields: fields)
    self.last.withLock { $0 = named }
    return fields
  }
}

/// A response and the time at which it expires, because places open or close then; see ``Points/PointPage/expiry``.
package struct ExpiringResponse {
  var response: HTTPResponse

  /// The time in minutes since 1970-01-01T00:00:00Z; `nil` if the response does not depend on it.
  let expiry: Int64?

  package init(_ response: HTTPResponse, expiry: Int64? = nil) {
    self.response = response
    self.expiry = expiry
  }
}

/// The time at which a response ends, in minutes since 1970-01-01T00:00:00Z, as the end of its entity tag.
enum Expiry {
  /// A time at which nothing changes any more.
  static let never: Int64 = 1 << 31 - 1

  /// Returns an entity tag, quotation marks included, with a time; without one if that is `nil` or ``never``.
  static func tag(_ tag: String, until minute: Int64?) -> String {
    guard let minute, minute < never else { return tag }
    return tag.dropLast() + "." + String(minute, radix: 36) + "\""
  }

  /// Returns the entity tag without its time, and the time; `nil` if it has none.
  static func parts(of tag: Substring) -> (tag: String, minute: Int64)? {
    guard let dot = tag.lastIndex(of: "."), let minute = Int64(tag[tag.index(after: dot)...].dropLast(), radix: 36),
      self.tag(tag[..<dot] + "\"", until: minute).hasSameBytes(as: String(tag))
    else { return nil }
    return (tag[..<dot] + "\"", minute)
  }
}

extension Timestamp {
  /// The whole seconds since 1970-01-01T00:00:00Z, rounded down.
  var secondsSinceEpoch: Int64 {
    let (quotient, remainder) = millisecondsSinceEpoch.quotientAndRemainder(dividingBy: 1000)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
