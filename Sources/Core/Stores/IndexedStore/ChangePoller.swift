package import PointIndex
import Points
package import PostgresStore
import Synchronization

/// Has a hub publish the changes of a database while no index does: because there is none, or it is being built.
///
/// It reads the log while there are subscriptions. What a place was before is not known then.
package struct ChangePoller: Sendable {
  /// The time after which the log is read without a notification.
  private static let interval = Duration.seconds(1)

  /// The maximum number of changes of a step.
  private static let limit = 1_000

  /// The interval in which a connection that waits for notifications is closed if there are no subscriptions.
  private static let closingInterval = Duration.seconds(10)

  private let feed: ChangeFeed
  private let hub: ChangeHub
  private let follower: IndexFollower?

  /// Creates a poller.
  ///
  /// - Parameter follower: the follower of the index, which publishes the changes itself while it follows the database,
  ///   and whose notifications are used; `nil` if there is no index. Then there is a connection for notifications while
  ///   there are subscriptions.
  package init(_ feed: ChangeFeed, _ hub: ChangeHub, beside follower: IndexFollower? = nil) {
    self.feed = feed
    self.hub = hub
    self.follower = follower
  }

  /// A Boolean value that indicates whether no index publishes the changes.
  private var isNeeded: Bool { follower?.status.phase != .following }

  /// Publishes changes until the task is cancelled.
  package func run() async {
    let (notifications, onNotification) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    await withTaskGroup { group in
      group.addTask { await listen { onNotification.yield() } }
      group.addTask {
        while !Task.isCancelled {
          try? await Task.sleep(for: Self.interval)
          onNotification.yield()
        }
        onNotification.finish()
      }
      group.addTask {
        var position: String?
        for await _ in notifications { await publish(from: &position) }
      }
    }
  }

  private func listen(_ onChange: @escaping @Sendable () -> Void) async {
    if let follower {
      for await _ in follower.notifications { onChange() }
      return
    }
    while !Task.isCancelled {
      // Through a pooler no notification arrives.
      if hub.hasSubscriptions, await listenWhileSubscribed(onChange) == false { return }
      try? await Task.sleep(for: Self.interval)
    }
  }

  /// Waits for notifications until the connection ends or there are no subscriptions.
  ///
  /// - Returns: `false` if no notifications can be received.
  private func listenWhileSubscribed(_ onChange: @escaping @Sendable () -> Void) async -> Bool {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask { (try? await feed.listen(onChange)) ?? true }
      group.addTask {
        while !Task.isCancelled, hub.hasSubscriptions { try? await Task.sleep(for: Self.closingInterval) }
        return true
      }
      defer { group.cancelAll() }
      return await group.next() ?? true
    }
  }

  /// Publishes the changes after a position, and sets it to that after them.
  ///
  /// - Parameter position: `nil` if subscribers must read the log first.
  private func publish(from position: inout String?) async {
    guard isNeeded, hub.hasSubscriptions else {
      position = nil
      return
    }
    do {
      guard let start = position else {
        position = try await feed.presentPosition()
        hub.interrupt()
        return
      }
      let page = try await feed.page(after: start, limit: Self.limit)
      position = page.position
      if page.hasMore {
        position = nil
        hub.interrupt()
      } else if !page.changes.isEmpty {
        hub.publish(.init(of: page))
      }
    } catch {
      // Subscribers read the log when it can be read again.
      position = nil
    }
  }
}
