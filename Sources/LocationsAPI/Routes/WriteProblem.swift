import HTTPServer
import NIOHTTP1
import Points

extension Problem {
  /// The problem that a client is told of when a change was not made: the one table from ``PointWriteError`` to HTTP.
  init(_ error: PointWriteError) {
    switch error {
    case .originTaken:
      self.init(
        .conflict, code: "conflict", detail: "another place has this source and sourceId",
        errors: [ProblemError(.pointer("/sourceId"), "is another place's already")])
    case .notFound:
      self = .notFound("there is no place of this id")
    case .conditionFailed(let version?):
      self.init(
        .preconditionFailed, code: "version-mismatch", detail: "the place is of version \(version) now",
        headers: ["etag": EntityTag.of(version: version, format: .json)])
    case .conditionFailed(nil):
      self.init(.preconditionFailed, code: "version-mismatch", detail: "there is no place of this id")
    case .keyInFlight:
      self.init(
        .conflict, code: "conflict", detail: "the first request of this Idempotency-Key is not answered yet",
        headers: ["retry-after": "1"])
    case .keyReused:
      self.init(
        .unprocessableEntity, code: "idempotency-key-reused",
        detail: "this Idempotency-Key was sent with another request before")
    case .store(let error):
      self.init(error)
    }
  }

  /// 422 `invalid-place` with every rule that a body breaks.
  init(_ invalid: InvalidPlace) {
    self.init(
      .unprocessableEntity, code: "invalid-place", detail: invalid.description,
      errors: invalid.violations.map { ProblemError(.pointer($0.pointer), $0.detail) })
  }
}

extension HTTPRequest {
  /// Changes the store; an error is told to the client as a problem, and logged where operators need to know.
  func reportingWriteErrors<Answer>(
    _ call: () async throws(PointWriteError) -> Answer
  ) async throws(Problem) -> Answer {
    do {
      return try await call()
    } catch {
      throw problem(for: error)
    }
  }

  /// The problem that an error is to the client; it is logged where operators need to know.
  func problem(for error: PointWriteError) -> Problem {
    if case .store(let error) = error { log(error) }
    return Problem(error)
  }
}
