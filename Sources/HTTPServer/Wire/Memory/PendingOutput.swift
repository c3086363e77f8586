import NIOCore

/// The bytes that a channel holds because the socket did not take them.
///
/// A channel knows how many bytes are left but keeps each buffer whole until its last byte is sent. So the bytes that
/// are held are estimated as those that are left and the longest buffer, but no more than were written since nothing
/// was held.
struct PendingOutput {
  /// The number of bytes that count as held.
  private(set) var bytes = 0

  private var written = 0
  private var longest = 0
  /// A Boolean value that indicates whether the connection awaits the end of what was written.
  var isAwaitingDrain = false

  /// A Boolean value that indicates whether nothing is held.
  var isEmpty: Bool { bytes == 0 && !isAwaitingDrain }

  /// Notes a buffer that is given to the channel.
  mutating func note(written bytes: Int) {
    written += bytes
    longest = max(longest, bytes)
  }

  /// Notes that the socket has taken all, where nothing was held before.
  mutating func taken() {
    written = 0
    longest = 0
  }

  /// Notes the number of bytes that are left, and returns by how much the held bytes have changed.
  mutating func update(left: Int) -> Int {
    guard left > 0 else { return release() }
    let held = min(written, left + longest)
    defer { bytes = held }
    return held - bytes
  }

  /// Notes that nothing is held, and returns by how much that is a change.
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
