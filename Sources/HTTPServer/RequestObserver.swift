/// Is told of each request when its answer has ended, for metrics and logs.
public protocol RequestObserver: Sendable {
  /// Takes note of a request whose answer has ended, one way or the other.
  ///
  /// It is called on the connection's event loop and returns at once: it neither waits nor fails. It is called once for each
  /// request that was begun, and once for what was refused without being one.
  func requestEnded(_ request: EndedRequest)
}
