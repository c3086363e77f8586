public import Foundation
public import Observation
public import WaymarkClient

/// The model of the screen with a copy of an area, which is searched without a network.
@MainActor
@Observable
public final class OfflineAreaModel {
  /// The text of the search field, with which a word of the names begins; empty for all places.
  public var text = ""

  /// The coordinate of the user; `nil` while it is not known.
  public var center: Coordinate?

  /// The error that ended the copying.
  public private(set) var error: (any Error)?

  private let copy: AreaCopy

  /// - Parameters:
  ///   - area: the box of the places.
  ///   - file: the file of the copy; its folder exists.
  public init(area: BoundingBox, waymark: Waymark, file: URL) {
    copy = AreaCopy(of: PointFilter(box: area), waymark: waymark, file: file)
  }

  /// The number of places on the device; `nil` before the first ones are there.
  public var count: Int? { copy.count }

  /// The places that match the text, nearest first.
  public var places: [PointOfInterest] { copy.places(near: center, matching: text, limit: 50) }

  /// The places whose regions are monitored, until the user leaves the circle around them.
  public var monitored: MonitoredPlaces? {
    center.map { MonitoredPlaces(of: copy.places(near: $0), around: $0) }
  }

  /// Follows the changes until the task is cancelled.
  public func follow() async {
    do {
      try await copy.follow()
    } catch {
      self.error = error
    }
  }
}
