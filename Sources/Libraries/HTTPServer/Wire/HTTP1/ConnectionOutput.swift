import NIOCore
import NIOHTTP1

/// The output of a connection of HTTP/1.1: encodes responses, gathers short writes, and counts the bytes that the
/// client has not taken.
///
/// It lives on the connection's event loop. It is a class because a flush may call back into the connection's handler,
/// and by way of that into this.
final class ConnectionOutput {
  private let server: ServerContext
  private let ledger: OutputLedger
  private let memory = OutputMemory.current
  private let date = DateField.current

  private var context: ChannelHandlerContext?
  private var buffer = ByteBuffer()
  private var needsFlush = false
  private var writtenBytes = 0
  private var pending = PendingOutput()
  private(set) var silence: SilenceAllowance

  /// Creates the output of a connection.
  ///
  /// - Parameter start: the time at which the connection was opened.
  init(server: ServerContext, eventLoop: any EventLoop, start: NIODeadline) {
    self.server = server
    ledger = server.budget.ledger(of: eventLoop)
    silence = SilenceAllowance(server.configuration.timeouts, at: start)
  }

  func open(_ context: ChannelHandlerContext, holder: any OutputHolder) {
    self.context = context
    ledger.insert(holder)
  }

  /// Ends the accounting of the connection's memory.
  func close(holder: any OutputHolder) {
    ledger.remove(holder)
    ledger.add(pending.release(), of: holder)
  }

  func removeContext() { context = nil }

  // MARK: Writing

  /// Appends the head of a response up to the `Connection` field, which is appended after it.
  ///
  /// - Returns: the fields that were found; if they are not valid, nothing is appended.
  func appendHead(
    of response: HTTPResponse, id: String, framing: ResponseEncoder.Framing, keepsLength: Bool
  ) -> SentFields {
    if buffer.capacity == 0 { buffer = memory.take() }
    return server.encoder.append(
      response, framing: framing, keepsLength: keepsLength, requestID: id, date: date.bytes, to: &buffer)
  }

  func append(_ persistence: ResponseEncoder.Persistence) { server.encoder.append(persistence, to: &buffer) }

  func append(_ text: StaticString) { buffer.writeStaticString(text) }

  /// Appends a chunk of a body: short ones are gathered with the bytes before them, long ones are not copied.
  func append(_ bytes: ByteBuffer) {
    guard bytes.readableBytes > 16 * 1024 else {
      buffer.writeImmutableBuffer(bytes)
      return
    }
    if buffer.readableBytes > 0 {
      write(buffer)
      // The channel may still hold the bytes: then this allocates a new buffer, else the old one is used again.
      buffer.clear()
    }
    write(bytes)
  }

  func append(_ bytes: ByteBuffer, isChunk: Bool) {
    guard isChunk else { return append(bytes) }
    buffer.writeString(String(bytes.readableBytes, radix: 16))
    buffer.writeStaticString("\r\n")
    append(bytes)
    buffer.writeStaticString("\r\n")
  }

  private func write(_ bytes: ByteBuffer) {
    writtenBytes += bytes.readableBytes
    pending.record(written: bytes.readableBytes)
    context?.write(NIOAny(bytes), promise: nil)
    needsFlush = true
  }

  var gatheredBytes: Int { buffer.readableBytes }
  var hasBytes: Bool { context != nil && (buffer.readableBytes > 0 || needsFlush) }

  /// Sends the gathered bytes.
  ///
  /// - Returns: a Boolean value that indicates whether the socket may not have taken all, which ``measure(_:)`` finds
  ///   out.
  func flush() -> Bool {
    guard let context else { return false }
    // A flush may call back, when the channel becomes writable say: what is appended then must find nothing that is
    // already on its way.
    var sent = ByteBuffer()
    swap(&sent, &buffer)
    let isShort = !needsFlush && pending.isEmpty && !server.isSecure
    if sent.readableBytes > 0 { write(sent) }
    needsFlush = false
    context.flush()
    // As a rule the socket takes all, and the channel has no part in the buffer any more.
    let isTaken = memory.giveBack(&sent)
    guard isShort, isTaken else { return true }
    pending.taken()
    return false
  }

  /// Returns a future that completes when all that was written is handed to the socket.
  func sent() -> EventLoopFuture<Void>? {
    guard let context else { return nil }
    let promise = context.eventLoop.makePromise(of: Void.self)
    context.writeAndFlush(NIOAny(ByteBuffer()), promise: promise)
    return promise.futureResult
  }

  // MARK: Accounting

  var isWritable: Bool { context?.channel.isWritable == true }
  var heldBytes: Int { pending.bytes }

  /// A Boolean value that indicates whether nothing more is produced until the client has taken what there is.
  var isPausedForMemory: Bool { pending.bytes > 0 && server.budget.isShort }

  /// The number of bytes that wait for the client to take those before them.
  var unsentBytes: Int { (context?.channel.bufferedBytes ?? 0) + buffer.readableBytes }

  /// A Boolean value that indicates whether the client's system has acknowledged everything.
  var isDelivered: Bool {
    guard let context else { return true }
    return unsentBytes == 0 && SendProgress(of: context.channel)?.isOutstanding != true
  }

  /// The number of bytes that the client's system has acknowledged; where this system does not tell, that its socket
  /// has taken. A socket takes nothing until a third of its buffer, which may be megabytes, is free.
  var acknowledgedBytes: Int {
    context.flatMap { SendProgress(of: $0.channel)?.acknowledgedBytes } ?? writtenBytes - unsentBytes
  }

  func remainingSilence() -> TimeAmount {
    silence.remaining(acknowledgedBytes: acknowledgedBytes, at: .now())
  }

  /// Counts the bytes that the socket did not take, as held by the connection.
  ///
  /// - Returns: a future that completes when it has; `nil` if it has taken all, or that is awaited already.
  func measure(_ holder: any OutputHolder) -> EventLoopFuture<Void>? {
    guard let context else { return nil }
    let left = context.channel.bufferedBytes
    ledger.add(pending.update(left: left), of: holder)
    guard left > 0, !pending.isAwaitingDrain else { return nil }
    pending.isAwaitingDrain = true
    return sent()
  }

  /// Records that what ``measure(_:)`` found is handed to the socket.
  func endDrain() { pending.isAwaitingDrain = false }
}
