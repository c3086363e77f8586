/// A pattern of `LIKE`: `%` matches any characters, `_` matches one, and a backslash takes the character after it
/// literally. Characters are Unicode scalars.
struct LikePattern: Sendable {
  private enum Element: Hashable {
    case byte(UInt8)
    case one
    case any
  }

  private var elements: [Element] = []

  init(_ pattern: String) {
    var isEscaped = false
    for byte in pattern.utf8 {
      switch byte {
      case _ where isEscaped:
        elements.append(.byte(byte))
        isEscaped = false
      case UInt8(ascii: "\\"): isEscaped = true
      case UInt8(ascii: "%"): if elements.last != .any { elements.append(.any) }
      case UInt8(ascii: "_"): elements.append(.one)
      default: elements.append(.byte(byte))
      }
    }
    if isEscaped { elements.append(.byte(UInt8(ascii: "\\"))) }
  }

  /// Returns a Boolean value that indicates whether a text matches. O(nm) for n bytes of text and m of pattern.
  ///
  /// Only the last `%` is tried again: one before it has matched as little as it can, which leaves the most for the
  /// rest.
  func matches(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      var (position, element) = (0, 0)
      var retry: (position: Int, element: Int)?
      while true {
        if element < elements.count, elements[element] == .any {
          element += 1
          retry = (position, element)
          continue
        }
        if position == bytes.count, element == elements.count { return true }
        if position < bytes.count, element < elements.count {
          switch elements[element] {
          case .byte(let byte) where byte == bytes[position]:
            position += 1
            element += 1
            continue
          case .one:
            position = Self.end(ofScalarAt: position, in: bytes)
            element += 1
            continue
          case .byte, .any: break
          }
        }
        guard let last = retry, last.position < bytes.count else { return false }
        position = Self.end(ofScalarAt: last.position, in: bytes)
        element = last.element
        retry = (position, element)
      }
    }
  }

  private static func end(ofScalarAt position: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Int {
    var end = position + 1
    while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
    return end
  }
}
