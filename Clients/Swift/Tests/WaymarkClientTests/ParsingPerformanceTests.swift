import Foundation
import WaymarkClient
import XCTest

/// A performance test of decoding a page.
///
/// XCTest's measurement fails where durations vary by more than a tenth of a second, so the page is short.
final class ParsingPerformanceTests: XCTestCase {
  func testParsing100Places() throws {
    let request = PointsRequest(baseURL: try URL(text: "https://example.com"), limit: 100, fields: .all)
    let places = (0..<100).map { index in
      """
      {"id":"0199a1b2-0000-7000-8000-\(String(format: "%012d", index))","name":"Place \(index)","category":"museum",\
      "lat":\(Double(index) / 20),"long":\(-Double(index) / 10),"distance":\(Double(index) * 1.5),\
      "tags":{"website":"https://example.com/\(index)","wheelchair":"yes"},"source":"osm","sourceId":"node/\(index)",\
      "version":1,"createdAt":"2026-11-20T10:15:00.123Z","updatedAt":"2026-11-20T10:15:00Z"}
      """
    }
    let data = Data("[\(places.joined(separator: ","))]".utf8)

    measure {
      XCTAssertEqual(try? request.parseResponse(data: data).count, 100)
    }
  }
}
