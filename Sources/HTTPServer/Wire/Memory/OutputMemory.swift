import NIOCore

/// The buffer in which an event loop's connections gather responses, one after the other.
///
/// As a rule a response is sent before the next is begun, whatever its connection. One buffer for all stays in the
/// processor's cache where one for each of thousands would not, and idle connections hold none.
final class OutputMemory {
  private static let maximumCapacity = 128 * 1024

  private var spare = ByteBuffer()

  /// Takes the buffer: empty, and without capacity when it is taken already.
  func take() -> ByteBuffer {
    var taken = ByteBuffer()
    swap(&taken, &spare)
    return taken
  }

  /// Gives a buffer back, if there is no other reference to it: the channel has one while the socket is full.
  ///
  /// - Returns: a Boolean value that indicates whether there is no other reference.
  @discardableResult
  func giveBack(_ buffer: inout ByteBuffer) -> Bool {
    guard buffer.modifyIfUniquelyOwned({ $0.clear() }) != nil else { return false }
    if spare.capacity == 0, buffer.capacity <= Self.maximumCapacity { swap(&buffer, &spare) }
    return true
  }

  private static let perThread = PerThread { OutputMemory() }

  /// The calling thread's buffer; it must not leave the thread.
  static var current: OutputMemory { perThread.current }
}
