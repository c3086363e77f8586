/// The place of a request in a trace: W3C Trace Context's `traceparent` (https://www.w3.org/TR/trace-context/, section
/// 3.2).
public struct TraceParent: Hashable, Sendable {
  /// The identifier of the trace: 128 bits, the upper 64 first; not all zero.
  public let traceID: TraceID

  /// The identifier of this step: 64 bits, not zero.
  public let spanID: UInt64

  /// The eight flags. The lowest indicates that the caller may have recorded its step.
  public let flags: UInt8

  /// The identifier of a trace.
  public struct TraceID: Hashable, Sendable, CustomStringConvertible {
    /// The first 64 bits.
    public let high: UInt64
    /// The last 64 bits.
    public let low: UInt64

    /// 32 digits of base 16 in lower case.
    public var description: String { Hexadecimal.text(high) + Hexadecimal.text(low) }
  }

  /// The ``spanID`` as 16 digits of base 16 in lower case.
  public var spanText: String { Hexadecimal.text(spanID) }

  /// Returns the first step of a new trace.
  public static func random(using generator: inout some RandomNumberGenerator) -> TraceParent {
    let traceID = TraceID(
      high: .random(in: 1 ... .max, using: &generator), low: .random(in: .min ... .max, using: &generator))
    return TraceParent(traceID: traceID, spanID: .random(in: 1 ... .max, using: &generator), flags: 0)
  }

  /// Returns another step of the same trace.
  public func child(using generator: inout some RandomNumberGenerator) -> TraceParent {
    TraceParent(traceID: traceID, spanID: .random(in: 1 ... .max, using: &generator), flags: flags)
  }

  private init(traceID: TraceID, spanID: UInt64, flags: UInt8) {
    self.traceID = traceID
    self.spanID = spanID
    self.flags = flags
  }

  /// Creates a step from a header field's value; `nil` for a value that the standard requires to be ignored.
  ///
  /// Of a later version the four known parts are used and what follows them is ignored.
  public init?(_ text: String) {
    var text = text
    guard let parent = text.withUTF8(Self.parse) else { return nil }
    self = parent
  }

  /// The length of version 00 in bytes.
  private static let length = 55

  private static func parse(_ text: UnsafeBufferPointer<UInt8>) -> TraceParent? {
    let dash = UInt8(ascii: "-")
    guard text.count >= length, text[2] == dash, text[35] == dash, text[52] == dash,
      let version = number(text[0..<2]), version != 0xFF,
      version == 0 ? text.count == length : text.count == length || text[length] == dash,
      let high = number(text[3..<19]), let low = number(text[19..<35]), high | low != 0,
      let span = number(text[36..<52]), span != 0,
      let flags = number(text[53..<55])
    else { return nil }
    return TraceParent(traceID: TraceID(high: high, low: low), spanID: span, flags: UInt8(flags))
  }
}

extension TraceParent: CustomStringConvertible {
  /// The header field's value, of version 00.
  public var description: String {
    "00-\(traceID)-\(spanText)-\(Hexadecimal.text(flags))"
  }
}

extension TraceParent {
  /// Returns the number of digits in lower case; `nil` if there are other bytes among them.
  private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
    var number: UInt64 = 0
    for digit in digits {
      guard !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(digit), let value = Hexadecimal.value(ofDigit: digit)
      else { return nil }
      number = number << 4 | UInt64(value)
    }
    return number
  }
}
