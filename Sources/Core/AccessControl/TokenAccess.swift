import Basics
import Crypto
import HTTPServer
package import Points

/// A way to verify tokens, which a feature has.
package protocol TokenVerification: Sendable {
  /// Verifies a token in its compact form.
  ///
  /// - Throws: ``TokenRejection`` for the first rule that it breaks.
  func verify(_ token: Substring, at now: Timestamp) throws(TokenRejection) -> VerifiedToken

  /// Returns a Boolean value that indicates whether the claims of a token are valid, regardless of its signature.
  func isValidButForItsKey(_ token: Substring, at now: Timestamp) -> Bool
}

/// A source that may have newer token keys than those in force.
package protocol TokenKeySource: Sendable {
  /// Fetches the keys and puts them in force, unless they were fetched a moment ago.
  func refresh() async -> TokenKeyFreshness
}

/// The relation of the keys in force to those that the issuer publishes.
package enum TokenKeyFreshness: Hashable, Sendable {
  /// The keys in force are those that the issuer published a moment ago.
  case current

  /// The keys can't be fetched, so that nobody knows whether there are others.
  case unknown(retryAfterSeconds: Int)
}

/// The reason why a token is rejected.
package enum TokenRejection: Error, Hashable, CaseIterable {
  case malformed
  case unknownKey
  case wrongAlgorithm
  case badSignature
  case expired
  case notYetValid
  case wrongIssuer
  case wrongAudience
  case incompleteClaims
  case noScope
  case invalidRestriction

  /// Returns the reason in words: ASCII without quotes, because it is part of a header field too.
  ///
  /// - Parameter scopes: the scopes that a token may have.
  func reason(among scopes: [AccessScope]) -> String {
    switch self {
    case .malformed: "the token is not a supported JSON Web Token"
    case .unknownKey: "the token is signed with a key that is not known"
    case .wrongAlgorithm: "the algorithm of the token is not that of its key"
    case .badSignature: "the signature of the token is not valid"
    case .expired: "the token has expired"
    case .notYetValid: "the token is not valid yet"
    case .wrongIssuer: "the token is of another issuer"
    case .wrongAudience: "the token is for another audience"
    case .incompleteClaims: "the token needs the claims iss, aud, sub and exp, each of the right type"
    case .noScope: "the token has none of the scopes \(scopes.map(\.description).listed("and"))"
    case .invalidRestriction: "the token has a filter or areas that are not valid"
    }
  }
}

/// A cache of verified tokens, by their hashes.
///
/// Only tokens with valid signatures are inserted, so that nobody but their issuer can fill it.
struct VerifiedTokens {
  typealias ID = SHA256Digest

  /// The maximum number of tokens.
  static let maximumCount = 4096

  private var tokens: [ID: VerifiedToken] = [:]

  /// The number of times that the keys were replaced.
  private(set) var generation = 0

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

  /// Removes the tokens when the keys are replaced.
  mutating func removeAll() {
    tokens.removeAll()
    generation += 1
  }

  /// Inserts a token, unless the keys were replaced since its verification began. A full cache evicts those that have
  /// expired, and if none has, all.
  ///
  /// - Parameter generation: ``generation`` when the verification began.
  mutating func insert(_ token: VerifiedToken, as id: ID, of generation: Int, at now: Timestamp) {
    guard generation == self.generation else { return }
    if tokens.count >= Self.maximumCount {
      tokens = tokens.filter { $0.value.isValid(at: now) }
      if tokens.count >= Self.maximumCount { tokens.removeAll(keepingCapacity: true) }
    }
    tokens[id] = token
  }
}

/// A token with a valid signature and valid claims, and its period of validity.
package struct VerifiedToken: Hashable, Sendable {
  let grant: Grant

  /// The time from which on it is valid, in seconds since 1970, the leeway included.
  let validFrom: Double

  /// The time at which it is no longer valid, in seconds since 1970, the leeway included.
  let validUntil: Double

  /// Creates a token whose signature and claims are valid.
  package init(grant: Grant, validFrom: Double, validUntil: Double) {
    self.grant = grant
    self.validFrom = validFrom
    self.validUntil = validUntil
  }

  func isValid(at now: Timestamp) -> Bool { validFrom <= now.seconds && now.seconds < validUntil }

  /// Checks that it is valid at a time.
  ///
  /// - Throws: ``TokenRejection``.
  package func check(at now: Timestamp) throws(TokenRejection) {
    guard now.seconds < validUntil else { throw .expired }
    guard validFrom <= now.seconds else { throw .notYetValid }
  }
}

extension Timestamp {
  /// The seconds since 1970, as in a claim of a token.
  var seconds: Double { Double(microsecondsSinceEpoch) / 1e6 }
}
