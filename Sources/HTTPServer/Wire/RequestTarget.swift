/// The two parts of a request target that a server acts on (RFC 9112, section 3.2).
struct RequestTarget: Sendable {
  /// The path, percent-encoded: it begins with `/`, or is `*`, or is whatever else the client sent.
  let path: Substring
  let query: Substring?

  /// The authority of a target in absolute form, which takes precedence over `Host` (RFC 9112, section 3.2.2).
  let authority: Substring?

  /// Creates the parts of a target in origin form, absolute form (the scheme is dropped) or asterisk form.
  init(_ target: String) {
    let whole = target[...]
    var rest = whole
    var named: Substring?
    if whole.utf8.first != UInt8(ascii: "/"), let authority = Self.afterScheme(of: whole) {
      let end = authority.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
      rest = authority[(end ?? authority.endIndex)...]
      named = authority[..<rest.startIndex]
    }
    authority = named
    let length = Self.lengthOfPath(rest)
    let end = rest.utf8.index(rest.startIndex, offsetBy: length)
    let path = rest[..<end]
    self.path = path.isEmpty && rest.startIndex != whole.startIndex ? "/" : path
    self.query = end == rest.endIndex ? nil : rest[rest.utf8.index(after: end)...]
  }

  /// A Boolean value that indicates whether the path can be routed.
  var isValid: Bool { path.utf8.first == UInt8(ascii: "/") || path == "*" }

  private static func lengthOfPath(_ target: Substring) -> Int {
    let questionMark = UInt8(ascii: "?")
    let length = target.utf8.withContiguousStorageIfAvailable { bytes in
      bytes.firstIndex(of: questionMark) ?? bytes.count
    }
    return length ?? target.utf8.prefix { $0 != questionMark }.count
  }

  /// Returns the part after `http://` or `https://`; `nil` for another form.
  private static func afterScheme(of target: Substring) -> Substring? {
    let start = target.prefix(8).lowercased()
    if start.hasPrefix("http://") { return target[target.utf8.index(target.startIndex, offsetBy: 7)...] }
    if start.hasPrefix("https://") { return target[target.utf8.index(target.startIndex, offsetBy: 8)...] }
    return nil
  }
}
