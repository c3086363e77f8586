import Testing

@testable import PostgresStore

@Suite struct BulkQueueTests {
  typealias CallerID = BulkQueue.CallerID

  @Test func eachKindIsAdmittedUpToItsLimit() {
    var queue = BulkQueue(limits: .init(exports: 2, imports: 1, total: 4, waiters: 8))

    let exports = (1...3).map { queue.arrived(CallerID(number: $0), .export) }
    let imports = (4...5).map { queue.arrived(CallerID(number: $0), .import) }

    #expect(exports == [.admitted, .admitted, .waits])
    #expect(imports == [.admitted, .waits])
    #expect((queue.connections(of: .export), queue.waiters(of: .export)) == (2, 1))
  }

  @Test func bothKindsTogetherHaveALimit() {
    var queue = BulkQueue(limits: .init(exports: 1, imports: 1, total: 1, waiters: 8))

    #expect(queue.arrived(CallerID(number: 1), .export) == .admitted)
    #expect(queue.arrived(CallerID(number: 2), .import) == .waits)
    #expect(queue.arrived(CallerID(number: 3), .export) == .waits)
    #expect(queue.released(.export) == [CallerID(number: 2)])
    #expect(queue.released(.import) == [CallerID(number: 3)])
    #expect(queue.released(.export) == [])
  }

  @Test func longestWaitingEligibleCallerIsNext() {
    var queue = BulkQueue(limits: .init(exports: 1, imports: 1, total: 2, waiters: 8))
    _ = queue.arrived(CallerID(number: 1), .export)
    _ = queue.arrived(CallerID(number: 2), .import)
    for (number, kind) in [(3, BulkQueue.Kind.import), (4, .export), (5, .export)] {
      _ = queue.arrived(CallerID(number: number), kind)
    }

    #expect(queue.released(.export) == [CallerID(number: 4)])
    #expect(queue.released(.import) == [CallerID(number: 3)])
  }

  @Test func fullQueueRejectsCallers() {
    var queue = BulkQueue(limits: .init(exports: 1, imports: 1, total: 2, waiters: 2))

    let exports = (1...4).map { queue.arrived(CallerID(number: $0), .export) }

    #expect(exports == [.admitted, .waits, .waits, .rejected])
    #expect(queue.arrived(CallerID(number: 5), .import) == .admitted)
  }

  @Test func callerThatLeavesIsNotAdmittedAndFreesASlot() {
    var queue = BulkQueue(limits: .init(exports: 1, imports: 1, total: 2, waiters: 1))
    _ = queue.arrived(CallerID(number: 1), .export)
    _ = queue.arrived(CallerID(number: 2), .export)

    let wasWaiting = queue.left(CallerID(number: 2))
    let isStillWaiting = queue.left(CallerID(number: 2))

    #expect(wasWaiting)
    #expect(!isStillWaiting)
    #expect(queue.arrived(CallerID(number: 3), .export) == .waits)
    #expect(queue.released(.export) == [CallerID(number: 3)])
  }
}
