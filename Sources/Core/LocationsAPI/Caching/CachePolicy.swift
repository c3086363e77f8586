import AccessControl
import Basics
package import HTTPServer
import NIOHTTP1
import Points

/// The directives for caches of responses.
package struct CachePolicy: Sendable {
  /// The default directives of `Cache-Control` on lists, single places and categories: a response may be kept, and is
  /// revalidated each time before it is used again.
  package static let defaultDirectives = "no-cache"

  /// The value of `Cache-Control` on lists, single places and categories.
  private(set) var cacheControl: String

  /// A Boolean value that indicates whether a response is for its sender alone, because reading needs a key.
  let isPrivate: Bool

  /// A Boolean value that indicates whether another sender may get another response.
  private var variesBySender: Bool

  /// A Boolean value that indicates whether nothing may be kept, so that responses get no entity tags either.
  package let isOff: Bool

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - directives: the directives of `Cache-Control`, such as `max-age=5, stale-if-error=60`; with `no-store` nothing
  ///     is kept, and lists have no entity tags.
  ///   - readsNeedKey: a Boolean value that indicates whether reading needs a key: then responses are `private`, and
  ///     vary by `Authorization`.
  package init(directives: String = defaultDirectives, readsNeedKey: Bool = false) {
    var names = directives.split(separator: ",").map { $0.drop { $0 == " " || $0 == "\t" } }
    isOff = names.contains { $0.lowercased().hasPrefix("no-store") }
    isPrivate = readsNeedKey
    variesBySender = readsNeedKey
    if readsNeedKey {
      names.removeAll { ["public", "private"].contains($0.lowercased()) }
      names.insert("private", at: 0)
    }
    cacheControl = names.joined(separator: ", ")
  }

  /// The policy of responses that are for their sender alone.
  var madePrivate: CachePolicy { CachePolicy(directives: cacheControl, readsNeedKey: true) }

  /// The policy of responses that senders without further access get, while others get another one.
  var madeVaryingBySender: CachePolicy {
    var policy = self
    policy.variesBySender = true
    return policy
  }

  /// Returns the policy of responses that may be used again for a few seconds without revalidation.
  func allowing(maximumAgeSeconds seconds: Int64) -> CachePolicy {
    var policy = self
    policy.cacheControl = cacheControl(maximumAgeSeconds: seconds)
    return policy
  }

  /// Returns `Cache-Control` of a response that is valid for a number of seconds.
  func cacheControl(maximumAgeSeconds seconds: Int64) -> String {
    isOff ? cacheControl : "\(isPrivate ? "private" : "public"), max-age=\(seconds)"
  }

  /// Has the fields of a response end at a time: `Expires` has it, and no directive allows a use after it.
  ///
  /// - Parameter minute: the time in minutes since 1970-01-01T00:00:00Z; `nil` or ``Expiry/never`` for no end.
  func expire(_ fields: inout HTTPHeaders, at minute: Int64?, now: @autoclosure () -> Timestamp) {
    guard let minute, minute < Expiry.never, !isOff else { return }
    let seconds = max(minute * 60 - now().secondsSinceEpoch, 0)
    fields.replaceOrAdd(name: "expires", value: HTTPDate.text(secondsSinceEpoch: Int(minute * 60)))
    guard let directives = fields.first(name: "cache-control") else { return }
    let limited = directives.split(separator: ",").compactMap { directive -> String? in
      let directive = directive.drop { $0 == " " || $0 == "\t" }
      let parts = directive.split(separator: "=", maxSplits: 1)
      switch parts.first?.lowercased() {
      case "max-age", "s-maxage":
        let age = parts.dropFirst().first.flatMap { Int64($0.filter { $0 != "\"" }) } ?? 0
        return "\(parts[0])=\(min(age, seconds))"
      case "stale-while-revalidate", "immutable": return nil
      default: return String(directive)
      }
    }
    fields.replaceOrAdd(name: "cache-control", value: limited.joined(separator: ", "))
  }

  /// The value of `Vary` on responses that may be kept.
  var vary: String { variesBySender ? "accept, accept-encoding, authorization" : "accept, accept-encoding" }

  /// Returns a Boolean value that indicates whether a text is a list of directives (RFC 9111, section 5.2): names, some
  /// with `=` and a token or a quoted string, separated by commas. A directive that is a time has whole seconds, up to
  /// 2^31 (RFC 9111, section 1.2.2).
  package static func areDirectives(_ text: String) -> Bool {
    let directive = /[ \t]*([A-Za-z][A-Za-z0-9\-]*)(?:=([A-Za-z0-9._\-]+|"[A-Za-z0-9 ,_\-]*"))?[ \t]*/
    var rest = ","[...] + text
    while rest.first == ",", let next = rest.dropFirst().prefixMatch(of: directive) {
      guard isDirective(next.1, value: next.2) else { return false }
      rest = rest[next.range.upperBound...]
    }
    return rest.isEmpty
  }

  private static let times: Set = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"]

  private static let switches: Set = [
    "no-store", "no-transform", "must-revalidate", "must-understand", "proxy-revalidate", "public", "immutable",
  ]

  /// Returns a Boolean value that indicates whether a known directive has the value it needs; any value, or none, may
  /// follow another name.
  private static func isDirective(_ name: Substring, value: Substring?) -> Bool {
    let name = name.lowercased()
    if switches.contains(name) { return value == nil }
    guard times.contains(name) else { return true }
    // Quotation marks are accepted too, as a recipient must (section 5.2).
    guard let digits = value?.wholeMatch(of: /"?([0-9]+)"?/)?.1, let seconds = Int(digits) else { return false }
    return seconds <= 1 << 31
  }
}

extension HTTPResponse {
  /// Adds `Cache-Control` and `Vary`, and `ETag` if there is one.
  ///
  /// - Parameter seconds: the time for which the response is valid; `nil` for the policy's own directives.
  package mutating func addCaching(by policy: CachePolicy, maximumAgeSeconds seconds: Int64? = nil, etag: String? = nil)
  {
    if let etag { headers.add(name: "etag", value: etag) }
    headers.add(
      name: "cache-control",
      value: seconds.map { policy.cacheControl(maximumAgeSeconds: $0) } ?? policy.cacheControl)
    headers.add(name: "vary", value: policy.vary)
  }

  /// The response with `Cache-Control: no-store`.
  package var uncacheable: HTTPResponse {
    var response = self
    response.headers.add(name: "cache-control", value: "no-store")
    return response
  }
}

/// A middleware that relates reads to writes by positions of the store.
///
/// - The response to a write has the position after it in `Waymark-Position`.
/// - A read with that value in `Waymark-Min-Position` contains the write, whichever instance it is sent to.
/// - A response from the last confirmed state of the index has an `Age` (RFC 9111, section 5.1).
struct FreshnessMiddleware: Middleware {
  let index: any StoreIndex

  func intercepts(_ request: HTTPRequest) -> Bool {
    switch request.route?.scope {
    case .read: request.minimumPosition != nil || index.staleReads != nil
    case .write: true
    default: false
    }
  }

  nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    do throws(Problem) {
      if let position = request.minimumPosition {
        try await wait(for: position, request)
      } else if request.method == .PATCH, let position = await index.currentPosition() {
        // The fields that a patch does not name are read first.
        try await wait(for: position, request)
      }
    } catch {
      return HTTPResponse(error, rejecting: request)
    }
    // The index may become stale, and current again, while the request is in progress.
    let former = index.staleReads
    var response = await next.respond(to: request)
    if request.route?.scope == .write {
      if response.status.code / 100 == 2, let position = await index.currentPosition() {
        response.headers.add(name: "waymark-position", value: position)
      }
    } else if let reads = index.staleReads, reads.count != former?.count, let time = reads.confirmedAt {
      response.headers.replaceOrAdd(name: "age", value: String((ContinuousClock.now - time).components.seconds))
    }
    return response
  }

  private nonisolated(nonsending) func wait(for position: String, _ request: HTTPRequest) async throws(Problem) {
    let isPosition = try await request.result(of: await index.waitUntilReads(contain: position))
    guard isPosition else {
      throw Problem(
        .badRequest, code: ParameterProblem.invalid.rawValue,
        detail: "the header Waymark-Min-Position must be a value of Waymark-Position, got '\(position.prefix(50))'")
    }
  }
}

extension HTTPRequest {
  /// The position in `Waymark-Min-Position`, without its mark, which the reads of the request must contain; `nil` for
  /// none.
  package var minimumPosition: String? {
    switch route?.scope {
    case .read, .write: headers.first(name: "waymark-min-position").map { PositionText.parts(of: $0).position }
    default: nil
    }
  }
}
