import Points

/// A token whose signature and claims are good, and from when to when that is so.
struct VerifiedToken: Hashable, Sendable {
  let grant: Grant

  /// Seconds since 1970 from which on it is valid, the leeway included.
  let validFrom: Double

  /// Seconds since 1970 at which it is no longer valid, the leeway included.
  let validUntil: Double

  /// Whether it is valid now.
  func isValid(at now: Timestamp) -> Bool { validFrom <= now.seconds && now.seconds < validUntil }

  /// Returns where it is valid now.
  ///
  /// - Throws: ``TokenRejection``.
  func check(at now: Timestamp) throws(TokenRejection) {
    guard now.seconds < validUntil else { throw .expired }
    guard validFrom <= now.seconds else { throw .notYetValid }
  }
}

extension Timestamp {
  /// Seconds since 1970, as a claim of a token has them.
  var seconds: Double { Double(microsecondsSinceEpoch) / 1e6 }
}
