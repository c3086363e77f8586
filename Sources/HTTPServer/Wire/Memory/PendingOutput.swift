import NIOCore

/// An estimate of the memory of a channel's unsent output.
///
/// A channel reports the number of unsent bytes, but releases a buffer only when its last byte is sent. The estimate is
/// the number of unsent bytes plus the length of the longest buffer, at most the number of bytes written since the
/// channel was last empty.
struct PendingOutput {
  private(set) var bytes = 0

  private var written = 0
  private var longest = 0
  /// A Boolean value that indicates whether the connection awaits the end of what was written.
  var isAwaitingDrain = false
  var isEmpty: Bool { bytes == 0 && !isAwaitingDrain }

  mutating func record(written bytes: Int) {
    written += bytes
    longest = max(longest, bytes)
  }

  /// Records that the socket has taken all, where nothing was held before.
  mutating func taken() {
    written = 0
    longest = 0
  }

  /// Records the number of bytes that are left, and returns by how much the held bytes have changed.
  mutating func update(left: Int) -> Int {
    guard left > 0 else { return release() }
    let held = min(written, left + longest)
    defer { bytes = held }
    return held - bytes
  }

  /// Records that nothing is held, and returns by how much that is a change.
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
