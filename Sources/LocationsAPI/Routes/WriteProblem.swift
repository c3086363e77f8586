import HTTPServer
import NIOHTTP1
import PointFormats
import Points

extension Problem {
  /// Creates the problem of a write's error: the one table from ``PointWriteError`` to HTTP.
  ///
  /// - Parameter prefix: the JSON pointer to the object that has the fields of the place in the body.
  init(_ error: PointWriteError, pointerPrefix prefix: String = "") {
    switch error {
    case .originTaken:
      self.init(
        .conflict, code: "conflict", detail: "another place has this source and sourceId",
        errors: [ProblemError(.pointer("\(prefix)/sourceId"), "is already that of another place")])
    case .notFound:
      self = .notFound("there is no place with this id")
    case .conditionFailed(let version?):
      self.init(
        .preconditionFailed, code: "version-mismatch", detail: "the current version of the place is \(version)",
        headers: ["etag": EntityTag.of(version: version, format: .json)])
    case .conditionFailed(nil):
      self.init(.preconditionFailed, code: "version-mismatch", detail: "there is no place with this id")
    case .keyInFlight:
      self.init(
        .conflict, code: "conflict", detail: "the first request with this Idempotency-Key is still in progress",
        headers: ["retry-after": "1"])
    case .keyReused:
      self.init(
        .unprocessableEntity, code: "idempotency-key-reused",
        detail: "this Idempotency-Key was already used with another request")
    case .store(let error):
      self.init(error)
    }
  }

  /// Creates 422 `invalid-place` with the first rules that a body breaks.
  init(_ invalid: InvalidPoint) {
    let violations = invalid.violations.prefix(Self.maximumErrorCount)
    let others = invalid.violations.count - violations.count
    let detail = InvalidPoint(Array(violations)).description + (others > 0 ? "; and \(others) more" : "")
    self.init(
      .unprocessableEntity, code: "invalid-place", detail: detail,
      errors: violations.map { ProblemError(.pointer($0.pointer), $0.detail) })
  }
}

extension HTTPRequest {
  /// Calls the store for a write. An error is logged where operators need it, and thrown as a problem.
  func reportingWriteErrors<Value>(
    _ call: () async throws(PointWriteError) -> Value
  ) async throws(Problem) -> Value {
    do {
      return try await call()
    } catch {
      throw problem(for: error)
    }
  }

  /// Returns the problem of a write's error, which is logged where operators need it.
  func problem(for error: PointWriteError) -> Problem {
    if case .store(let error) = error { log(error) }
    let isFeature = mediaType == "application/geo+json" || route?.template.hasPrefix(FeatureLinks.root) == true
    return Problem(error, pointerPrefix: isFeature ? "/properties" : "")
  }
}
