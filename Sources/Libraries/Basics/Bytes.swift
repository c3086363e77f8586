#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

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
  @inlinable
  public mutating func reserve(_ byteCount: Int) {
    reserveCapacity(count + byteCount)
  }

  @inlinable
  public mutating func write(_ byte: UInt8) {
    append(byte)
  }

  @inlinable
  public mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
    append(contentsOf: bytes)
  }

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

  @inlinable
  public init(at start: UnsafeMutablePointer<UInt8>) {
    end = start
  }

  /// Does nothing: the room is there.
  @inlinable
  public mutating func reserve(_ byteCount: Int) {}

  @inlinable
  public mutating func write(_ byte: UInt8) {
    end.pointee = byte
    end += 1
  }

  @inlinable
  public mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let start = bytes.baseAddress else { return }
    end.initialize(from: start, count: bytes.count)
    end += bytes.count
  }

  @inlinable
  public mutating func write(atMost maximumCount: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
    end += body(end)
  }
}

extension String {
  /// Creates the string of the UTF-8 that a closure writes, at most so many bytes.
  @inlinable
  package init(atMost byteCount: Int, _ body: (inout UncheckedBytes) -> Void) {
    self.init(unsafeUninitializedCapacity: byteCount) { buffer in
      guard let start = buffer.baseAddress else { return 0 }
      var bytes = UncheckedBytes(at: start)
      body(&bytes)
      return bytes.end - start
    }
  }
}

extension Sequence<UInt8> {
  /// Calls a closure with the bytes in contiguous memory. They are copied where the sequence does not store them so.
  @inlinable
  public func withContiguousBytes<Value, Failure>(
    _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    // The standard library's method takes no typed error.
    let result = withContiguousStorageIfAvailable { bytes in
      Result { () throws(Failure) in try body(bytes) }
    }
    if let result { return try result.get() }
    return try Array(self).withUnsafeBufferPointer(body)
  }
}

extension UInt8 {
  /// A Boolean value that indicates whether this is a letter or a digit of ASCII.
  public var isASCIIAlphanumeric: Bool {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: false
    }
  }

  /// A Boolean value that indicates whether this is white space in JSON.
  public var isWhiteSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}

extension UnsafeBufferPointer<UInt8> {
  /// Returns the first index of a byte from an index on.
  public func firstIndex(of byte: UInt8, from start: Int) -> Int? {
    guard start < count, let base = UnsafeRawPointer(baseAddress),
      let found = memchr(base + start, Int32(byte), count - start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  /// Returns a Boolean value that indicates whether the bytes are this lower-case ASCII text, in any case.
  public func isEqual(toLowercase ascii: StaticString) -> Bool {
    guard count == ascii.utf8CodeUnitCount else { return false }
    for index in 0..<count {
      let byte = self[index]
      let lowercase = byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
      if lowercase != ascii.utf8Start[index] { return false }
    }
    return true
  }

  /// The bytes without white space at both ends.
  public var trimmed: UnsafeBufferPointer<UInt8> {
    var range = 0..<count
    while let first = range.first, self[first].isWhiteSpace { range.removeFirst() }
    while let last = range.last, self[last].isWhiteSpace { range.removeLast() }
    return UnsafeBufferPointer(rebasing: self[range])
  }
}

/// Validation of bytes as UTF-8.
public enum UTF8Bytes {
  /// Returns the string of the bytes; `nil` when they are not UTF-8.
  ///
  /// The same as `String(validating:as:)`, whose generic code in the standard library costs more than the validation.
  public static func string(of bytes: UnsafeBufferPointer<UInt8>) -> String? {
    areValid(bytes) ? String(decoding: bytes, as: UTF8.self) : nil
  }

  /// Returns a Boolean value that indicates whether the bytes are well-formed UTF-8 (Unicode, table 3-7). Linear; ASCII
  /// goes eight bytes at a time.
  public static func areValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let base = UnsafeRawPointer(bytes.baseAddress) else { return true }
    var position = 0
    while position < bytes.count {
      if position &+ 8 <= bytes.count,
        base.loadUnaligned(fromByteOffset: position, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
      {
        position &+= 8
        continue
      }
      let length = lengthOfScalar(in: bytes, at: position)
      guard length > 0 else { return false }
      position &+= length
    }
    return true
  }

  /// Returns the number of bytes of the scalar that starts at the position; 0 when none does.
  package static func lengthOfScalar(in bytes: UnsafeBufferPointer<UInt8>, at position: Int) -> Int {
    let first = bytes[position]
    let length: Int
    var seconds: ClosedRange<UInt8> = 0x80...0xBF
    switch first {
    case 0..<0x80: return 1
    case 0xC2...0xDF: length = 2
    case 0xE0: (length, seconds) = (3, 0xA0...0xBF)
    case 0xED: (length, seconds) = (3, 0x80...0x9F)
    case 0xE1...0xEF: length = 3
    case 0xF0: (length, seconds) = (4, 0x90...0xBF)
    case 0xF4: (length, seconds) = (4, 0x80...0x8F)
    case 0xF1...0xF3: length = 4
    default: return 0
    }
    guard position &+ length <= bytes.count, seconds.contains(bytes[position &+ 1]) else { return 0 }
    for offset in 2..<max(2, length) where bytes[position &+ offset] & 0xC0 != 0x80 { return 0 }
    return length
  }
}

extension Substring {
  /// The text without spaces and tabs at its ends.
  package var trimmingBlanks: Substring {
    var text = self
    while let first = text.utf8.first, first == 0x20 || first == 0x09 { text = text.dropFirst() }
    while let last = text.utf8.last, last == 0x20 || last == 0x09 { text = text.dropLast() }
    return text
  }
}

extension RandomAccessCollection {
  /// Returns the first index whose element satisfies a predicate that all later elements satisfy too; `endIndex` if
  /// none does. O(log n).
  @inlinable
  package func partitioningIndex(where predicate: (Element) -> Bool) -> Index {
    var (low, count) = (startIndex, count)
    while count > 0 {
      let half = count / 2
      let middle = index(low, offsetBy: half)
      if predicate(self[middle]) {
        count = half
      } else {
        (low, count) = (index(after: middle), count - half - 1)
      }
    }
    return low
  }
}
