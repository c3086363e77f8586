import Basics
import HTTPTestSupport
import Logging
import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(5))) struct TracingMiddlewareTests {
  private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let parent = "00-\(traceID)-00f067aa0ba902b7-01"

  /// Responds with the trace of the request.
  private static let router: Router = {
    var routes: [Route] = []
    routes.on(.GET, "/things/{id}") { request, _ in
      .text(request.trace?.description ?? "none")
    }
    return Router(routes)
  }()

  private func respond(_ headers: HTTPHeaders) async -> (response: HTTPResponse, text: String) {
    let chain = MiddlewareChain([TracingMiddleware()], endingIn: Self.router)
    let response = await chain.respond(to: HTTPRequest(target: "/things/a", headers: headers))
    guard case .bytes(let bytes) = response.body else { return (response, "") }
    return (response, String(buffer: bytes))
  }

  @Test func handlerRunsInTheTraceOfItsClient() async throws {
    let (response, text) = await respond(["traceparent": Self.parent])

    let inside = try #require(TraceParent(text))
    #expect(inside.traceID.description == Self.traceID)
    #expect(inside.spanText != "00f067aa0ba902b7")
    #expect(response.context?.trace == inside)
  }

  @Test(
    arguments: [
      [], [("traceparent", "00-1-2-3")], [("traceparent", parent), ("traceparent", parent)],
    ] as [[(String, String)]])
  func requestWithoutOneValidParentHasNoTrace(headers: [(String, String)]) async {
    let (response, text) = await respond(HTTPHeaders(headers))

    #expect(text == "none")
    #expect(response.context?.trace == nil)
  }

  @Test func loggerAndCompletionReportContainTheTrace() async throws {
    let ended = Mutex<[CompletedRequest]>([])
    struct Observer: SynchronousMiddleware {
      let note: @Sendable (CompletedRequest) -> Void
      func requestCompleted(_ request: CompletedRequest) { note(request) }
    }
    let observer = Observer { request in ended.withLock { $0.append(request) } }
    try await withServer(MiddlewareChain([TracingMiddleware(), observer], endingIn: Self.router)) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      _ = try await connection.get("/things/a", headers: "traceparent: \(Self.parent)\r\n")
      _ = try await connection.get("/things/a")
      while ended.withLock({ $0.count }) < 2 { await Task.yield() }
    }

    #expect(ended.withLock { $0.map { $0.trace?.traceID.description } } == [Self.traceID, nil])
  }
}
