/// Why a token proves nothing.
enum TokenRejection: Error, Hashable, CaseIterable, CustomStringConvertible {
  case malformed
  case unknownKey
  case wrongAlgorithm
  case badSignature
  case expired
  case notYetValid
  case wrongIssuer
  case wrongAudience
  case incompleteClaims
  case noScope

  /// What the client is told: ASCII without quotes, for it stands in a header field too.
  var description: String {
    switch self {
    case .malformed: "the token is not a JSON Web Token that can be read here"
    case .unknownKey: "the token is signed with a key that is not known"
    case .wrongAlgorithm: "the token names another algorithm than its key is for"
    case .badSignature: "the signature of the token is not valid"
    case .expired: "the token has expired"
    case .notYetValid: "the token is not valid yet"
    case .wrongIssuer: "the token is of another issuer"
    case .wrongAudience: "the token is for another audience"
    case .incompleteClaims: "the token needs the claims iss, aud, sub and exp, each of its right type"
    case .noScope: "the token has none of the scopes read, write and admin"
    }
  }
}
