import HTTPServer
import NIOHTTP1
import Points

/// What a write's `If-Match` and `If-None-Match` ask for (RFC 9110, section 13).
enum Preconditions {
  /// The condition that the header fields make.
  ///
  /// - Parameter isRequired: whether there must be one.
  /// - Throws: `Problem` 400 for what is no entity tag, 428 where a condition is missing that must be there.
  static func read(_ headers: HTTPHeaders, isRequired: Bool) throws(Problem) -> WriteCondition {
    let match = try ifMatch(headers)
    let isAbsenceAsked = try ifNoneMatch(headers)
    switch (match, isAbsenceAsked) {
    // Nothing is there and not there at once.
    case (_?, true): return .versions([])
    case (let match?, false): return match
    case (nil, true): return .absent
    case (nil, false):
      guard !isRequired else {
        throw Problem(
          .preconditionRequired, code: "if-match-required",
          detail: "this server takes a change only with If-Match and the ETag that the change was made to"
            + " (or, to create by PUT, with If-None-Match: *)")
      }
      return .none
    }
  }

  private static func ifMatch(_ headers: HTTPHeaders) throws(Problem) -> WriteCondition? {
    guard headers.contains(name: "if-match") else { return nil }
    switch EntityTagList(headers[canonicalForm: "if-match"]) {
    case .any: return .exists
    case .tags(let tags, let isWellFormed):
      guard isWellFormed, !tags.isEmpty else {
        throw .invalidHeader("If-Match", "must be * or entity tags such as \"3\", with their quotation marks")
      }
      // The comparison is the strong one: a weak tag is nobody's.
      return .versions(Set(tags.compactMap { $0.isWeak ? nil : EntityTag.version(of: $0.text) }))
    }
  }

  private static func ifNoneMatch(_ headers: HTTPHeaders) throws(Problem) -> Bool {
    guard headers.contains(name: "if-none-match") else { return false }
    guard case .any = EntityTagList(headers[canonicalForm: "if-none-match"]) else {
      throw .invalidHeader("If-None-Match", "must be * where something is written")
    }
    return true
  }
}

extension Problem {
  /// 400 for a header field whose value breaks a rule.
  static func invalidHeader(_ name: String, _ detail: String) -> Problem { .invalidParameter(name, detail) }
}
