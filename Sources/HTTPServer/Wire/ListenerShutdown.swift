import CTCPInfo
import NIOCore
import NIOExtras
import Synchronization

/// The shutdown of a listening socket that resets no connection whose handshake is complete.
///
/// The system resets all connections in the accept queue of a listening socket when the socket is closed. To empty the
/// queue first, a socket filter drops new SYN segments while handshakes in progress complete; then a second filter
/// drops all segments, the queue is accepted to its end, and the socket is closed. A client whose SYN was dropped
/// retransmits it and gets a connection refused. Where the system permits no socket filter, as in some sandboxes, the
/// socket is closed at once, and connections in the queue are reset.
final class ListenerShutdown: Sendable {
  private static let interval = TimeAmount.milliseconds(2)

  /// A promise that completes when the listening socket is closed, or will be with its event loop.
  let ended: EventLoopPromise<Void>

  private let channel: any Channel
  private let handshakeTimeout: TimeAmount
  private let mustEndNow = Atomic(false)

  /// Creates the shutdown of a listening socket.
  ///
  /// - Parameters:
  ///   - channel: the listening socket.
  ///   - handshakeTimeout: the time that handshakes which have begun may take to end.
  init(_ channel: any Channel, handshakeTimeout: TimeAmount) {
    self.channel = channel
    self.handshakeTimeout = handshakeTimeout
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
      self.await(.now() + self.handshakeTimeout, then: close)
    }
  }

  /// Closes the socket at once, without regard to the queue.
  func endNow() { mustEndNow.store(true, ordering: .relaxed) }

  private func await(_ time: NIODeadline, then close: @escaping @Sendable () -> Void) {
    if mustEndNow.load(ordering: .relaxed) { return close() }
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

  /// The number of connections in the queue, which the system reports as unacknowledged segments.
  private var waitingCount: Int? { channel.tcpInfo.map { Int($0.unacked) } }
}
