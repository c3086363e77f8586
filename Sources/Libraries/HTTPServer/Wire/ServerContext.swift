import FairShares
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// The state that all connections of a server share.
final class ServerContext: Sendable {
  let configuration: HTTPServerConfiguration
  let responder: any HTTPResponder
  let logger: Logger
  let encoder: ResponseEncoder
  let isSecure: Bool
  let budget: OutputBudget
  let bodies: BodyBudget<RequestSender>
  let computations: ComputationQueue<RequestSender, SocketAddress?>

  let connections = Atomic(0)
  let requestsInFlight = Atomic(0)
  private let liveResponses = Atomic(0)
  private let isEnding = Atomic(false)
  private let lastRequestEnded: EventLoopPromise<Void>

  /// A promise that completes when everything that is left is to be cut.
  let graceEnded: EventLoopPromise<Void>

  /// Creates the context of a server.
  ///
  /// - Parameter eventLoop: an event loop that outlives the server's last request.
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
    bodies = BodyBudget(limit: configuration.limits.bufferedBytes / 4)
    computations = ComputationQueue(
      threads: configuration.limits.computations, capacity: configuration.limits.waitingComputations,
      timeout: configuration.timeouts.computation, eventLoop: eventLoop)
    self.responder = responder
    self.logger = logger
    self.encoder = ResponseEncoder(serverName: configuration.serverName)
  }

  // MARK: Completed requests

  /// Reports a request that was rejected before it could be parsed.
  func reportRejection(id: String, _ response: HTTPResponse) {
    responder.requestCompleted(
      CompletedRequest(
        id: id, method: nil, route: nil, status: response.status, bodyBytes: response.body.length ?? 0, duration: nil))
  }

  // MARK: Caps

  enum Admission {
    case serve
    case reject
    /// It is closed without a response.
    case drop
  }

  /// The number of connections past the limit that receive 503 rather than being closed.
  static let maximumRejections = 128

  /// Counts a connection; ``connectionEnded()`` ends that, whatever the decision.
  func admitConnection() -> Admission {
    let count = connections.wrappingAdd(1, ordering: .relaxed).newValue
    if count <= configuration.limits.connections { return .serve }
    return count <= configuration.limits.connections + Self.maximumRejections ? .reject : .drop
  }

  func connectionEnded() { connections.wrappingSubtract(1, ordering: .relaxed) }

  /// Counts a request where there is room; ``requestEnded()`` ends that.
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
    requestsInFlight.wrappingSubtract(1, ordering: .sequentiallyConsistent)
    endIfLast()
  }

  /// Counts the response to a request as a live one, and the request no longer.
  func liveResponseBegan() {
    liveResponses.wrappingAdd(1, ordering: .sequentiallyConsistent)
    requestEnded()
  }

  func liveResponseEnded() {
    liveResponses.wrappingSubtract(1, ordering: .sequentiallyConsistent)
    endIfLast()
  }

  /// Counts a request that waits for its client or for a change as one no longer, until ``requestContinues()``.
  func requestWaits() { liveResponseBegan() }

  func requestContinues() {
    requestsInFlight.wrappingAdd(1, ordering: .sequentiallyConsistent)
    liveResponseEnded()
  }

  /// The number of responses without an end, and of requests that wait.
  var waitingCount: Int { liveResponses.load(ordering: .relaxed) }

  private func endIfLast() {
    guard isEnding.load(ordering: .sequentiallyConsistent),
      requestsInFlight.load(ordering: .sequentiallyConsistent) == 0,
      liveResponses.load(ordering: .sequentiallyConsistent) == 0
    else { return }
    lastRequestEnded.succeed()
  }

  /// Cuts what is left. The future completes when no responder is at work any more, and so nothing can use an event
  /// loop.
  func endGrace() -> EventLoopFuture<Void> {
    graceEnded.succeed()
    isEnding.store(true, ordering: .sequentiallyConsistent)
    endIfLast()
    return lastRequestEnded.futureResult
  }

  /// The maximum length in bytes of a body that is sent however much is held: problems, mostly.
  private static let alwaysSentBytes = 1024

  /// Returns the response to send in place of one whose body is longer than there is room for; `nil` for another.
  func rejection(of response: HTTPResponse) -> HTTPResponse? {
    guard case .bytes(let bytes) = response.body, bytes.readableBytes > Self.alwaysSentBytes,
      !budget.hasRoom(for: bytes.readableBytes)
    else { return nil }
    var problem = self.response(to: outOfMemory)
    problem.route = response.route
    problem.context = response.context
    return problem
  }

  var outOfMemory: Problem {
    overloaded("too many responses wait for their clients to take them, of this client or of all")
  }

  /// Returns the response of a problem that the server itself creates.
  func response(to problem: Problem) -> HTTPResponse {
    HTTPResponse(problem, typePrefix: configuration.problemTypePrefix)
  }

  func overloaded(_ detail: String) -> Problem {
    Problem(
      .serviceUnavailable,
      code: "overloaded",
      detail: detail,
      headers: ["retry-after": String(configuration.limits.retryAfterSeconds)]
    )
  }
}
