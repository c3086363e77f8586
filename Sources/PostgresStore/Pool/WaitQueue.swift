/// The first-in, first-out queue of the requests that wait for a connection.
///
/// Appending and removing the first request take amortized constant time. Removing another request, which only a
/// cancellation does, takes linear time.
struct WaitQueue {
  typealias Request = PoolStateMachine.Request

  private var requests: [Request?] = []
  private var front = 0

  /// The number of waiting requests.
  private(set) var count = 0

  /// The next request.
  var first: Request? { count > 0 ? requests[front] : nil }

  /// Adds a request at the end.
  mutating func append(_ request: Request) {
    requests.append(request)
    count += 1
  }

  /// Adds a request at the front.
  mutating func prepend(_ request: Request) {
    if front > 0 {
      front -= 1
      requests[front] = request
    } else {
      requests.insert(request, at: 0)
    }
    count += 1
  }

  /// Removes the first request.
  mutating func popFirst() -> Request? {
    guard count > 0, let request = requests[front] else { return nil }
    removeFirst()
    return request
  }

  private mutating func removeFirst() {
    requests[front] = nil
    front += 1
    count -= 1
    skipGaps()
  }

  /// Removes a request from any position.
  ///
  /// - Returns: the request, if it was in the queue.
  mutating func remove(_ id: PoolStateMachine.RequestID) -> Request? {
    guard let index = requests[front...].firstIndex(where: { $0?.id == id }) else { return nil }
    let request = requests[index]
    requests[index] = nil
    count -= 1
    skipGaps()
    return request
  }

  private mutating func skipGaps() {
    while front < requests.count, requests[front] == nil { front += 1 }
    if front == requests.count {
      requests.removeAll(keepingCapacity: true)
      front = 0
    } else if front > 64, front > requests.count / 2 {
      requests.removeFirst(front)
      front = 0
    }
  }
}
