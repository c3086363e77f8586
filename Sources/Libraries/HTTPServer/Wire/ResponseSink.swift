import NIOCore

/// The destination of a response: a connection of HTTP/1.1, or a stream of HTTP/2. It lives on an event loop.
protocol ResponseSink: DeadlineKeeper, SendableMetatype {
  var executor: EventLoopExecutor { get }
  var exchange: Exchange? { get set }
  var owesResponse: Bool { get }
  var isResponding: Bool { get }

  /// The writers that wait to write more of a streamed response.
  var waitingWriters: [CheckedContinuation<Void, any Error>] { get set }

  func finish(_ response: HTTPResponse)

  /// Sends the head of a streamed response.
  ///
  /// - Returns: a Boolean value that indicates whether a body follows; if not, the response has ended.
  func beginStream(_ response: HTTPResponse, length: Int?) -> Bool

  /// Sends a chunk of a streamed body.
  ///
  /// - Returns: a Boolean value that indicates whether more is taken at once; if not, a writer waits in
  ///   ``waitingWriters``.
  /// - Throws: ``HTTPConnectionClosed``; ``StreamLengthMismatch`` where the chunk exceeds the announced length.
  func writeStream(_ bytes: ByteBuffer) throws -> Bool

  func completeStream()

  /// Ends the response so that the client can tell that it is incomplete.
  func cut()

  /// Handles the end of a streamed response's body, or of one that was not begun.
  func responderEnded()
}

extension ResponseSink {
  func responderEnded() {}

  /// Admits the current request, or responds 503 where too many are in progress.
  func admitsRequest() -> Bool {
    if server.admitRequest() { return true }
    finish(problem: server.overloaded("too many requests are being answered"))
    return false
  }

  /// Starts the responder on a request that was admitted. Its response comes by ``finish(_:)``, or by
  /// ``beginStream(_:length:)`` and what follows it.
  ///
  /// - Returns: a Boolean value that indicates whether the response has not ended yet.
  func startResponder(on request: HTTPRequest) -> Bool {
    var request = request
    let respondsAtOnce = executor.measuring {
      guard let response = server.responder.respondAtOnce(to: &request) else { return false }
      precondition(!response.body.isStreamed, "a stream is not there at once")
      server.requestEnded()
      finish(response)
      return true
    }
    if respondsAtOnce { return owesResponse || isResponding }
    let sink = NIOLoopBound(self, eventLoop: eventLoop)
    let task = executor.measuring {
      Task.immediate(executorPreference: executor) { [server, eventLoop, request] in
        let response = await server.responder.respond(to: request)
        switch response.body {
        case .stream(let length, let body):
          await ResponseStream(sink: sink, eventLoop: eventLoop).send(response, length: length, body: body)
          server.requestEnded()
        case .live(let body):
          server.liveResponseBegan()
          Self.sendLive(response, body, to: sink, on: eventLoop)
        case .empty, .bytes:
          Self.finish(response, to: sink, on: eventLoop)
        }
      }
    }
    if isOver { task.cancel() }
    guard owesResponse || isResponding else { return false }
    if exchange?.task == nil { exchange?.task = task }
    return true
  }

  /// Sends a response without an end by a task of its own: the responder's has the memory of all its frames as long as
  /// it lives.
  private static func sendLive(
    _ response: HTTPResponse, _ body: @escaping @Sendable (HTTPResponseWriter) async throws -> Void,
    to sink: NIOLoopBound<Self>, on eventLoop: any EventLoop
  ) {
    guard eventLoop.inEventLoop else { return eventLoop.execute { sendLive(response, body, to: sink, on: eventLoop) } }
    let (handler, server) = (sink.value, sink.value.server)
    handler.exchange?.isLive = true
    guard handler.beginStream(response, length: nil) else { return server.liveResponseEnded() }
    let task = Task.immediate(executorPreference: handler.executor) {
      await ResponseStream(sink: sink, eventLoop: eventLoop).sendBody(body)
      server.liveResponseEnded()
    }
    if handler.isOver { task.cancel() }
    handler.exchange?.task = task
  }

  /// Ends the request with a response that is complete, at once where this is the event loop.
  private static func finish(_ response: HTTPResponse, to sink: NIOLoopBound<Self>, on eventLoop: any EventLoop) {
    guard eventLoop.inEventLoop else { return eventLoop.execute { finish(response, to: sink, on: eventLoop) } }
    sink.value.server.requestEnded()
    sink.value.finish(response)
  }

  func finish(problem: Problem) { finish(server.response(to: problem)) }

  func endStream(_ result: Result<Void, any Error>) {
    defer { responderEnded() }
    guard isResponding, let exchange else { return }
    do {
      try exchange.checkStreamEnd(result)
      completeStream()
    } catch {
      exchange.logBreak(error, to: server.logger)
      cut()
    }
  }

  /// Ends the current request, if there is one, before its response has ended, and returns its responder.
  @discardableResult
  func endExchange(_ error: HTTPBodyError) -> Task<Void, Never>? {
    defer { exchange = nil }
    exchange?.failBody(error)
    exchange?.end(isWhole: false, to: server.responder)
    return exchange?.task
  }

  func resumeWriters() {
    let writers = waitingWriters
    waitingWriters.removeAll()
    for writer in writers { writer.resume() }
  }

  func failWriters() {
    let writers = waitingWriters
    waitingWriters.removeAll()
    for writer in writers { writer.resume(throwing: HTTPConnectionClosed()) }
  }
}
