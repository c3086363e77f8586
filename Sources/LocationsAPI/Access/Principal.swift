/// Who sent a request, as far as the service can tell.
public struct Principal: Hashable, Sendable {
  /// The name of the sender's API key; `nil` for whoever sent none.
  public let name: String?

  /// Whoever sent no key.
  public static let anonymous = Principal(name: nil)
}
