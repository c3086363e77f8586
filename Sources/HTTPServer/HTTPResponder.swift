/// What answers requests: a router, or anything that stands before one.
public protocol HTTPResponder: Sendable {
  /// The answer to the request.
  ///
  /// It is called on the connection's event loop and may do so much as a memory look-up takes there; what waits must
  /// suspend, never block. The task is cancelled when the client is known to have gone. A client's requests on one
  /// connection are passed on one after the other.
  nonisolated(nonsending) func respond(to request: HTTPRequest) async -> HTTPResponse
}
