public import Foundation

/// A response of the service: the decoded value and its metadata.
public struct APIResponse<Value> {
  /// The decoded body.
  public var value: Value

  /// The status, 200 to 299.
  public var status: Int

  /// The entity tag of this version of the response.
  public var entityTag: EntityTag?

  /// The remaining freshness lifetime in seconds, counted from ``receivedAt``; `nil` if the service does not specify
  /// one.
  public var maxAge: TimeInterval?

  /// The URL of the next page; `nil` for the last page.
  public var nextPage: URL?

  /// The time of the response by the device's clock.
  public var receivedAt: Date

  /// A Boolean value that indicates whether this is an earlier response, used because the service is unreachable.
  public var isStale: Bool

  /// Creates a response.
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
