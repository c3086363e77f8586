import CoreLocation
import NearbyModels
import SwiftUI
import WaymarkClient

/// The places of San José, from a copy on the device.
struct OfflineAreaView: View {
  @State private var model: OfflineAreaModel
  @State private var arrived = ""
  private let location: CurrentLocationProvider
  private let waymark: Waymark

  init?(waymark: Waymark) {
    guard let area = try? BoundingBox(west: -122.1, south: 37.2, east: -121.7, north: 37.5),
      let folder = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
    else { return nil }
    let file = folder.appending(path: "san-jose")
    _model = State(initialValue: OfflineAreaModel(area: area, waymark: waymark, file: file))
    location = CurrentLocationProvider(waymark: waymark)
    self.waymark = waymark
  }

  var body: some View {
    NavigationStack {
      List {
        if !arrived.isEmpty { Text("You are at \(arrived).") }
        if let error = model.error { Text(error.localizedDescription).font(.caption) }
        ForEach(model.places) { place in
          NavigationLink {
            PlaceView(place: place, waymark: waymark)
          } label: {
            PlaceRow(place: place)
          }
        }
      }
      .overlay { if model.count == nil { ProgressView() } }
      .searchable(text: $model.text)
      .navigationTitle("Offline")
    }
    .task { await model.follow() }
    .task { await locate() }
    .task(id: model.monitored) { await monitor() }
  }

  private func locate() async {
    if let center = try? await location.currentLocation() { model.center = center }
  }

  /// Shows the place that the user arrives at, and selects others when the user has left the circle around them.
  private func monitor() async {
    #if os(iOS)
      guard let center = model.center, let monitored = model.monitored else { return }
      for await event in await RegionMonitor.shared.events(of: monitored, around: center) {
        switch event {
        case .arrived(let id): arrived = monitored.places.first { $0.id == id }?.name ?? ""
        case .left: await locate()
        }
      }
    #endif
  }
}
