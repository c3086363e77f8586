import NIOCore

/// Where the answer to a request goes: a connection of HTTP/1.1, or a stream of HTTP/2. It lives on an event loop.
protocol AnswerSink: AnyObject, SendableMetatype {
  var server: ServerContext { get }
  var eventLoop: any EventLoop { get }
  var executor: EventLoopExecutor { get }

  /// Whether an answer has begun and not ended.
  var isAnswering: Bool { get }

  /// Who waits to write more of a streamed answer.
  var waitingWriters: [CheckedContinuation<Void, any Error>] { get set }

  /// Sends the responder's answer, when it is not streamed.
  func finish(_ response: HTTPResponse)

  /// Sends the head of a streamed answer. Answers whether its body is wanted; where not, the answer is over.
  func beginStream(_ response: HTTPResponse, length: Int?) -> Bool

  /// Sends a piece of a streamed body.
  ///
  /// - Returns: whether more is taken at once; if not, ``waitingWriters`` is the place to wait.
  /// - Throws: ``HTTPConnectionClosed``; ``StreamLengthMismatch`` where the piece exceeds the length that was told.
  func writeStream(_ bytes: ByteBuffer) throws -> Bool

  /// Ends a streamed body, or cuts the answer off where it is not whole.
  func endStream(_ result: Result<Void, any Error>)
}

extension AnswerSink {
  /// Starts the responder on a request that was admitted; its answer comes by ``finish(_:)``, or by
  /// ``beginStream(_:length:)`` and what follows it.
  func startResponder(on request: HTTPRequest) -> Task<Void, Never> {
    let sink = NIOLoopBound(self, eventLoop: eventLoop)
    return Task.immediate(executorPreference: executor) { [server, eventLoop] in
      let response = await server.responder.respond(to: request)
      if case .stream(let length, let body) = response.body {
        await ResponseStream(sink: sink, eventLoop: eventLoop).send(response, length: length, body: body)
        server.requestEnded()
      } else if eventLoop.inEventLoop {
        server.requestEnded()
        sink.value.finish(response)
      } else {
        eventLoop.execute {
          server.requestEnded()
          sink.value.finish(response)
        }
      }
    }
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

/// A streamed body was not as long as its answer said.
struct StreamLengthMismatch: Error {}
