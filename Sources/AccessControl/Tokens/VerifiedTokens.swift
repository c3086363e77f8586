import Crypto
import Points

/// A cache of verified tokens, by their hashes.
///
/// Only tokens with valid signatures are inserted, so that nobody but their issuer can fill it.
struct VerifiedTokens {
  typealias ID = SHA256Digest

  /// The maximum number of tokens.
  static let maximumCount = 4096

  private var tokens: [ID: VerifiedToken] = [:]

  var count: Int { tokens.count }

  /// Returns the key of a token.
  static func id(of token: Substring) -> ID {
    var token = token
    return token.withUTF8 { bytes in
      var hash = SHA256()
      hash.update(bufferPointer: UnsafeRawBufferPointer(bytes))
      return hash.finalize()
    }
  }

  /// Returns the token of a hash, expired or not.
  subscript(id: ID) -> VerifiedToken? { tokens[id] }

  /// Inserts a token. A full cache evicts those that have expired, and if none has, all.
  mutating func insert(_ token: VerifiedToken, as id: ID, at now: Timestamp) {
    if tokens.count >= Self.maximumCount {
      tokens = tokens.filter { $0.value.isValid(at: now) }
      if tokens.count >= Self.maximumCount { tokens.removeAll(keepingCapacity: true) }
    }
    tokens[id] = token
  }
}

/// A token with a valid signature and valid claims, and its period of validity.
struct VerifiedToken: Hashable, Sendable {
  let grant: Grant

  /// The time from which on it is valid, in seconds since 1970, the leeway included.
  let validFrom: Double

  /// The time at which it is no longer valid, in seconds since 1970, the leeway included.
  let validUntil: Double

  func isValid(at now: Timestamp) -> Bool { validFrom <= now.seconds && now.seconds < validUntil }

  /// Checks that it is valid at a time.
  ///
  /// - Throws: ``TokenRejection``.
  func check(at now: Timestamp) throws(TokenRejection) {
    guard now.seconds < validUntil else { throw .expired }
    guard validFrom <= now.seconds else { throw .notYetValid }
  }
}

extension Timestamp {
  /// The seconds since 1970, as in a claim of a token.
  var seconds: Double { Double(microsecondsSinceEpoch) / 1e6 }
}
