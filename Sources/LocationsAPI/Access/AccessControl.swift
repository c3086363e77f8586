public import HTTPServer
import Synchronization

/// The policy in force, which may be replaced while requests are answered.
public final class AccessControl: Sendable {
  private let policy: Mutex<AccessPolicy>
  private let areReadsOpen: Bool

  /// Puts a policy in force.
  public init(_ policy: AccessPolicy) {
    self.policy = Mutex(policy)
    areReadsOpen = !policy.readRequiresKey
  }

  /// Replaces the keys; requests from now on are held to them.
  public func replaceKeys(_ keys: [APIKey]) {
    policy.withLock { $0.keys = keys }
  }

  /// Who sent the request, if it may do what the scope allows; see ``AccessPolicy``.
  ///
  /// - Throws: `Problem` 401 or 403.
  public func principal(of request: HTTPRequest, for scope: AccessScope) throws(Problem) -> Principal {
    if scope == .read, areReadsOpen { return .anonymous }
    return try policy.withLock { $0 }.principal(of: request.headers, for: scope)
  }
}
