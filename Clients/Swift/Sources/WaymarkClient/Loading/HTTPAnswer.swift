import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An answer as it came over the network.
struct HTTPAnswer: Sendable {
  let status: Int
  let body: Data

  /// What was asked for.
  let url: URL?

  private let fields: [String: String]

  /// Takes an answer; the names of its header fields are compared without case.
  init(status: Int, url: URL?, fields: [String: String], body: Data) {
    self.status = status
    self.body = body
    self.url = url
    self.fields = Dictionary(fields.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { $0 + ", " + $1 })
  }

  /// Takes an answer of Foundation's.
  init(_ response: HTTPURLResponse, body: Data) {
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields { fields[name] = value }
    self.init(status: response.statusCode, url: response.url, fields: fields, body: body)
  }

  /// The value of a header field, by its name in lower case.
  subscript(_ name: String) -> String? { fields[name] }

  var isSuccess: Bool { (200...299).contains(status) }

  /// The media type in lower case, without parameters.
  var mediaType: String? {
    self["content-type"]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
  }

  var entityTag: EntityTag? {
    guard let text = self["etag"] else { return nil }
    let tag = EntityTag(rawValue: text)
    return tag.isWellFormed ? tag : nil
  }

  /// Where the next page is.
  var nextPage: URL? {
    self["link"].flatMap { LinkHeader.target(of: "next", in: $0) }
      .flatMap { URL(string: $0, relativeTo: url)?.absoluteURL }
  }

  /// How many seconds longer it is good for (RFC 9111, sections 5.2.2.1 and 5.1).
  var maxAge: TimeInterval? {
    guard let text = cacheDirectives["max-age"], let seconds = CalendarDate.number(text.utf8) else { return nil }
    let age = self["age"].flatMap { CalendarDate.number($0.utf8) } ?? 0
    return TimeInterval(max(0, seconds - age))
  }

  /// Whether nobody may keep it.
  var isNotToBeStored: Bool { cacheDirectives["no-store"] != nil }

  private var cacheDirectives: [String: String] {
    let directives = (self["cache-control"] ?? "").split(separator: ",").map { directive in
      let parts = directive.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      return (parts.first?.lowercased() ?? "", parts.count == 2 ? parts[1] : "")
    }
    return Dictionary(directives, uniquingKeysWith: { first, _ in first })
  }
}
