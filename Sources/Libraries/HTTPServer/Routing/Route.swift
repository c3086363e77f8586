import Basics
public import NIOHTTP1

/// The declaration of a route: the requests that it matches, the limit of their bodies, and its handler.
///
/// It is a reference, so that a request carries its route as one pointer.
public final class Route: Sendable {
  /// The method. A route of `GET` also matches requests of `HEAD`.
  public let method: HTTPMethod

  /// The paths, with parameters in braces: `/items/{id}`.
  public let template: String

  /// The access that the sender must have; `nil` if the route is open to everyone.
  public let scope: AccessScope?

  /// The limit of a request's body.
  public let bodyLimit: BodyLimit

  let handler: any RouteHandler

  /// A limit of the length of a request's body.
  public enum BodyLimit: Sendable {
    /// The server's limit.
    case serverDefault
    /// A number of bytes.
    case bytes(Int)
    /// No limit, for a body that is processed in chunks.
    case unlimited
  }

  package init(
    _ method: HTTPMethod,
    _ template: String,
    scope: AccessScope? = nil,
    bodyLimit: BodyLimit = .serverDefault,
    handler: any RouteHandler
  ) {
    self.method = method
    self.template = template
    self.scope = scope
    self.bodyLimit = bodyLimit
    self.handler = handler
  }
}

/// A type that responds to the requests of a route.
public protocol RouteHandler: Sendable {
  /// Returns the response if nothing has to be waited for; by default `nil`, which has ``respond(to:)`` called. See
  /// ``HTTPResponder/respondAtOnce(to:)``.
  ///
  /// - Throws: a ``Problem``, which is the response.
  func respondAtOnce(to request: HTTPRequest) throws(Problem) -> HTTPResponse?

  /// Responds to a request. The values of the template's parameters are in ``HTTPRequest/pathParameters``.
  ///
  /// - Throws: a ``Problem`` or ``HTTPBodyError``, which is the response. Any other error is logged with the request's
  ///   id, and the response is 500 `internal`.
  nonisolated(nonsending) func respond(to request: HTTPRequest) async throws -> HTTPResponse
}

extension RouteHandler {
  /// Returns `nil`.
  public func respondAtOnce(to request: HTTPRequest) throws(Problem) -> HTTPResponse? { nil }
}

/// A level of access to a service. It includes the lower ones.
public struct AccessScope: Hashable, Comparable, Sendable, CustomStringConvertible {
  private let name: StaticString
  /// The place among the levels, by which scopes are compared; no two scopes have the same.
  private let level: Int

  package init(_ name: StaticString, level: Int) {
    self.name = name
    self.level = level
  }

  /// Reading.
  package static let read = AccessScope("read", level: 0)
  /// Changing.
  package static let write = AccessScope("write", level: 20)
  /// Everything.
  package static let admin = AccessScope("admin", level: 30)

  /// The scopes of every service, in ascending order.
  package static let common = [read, write, admin]

  /// The name, which keys, tokens and descriptions of calls have.
  public var description: String { name.description }

  public static func == (left: AccessScope, right: AccessScope) -> Bool { left.level == right.level }

  /// Returns a Boolean value that indicates whether the left scope includes less than the right one.
  public static func < (left: AccessScope, right: AccessScope) -> Bool { left.level < right.level }

  public func hash(into hasher: inout Hasher) { hasher.combine(level) }
}

/// The form of a route's paths: `/items/{id}`.
struct RouteTemplate: Sendable {
  enum Segment: Sendable, Equatable {
    /// The bytes of the decoded segment.
    case literal([UInt8])
    /// Any segment with this ending that is not empty without it, by its name.
    case parameter(String, suffix: String)
  }

  let text: String
  let segments: [Segment]

  /// The first segment; `nil` if it is a parameter.
  var firstLiteral: ExactText? {
    guard case .literal(let bytes)? = segments.first else { return nil }
    return ExactText(String(decoding: bytes, as: UTF8.self))
  }

  /// Creates a template from text that begins with `/`, in which a segment is either literal or a name in braces, with
  /// an ending behind it or without: `{y}.mvt`.
  init(_ text: String) {
    precondition(text.utf8.first == UInt8(ascii: "/"), "a route's template must begin with a slash: \(text)")
    self.text = text
    self.segments = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { segment in
      guard segment.first == "{", let end = segment.firstIndex(of: "}") else { return .literal(Array(segment.utf8)) }
      return .parameter(
        String(segment[..<end].dropFirst()), suffix: String(segment[segment.index(after: end)...]))
    }
  }

  var isExact: Bool {
    segments.allSatisfy { if case .literal = $0 { true } else { false } }
  }

  static func firstSegment(of path: Substring) -> ExactText {
    let rest = path.utf8.dropFirst()
    return ExactText(String(Substring(rest[..<(rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex)])))
  }

  /// Returns the parameters of a path, percent-encoded as in the path; `nil` if the path does not match.
  ///
  /// - Parameter path: a percent-encoded path. Literal segments are compared decoded where the path holds a `%`.
  func match(_ path: Substring, hasEscapes: Bool) -> PathParameters? {
    var values: [(name: String, value: Substring)] = []
    let utf8 = path.utf8
    guard utf8.first == UInt8(ascii: "/") else { return nil }
    var start = utf8.index(after: utf8.startIndex)
    for (index, segment) in segments.enumerated() {
      let end = utf8[start...].firstIndex(of: UInt8(ascii: "/")) ?? utf8.endIndex
      switch segment {
      case .literal(let literal):
        guard Self.equal(path[start..<end], literal, hasEscapes: hasEscapes) else { return nil }
      case .parameter(let name, let suffix):
        let value = path[start..<end]
        guard value.utf8.count > suffix.utf8.count,
          suffix.isEmpty || value.utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
        else { return nil }
        values.append((name, Substring(value.utf8.dropLast(suffix.utf8.count))))
      }
      let isLast = index == segments.count - 1
      guard isLast == (end == utf8.endIndex) else { return nil }
      start = isLast ? end : utf8.index(after: end)
    }
    return PathParameters(values)
  }

  private static func equal(_ segment: Substring, _ literal: [UInt8], hasEscapes: Bool) -> Bool {
    if segment.utf8.elementsEqual(literal) { return true }
    guard hasEscapes, let decoded = PercentEncoding.decode(segment) else { return false }
    return decoded.utf8.elementsEqual(literal)
  }
}

/// The values of the parameters in a path.
public struct PathParameters: Sendable {
  static let none = PathParameters([])

  private let values: [(name: String, value: Substring)]

  fileprivate init(_ values: [(name: String, value: Substring)]) {
    self.values = values
  }

  /// Creates parameters, for handlers that are called in process.
  package init(_ values: KeyValuePairs<String, String>) {
    self.values = values.map { (name: $0.key, value: $0.value[...]) }
  }

  /// The value of a parameter, percent-decoded and never empty. The route's template must have the parameter.
  public subscript(name: String) -> String {
    guard let value = values.first(where: { $0.name == name }) else {
      preconditionFailure("the route's template has no parameter \(name)")
    }
    return String(value.value)
  }

  /// Returns the percent-decoded parameters.
  ///
  /// - Throws: 400 `invalid-parameter` where a value is not percent-encoded UTF-8, or has a NUL character, which nothing
  ///   that a path names has and PostgreSQL rejects.
  func decoded() throws(Problem) -> PathParameters {
    var decoded: [(name: String, value: Substring)] = []
    for (name, rawValue) in values {
      guard let value = PercentEncoding.decode(rawValue) else {
        throw .invalidParameter(name, "must be percent-encoded UTF-8")
      }
      guard !value.utf8.contains(0) else { throw .invalidParameter(name, "must not contain a NUL character") }
      decoded.append((name, value[...]))
    }
    return PathParameters(decoded)
  }
}
