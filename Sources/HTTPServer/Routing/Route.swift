public import NIOHTTP1

/// The declaration of a route: which requests it has, what they may contain, and its handler.
///
/// It is a reference, so that a request carries its route as one pointer.
public final class Route: Sendable {
  /// The method. A route of `GET` has the requests of `HEAD` too.
  public let method: HTTPMethod

  /// The paths, with parameters in braces: `/locations/{id}`.
  public let template: String

  /// The access that the sender must have; `nil` where the route is open to everyone.
  public let scope: AccessScope?

  /// The limit of a request's body.
  public let bodyLimit: BodyLimit

  let handler: any RouteHandler

  /// A limit of the length of a request's body.
  public enum BodyLimit: Sendable {
    /// The server's limit.
    case serverDefault
    /// A number of bytes.
    case bytes(Int)
    /// No limit, for a body that is processed in chunks.
    case unlimited
  }

  public init(
    _ method: HTTPMethod,
    _ template: String,
    scope: AccessScope? = nil,
    bodyLimit: BodyLimit = .serverDefault,
    handler: any RouteHandler
  ) {
    self.method = method
    self.template = template
    self.scope = scope
    self.bodyLimit = bodyLimit
    self.handler = handler
  }
}

/// A type that responds to the requests of a route.
public protocol RouteHandler: Sendable {
  /// Responds to a request. The values of the template's parameters are in ``HTTPRequest/pathParameters``.
  ///
  /// - Throws: a ``Problem`` or ``HTTPBodyError``, which is the response. Any other error is logged with the request's
  ///   id, and the response is 500 `internal`.
  nonisolated(nonsending) func respond(to request: HTTPRequest) async throws -> HTTPResponse
}

/// The levels of access to a service, in ascending order. Each includes those before it.
public enum AccessScope: String, Comparable, CaseIterable, Sendable {
  /// Reading.
  case read
  /// Changing.
  case write
  /// Everything.
  case admin

  /// Returns a Boolean value that indicates whether the left scope includes less than the right one.
  public static func < (left: AccessScope, right: AccessScope) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .read: 0
    case .write: 1
    case .admin: 2
    }
  }
}
