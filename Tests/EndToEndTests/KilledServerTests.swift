import Foundation
import Synchronization
import Testing

@Suite struct KilledServerTests {
  private static let clients = 6

  @Test func aKilledServerLosesNoWriteThatItAcknowledged() async throws {
    let store = try await EmptyStore(.memory)
    let ledger = Ledger()

    for round in 1...3 {
      let server = try await store.serve()
      let driver = ServerDriver(port: try await server.port())
      try await ledger.checkAll(driver)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<Self.clients {
          group.addTask { await Self.write(as: client, in: round, driver, ledger) }
        }
        while ledger.acknowledged < round * 120 { try await Task.sleep(for: .milliseconds(1)) }
        server.send(SIGKILL)
        try await group.waitForAll()
      }
      _ = try await server.outcome()
    }

    let server = try await store.serve()
    try await ledger.checkAll(ServerDriver(port: try await server.port()))
    #expect(ledger.acknowledged >= 360)
  }

  /// Creates, replaces and deletes places until the server no longer responds.
  private static func write(as client: Int, in round: Int, _ driver: ServerDriver, _ ledger: Ledger) async {
    for number in 0... {
      let id = String(format: "0199a1b2-%04x-7%03x-8000-%012x", round, client, number)
      for step in 1...3 {
        let isRemoval = step == 3
        if isRemoval, !number.isMultiple(of: 3) { break }
        let next = isRemoval ? nil : "revision \(step)"
        ledger.begin(id, next)
        let body = next.map { Data(#"{"name":"\#($0)","lat":1,"long":\#(step)}"#.utf8) }
        guard
          let response = try? await driver.send(
            isRemoval ? "DELETE" : "PUT", "/locations/\(id)", headers: ["Content-Type": "application/json"], body: body)
        else { return }
        #expect(response.status == [201, 200, 204][step - 1])
        ledger.acknowledge(id)
      }
    }
  }
}

/// The acknowledged writes of the clients, and those whose outcome is unknown.
private final class Ledger: Sendable {
  private struct Entry {
    /// The acknowledged name of the place; `nil` where there is none.
    var name: String?
    var pending: String??
  }

  private let state = Mutex((entries: [String: Entry](), acknowledged: 0))

  /// The number of acknowledged writes.
  var acknowledged: Int { state.withLock { $0.acknowledged } }

  func begin(_ id: String, _ name: String?) {
    state.withLock { $0.entries[id, default: Entry()].pending = .some(name) }
  }

  func acknowledge(_ id: String) {
    state.withLock { state in
      guard var entry = state.entries[id], let name = entry.pending else { return }
      entry.name = name
      entry.pending = nil
      state.entries[id] = entry
      state.acknowledged += 1
    }
  }

  /// Checks that each place has its acknowledged state, or that of the last write without a response.
  func checkAll(_ driver: ServerDriver) async throws {
    let places = try await driver.get("/locations/export?f=json").places
    let names = Dictionary(uniqueKeysWithValues: places.map { ($0.id, $0.name) })
    state.withLock { state in
      for (id, entry) in state.entries {
        let found = names[id]
        #expect(found == entry.name || entry.pending == .some(found), "\(id)")
        state.entries[id] = Entry(name: found, pending: nil)
      }
      #expect(names.keys.allSatisfy { state.entries[$0] != nil })
    }
  }
}
