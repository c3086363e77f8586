/// An incremental scanner for the end of a JSON value, by its quotation marks and brackets alone.
struct BracketScanner {
  /// The outcome of a scan.
  enum Outcome {
    /// The bytes ended before the value.
    case more
    /// The value ended before the position.
    case end
    /// A bracket closes that was not opened.
    case mismatch
  }

  /// The depth up to which the kinds of brackets are distinguished.
  private static let trackedDepth = 64

  private var depth = 0

  /// One bit for each open bracket, the innermost lowest; set for a square one.
  private var squareBrackets: UInt64 = 0

  private var isInString = false
  private var isEscaped = false

  /// Scans from the position to just behind the value, or to the end of the bytes.
  ///
  /// A value that is neither an object nor an array ends before the next comma or closing bracket. A bracket left open
  /// is closed with the one around it, so that the value is invalid and the text behind it is not.
  mutating func scan(_ bytes: UnsafeBufferPointer<UInt8>, position: inout Int) -> Outcome {
    while position < bytes.count {
      if isInString {
        skipString(bytes, position: &position)
        continue
      }
      switch bytes[position] {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: "{"): open(isSquare: false)
      case UInt8(ascii: "["): open(isSquare: true)
      case UInt8(ascii: ",") where depth == 0: return .end
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return .end }
        guard close(isSquare: bytes[position] == UInt8(ascii: "]")) else { return .mismatch }
        if depth == 0 {
          position += 1
          return .end
        }
      default: break
      }
      position += 1
    }
    return .more
  }

  private mutating func skipString(_ bytes: UnsafeBufferPointer<UInt8>, position: inout Int) {
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isInString = false
        return
      }
    }
  }

  private mutating func open(isSquare: Bool) {
    depth += 1
    if depth <= Self.trackedDepth { squareBrackets = squareBrackets << 1 | (isSquare ? 1 : 0) }
  }

  /// Closes the innermost bracket of the kind and all within it; `false` when there is none.
  private mutating func close(isSquare: Bool) -> Bool {
    if depth > Self.trackedDepth {
      depth -= 1
      return true
    }
    while depth > 0 {
      let closesSquare = squareBrackets & 1 == 1
      depth -= 1
      squareBrackets >>= 1
      if closesSquare == isSquare { return true }
    }
    return false
  }
}
