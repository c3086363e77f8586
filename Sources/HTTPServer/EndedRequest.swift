public import NIOHTTP1

/// What is told of a request whose answer has ended.
public struct EndedRequest: Sendable {
  /// What it was known by in its answer.
  public let id: String

  /// Its method; `nil` where what came was no request that could be read.
  public let method: HTTPMethod?

  /// The template of the route that answered, such as `/locations/{id}`; `nil` where there was none.
  public internal(set) var route: String?

  /// Which step of which trace it was; `nil` where its client told of none.
  public internal(set) var trace: TraceParent?

  /// The status it was answered with; `nil` where the client went before an answer began.
  public internal(set) var status: HTTPResponseStatus?

  /// How many bytes of the answer's body were handed to the connection, without what frames them.
  public internal(set) var bodyBytes = 0

  /// From the end of the request's head to the end of its answer being handed to the connection; `nil` where no head
  /// could be read.
  public internal(set) var duration: Duration?

  /// Whether the answer was made to its end; else the client went, or it was broken off.
  public internal(set) var isWhole = true

  private let start: ContinuousClock.Instant?

  /// A request that begins.
  init(id: String, method: HTTPMethod) {
    self.id = id
    self.method = method
    start = .now
  }

  /// What was no request, and how it was answered.
  init(id: String, refusedWith status: HTTPResponseStatus, bodyBytes: Int) {
    self.id = id
    self.status = status
    self.bodyBytes = bodyBytes
    method = nil
    start = nil
  }

  /// Creates one that has ended, to tell an observer of in process.
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

  /// Its answer's head is sent.
  mutating func answered(by response: HTTPResponse) {
    status = response.status
    route = response.route
    trace = response.step?.parent
  }

  /// Ends it.
  mutating func end(isWhole: Bool) {
    self.isWhole = isWhole
    duration = start.map { .now - $0 }
  }
}
