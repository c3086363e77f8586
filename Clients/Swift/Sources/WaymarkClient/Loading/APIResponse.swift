public import Foundation

/// What a call was answered with: the value, and what the header says of it.
public struct APIResponse<Value> {
  /// What the body says.
  public var value: Value

  /// The status, 200 to 299.
  public var status: Int

  /// What tells this version of the answer from others.
  public var entityTag: EntityTag?

  /// How many seconds longer the answer is good for, counted from ``receivedAt``; `nil` where the service does not say.
  public var maxAge: TimeInterval?

  /// Where the next page is; `nil` on the last.
  public var nextPage: URL?

  /// When the service sent it, by the app's clock.
  public var receivedAt: Date

  /// Whether it is the last answer that came, because none comes at the moment.
  public var isStale: Bool

  /// Creates an answer.
  public init(
    value: Value, status: Int = 200, entityTag: EntityTag? = nil, maxAge: TimeInterval? = nil, nextPage: URL? = nil,
    receivedAt: Date, isStale: Bool = false
  ) {
    self.value = value
    self.status = status
    self.entityTag = entityTag
    self.maxAge = maxAge
    self.nextPage = nextPage
    self.receivedAt = receivedAt
    self.isStale = isStale
  }
}

extension APIResponse: Sendable where Value: Sendable {}
extension APIResponse: Equatable where Value: Equatable {}
