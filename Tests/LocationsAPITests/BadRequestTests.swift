import NIOHTTP1
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct BadRequestTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let target: String
    let code: String
    let parameters: [String]
    var testDescription: String { target }

    init(_ target: String, _ code: String, _ parameters: String...) {
      self.target = target
      self.code = code
      self.parameters = parameters
    }
  }

  @Test(arguments: [
    Case("/locations?lat=91&long=0", "invalid-parameter", "lat"),
    Case("/locations?lat=nan&long=0", "invalid-parameter", "lat"),
    Case("/locations?lat=1e400&long=0", "invalid-parameter", "lat"),
    Case("/locations?lat=0x1p3&long=0", "invalid-parameter", "lat"),
    Case("/locations?lat=%00&long=0", "invalid-parameter", "lat"),
    Case("/locations?lat=&long=0", "invalid-parameter", "lat"),
    Case("/locations?lat=%201&long=0", "invalid-parameter", "lat"),
    Case("/locations?lat=0&long=180.0001", "invalid-parameter", "long"),
    Case("/locations?lat=0&lon=east", "invalid-parameter", "lon"),
    Case("/locations/check?lat=0&lng=181&radius=1", "invalid-parameter", "lng"),
    Case("/locations?filter-lang=x&filter=a%20%3D%20", "invalid-parameter", "filter-lang"),
    Case("/locations?lat=north&long=east", "invalid-parameter", "lat", "long"),
    Case("/locations?long=0", "missing-parameter", "lat"),
    Case("/locations?lat=0", "missing-parameter", "long"),
    Case("/locations?radius=5", "missing-parameter", "lat", "long"),
    Case("/locations?lat=0&lat=0&long=0", "invalid-parameter", "lat"),
    Case("/locations?lat=0&long=0&lng=0", "invalid-parameter", "lng"),
    Case("/locations?lat=0&long=0&radius=-1", "invalid-parameter", "radius"),
    Case("/locations?lat=0&long=0&radius=inf", "invalid-parameter", "radius"),
    Case("/locations?limit=0", "invalid-parameter", "limit"),
    Case("/locations?limit=1001", "invalid-parameter", "limit"),
    Case("/locations?limit=1e9", "invalid-parameter", "limit"),
    Case("/locations?limit=-5", "invalid-parameter", "limit"),
    Case("/locations?limit=99999999999999999999999", "invalid-parameter", "limit"),
    Case("/locations?bbox=1,2,3", "invalid-parameter", "bbox"),
    Case("/locations?bbox=1,2,3,4,5", "invalid-parameter", "bbox"),
    Case("/locations?bbox=1,2,3,x", "invalid-parameter", "bbox"),
    Case("/locations?bbox=0,5,1,4", "invalid-parameter", "bbox"),
    Case("/locations?bbox=0,0,181,4", "invalid-parameter", "bbox"),
    Case("/locations?foo=bar", "unknown-parameter", "foo"),
    Case("/locations?LAT=1&long=0", "unknown-parameter", "LAT", "lat"),
    Case("/locations?cursor=abc", "invalid-parameter", "cursor"),
    Case("/locations?cursor=%F0%9F%98%80", "invalid-parameter", "cursor"),
    Case("/locations?category=", "invalid-parameter", "category"),
    Case("/locations?category=a,,b", "invalid-parameter", "category"),
    Case("/locations?category=%00", "invalid-parameter", "category"),
    Case("/locations?category=%FF", "invalid-parameter", "category"),
    Case("/locations?fields=nmae", "invalid-parameter", "fields"),
    Case("/locations?fields=", "invalid-parameter", "fields"),
    Case("/locations?f=xml", "invalid-parameter", "f"),
    Case("/locations?lat=1%", "invalid-parameter", "lat"),
    Case("/locations/%FF", "invalid-parameter", "id"),
    Case("/locations/not-a-uuid", "invalid-parameter", "id"),
    Case("/locations/check?lat=0", "missing-parameter", "long"),
    Case("/locations/check", "missing-parameter", "lat", "long"),
    Case("/locations/check?lat=0&long=0&limit=5", "unknown-parameter", "limit"),
    Case("/locations/featured?lat=0", "unknown-parameter", "lat"),
    Case("/categories?limit=5", "unknown-parameter", "limit"),
  ])
  func badInputIsAProblemThatNamesTheParameter(bad: Case) async throws {
    let response = try await ServiceDriver(store: StubStore()).send(.GET, bad.target)

    #expect(response.status == 400)
    #expect(response.headers["content-type"] == ["application/problem+json"])
    #expect(try response.code == bad.code)
    #expect(try response.parameters == bad.parameters)
    #expect(try response.object["type"] as? String == "urn:waymark:problem:\(bad.code)")
    #expect(try response.object["status"] as? Int == 400)
  }

  @Test func allInvalidParametersAreReportedTogether() async throws {
    let response = try await ServiceDriver(store: StubStore()).send(.GET, "/locations?lat=91&limit=0&bbox=1&foo=1")

    #expect(try Set(response.parameters) == ["foo", "long", "lat", "bbox", "limit"])
  }

  @Test func longValuesAreTruncatedInProblems() async throws {
    let long = String(repeating: "9", count: 5000)

    let response = try await ServiceDriver(store: StubStore()).send(.GET, "/locations?limit=\(long)")

    #expect(response.body.count < 500)
  }
}
