/// A sequence of bytes that grows at its end and that text can be written into in place.
public protocol ByteSink {
  /// Reserves room for so many more bytes.
  mutating func reserve(_ byteCount: Int)

  /// Appends one byte.
  mutating func write(_ byte: UInt8)

  /// Appends bytes.
  mutating func write(_ bytes: UnsafeBufferPointer<UInt8>)

  /// Appends the bytes that a closure writes.
  ///
  /// - Parameters:
  ///   - maximumCount: the number of bytes that the closure writes at most.
  ///   - body: writes bytes from the address on and returns their number.
  mutating func write(atMost maximumCount: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int)
}

extension ByteSink {
  /// Appends the UTF-8 of a literal.
  @inlinable
  public mutating func write(_ literal: StaticString) {
    write(UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  /// Appends the UTF-8 of a text.
  @inlinable
  public mutating func write(text: String) {
    var text = text
    text.withUTF8 { write($0) }
  }
}

extension [UInt8]: ByteSink {
  /// Reserves room for so many more bytes.
  @inlinable
  public mutating func reserve(_ byteCount: Int) {
    reserveCapacity(count + byteCount)
  }

  /// Appends one byte.
  @inlinable
  public mutating func write(_ byte: UInt8) {
    append(byte)
  }

  /// Appends bytes.
  @inlinable
  public mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
    append(contentsOf: bytes)
  }

  /// Appends the bytes that a closure writes.
  @inlinable
  public mutating func write(atMost maximumCount: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
    append(addingCapacity: maximumCount) { span in
      span.withUnsafeMutableBufferPointer { bytes, count in
        guard let start = bytes.baseAddress else { return }
        count += body(start + count)
        precondition(count <= bytes.count, "more bytes written than reserved")
      }
    }
  }
}

/// Memory that was reserved for the bytes that are written to it. Nothing is checked.
///
/// The caller has reserved as many bytes as the values that it writes take at most. The value is used within the
/// closure that was given the memory and does not leave it.
@frozen
public struct UncheckedBytes: ByteSink {
  /// The address behind the last byte that was written.
  public var end: UnsafeMutablePointer<UInt8>

  /// Creates a sink for the bytes from an address on.
  @inlinable
  public init(at start: UnsafeMutablePointer<UInt8>) {
    end = start
  }

  /// Does nothing: the room is there.
  @inlinable
  public mutating func reserve(_ byteCount: Int) {}

  /// Writes one byte.
  @inlinable
  public mutating func write(_ byte: UInt8) {
    end.pointee = byte
    end += 1
  }

  /// Writes bytes.
  @inlinable
  public mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let start = bytes.baseAddress else { return }
    end.update(from: start, count: bytes.count)
    end += bytes.count
  }

  /// Writes the bytes that a closure writes.
  @inlinable
  public mutating func write(atMost maximumCount: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
    end += body(end)
  }
}
