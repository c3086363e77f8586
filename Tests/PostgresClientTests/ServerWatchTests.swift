import Testing

@testable import PostgresClient

@Suite struct ServerWatchTests {
  private let watch = ServerWatch()
  private let primary = ServerIdentity(life: "1", isPrimary: true)
  private let other = ServerIdentity(life: "2", isPrimary: true)
  private let replica = ServerIdentity(life: "3", isPrimary: false)

  private func connection(_ number: Int) -> PoolStateMachine.ConnectionID { .init(number: number) }

  @Test func onePrimaryHasOneEpochForAllConnections() {
    let before = watch.primary?.epoch
    watch.connected(connection(1), to: primary)
    let first = watch.primary?.epoch
    watch.connected(connection(2), to: primary)
    watch.closed(connection(1))
    watch.closed(connection(2))
    watch.connected(connection(3), to: primary)

    #expect(before == nil)
    #expect(first != nil)
    #expect(watch.primary?.epoch == first)
  }

  @Test func severalServersAreNotOnePrimary() {
    watch.connected(connection(1), to: primary)
    watch.connected(connection(2), to: replica)
    let mixed = watch.primary?.epoch
    watch.closed(connection(1))

    #expect(mixed == nil)
    #expect(watch.primary?.epoch == nil)
  }

  @Test func connectionToAnotherServerStartsANewEpoch() {
    watch.connected(connection(1), to: primary)
    let before = watch.primary?.epoch
    watch.connected(connection(2), to: other)
    watch.closed(connection(2))
    let after = watch.primary?.epoch
    watch.connected(connection(3), to: primary)

    #expect(before != nil)
    #expect(after == nil)
    #expect(watch.primary?.epoch != nil)
    #expect(watch.primary?.epoch != before)
  }
}
