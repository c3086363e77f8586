public import Foundation

/// The error of invalid request data.
///
/// ```swift
/// do {
///   _ = try await waymark.places(near: here, pageSize: 5000).firstPage()
/// } catch RequestError.invalidLimit {
///   print(RequestError.invalidLimit.localizedDescription)
/// }
/// ```
public enum RequestError: Error, Hashable, Sendable {
  /// Latitude or longitude is not a finite number of degrees in its range.
  case invalidCoordinate

  /// The south of a box is north of its north, or the extent of a region is negative or not finite.
  case invalidBox

  /// An area or a route has too few positions or is malformed, with the reason: a ring needs three different positions, a
  /// line two.
  case invalidGeometry(String)

  /// The radius is not a finite number of metres, 0 or more, or that of a route is above 1,000,000.
  case invalidRadius

  /// A radius is given without a center.
  case radiusWithoutCenter

  /// A center is given with a route, along which the places are ordered.
  case centerWithRoute

  /// An identifier in a data set is given without a source.
  case sourceIDWithoutSource

  /// The condition is empty, or has a value that CQL2 can't express: a text with a NUL character or a backslash at its
  /// end, an empty list, a number that is not finite.
  case invalidCondition

  /// A key of a tag is not 1 to 200 characters, there are none or more than 20 in a list, or one in it has a comma or
  /// is repeated.
  case invalidTagKeys

  /// The zoom level is not from 0 to 22.
  case invalidZoom

  /// The filter has a condition that the call does not take.
  case unsupportedFilter

  /// The limit is not from 1 to 1,000.
  case invalidLimit

  /// The number of days is not from 1 to 31.
  case invalidDays

  /// The text of a search is not 1 to 200 characters.
  case invalidText

  /// The order by distance is requested without a center.
  case distanceWithoutCenter

  /// The URL of the service is not an `http` or `https` URL with a host and without query or fragment.
  case invalidBaseURL

  /// The idempotency key is not 1 to 255 visible ASCII characters.
  case invalidIdempotencyKey

  /// The API key or token is not visible ASCII characters.
  case invalidAPIKey

  /// The position of a write is not visible ASCII characters.
  case invalidPosition

  /// The place has no id of the service, no version or no coordinate, because it was loaded without these fields.
  case incompletePlace
}

extension RequestError: CustomStringConvertible {
  /// The technical description.
  public var description: String {
    switch self {
    case .invalidCoordinate: "latitude must be a number from -90 to 90 degrees and longitude one from -180 to 180"
    case .invalidBox: "the south of a box must not be north of its north, and its extent a finite number of degrees"
    case .invalidGeometry(let reason): reason
    case .invalidRadius: "the radius must be a number of metres, 0 or more, and that of a route at most 1000000"
    case .radiusWithoutCenter: "a radius requires a center"
    case .centerWithRoute: "a search along a route can't have a center"
    case .sourceIDWithoutSource: "an identifier in a data set requires a source"
    case .invalidCondition: "the condition is empty, or has a value that can't be expressed in CQL2"
    case .invalidTagKeys:
      "the keys of tags must be of 1 to 200 characters, and up to 20 different ones without commas in a list"
    case .invalidZoom: "the zoom level must be an integer from 0 to 22"
    case .unsupportedFilter: "the filter has a condition that this call does not take"
    case .invalidDays: "the number of days must be an integer from 1 to 31"
    case .invalidLimit: "the limit must be an integer from 1 to 1000"
    case .invalidText: "the text must have 1 to 200 characters"
    case .distanceWithoutCenter: "the order by distance requires a center"
    case .invalidBaseURL: "the service's address must be an http or https URL without query or fragment"
    case .invalidIdempotencyKey: "the idempotency key must be 1 to 255 visible ASCII characters"
    case .invalidAPIKey: "the API key must be of visible ASCII characters"
    case .invalidPosition: "the position must be of visible ASCII characters"
    case .incompletePlace: "the place must be loaded with all its fields before it can be changed"
    }
  }
}

extension RequestError {
  /// The error of a ring or line that has too few positions.
  static let tooFewPositions = RequestError.invalidGeometry(
    "a ring must have at least three different positions, and a line two")
}

extension RequestError: LocalizedError {
  /// The message for the user, in the language of the app.
  public var errorDescription: String? { message.text }

  /// The technical description for logs.
  public var failureReason: String? { description.sentence() }

  /// The message for the user.
  var message: Message {
    switch self {
    case .invalidCoordinate, .invalidBox, .invalidGeometry: .invalidPosition
    case .invalidText: .invalidText
    case .incompletePlace: .incompletePlace
    case .invalidAPIKey: .unauthenticated
    default: .defect
    }
  }
}
