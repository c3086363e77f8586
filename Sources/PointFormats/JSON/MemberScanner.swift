import Basics
import JSONText

/// The reason why an outermost object can't be scanned.
enum MemberError: Error {
  /// The text is not JSON.
  case syntax(String)
  /// Its `type` is this one, or none, and has no features.
  case type(String?)
  /// Its coordinates are in this reference system, which is not WGS 84.
  case coordinates(String)
}

/// An incremental scanner of the outermost object, which finds its members `features`, `type` and `crs`.
struct MemberScanner {
  /// An event that ends a scan.
  enum Event {
    /// The array `features` has been entered.
    case features
    /// The object has ended.
    case end
  }

  private enum State {
    case beforeName(isFirst: Bool)
    case name
    case beforeColon
    case beforeValue
    case value
    case afterValue
  }

  /// The member whose value is kept.
  private enum Kept {
    case nothing, type, coordinateSystem
  }

  private var state = State.beforeName(isFirst: true)
  private var value = BracketScanner()

  /// The name being read, or the value of `type`, quotation marks included, as far as they are worth keeping.
  private var text: [UInt8] = []
  private var isEscaped = false
  private var kept = Kept.nothing
  private var type: String?

  /// The members of interest so far, none of which may stand twice.
  private var names: Set<ExactText> = []

  /// The limit of what is kept of a name: none of interest is longer, even where each letter is an escape.
  private static let maximumTextLength = 128

  /// The limit of what is kept of a value: the description of a reference system takes several lines.
  private static let maximumValueLength = 4096

  var isFeature: Bool { type == "Feature" }

  /// Goes on behind the array `features`, which the caller has read.
  mutating func endValue() { state = .afterValue }

  /// Scans up to the next event, or the end of the bytes.
  ///
  /// - Throws: ``MemberError`` when the text is not an object, or its `type` is none that has features.
  mutating func scan(_ bytes: UnsafeBufferPointer<UInt8>, position: inout Int) throws(MemberError) -> Event? {
    while position < bytes.count {
      let byte = bytes[position]
      if case .name = state {
        takeNameByte(byte)
        position += 1
        continue
      }
      if case .value = state {
        try scanValue(bytes, position: &position)
        continue
      }
      guard !byte.isWhiteSpace else {
        position += 1
        continue
      }
      if let event = try take(byte, position: &position) { return event }
    }
    return nil
  }

  private mutating func take(_ byte: UInt8, position: inout Int) throws(MemberError) -> Event? {
    switch (state, byte) {
    case (.beforeName, UInt8(ascii: "\"")):
      state = .name
      text = [byte]
    case (.beforeName(isFirst: true), UInt8(ascii: "}")), (.afterValue, UInt8(ascii: "}")):
      position += 1
      return .end
    case (.beforeName, _): throw .syntax("a member's name must be a string")
    case (.beforeColon, UInt8(ascii: ":")): state = .beforeValue
    case (.beforeColon, _): throw .syntax("a colon must follow a member's name")
    case (.beforeValue, _): return try beginValue(byte, position: &position)
    case (.afterValue, UInt8(ascii: ",")): state = .beforeName(isFirst: false)
    case (.afterValue, _): throw .syntax("an object must go on with a comma or end")
    case (.name, _), (.value, _): return nil
    }
    position += 1
    return nil
  }

  private mutating func takeNameByte(_ byte: UInt8) {
    if text.count < Self.maximumTextLength { text.append(byte) }
    if isEscaped {
      isEscaped = false
    } else if byte == UInt8(ascii: "\\") {
      isEscaped = true
    } else if byte == UInt8(ascii: "\"") {
      state = .beforeColon
    }
  }

  private mutating func beginValue(_ byte: UInt8, position: inout Int) throws(MemberError) -> Event? {
    let name = string
    if let name, ["type", "features", "crs"].contains(name), !names.insert(ExactText(name)).inserted {
      throw .syntax("/\(name) stands twice")
    }
    if name == "features", byte == UInt8(ascii: "["), !isFeature {
      position += 1
      return .features
    }
    if [UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ":")].contains(byte) {
      throw .syntax("a value cannot start here")
    }
    kept = name == "type" ? .type : name == "crs" ? .coordinateSystem : .nothing
    text = []
    value = BracketScanner()
    state = .value
    return nil
  }

  private mutating func scanValue(_ bytes: UnsafeBufferPointer<UInt8>, position: inout Int) throws(MemberError) {
    let start = position
    let outcome = value.scan(bytes, position: &position)
    let limit = kept == .type ? Self.maximumTextLength : Self.maximumValueLength
    if kept != .nothing, text.count < limit { text.append(contentsOf: bytes[start..<position].prefix(limit)) }
    switch outcome {
    case .more: return
    case .mismatch: throw .syntax("the brackets do not match")
    case .end:
      state = .afterValue
      switch kept {
      case .nothing: return
      case .coordinateSystem:
        let value = try? JSONReader.value(of: text)
        if let name = CoordinateSystem.unsupportedName(in: value) { throw .coordinates(name) }
      case .type:
        type = string
        guard let type, type == "FeatureCollection" || type == "Feature" else {
          throw .type(type)
        }
      }
    }
  }

  /// The kept bytes as a JSON string; `nil` when they are none, or were cut.
  private var string: String? {
    guard case .string(let string)? = try? JSONReader.value(of: text) else { return nil }
    return string
  }
}
