/// Counts the lines of a text that comes in pieces. A line ends with LF, CR or both.
struct LineCounter {
  /// The line of the last position asked for, counted from 1.
  private var line = 1

  /// The position in the bytes at hand up to which line ends have been counted.
  private var position = 0

  /// The last byte that was counted.
  private var lastByte: UInt8 = 0

  /// Returns the line of a position. Positions must not decrease; the time is linear in the distance to the last one.
  mutating func line(at position: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Int {
    guard position > self.position else { return line }
    var ends = 0
    var previous = lastByte
    for index in self.position..<position {
      let byte = bytes[index]
      ends &+= (byte == 0x0D ? 1 : 0) &+ (byte == 0x0A && previous != 0x0D ? 1 : 0)
      previous = byte
    }
    line += ends
    lastByte = previous
    self.position = position
    return line
  }

  /// Counts the bytes that are about to be dropped from the start of those at hand.
  mutating func drop(_ count: Int, of bytes: UnsafeBufferPointer<UInt8>) {
    _ = line(at: count, in: bytes)
    position -= count
  }
}
