public import Basics
public import NIOCore

extension ByteBuffer: ByteSink {
  /// Reserves room for so many more bytes.
  @inlinable
  public mutating func reserve(_ byteCount: Int) {
    reserveCapacity(minimumWritableBytes: byteCount)
  }

  /// Appends one byte.
  @inlinable
  public mutating func write(_ byte: UInt8) {
    writeInteger(byte)
  }

  /// Appends bytes.
  @inlinable
  public mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
    writeBytes(bytes)
  }

  /// Appends the bytes that a closure writes.
  @inlinable
  public mutating func write(atMost maximumCount: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
    writeWithUnsafeMutableBytes(minimumWritableBytes: maximumCount) { bytes in
      guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return 0 }
      let written = body(start)
      precondition(written <= maximumCount, "more bytes written than reserved")
      return written
    }
  }
}
