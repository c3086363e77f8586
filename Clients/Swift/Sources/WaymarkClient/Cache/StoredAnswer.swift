public import Foundation

/// An answer as a cache keeps it: as it came, so that an app that has learnt to read more of it can.
public struct StoredAnswer: Hashable, Sendable {
  /// The body.
  public var body: Data

  /// What told this version of the answer from others.
  public var entityTag: EntityTag?

  /// Where the next page is.
  public var nextPage: URL?

  /// When the service sent it or said that it was still so, by the app's clock.
  public var receivedAt: Date

  /// Creates an answer.
  public init(body: Data, entityTag: EntityTag? = nil, nextPage: URL? = nil, receivedAt: Date) {
    self.body = body
    self.entityTag = entityTag
    self.nextPage = nextPage
    self.receivedAt = receivedAt
  }

  /// The answer to a call that this one is used for.
  func response<Value>(_ value: Value, maxAge: TimeInterval? = nil, isStale: Bool = false) -> APIResponse<Value> {
    APIResponse(
      value: value, entityTag: entityTag, maxAge: maxAge, nextPage: nextPage, receivedAt: receivedAt, isStale: isStale)
  }
}
