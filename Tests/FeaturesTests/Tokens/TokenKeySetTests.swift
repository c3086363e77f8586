import JWTKit
import Testing

@testable import AccessControl
@testable import LocationsAPI
@testable import Tokens

@Suite struct TokenKeySetTests {
  private func keySet(_ json: String) async throws -> TokenKeySet { try await TokenKeySet(json: Array(json.utf8)) }

  @Test func everyKeyOfASetCanBeUsed() async throws {
    let issuers = try TokenIssuer.all()

    let keys = try await keySet(TokenIssuer.keySet(issuers))

    #expect(keys.count == issuers.count)
    for issuer in issuers { #expect(keys[issuer.kid]?.algorithm.name == issuer.algorithm) }
  }

  @Test func keysForOtherPurposesAreIgnored() async throws {
    let good = TokenIssuer.es256()
    let others = [
      #"{"kty":"oct","kid":"s","k":"c2VjcmV0"}"#, #"{"kty":"EC","crv":"secp256k1","kid":"k","x":"AA","y":"AA"}"#,
      #"{"kty":"RSA","kid":"o","alg":"RSA-OAEP","n":"AA","e":"AQAB"}"#,
      #"{"kty":"OKP","crv":"X25519","kid":"x","x":"AA"}"#,
      #"{"kty":"RSA","kid":"e","use":"enc","n":"AA","e":"AQAB"}"#, #"{"kty":"EC","crv":"P-256","key_ops":["sign"]}"#,
      #"{"kty":"new"}"#, "7",
    ]

    let keys = try await keySet("{\"keys\":[\((others + [good.publicKey]).joined(separator: ","))]}")

    #expect(keys.count == 1)
    #expect(keys.only?.algorithm.name == "ES256")
  }

  @Test(arguments: [
    ("", "must be a JSON Web Key Set: an object with the array 'keys'"),
    ("[]", "must be a JSON Web Key Set: an object with the array 'keys'"),
    (#"{"keys":{}}"#, "must be a JSON Web Key Set: an object with the array 'keys'"),
    (#"{"keys":[]}"#, "holds no public key for signatures by RS, PS, ES or EdDSA"),
    (#"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#, "holds no public key for signatures by RS, PS, ES or EdDSA"),
    (
      #"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}"#,
      "holds a key that has numbers that are no ES256 key: number 1"
    ),
    (
      #"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"AA"}]}"#,
      "holds a key that is a private key; only the public part belongs here: number 1"
    ),
    (
      #"{"keys":[{"kty":"EC","crv":"P-256","alg":"ES384","x":"AA","y":"AA"}]}"#,
      "holds a key that names an algorithm that is not for its curve: number 1"
    ),
    (
      #"{"keys":[{"kty":"RSA","kid":"short","n":"wVZ3","e":"AQAB"}]}"#,
      "holds a key that has numbers that are no RS256 key: number 1"
    ),
  ])
  func unusableKeySetIsRejected(json: String, reason: String) async {
    let error = await #expect(throws: TokenKeySet.Invalid.self) { try await keySet(json) }

    #expect(error?.description == reason)
  }

  @Test func keyIDsMustBeUniqueAndPresent() async throws {
    let (one, same) = (TokenIssuer.es256(kid: "1"), TokenIssuer.es256(kid: "1"))
    let nameless = one.publicKey.replacing("\"kid\":\"1\"", with: "\"x5t\":\"1\"")

    let repeated = await #expect(throws: TokenKeySet.Invalid.self) {
      try await keySet(TokenIssuer.keySet(one, same))
    }
    let missing = await #expect(throws: TokenKeySet.Invalid.self) {
      try await keySet("{\"keys\":[\(one.publicKey),\(nameless)]}")
    }

    #expect(repeated?.description == "holds two keys with the kid of number 2")
    #expect(missing?.description == "holds several keys, of which each needs a kid")
    #expect(try await keySet("{\"keys\":[\(nameless)]}").only != nil)
  }
}
