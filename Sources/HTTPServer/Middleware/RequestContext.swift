/// The state that middlewares attach to a request. It stands behind a reference because most requests have none.
final class RequestContext: Sendable {
  let trace: TraceParent?
  let principal: Principal

  init(trace: TraceParent?, principal: Principal) {
    self.trace = trace
    self.principal = principal
  }
}

/// The authenticated sender of a request.
public struct Principal: Hashable, Sendable {
  /// The name under which the sender is known; `nil` where it is not authenticated.
  public let name: String?

  /// The prefix that separates what belongs to this sender from what belongs to others. It has no colon and does not
  /// change.
  public let namespace: String

  /// A sender that is not authenticated.
  public static let anonymous = Principal(name: nil, namespace: "")

  public init(name: String?, namespace: String) {
    self.name = name
    self.namespace = namespace
  }
}
