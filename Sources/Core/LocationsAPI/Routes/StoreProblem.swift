import APIDescription
package import HTTPServer
import Logging
import NIOHTTP1
import PointFormats
package import Points

extension Problem {
  /// Creates the problem of a store's error: the one table from ``PointStoreError`` to HTTP.
  package init(_ error: PointStoreError) {
    func unavailable(_ code: String, _ title: String, _ detail: String, retryAfterSeconds seconds: Int) -> Problem {
      Problem(.serviceUnavailable, code: code, title: title, detail: detail, headers: ["retry-after": "\(seconds)"])
    }
    func storeUnavailable(_ detail: String, retryAfterSeconds seconds: Int = 2) -> Problem {
      unavailable("store-unavailable", "Store unavailable", detail, retryAfterSeconds: seconds)
    }
    func overloaded(_ detail: String, retryAfterSeconds seconds: Int) -> Problem {
      unavailable("overloaded", "Overloaded", detail, retryAfterSeconds: seconds)
    }
    switch error {
    case .unavailable: self = storeUnavailable("the store is not available at the moment")
    case .readOnly(let reason): self = storeUnavailable("the store refuses writes at the moment: \(reason)")
    case .schemaMismatch: self = storeUnavailable("the store is being set up or upgraded", retryAfterSeconds: 10)
    case .misconfigured:
      self = unavailable(
        "store-misconfigured", "Store misconfigured",
        "the service lacks a privilege that its operator has to grant", retryAfterSeconds: 10)
    case .indexRequired:
      self.init(
        .notImplemented, code: "not-implemented", title: "Not implemented",
        detail:
          "the call needs the index of places in memory; the setting POINT_INDEX turns it on, "
          + "unless the database is a standby")
    case .indexNotReady:
      self = unavailable(
        "index-not-ready", "Index not ready",
        "the call needs the index of places in memory, which is not ready at the moment", retryAfterSeconds: 2)
    case .filterTimeout, .stepLimit:
      self = unavailable(
        "filter-timeout", "Filter timeout",
        "the search did not end within its time limit; conditions on the position, the category or the source make "
          + "it faster, and so do fewer words", retryAfterSeconds: 10)
    case .overloaded: self = overloaded("too many requests are waiting for the store", retryAfterSeconds: 1)
    case .uploadTooSlow:
      self = overloaded(
        "the upload was too slow while others waited for the store; nothing was imported", retryAfterSeconds: 10)
    case .keysExhausted:
      self = overloaded(
        "this client has sent as many values of Idempotency-Key in the last day as the server keeps for one client; "
          + "they stay valid, and a new one is accepted when some of them have expired", retryAfterSeconds: 600)
    case .editsExhausted:
      self = overloaded(
        "the service keeps as many edits of imported places as the setting EDITS_MAX allows; edits of places that have "
          + "some already are accepted; DELETE /edits/{id} makes room, and so does DELETE /locations?source=…, which "
          + "deletes the places of a data set and forgets all of its edits", retryAfterSeconds: 600)
    case .timeout:
      self.init(
        .gatewayTimeout, code: "store-timeout", title: "Store timeout",
        detail: "the store did not respond in time")
    case .outcomeUnknown:
      self.init(
        .gatewayTimeout, code: "outcome-unknown", title: "Outcome unknown",
        detail: "the change may have been made or not; repeat it with the same Idempotency-Key, or read the place")
    case .unexpected:
      self = .internal
    }
  }
}

extension HTTPRequest {
  /// Calls the store. The time that takes is added to `storeTime`.
  package func waitingForStore<Value, Failure>(
    _ call: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let start = startOfStoreCall
    defer { addStoreTime(since: start) }
    return try await call()
  }

  /// The time now; `nil` if the time that the request waits for the store is not measured.
  private var startOfStoreCall: ContinuousClock.Instant? { storeTime == nil ? nil : .now }

  private func addStoreTime(since start: ContinuousClock.Instant?) {
    if let start { storeTime?.add(since: start) }
  }

  /// Calls the store. An error is logged with the request's id where operators need it, and thrown as a problem.
  package func reportingStoreErrors<Value>(
    _ call: () async throws(PointStoreError) -> Value
  ) async throws(Problem) -> Value {
    // Without `defer`, whose frame takes memory.
    let start = startOfStoreCall
    do {
      let value = try await call()
      addStoreTime(since: start)
      return value
    } catch {
      addStoreTime(since: start)
      log(error)
      throw Problem(error)
    }
  }

  /// Returns the result of a call of the store; see ``reportingStoreErrors(_:)``.
  package func result<Value>(
    of call: @autoclosure () async throws(PointStoreError) -> Value
  ) async throws(Problem) -> Value {
    try await reportingStoreErrors(call)
  }

  /// Returns the result of a search of a snapshot. An error is logged with the request's id where operators need it, and
  /// thrown as a problem.
  package func searchResult<Value>(of call: @autoclosure () throws(PointStoreError) -> Value) throws(Problem) -> Value {
    let start = startOfStoreCall
    defer { addStoreTime(since: start) }
    do throws(PointStoreError) {
      return try call()
    } catch {
      log(error)
      throw Problem(error)
    }
  }

  /// Logs a store's error, at a level that depends on whether operators need it.
  package func log(_ error: PointStoreError) {
    // An outage and a missing privilege are logged by the store, once; here it would be a line a request.
    let level: Logger.Level =
      switch error {
      case .unexpected: .error
      case .outcomeUnknown: .warning
      case .unavailable, .readOnly, .schemaMismatch, .misconfigured, .indexRequired, .indexNotReady, .filterTimeout,
        .stepLimit, .overloaded, .uploadTooSlow, .keysExhausted, .editsExhausted, .timeout:
        .debug
      }
    logger.log(level: level, "a call of the store failed", metadata: ["error": "\(error)"])
  }
}

extension Problem {
  /// Creates the problem of a write's error: the one table from ``PointWriteError`` to HTTP.
  ///
  /// - Parameters:
  ///   - resource: the noun for what was written.
  ///   - prefix: the JSON pointer to the object that has its fields in the body.
  package init(_ error: PointWriteError, of resource: String = "place", pointerPrefix prefix: String = "") {
    switch error {
    case .originTaken:
      self.init(
        .conflict, code: "conflict", detail: "another \(resource) has this source and sourceId",
        errors: [ProblemError(.pointer("\(prefix)/sourceId"), "is already that of another \(resource)")])
    case .deletedByClient(let id):
      self.init(
        .conflict, code: "conflict",
        detail: "a call deleted the \(resource) with this source and sourceId; DELETE /edits/\(id) lets it come back")
    case .notFound:
      self = .notFound("there is no \(resource) with this id")
    case .conditionFailed(let version?):
      self.init(
        .preconditionFailed, code: "version-mismatch", detail: "the current version of the \(resource) is \(version)",
        headers: ["etag": EntityTag.of(version: version, format: .json)])
    case .conditionFailed(nil):
      self.init(.preconditionFailed, code: "version-mismatch", detail: "there is no \(resource) with this id")
    case .keyInFlight:
      self.init(
        .conflict, code: "conflict", detail: "the first request with this Idempotency-Key is still in progress",
        headers: ["retry-after": "1"])
    case .keyReused:
      self.init(
        .unprocessableEntity, code: "idempotency-key-reused",
        detail: "this Idempotency-Key was already used with another request")
    case .tooLarge:
      self = .badRequest(
        [
          ProblemError(
            .pointer("/operations"),
            "must read and rewrite at most \(PointBatch.maximumBytes >> 20) MiB of places in all; send fewer operations"
              + " at a time")
        ], code: .invalid)
    case .forbidden(let reason):
      self.init(.forbidden, code: ProblemCode.forbidden.rawValue, detail: reason)
    case .store(let error):
      self.init(error)
    }
  }

  /// Creates 422 `invalid-place` with the first rules that a body breaks.
  package init(_ invalid: InvalidPoint) {
    let violations = invalid.violations.prefix(Self.maximumErrorCount)
    let others = invalid.violations.count - violations.count
    let detail = InvalidPoint(Array(violations)).description + (others > 0 ? "; and \(others) more" : "")
    self.init(
      .unprocessableEntity, code: "invalid-place", detail: detail,
      errors: violations.map { ProblemError(.pointer($0.pointer), $0.detail) })
  }
}

extension HTTPRequest {
  /// Returns the result of a write of the store. An error is logged where operators need it, and thrown as a problem.
  ///
  /// - Parameters:
  ///   - resource: the noun for what is written.
  ///   - isFeature: a Boolean value that indicates whether the body is a Feature without its media type.
  package func writeResult<Value>(
    as resource: String = "place", isFeature: Bool = false,
    of call: @autoclosure () async throws(PointWriteError) -> Value
  ) async throws(Problem) -> Value {
    let start = startOfStoreCall
    defer { addStoreTime(since: start) }
    do {
      return try await call()
    } catch {
      throw problem(for: error, of: resource, isFeature: isFeature)
    }
  }

  /// Calls the store for an update. An error is logged where operators need it, and thrown as a problem.
  ///
  /// - Parameters:
  ///   - resource: the noun for what is updated.
  ///   - isFeature: a Boolean value that indicates whether the body is a Feature without its media type.
  package func reportingUpdateErrors<Value>(
    as resource: String = "place", isFeature: Bool = false, _ call: () async throws(PointUpdateError<Problem>) -> Value
  ) async throws(Problem) -> Value {
    do {
      return try await waitingForStore(call)
    } catch {
      throw problem(for: error, of: resource, isFeature: isFeature)
    }
  }

  /// Returns the problem of an update's error, which is logged where operators need it.
  package func problem(
    for error: PointUpdateError<Problem>, of resource: String = "place", isFeature: Bool = false
  ) -> Problem {
    switch error {
    case .write(let error): problem(for: error, of: resource, isFeature: isFeature)
    case .change(let problem): problem
    case .contended:
      Problem(
        .conflict, code: "conflict", detail: "other requests keep changing the \(resource); repeat the request",
        headers: ["retry-after": "1"])
    }
  }

  /// Returns the problem of a write's error, which is logged where operators need it.
  package func problem(
    for error: PointWriteError, of resource: String = "place", isFeature: Bool = false
  ) -> Problem {
    if case .store(let error) = error { log(error) }
    let isFeature = isFeature || mediaType == "application/geo+json"
    return Problem(error, of: resource, pointerPrefix: isFeature ? "/properties" : "")
  }

  /// Returns the problem of an error of the change log, which is logged where operators need it.
  package func problem(for error: ChangeReadError) -> Problem {
    switch error {
    case .store(let error):
      log(error)
      return Problem(error)
    case .malformed:
      return .badRequest(
        [ProblemError(.parameter(Parameter.since.name), "must be a position, taken from a response")], code: .invalid)
    case .expired(let reason):
      return Problem(
        .gone, code: ProblemCode.positionExpired.rawValue, title: "Position expired",
        detail: "the changes since this position are not known: \(reason); begin again with an export")
    }
  }
}

extension Problem {
  /// Returns 404 for the id of no place.
  package static func noPlace(_ id: PointID) -> Problem { .notFound("there is no place with the id \(id)") }
}

extension PointsService {
  /// Returns the place of an id, as a request reads it.
  ///
  /// - Throws: `Problem` 404 if there is none.
  package func place(_ id: PointID, for request: HTTPRequest) async throws(Problem) -> PointOfInterest {
    let point = try await request.result(of: await point(id: id, notBefore: request.minimumPosition))
    guard let point else { throw .noPlace(id) }
    return point
  }

  /// Deletes the place of an id for a request.
  ///
  /// - Parameter absence: the problem if the condition fails since there is none. Without the condition it would be 404
  ///   too, and that comes first (RFC 9110, section 13.2.1).
  package func delete(
    id: PointID, if condition: WriteCondition, orThrow absence: @autoclosure () -> Problem, for request: HTTPRequest
  ) async throws(Problem) -> HTTPResponse {
    do {
      try await request.waitingForStore { () throws(PointWriteError) in try await delete(id: id, if: condition) }
    } catch .conditionFailed(nil) {
      throw absence()
    } catch {
      throw request.problem(for: error)
    }
    return HTTPResponse(status: .noContent)
  }
}
