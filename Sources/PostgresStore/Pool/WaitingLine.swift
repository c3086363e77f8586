/// The requests that wait for a connection, first come, first served.
///
/// Joining at the end and leaving at the front take constant time on average; leaving from the middle, which only a
/// cancelled request does, takes time in proportion to the length.
struct WaitingLine {
  typealias Request = PoolStateMachine.Request

  private var requests: [Request?] = []
  private var front = 0

  /// How many wait.
  private(set) var count = 0

  /// Who is next.
  var first: Request? { count > 0 ? requests[front] : nil }

  /// Joins at the end.
  mutating func append(_ request: Request) {
    requests.append(request)
    count += 1
  }

  /// Joins at the front.
  mutating func prepend(_ request: Request) {
    if front > 0 {
      front -= 1
      requests[front] = request
    } else {
      requests.insert(request, at: 0)
    }
    count += 1
  }

  /// Leaves at the front.
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

  /// Leaves from anywhere.
  ///
  /// - Returns: the request, where it was waiting.
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
