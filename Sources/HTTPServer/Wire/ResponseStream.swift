import NIOCore

/// The way of a streamed response from the responder's task to its sink.
struct ResponseStream<Sink: ResponseSink>: Sendable {
  let sink: NIOLoopBound<Sink>
  let eventLoop: any EventLoop

  /// Sends the whole response; returns when it has ended, whole or not.
  func send(
    _ response: HTTPResponse,
    length: Int?,
    body: @Sendable (HTTPResponseWriter) async throws -> Void
  ) async {
    guard await onEventLoop({ $0.beginStream(response, length: length) }) else { return }
    do {
      try await body(HTTPResponseWriter { bytes in try await write(bytes) })
      await onEventLoop { $0.endStream(.success(())) }
    } catch {
      await onEventLoop { $0.endStream(.failure(error)) }
    }
  }

  private func write(_ bytes: ByteBuffer) async throws {
    if eventLoop.inEventLoop, try sink.value.writeStream(bytes) { return }
    try await withCheckedThrowingContinuation { continuation in
      if eventLoop.inEventLoop {
        sink.value.wait(continuation)
      } else {
        eventLoop.execute { sink.value.writeStream(bytes, continuation) }
      }
    }
  }

  private func onEventLoop<Value: Sendable>(_ body: @escaping @Sendable (Sink) -> Value) async -> Value {
    if eventLoop.inEventLoop { return body(sink.value) }
    return await withCheckedContinuation { continuation in
      eventLoop.execute { continuation.resume(returning: body(sink.value)) }
    }
  }
}

extension ResponseSink {
  /// Resumes the writer when more is taken.
  fileprivate func wait(_ writer: CheckedContinuation<Void, any Error>) {
    if isResponding { waitingWriters.append(writer) } else { writer.resume(throwing: HTTPConnectionClosed()) }
  }

  fileprivate func writeStream(_ bytes: ByteBuffer, _ writer: CheckedContinuation<Void, any Error>) {
    do {
      if try writeStream(bytes) { writer.resume() } else { wait(writer) }
    } catch {
      writer.resume(throwing: error)
    }
  }
}
