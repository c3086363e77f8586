extension JSONString {
  /// Returns the index of the first byte from `start` on that must be escaped: a quotation mark, a reverse solidus or a
  /// control character below U+0020; the count when there is none. Linear; eight bytes at a time where possible.
  @inlinable
  public static func endOfPlainText(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    guard let base = UnsafeRawPointer(bytes.baseAddress) else { return start }
    var position = start
    while position &+ 8 <= bytes.count {
      let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      let special = specialBytes(of: word)
      if special != 0 { return position &+ special.trailingZeroBitCount &>> 3 }
      position &+= 8
    }
    while position < bytes.count {
      let byte = bytes[position]
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return position }
      position &+= 1
    }
    return position
  }

  /// Returns a word whose lowest bit set is the top bit of the lowest byte that needs an escape; zero when there is
  /// none.
  ///
  /// A byte is below n just when the subtraction of n borrows from its top bit, which was clear. A borrow may run on
  /// and mark a byte above wrongly, never one below, so that the lowest mark is right.
  @inlinable
  static func specialBytes(of word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let tops: UInt64 = 0x8080_8080_8080_8080
    let quote = word ^ (ones &* 0x22)
    let solidus = word ^ (ones &* 0x5C)
    let control = (word &- ones &* 0x20) & ~word
    return (control | ((quote &- ones) & ~quote) | ((solidus &- ones) & ~solidus)) & tops
  }
}
