import Foundation

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

/// The foldings of text behind `CASEI` and `ACCENTI`.
enum TextFolding {
  /// Returns a text that is the same for all that differ only in case (full case folding; The Unicode Standard, section
  /// 5.18).
  static func withoutCase(_ text: String) -> String {
    guard !isASCII(text) else { return text.lowercased() }
    var folded = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      // The Turkish dotless i is a letter of its own, though its capital is I.
      guard scalar != "ı" else {
        folded.append(scalar)
        continue
      }
      // Capital sharp s has a small letter but no longer form; small sharp s has only the longer form.
      let upper = scalar.properties.lowercaseMapping.unicodeScalars.flatMap {
        $0.properties.uppercaseMapping.unicodeScalars
      }
      for scalar in upper { folded.append(contentsOf: scalar.properties.lowercaseMapping.unicodeScalars) }
    }
    return String(folded)
  }

  /// Returns a text without the accents and other nonspacing marks that its canonical decomposition has, composed
  /// again.
  ///
  /// The Japanese voicing marks are kept, which tell words apart.
  static func withoutAccents(_ text: String) -> String {
    guard !isASCII(text) else { return text }
    var stripped = String.UnicodeScalarView()
    for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars {
      let isVoicing = scalar == "\u{3099}" || scalar == "\u{309A}"
      if isVoicing || scalar.properties.generalCategory != .nonspacingMark { stripped.append(scalar) }
    }
    return String(stripped).precomposedStringWithCanonicalMapping
  }

  private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }
}
