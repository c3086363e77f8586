import FairShares
import NIOCore
import Synchronization

/// The body of a request on its way from a connection's event loop to the task that reads it.
///
/// The connection appends chunks and one reader takes them. The number of bytes in between is bounded: past
/// ``highWaterMark`` the connection stops reading the socket, and it resumes when the reader has taken all.
final class RequestBodyStream: Sendable {
  /// The number of unread bytes at which the connection stops reading the socket.
  static let highWaterMark = 64 * 1024

  /// A function that demands more of the connection. It is called on the reader's thread.
  typealias Demand = @Sendable () -> Void

  fileprivate typealias Reader = CheckedContinuation<Result<ByteBuffer?, HTTPBodyError>, Never>

  fileprivate struct State {
    var chunks = CircularBuffer<ByteBuffer>()
    var bufferedBytes = 0
    var end: Result<Void, HTTPBodyError>?
    var waiting: Reader?
    /// The memory of what the reader has taken, kept as long as the body.
    var share: BodyShare<RequestSender>?
    /// A Boolean value that indicates whether the reader's next demand is passed to the connection.
    var wantsDemand = true
  }

  private let state = Mutex(State())
  private let demand: Demand

  init(demand: @escaping Demand) {
    self.demand = demand
  }

  // MARK: The connection's side

  /// Appends a chunk.
  ///
  /// - Returns: a Boolean value that indicates whether more may follow now; after `false` the demand is called when it
  ///   may.
  func append(_ chunk: ByteBuffer) -> Bool {
    let (reader, hasRoom) = state.withLock { state -> (Reader?, Bool) in
      guard state.end == nil, chunk.readableBytes > 0 else { return (nil, true) }
      if let reader = state.waiting {
        state.waiting = nil
        return (reader, true)
      }
      state.chunks.append(chunk)
      state.bufferedBytes += chunk.readableBytes
      let hasRoom = state.bufferedBytes < Self.highWaterMark
      if !hasRoom { state.wantsDemand = true }
      return (nil, hasRoom)
    }
    reader?.resume(returning: .success(chunk))
    return hasRoom
  }

  /// Ends the body; the chunks before the end can still be read, unless it ends with an error.
  func finish(_ result: Result<Void, HTTPBodyError> = .success(())) {
    let reader = state.withLock { state -> Reader? in
      guard state.end == nil else { return nil }
      state.end = result
      if case .failure = result {
        state.chunks.removeAll()
        state.bufferedBytes = 0
      }
      defer { state.waiting = nil }
      return state.waiting
    }
    reader?.resume(returning: result.map { nil })
  }

  // MARK: The reader's side

  /// Takes the rest of the body, if it has arrived to its end and is short; else returns `nil`.
  func takeShort() -> ByteBuffer? {
    state.withLock { state in
      guard case .success? = state.end, state.bufferedBytes <= BodyBudget<RequestSender>.leastBytes else { return nil }
      var whole = state.chunks.popFirst() ?? ByteBuffer()
      while let chunk = state.chunks.popFirst() { whole.writeImmutableBuffer(chunk) }
      state.bufferedBytes = 0
      return whole
    }
  }

  /// Keeps the memory of what is read until the request has ended.
  func keep(_ share: BodyShare<RequestSender>) { state.withLock { $0.share = share } }

  func next() async throws(HTTPBodyError) -> ByteBuffer? {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (ready, isWanted) = state.withLock { state in state.take(orWait: continuation) }
        if let ready { continuation.resume(returning: ready) }
        if isWanted { demand() }
      }
    } onCancel: {
      finish(.failure(.cancelled))
    }
    return try result.get()
  }
}

extension RequestBodyStream.State {
  fileprivate mutating func take(
    orWait continuation: RequestBodyStream.Reader
  ) -> (ready: Result<ByteBuffer?, HTTPBodyError>?, isWanted: Bool) {
    if let chunk = chunks.popFirst() {
      bufferedBytes -= chunk.readableBytes
      let isWanted = wantsDemand && chunks.isEmpty && end == nil
      if isWanted { wantsDemand = false }
      return (.success(chunk), isWanted)
    }
    if let end { return (end.map { nil }, false) }
    precondition(waiting == nil, "a request's body has one reader")
    waiting = continuation
    defer { wantsDemand = false }
    return (nil, wantsDemand)
  }
}
