import Crypto
import CryptoExtras
import HTTPServer
import Points
import Testing

@testable import AccessControl
@testable import LocationsAPI
@testable import Tokens

@Suite struct TokenVerifierTests {
  private static let now = Timestamp(microsecondsSinceEpoch: Int64(TokenIssuer.now) * 1_000_000)

  private func verifier(_ keySet: String) async throws -> TokenVerifier {
    TokenVerifier(
      keys: try await TokenKeySet(json: Array(keySet.utf8)), issuer: TokenIssuer.name, audience: TokenIssuer.audience)
  }

  /// The reason for which a token of a trusted issuer is rejected.
  private func rejection(
    of token: String, trusting keySet: String, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TokenRejection? {
    let verifier = try await verifier(keySet)
    return #expect(throws: TokenRejection.self, sourceLocation: sourceLocation) {
      try verifier.verify(token[...], at: Self.now)
    }
  }

  @Test(arguments: try TokenIssuer.all())
  func tokensOfEveryFamilyAreVerified(issuer: TokenIssuer) async throws {
    let verifier = try await verifier(TokenIssuer.keySet(issuer))

    let token = try verifier.verify(try issuer.token()[...], at: Self.now)

    #expect(token.grant.principal == Principal(subject: "user-1"))
    #expect(token.grant.scope == .write)
  }

  @Test(arguments: try TokenIssuer.all())
  func modifiedTokenIsRejected(issuer: TokenIssuer) async throws {
    let parts = try issuer.token().split(separator: ".").map(String.init)
    let other = try issuer.token(TokenIssuer.claims(["scope": "\"admin\""])).split(separator: ".").map(String.init)

    let swapped = [parts[0], other[1], parts[2]].joined(separator: ".")

    #expect(try await rejection(of: swapped, trusting: TokenIssuer.keySet(issuer)) == .badSignature)
  }

  @Test func tokenIsVerifiedWithTheKeyThatItNames() async throws {
    let (first, second) = (TokenIssuer.es256(kid: "1"), TokenIssuer.es256(kid: "2"))
    let both = try await verifier(TokenIssuer.keySet(first, second))

    for issuer in [first, second] { _ = try both.verify(try issuer.token()[...], at: Self.now) }

    #expect(try await rejection(of: first.token(), trusting: TokenIssuer.keySet(second)) == .unknownKey)
    let forged = try first.token(header: #"{"alg":"ES256","kid":"2"}"#)
    #expect(try await rejection(of: forged, trusting: TokenIssuer.keySet(first, second)) == .badSignature)
  }

  @Test func aTokenNeedNotNameTheOnlyKey() async throws {
    let (one, other) = (TokenIssuer.es256(kid: "1"), TokenIssuer.es256(kid: "2"))
    let nameless = try one.token(header: #"{"alg":"ES256"}"#)

    _ = try await verifier(TokenIssuer.keySet(one)).verify(nameless[...], at: Self.now)

    #expect(try await rejection(of: nameless, trusting: TokenIssuer.keySet(one, other)) == .unknownKey)
  }

  @Test func tokenNeedNotNameTheOnlyKeyThatFits() async throws {
    let (one, other) = (TokenIssuer.es256(kid: "1"), try TokenIssuer.rsa("RS256"))
    let both = try await verifier(TokenIssuer.keySet(one, other))

    _ = try both.verify(try one.token(header: #"{"alg":"ES256"}"#)[...], at: Self.now)
    _ = try both.verify(try other.token(header: #"{"alg":"RS256"}"#)[...], at: Self.now)

    let stranger = try TokenIssuer.es256(kid: "3").token(header: #"{"alg":"ES256"}"#)
    #expect(try await rejection(of: stranger, trusting: TokenIssuer.keySet(one, other)) == .badSignature)
    let unfit = try one.token(header: #"{"alg":"ES384"}"#)
    #expect(try await rejection(of: unfit, trusting: TokenIssuer.keySet(one, other)) == .unknownKey)
  }

  @Test func publicKeyIsNotAcceptedAsAnHMACSecret() async throws {
    let issuer = try TokenIssuer.rsa("RS256")
    let publicKey = try TokenIssuer.rsaKey.get().publicKey
    for secret in [Array(publicKey.pemRepresentation.utf8), Array(publicKey.derRepresentation)] {
      let signed = [#"{"alg":"HS256","kid":"RS256"}"#, TokenIssuer.claims()]
        .map { TokenIssuer.base64URL($0.utf8) }.joined(separator: ".")
      let code = HMAC<SHA256>.authenticationCode(for: Array(signed.utf8), using: SymmetricKey(data: secret))
      let token = "\(signed).\(TokenIssuer.base64URL(code))"

      #expect(try await rejection(of: token, trusting: TokenIssuer.keySet(issuer)) == .wrongAlgorithm)
    }
  }

  @Test(arguments: ["none", "None", "HS256", "RS512", "PS256", "ES256", "EdDSA", ""])
  func algorithmIsThatOfTheKey(name: String) async throws {
    let issuer = try TokenIssuer.rsa("RS256", namesAlgorithm: false)
    let token = try issuer.token(header: "{\"alg\":\"\(name)\",\"kid\":\"RS256\"}")

    #expect(try await rejection(of: token, trusting: TokenIssuer.keySet(issuer)) == .wrongAlgorithm)
    // The one that was tried first is not the one that stays.
    _ = try await verifier(TokenIssuer.keySet(issuer)).verify(try issuer.token()[...], at: Self.now)
  }

  @Test(arguments: [
    #"{"kid":"ES256"}"#, #"{"alg":256,"kid":"ES256"}"#, #"{"alg":"ES256","kid":1}"#,
    #"{"alg":"ES256","kid":"ES256","crit":["b64"],"b64":false}"#, #"{"alg":"ES256","kid":"ES256","typ":"dpop+jwt"}"#,
    #"["ES256"]"#, #"{"alg":"ES256""#, "",
  ])
  func unknownCriticalHeaderIsRejected(header: String) async throws {
    let issuer = TokenIssuer.es256()

    #expect(try await rejection(of: issuer.token(header: header), trusting: TokenIssuer.keySet(issuer)) == .malformed)
  }

  @Test func malformedTokenIsRejected() async throws {
    let issuer = TokenIssuer.es256()
    let token = try issuer.token()
    let parts = token.split(separator: ".").map(String.init)
    let texts = [
      "..", "a.b.c", "\(parts[0])..\(parts[2])=", "\(parts[0]).\(parts[1])", "\(token).", "\(token)=", "\(token)+",
      "\(parts[0])=.\(parts[1]).\(parts[2])", String(token.dropLast(3)), "é.é.é",
    ]
    for text in texts {
      let reason = try await rejection(of: text, trusting: TokenIssuer.keySet(issuer))
      #expect([.malformed, .badSignature].contains(reason), "\(text)")
    }
    #expect(
      try await rejection(of: "\(parts[0]).\(parts[1]).", trusting: TokenIssuer.keySet(issuer)) == .badSignature)
  }

  @Test func deeplyNestedClaimsAreRejected() async throws {
    let issuer = TokenIssuer.es256()
    let nested = String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000)
    let token = try issuer.token(TokenIssuer.claims(["x": nested]))

    #expect(try await rejection(of: token, trusting: TokenIssuer.keySet(issuer)) == .malformed)
  }

  @Test func tokenWithManyClaimsIsAccepted() async throws {
    let issuer = TokenIssuer.es256()
    let token = try issuer.token(TokenIssuer.claims(["x": "\"\(String(repeating: "x", count: 100_000))\""]))

    _ = try await verifier(TokenIssuer.keySet(issuer)).verify(token[...], at: Self.now)
  }
}
