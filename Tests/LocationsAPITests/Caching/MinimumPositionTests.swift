import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import LocationsAPI

/// The position of `Waymark-Min-Position`, which every read of a request must contain.
@Suite struct MinimumPositionTests {
  @Test(arguments: [
    "/locations", "/locations?limit=500", "/locations?q=cafe", "/locations/ID", "/locations/ID/hours",
    "/locations/ID/areas", "/locations/reverse?lat=1&long=2", "/locations/featured", "/locations/suggest?q=caf",
    "/locations/check?lat=1&long=2", "/locations/clusters?zoom=3", "/locations/facets?by=category",
    "/locations/export", "/categories", "/tiles.json", "/tiles/0/0/0.mvt", "/api?q=cafe", "/reverse?lat=1&lon=2",
    "/nominatim/search?q=cafe", "/nominatim/reverse?lat=1&lon=2", "/nominatim/lookup?osm_ids=N1",
    "/ogc/collections/places/items", "/ogc/collections/places/items/ID",
    "/ogc/collections/places/tiles/WebMercatorQuad/0/0/0",
  ])
  func everyReadContainsThePositionOfItsRequest(target: String) async throws {
    let store = FollowingStore()
    let place = try await store.create(.at(1, 2, name: "Cafe", category: "cafe"), once: nil)
    let driver = ServiceDriver(store: store)
    let target = target.replacing("ID", with: place.id.description)

    let other = try await driver.send(.GET, target)
    let positions = store.positions
    let response = try await driver.send(.GET, target, headers: ["waymark-min-position": "1.2.3"])

    #expect(other.status == 200 && response.status == 200, "\(response.text)")
    #expect(positions.isEmpty)
    #expect(Set(store.positions) == ["1.2.3"])
  }

  @Test func searchOfABodyContainsThePositionOfItsRequest() async throws {
    let store = FollowingStore()
    let driver = ServiceDriver(store: store)

    let response = try await driver.send(
      .POST, "/locations/search", headers: ["waymark-min-position": "1.2.3"], json: "{}")

    #expect(response.status == 200, "\(response.text)")
    #expect(store.positions == ["1.2.3"])
  }
}

/// A store whose reads may be older than its writes, which notes the positions that reads must contain.
private final class FollowingStore: ForwardingStore {
  let store = MemoryStore.countingFromOne()
  private let noted = Mutex<[String]>([])

  var positions: [String] { noted.withLock { $0 } }

  var index: (any StoreIndex)? { FollowingIndex(store: store) }

  func reading(notBefore position: String) -> any PointStore {
    noted.withLock { $0.append(position) }
    return store
  }
}

/// An index that has every position already.
private struct FollowingIndex: StoreIndex {
  let store: MemoryStore

  var followsDatabase: Bool { true }

  func snapshot(isRequired: Bool) async throws(PointStoreError) -> (any IndexSnapshot)? {
    try await store.snapshot(isRequired: isRequired)
  }

  func waitUntilReads(contain position: String) async throws(PointStoreError) -> Bool { true }
}
