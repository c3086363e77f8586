import Foundation

/// Listens to a notification centre for as long as it lives.
final class NotificationObservation {
  private let center: NotificationCenter
  private let token: any NSObjectProtocol

  /// Calls the handler on the thread that posts.
  init(of name: Notification.Name, in center: NotificationCenter, handler: @escaping @Sendable () -> Void) {
    self.center = center
    token = center.addObserver(forName: name, object: nil, queue: nil) { _ in handler() }
  }

  deinit {
    center.removeObserver(token)
  }
}
