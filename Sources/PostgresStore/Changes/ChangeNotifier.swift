import PostgresClient
import Synchronization

/// Sends notifications of changes after they were committed, one for all changes of a short time.
///
/// A notification in the transaction of a write would make the commits of all writers wait for each other (PostgreSQL's
/// documentation, "NOTIFY").
final class ChangeNotifier: Sendable {
  private enum State {
    case idle
    case sending
    /// There was a change since the notification that is being sent.
    case mustSendAgain
  }

  /// The time between two notifications.
  private static let interval = Duration.milliseconds(2)

  private let state = Mutex(State.idle)

  /// Notes a change that was committed, and returns at once.
  ///
  /// - Parameter send: sends a notification; a failure is ignored, because readers also poll.
  func changed(_ send: @escaping @Sendable () async -> Void) {
    let isFirst = state.withLock { state in
      let isFirst = state == .idle
      state = isFirst ? .sending : .mustSendAgain
      return isFirst
    }
    guard isFirst else { return }
    Task {
      repeat {
        await send()
        try? await Task.sleep(for: Self.interval)
      } while mustSendAgain()
    }
  }

  /// A Boolean value that indicates whether all changes so far were notified.
  var isIdle: Bool { state.withLock { $0 == .idle } }

  private func mustSendAgain() -> Bool {
    state.withLock { state in
      let isNeeded = state == .mustSendAgain
      state = isNeeded ? .sending : .idle
      return isNeeded
    }
  }
}

extension PostgresStore {
  /// Wakes up the readers of the change log, some time after the call.
  func notifyOfChanges() {
    changeNotifier.changed { [pool] in
      _ = try? await pool.query(ChangeStatements.notify, Parameters(), isRead: true)
    }
  }
}
