import Crypto

/// An API key as the service keeps it: not the key itself but its hash. A key is 256 random bits, so that a fast hash
/// without salt is enough.
public struct APIKey: Hashable, Sendable {
  /// Whose key it is.
  public let name: String

  /// What it allows.
  public let scope: AccessScope

  /// The SHA-256 of the key's UTF-8.
  let digest: [UInt8]

  /// How long a name may be, in characters.
  public static let maximumNameLength = 100

  /// Whether a name is 1 to 100 characters out of `A–Z a–z 0–9 . _ -`.
  public static func isAcceptable(name: String) -> Bool {
    (1...maximumNameLength).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }

  /// Creates a key, of which a digest is kept.
  init(name: String, scope: AccessScope, secret: String) {
    self.init(name: name, scope: scope, digest: Self.digest(of: secret.utf8))
  }

  init(name: String, scope: AccessScope, digest: [UInt8]) {
    self.name = name
    self.scope = scope
    self.digest = digest
  }

  /// Returns a new key.
  ///
  /// - Returns: the key, which is kept nowhere, and what is kept of it.
  public static func generate(
    name: String, scope: AccessScope, using generator: inout some RandomNumberGenerator
  ) -> (secret: String, key: APIKey) {
    let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    let secret = "wm_" + Base64URL.encode(bytes)
    return (secret, APIKey(name: name, scope: scope, secret: secret))
  }

  /// The key's line in a file of keys.
  public var line: String { "\(name):\(scope.rawValue):\(Hexadecimal.encode(digest))" }

  /// The hash that a key is known by.
  static func digest(of secret: some Sequence<UInt8>) -> [UInt8] { Array(SHA256.hash(data: Array(secret))) }

  /// Whether the hash is this key's. The time it takes does not tell how much of it is.
  func matches(_ digest: [UInt8]) -> Bool {
    guard digest.count == self.digest.count else { return false }
    var difference: UInt8 = 0
    for (mine, other) in zip(self.digest, digest) { difference |= mine ^ other }
    return difference == 0
  }
}

/// Base 16 in lower case (RFC 4648, section 8).
enum Hexadecimal {
  static func encode(_ bytes: [UInt8]) -> String {
    let digits: StaticString = "0123456789abcdef"
    return String(
      decoding: bytes.flatMap { [digits.utf8Start[Int($0 >> 4)], digits.utf8Start[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// The bytes of a text of so many; `nil` where it is anything else.
  static func decode(_ text: some StringProtocol, count: Int) -> [UInt8]? {
    let digits = text.utf8.compactMap { UInt8(ascii: "0") <= $0 ? Character(UnicodeScalar($0)).hexDigitValue : nil }
    guard text.utf8.count == 2 * count, digits.count == 2 * count else { return nil }
    return (0..<count).map { UInt8(digits[2 * $0] << 4 | digits[2 * $0 + 1]) }
  }
}
