import Basics
package import Logging
import Synchronization

/// The rows of a store that can't be decoded. Each is left out of what is read, so that the others are of use, and has
/// one line in the log.
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
    let name = id.map { "\($0)" } ?? "unknown"
    let isNew = noted.withLock { noted in
      noted.count < Self.maximumCount && noted.insert(ExactText("\(table) \(name)")).inserted
    }
    guard isNew else { return }
    logger.error(
      "a row can't be decoded and is left out", metadata: ["table": "\(table)", "id": "\(name)", "reason": "\(reason)"])
  }
}
