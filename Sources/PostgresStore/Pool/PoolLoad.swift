/// The load of a connection pool.
package struct PoolLoad: Hashable, Sendable {
  /// The number of connections that are being established.
  package internal(set) var connecting = 0
  /// The number of idle connections.
  package internal(set) var idle = 0
  /// The number of connections that run or cancel a request.
  package internal(set) var busy = 0
  /// The maximum number of connections.
  package internal(set) var limit = 0
  /// The number of requests in the wait queue.
  package internal(set) var waiting = 0
}
