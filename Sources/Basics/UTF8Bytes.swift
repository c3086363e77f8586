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
  private static func lengthOfScalar(in bytes: UnsafeBufferPointer<UInt8>, at position: Int) -> Int {
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
