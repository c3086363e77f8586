/// What caches are told of the answers.
public struct CachePolicy: Sendable {
  /// The directives of `Cache-Control` on lists, single places and categories where nothing else is said: an answer may
  /// be kept, and is asked about each time before it is used again.
  public static let defaultDirectives = "no-cache"

  /// The value of `Cache-Control` on lists, single places and categories.
  let cacheControl: String

  /// Whether an answer is for its requester alone, because reading needs a key.
  let isPrivate: Bool

  /// Whether nothing may be kept, so that nothing is named for later either.
  let isOff: Bool

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - directives: the directives of `Cache-Control`, such as `max-age=5, stale-if-error=60`; `no-store` has nothing
  ///     be kept, and no entity tags be sent of lists.
  ///   - readsNeedKey: whether reading needs a key: then answers are `private`, and differ by `Authorization`.
  public init(directives: String = defaultDirectives, readsNeedKey: Bool = false) {
    var names = directives.split(separator: ",").map { $0.drop { $0 == " " || $0 == "\t" } }
    isOff = names.contains { $0.lowercased().hasPrefix("no-store") }
    isPrivate = readsNeedKey
    if readsNeedKey {
      names.removeAll { ["public", "private"].contains($0.lowercased()) }
      names.insert("private", at: 0)
    }
    cacheControl = names.joined(separator: ", ")
  }

  /// `Cache-Control` of an answer that holds for so many seconds.
  func cacheControl(maximumAgeSeconds seconds: Int64) -> String {
    isOff ? cacheControl : "\(isPrivate ? "private" : "public"), max-age=\(seconds)"
  }

  /// The value of `Vary` of an answer that differs by these fields of the request.
  func vary(by fields: String) -> String { isPrivate ? "\(fields), authorization" : fields }

  /// Whether a text may be given as directives (RFC 9111, section 5.2): names, some with `=` and a token or a quoted
  /// string, with commas between. A directive that is a time has whole seconds, up to 2^31 (RFC 9111, section 1.2.2).
  public static func areDirectives(_ text: String) -> Bool {
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

  /// Returns whether a directive that is known has the value it needs; any value, or none, may follow another name.
  private static func isDirective(_ name: Substring, value: Substring?) -> Bool {
    let name = name.lowercased()
    if switches.contains(name) { return value == nil }
    guard times.contains(name) else { return true }
    // Between quotation marks too, which a recipient is to accept (section 5.2).
    guard let digits = value?.wholeMatch(of: /"?([0-9]+)"?/)?.1, let seconds = Int(digits) else { return false }
    return seconds <= 1 << 31
  }
}
