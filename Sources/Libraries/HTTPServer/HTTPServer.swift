import CTCPInfo
package import FairShares
package import Logging
package import NIOCore
import NIOExtras
import NIOHTTP1
import NIOPosix
import Synchronization

/// A server of HTTP/1.1 and HTTP/2 on a listening socket, in the clear or over TLS.
package final class HTTPServer: Sendable {
  /// The address that the server listens on, with the port that the system chose where the configuration has 0.
  package let localAddress: SocketAddress

  private let group: MultiThreadedEventLoopGroup
  private let context: ServerContext
  private let lifecycle: Mutex<Lifecycle>
  private let listener: any Channel
  private let acceptQueueLength: @Sendable (any Channel) -> Int

  /// The port that the server listens on.
  package var port: Int { localAddress.port ?? 0 }

  /// The number of open connections, including those that are rejected because there are too many.
  package var openConnections: Int { context.connections.load(ordering: .relaxed) }

  /// The number of requests that the responder is working on.
  package var requestsInFlight: Int { context.requestsInFlight.load(ordering: .relaxed) }

  /// The number of live responses, and of requests that wait; see ``HTTPResponseBody/live(_:)`` and
  /// ``HTTPRequest/waiting(_:)``.
  package var requestsWaiting: Int { context.waitingCount }

  /// The number of bytes of responses that are held for clients that have not taken them yet, to a sixty-fourth of
  /// ``HTTPServerConfiguration/Limits/bufferedBytes`` for each thread.
  package var bufferedBytes: Int { context.budget.heldBytes }

  /// The load of the computations that may take long.
  package var computations: ComputationLoad { context.computations.load }

  /// Creates a server that listens and responds until it is shut down.
  ///
  /// - Parameters:
  ///   - configuration: the address, the limits and the timeouts.
  ///   - responder: the responder to all requests.
  ///   - logger: the base of the requests' loggers.
  ///   - acceptQueueLength: returns the number of connections that wait to be accepted; called on the event loop of the
  ///     listening socket.
  /// - Throws: the system's error where it can't listen there.
  package static func bind(
    configuration: HTTPServerConfiguration,
    responder: some HTTPResponder,
    logger: Logger,
    acceptQueueLength: @escaping @Sendable (any Channel) -> Int = HTTPServer.acceptQueueLength(of:)
  ) async throws -> HTTPServer {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: configuration.threads ?? System.coreCount)
    let context = ServerContext(
      configuration: configuration,
      responder: responder,
      logger: logger,
      eventLoop: group.next()
    )
    do {
      return try await HTTPServer(group: group, context: context, acceptQueueLength: acceptQueueLength)
    } catch {
      try? await context.endGrace().get()
      context.computations.shutDown()
      try? await group.shutdownGracefully()
      throw error
    }
  }

  private init(
    group: MultiThreadedEventLoopGroup,
    context: ServerContext,
    acceptQueueLength: @escaping @Sendable (any Channel) -> Int
  ) async throws {
    let quiescing = ServerQuiescingHelper(group: group)
    let channel = try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: Int32(context.configuration.backlog))
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.maxMessagesPerRead, value: Self.acceptedAtOnce)
      // Accepted sockets inherit it.
      .serverChannelOption(.tcpOption(.init(rawValue: TCP_NOTSENT_LOWAT)), value: Self.unsentBytes)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(quiescing.makeServerChannelHandler(channel: channel))
        }
      }
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(
        .recvAllocator,
        value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: Self.receivedBytes, maximum: 65_536)
      )
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in Self.configure(channel, context: context) }
      .bind(host: context.configuration.host, port: context.configuration.port)
      .get()
    guard let address = channel.localAddress else { throw ChannelError.unknownLocalAddress }
    self.group = group
    self.context = context
    self.localAddress = address
    listener = channel
    self.acceptQueueLength = acceptQueueLength
    self.lifecycle = Mutex(Lifecycle(phase: .serving(quiescing)))
  }

  /// The number of connections that are accepted in a turn of the event loop. Under load a turn serves as many requests
  /// as there are busy connections, so that with NIO's four a new one would wait for seconds.
  private static let acceptedAtOnce: UInt = 256

  /// The number of bytes that a socket takes beyond those that are on their way to the client. Without this limit the
  /// system holds up to 4 MB for each client that reads nothing, which is charged to the container's memory and which
  /// nothing counts.
  private static let unsentBytes = 64 * 1024

  /// The number of bytes that a new connection has room to receive. It is kept while the connection is open, and grows
  /// with what comes; a request of a program takes some hundred bytes.
  private static let receivedBytes = 512

  private static func configure(_ channel: any Channel, context: ServerContext) -> EventLoopFuture<Void> {
    let admission = context.admitConnection()
    channel.closeFuture.whenComplete { _ in context.connectionEnded() }
    let tls = context.configuration.tls
    // Over TLS a 503 would require a handshake, which is too expensive under this load.
    guard admission == .serve || (admission == .reject && tls == nil) else { return channel.close() }
    return channel.eventLoop.makeCompletedFuture {
      let pipeline = channel.pipeline.syncOperations
      if admission == .reject {
        return try RequestReader.addHandlers(to: pipeline, server: context, isRejected: true)
      }
      if let tls { try pipeline.addHandler(tls.makeHandler()) }
      try pipeline.addHandler(
        ProtocolDetector(server: context, eventLoop: channel.eventLoop, isSecure: tls != nil)
      )
    }
  }
}

// MARK: Shutdown

extension HTTPServer {
  fileprivate struct Lifecycle {
    enum Phase {
      /// The helper needs the event loops even for its release: it must not outlive them.
      case serving(ServerQuiescingHelper)
      /// The promise ends the drain: when the last connection has ended, or the grace period.
      case draining(ServerQuiescingHelper, EventLoopPromise<Void>)
      case closing
      case ended
    }

    var phase: Phase
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  /// Returns when the server is shut down and the last connection has ended.
  ///
  /// Cancelling the task that waits shuts the server down without grace.
  package func run() async {
    await withTaskCancellationHandler {
      await ended()
    } onCancel: {
      Task { await shutdown(gracePeriod: .zero) }
    }
  }

  /// Drains the server: new connections are refused, idle ones are closed, and current requests get their responses
  /// before their connections are closed. What is left when the grace period ends is cut. Returns when all have ended.
  ///
  /// A call during another one can only shorten the grace period.
  package func shutdown(gracePeriod: Duration = .seconds(8)) async {
    guard let drained = beginDrain(gracePeriod: gracePeriod) else { return await ended() }
    try? await drained.get()
    await endListening()
    await endEventLoops()
    let waiting = lifecycle.withLock { lifecycle in
      lifecycle.phase = .ended
      return lifecycle.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Begins the drain of the connections unless it has begun, as only then the end of the grace period cuts them. Returns
  /// when the listening socket is closed.
  private func endListening() async {
    // Where the socket is closed the drain has begun, and its event loops may end before they begin it again.
    if listener.isActive, case .draining(let quiescing, let drained) = lifecycle.withLock({ $0.phase }) {
      quiescing.initiateShutdown(promise: drained)
    }
    try? await listener.closeFuture.get()
    lifecycle.withLock { $0.phase = .closing }
  }

  /// Cuts what is left, and ends the threads once no responder can use an event loop any more. Responders that continue
  /// although they are cancelled are awaited for a moment only; then the threads end when they do.
  private func endEventLoops() async {
    let lastRequestEnded = context.endGrace()
    let isOver = group.next().makePromise(of: Bool.self)
    lastRequestEnded.whenComplete { _ in isOver.succeed(true) }
    group.next().scheduleTask(in: .seconds(1)) { isOver.succeed(false) }
    if (try? await isOver.futureResult.get()) == true {
      context.computations.shutDown()
      try? await group.shutdownGracefully()
    } else {
      lastRequestEnded.whenComplete { [context, group] _ in
        context.computations.shutDown()
        group.shutdownGracefully { _ in }
      }
    }
  }

  /// Begins to drain, or shortens the grace period of the current drain. Returns the future that the first caller
  /// awaits.
  private func beginDrain(gracePeriod: Duration) -> EventLoopFuture<Void>? {
    lifecycle.withLock { lifecycle in
      switch lifecycle.phase {
      case .serving(let quiescing):
        let promise = group.next().makePromise(of: Void.self)
        lifecycle.phase = .draining(quiescing, promise)
        end(promise, after: gracePeriod)
        listener.eventLoop.execute { self.closeListener(until: .now() + Self.maximumAcceptTime) }
        return promise.futureResult
      case .draining(_, let promise):
        end(promise, after: gracePeriod)
        return nil
      case .closing, .ended:
        return nil
      }
    }
  }

  /// The maximum time for which connections are accepted once the server is to shut down. The accept queue may never be
  /// empty: if the process has no file descriptor left, or if clients connect without pause.
  private static let maximumAcceptTime = TimeAmount.milliseconds(250)

  /// Returns the number of connections that wait to be accepted. Call it on the channel's event loop.
  package static func acceptQueueLength(of listener: any Channel) -> Int {
    // Linux reports the length of the queue as the number of unacknowledged segments.
    Int(listener.tcpInfo?.unacked ?? 0)
  }

  /// Closes the listening socket when its accept queue is empty, or at the deadline, and then drains the connections.
  ///
  /// The system resets the connections in the queue of a socket that is closed. One that is established in the
  /// microseconds between the look at the queue and the end of the socket is reset nevertheless.
  private func closeListener(until deadline: NIODeadline) {
    guard case .draining(let quiescing, let drained) = lifecycle.withLock({ $0.phase }) else { return }
    guard acceptQueueLength(listener) > 0, .now() < deadline else {
      return quiescing.initiateShutdown(promise: drained)
    }
    // The event loop accepts them before.
    listener.eventLoop.scheduleTask(in: .milliseconds(1)) { self.closeListener(until: deadline) }
  }

  private func end(_ drain: EventLoopPromise<Void>, after gracePeriod: Duration) {
    group.next().scheduleTask(in: TimeAmount(gracePeriod)) { drain.fail(ChannelError.eof) }
  }

  private func ended() async {
    await withCheckedContinuation { continuation in
      let isEnded = lifecycle.withLock { lifecycle in
        if case .ended = lifecycle.phase { return true }
        lifecycle.waiting.append(continuation)
        return false
      }
      if isEnded { continuation.resume() }
    }
  }
}
