import HTTPServer
import NIOHTTP1
import Points

/// The preconditions of a write, `If-Match` and `If-None-Match` (RFC 9110, section 13).
enum Preconditions {
  /// Returns the condition in header fields.
  ///
  /// - Parameter isRequired: a Boolean value that indicates whether a condition is required.
  /// - Throws: `Problem` 400 for a malformed entity tag, 428 where a required condition is missing.
  static func read(_ headers: HTTPHeaders, isRequired: Bool) throws(Problem) -> WriteCondition {
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

  private static func ifMatch(_ headers: HTTPHeaders) throws(Problem) -> WriteCondition? {
    guard headers.contains(name: "if-match") else { return nil }
    switch EntityTagList(headers.entityTags("if-match")) {
    case .any: return .exists
    case .tags(let tags, let isWellFormed):
      guard isWellFormed, !tags.isEmpty else {
        throw .invalidParameter("If-Match", "must be * or entity tags such as \"3\", with their quotation marks")
      }
      // The comparison is the strong one, by which a weak tag matches nothing.
      return .versions(Set(tags.compactMap { $0.isWeak ? nil : EntityTag.version(of: $0.text) }))
    }
  }

  private static func ifNoneMatch(_ headers: HTTPHeaders) throws(Problem) -> Bool {
    guard headers.contains(name: "if-none-match") else { return false }
    guard case .any = EntityTagList(headers.entityTags("if-none-match")) else {
      throw .invalidParameter("If-None-Match", "must be * in a write")
    }
    return true
  }
}
