public import Observation
public import WaymarkClient

/// The model of the screen that edits a place. If someone else has changed the place meanwhile, the user chooses which
/// values to keep.
@MainActor
@Observable
public final class PlaceEditor {
  /// The name in the form.
  public var name: String

  /// The category in the form; empty for none.
  public var category: String

  /// The opening hours in the form, in OpenStreetMap's notation; empty for none.
  public var hours: String

  /// The place as someone else has changed it; `nil` unless there is a conflict.
  public private(set) var conflict: PointOfInterest?

  /// The error of the last attempt to save; `nil` where it succeeded or there is a conflict.
  public private(set) var error: (any Error)?

  /// A Boolean value that indicates whether the place is being saved.
  public private(set) var isSaving = false

  private var original: PointOfInterest
  private let waymark: Waymark

  public init(place: PointOfInterest, waymark: Waymark) {
    original = place
    self.waymark = waymark
    name = place.name
    category = place.category ?? ""
    hours = place.tags["opening_hours"] ?? ""
  }

  /// Saves what the user has changed.
  ///
  /// - Returns: the saved place; `nil` after an error or a conflict.
  public func save() async -> PointOfInterest? {
    isSaving = true
    defer { isSaving = false }
    do {
      error = nil
      return try await waymark.update(original, with: changes)
    } catch WaymarkError.problem(let problem) where problem.code == .versionMismatch {
      await loadConflict()
    } catch {
      self.error = error
    }
    return nil
  }

  /// Saves the user's changes on top of those of someone else.
  ///
  /// - Returns: the saved place; `nil` after an error or another conflict.
  public func keepMine() async -> PointOfInterest? {
    guard let current = conflict else { return nil }
    let mine = changes
    (original, conflict) = (current, nil)
    // Fields that the user has not touched take their new values.
    if mine.name == nil { name = current.name }
    if mine.category == nil { category = current.category ?? "" }
    if mine.tags["opening_hours"] == nil { hours = current.tags["opening_hours"] ?? "" }
    return await save()
  }

  /// Drops the user's changes.
  ///
  /// - Returns: the place as someone else has changed it.
  public func useTheirs() -> PointOfInterest? {
    defer { conflict = nil }
    return conflict
  }

  /// The fields that differ from the place that was opened.
  private var changes: PointPatch {
    var patch = PointPatch()
    if name != original.name { patch.name = name }
    if category != original.category ?? "" { patch.category = category.isEmpty ? .remove : .set(category) }
    if hours != original.tags["opening_hours"] ?? "" {
      patch.tags["opening_hours"] = hours.isEmpty ? .remove : .set(hours)
    }
    return patch
  }

  private func loadConflict() async {
    do {
      conflict = try await waymark.place(original.id)
    } catch {
      self.error = error
    }
  }
}
