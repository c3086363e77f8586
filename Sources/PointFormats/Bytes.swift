#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension UInt8 {
  /// A Boolean value that indicates whether this is white space in JSON.
  var isWhiteSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}

extension UnsafeBufferPointer<UInt8> {
  /// Returns the first index of a byte from an index on.
  func firstIndex(of byte: UInt8, from start: Int) -> Int? {
    guard start < count, let base = UnsafeRawPointer(baseAddress),
      let found = memchr(base + start, Int32(byte), count - start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  /// Returns a Boolean value that indicates whether the bytes are this lower-case ASCII text, in any case.
  func isEqual(toLowercase ascii: StaticString) -> Bool {
    guard count == ascii.utf8CodeUnitCount else { return false }
    for index in 0..<count {
      let byte = self[index]
      let lowercase = byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
      if lowercase != ascii.utf8Start[index] { return false }
    }
    return true
  }

  /// The bytes without white space at both ends.
  var trimmed: UnsafeBufferPointer<UInt8> {
    var range = 0..<count
    while let first = range.first, self[first].isWhiteSpace { range.removeFirst() }
    while let last = range.last, self[last].isWhiteSpace { range.removeLast() }
    return UnsafeBufferPointer(rebasing: self[range])
  }
}
