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
      (PointOpenerError.nothingOpens, "No app on this device can open the place."),
    ] as [(any LocalizedError, String)])
  func failureReasonIsForLogs(error: any LocalizedError, text: String) {
    #expect(error.failureReason == text)
    #expect(error.errorDescription == error.localizedDescription)
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
      #expect(error?.failureReason?.hasSuffix(" (Request r-1)") == true)
      #expect(error?.localizedDescription.contains("r-1") == false)
    }
  }
}
