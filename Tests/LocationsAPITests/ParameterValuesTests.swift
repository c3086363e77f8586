import Geo
import HTTPServer
import Points
import Testing

@testable import LocationsAPI

@Suite struct ParameterValuesTests {
  private func values(_ query: String) throws -> ParameterValues {
    try ParameterValues(HTTPRequest(target: "/?" + query), allowing: .list)
  }

  /// Some of the parameters have the same bit.
  @Test(arguments: [Parameter].list.map(\.name))
  func onlyTheParameterThatIsSentIsGiven(name: String) throws {
    let values = try values(name + "=1")

    #expect([Parameter].list.filter { values.has($0) }.map(\.name) == [name])
    #expect([Parameter].list.compactMap { values[$0] } == ["1"])
  }

  @Test func severalParametersHaveTheSameBit() {
    #expect(Set([Parameter].list.map(\.key.bit)).count < [Parameter].list.count)
  }

  @Test(arguments: ["l%61t=1.5&lo%6Eg=%32", "lat=%31%2e5&lon=%2B2", "l%61t=1.5&l%6Eg=2", "lat=1.5&lng=2"])
  func escapedNamesAndValuesAreDecoded(query: String) throws {
    var values = try values(query)

    let coordinate = values.coordinate()

    #expect(coordinate?.latitude == 1.5 && coordinate?.longitude == 2)
    #expect(values.areValid)
  }

  @Test(arguments: [("lon", "lon"), ("lng", "lng"), ("long", "long"), ("l%6Fn", "lon")])
  func violationNamesTheLongitudeAsItWasSent(sent: String, named: String) throws {
    var values = try values("lat=1&\(sent)=x&\(sent)=y")

    _ = values.coordinate()

    let problem = #expect(throws: Problem.self) { try values.check() }
    #expect(problem?.errors.map(\.location) == [.parameter(named), .parameter(named)])
  }

  /// Cursors stay valid from build to build.
  @Test(arguments: [
    ("", "AUBe3S8an753ASNFZ4mrze_-3LqYdlQyECliCpM"),
    ("lat=48.2082&long=16.3738", "AUBe3S8an753ASNFZ4mrze_-3LqYdlQyEMhzwp8"),
  ])
  func cursorHasTheSameTextForTheSamePosition(query: String, expected: String) throws {
    let position = PointQuery.Position(
      distanceMetres: 123.456, id: PointID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210))
    var values = try values(query)

    let query = values.filters(by: Filtering())

    #expect(Cursor.text(for: position, in: query, of: values.fingerprint) == expected)
  }
}
