import CTCPInfo
import NIOCore
import NIOExtras
import Synchronization

/// The end of listening, without a reset of connections whose handshake was completed: what waits in the listening
/// socket's queue is accepted first.
///
/// The system resets what is in the queue of a socket that is closed, and connections come between the last one that
/// was accepted and the close. So a filter of the socket blocks new handshakes, then those that have begun get time to
/// end, then another filter blocks everything, and what waits is accepted to its end. To a client whose handshake was
/// blocked nothing listens at the address, as soon as it retries. Where the system permits no filter, which some
/// sandboxes do not, listening ends at once, and what waits in the queue is reset.
final class ListenerEnd: Sendable {
  private static let interval = TimeAmount.milliseconds(2)

  /// A promise that completes when the listening socket is closed, or will be with its event loop.
  let ended: EventLoopPromise<Void>

  private let channel: any Channel
  private let patience: TimeAmount
  private let isUrgent = Atomic(false)

  /// Creates the end of a listening socket.
  ///
  /// - Parameters:
  ///   - channel: the listening socket.
  ///   - patience: the time that handshakes which have begun may take to end.
  init(_ channel: any Channel, patience: TimeAmount) {
    self.channel = channel
    self.patience = patience
    ended = channel.eventLoop.makePromise()
  }

  /// Ends listening, and then drains the connections.
  func begin(_ quiescing: ServerQuiescingHelper, _ drained: EventLoopPromise<Void>) {
    let close = { @Sendable in
      quiescing.initiateShutdown(promise: drained)
      self.ended.succeed()
    }
    channel.eventLoop.execute {
      guard self.channel.isActive, self.passes(waymark_segments_of_begun_handshakes) else { return close() }
      self.await(.now() + self.patience, then: close)
    }
  }

  /// Ends listening at once, without regard to what waits.
  func hurry() { isUrgent.store(true, ordering: .relaxed) }

  private func await(_ time: NIODeadline, then close: @escaping @Sendable () -> Void) {
    if isUrgent.load(ordering: .relaxed) { return close() }
    if time <= .now() {
      guard passes(waymark_segments_none), let count = waitingCount, count > 0 else { return close() }
    }
    channel.eventLoop.scheduleTask(in: Self.interval) { self.await(time, then: close) }
  }

  /// Filters the segments that the socket receives. Returns a Boolean value that indicates whether the system permits
  /// that.
  private func passes(_ segments: waymark_segments) -> Bool {
    #if os(Linux)
      guard let socket = channel as? any SocketOptionProvider else { return false }
      var isSet = false
      socket.unsafeSetSocketOption(
        level: .socket, name: NIOBSDSocket.Option(rawValue: waymark_so_attach_filter),
        value: waymark_socket_filter(segments)
      ).assumeIsolated().whenSuccess { isSet = true }
      return isSet
    #else
      return false
    #endif
  }

  /// The number of connections that wait to be accepted.
  private var waitingCount: Int? {
    #if os(Linux)
      var info: waymark_tcp_info?
      (channel as? any SocketOptionProvider)?
        .unsafeGetSocketOption(level: .tcp, name: .tcp_info)
        .assumeIsolated().whenSuccess { info = $0 }
      // Of a listening socket this is the length of its queue.
      return info.map { Int($0.unacked) }
    #else
      return nil
    #endif
  }
}
