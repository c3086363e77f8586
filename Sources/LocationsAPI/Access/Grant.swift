import HTTPServer

/// What someone who has proved who it is may do.
struct Grant: Hashable, Sendable {
  let principal: Principal
  let scope: AccessScope

  /// What was shown as proof, as a client is told: `the API key 'ci'`.
  let evidence: String

  /// Who it is, if that allows what is asked.
  ///
  /// - Throws: `Problem` 403 `forbidden`.
  func principal(for scope: AccessScope) throws(Problem) -> Principal {
    guard self.scope >= scope else {
      throw .forbidden(
        "\(evidence) allows to \(self.scope.rawValue), and this needs \(scope.rawValue)",
        challenge: .insufficientScope(scope))
    }
    return principal
  }
}
