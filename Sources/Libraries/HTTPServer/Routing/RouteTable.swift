import Basics
import NIOHTTP1

/// The routes of a router, by the templates of their paths.
struct RouteTable: Sendable {
  private struct Entry: Sendable {
    let template: RouteTemplate
    var routes: [Route] = []
    var allow = ""

    func route(for method: HTTPMethod) -> Route? {
      if let route = routes.first(where: { $0.method == method }) { return route }
      guard method == .HEAD else { return nil }
      return routes.first { $0.method == .GET }
    }
  }

  /// The entries. Those without parameters come first; those with follow in the order in which they are tried.
  private var entries: [Entry] = []
  private var exactCount = 0

  /// For each literal first segment, the indices of the entries with parameters that can match a path that begins with
  /// it, in the order in which they are tried.
  private var indicesByFirstSegment: [ExactText: [Int]] = [:]

  /// The indices of the entries whose first segment is a parameter, in the order in which they are tried.
  private var indicesOfAnyFirstSegment: [Int] = []

  /// The routes, by which those of other tables are told apart.
  private let routes: Set<ObjectIdentifier>

  /// Creates a table of routes; no two may have the same method and template.
  init(_ routes: [Route]) {
    self.routes = Set(routes.map { ObjectIdentifier($0) })
    for route in routes { insert(route) }
    let others = exactCount..<entries.count
    indicesOfAnyFirstSegment = others.filter { entries[$0].template.firstLiteral == nil }
    for literal in Set(others.compactMap { entries[$0].template.firstLiteral }) {
      indicesByFirstSegment[literal] = others.filter { (entries[$0].template.firstLiteral ?? literal) == literal }
    }
  }

  private mutating func insert(_ route: Route) {
    let template = RouteTemplate(route.template)
    let index: Int
    if let found = entries.firstIndex(where: { $0.template.text == template.text }) {
      index = found
    } else if template.isExact {
      index = exactCount
      exactCount += 1
      entries.insert(Entry(template: template), at: index)
    } else {
      index = entries[exactCount...].firstIndex { template.precedes($0.template) } ?? entries.endIndex
      entries.insert(Entry(template: template), at: index)
    }
    precondition(
      !entries[index].routes.contains { $0.method == route.method },
      "\(route.method.rawValue) \(template.text) has two handlers"
    )
    entries[index].routes.append(route)
    entries[index].allow = Self.allow(entries[index].routes)
  }

  private static func allow(_ routes: [Route]) -> String {
    var names = Set(routes.map(\.method.rawValue))
    if names.contains("GET") { names.insert("HEAD") }
    names.insert("OPTIONS")
    return names.sorted().joined(separator: ", ")
  }

  /// Returns a Boolean value that indicates whether a route is one of the table.
  func contains(_ route: Route) -> Bool { routes.contains(ObjectIdentifier(route)) }

  // MARK: Matching

  /// Returns the route of a request and the parameters in its path; `nil` if the request is to be rejected.
  func match(_ request: HTTPRequest) -> (route: Route, parameters: PathParameters)? {
    let path = request.path
    let hasEscapes = Self.hasEscapes(path)
    guard let (index, parameters) = find(path, hasEscapes: hasEscapes),
      let route = entries[index].route(for: request.method),
      (try? request.body.limited(by: route.bodyLimit).checkAnnouncedLength()) != nil
    else { return nil }
    guard hasEscapes else { return (route, parameters) }
    return (try? parameters.decoded()).map { (route, $0) }
  }

  /// Returns the first entry that matches a path. Of the templates without parameters, only those of the same length
  /// are compared; of those with parameters, only those that begin with the same segment, unless the path has escapes.
  private func find(_ path: Substring, hasEscapes: Bool) -> (index: Int, parameters: PathParameters)? {
    if let index = indexOfExact(path) { return (index, .none) }
    if hasEscapes { return firstMatch(of: path, among: entries.indices, hasEscapes: true) }
    let candidates = indicesByFirstSegment[RouteTemplate.firstSegment(of: path)] ?? indicesOfAnyFirstSegment
    return firstMatch(of: path, among: candidates, hasEscapes: false)
  }

  private func indexOfExact(_ path: Substring) -> Int? {
    path.utf8.withContiguousBytes { path in
      // By index: a loop over the entries would copy each.
      for index in 0..<exactCount where entries[index].template.text.utf8.count == path.count {
        if entries[index].template.text.utf8.withContiguousBytes({ Self.areEqual($0, path) }) { return index }
      }
      return nil
    }
  }

  /// Returns a Boolean value that indicates whether buffers of one length have the same bytes.
  private static func areEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
    for index in left.indices where left[index] != right[index] { return false }
    return true
  }

  private static func hasEscapes(_ path: Substring) -> Bool {
    path.utf8.withContiguousBytes { $0.firstIndex(of: UInt8(ascii: "%"), from: 0) != nil }
  }

  private func firstMatch(
    of path: Substring, among indices: some Sequence<Int>, hasEscapes: Bool
  ) -> (index: Int, parameters: PathParameters)? {
    for index in indices {
      if let parameters = entries[index].template.match(path, hasEscapes: hasEscapes) { return (index, parameters) }
    }
    return nil
  }

  // MARK: Requests without a route

  /// Returns the value of `Allow` in the response to OPTIONS, or the problem, of a request for which ``match(_:)``
  /// finds no route, and the template of its path, if there is one.
  func rejection(of request: HTTPRequest) -> (template: String?, result: Result<String, Problem>) {
    let path = request.path
    let hasEscapes = Self.hasEscapes(path)
    guard let (index, parameters) = find(path, hasEscapes: hasEscapes) else {
      if request.method == .OPTIONS, path == "*" { return (nil, .success(Self.allow(entries.flatMap(\.routes)))) }
      guard !hasEscapes || PercentEncoding.decode(path) != nil else {
        return (nil, .failure(.invalidParameter("path", "must be percent-encoded UTF-8")))
      }
      return (nil, .failure(.notFound("nothing is at this path")))
    }
    let (template, allow) = (entries[index].template.text, entries[index].allow)
    guard let route = entries[index].route(for: request.method) else {
      return (
        template,
        request.method == .OPTIONS ? .success(allow) : .failure(.methodNotAllowed(request.method, allow: allow))
      )
    }
    do throws(HTTPBodyError) {
      try request.body.limited(by: route.bodyLimit).checkAnnouncedLength()
    } catch {
      return (template, .failure(error.problem))
    }
    do throws(Problem) {
      _ = try parameters.decoded()
    } catch {
      return (template, .failure(error))
    }
    preconditionFailure("a request that has a route is not rejected")
  }
}

extension HTTPRequestBody {
  func limited(by limit: Route.BodyLimit) -> HTTPRequestBody {
    var body = self
    switch limit {
    case .serverDefault: break
    case .bytes(let count): body.limit = count
    case .unlimited: body.limit = nil
    }
    return body
  }
}

extension Problem {
  fileprivate static func methodNotAllowed(_ method: HTTPMethod, allow: String) -> Problem {
    Problem(
      .methodNotAllowed,
      code: "method-not-allowed",
      detail: "\(method.rawValue) is not among the methods of this path: \(allow)",
      headers: ["allow": allow]
    )
  }
}

extension RouteTemplate {
  /// Returns a Boolean value that indicates whether this template is tried before the other: where they first differ, a
  /// literal segment takes precedence.
  fileprivate func precedes(_ other: RouteTemplate) -> Bool {
    for (mine, others) in zip(segments, other.segments) {
      switch (mine, others) {
      case (.literal, .parameter): return true
      case (.parameter, .literal): return false
      default: continue
      }
    }
    return false
  }
}
