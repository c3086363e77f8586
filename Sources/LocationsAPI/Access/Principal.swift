import Crypto

/// Who sent a request, as far as the service can tell.
public struct Principal: Hashable, Sendable {
  /// The name of the sender's API key, or the subject of its token; `nil` for whoever sent neither.
  public let name: String?

  /// What sets the sender's things apart from those of others; without a colon, and the same for as long as the sender
  /// is.
  let namespace: String

  /// Whoever sent nothing.
  public static let anonymous = Principal(name: nil)

  /// Whoever has the API key of that name.
  init(name: String?) {
    self.name = name
    namespace = name ?? ""
  }

  /// Whoever has a token for that subject. No name of an API key begins with a tilde.
  init(subject: String) {
    name = subject
    namespace = "~" + Base64URL.encode(Array(SHA256.hash(data: Array(subject.utf8))))
  }
}
