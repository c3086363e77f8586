import Synchronization

/// The memory budget of the bodies that requests collect, until their requests end.
///
/// If a body does not fit, a client that holds the most gives way: of its bodies that have not arrived whole, the one
/// that began first is cut, which may be the one that does not fit. So nobody keeps others from sending by sending
/// slowly. A body alone fits in any case.
package final class BodyBudget<Client: Hashable & Sendable>: Sendable {
  /// The number of bytes that a body counts at least, for what its request takes.
  package static var leastBytes: Int { 4096 }

  private struct Holder {
    let client: Client
    let cut: @Sendable () -> Void
    var bytes = 0
    var isWhole = false
  }

  private struct State {
    var bytes = 0
    var holders: [Int: Holder] = [:]
    var bytesOfClients: [Client: Int] = [:]
    var lastID = 0

    mutating func setBytes(_ bytes: Int, of id: Int) {
      guard var holder = holders[id] else { return }
      let growth = bytes - holder.bytes
      holder.bytes = bytes
      holders[id] = holder
      self.bytes += growth
      bytesOfClients[holder.client, default: 0] += growth
    }

    @discardableResult
    mutating func remove(_ id: Int) -> Holder? {
      setBytes(0, of: id)
      let holder = holders.removeValue(forKey: id)
      if let holder, bytesOfClients[holder.client] == 0 { bytesOfClients[holder.client] = nil }
      return holder
    }

    /// Returns the body that gives way to others.
    func next() -> Int? {
      holders.lazy.filter { !$0.value.isWhole }.map { id, holder in (bytesOfClients[holder.client, default: 0], -id) }
        .max(by: <).map { -$0.1 }
    }
  }

  private let limit: Int
  private let state = Mutex(State())

  /// The number of bytes that are held.
  package var heldBytes: Int { state.withLock { $0.bytes } }

  /// Creates a budget of a number of bytes.
  package init(limit: Int) {
    self.limit = limit
  }

  /// Returns the share of a body, which holds nothing yet.
  ///
  /// - Parameter cut: ends the body with an error, if another one needs its memory.
  package func share(of client: Client, cut: @escaping @Sendable () -> Void) -> BodyShare<Client> {
    let id = state.withLock { state in
      state.lastID += 1
      state.holders[state.lastID] = Holder(client: client, cut: cut)
      return state.lastID
    }
    return BodyShare(id: id, budget: self)
  }

  fileprivate func hold(_ bytes: Int, by id: Int) -> Bool {
    var cuts: [@Sendable () -> Void] = []
    let fits = state.withLock { state in
      guard state.holders[id] != nil else { return false }
      state.setBytes(bytes, of: id)
      while state.bytes > limit, state.holders.count > 1, let next = state.next() {
        let holder = state.remove(next)
        if next == id { return false }
        if let holder { cuts.append(holder.cut) }
      }
      return true
    }
    for cut in cuts { cut() }
    return fits
  }

  fileprivate func noteWhole(_ id: Int) { state.withLock { $0.holders[id]?.isWhole = true } }

  fileprivate func end(_ id: Int) { state.withLock { _ = $0.remove(id) } }
}

/// The memory of one body. It is released with the last reference.
package final class BodyShare<Client: Hashable & Sendable>: Sendable {
  private let id: Int
  private let budget: BodyBudget<Client>

  fileprivate init(id: Int, budget: BodyBudget<Client>) {
    self.id = id
    self.budget = budget
  }

  deinit { budget.end(id) }

  /// Counts the memory of the body, in place of what was counted before.
  ///
  /// - Returns: `false` if the body has to give way to others.
  package func hold(_ bytes: Int) -> Bool { budget.hold(max(bytes, BodyBudget<Client>.leastBytes), by: id) }

  /// Notes that the body has arrived whole, so that it is used and not cut.
  package func noteWhole() { budget.noteWhole(id) }
}
