/// A type that responds to requests: a router, or a single function of a test.
public protocol HTTPResponder: Sendable {
  /// Responds to the request.
  ///
  /// The server calls it on the connection's event loop, where it may do as much work as a look-up in memory takes.
  /// Work that waits must suspend and never block. The task is cancelled when the client is known to have gone. The
  /// requests of one HTTP/1.1 connection come one after the other.
  nonisolated(nonsending) func respond(to request: HTTPRequest) async -> HTTPResponse

  /// Receives each request whose response has ended, for metrics and logs.
  ///
  /// The server calls it on the connection's event loop, once for each request that was begun and once for each that
  /// was rejected before it could be parsed. It must return at once.
  func requestCompleted(_ request: CompletedRequest)
}

extension HTTPResponder {
  /// Does nothing.
  public func requestCompleted(_ request: CompletedRequest) {}
}
