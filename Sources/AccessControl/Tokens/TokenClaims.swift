import HTTPServer
import Basics
import JSONText

/// The claims of a token (RFC 7519, section 4.1) that this service needs.
struct TokenClaims {
  /// The longest subject, in bytes.
  static let maximumSubjectLength = 255

  private let issuer: String
  private let audiences: [String]
  private let subject: String
  private let expires: Double
  private let notBefore: Double?
  private let scopes: [Substring]

  /// Creates the claims from JSON.
  ///
  /// - Throws: ``TokenRejection/incompleteClaims`` where one is missing or of another type.
  init(_ claims: JSONValue) throws(TokenRejection) {
    guard case .string(let issuer)? = claims["iss"], case .string(let subject)? = claims["sub"],
      (1...Self.maximumSubjectLength).contains(subject.utf8.count),
      subject.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }),
      let audiences = Self.texts(claims["aud"]), let expires = Self.seconds(claims["exp"])
    else { throw .incompleteClaims }
    if claims["nbf"] != nil {
      guard let notBefore = Self.seconds(claims["nbf"]) else { throw .incompleteClaims }
      self.notBefore = notBefore
    } else {
      notBefore = nil
    }
    self.issuer = issuer
    self.subject = subject
    self.audiences = audiences
    self.expires = expires
    scopes = ["scope", "scp"].flatMap { name in
      (Self.texts(claims[name]) ?? []).flatMap { $0.split(separator: " ") }
    }
  }

  /// Returns the access that the token grants, if it is of this issuer and for this audience. Whether it is valid now
  /// is checked elsewhere.
  ///
  /// - Throws: ``TokenRejection``.
  func grant(
    issuer: String, audience: String, leewaySeconds: Double
  ) throws(TokenRejection) -> VerifiedToken {
    guard self.issuer.hasSameBytes(as: issuer) else { throw .wrongIssuer }
    guard audiences.contains(where: { $0.hasSameBytes(as: audience) }) else { throw .wrongAudience }
    guard let scope = scopes.compactMap(Self.scope).max() else { throw .noScope }
    return VerifiedToken(
      grant: Grant(principal: Principal(subject: subject), scope: scope, evidence: "the token"),
      validFrom: notBefore.map { $0 - leewaySeconds } ?? -.infinity, validUntil: expires + leewaySeconds)
  }

  /// Returns a scope of this service: `write`, or `waymark:write` where an issuer's scopes are for many services.
  private static func scope(_ text: Substring) -> AccessScope? {
    AccessScope(rawValue: String(text.hasPrefix("waymark:") ? text.dropFirst(8) : text))
  }

  /// Returns a text, or the texts of an array.
  private static func texts(_ value: JSONValue?) -> [String]? {
    switch value {
    case .string(let text)?: return [text]
    case .array(let elements)?:
      var texts: [String] = []
      for element in elements {
        guard case .string(let text) = element else { return nil }
        texts.append(text)
      }
      return texts
    default: return nil
    }
  }

  /// Returns a number of seconds since 1970, which may have a fraction.
  private static func seconds(_ value: JSONValue?) -> Double? {
    guard case .number(let text)? = value, let seconds = Double(text), seconds.isFinite else { return nil }
    return seconds
  }
}
