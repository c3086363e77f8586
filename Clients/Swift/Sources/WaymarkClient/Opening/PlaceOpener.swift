public import Foundation

/// Opens places: in the app, by its deep link, or else on their websites.
@MainActor
public struct PlaceOpener {
  private let link: PlaceLink
  private let urlOpener: any URLOpening

  /// Creates an opener.
  ///
  /// - Parameters:
  ///   - scheme: the scheme that the app is registered for.
  ///   - urlOpener: what opens URLs.
  /// - Throws: ``PlaceOpenerError/invalidScheme(_:)``.
  public init(scheme: String, urlOpener: any URLOpening) throws(PlaceOpenerError) {
    link = try PlaceLink(scheme: scheme)
    self.urlOpener = urlOpener
  }

  /// Opens a place by the first of ``PlaceLink/candidates(for:mode:)`` that something on the device opens. The completion
  /// is told whether that went well.
  ///
  /// - Returns: what was opened.
  /// - Throws: ``PlaceOpenerError/nothingOpens``.
  @discardableResult
  public func open(
    _ place: PointOfInterest, mode: OpenMode, completion: (@MainActor @Sendable (Bool) -> Void)? = nil
  ) throws(PlaceOpenerError) -> URL {
    guard let url = link.candidates(for: place, mode: mode).first(where: urlOpener.canOpenURL) else {
      throw .nothingOpens
    }
    urlOpener.open(url, completion: completion)
    return url
  }
}
