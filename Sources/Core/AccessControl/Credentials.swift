import Basics
import Crypto
package import HTTPServer
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
  init?(_ headers: RequestFields) throws(Problem) {
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

/// The access of an authenticated sender.
package struct Grant: Hashable, Sendable {
  let principal: Principal
  let scope: AccessScope

  /// The credential in words, for problems: `the API key 'ci'`.
  let evidence: String

  package init(principal: Principal, scope: AccessScope, evidence: String) {
    self.principal = principal
    self.scope = scope
    self.evidence = evidence
  }

  /// Returns the sender, if its access includes the scope.
  ///
  /// - Throws: `Problem` 403 `forbidden`.
  func principal(for scope: AccessScope) throws(Problem) -> Principal {
    guard self.scope >= scope else {
      throw .forbidden(
        "\(evidence) has the scope \(self.scope), but this call needs \(scope)",
        challenge: .insufficientScope(scope))
    }
    return principal
  }
}

extension Principal {
  init(name: String) {
    self.init(name: name, namespace: name)
  }

  /// Creates the principal of a token's subject. No name of an API key begins with a tilde, so that the namespaces
  /// differ.
  package init(subject: String) {
    self.init(name: subject, namespace: "~" + Base64URL.encode(Array(SHA256.hash(data: Array(subject.utf8)))))
  }
}

/// The challenge of `WWW-Authenticate` with a rejection (RFC 6750, section 3).
enum Challenge {
  /// The call needs a key or a token.
  case required
  /// The credentials are malformed.
  case invalidRequest
  /// The credentials are not valid.
  case invalidToken(String)
  /// The credentials grant less access.
  case insufficientScope(AccessScope)

  /// The field's value. Descriptions are ASCII without quotes and backslashes.
  var field: String {
    let realm = "Bearer realm=\"waymark\""
    return switch self {
    case .required: realm
    case .invalidRequest: realm + ", error=\"invalid_request\""
    case .invalidToken(let description):
      realm + ", error=\"invalid_token\", error_description=\"\(description)\""
    case .insufficientScope(let scope):
      realm + ", error=\"insufficient_scope\", scope=\"\(scope)\""
    }
  }
}

extension Problem {
  /// 401 `unauthenticated` with a challenge (RFC 9110, section 11.6.1).
  static func unauthenticated(_ detail: String, challenge: Challenge) -> Problem {
    Problem(
      .unauthorized, code: "unauthenticated", detail: detail, headers: ["www-authenticate": challenge.field])
  }

  /// 403 `forbidden`, with a challenge where other credentials would help.
  static func forbidden(_ detail: String, challenge: Challenge? = nil) -> Problem {
    Problem(
      .forbidden, code: "forbidden", detail: detail,
      headers: challenge.map { ["www-authenticate": $0.field] } ?? [:])
  }
}
