import Basics
import Crypto
package import HTTPServer
package import Points

/// An API key as the service keeps it: the hash of the key. A key is 256 random bits, so that a fast hash without salt
/// is enough.
package struct APIKey: Hashable, Sendable {
  /// The name of the key's owner.
  package let name: String

  /// The access that the key grants.
  package let scope: AccessScope

  /// The SHA-256 of the key's UTF-8.
  let digest: [UInt8]

  /// The part of the places that the key's owner may know of; `nil` for all.
  var restriction: AccessRestriction?

  /// The maximum length of a name in characters.
  package static let maximumNameLength = 100

  /// Returns a Boolean value that indicates whether a name is 1 to 100 characters out of `A–Z a–z 0–9 . _ -`.
  package static func isAcceptable(name: String) -> Bool {
    (1...maximumNameLength).contains(name.utf8.count)
      && name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._-".utf8.contains($0) }
  }

  /// Returns a new key.
  ///
  /// - Returns: the secret, which is stored nowhere, and the key.
  package static func generate(
    name: String, scope: AccessScope, restriction: AccessRestriction? = nil,
    using generator: inout some RandomNumberGenerator
  ) -> (secret: String, key: APIKey) {
    let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    let secret = "wm_" + Base64URL.encode(bytes)
    var key = APIKey(name: name, scope: scope, secret: secret)
    key.restriction = restriction
    return (secret, key)
  }

  /// The key's line in a file of keys.
  package var line: String {
    let line = "\(name):\(scope):\(Hexadecimal.encode(digest))"
    return restriction.map { line + ":" + $0.json } ?? line
  }

  /// Returns the hash of a key's secret.
  static func digest(of secret: some Sequence<UInt8>) -> [UInt8] { Array(SHA256.hash(data: Array(secret))) }

  /// Returns a Boolean value that indicates whether the hash is this key's, in constant time.
  func matches(_ digest: [UInt8]) -> Bool {
    guard digest.count == self.digest.count else { return false }
    var difference: UInt8 = 0
    for (mine, other) in zip(self.digest, digest) { difference |= mine ^ other }
    return difference == 0
  }
}

extension APIKey {
  /// Creates a key from its secret, of which the digest is kept.
  init(name: String, scope: AccessScope, secret: String) {
    self.init(name: name, scope: scope, digest: Self.digest(of: secret.utf8))
  }
}

/// The API keys in a file, one a line: `name:scope:sha256`, the hash in hexadecimal, for some with a restriction behind:
/// `name:scope:sha256:{"filter":"…","areas":["…"]}`. Blank lines, and those that begin with `#`, are ignored.
package struct KeyFile: Hashable, Sendable {
  /// The keys in the order of the lines.
  package let keys: [APIKey]

  /// An error in a file. It contains nothing of the line's text, which may be a key by mistake, beside its filter.
  package struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line's number, counted from 1.
    package let line: Int
    /// The error in the line.
    package let reason: String

    /// The message for operators.
    package var description: String { "line \(line) \(reason)" }
  }

  /// Creates the keys from a file's text.
  ///
  /// - Parameters:
  ///   - scopes: the scopes that a key may have.
  ///   - queryables: the types of the tags in filters.
  /// - Throws: ``Invalid`` for the first invalid line.
  package init(
    _ text: String, scopes: [AccessScope] = AccessScope.common, queryables: Queryables = Queryables()
  ) throws(Invalid) {
    var keys: [APIKey] = []
    var names: Set<ExactText> = []
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let line = line.trimmingBlanks
      guard !line.isEmpty, line.first != "#" else { continue }
      let number = index + 1
      let parts = line.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
      guard parts.count == 3 || parts.count == 4 && parts[3].first == "{" else {
        throw Invalid(line: number, reason: "must be name:scope:sha256")
      }
      guard APIKey.isAcceptable(name: String(parts[0])) else {
        throw Invalid(line: number, reason: "has a name that is not 1 to 100 characters out of A-Z a-z 0-9 . _ -")
      }
      guard names.insert(ExactText(String(parts[0]))).inserted else {
        throw Invalid(line: number, reason: "repeats a name")
      }
      guard let scope = scopes.first(where: { $0.description == parts[1] }) else {
        let names = scopes.map(\.description).joined(separator: ", ")
        throw Invalid(line: number, reason: "has a scope that is not one of \(names)")
      }
      guard let digest = Hexadecimal.decode(parts[2], count: 32) else {
        throw Invalid(line: number, reason: "has a hash that is not 64 digits of base 16")
      }
      var key = APIKey(name: String(parts[0]), scope: scope, digest: digest)
      if parts.count == 4 {
        do throws(InvalidRestriction) {
          key.restriction = try AccessRestriction.ofKey(json: parts[3], queryables: queryables)
        } catch {
          throw Invalid(line: number, reason: "\(error)")
        }
      }
      keys.append(key)
    }
    self.keys = keys
  }
}
