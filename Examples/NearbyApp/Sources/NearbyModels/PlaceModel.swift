public import Foundation
public import Observation
public import WaymarkClient

/// The model of a place's screen: what is stored at once, and then what is current.
@MainActor
@Observable
public final class PlaceModel {
  /// The place, at first as the list has it.
  public private(set) var place: PointOfInterest

  /// A Boolean value that indicates whether the place comes from the cache.
  public private(set) var isStale = false

  /// The time of the response with the place; `nil` before the first one.
  public private(set) var receivedAt: Date?

  /// The error of the last load; `nil` where it succeeded.
  public private(set) var error: (any Error)?

  private let waymark: Waymark

  public init(place: PointOfInterest, waymark: Waymark) {
    self.place = place
    self.waymark = waymark
  }

  /// The opening hours, one line for each rule; empty if the place does not have any.
  public var hours: [String] {
    (place.tags["opening_hours"] ?? "").split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }
  }

  /// Loads the place with all its fields.
  public func load() async {
    do {
      let id = place.id
      for try await response in waymark.storedThenCurrent({ try await $0.place(id) }) {
        (place, isStale, receivedAt, error) = (response.value, response.isStale, response.receivedAt, nil)
      }
    } catch {
      self.error = error
    }
  }

  /// Shows the place that an editor has saved.
  public func show(_ place: PointOfInterest) {
    (self.place, isStale, receivedAt) = (place, false, Date())
  }
}
