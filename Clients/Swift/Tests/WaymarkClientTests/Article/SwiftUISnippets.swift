// The type-checker of `Clients/check-platforms` reads this file; on Linux, it is empty otherwise.
#if canImport(SwiftUI) && canImport(MapKit)
  import MapKit
  import SwiftUI
  import WaymarkClient

  // snippet: list
  struct CafeList: View {
    @State private var model: PointListModel

    init(waymark: Waymark) {
      let filter = PointFilter(categories: ["cafe"])
      _model = State(initialValue: PointListModel(waymark: waymark, filter: filter))
    }

    var body: some View {
      List(model.places) { place in
        Text(place.name)
          .onAppear {
            if place == model.places.last { Task { await model.loadMore() } }
          }
      }
      .task { await model.reload() }
      .refreshable { await model.refresh() }
    }
  }
  // end

  // snippet: map
  struct PlaceMap: View {
    @State private var model: PointListModel

    init(waymark: Waymark) {
      _model = State(initialValue: PointListModel(waymark: waymark, pageSize: 100))
    }

    var body: some View {
      Map(initialPosition: .automatic) {
        ForEach(model.places) { place in
          if let coordinate = place.coordinate {
            Marker(place.name, coordinate: CLLocationCoordinate2D(coordinate))
          }
        }
      }
      .onMapCameraChange { model.filter.box = try? BoundingBox($0.region) }
      .task(id: model.filter) { await model.reload(after: .milliseconds(200)) }
    }
  }
  // end

  // snippet: suggestions
  struct SearchField: View {
    @State private var model: AutocompleteModel<SearchSuggestion>

    init(waymark: Waymark) {
      _model = State(initialValue: AutocompleteModel(waymark: waymark))
    }

    var body: some View {
      List(model.suggestions) { Text($0.title) }
        .searchable(text: $model.text)
        .task(id: model.text) { await model.search() }
    }
  }
// end
#endif
