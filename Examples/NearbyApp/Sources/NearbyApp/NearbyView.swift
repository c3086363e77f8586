import CoreLocation
import SwiftUI
import WaymarkClient

/// The places around the device, or those whose names match a text.
struct NearbyView: View {
  @State private var model: PointListModel
  @State private var search: AutocompleteModel<PointOfInterest>
  private let waymark: Waymark

  init(waymark: Waymark) {
    self.waymark = waymark
    let model = PointListModel(waymark: waymark, locationProvider: CurrentLocationProvider(waymark: waymark))
    _model = State(initialValue: model)
    _search = State(
      initialValue: AutocompleteModel { text in
        let center = await model.places.first?.coordinate
        return try await waymark.search(text, near: center, isIncomplete: true).firstPage().map(\.place)
      })
  }

  private var places: [PointOfInterest] { search.searchedText.isEmpty ? model.places : search.suggestions }

  var body: some View {
    NavigationStack {
      List {
        OfflineBanner(isStale: model.isStale && !model.isLoading, receivedAt: model.receivedAt)
        ForEach(places) { place in
          NavigationLink {
            PlaceView(place: place, waymark: waymark)
          } label: {
            PlaceRow(place: place)
          }
          .onAppear {
            guard place == model.places.last else { return }
            Task { await model.loadMore() }
          }
        }
      }
      .overlay {
        if let error = model.error, model.places.isEmpty {
          ContentUnavailableView(
            "No Places", systemImage: "wifi.slash", description: Text(error.localizedDescription))
        } else if model.isLoading, model.places.isEmpty {
          ProgressView()
        }
      }
      .searchable(text: $search.text)
      .navigationTitle("Nearby")
    }
    .task { await model.reload() }
    .task(id: search.text) { await search.search() }
    .refreshable { await model.refresh() }
  }
}

/// A place in a list.
struct PlaceRow: View {
  let place: PointOfInterest

  var body: some View {
    VStack(alignment: .leading) {
      Text(place.name).font(.headline)
      if let distance = place.distanceMetres {
        Text("\(Int(distance.rounded())) m").font(.caption)
      }
    }
  }
}
