import JSONText
import JWTKit

/// The public keys of a token's issuer: a JSON Web Key Set (RFC 7517).
///
/// Keys for something else than signatures, and symmetric ones, are passed over.
public struct TokenKeySet: Sendable {
  /// The key of a set that holds one alone; a token need not name it.
  let only: TokenKey?

  private let keys: [ExactText: TokenKey]

  /// How many keys can be used.
  public var count: Int { keys.isEmpty && only != nil ? 1 : keys.count }

  /// Why a set can't be used.
  public struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
    /// What an operator is told; it shows nothing of a key but its name.
    public let description: String
  }

  /// The set without a key, which stands for keys that have not been fetched yet.
  public static let none = TokenKeySet()

  private init() {
    only = nil
    keys = [:]
  }

  /// Reads a set.
  ///
  /// - Parameter json: the bytes of the JSON text.
  /// - Throws: ``Invalid``.
  public init(json: [UInt8]) async throws(Invalid) {
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

  /// The only key for an algorithm, which a token need not name; `nil` where there is none, or several.
  func only(for algorithm: String) -> TokenKey? {
    if let only { return only }
    let fitting = keys.values.filter { $0.algorithm.name.hasSameBytes(as: algorithm) }
    return fitting.count == 1 ? fitting[0] : nil
  }

  /// The key of that name.
  subscript(id: String) -> TokenKey? { keys[ExactText(id)] }
}
