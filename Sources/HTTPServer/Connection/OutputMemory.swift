import NIOCore

/// The memory that an event loop's connections gather answers in, one after the other.
///
/// An answer is on its way before the next is begun, as a rule, whoever's it is. One piece of memory for all stays in the
/// processor's cache where one for each of thousands would not, and none lies with connections that wait.
final class OutputMemory {
  /// More than this is not kept.
  private static let maximumCapacity = 128 * 1024

  private var spare = ByteBuffer()

  /// Takes the memory: empty, and without any when it is taken already.
  func take() -> ByteBuffer {
    var taken = ByteBuffer()
    swap(&taken, &spare)
    return taken
  }

  /// Gives memory back, if nobody else has a part in it: the channel does while the socket is full.
  ///
  /// - Returns: whether nobody else has a part in it.
  @discardableResult
  func giveBack(_ buffer: inout ByteBuffer) -> Bool {
    guard buffer.modifyIfUniquelyOwned({ $0.clear() }) != nil else { return false }
    if spare.capacity == 0, buffer.capacity <= Self.maximumCapacity { swap(&buffer, &spare) }
    return true
  }

  private static let perThread = PerThread { OutputMemory() }

  /// The calling thread's; it must not leave the thread.
  static var current: OutputMemory { perThread.current }
}
