public import Foundation

/// An opener of places: in the app by a deep link, or else on their websites.
///
/// ```swift
/// let opener = try PointOpener(scheme: "placesapp", urlOpener: MockURLOpener())
/// try opener.open(place, mode: .view)
/// ```
@MainActor
public struct PointOpener {
  private let link: PointLink
  private let urlOpener: any URLOpening

  /// Creates an opener.
  ///
  /// - Parameters:
  ///   - scheme: the app's registered URL scheme.
  ///   - urlOpener: the application, or a mock in tests.
  /// - Throws: ``PointOpenerError/invalidScheme(_:)``.
  public init(scheme: String, urlOpener: any URLOpening) throws(PointOpenerError) {
    link = try PointLink(scheme: scheme)
    self.urlOpener = urlOpener
  }

  /// Opens the first of ``PointLink/candidates(for:mode:)`` that the device can open. The completion handler receives
  /// whether that succeeded.
  ///
  /// - Returns: the opened URL.
  /// - Throws: ``PointOpenerError/nothingOpens``.
  @discardableResult
  public func open(
    _ place: PointOfInterest, mode: OpenMode, completion: (@MainActor @Sendable (Bool) -> Void)? = nil
  ) throws(PointOpenerError) -> URL {
    guard let url = link.candidates(for: place, mode: mode).first(where: urlOpener.canOpenURL) else {
      throw .nothingOpens
    }
    urlOpener.open(url, completion: completion)
    return url
  }
}

/// An opener of URLs: the application, or a mock in tests.
///
/// ```swift
/// final class NoURLs: URLOpening {
///   func canOpenURL(_ url: URL) -> Bool { false }
///   func open(_ url: URL, completion: (@MainActor @Sendable (Bool) -> Void)?) { completion?(false) }
/// }
/// ```
@MainActor
public protocol URLOpening: AnyObject {
  /// Returns whether the device can open a URL.
  func canOpenURL(_ url: URL) -> Bool

  /// Opens a URL, and passes to the completion handler whether that succeeded.
  func open(_ url: URL, completion: (@MainActor @Sendable (Bool) -> Void)?)
}

/// The error of a place that can't be opened.
///
/// ```swift
/// do {
///   try PointOpener(scheme: "placesapp", urlOpener: MockURLOpener { _ in false }).open(place, mode: .view)
/// } catch PointOpenerError.nothingOpens {
///   print("Install the app to open this place.")
/// }
/// ```
public enum PointOpenerError: Error, Hashable, Sendable {
  /// The scheme is not a letter followed by letters, digits, `+`, `-` and `.`.
  case invalidScheme(String)

  /// No app on the device can open the place.
  case nothingOpens
}

extension PointOpenerError: CustomStringConvertible {
  /// The technical description.
  public var description: String {
    switch self {
    case .invalidScheme(let scheme): "'\(scheme)' is not a valid URL scheme"
    case .nothingOpens: "no app on this device can open the place"
    }
  }
}

extension PointOpenerError: LocalizedError {
  /// The message for the user, in the language of the app.
  public var errorDescription: String? { message.text }

  /// The technical description for logs.
  public var failureReason: String? { description.sentence() }

  /// The message for the user.
  var message: Message {
    switch self {
    case .invalidScheme: .defect
    case .nothingOpens: .nothingOpens
    }
  }
}
