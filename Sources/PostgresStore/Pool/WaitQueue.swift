import DequeModule

/// The first-in, first-out queue of the requests that wait for a connection. Every operation takes amortized constant
/// time.
///
/// A request that is removed from the middle leaves a gap until it would be the first or the last.
struct WaitQueue {
  typealias Request = PoolStateMachine.Request

  private var requests: Deque<Request?> = []
  /// The positions of the requests, relative to the one that was the first of all.
  private var positions: [PoolStateMachine.RequestID: Int] = [:]
  private var front = 0

  /// The number of waiting requests.
  var count: Int { positions.count }

  var first: Request? { requests.first ?? nil }

  mutating func append(_ request: Request) {
    positions[request.id] = front + requests.count
    requests.append(request)
  }

  mutating func prepend(_ request: Request) {
    front -= 1
    positions[request.id] = front
    requests.prepend(request)
  }

  mutating func popFirst() -> Request? { first.flatMap { remove($0.id) } }

  /// Removes a request from any position.
  ///
  /// - Returns: the request, if it was in the queue.
  mutating func remove(_ id: PoolStateMachine.RequestID) -> Request? {
    guard let position = positions.removeValue(forKey: id) else { return nil }
    let request = requests[position - front].take()
    while case .some(nil) = requests.last { requests.removeLast() }
    while case .some(nil) = requests.first {
      requests.removeFirst()
      front += 1
    }
    return request
  }
}
