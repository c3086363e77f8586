import HTTPServer
import Logging
import NIOHTTP1
import PointFormats
import Points

extension Problem {
  /// Creates the problem of a store's error: the one table from ``PointStoreError`` to HTTP.
  init(_ error: PointStoreError) {
    switch error {
    case .unavailable:
      self.init(
        .serviceUnavailable, code: "store-unavailable", title: "Store unavailable",
        detail: "the store is not available at the moment", headers: ["retry-after": "2"])
    case .readOnly(let reason):
      self.init(
        .serviceUnavailable, code: "store-unavailable", title: "Store unavailable",
        detail: "the store refuses writes at the moment: \(reason)", headers: ["retry-after": "2"])
    case .schemaMismatch:
      self.init(
        .serviceUnavailable, code: "store-unavailable", title: "Store unavailable",
        detail: "the store is being set up or upgraded", headers: ["retry-after": "10"])
    case .misconfigured:
      self.init(
        .serviceUnavailable, code: "store-misconfigured", title: "Store misconfigured",
        detail: "the service lacks a privilege that its operator has to grant", headers: ["retry-after": "10"])
    case .indexRequired:
      self.init(
        .notImplemented, code: "not-implemented", title: "Not implemented",
        detail:
          "the call needs the index of places in memory; the setting POINT_INDEX turns it on, "
          + "unless the database is a standby")
    case .indexNotReady:
      self.init(
        .serviceUnavailable, code: "index-not-ready", title: "Index not ready",
        detail: "the call needs the index of places in memory, which is not ready at the moment",
        headers: ["retry-after": "2"])
    case .filterTimeout, .stepLimit:
      self.init(
        .serviceUnavailable, code: "filter-timeout", title: "Filter timeout",
        detail:
          "the search with a filter, an area, a route or a text did not end within its time limit; conditions on the "
          + "position, the category or the source make it faster, and so do fewer words",
        headers: ["retry-after": "10"])
    case .overloaded:
      self.init(
        .serviceUnavailable, code: "overloaded", title: "Overloaded",
        detail: "too many requests are waiting for the store", headers: ["retry-after": "1"])
    case .uploadTooSlow:
      self.init(
        .serviceUnavailable, code: "overloaded", title: "Overloaded",
        detail: "the upload was too slow while others waited for the store; nothing was imported",
        headers: ["retry-after": "10"])
    case .keysExhausted:
      self.init(
        .serviceUnavailable, code: "overloaded", title: "Overloaded",
        detail:
          "the keys that this client has sent as Idempotency-Key in the last day fill its share of the room for them; "
          + "they stay valid, and a new one needs to wait until some of them expire",
        headers: ["retry-after": "600"])
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
  func waitingForStore<Value, Failure>(
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
  func reportingStoreErrors<Value>(
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

  /// Searches a snapshot. An error is logged with the request's id where operators need it, and thrown as a problem.
  func reportingSearchErrors<Value>(_ call: () throws(PointStoreError) -> Value) throws(Problem) -> Value {
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
  func log(_ error: PointStoreError) {
    // An outage and a missing privilege are logged by the store, once; here it would be a line a request.
    let level: Logger.Level =
      switch error {
      case .unexpected: .error
      case .outcomeUnknown: .warning
      case .unavailable, .readOnly, .schemaMismatch, .misconfigured, .indexRequired, .indexNotReady, .filterTimeout,
        .stepLimit, .overloaded, .uploadTooSlow, .keysExhausted, .timeout:
        .debug
      }
    logger.log(level: level, "a call of the store failed", metadata: ["error": "\(error)"])
  }
}

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
    let start = startOfStoreCall
    defer { addStoreTime(since: start) }
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
