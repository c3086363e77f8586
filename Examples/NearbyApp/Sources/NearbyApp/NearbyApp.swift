import Foundation
import SwiftUI
import WaymarkClient

/// An app with the places around the device, a map, a search, the featured place, and a copy of an area, described in
/// `README.md`.
///
/// It works without a network, too, where it has been before. The Info.plist of an app that runs it on a device has
/// `NSLocationWhenInUseUsageDescription`.
@main
struct NearbyApp: App {
  private let waymark = Waymark(
    baseURL: URL(string: "http://localhost:8080") ?? URL(filePath: "/"), cache: OnDiskCache(named: "Waymark"))

  var body: some Scene {
    WindowGroup {
      TabView {
        NearbyView(waymark: waymark)
          .tabItem { Label("Nearby", systemImage: "list.bullet") }
        MapView(waymark: waymark)
          .tabItem { Label("Map", systemImage: "map") }
        FeaturedView(waymark: waymark)
          .tabItem { Label("Featured", systemImage: "star") }
        OfflineAreaView(waymark: waymark)
          .tabItem { Label("Offline", systemImage: "arrow.down.circle") }
      }
    }
  }
}
