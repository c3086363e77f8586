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
