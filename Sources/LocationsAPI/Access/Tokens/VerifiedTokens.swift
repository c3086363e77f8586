import Crypto
import Points

/// Tokens whose signatures were found good, by their hashes.
///
/// Only what its issuer signed gets here, so that nobody else can fill it.
struct VerifiedTokens {
  typealias ID = SHA256Digest

  /// How many are kept.
  static let maximumCount = 4096

  private var tokens: [ID: VerifiedToken] = [:]

  /// How many there are.
  var count: Int { tokens.count }

  /// What a token is kept under.
  static func id(of token: Substring) -> ID {
    var token = token
    return token.withUTF8 { bytes in
      var hash = SHA256()
      hash.update(bufferPointer: UnsafeRawBufferPointer(bytes))
      return hash.finalize()
    }
  }

  /// The token of that hash, expired or not.
  subscript(id: ID) -> VerifiedToken? { tokens[id] }

  /// Keeps a token. Where there are too many, those that have expired go, and if none has, all.
  mutating func insert(_ token: VerifiedToken, as id: ID, at now: Timestamp) {
    if tokens.count >= Self.maximumCount {
      tokens = tokens.filter { $0.value.isValid(at: now) }
      if tokens.count >= Self.maximumCount { tokens.removeAll(keepingCapacity: true) }
    }
    tokens[id] = token
  }
}
