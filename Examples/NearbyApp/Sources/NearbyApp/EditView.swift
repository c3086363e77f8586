import NearbyModels
import SwiftUI
import WaymarkClient

/// The form that changes a place.
struct EditView: View {
  @State private var editor: PlaceEditor
  private let didSave: (PointOfInterest) -> Void

  init(place: PointOfInterest, waymark: Waymark, didSave: @escaping (PointOfInterest) -> Void) {
    _editor = State(initialValue: PlaceEditor(place: place, waymark: waymark))
    self.didSave = didSave
  }

  var body: some View {
    Form {
      TextField("Name", text: $editor.name)
      TextField("Category", text: $editor.category)
      TextField("Opening hours", text: $editor.hours)
      if let error = editor.error { Text(error.localizedDescription).font(.caption) }
      if let conflict = editor.conflict {
        Section("Someone else has changed this place to \(conflict.name).") {
          Button("Keep my changes") { finish { await editor.keepMine() } }
          Button("Use theirs") { finish { editor.useTheirs() } }
        }
      } else {
        Button("Save") { finish { await editor.save() } }
          .disabled(editor.isSaving)
      }
    }
  }

  /// Closes the form with the place that an action returns, if it does.
  private func finish(_ action: @escaping @MainActor () async -> PointOfInterest?) {
    Task {
      if let place = await action() { didSave(place) }
    }
  }
}
