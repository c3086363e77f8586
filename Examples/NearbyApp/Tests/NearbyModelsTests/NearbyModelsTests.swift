import Foundation
import NearbyModels
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@MainActor
@Suite(.timeLimit(.minutes(5))) struct NearbyModelsTests {
  private static let id = "0199a1b2-0000-7000-8000-000000000001"

  private static func json(name: String, version: Int, hours: String? = "Mo-Fr 09:00-18:00; Sa 10:00-14:00") -> String {
    let tags = hours.map { #","tags":{"opening_hours":"\#($0)"}"# } ?? ""
    return #"{"id":"\#(id)","name":"\#(name)","category":"cafe","lat":1,"long":2,"version":\#(version)\#(tags)}"#
  }

  private static func place(name: String, version: Int) throws -> PointOfInterest {
    try JSONDecoder().decode(PointOfInterest.self, from: Data(json(name: name, version: version).utf8))
  }

  private func waymark(_ service: MockService) -> Waymark {
    Waymark(baseURL: service.baseURL, session: service.session, configuration: LoaderConfiguration(retries: .none))
  }

  @Test func placeIsLoadedWithItsHours() async throws {
    let service = try MockService(.ok(Self.json(name: "Café", version: 2)))
    let model = PlaceModel(place: try Self.place(name: "Cafe", version: 1), waymark: waymark(service))

    await model.load()

    #expect(model.place.name == "Café")
    #expect(model.hours == ["Mo-Fr 09:00-18:00", "Sa 10:00-14:00"])
    #expect(!model.isStale && model.error == nil && model.receivedAt != nil)
  }

  @Test func placeOfTheListRemainsAfterAnError() async throws {
    let service = try MockService(.failure(.notConnectedToInternet))
    let model = PlaceModel(place: try Self.place(name: "Cafe", version: 1), waymark: waymark(service))

    await model.load()

    #expect(model.place.name == "Cafe")
    #expect(model.error != nil)
  }

  @Test func onlyChangedFieldsAreSaved() async throws {
    let service = try MockService(.ok(Self.json(name: "New", version: 2)))
    let editor = PlaceEditor(place: try Self.place(name: "Old", version: 1), waymark: waymark(service))
    editor.name = "New"

    let saved = await editor.save()

    #expect(saved?.version == 2)
    #expect(service.requests.first?.httpBody == Data(#"{"name":"New"}"#.utf8))
    #expect(service.requests.first?.value(forHTTPHeaderField: "If-Match") == #""1""#)
  }

  @Test func mineIsSavedOnTopOfTheirs() async throws {
    let service = try MockService(
      .problem(412, code: "version-mismatch"), .ok(Self.json(name: "Theirs", version: 5, hours: "24/7")),
      .ok(Self.json(name: "Mine", version: 6, hours: "24/7")))
    let editor = PlaceEditor(place: try Self.place(name: "Old", version: 1), waymark: waymark(service))
    editor.name = "Mine"
    #expect(await editor.save() == nil)
    #expect(editor.conflict?.name == "Theirs")
    #expect(editor.error == nil)

    let saved = await editor.keepMine()

    #expect(saved?.version == 6)
    #expect(editor.hours == "24/7")
    #expect(editor.conflict == nil)
    #expect(service.requests.last?.value(forHTTPHeaderField: "If-Match") == #""5""#)
    #expect(service.requests.last?.httpBody == Data(#"{"name":"Mine"}"#.utf8))
  }

  @Test func theirsReplacesMine() async throws {
    let service = try MockService(
      .problem(412, code: "version-mismatch"), .ok(Self.json(name: "Theirs", version: 5)))
    let editor = PlaceEditor(place: try Self.place(name: "Old", version: 1), waymark: waymark(service))
    editor.hours = ""
    _ = await editor.save()

    #expect(editor.useTheirs()?.name == "Theirs")
    #expect(editor.conflict == nil)
    #expect(service.requests.count == 2)
  }

  @Test func copyIsSearchedAndTheNearestPlacesAreMonitored() async throws {
    let export = MockResponse.ok(
      Self.json(name: "Café", version: 1), ["Waymark-Position": "1.2", "Content-Type": "application/x-ndjson"])
    let service = try MockService { request, index in index == 0 ? try export.response(to: request) : nil }
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: file) }
    let box = try BoundingBox(west: 0, south: 0, east: 3, north: 3)
    let model = OfflineAreaModel(area: box, waymark: waymark(service), file: file)
    let following = Task { await model.follow() }
    while model.count == nil { await Task.yield() }

    #expect(model.monitored == nil)
    model.center = try Coordinate(latitude: 1, longitude: 2.001)
    model.text = "caf"

    #expect(model.places.map(\.name) == ["Café"] && (100...120).contains(model.places[0].distanceMetres ?? 0))
    #expect(model.monitored?.places.map(\.name) == ["Café"])
    model.text = "museum"
    #expect(model.places.isEmpty && model.error == nil)
    following.cancel()
    await following.value
  }

  @Test func errorIsShownAndTheFormRemains() async throws {
    let service = try MockService(.problem(422, code: "invalid-place"))
    let editor = PlaceEditor(place: try Self.place(name: "Old", version: 1), waymark: waymark(service))
    editor.name = " "

    #expect(await editor.save() == nil)
    #expect(editor.error?.localizedDescription == "Some of the entries are not valid. Check them and try again.")
    #expect(editor.name == " " && !editor.isSaving)
  }
}
