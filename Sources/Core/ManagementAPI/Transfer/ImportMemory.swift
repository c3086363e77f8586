import APIDescription
package import HTTPServer
import NIOHTTP1
import Synchronization

/// The memory of the text and rows that imports hold before they are applied, dry runs included: one budget for the
/// server, which its clients share.
package final class ImportMemory: Sendable {
  private struct State {
    var bytes = 0
    var bytesOfClients: [RequestSender: Int] = [:]
  }

  fileprivate let limit: Int
  private let state = Mutex(State())

  /// Creates the memory of a server's imports.
  ///
  /// - Parameter limit: the maximum number of bytes.
  package init(limit: Int = 256 << 20) {
    self.limit = limit
  }

  /// Returns the share of an import of a client, which holds nothing yet.
  ///
  /// - Parameter things: the plural of what it holds.
  package func share(of client: RequestSender, for things: String = "rows") -> ImportShare {
    ImportShare(self, client, things)
  }

  /// Counts memory of a client, or with a negative number no longer.
  ///
  /// A client may hold as much as is free beside its own. So one alone has half of the memory at most, so that several
  /// clients find room.
  ///
  /// - Returns: `false` if there is no room.
  fileprivate func add(_ growth: Int, of client: RequestSender) -> Bool {
    state.withLock { state in
      let own = state.bytesOfClients[client, default: 0] + growth
      if growth > 0, own > limit - state.bytes - growth { return false }
      state.bytes += growth
      state.bytesOfClients[client] = own > 0 ? own : nil
      return true
    }
  }
}

/// The memory of one import.
package final class ImportShare: Sendable {
  private struct Holding {
    var read = 0
    var staged = 0
    var counted = 0
  }

  /// The number of bytes that an import takes besides: a chunk of its body, and the state of its decompression.
  private static let leastBytes = 64 << 10

  private let memory: ImportMemory
  private let client: RequestSender
  private let things: String
  private let holding = Mutex(Holding())

  fileprivate init(_ memory: ImportMemory, _ client: RequestSender, _ things: String) {
    (self.memory, self.client, self.things) = (memory, client, things)
  }

  /// Counts the memory of the text and the rows that were read and not passed on, in place of what was counted before.
  ///
  /// - Throws: `Problem` 413 if the import alone holds more than there is for one, 503 if there is no room beside others.
  package func hold(read bytes: Int) throws(Problem) { try hold { $0.read = bytes } }

  /// Counts the memory of the rows that the store holds, in place of what was counted before.
  ///
  /// - Throws: `Problem` 413 if the import alone holds more than there is for one, 503 if there is no room beside others.
  func hold(staged bytes: Int) throws(Problem) { try hold { $0.staged = bytes } }

  private func hold(_ change: (inout Holding) -> Void) throws(Problem) {
    let excess = holding.withLock { holding -> Int? in
      var changed = holding
      change(&changed)
      changed.counted = Self.leastBytes + changed.read + changed.staged
      guard memory.add(changed.counted - holding.counted, of: client) else { return changed.counted }
      holding = changed
      return nil
    }
    guard let excess else { return }
    // As much as a client may hold while there is no other.
    guard excess <= memory.limit / 2 else {
      throw Problem(
        .payloadTooLarge, code: ProblemCode.bodyTooLarge.rawValue,
        detail: "the \(things) of this import take more memory than one import may have; nothing was imported;"
          + " send them in parts")
    }
    throw Problem(
      .serviceUnavailable, code: ProblemCode.overloaded.rawValue, title: "Overloaded",
      detail: "this client, or all clients together, hold too many \(things) of imports; nothing was imported",
      headers: ["retry-after": "10"])
  }

  /// Releases the memory.
  package func end() {
    holding.withLock { holding in
      _ = memory.add(-holding.counted, of: client)
      holding = Holding()
    }
  }
}
