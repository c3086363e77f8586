#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

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
