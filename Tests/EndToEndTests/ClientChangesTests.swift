import Foundation
import Testing
import WaymarkClient

/// Tests of the client's changes and of its copy of an area against the built program.
struct ClientChangesTests {
  @Test func theClientFollowsTheChangesThroughARestart() async throws {
    let store = try await EmptyStore(.memory)
    let first = try await store.serve()
    let port = try await first.port()
    let waymark = try Waymark(port: port)
    let id = UUID()
    let draft = PointDraft(name: "one", coordinate: try Coordinate(latitude: 1, longitude: 2), category: "cafe")
    var changes = waymark.changes(matching: PointFilter(categories: ["cafe"])).makeAsyncIterator()
    guard case .position = try await changes.next() else {
      Issue.record("the first element is no position")
      return
    }

    _ = try await waymark.create(draft, id: id)
    let created = try await changes.next()
    guard case .position = try await changes.next() else {
      Issue.record("no position follows a change")
      return
    }
    first.send(SIGKILL)
    _ = try await first.outcome()
    let second = try await WaymarkProcess(["serve", "--http-port", "\(port)"], environment: store.environment)
    _ = try await second.port()
    try await waymark.delete(id: id)
    var removed = try await changes.next()
    // A change from before the restart may come again.
    while case .position = removed { removed = try await changes.next() }

    guard case .place(let place) = created else {
      Issue.record("the place did not come: \(created as Any)")
      return
    }
    #expect(place.id == id)
    #expect(place.name == "one")
    #expect(removed == .removed(id))
  }

  @MainActor @Test func aCopyOfAnAreaHasThePlacesOfTheService() async throws {
    let folder = try TemporaryFolder()
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])
    let waymark = try Waymark(port: try await server.port())
    let filter = PointFilter(box: try BoundingBox(west: -10, south: 35, east: 30, north: 60))
    let copy = AreaCopy(of: filter, waymark: waymark, file: URL(filePath: folder.path(of: "copy")))
    let following = Task { try await copy.follow() }
    defer { following.cancel() }
    while copy.count == nil { try await Task.sleep(for: .milliseconds(10)) }
    let here = try Coordinate(latitude: 48, longitude: 2)
    let expected = try await waymark.places(
      PointFilter(center: here, box: filter.box), pageSize: 20
    ).firstPage()

    #expect(copy.places(near: here).map(\.id) == expected.map(\.id))
    #expect(copy.places(near: here, limit: 1000).count == copy.count)

    let draft = PointDraft(name: "Neuer Ort", coordinate: here, category: nil)
    let created = try await waymark.create(draft)
    while copy.places(matching: "neuer").isEmpty { try await Task.sleep(for: .milliseconds(10)) }
    #expect(copy.places(near: here, limit: 1).map(\.id) == [created.id])
  }
}
