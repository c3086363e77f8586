import HTTPServer
import NIOHTTP1

/// The credentials of a request: `Authorization: Bearer` (RFC 6750, section 2.1).
enum Credential: Hashable {
  /// An API key, valid or not.
  case key(Substring)
  /// A JSON Web Token: it has two dots, and does not begin like this service's keys.
  case token(Substring)

  /// Creates the credentials from header fields; `nil` where there are none.
  ///
  /// - Throws: `Problem` 401 where the field is malformed.
  init?(_ headers: HTTPHeaders) throws(Problem) {
    let values = headers["authorization"]
    guard let value = values.first else { return nil }
    let parts = value.split(separator: " ", maxSplits: 1)
    guard values.count == 1, parts.count == 2, parts[0].lowercased() == "bearer" else {
      throw .unauthenticated("Authorization must be 'Bearer' and an API key or a token", challenge: .invalidRequest)
    }
    let text = parts[1].drop { $0 == " " }
    let isToken = !text.hasPrefix("wm_") && text.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 2
    self = isToken ? .token(text) : .key(text)
  }
}
