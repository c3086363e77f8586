import SwiftUI
import WaymarkClient

/// The featured place, which changes by itself.
struct FeaturedView: View {
  @State private var manager: FeaturedPlaceManager

  init(waymark: Waymark) {
    _manager = State(initialValue: FeaturedPlaceManager(waymark: waymark))
  }

  var body: some View {
    VStack {
      OfflineBanner(isStale: manager.isStale, receivedAt: manager.receivedAt)
      Text(manager.currentPlace?.name ?? "There is no featured place.")
    }
    .task { await manager.showFeaturedPlace() }
    .onDisappear { manager.stop() }
  }
}
