import HTTPServer
import JSONText
import Points
import Testing

@testable import AccessControl
@testable import LocationsAPI
@testable import Tokens

@Suite struct TokenClaimsTests {
  private func grant(_ changes: [String: String?]) throws -> VerifiedToken {
    let claims = try JSONReader.value(of: Array(TokenIssuer.claims(changes).utf8))
    let token = try TokenClaims(claims).grant(
      issuer: TokenIssuer.name, audience: TokenIssuer.audience, scopes: AccessScope.common,
      leewaySeconds: TokenVerifier.leewaySeconds)
    try token.check(at: Timestamp(microsecondsSinceEpoch: Int64(TokenIssuer.now) * 1_000_000))
    return token
  }

  private func rejection(_ changes: [String: String?]) -> TokenRejection? {
    #expect(throws: TokenRejection.self) { try grant(changes) }
  }

  @Test(arguments: [
    (-29, nil), (-30, TokenRejection.expired), (-31, .expired), (1, nil), (1_000_000_000, nil),
  ])
  func aTokenExpiresWithSomeLeeway(secondsFromNow: Int, reason: TokenRejection?) throws {
    let claims = ["exp": "\(TokenIssuer.now + secondsFromNow)"]

    if let reason { #expect(rejection(claims) == reason) } else { _ = try grant(claims) }
  }

  @Test(arguments: [("-1", TokenRejection.expired), ("0", .expired), ("-1e300", .expired), ("1.5", .expired)])
  func tokenThatExpiredLongAgoIsRejected(text: String, reason: TokenRejection) {
    #expect(rejection(["exp": text]) == reason)
  }

  @Test func expiryInTheFarFutureIsAccepted() throws {
    #expect(try grant(["exp": "1e300"]).validUntil > 1e299)
  }

  @Test(arguments: [nil, "\"1900000000\"", "null", "true", "[1900000000]", "1e999", "{}"])
  func tokenWithoutExpiryIsRejected(text: String?) {
    #expect(rejection(["exp": text]) == .incompleteClaims)
  }

  @Test func tokenIsNotValidBeforeItsNotBeforeTime() throws {
    _ = try grant(["nbf": "\(TokenIssuer.now + 30)"])

    #expect(rejection(["nbf": "\(TokenIssuer.now + 31)"]) == .notYetValid)
    #expect(rejection(["nbf": "1e300"]) == .notYetValid)
    #expect(rejection(["nbf": "\"0\""]) == .incompleteClaims)
  }

  @Test func tokenOfAnotherIssuerIsRejected() {
    #expect(rejection(["iss": "\"https://issuer.example/\""]) == .wrongIssuer)
    #expect(rejection(["iss": nil]) == .incompleteClaims)
    #expect(rejection(["iss": "[\"https://issuer.example\"]"]) == .incompleteClaims)
  }

  @Test func tokenForAnotherAudienceIsRejected() throws {
    _ = try grant(["aud": "[\"other\",\"waymark\"]"])

    #expect(rejection(["aud": "\"other\""]) == .wrongAudience)
    #expect(rejection(["aud": "[]"]) == .wrongAudience)
    #expect(rejection(["aud": "[\"waymark\",1]"]) == .incompleteClaims)
    #expect(rejection(["aud": nil]) == .incompleteClaims)
  }

  @Test(arguments: [
    ("scope", "\"read\"", AccessScope.read), ("scope", "\"read write\"", .write),
    ("scope", "\"waymark:admin\"", .admin),
    ("scope", "\"profile  waymark:write other:admin\"", .write), ("scp", "[\"read\",\"write\"]", .write),
    ("scp", "\"read write\"", .write), ("scope", "[\"write\"]", .write),
  ])
  func scopesAreReadFromEitherClaim(name: String, text: String, scope: AccessScope) throws {
    var changes: [String: String?] = ["scope": nil]
    changes.updateValue(text, forKey: name)

    #expect(try grant(changes).grant.scope == scope)
  }

  @Test(arguments: [
    nil, "\"\"", "\"suggest\"", "\"profile\"", "\"Write\"", "\"waymark:\"", "\"xwaymark:write\"", "7", "[7]",
  ])
  func tokenWithoutAScopeOfThisServiceIsRejected(text: String?) {
    #expect(rejection(["scope": text]) == .noScope)
  }

  @Test(arguments: [
    (nil, nil, nil), ("\"name = 'a'\"", nil, AccessRestriction(filter: "name = 'a'")),
    (nil, "\"Wien\"", AccessRestriction(filter: nil, areas: ["Wien"])),
    ("\"name = 'a'\"", "[\"Wien\",\"Graz\"]", AccessRestriction(filter: "name = 'a'", areas: ["Wien", "Graz"])),
  ])
  func restrictionIsThatOfTheClaims(filter: String?, areas: String?, restriction: AccessRestriction?) throws {
    let token = try grant(["waymark_filter": filter, "waymark_areas": areas])

    #expect(token.grant.principal.restriction == restriction)
  }

  @Test(arguments: [
    ("waymark_filter", "\"name =\""), ("waymark_filter", "1"), ("waymark_filter", "null"), ("waymark_areas", "[]"),
    ("waymark_areas", "[1]"), ("waymark_areas", "\"\""), ("waymark_areas", "{}"),
  ])
  func tokenWithAnInvalidRestrictionIsRejected(name: String, text: String) {
    #expect(rejection([name: text]) == .invalidRestriction)
  }

  @Test func tokenWithoutASubjectIsRejected() {
    for text in [nil, "\"\"", "7", "\"a\\u0000b\"", "\"\(String(repeating: "x", count: 256))\""] {
      #expect(rejection(["sub": text]) == .incompleteClaims)
    }
  }
}
