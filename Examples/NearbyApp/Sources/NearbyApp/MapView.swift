import MapKit
import SwiftUI
import WaymarkClient

/// The places in the region of a map.
struct MapView: View {
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
    .overlay { OfflineBanner(isStale: model.isStale && !model.isLoading, receivedAt: model.receivedAt) }
    .onMapCameraChange { context in
      model.filter.box = try? BoundingBox(context.region)
    }
    .task(id: model.filter) { await model.reload(after: .milliseconds(200)) }
  }
}
