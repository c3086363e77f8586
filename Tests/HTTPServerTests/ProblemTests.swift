import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import Testing

@Suite struct ProblemTests {
  @Test func minimalProblemHasTypeTitleStatusAndCode() throws {
    let json = Problem(.notFound, code: "not-found").json(typePrefix: "urn:test:")

    #expect(
      String(buffer: json)
        == #"{"type":"urn:test:not-found","title":"Not Found","status":404,"code":"not-found"}"#
    )
  }

  @Test func fullProblemIsValidJSONForAnyText() throws {
    let problem = Problem(
      .badRequest,
      code: "invalid-parameter",
      title: "A \"title\"",
      detail: "line\nend \u{1} é",
      errors: [.init(.parameter("la\"t"), "must be \\ a number"), .init(.pointer("/a~1b"), "must be there")]
    )
    let value = try JSONReader.value(of: Array(problem.json().readableBytesView))

    #expect(value["title"] == .string("A \"title\""))
    #expect(value["detail"] == .string("line\nend \u{1} é"))
    #expect(value["status"] == .number("400"))
    #expect(
      value["errors"]
        == .array([
          .object([
            .init(name: "parameter", value: .string("la\"t")),
            .init(name: "detail", value: .string("must be \\ a number")),
          ]),
          .object([
            .init(name: "pointer", value: .string("/a~1b")), .init(name: "detail", value: .string("must be there")),
          ]),
        ])
    )
  }

  @Test func responseHasTheProblemsStatusTypeAndHeaders() {
    let problem = Problem(.tooManyRequests, code: "rate-limited", headers: ["retry-after": "3"])
    let response = HTTPResponse(problem, typePrefix: "urn:test:")

    #expect(response.status == .tooManyRequests)
    #expect(response.headers["content-type"] == ["application/problem+json"])
    #expect(response.headers["retry-after"] == ["3"])
    #expect(response.body.length == problem.json(typePrefix: "urn:test:").readableBytes)
  }
}
