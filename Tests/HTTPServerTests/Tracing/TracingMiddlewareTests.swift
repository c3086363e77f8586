import HTTPTestSupport
import Logging
import NIOCore
import NIOHTTP1
import Synchronization
import Testing
import Tracing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(5))) struct TracingMiddlewareTests {
  private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let parent = "00-\(traceID)-00f067aa0ba902b7-01"

  /// Responds with the trace of its task.
  private static let router: Router = {
    var routes: [Route] = []
    routes.on(.GET, "/things/{id}") { request, _ in
      let context = ServiceContext.current
      return .text("\(context?.traceParent?.description ?? "none") \(context?.traceState ?? "none")")
    }
    routes.on(.GET, "/failing") { _, _ in throw HTTPConnectionClosed() }
    return Router(routes)
  }()

  private func respond(_ headers: HTTPHeaders) async -> (response: HTTPResponse, words: [String]) {
    let chain = MiddlewareChain([TracingMiddleware()], endingIn: Self.router)
    let response = await chain.respond(to: HTTPRequest(target: "/things/a", headers: headers))
    guard case .bytes(let bytes) = response.body else { return (response, []) }
    return (response, String(buffer: bytes).split(separator: " ").map(String.init))
  }

  @Test func handlerRunsInTheTraceOfItsClient() async throws {
    let (response, words) = await respond(["traceparent": Self.parent, "tracestate": "a=1", "Tracestate": "b=2"])

    let inside = try #require(words.first.flatMap(TraceParent.init))
    #expect(inside.traceID.description == Self.traceID)
    #expect(inside.spanText != "00f067aa0ba902b7")
    #expect(words.last == "a=1,b=2")
    #expect(response.context?.trace == inside)
  }

  @Test(
    arguments: [
      [], [("traceparent", "00-1-2-3")], [("traceparent", parent), ("traceparent", parent)],
    ] as [[(String, String)]])
  func requestWithoutOneValidParentHasNoTrace(headers: [(String, String)]) async {
    let (response, words) = await respond(HTTPHeaders(headers + [("tracestate", "a=1")]))

    #expect(words == ["none", "none"])
    #expect(response.context?.trace == nil)
  }

  @Test func oversizedTraceStateIsDropped() async {
    let whole = await respond(["traceparent": Self.parent, "tracestate": "a=" + String(repeating: "1", count: 510)])
    let tooMuch = await respond(["traceparent": Self.parent, "tracestate": "a=" + String(repeating: "1", count: 511)])

    #expect(whole.words.last?.utf8.count == 512)
    #expect(tooMuch.words.last == "none")
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

  @Test func tracerReceivesOneSpanForEachRequest() async throws {
    let tracer = RecordingTracer()
    let responder = MiddlewareChain([TracingMiddleware(tracer: tracer)], endingIn: Self.router)

    _ = await responder.respond(to: HTTPRequest(target: "/things/a", headers: ["traceparent": Self.parent]))
    _ = await responder.respond(to: HTTPRequest(target: "/nowhere"))
    _ = await responder.respond(to: HTTPRequest(target: "/failing"))

    let spans = tracer.spans
    #expect(spans.map(\.operationName) == ["GET /things/{id}", "GET", "GET /failing"])
    #expect(spans.map(\.hasEnded) == [true, true, true])
    #expect(spans.map(\.kind) == [.server, .server, .server])
    #expect(spans.map(\.hasFailed) == [false, false, true])
    #expect(spans.map(\.context.traceParent?.traceID.description) == [Self.traceID, nil, nil])
    #expect(
      spans.map { $0.attributes["http.response.status_code"]?.toSpanAttribute() }
        == [.int64(200), .int64(404), .int64(500)])
    #expect(tracer.extracted == [Self.parent])
  }
}
