/// The two parts of a request target that a server acts on (RFC 9112, section 3.2).
struct RequestTarget {
  /// The path, percent-encoded: it starts with `/`, or is `*`, or is whatever else the client sent.
  let path: Substring

  /// What stands after the first `?`.
  let query: Substring?

  /// Splits a target in origin form, absolute form (scheme and authority are dropped) or asterisk form.
  init(_ target: String) {
    let utf8 = target.utf8
    var start = utf8.startIndex
    if utf8.first != UInt8(ascii: "/"), let authority = Self.endOfScheme(in: target) {
      start = utf8[authority...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? utf8.endIndex
    }
    let end = utf8[start...].firstIndex(of: UInt8(ascii: "?"))
    let path = target[start..<(end ?? utf8.endIndex)]
    self.path = path.isEmpty && start != utf8.startIndex ? "/" : path
    self.query = end.map { target[utf8.index(after: $0)...] }
  }

  /// Whether the path is one that a server can look up.
  var isValid: Bool { path.utf8.first == UInt8(ascii: "/") || path == "*" }

  /// Where the authority begins in `http://authority/path`, or `nil` for another form.
  private static func endOfScheme(in target: String) -> String.Index? {
    let lowered = target.prefix(8).lowercased()
    if lowered.hasPrefix("http://") { return target.utf8.index(target.startIndex, offsetBy: 7) }
    if lowered.hasPrefix("https://") { return target.utf8.index(target.startIndex, offsetBy: 8) }
    return nil
  }
}
