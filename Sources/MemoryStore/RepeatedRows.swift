import Points

/// The rows of an import that were let go before its end because a later one means the same by the same id and origin:
/// how many, and of the first ones which row came instead.
struct RepeatedRows: Sendable {
  private struct Repeat: Sendable {
    let number: Int
    var later: Int
  }

  /// How many rows were let go.
  private(set) var count = 0

  // By their numbers, so many as a report has room for.
  private var first: [Repeat] = []

  /// Adds a row.
  ///
  /// - Parameter later: where the row stands that came instead.
  mutating func add(number: Int, later: Int) {
    count += 1
    if first.count == ImportReport.maximumRejections {
      guard let last = first.last, number < last.number else { return }
      first.removeLast()
    }
    let position = first.lastIndex { $0.number <= number }.map { $0 + 1 } ?? 0
    first.insert(Repeat(number: number, later: later), at: position)
  }

  /// Takes note that the rows that came instead have moved.
  mutating func relocate(_ position: (Int) -> Int) {
    for index in first.indices { first[index].later = position(first[index].later) }
  }

  /// The rows as an import's report has them.
  ///
  /// - Parameter number: the number of the row that counts, of one that came instead.
  func report(number: (Int) -> Int) -> ImportReport {
    var report = ImportReport()
    for row in first { report.reject(.superseded(row.number, by: number(row.later))) }
    report.reject(count: count - first.count)
    return report
  }
}

extension RejectedRow {
  /// A row that a later one means the same place as.
  static func superseded(_ number: Int, by later: Int) -> RejectedRow {
    RejectedRow(number: number, detail: "means the same place as row \(later), which counts instead")
  }

  /// A row that asks for a place that is not the one it came from.
  static func ambiguous(_ number: Int) -> RejectedRow {
    RejectedRow(number: number, detail: "its id belongs to one place, its source and sourceId to another")
  }
}
