import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

@MainActor
@Suite struct PointOpenerTests {
  private let place: PointOfInterest
  private let deepLink = "placesapp://open?id=0199a1b2-0000-7000-8000-000000000001&mode="

  init() {
    place = PointOfInterest(
      id: UUID(uuidString: "0199A1B2-0000-7000-8000-000000000001"), name: "A",
      tags: ["website": "https://a.example"])
  }

  @Test(arguments: OpenMode.allCases)
  func aPlaceIsOpenedInTheApp(mode: OpenMode) throws {
    let urlOpener = MockURLOpener()
    let opener = try PointOpener(scheme: "placesapp", urlOpener: urlOpener)

    let opened = try opener.open(place, mode: mode)

    #expect(urlOpener.openedURLs.map(\.absoluteString) == [deepLink + mode.rawValue])
    #expect(urlOpener.openedURLs == [opened])
  }

  @Test func websiteIsOpenedWhereTheAppIsMissing() throws {
    let urlOpener = MockURLOpener { $0.scheme == "https" }
    let opener = try PointOpener(scheme: "placesapp", urlOpener: urlOpener)

    try opener.open(place, mode: .view)

    #expect(urlOpener.openedURLs.map(\.absoluteString) == ["https://a.example"])
  }

  @Test func aWebsiteIsNotToEdit() throws {
    let urlOpener = MockURLOpener { $0.scheme == "https" }
    let opener = try PointOpener(scheme: "placesapp", urlOpener: urlOpener)

    #expect(throws: PointOpenerError.nothingOpens) { try opener.open(place, mode: .edit) }

    #expect(urlOpener.openedURLs.isEmpty)
  }

  @Test func placeWithoutAURLIsNotOpened() throws {
    let urlOpener = MockURLOpener()
    let opener = try PointOpener(scheme: "placesapp", urlOpener: urlOpener)

    #expect(throws: PointOpenerError.nothingOpens) { try opener.open(PointOfInterest(name: "A"), mode: .view) }
  }

  @Test func completionHandlerReceivesTheResult() throws {
    let opener = try PointOpener(scheme: "placesapp", urlOpener: MockURLOpener())
    var wasOpened: Bool?

    try opener.open(place, mode: .view) { wasOpened = $0 }

    #expect(wasOpened == true)
  }

  @Test(
    arguments: [
      ("a&mode=edit", "a%26mode%3Dedit"), ("é #?+/%", "%C3%A9%20%23%3F%2B%2F%25"), ("", ""), ("a\nb", "a%0Ab"),
    ])
  func idIsPercentEncoded(id: String, encoded: String) throws {
    let url = try #require(PointLink(scheme: "placesapp").url(id: id, mode: .view))

    #expect(url.absoluteString == "placesapp://open?id=\(encoded)&mode=view")
    let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems
    #expect(items == [URLQueryItem(name: "id", value: id), URLQueryItem(name: "mode", value: "view")])
  }

  @Test(arguments: ["", "1app", "my app", "app:", "äpp", "app/"])
  func invalidSchemeIsRejected(scheme: String) {
    #expect(throws: PointOpenerError.invalidScheme(scheme)) { try PointLink(scheme: scheme) }
  }

  @Test(arguments: ["app", "A1+-."])
  func validSchemesMakeLinks(scheme: String) throws {
    #expect(try PointLink(scheme: scheme).scheme == scheme)
  }
}
