/// Names as Prometheus allows them.
enum MetricName {
  /// A metric's name: letters, digits, `_` and `:`, no digit first; anything else becomes `_`.
  static func metric(_ text: String) -> String { name(text, alsoAllowing: UInt8(ascii: ":")) }

  /// A label's name: letters, digits and `_`, no digit first; anything else becomes `_`.
  static func label(_ text: String) -> String { name(text, alsoAllowing: UInt8(ascii: "_")) }

  private static func name(_ text: String, alsoAllowing extra: UInt8) -> String {
    var bytes = text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), extra:
        byte
      default: UInt8(ascii: "_")
      }
    }
    if bytes.first.map({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) ?? true {
      bytes.insert(UInt8(ascii: "_"), at: 0)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
