import Basics
import Geo
import JSONText
import TestSupport
import Testing

@testable import Points

@Suite struct PointPageTests {
  /// A place with all fields, each different from the others.
  private func found(_ number: UInt64, distance: Double? = nil, along: Double? = nil) throws -> FoundPoint {
    let draft = try PointDraft(
      name: "a\(number)", category: "b", coordinate: Coordinate(latitude: 1, longitude: 2), tags: try Tags(["k": "v"]),
      source: "s", sourceID: "i\(number)")
    let point = PointOfInterest(
      id: .sample(number), draft: draft, version: 3, createdAt: Timestamp(microsecondsSinceEpoch: 4),
      updatedAt: Timestamp(microsecondsSinceEpoch: 5))
    return FoundPoint(point: point, distanceMetres: distance, alongMetres: along)
  }

  @Test func lastPageHasNoNextPosition() throws {
    let page = PointPage(points: [try found(1)], hasMore: false)

    #expect(page.next == nil)
    #expect(!page.hasMore)
  }

  @Test func nextPositionIsThatOfTheLastPlaceInTheOrderOfTheQuery() throws {
    func next(_ last: FoundPoint) throws -> PointQuery.Position? {
      PointPage(points: [try found(1, distance: 1, along: 1), last], hasMore: true).next
    }

    #expect(try next(found(2)) == .init(distanceMetres: 0, id: .sample(2)))
    #expect(try next(found(2, distance: 7)) == .init(distanceMetres: 7, id: .sample(2)))
    #expect(try next(found(2, distance: 7, along: 9)) == .init(distanceMetres: 9, id: .sample(2)))
  }

  @Test func borrowedPlaceHasEveryField() throws {
    let page = PointPage(points: [try found(1), try found(2, distance: 7, along: 9)], hasMore: false)

    #expect(page.copied == page.points)
    #expect(page.count == 2)
  }

  @Test func pageEndsBeforeItsTextsExceedTheMaximum() {
    let maximum = PointPage.maximumTextBytes
    func count(_ lengths: [Int]) -> Int { PointPage.fittingCount(of: lengths.count) { lengths[$0] } }

    #expect(count([]) == 0)
    #expect(count([maximum]) == 1)
    #expect(count([maximum - 1, 1]) == 2)
    #expect(count([maximum - 1, 2]) == 1)
    #expect(count([maximum - 1, 1, 1]) == 2)
    #expect(count([maximum + 1, 1]) == 1)
  }
}
