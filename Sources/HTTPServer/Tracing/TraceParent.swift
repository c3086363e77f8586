/// Where a request stands in a trace: W3C Trace Context's `traceparent` (https://www.w3.org/TR/trace-context/, section
/// 3.2).
public struct TraceParent: Hashable, Sendable {
  /// The whole trace's 128 bits, the upper 64 first; not all zero.
  public let traceID: TraceID

  /// The 64 bits of the one step of it that this is; not zero.
  public let spanID: UInt64

  /// The eight flags; the lowest says that the caller may have recorded its step.
  public let flags: UInt8

  /// The 128 bits of a trace.
  public struct TraceID: Hashable, Sendable, CustomStringConvertible {
    /// The first 64 bits.
    public let high: UInt64
    /// The last 64 bits.
    public let low: UInt64

    /// 32 digits of base 16 in lower case.
    public var description: String { Base16.text(high) + Base16.text(low) }
  }

  /// The ``spanID`` as 16 digits of base 16 in lower case.
  public var spanText: String { Base16.text(spanID) }

  /// Begins a trace.
  public static func random(using generator: inout some RandomNumberGenerator) -> TraceParent {
    let traceID = TraceID(
      high: .random(in: 1 ... .max, using: &generator), low: .random(in: .min ... .max, using: &generator))
    return TraceParent(traceID: traceID, spanID: .random(in: 1 ... .max, using: &generator), flags: 0)
  }

  /// Another step of the same trace.
  public func child(using generator: inout some RandomNumberGenerator) -> TraceParent {
    TraceParent(traceID: traceID, spanID: .random(in: 1 ... .max, using: &generator), flags: flags)
  }

  private init(traceID: TraceID, spanID: UInt64, flags: UInt8) {
    self.traceID = traceID
    self.spanID = spanID
    self.flags = flags
  }

  /// Reads a header field's value; `nil` for one that the standard has ignored.
  ///
  /// Of a version to come the four known parts are taken and what follows them is not looked at.
  public init?(_ text: String) {
    var text = text
    guard let parent = text.withUTF8(Self.parse) else { return nil }
    self = parent
  }

  /// How long version 00 is.
  private static let length = 55

  private static func parse(_ text: UnsafeBufferPointer<UInt8>) -> TraceParent? {
    let dash = UInt8(ascii: "-")
    guard text.count >= length, text[2] == dash, text[35] == dash, text[52] == dash,
      let version = Base16.number(text[0..<2]), version != 0xFF,
      version == 0 ? text.count == length : text.count == length || text[length] == dash,
      let high = Base16.number(text[3..<19]), let low = Base16.number(text[19..<35]), high | low != 0,
      let span = Base16.number(text[36..<52]), span != 0,
      let flags = Base16.number(text[53..<55])
    else { return nil }
    return TraceParent(traceID: TraceID(high: high, low: low), spanID: span, flags: UInt8(flags))
  }
}

extension TraceParent: CustomStringConvertible {
  /// The header field's value, of version 00.
  public var description: String {
    "00-\(traceID)-\(spanText)-\(Base16.text(flags))"
  }
}

/// A ``TraceParent`` behind a reference.
final class TraceStep: Sendable {
  let parent: TraceParent

  init(_ parent: TraceParent) { self.parent = parent }
}

/// Numbers in base 16, in lower case alone.
private enum Base16 {
  static func text(_ number: some FixedWidthInteger & UnsignedInteger) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: number.bitWidth / 4 - digits.utf8.count) + digits
  }

  static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
    var number: UInt64 = 0
    for digit in digits {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
      default: return nil
      }
    }
    return number
  }
}
