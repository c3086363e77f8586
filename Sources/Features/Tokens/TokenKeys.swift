import Basics
import JSONText
import JWTKit

/// The public keys of a token's issuer: a JSON Web Key Set (RFC 7517).
///
/// Keys for other purposes than signatures, and symmetric ones, are ignored.
package struct TokenKeySet: Sendable {
  /// The key of a set with a single key, which a token need not name.
  let only: TokenKey?

  private let keys: [ExactText: TokenKey]

  /// The number of usable keys.
  package var count: Int { keys.isEmpty && only != nil ? 1 : keys.count }

  /// An error in a set.
  package struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
    /// The message for operators, which contains nothing of a key but its name.
    package let description: String
  }

  /// The set without keys, before any have been fetched.
  package static let none = TokenKeySet()

  private init() {
    only = nil
    keys = [:]
  }

  /// Creates a set from JSON.
  ///
  /// - Parameter json: the bytes of the JSON text.
  /// - Throws: ``Invalid``.
  package init(json: [UInt8]) async throws(Invalid) {
    guard let set = try? JSONReader.value(of: json), case .array(let members)? = set["keys"] else {
      throw Invalid(description: "must be a JSON Web Key Set: an object with the array 'keys'")
    }
    var keys: [ExactText: TokenKey] = [:]
    var nameless: [TokenKey] = []
    for (index, member) in members.enumerated() {
      var name: String?
      if case .string(let id)? = member["kid"] { name = id }
      let made: TokenKey?
      do {
        made = try await TokenKey(member)
      } catch {
        throw Invalid(description: "holds a key that \(error.reason): number \(index + 1)")
      }
      guard let key = made else { continue }
      guard let name else {
        nameless.append(key)
        continue
      }
      guard keys.updateValue(key, forKey: ExactText(name)) == nil else {
        throw Invalid(description: "holds two keys with the kid of number \(index + 1)")
      }
    }
    guard !keys.isEmpty || !nameless.isEmpty else {
      throw Invalid(description: "holds no public key for signatures by RS, PS, ES or EdDSA")
    }
    guard nameless.isEmpty || (nameless.count == 1 && keys.isEmpty) else {
      throw Invalid(description: "holds several keys, of which each needs a kid")
    }
    self.keys = keys
    only = nameless.first ?? (keys.count == 1 ? keys.first?.value : nil)
  }

  /// Returns the only key for an algorithm, which a token need not name; `nil` where there is none, or several.
  func only(for algorithm: String) -> TokenKey? {
    if let only { return only }
    let fitting = keys.values.filter { $0.algorithm.name.hasSameBytes(as: algorithm) }
    return fitting.count == 1 ? fitting[0] : nil
  }

  subscript(id: String) -> TokenKey? { keys[ExactText(id)] }
}

/// A public key of a token's issuer, with the one algorithm it is for.
struct TokenKey: Sendable {
  /// The verification of the key's signatures.
  let algorithm: any JWTAlgorithm

  /// Creates a key from a JSON Web Key (RFC 7517); `nil` where it has another purpose or is of an unknown kind, and
  /// must be ignored (section 5).
  ///
  /// - Throws: a reason where the key is unusable.
  init?(_ key: JSONValue) async throws(Unusable) {
    guard Self.isForSignatures(key) else { return nil }
    func text(_ name: String) -> String? { if case .string(let text)? = key[name] { text } else { nil } }
    guard let (made, algorithm) = try Self.key(text) else { return nil }
    guard key["d"] == nil else { throw Unusable(reason: "is a private key; only the public part belongs here") }
    let keys = JWTKeyCollection()
    do {
      try await keys.add(jwk: made)
      self.algorithm = try await keys.getKey(for: Self.id, alg: algorithm.rawValue)
    } catch {
      throw Unusable(reason: "has numbers that are no \(algorithm.rawValue) key")
    }
  }

  /// The reason why a key is unusable, which continues from the key's name.
  struct Unusable: Error {
    let reason: String
  }

  private static let id: JWKIdentifier = "key"

  private static func isForSignatures(_ key: JSONValue) -> Bool {
    if let use = key["use"], use != .string("sig") { return false }
    guard case .array(let operations)? = key["key_ops"] else { return true }
    return operations.contains(.string("verify"))
  }

  /// The key with its algorithm: the one that it names, or the one that its kind implies.
  private static func key(_ text: (String) -> String?) throws(Unusable) -> (JWK, JWK.Algorithm)? {
    let named = text("alg")
    switch text("kty") {
    case "RSA":
      let name = named ?? JWK.Algorithm.rs256.rawValue
      guard name.hasPrefix("RS") || name.hasPrefix("PS"), let algorithm = JWK.Algorithm(rawValue: name),
        algorithm != .rsaOAEP
      else { return nil }
      return (.rsa(algorithm, identifier: id, modulus: text("n"), exponent: text("e")), algorithm)
    case "EC":
      guard let curve = text("crv").flatMap(ECDSACurve.init(rawValue:)) else { return nil }
      let algorithm: JWK.Algorithm = curve == .p256 ? .es256 : curve == .p384 ? .es384 : .es512
      guard named == nil || named == algorithm.rawValue else {
        throw Unusable(reason: "names an algorithm that is not for its curve")
      }
      return (.ecdsa(algorithm, identifier: id, x: text("x"), y: text("y"), curve: curve), algorithm)
    case "OKP":
      guard text("crv") == EdDSACurve.ed25519.rawValue, named == nil || named == JWK.Algorithm.eddsa.rawValue
      else { return nil }
      return (.octetKeyPair(.eddsa, identifier: id, x: text("x"), y: nil, curve: .ed25519), .eddsa)
    default: return nil
    }
  }
}
