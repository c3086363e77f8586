import APIDescription
import HTTPServer
import JSONText
import LocationsAPI
import Logging
import NIOHTTP1
import Points
import Synchronization

/// `GET /health/live`: 200 while the process responds at all.
struct LiveRoute: CallHandler {
  static let call = Call(
    .GET, "/health/live", id: "isLive", group: .operations, link: "live", summary: "Check that the process responds",
    ignoresQuery: true, caching: .forbidden, responses: [.init(200, "It does.", media: .json(.health))])

  func respondAtOnce(to request: HTTPRequest) -> HTTPResponse? { .healthy() }

  func respond(to request: HTTPRequest) -> HTTPResponse { .healthy() }
}

/// `GET /health/ready`: 200 while the store responds and its schema is current, the server does not drain, and at a
/// start the index is complete and the areas are in memory.
struct ReadyRoute: CallHandler {
  static let call = Call(
    .GET, "/health/ready", id: "isReady", group: .operations, link: "ready",
    summary: "Check that the store responds and its schema is current", ignoresQuery: true, caching: .forbidden,
    responses: [.init(200, "It does.", media: .json(.health))],
    problems: [
      .init(503, .storeUnavailable), .init(503, .storeMisconfigured), .init(503, .overloaded),
      .init(503, .indexNotReady),
    ])

  /// The maximum age of the store's state: the store is called once in that time, whatever the rate of probes.
  static let maximumAge: Duration = .seconds(1)

  let service: PointsService
  private let areas: any AreaStore
  private let readiness: RecentValue<Result<StoreReadiness, Problem>>
  private let log = ReadinessLog()
  private let isDraining: @Sendable () -> Bool

  init(
    service: PointsService, areas: any AreaStore, uptime: @escaping @Sendable () -> Duration,
    isDraining: @escaping @Sendable () -> Bool
  ) {
    self.service = service
    self.areas = areas
    self.isDraining = isDraining
    readiness = RecentValue(maximumAge: Self.maximumAge, uptime: uptime)
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    guard !isDraining() else {
      throw Problem(
        .serviceUnavailable, code: "overloaded", title: "Draining", detail: "the server is shutting down")
    }
    let store = try await readiness.value({ await check(request.logger) }).get()
    // A store that is read-only because its database is a standby has no index.
    if store == .ready, let state = service.awaitedIndexState {
      var problem = Problem(.indexNotReady)
      problem.detail = "the index of the places is not complete yet; its phase is \(state.phase)"
      problem.counts = [("places", state.points)]
      throw problem
    }
    if areas.isAwaited {
      var problem = Problem(.indexNotReady)
      problem.detail = "the areas are not in memory yet; the phase is reading_areas"
      throw problem
    }
    return .healthy(store, index: service.followingIndex?.state)
  }

  /// Returns what the store can do, or why it is not ready.
  private func check(_ logger: Logger) async -> Result<StoreReadiness, Problem> {
    do {
      let readiness = try await service.checkReadiness()
      log.note(nil, logger)
      return .success(readiness)
    } catch {
      log.note(error, logger)
      var problem = Problem(error)
      // Probes of readiness are sent by operators; this reason names the command that corrects it.
      if case .schemaMismatch(let reason) = error { problem.detail = reason }
      if problem.status != .serviceUnavailable { problem = Problem(.unavailable(reason: "")) }
      return .failure(problem)
    }
  }
}

/// Logs why the server is not ready: a kind of failure once until there is another outcome, however many checks fail.
private final class ReadinessLog: Sendable {
  /// The kind of the last check's failure; `nil` if it has succeeded.
  private let lastFailure = Mutex<String?>(nil)

  /// Notes the outcome of a check.
  ///
  /// - Parameter error: the failure; `nil` if there is none.
  func note(_ error: PointStoreError?, _ logger: Logger) {
    let kind = error?.shortDescription
    let former = lastFailure.withLock { last in
      defer { last = kind }
      return last
    }
    guard let error else { return }
    let level: Logger.Level
    switch error {
    // The observer of the store's outages has a line for the beginning and one for the end.
    case .unavailable, .schemaMismatch, .misconfigured: level = .debug
    default: level = former == kind ? .debug : .warning
    }
    logger.log(level: level, "the server is not ready", metadata: ["error": "\(error)"])
  }
}

extension HTTPResponse {
  fileprivate static func healthy(
    _ store: StoreReadiness = .ready, index: (phase: String, points: Int)? = nil
  ) -> HTTPResponse {
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "status", "ok")
    if case .readOnly(let reason) = store {
      json.write(name: "writes")
      json.beginObject()
      json.write(member: "status", "refused")
      json.write(member: "reason", reason)
      json.endObject()
    }
    if let index {
      json.write(name: "index")
      json.beginObject()
      json.write(member: "phase", index.phase)
      json.write(name: "places")
      json.write(json: String(index.points))
      json.endObject()
    }
    json.endObject()
    return HTTPResponse(json).uncacheable
  }
}

extension Schema {
  fileprivate static let health = Schema(
    .object(
      [
        .required("status", .oneOf(["ok"])),
        .optional(
          "writes",
          Schema(
            .object([.required("status", .oneOf(["refused"])), .required("reason", Schema(.string))], others: nil),
            "Present while reads are served and writes are 503.")),
        .optional(
          "index",
          Schema(
            .object([.required("phase", Schema(.string)), .required("places", count)], others: nil),
            "The state of the index in memory over PostgreSQL.")),
      ], others: nil),
    nil, example: ["status": "ok"]
  ).named("Health", order: 390)
}
