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
}
