import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct WaymarkErrorTests {
  @Test(
    arguments: [
      (
        WaymarkError.problem(ProblemDetails(status: 404, code: .notFound, detail: "there is no place", requestID: "r")),
        "There is no place. (Request r)"
      ),
      (WaymarkError.problem(ProblemDetails(status: 404, code: .notFound)), "404 not-found."),
      (WaymarkError.unexpectedStatus(502, requestID: "r"), "The service responded with status 502. (Request r)"),
      (WaymarkError.unreachable(.timedOut), "The service timed out."),
      (WaymarkError.tooLarge(maximumBytes: 5), "The service's response exceeds 5 bytes."),
      (RequestError.invalidLimit, "The limit must be an integer from 1 to 1000."),
      (CoordinateError.latitude(91), "Latitude must be a number from -90 to 90 degrees, got 91.0."),
      (
        BoundingBoxError.upsideDown(south: 2, north: 1), "South must not be north of north, got 2.0 and 1.0."
      ),
      (LocationError.servicesDisabled, nil),
      (PointOpenerError.nothingOpens, "No app on this device can open the place."),
    ] as [(any Error, String?)])
  func localizedDescriptionIsASentence(error: any Error, text: String?) {
    if let text { #expect(error.localizedDescription == text) }
    #expect(error.localizedDescription.hasSuffix(".") || error.localizedDescription.hasSuffix(")"))
    #expect((error as? any LocalizedError)?.errorDescription == error.localizedDescription)
  }

  @Test func requestIdentifierOfTheResponseIsPartOfEachError() async throws {
    let fields = ["X-Request-Id": "r-1"]
    let service = try MockService(
      .problem(400, code: "invalid-parameter", fields: fields), .response(status: 502, fields: fields, body: ""),
      .ok("<html>", fields))
    let waymark = Waymark(
      baseURL: service.baseURL, session: service.session, configuration: LoaderConfiguration(retries: .none))

    for _ in 0..<3 {
      let error = await #expect(throws: WaymarkError.self) { try await waymark.categories() }
      #expect(error?.requestID == "r-1")
      #expect(error?.localizedDescription.hasSuffix(" (Request r-1)") == true)
    }
  }
}
