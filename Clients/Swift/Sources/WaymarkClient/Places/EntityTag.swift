/// What tells one version of an answer from another (RFC 9110, section 8.8.3), as the `ETag` header has it: quotation
/// marks included.
public struct EntityTag: Hashable, Sendable, RawRepresentable {
  /// The tag, for example `"3"` with the quotation marks.
  public let rawValue: String

  /// Takes a tag as the header has it.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The tag of a place's version in JSON.
  public init(version: Int) {
    rawValue = "\"\(version)\""
  }

  /// Whether it can stand in a header: visible ASCII or what is beyond (RFC 9110's `etagc`), and quotation marks around.
  var isWellFormed: Bool {
    let opaque = rawValue.utf8.starts(with: "W/".utf8) ? rawValue.utf8.dropFirst(2) : rawValue.utf8[...]
    return opaque.count >= 2 && opaque.first == UInt8(ascii: "\"") && opaque.last == UInt8(ascii: "\"")
      && opaque.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") }
  }
}
