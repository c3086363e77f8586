import HTTPServer
import NIOHTTP1

/// What a request carries to prove whose it is, as `Authorization: Bearer` (RFC 6750, section 2.1).
enum Credential: Hashable {
  /// An API key, or what is meant to be one.
  case key(Substring)
  /// A JSON Web Token: it has two dots, and does not begin like the keys that are made here.
  case token(Substring)

  /// Reads it; `nil` where there is none.
  ///
  /// - Throws: `Problem` 401 where the field is not one that can be read.
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
