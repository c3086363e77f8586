import Basics
import Crypto
import CryptoExtras
import Foundation
import HTTPServer

@testable import AccessControl
@testable import LocationsAPI
@testable import Tokens

/// Issues tokens in tests: its key pair, and the public key set for a service.
struct TokenIssuer {
  static let name = "https://issuer.example"
  static let audience = "waymark"

  /// The key's name.
  let kid: String
  /// The algorithm's name.
  let algorithm: String
  /// The public key, as a member of a JSON Web Key Set.
  let publicKey: String
  private let signature: @Sendable ([UInt8]) throws -> [UInt8]

  /// Each family of algorithms there is.
  static func all() throws -> [TokenIssuer] {
    try [.rsa("RS256"), .rsa("RS512"), .rsa("PS384"), .es256(), .es384(), .es512(), .eddsa()]
  }

  /// Making one takes a while, so that tests share it.
  static let rsaKey = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

  /// RSA with a key of 2,048 bits, the same for all.
  static func rsa(_ algorithm: String, kid: String? = nil, namesAlgorithm: Bool = true) throws -> TokenIssuer {
    let key = try rsaKey.get()
    let numbers = try key.publicKey.getKeyPrimitives()
    return TokenIssuer(
      kid: kid ?? algorithm, algorithm: algorithm,
      publicKey: member([
        "kty": "RSA", "alg": namesAlgorithm ? algorithm : nil, "kid": kid ?? algorithm,
        "n": base64URL(numbers.modulus), "e": base64URL(numbers.publicExponent),
      ])
    ) { bytes in
      let padding: _RSA.Signing.Padding = algorithm.hasPrefix("PS") ? .PSS : .insecurePKCS1v1_5
      let signature =
        switch algorithm.suffix(3) {
        case "256": try key.signature(for: SHA256.hash(data: bytes), padding: padding)
        case "384": try key.signature(for: SHA384.hash(data: bytes), padding: padding)
        default: try key.signature(for: SHA512.hash(data: bytes), padding: padding)
        }
      return Array(signature.rawRepresentation)
    }
  }

  /// ECDSA on P-256.
  static func es256(kid: String = "ES256") -> TokenIssuer {
    let key = P256.Signing.PrivateKey()
    return elliptic("ES256", kid, "P-256", key.publicKey.x963Representation) {
      try key.signature(for: $0).rawRepresentation
    }
  }

  /// ECDSA on P-384.
  static func es384() -> TokenIssuer {
    let key = P384.Signing.PrivateKey()
    return elliptic("ES384", "ES384", "P-384", key.publicKey.x963Representation) {
      try key.signature(for: $0).rawRepresentation
    }
  }

  /// ECDSA on P-521.
  static func es512() -> TokenIssuer {
    let key = P521.Signing.PrivateKey()
    return elliptic("ES512", "ES512", "P-521", key.publicKey.x963Representation) {
      try key.signature(for: $0).rawRepresentation
    }
  }

  /// Ed25519.
  static func eddsa() -> TokenIssuer {
    let key = Curve25519.Signing.PrivateKey()
    return TokenIssuer(
      kid: "EdDSA", algorithm: "EdDSA",
      publicKey: member([
        "kty": "OKP", "crv": "Ed25519", "kid": "EdDSA", "x": base64URL(key.publicKey.rawRepresentation),
      ])
    ) { Array(try key.signature(for: $0)) }
  }

  private static func elliptic(
    _ algorithm: String, _ kid: String, _ curve: String, _ point: Data,
    _ sign: @escaping @Sendable (Data) throws -> Data
  ) -> TokenIssuer {
    let half = (point.count - 1) / 2
    return TokenIssuer(
      kid: kid, algorithm: algorithm,
      publicKey: member([
        "kty": "EC", "crv": curve, "use": "sig", "kid": kid, "x": base64URL(point.dropFirst().prefix(half)),
        "y": base64URL(point.suffix(half)),
      ])
    ) { Array(try sign(Data($0))) }
  }

  private static func member(_ fields: [String: String?]) -> String {
    "{" + fields.compactMap { name, value in value.map { "\"\(name)\":\"\($0)\"" } }.joined(separator: ",") + "}"
  }

  static func base64URL(_ bytes: some Sequence<UInt8>) -> String { Base64URL.encode(Array(bytes)) }

  /// The set of these issuers' public keys.
  static func keySet(_ issuers: TokenIssuer...) -> String { keySet(issuers) }

  static func keySet(_ issuers: [TokenIssuer]) -> String {
    "{\"keys\":[\(issuers.map(\.publicKey).joined(separator: ","))]}"
  }

  // MARK: Tokens

  /// Claims that are good at the time `now`, with some replaced; `nil` takes one away. Values are JSON.
  static func claims(now: Int = TokenIssuer.now, _ changes: [String: String?] = [:]) -> String {
    var claims: [String: String?] = [
      "iss": "\"\(name)\"", "aud": "\"\(audience)\"", "sub": "\"user-1\"", "exp": "\(now + 60)",
      "scope": "\"openid write\"",
    ]
    for (name, value) in changes { claims[name] = .some(value) }
    return "{" + claims.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }.joined(separator: ",") + "}"
  }

  /// The time that tests of tokens take place at, in seconds since 1970.
  static let now = 1_800_000_000

  /// A token.
  func token(_ claims: String = claims(), header: String? = nil) throws -> String {
    let header = header ?? "{\"alg\":\"\(algorithm)\",\"kid\":\"\(kid)\",\"typ\":\"at+jwt\"}"
    let signed = "\(Self.base64URL(header.utf8)).\(Self.base64URL(claims.utf8))"
    return "\(signed).\(Self.base64URL(try signature(Array(signed.utf8))))"
  }
}
