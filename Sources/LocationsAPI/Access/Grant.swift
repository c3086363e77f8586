import Crypto
import HTTPServer

/// The access of an authenticated sender.
struct Grant: Hashable, Sendable {
  let principal: Principal
  let scope: AccessScope

  /// The credential in words, for problems: `the API key 'ci'`.
  let evidence: String

  /// Returns the sender, if its access includes the scope.
  ///
  /// - Throws: `Problem` 403 `forbidden`.
  func principal(for scope: AccessScope) throws(Problem) -> Principal {
    guard self.scope >= scope else {
      throw .forbidden(
        "\(evidence) has the scope \(self.scope.rawValue), but this call needs \(scope.rawValue)",
        challenge: .insufficientScope(scope))
    }
    return principal
  }
}

extension Principal {
  /// Creates the principal of an API key.
  init(name: String) {
    self.init(name: name, namespace: name)
  }

  /// Creates the principal of a token's subject. No name of an API key begins with a tilde, so that the namespaces
  /// differ.
  init(subject: String) {
    self.init(name: subject, namespace: "~" + Base64URL.encode(Array(SHA256.hash(data: Array(subject.utf8)))))
  }
}
