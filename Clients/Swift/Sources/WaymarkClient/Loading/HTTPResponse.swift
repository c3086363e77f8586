import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A response as received over the network.
struct HTTPResponse: Sendable {
  let status: Int
  let body: Data

  /// The URL of the request.
  let url: URL?

  private let fields: [String: String]

  /// Creates a response. The names of its header fields are case-insensitive.
  init(status: Int, url: URL?, fields: [String: String], body: Data) {
    self.status = status
    self.body = body
    self.url = url
    self.fields = Dictionary(fields.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { $0 + ", " + $1 })
  }

  /// Creates a response from Foundation's.
  init(_ response: HTTPURLResponse, body: Data) {
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields { fields[name] = value }
    self.init(status: response.statusCode, url: response.url, fields: fields, body: body)
  }

  /// The value of a header field, by its name in lower case.
  subscript(_ name: String) -> String? { fields[name] }

  /// The identifier of the request.
  var requestID: String? { self["x-request-id"] }

  /// The position of the data in the service's history.
  var position: String? { self["waymark-position"] }

  /// The time in seconds since the response was current, if the service or a proxy says so.
  var age: TimeInterval? { self["age"].flatMap { CalendarDate.number($0.utf8) }.map(TimeInterval.init) }

  var isSuccess: Bool { (200...299).contains(status) }

  /// Returns the reason to believe that something between the app and the service responded, such as the sign-in page
  /// of a network; `nil` if there is none.
  ///
  /// The service responds with what a request accepts, so that a successful response in HTML is another server's. An
  /// error in HTML may be that of a proxy of the service.
  func interception(of request: URLRequest) -> String? {
    if status == 407 || status == 511 { return "status \(status)" }
    guard isSuccess, let mediaType, ["text/html", "application/xhtml+xml"].contains(mediaType),
      let accepted = request.value(forHTTPHeaderField: "Accept")?.lowercased(), !accepted.contains("html"),
      !accepted.contains("*/*")
    else { return nil }
    return "status \(status) with \(mediaType)"
  }

  /// The media type in lower case, without parameters.
  var mediaType: String? {
    self["content-type"]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
  }

  var entityTag: EntityTag? {
    guard let text = self["etag"] else { return nil }
    let tag = EntityTag(rawValue: text)
    return tag.isWellFormed ? tag : nil
  }

  /// The URL of the next page.
  var nextPage: URL? {
    self["link"].flatMap { LinkHeader.target(of: "next", in: $0) }
      .flatMap { URL(string: $0, relativeTo: url)?.absoluteURL }
  }

  /// The remaining freshness lifetime in seconds (RFC 9111, sections 5.2.2.1 and 5.1).
  var maxAge: TimeInterval? {
    guard let text = cacheDirectives["max-age"], let seconds = CalendarDate.number(text.utf8) else { return nil }
    let age = self["age"].flatMap { CalendarDate.number($0.utf8) } ?? 0
    return TimeInterval(max(0, seconds - age))
  }

  /// A Boolean value that indicates whether the response must not be stored.
  var forbidsStoring: Bool { cacheDirectives["no-store"] != nil }

  private var cacheDirectives: [String: String] {
    let directives = (self["cache-control"] ?? "").split(separator: ",").map { directive in
      let parts = directive.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      return (parts.first?.lowercased() ?? "", parts.count == 2 ? parts[1] : "")
    }
    return Dictionary(directives, uniquingKeysWith: { first, _ in first })
  }
}

/// Dates in header fields (RFC 9110, section 5.6.7), in the only format that is still sent.
enum HTTPDate {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns the date of a text such as `Sun, 06 Nov 1994 08:49:37 GMT`; `nil` where it is malformed.
  static func date(from text: String) -> Date? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT",
      let month = months.firstIndex(of: String(parts[2])),
      let day = CalendarDate.number(parts[1].utf8), let year = CalendarDate.number(parts[3].utf8)
    else { return nil }
    let time = parts[4].split(separator: ":").compactMap { CalendarDate.number($0.utf8) }
    guard time.count == 3 else { return nil }
    return CalendarDate.moment(
      year: year, month: month + 1, day: day, hour: time[0], minute: time[1], second: time[2])
  }
}
