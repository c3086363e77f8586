import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// What all connections of a server share.
final class ServerContext: Sendable {
  let configuration: HTTPServerConfiguration
  let responder: any HTTPResponder
  let logger: Logger
  let encoder: ResponseEncoder
  /// A Boolean value that indicates whether connections speak TLS.
  let isSecure: Bool

  /// What all connections may hold for their clients together.
  let budget: OutputBudget

  let connections = Atomic(0)
  let requestsInFlight = Atomic(0)
  private let isEnding = Atomic(false)
  private let lastRequestEnded: EventLoopPromise<Void>

  /// Completes when whatever still goes on is to be cut.
  let graceEnded: EventLoopPromise<Void>

  /// Creates the context of a server.
  ///
  /// - Parameter eventLoop: one that outlives the server's last request.
  init(
    configuration: HTTPServerConfiguration,
    responder: any HTTPResponder,
    logger: Logger,
    eventLoop: any EventLoop
  ) {
    self.graceEnded = eventLoop.makePromise()
    self.lastRequestEnded = eventLoop.makePromise()
    self.configuration = configuration
    self.isSecure = configuration.tls != nil
    self.budget = OutputBudget(configuration.limits, configuration.timeouts, eventLoop: eventLoop)
    self.responder = responder
    self.logger = logger
    self.encoder = ResponseEncoder(serverName: configuration.serverName)
  }

  // MARK: Observation

  /// What the observer will be told of a request that begins; `nil` where there is no observer.
  func observe(id: String, method: HTTPMethod) -> EndedRequest? {
    configuration.observer == nil ? nil : EndedRequest(id: id, method: method)
  }

  /// Tells the observer of a request, once: nothing is left to be told after it.
  func end(_ observed: inout EndedRequest?, isWhole: Bool) {
    guard var request = observed else { return }
    observed = nil
    request.end(isWhole: isWhole)
    configuration.observer?.requestEnded(request)
  }

  /// Tells the observer of what was refused without being a request.
  func noteRefusal(id: String, _ response: HTTPResponse) {
    configuration.observer?.requestEnded(
      EndedRequest(id: id, refusedWith: response.status, bodyBytes: response.body.length ?? 0))
  }

  // MARK: Caps

  /// What becomes of a connection that has just been accepted.
  enum Admission {
    case serve
    /// It is told that there are too many.
    case refuse
    /// There are too many even to tell.
    case drop
  }

  /// How many connections past the cap are told so, rather than dropped.
  static let refusalsAtOnce = 128

  /// Counts a connection in; ``connectionEnded()`` counts it out, whatever its admission.
  func admitConnection() -> Admission {
    let count = connections.wrappingAdd(1, ordering: .relaxed).newValue
    if count <= configuration.limits.connections { return .serve }
    return count <= configuration.limits.connections + Self.refusalsAtOnce ? .refuse : .drop
  }

  func connectionEnded() { connections.wrappingSubtract(1, ordering: .relaxed) }

  /// Counts a request in where there is room; ``requestEnded()`` counts it out.
  func admitRequest() -> Bool {
    if requestsInFlight.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
      <= configuration.limits.requestsInFlight
    {
      return true
    }
    requestEnded()
    return false
  }

  func requestEnded() {
    let left = requestsInFlight.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue
    if left == 0, isEnding.load(ordering: .sequentiallyConsistent) { lastRequestEnded.succeed() }
  }

  /// Cuts what still goes on. The future completes when no responder is at work any more, and so nothing can ask an
  /// event loop for anything.
  func endGrace() -> EventLoopFuture<Void> {
    graceEnded.succeed()
    isEnding.store(true, ordering: .sequentiallyConsistent)
    if requestsInFlight.load(ordering: .sequentiallyConsistent) == 0 { lastRequestEnded.succeed() }
    return lastRequestEnded.futureResult
  }

  /// The longest body of a response that is sent however much is held, in bytes: problems, mostly.
  private static let alwaysSentBytes = 1024

  /// Returns the response, or a problem where its body is longer than there is room for.
  func withinBudget(_ response: HTTPResponse) -> HTTPResponse {
    guard case .bytes(let bytes) = response.body, bytes.readableBytes > Self.alwaysSentBytes,
      !budget.hasRoom(for: bytes.readableBytes)
    else { return response }
    var problem = HTTPResponse(outOfMemory, typePrefix: configuration.problemTypePrefix)
    problem.route = response.route
    problem.step = response.step
    return problem
  }

  /// What a request is told whose response would take more memory than there is.
  var outOfMemory: Problem { overloaded("too many responses wait for their clients to take them") }

  /// What those past a cap are told.
  func overloaded(_ detail: String) -> Problem {
    Problem(
      .serviceUnavailable,
      code: "overloaded",
      detail: detail,
      headers: ["retry-after": String(configuration.limits.retryAfterSeconds)]
    )
  }
}
