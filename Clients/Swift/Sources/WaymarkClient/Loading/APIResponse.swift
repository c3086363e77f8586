public import Foundation

/// A response of the service: the decoded value and its metadata.
///
/// ```swift
/// let response = APIResponse(value: 3, receivedAt: Date(timeIntervalSince1970: 0), isStale: true)
/// let text = response.map { "\($0) places" }
/// ```
public struct APIResponse<Value> {
  /// The decoded body.
  public var value: Value

  /// The status, 200 to 299.
  public var status: Int

  /// The entity tag of this version of the response.
  package var entityTag: EntityTag?

  /// The remaining freshness lifetime in seconds, counted from ``receivedAt``; `nil` where the service does not specify
  /// one.
  public var maxAge: TimeInterval?

  /// The URL of the next page; `nil` for the last page.
  public var nextPage: URL?

  /// The time of the response by the device's clock.
  public var receivedAt: Date

  /// A Boolean value that indicates whether this is an earlier response, used because the service is unreachable.
  public var isStale: Bool

  /// The time in seconds since the response was current, if the service's database is unavailable or a proxy cached the
  /// response; `nil` where it is current.
  public var age: TimeInterval?

  /// The identifier of the request, by which the service's operator finds it in the logs.
  public var requestID: String?

  /// The position of a write, for ``Waymark/reading(after:)``.
  public var position: String?

  /// The rows of a list that could not be decoded and are missing from ``value``.
  public var invalidRows: [InvalidRow]

  /// Creates a response.
  public init(
    value: Value, status: Int = 200, maxAge: TimeInterval? = nil, nextPage: URL? = nil, receivedAt: Date,
    isStale: Bool = false, age: TimeInterval? = nil, requestID: String? = nil, position: String? = nil,
    invalidRows: [InvalidRow] = []
  ) {
    self.value = value
    self.status = status
    self.maxAge = maxAge
    self.nextPage = nextPage
    self.receivedAt = receivedAt
    self.isStale = isStale
    self.age = age
    self.requestID = requestID
    self.position = position
    self.invalidRows = invalidRows
  }

  /// Returns the response with another value and the same metadata.
  public func map<Result>(_ transform: (Value) throws -> Result) rethrows -> APIResponse<Result> {
    APIResponse<Result>(
      value: try transform(value), status: status, maxAge: maxAge, nextPage: nextPage, receivedAt: receivedAt,
      isStale: isStale, age: age, requestID: requestID, position: position, invalidRows: invalidRows
    ).tagged(entityTag)
  }
}

extension APIResponse {
  /// Returns the response with an entity tag.
  package func tagged(_ tag: EntityTag?) -> APIResponse {
    var response = self
    response.entityTag = tag
    return response
  }
}

extension APIResponse: Sendable where Value: Sendable {}
extension APIResponse: Equatable where Value: Equatable {}
