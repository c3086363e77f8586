public import NIOHTTP1

/// What every request of a router passes before its route is looked for and before its body is read.
public protocol RequestGate: Sendable {
  /// Lets a request in.
  ///
  /// It is called on the connection's event loop, for each request, and must not wait.
  ///
  /// - Returns: header fields for the answer, whichever it is.
  /// - Throws: `Problem` where the request is to be answered with that.
  func admit(_ request: HTTPRequest) throws(Problem) -> HTTPHeaders
}
