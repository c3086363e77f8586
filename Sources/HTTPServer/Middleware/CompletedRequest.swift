public import NIOHTTP1

/// The report of a request whose response has ended, for metrics and logs.
public struct CompletedRequest: Sendable {
  /// The identifier of the request in its response.
  public let id: String

  /// The method; `nil` where the request could not be parsed.
  public let method: HTTPMethod?

  /// The template of the route, such as `/locations/{id}`; `nil` where there was none.
  public internal(set) var route: String?

  /// The request's place in its trace; `nil` where its client sent none.
  public internal(set) var trace: TraceParent?

  /// The status of the response; `nil` where the client went before a response began.
  public internal(set) var status: HTTPResponseStatus?

  /// The number of bytes of the response's body that were passed to the connection, without framing.
  public internal(set) var bodyBytes = 0

  /// The time from the end of the request's head to the end of the response; `nil` where no head could be parsed.
  public internal(set) var duration: Duration?

  /// A Boolean value that indicates whether the response was sent to its end. Otherwise the client went, or it was
  /// broken off.
  public internal(set) var isWhole = true

  private let start: ContinuousClock.Instant?

  init(id: String, method: HTTPMethod) {
    self.id = id
    self.method = method
    start = .now
  }

  /// Creates the report of input that was rejected before it could be parsed, or one for tests of its receivers.
  public init(
    id: String, method: HTTPMethod?, route: String?, status: HTTPResponseStatus?, bodyBytes: Int, duration: Duration?,
    isWhole: Bool = true
  ) {
    self.id = id
    self.method = method
    self.route = route
    self.status = status
    self.bodyBytes = bodyBytes
    self.duration = duration
    self.isWhole = isWhole
    start = nil
  }

  /// Records the response, whose head is being sent.
  mutating func begin(_ response: HTTPResponse) {
    status = response.status
    route = response.route
    trace = response.context?.trace
  }

  mutating func end(isWhole: Bool) {
    self.isWhole = isWhole
    duration = start.map { .now - $0 }
  }
}
