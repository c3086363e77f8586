import NIOCore
import Synchronization

/// The body of a request on its way from a connection's event loop to the task that reads it.
///
/// The connection appends pieces and one reader takes them. The number of bytes in between is bounded: past
/// ``highWaterMark`` the connection stops reading the socket, and it resumes when the reader has taken all.
final class RequestBodyStream: Sendable {
  /// The number of unread bytes at which the connection stops reading the socket.
  static let highWaterMark = 64 * 1024

  /// A function that demands more of the connection. It is called on the reader's thread.
  typealias Demand = @Sendable () -> Void

  fileprivate struct State {
    var pieces = CircularBuffer<ByteBuffer>()
    var bufferedBytes = 0
    var end: Result<Void, HTTPBodyError>?
    var waiting: CheckedContinuation<Result<ByteBuffer?, HTTPBodyError>, Never>?
    /// A Boolean value that indicates whether the reader's next demand is passed to the connection.
    var wantsDemand = true
  }

  private let state = Mutex(State())
  private let demand: Demand

  init(demand: @escaping Demand) {
    self.demand = demand
  }

  // MARK: The connection's side

  /// Appends a piece.
  ///
  /// - Returns: a Boolean value that indicates whether more may follow now; after `false` the demand is called when it
  ///   may.
  func append(_ piece: ByteBuffer) -> Bool {
    let (reader, goesOn) = state.withLock {
      state -> (CheckedContinuation<Result<ByteBuffer?, HTTPBodyError>, Never>?, Bool) in
      guard state.end == nil, piece.readableBytes > 0 else { return (nil, true) }
      if let reader = state.waiting {
        state.waiting = nil
        return (reader, true)
      }
      state.pieces.append(piece)
      state.bufferedBytes += piece.readableBytes
      let goesOn = state.bufferedBytes < Self.highWaterMark
      if !goesOn { state.wantsDemand = true }
      return (nil, goesOn)
    }
    reader?.resume(returning: .success(piece))
    return goesOn
  }

  /// Ends the body; the pieces before the end can still be read, unless it ends with an error.
  func finish(_ result: Result<Void, HTTPBodyError> = .success(())) {
    let reader = state.withLock { state -> CheckedContinuation<Result<ByteBuffer?, HTTPBodyError>, Never>? in
      guard state.end == nil else { return nil }
      state.end = result
      if case .failure = result {
        state.pieces.removeAll()
        state.bufferedBytes = 0
      }
      defer { state.waiting = nil }
      return state.waiting
    }
    reader?.resume(returning: result.map { nil })
  }

  // MARK: The reader's side

  func next() async throws(HTTPBodyError) -> ByteBuffer? {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (ready, asks) = state.withLock { state in state.take(orWait: continuation) }
        if let ready { continuation.resume(returning: ready) }
        if asks { demand() }
      }
    } onCancel: {
      finish(.failure(.cancelled))
    }
    return try result.get()
  }
}

extension RequestBodyStream.State {
  fileprivate mutating func take(
    orWait continuation: CheckedContinuation<Result<ByteBuffer?, HTTPBodyError>, Never>
  ) -> (ready: Result<ByteBuffer?, HTTPBodyError>?, asks: Bool) {
    if let piece = pieces.popFirst() {
      bufferedBytes -= piece.readableBytes
      let asks = wantsDemand && pieces.isEmpty && end == nil
      if asks { wantsDemand = false }
      return (.success(piece), asks)
    }
    if let end { return (end.map { nil }, false) }
    precondition(waiting == nil, "a request's body has one reader")
    waiting = continuation
    defer { wantsDemand = false }
    return (nil, wantsDemand)
  }
}
