package import Basics
package import Logging
import Synchronization

/// The rows of a store that can't be decoded. Reads skip them, so that the other rows stay usable, and each is logged
/// once. The row of an idempotency key is not skipped: it proves that its request was done.
package final class DamagedRows: Sendable {
  /// The maximum number of rows that have a line.
  private static let maximumCount = 1000

  private let logger: Logger
  private let noted = Mutex<Set<ExactText>>([])

  package init(logger: Logger) { self.logger = logger }

  /// Logs a row, unless that was done before.
  ///
  /// - Parameter id: the id of the row; `nil` if it can't be decoded either.
  package func note(_ id: PointID?, in table: String, reason: String) {
    note("a row can't be decoded and is left out", id.map { "\($0)" } ?? "unknown", in: table, reason: reason)
  }

  /// Logs a record, unless that was done before.
  package func note(record id: ExactText, in collection: RecordCollection, reason: String) {
    note(
      "a row can't be decoded and is left out", id.text, in: "records, collection \(collection.name)",
      reason: reason)
  }

  /// Logs the row of an idempotency key, unless that was done before. Requests with the key are rejected.
  package func note(key: String, in table: String, reason: String) {
    note("the outcome of an idempotency key can't be decoded, and repeats get 422", key, in: table, reason: reason)
  }

  private func note(_ event: Logger.Message, _ name: String, in table: String, reason: String) {
    let isNew = noted.withLock { noted in
      noted.count < Self.maximumCount && noted.insert(ExactText("\(table) \(name)")).inserted
    }
    guard isNew else { return }
    logger.error(event, metadata: ["table": "\(table)", "id": "\(name)", "reason": "\(reason)"])
  }
}
