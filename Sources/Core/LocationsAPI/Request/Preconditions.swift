import AccessControl
package import HTTPServer
import NIOHTTP1
package import Points

/// A middleware that evaluates `If-Match` of reads (RFC 9110, sections 13.1.1 and 13.2.2): if the representation has none
/// of the tags, the response is 412.
///
/// The response of the route is made first, as its status and its tag decide; the condition is rare. It comes before
/// `If-None-Match`, so that it may replace a 304 too.
struct ReadConditionMiddleware: Middleware {
  func intercepts(_ request: HTTPRequest) -> Bool {
    (request.method == .GET || request.method == .HEAD) && request.headers.contains(name: "if-match")
  }

  nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    let response = await next.respond(to: request)
    guard response.status.code / 100 == 2 || response.status == .notModified else { return response }
    do throws(Problem) {
      guard try Preconditions.allowsReading(response.headers.first(name: "etag"), request.headers) else {
        throw Problem(
          .preconditionFailed, code: "version-mismatch", detail: "the resource has none of the entity tags of If-Match",
          headers: response.headers.first(name: "etag").map { ["etag": $0] } ?? [:])
      }
      return response
    } catch {
      return HTTPResponse(error, rejecting: request)
    }
  }
}

/// The preconditions `If-Match` and `If-None-Match` (RFC 9110, section 13).
package enum Preconditions {
  /// Returns a Boolean value that indicates whether a representation with an entity tag, or without one, may be read.
  /// Tags of places are compared by the version alone, as those of writes are.
  ///
  /// - Throws: `Problem` 400 for a malformed entity tag.
  fileprivate static func allowsReading(_ tag: String?, _ headers: RequestFields) throws(Problem) -> Bool {
    guard let known = try ifMatchTags(headers) else { return true }
    guard let tag, !tag.hasPrefix("W/") else { return false }
    let version = EntityTag.version(of: tag[...])
    return known.contains { $0.utf8.elementsEqual(tag.utf8) || version != nil && EntityTag.version(of: $0) == version }
  }

  /// Returns the condition of a write in header fields.
  ///
  /// - Parameter isRequired: a Boolean value that indicates whether a condition is required.
  /// - Throws: `Problem` 400 for a malformed entity tag, 428 where a required condition is missing.
  package static func read(_ headers: RequestFields, isRequired: Bool) throws(Problem) -> WriteCondition {
    let match = try ifMatch(headers)
    let requiresAbsence = try ifNoneMatch(headers)
    switch (match, requiresAbsence) {
    // No place exists and is absent at once.
    case (_?, true): return .versions([])
    case (let match?, false): return match
    case (nil, true): return .absent
    case (nil, false):
      guard !isRequired else {
        throw Problem(
          .preconditionRequired, code: "if-match-required",
          detail: "a change requires If-Match with the ETag of the version that it was made to"
            + " (or, to create by PUT, If-None-Match: *)")
      }
      return .none
    }
  }

  private static func ifMatch(_ headers: RequestFields) throws(Problem) -> WriteCondition? {
    guard headers.contains(name: "if-match") else { return nil }
    guard let tags = try ifMatchTags(headers) else { return .exists }
    return .versions(Set(tags.compactMap { EntityTag.version(of: $0) }))
  }

  /// Returns the strong tags of `If-Match`; `nil` for `*`. The comparison is the strong one, by which a weak tag
  /// matches nothing.
  private static func ifMatchTags(_ headers: RequestFields) throws(Problem) -> [Substring]? {
    switch headers.entityTags("if-match") {
    case .any: return nil
    case .tags(let tags, let isWellFormed):
      guard isWellFormed, !tags.isEmpty else {
        throw .invalidParameter("If-Match", "must be * or entity tags such as \"3\", with their quotation marks")
      }
      return tags.filter { !$0.isWeak }.map(\.text)
    }
  }

  private static func ifNoneMatch(_ headers: RequestFields) throws(Problem) -> Bool {
    guard headers.contains(name: "if-none-match") else { return false }
    guard case .any = headers.entityTags("if-none-match") else {
      throw .invalidParameter("If-None-Match", "must be * in a write")
    }
    return true
  }
}
