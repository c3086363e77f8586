/// The admission control of exports and imports as a value: events go in, decisions come out, and it does no I/O.
///
/// Each kind has a limit, and both together have one. The caller that has waited longest among those within their
/// limits is admitted next.
struct BulkQueue {
  enum Kind: Hashable, Sendable {
    case export
    case `import`
  }

  /// The identifier of a caller; never used twice.
  struct CallerID: Hashable, Sendable {
    let number: Int
  }

  /// The limits on connections and waiting callers.
  struct Limits: Hashable, Sendable {
    var exports = 2
    var imports = 2
    /// The maximum number of connections of both kinds.
    var total = 4
    /// The maximum number of waiting callers of each kind.
    var waiters = 32

    func connections(of kind: Kind) -> Int { kind == .export ? exports : imports }
  }

  /// The decision on a new caller.
  enum Decision: Hashable, Sendable {
    case admitted
    case waits
    case rejected
  }

  let limits: Limits
  private var connections: [Kind: Int] = [:]
  private var waiters: [(id: CallerID, kind: Kind)] = []

  init(limits: Limits) {
    self.limits = limits
  }

  /// The number of admitted callers of a kind that have not released their connections.
  func connections(of kind: Kind) -> Int { connections[kind, default: 0] }

  /// The number of waiting callers of a kind.
  func waiters(of kind: Kind) -> Int { waiters.count { $0.kind == kind } }

  /// Decides on a new caller.
  mutating func arrived(_ id: CallerID, _ kind: Kind) -> Decision {
    if mayAdmit(kind), waiters(of: kind) == 0 {
      connections[kind, default: 0] += 1
      return .admitted
    }
    guard waiters(of: kind) < limits.waiters else { return .rejected }
    waiters.append((id, kind))
    return .waits
  }

  /// Removes a caller that has stopped waiting.
  ///
  /// - Returns: `true` if it was in the queue.
  mutating func left(_ id: CallerID) -> Bool {
    guard let index = waiters.firstIndex(where: { $0.id == id }) else { return false }
    waiters.remove(at: index)
    return true
  }

  /// Releases a connection.
  ///
  /// - Returns: the callers that are admitted as a result.
  mutating func released(_ kind: Kind) -> [CallerID] {
    connections[kind, default: 0] -= 1
    var admitted: [CallerID] = []
    while let index = waiters.firstIndex(where: { mayAdmit($0.kind) }) {
      let next = waiters.remove(at: index)
      connections[next.kind, default: 0] += 1
      admitted.append(next.id)
    }
    return admitted
  }

  mutating func removeWaiters() -> [CallerID] {
    defer { waiters = [] }
    return waiters.map(\.id)
  }

  private func mayAdmit(_ kind: Kind) -> Bool {
    connections(of: kind) < limits.connections(of: kind)
      && connections(of: .export) + connections(of: .import) < limits.total
  }
}
