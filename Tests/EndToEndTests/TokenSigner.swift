import Crypto
import Foundation

/// A key that signs tokens.
struct TokenSigner {
  private let key = P256.Signing.PrivateKey()
  private let id: String

  init(id: String = "1") { self.id = id }

  /// The key set with only this public key.
  var keySet: String { Self.keySet([self]) }

  /// Returns the key set of several public keys.
  static func keySet(_ signers: [TokenSigner]) -> String {
    #"{"keys":[\#(signers.map(\.publicKey).joined(separator: ","))]}"#
  }

  private var publicKey: String {
    let point = key.publicKey.rawRepresentation
    let (x, y) = (Self.text(point.prefix(32)), Self.text(point.suffix(32)))
    return #"{"kty":"EC","crv":"P-256","kid":"\#(id)","x":"\#(x)","y":"\#(y)"}"#
  }

  /// Returns a token of the issuer `i` for the audience `a` with write permission.
  func token() throws -> String {
    let expires = Int(Date().timeIntervalSince1970) + 600
    let claims = #"{"iss":"i","aud":"a","sub":"s","scope":"write","exp":\#(expires)}"#
    let signed = Self.text(Data(#"{"alg":"ES256","kid":"\#(id)"}"#.utf8)) + "." + Self.text(Data(claims.utf8))
    return "\(signed).\(Self.text(try key.signature(for: Data(signed.utf8)).rawRepresentation))"
  }

  private static func text(_ bytes: Data) -> String {
    bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}
