/// The form of the paths that a route answers: `/locations/{id}`.
struct RouteTemplate: Sendable {
  enum Segment: Sendable, Equatable {
    /// Bytes that must be the same once decoded.
    case literal([UInt8])
    /// Any segment that is not empty.
    case parameter(String)
  }

  /// The template as it was written.
  let text: String

  /// What stands between the slashes.
  let segments: [Segment]

  /// Reads a template: it begins with `/`, and a segment is either literal text or a name in braces.
  init(_ text: String) {
    precondition(text.utf8.first == UInt8(ascii: "/"), "a route's template must begin with a slash: \(text)")
    self.text = text
    self.segments = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { segment in
      guard segment.first == "{", segment.last == "}" else { return .literal(Array(segment.utf8)) }
      return .parameter(String(segment.dropFirst().dropLast()))
    }
  }

  /// Whether there are no parameters.
  var isExact: Bool {
    segments.allSatisfy { if case .literal = $0 { true } else { false } }
  }

  /// The raw values of the parameters where the path is of this form, else `nil`.
  ///
  /// - Parameter path: a percent-encoded path. Literal segments are compared decoded where the path holds a `%`.
  func match(_ path: Substring, hasEscapes: Bool) -> [(name: String, rawValue: Substring)]? {
    var values: [(name: String, rawValue: Substring)] = []
    let utf8 = path.utf8
    guard utf8.first == UInt8(ascii: "/") else { return nil }
    var start = utf8.index(after: utf8.startIndex)
    for (index, segment) in segments.enumerated() {
      let end = utf8[start...].firstIndex(of: UInt8(ascii: "/")) ?? utf8.endIndex
      switch segment {
      case .literal(let literal):
        guard Self.equal(path[start..<end], literal, hasEscapes: hasEscapes) else { return nil }
      case .parameter(let name):
        guard start < end else { return nil }
        values.append((name, path[start..<end]))
      }
      let isLast = index == segments.count - 1
      guard isLast == (end == utf8.endIndex) else { return nil }
      start = isLast ? end : utf8.index(after: end)
    }
    return values
  }

  private static func equal(_ segment: Substring, _ literal: [UInt8], hasEscapes: Bool) -> Bool {
    if segment.utf8.elementsEqual(literal) { return true }
    guard hasEscapes, let decoded = PercentEncoding.decode(segment) else { return false }
    return decoded.utf8.elementsEqual(literal)
  }
}
