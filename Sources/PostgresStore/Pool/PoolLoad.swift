/// The load of a connection pool.
public struct PoolLoad: Hashable, Sendable {
  /// The number of connections that are being established.
  public internal(set) var connecting = 0
  /// The number of idle connections.
  public internal(set) var idle = 0
  /// The number of connections that run or cancel a request.
  public internal(set) var busy = 0
  /// The maximum number of connections.
  public internal(set) var limit = 0
  /// The number of requests in the wait queue.
  public internal(set) var waiting = 0
}
