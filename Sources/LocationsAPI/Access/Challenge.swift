import HTTPServer
import NIOHTTP1

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
      realm + ", error=\"insufficient_scope\", scope=\"\(scope.rawValue)\""
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
