import NIOCore

/// The destination of a response: a connection of HTTP/1.1, or a stream of HTTP/2. It lives on an event loop.
protocol ResponseSink: AnyObject, SendableMetatype {
  var server: ServerContext { get }
  var eventLoop: any EventLoop { get }
  var executor: EventLoopExecutor { get }

  /// A Boolean value that indicates whether a response has begun and not ended.
  var isAnswering: Bool { get }

  /// The writers that wait to write more of a streamed response.
  var waitingWriters: [CheckedContinuation<Void, any Error>] { get set }

  /// Sends a response that is not streamed.
  func finish(_ response: HTTPResponse)

  /// Sends the head of a streamed response.
  ///
  /// - Returns: a Boolean value that indicates whether a body follows; if not, the response has ended.
  func beginStream(_ response: HTTPResponse, length: Int?) -> Bool

  /// Sends a piece of a streamed body.
  ///
  /// - Returns: a Boolean value that indicates whether more is taken at once; if not, a writer waits in
  ///   ``waitingWriters``.
  /// - Throws: ``HTTPConnectionClosed``; ``StreamLengthMismatch`` where the piece exceeds the announced length.
  func writeStream(_ bytes: ByteBuffer) throws -> Bool

  /// Ends a streamed body, or cuts the response off where it is incomplete.
  func endStream(_ result: Result<Void, any Error>)
}

extension ResponseSink {
  /// Starts the responder on a request that was admitted. Its response comes by ``finish(_:)``, or by
  /// ``beginStream(_:length:)`` and what follows it.
  func startResponder(on request: HTTPRequest) -> Task<Void, Never> {
    let sink = NIOLoopBound(self, eventLoop: eventLoop)
    return Task.immediate(executorPreference: executor) { [server, eventLoop] in
      let response = await server.responder.respond(to: request)
      if case .stream(let length, let body) = response.body {
        await ResponseStream(sink: sink, eventLoop: eventLoop).send(response, length: length, body: body)
        server.requestEnded()
      } else {
        Self.finish(response, to: sink, on: eventLoop)
      }
    }
  }

  /// Ends the request with a response that is complete, at once where this is the event loop.
  private static func finish(_ response: HTTPResponse, to sink: NIOLoopBound<Self>, on eventLoop: any EventLoop) {
    guard eventLoop.inEventLoop else { return eventLoop.execute { finish(response, to: sink, on: eventLoop) } }
    sink.value.server.requestEnded()
    sink.value.finish(response)
  }

  func finish(problem: Problem) {
    finish(HTTPResponse(problem, typePrefix: server.configuration.problemTypePrefix))
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

/// An executor of tasks on a connection's event loop: a task that resumes there after a wait, for a database say,
/// writes to the socket with no other thread in between.
final class EventLoopExecutor: TaskExecutor {
  private let eventLoop: any EventLoop

  /// Creates an executor.
  init(_ eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
