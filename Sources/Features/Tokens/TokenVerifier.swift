package import AccessControl
import Basics
package import HTTPServer
import JSONText
import JWTKit
package import Points

#if canImport(Darwin)
  import Foundation
#else
  import FoundationEssentials
#endif

/// A verifier of JSON Web Tokens (RFC 7519): signed by a trusted issuer, for this service, and valid now.
///
/// The algorithm is the key's and never the token's, so that a public key can't be passed off as a secret, nor `none`
/// as an algorithm (RFC 8725, sections 2.1 and 3.1).
package struct TokenVerifier: TokenVerification {
  /// The tolerated difference between the clocks of the issuer and of this server, in seconds.
  static let leewaySeconds = 30.0

  /// The keys that tokens are verified with.
  package var keys: TokenKeySet

  private let issuer: String
  private let audience: String
  private let scopes: [AccessScope]
  private let queryables: Queryables

  /// Creates a verifier.
  ///
  /// - Parameters:
  ///   - keys: the issuer's public keys; ``TokenKeySet/none`` where they are to be fetched.
  ///   - issuer: the required value of `iss`.
  ///   - audience: the value that `aud` must be or contain. The issuer signs for other services too; their tokens are
  ///     not for this one.
  ///   - scopes: the scopes that a token may have.
  ///   - queryables: the types of the tags in filters.
  package init(
    keys: TokenKeySet, issuer: String, audience: String, scopes: [AccessScope] = AccessScope.common,
    queryables: Queryables = Queryables()
  ) {
    self.scopes = scopes
    self.queryables = queryables
    self.keys = keys
    self.issuer = issuer
    self.audience = audience
  }

  /// Verifies a token in its compact form (RFC 7515, section 3.1).
  ///
  /// - Throws: ``TokenRejection`` for the first rule that it breaks.
  package func verify(_ token: Substring, at now: Timestamp) throws(TokenRejection) -> VerifiedToken {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let signature = Self.decode(parts[2]) else { throw .malformed }
    let key = try key(for: try Self.object(parts[0]))
    let signed = Array(token.utf8[..<parts[1].endIndex])
    guard (try? key.algorithm.verify(signature, signs: signed)) == true else { throw .badSignature }
    return try grant(try Self.object(parts[1]), at: now)
  }

  /// Returns a Boolean value that indicates whether the claims of a token are valid, regardless of its signature.
  package func isValidButForItsKey(_ token: Substring, at now: Timestamp) -> Bool {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let claims = try? Self.object(parts[1]) else { return false }
    return (try? grant(claims, at: now)) != nil
  }

  private func grant(_ claims: JSONValue, at now: Timestamp) throws(TokenRejection) -> VerifiedToken {
    let verified = try TokenClaims(claims, queryables: queryables).grant(
      issuer: issuer, audience: audience, scopes: scopes, leewaySeconds: Self.leewaySeconds)
    try verified.check(at: now)
    return verified
  }

  private func key(for header: JSONValue) throws(TokenRejection) -> TokenKey {
    // What must be understood is not (RFC 7515, section 4.1.11).
    guard case .string(let algorithm)? = header["alg"], header["crit"] == nil else { throw .malformed }
    switch header["typ"] {
    case nil: break
    case .string(let type) where ["jwt", "at+jwt", "application/at+jwt"].contains(type.lowercased()): break
    default: throw .malformed
    }
    let key: TokenKey?
    switch header["kid"] {
    case nil: key = keys.only(for: algorithm)
    case .string(let id): key = keys[id]
    default: throw .malformed
    }
    guard let key else { throw .unknownKey }
    guard key.algorithm.name.hasSameBytes(as: algorithm) else { throw .wrongAlgorithm }
    return key
  }

  private static func object(_ text: Substring) throws(TokenRejection) -> JSONValue {
    guard let bytes = decode(text), let value = try? JSONReader.value(of: bytes, maximumDepth: 16),
      case .object = value
    else { throw .malformed }
    return value
  }

  private static func decode(_ text: Substring) -> [UInt8]? {
    Base64URL.decode(text, count: text.utf8.count * 6 / 8)
  }
}

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
  private let restriction: AccessRestriction?

  /// Creates the claims from JSON.
  ///
  /// - Parameter queryables: the types of the tags in filters.
  /// - Throws: ``TokenRejection/incompleteClaims`` where one is missing or of another type;
  ///   ``TokenRejection/invalidRestriction``.
  init(_ claims: JSONValue, queryables: Queryables = Queryables()) throws(TokenRejection) {
    guard case .string(let issuer)? = claims["iss"], case .string(let subject)? = claims["sub"],
      (1...Self.maximumSubjectLength).contains(subject.utf8.count),
      subject.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }),
      let audiences = claims["aud"]?.strings, let expires = Self.seconds(claims["exp"])
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
      (claims[name]?.strings ?? []).flatMap { $0.split(separator: " ") }
    }
    do throws(InvalidRestriction) {
      restriction = try AccessRestriction.of(
        filter: claims["waymark_filter"], areas: claims["waymark_areas"], InvalidRestriction(""), queryables)
    } catch {
      throw .invalidRestriction
    }
  }

  /// Returns the access that the token grants, if it is of this issuer and for this audience. Whether it is valid now
  /// is checked elsewhere.
  ///
  /// - Throws: ``TokenRejection``.
  func grant(
    issuer: String, audience: String, scopes: [AccessScope], leewaySeconds: Double
  ) throws(TokenRejection) -> VerifiedToken {
    guard self.issuer.hasSameBytes(as: issuer) else { throw .wrongIssuer }
    guard audiences.contains(where: { $0.hasSameBytes(as: audience) }) else { throw .wrongAudience }
    // `write`, or `waymark:write` where an issuer's scopes are for many services.
    let names = self.scopes.map { $0.hasPrefix("waymark:") ? $0.dropFirst(8) : $0 }
    guard let scope = scopes.last(where: { names.contains($0.description[...]) }) else { throw .noScope }
    return VerifiedToken(
      grant: Grant(
        principal: Principal(subject: subject).restricted(to: restriction), scope: scope, evidence: "the token"),
      validFrom: notBefore.map { $0 - leewaySeconds } ?? -.infinity, validUntil: expires + leewaySeconds)
  }

  /// Returns a number of seconds since 1970, which may have a fraction.
  private static func seconds(_ value: JSONValue?) -> Double? {
    guard case .number(let text)? = value, let seconds = Double(text), seconds.isFinite else { return nil }
    return seconds
  }
}

extension AccessControl {
  /// Replaces the token keys for further requests.
  package func replaceTokenKeys(_ keys: TokenKeySet) {
    replaceTokens { tokens in
      guard var verifier = tokens as? TokenVerifier else { return tokens }
      verifier.keys = keys
      return verifier
    }
  }
}
