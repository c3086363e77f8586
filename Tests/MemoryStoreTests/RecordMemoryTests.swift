import Basics
import Points
import Testing

@testable import MemoryStore

/// The memory of records, and its division among owners.
@Suite struct RecordMemoryTests {
  private static let notes = RecordCollection("notes")

  /// A table with 64 KiB for each collection.
  private var table: RecordTable { RecordTable(memoryLimit: 64 * 1024) }

  private static func insertion(_ number: Int, owner: ExactText) -> RecordChange {
    .insert(Record(notes, id: ExactText("\(number)"), fields: ["owner": owner], document: "1"))
  }

  private static func refusal(of change: RecordChange, owner: ExactText, in table: RecordTable) -> RecordOutcome? {
    let time = Timestamp(microsecondsSinceEpoch: 1_795_000_000_000_000)
    return table.refusal(of: [change], within: RecordLimits(of: notes, at: time, [], owner: ["owner": owner]))
  }

  /// Inserts records of an owner until one is refused, and returns their number.
  private static func fill(_ table: inout RecordTable, from first: Int, owner: ExactText) -> Int {
    for count in 0..<100 {
      let change = insertion(first + count, owner: owner)
      switch refusal(of: change, owner: owner, in: table) {
      case nil: _ = table.apply([change])
      case .noMemory?: return count
      case let other?:
        Issue.record("\(other)")
        return count
      }
    }
    return 100
  }

  @Test func ownerHasAsMuchMemoryAsIsFreeBesideItsOwn() {
    var table = table

    let first = Self.fill(&table, from: 0, owner: "a")
    let second = Self.fill(&table, from: 1_000, owner: "b")

    #expect((20...32).contains(first), "\(first)")
    #expect((first / 2 - 2...first / 2 + 2).contains(second), "\(second)")
  }

  @Test func recordTakesMemoryUntilItIsRemoved() {
    var table = table
    let count = Self.fill(&table, from: 0, owner: "a")
    _ = table.apply([.replace(Record(Self.notes, id: "0", fields: ["owner": "a"], document: "1"))])
    let another = Self.insertion(1_000, owner: "a")

    let replaced = Self.refusal(of: another, owner: "a", in: table)
    _ = table.apply([.remove(Self.notes, id: "0")])
    let removed = Self.refusal(of: another, owner: "a", in: table)

    if case .noMemory? = replaced {} else { Issue.record("\(String(describing: replaced))") }
    #expect(count > 0 && removed == nil)
  }

  @Test func memoryIsNotLimitedWithoutAnOwner() {
    var table = table
    let count = Self.fill(&table, from: 0, owner: "a")

    #expect(count > 0 && table.refusal(of: [Self.insertion(1_000, owner: "a")], within: nil) == nil)
  }
}
