import Logging
import NIOCore

/// The bytes that a channel holds because the socket did not take them.
///
/// A channel tells how many bytes are left but keeps each buffer whole until its last byte is sent. So what is held is
/// taken for what is left and as much as the longest buffer, but for no more than was written since it held nothing.
struct HeldOutput {
  /// The number of bytes that are counted.
  private(set) var bytes = 0

  private var written = 0
  private var longest = 0
  /// A Boolean value that indicates whether the connection will be told when what was written is sent.
  var isAwaitingDrain = false

  /// A Boolean value that indicates whether nothing is held.
  var isEmpty: Bool { bytes == 0 && !isAwaitingDrain }

  /// Takes note of a buffer that is given to the channel.
  mutating func note(written bytes: Int) {
    written += bytes
    longest = max(longest, bytes)
  }

  /// Takes note that the socket has taken all, where nothing was held before.
  mutating func taken() {
    written = 0
    longest = 0
  }

  /// Takes note of how many bytes are left. Returns by how much what is held has changed.
  mutating func update(left: Int) -> Int {
    guard left > 0 else { return release() }
    let held = min(written, left + longest)
    defer { bytes = held }
    return held - bytes
  }

  /// Takes note that nothing is held. Returns by how much that is a change.
  mutating func release() -> Int {
    taken()
    defer { bytes = 0 }
    return -bytes
  }
}

extension Channel {
  /// The number of bytes that were written to the channel and not yet to its socket.
  var bufferedBytes: Int { (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }
}

// MARK: Memory

extension ConnectionHandler: OutputHolder {
  var heldBytes: Int { held.bytes }
  var takenMark: Int { acknowledgedBytes }

  /// A Boolean value that indicates whether nothing more is produced until the client has taken what there is.
  var isPausedForMemory: Bool { held.bytes > 0 && server.budget.isShort }

  func cutForMemory() {
    server.logger.debug("cut a connection that took nothing while memory was short")
    cut()
  }

  /// Counts what the socket did not take, until it has.
  func measureHeld() {
    guard let context, !state.isClosed else { return }
    let left = context.channel.bufferedBytes
    ledger.add(held.update(left: left))
    guard left > 0, !held.isAwaitingDrain else { return }
    held.isAwaitingDrain = true
    let sent = eventLoop.makePromise(of: Void.self)
    sent.futureResult.assumeIsolated().whenComplete { _ in self.drained() }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: sent)
  }

  /// What was held when that was asked for is sent.
  private func drained() {
    held.isAwaitingDrain = false
    measureHeld()
    guard held.bytes == 0, !state.isClosed else { return }
    resumeWriters()
    serveQueue()
    flush()
  }
}
