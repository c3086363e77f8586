import NearbyModels
import SwiftUI
import WaymarkClient

/// A place with its opening hours and tags.
struct PlaceView: View {
  @State private var model: PlaceModel
  @State private var isEditing = false
  private let waymark: Waymark

  init(place: PointOfInterest, waymark: Waymark) {
    self.waymark = waymark
    _model = State(initialValue: PlaceModel(place: place, waymark: waymark))
  }

  var body: some View {
    List {
      OfflineBanner(isStale: model.isStale, receivedAt: model.receivedAt)
      if let error = model.error { Text(error.localizedDescription).font(.caption) }
      if let category = model.place.category { Text(category) }
      if !model.hours.isEmpty {
        Section("Opening hours") {
          ForEach(model.hours.map(Line.init)) { Text($0.id) }
        }
      }
      Section("More") {
        ForEach(model.place.tags.sorted { $0 < $1 }.map { Line(id: "\($0.key): \($0.value)") }) { Text($0.id) }
      }
      Button("Edit") { isEditing = true }
        .disabled(model.place.version == nil)
    }
    .navigationTitle(model.place.name)
    .task { await model.load() }
    .sheet(isPresented: $isEditing) {
      EditView(place: model.place, waymark: waymark) { place in
        model.show(place)
        isEditing = false
      }
    }
  }
}

/// A line of text in a list.
private struct Line: Identifiable {
  let id: String
}
