/// Text that is equal only to the same bytes, as it is in a database and in JSON; a `String` also equals its other
/// Unicode normal forms.
///
/// For text from outside that is a key, a member of a set or compared.
@frozen
public struct ExactText: Sendable {
  public let text: String

  @inlinable
  public init(_ text: String) {
    self.text = text
  }
}

extension ExactText: Hashable, Comparable {
  @inlinable
  public static func == (left: ExactText, right: ExactText) -> Bool {
    left.text.hasSameBytes(as: right.text)
  }

  /// Returns a Boolean value that indicates whether the left one comes first by bytes, which is also the order of
  /// Unicode scalars.
  public static func < (left: ExactText, right: ExactText) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  @inlinable
  public func hash(into hasher: inout Hasher) {
    text.hashBytes(into: &hasher)
  }
}

extension ExactText: ExpressibleByStringLiteral, CustomStringConvertible {
  public init(stringLiteral text: String) {
    self.init(text)
  }

  public var description: String { text }
}

/// A stored text by whose bytes the type that it is part of is compared and hashed, where the compiler writes the
/// comparison.
@propertyWrapper @frozen
public struct ComparedByBytes<Value: ByteComparable>: Hashable, Sendable {
  public var wrappedValue: Value

  @inlinable
  public init(wrappedValue: Value) {
    self.wrappedValue = wrappedValue
  }

  @inlinable
  public static func == (left: ComparedByBytes, right: ComparedByBytes) -> Bool {
    left.wrappedValue.hasSameBytes(as: right.wrappedValue)
  }

  @inlinable
  public func hash(into hasher: inout Hasher) {
    wrappedValue.hashBytes(into: &hasher)
  }
}

/// A text, or an optional one, that can be compared by its bytes.
public protocol ByteComparable: Sendable {
  /// Returns a Boolean value that indicates whether both are the same UTF-8.
  func hasSameBytes(as other: Self) -> Bool

  /// Adds the UTF-8 to a hash.
  func hashBytes(into hasher: inout Hasher)
}

extension String: ByteComparable {
  /// Returns a Boolean value that indicates whether both are the same UTF-8.
  @inlinable
  public func hasSameBytes(as other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    let isSame = utf8.withContiguousStorageIfAvailable { left in
      other.utf8.withContiguousStorageIfAvailable { right in left.elementsEqual(right) }
    }
    return isSame.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
  }

  /// Adds the UTF-8 to a hash, with an end that no text has.
  @inlinable
  public func hashBytes(into hasher: inout Hasher) {
    let isDone: Void? = utf8.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    if isDone == nil { for byte in utf8 { hasher.combine(byte) } }
    hasher.combine(0xFF as UInt8)
  }
}

extension Optional: ByteComparable where Wrapped: ByteComparable {
  /// Returns a Boolean value that indicates whether both are absent or the same UTF-8.
  @inlinable
  public func hasSameBytes(as other: Wrapped?) -> Bool {
    switch (self, other) {
    case (nil, nil): true
    case (let left?, let right?): left.hasSameBytes(as: right)
    default: false
    }
  }

  /// Adds the UTF-8 to a hash, or that there is none.
  @inlinable
  public func hashBytes(into hasher: inout Hasher) {
    hasher.combine(self != nil)
    self?.hashBytes(into: &hasher)
  }
}

// MARK: Rules of texts

extension String {
  /// Returns the text without the white space at its ends.
  @inlinable
  public func trimmingWhiteSpace() -> String {
    // Most texts begin and end with printable ASCII, which needs no look-up in Unicode's tables.
    if let first = utf8.first, let last = utf8.last, 0x21..<0x7F ~= first, 0x21..<0x7F ~= last { return self }
    let scalars = unicodeScalars
    guard let first = scalars.first, let last = scalars.last else { return self }
    if !first.properties.isWhitespace, !last.properties.isWhitespace { return self }
    guard let start = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
      let end = scalars.lastIndex(where: { !$0.properties.isWhitespace })
    else { return "" }
    return String(scalars[start...end])
  }

  /// Returns the rule of texts that people read which the text breaks, as the rest of a sentence; `nil` if there is
  /// none.
  ///
  /// - Parameter maximumLength: the maximum length in Unicode scalars.
  @inlinable
  public func violation(maximumLength: Int) -> String? {
    if utf8.count > maximumLength {
      let length = unicodeScalars.count
      if length > maximumLength { return "must have at most \(maximumLength) characters, got \(length)" }
    }
    return hasControlCharacters ? "must not contain control characters" : nil
  }

  /// A Boolean value that indicates whether a scalar is of the general category Cc: U+0000 to U+001F and U+007F to
  /// U+009F, which is stable (Unicode, table 4-4).
  @usableFromInline var hasControlCharacters: Bool {
    var previous: UInt8 = 0
    for byte in utf8 {
      if byte < 0x20 || byte == 0x7F || (previous == 0xC2 && byte < 0xA0) { return true }
      previous = byte
    }
    return false
  }
}
