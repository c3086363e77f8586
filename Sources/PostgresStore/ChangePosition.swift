import Basics

/// A snapshot of PostgreSQL: the transactions whose effects it sees.
///
/// It sees the committed transactions below `end`, except those in progress (PostgreSQL's documentation, "Transaction
/// ID and Snapshot Information Functions").
struct TransactionSnapshot: Hashable, Sendable {
  /// The number below which all transactions had ended (`xmin`).
  let start: UInt64

  /// The number that no transaction had reached (`xmax`).
  let end: UInt64

  /// The transactions from `start` to `end` that were in progress, ascending (`xip_list`).
  let inProgress: [UInt64]

  /// Creates a snapshot from PostgreSQL's text, such as `10:20:10,14,15`; `nil` for any other text.
  init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, let start = UInt64(parts[0]), let end = UInt64(parts[1]) else { return nil }
    let numbers = parts[2].split(separator: ",").map { UInt64($0) }
    let inProgress = numbers.compactMap(\.self)
    guard inProgress.count == numbers.count else { return nil }
    self.init(start: start, end: end, inProgress: inProgress)
  }

  /// Creates a snapshot; `nil` where the numbers are not in order.
  init?(start: UInt64, end: UInt64, inProgress: [UInt64]) {
    guard start <= end, inProgress.allSatisfy({ start <= $0 && $0 < end }), inProgress == inProgress.sorted() else {
      return nil
    }
    (self.start, self.end, self.inProgress) = (start, end, inProgress)
  }

  /// PostgreSQL's text of the snapshot.
  var text: String { "\(start):\(end):\(inProgress.map(String.init).joined(separator: ","))" }

  /// Returns a Boolean value that indicates whether the snapshot sees a transaction that was committed. O(log n) for n
  /// transactions in progress.
  func contains(_ transaction: UInt64) -> Bool {
    if transaction < start { return true }
    if transaction >= end { return false }
    let position = inProgress.partitioningIndex { $0 >= transaction }
    return position == inProgress.endIndex || inProgress[position] != transaction
  }
}

extension Array {
  /// Returns the first index whose element satisfies a predicate that all later elements satisfy too; `endIndex` where
  /// none does. O(log n).
  fileprivate func partitioningIndex(where predicate: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if predicate(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

/// A position in the history of a database's places: everything that one snapshot of one server sees.
package struct ChangePosition: Hashable, Sendable {
  /// A hash of what identifies the server, the start or recovery that it runs since, the database and the table.
  /// Snapshots of different lives are not comparable.
  let life: UInt64

  let snapshot: TransactionSnapshot

  /// Creates a position from the text of ``ChangeStatements/life``.
  init(life: String, snapshot: TransactionSnapshot) {
    var hash = FNV1a()
    hash.combine(bytes: life.utf8)
    self.life = hash.value
    self.snapshot = snapshot
  }

  /// A text of letters, digits and dots that is the same for equal positions, and differs for others.
  package var text: String {
    ([life, snapshot.start, snapshot.end] + snapshot.inProgress).map { String($0, radix: 36) }.joined(separator: ".")
  }

  /// Creates a position from its ``text``; `nil` for any other text.
  package init?(text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { UInt64($0, radix: 36) }
    guard numbers.count == parts.count, numbers.count >= 3,
      let snapshot = TransactionSnapshot(start: numbers[1], end: numbers[2], inProgress: Array(numbers[3...]))
    else { return nil }
    (life, self.snapshot) = (numbers[0], snapshot)
    // Of several spellings of a number only one is ours.
    guard self.text.hasSameBytes(as: text) else { return nil }
  }

  /// Returns a Boolean value that indicates whether everything that another position has is certainly in this one.
  package func contains(_ other: ChangePosition) -> Bool {
    life == other.life && snapshot.end >= other.snapshot.end
      && snapshot.inProgress.allSatisfy { $0 >= other.snapshot.end || !other.snapshot.contains($0) }
  }
}
