import Foundation
import HTTPServer
import HTTPTestSupport
import Logging
import MemoryStore
import NIOHTTP1
import NIOPosix
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

/// Searches that run beside the event loop, over a socket.
@Suite(.timeLimit(.minutes(5))) struct DisconnectedSearchTests {
  @Test func searchRunsOnAnotherThreadAndItsCallerStaysOnTheEventLoop() async throws {
    try await withConnection(to: ThreadReporter()) { connection in
      let response = try await connection.get("/")

      #expect(response.text == "event loop, other thread, event loop")
    }
  }

  @Test(arguments: [
    "/locations?", "/locations?q=place&", "/locations/facets?by=category&", "/locations/clusters?zoom=3&",
    "/tiles/0/0/0.mvt?", "/ogc/collections/places/items?",
  ])
  func searchEndsWhenItsClientDisconnects(call: String) async throws {
    let store = DisconnectedStore()
    let rows = try (1...2_000).map { try ImportRow.sample("place \($0)", 1, Double($0) / 100, number: $0) }
    _ = try await store.store.load(AsyncStream([rows]))
    // Only the disconnect may end the search.
    let filtering = Filtering(timeLimit: .seconds(3_600))
    let service = PointsService(store: store)
    let router = LocationsAPI(.init(service: service, filtering: filtering, version: "1.2.3")).routerOfAllCalls()
    let responder = RecordingResponder(router)

    try await withConnection(to: responder) { connection in
      try await connection.send("GET \(call)filter=name%3D'none' HTTP/1.1\r\nHost: test\r\n\r\n")
      await store.hasBegun.pass()
      connection.reset()

      #expect(await responder.status() == 503)
    }
  }

  /// Runs the body against a server and one connection to it.
  private func withConnection(
    to responder: some HTTPResponder, body: (RawHTTPConnection) async throws -> Void
  ) async throws {
    var configuration = HTTPServerConfiguration(port: 0)
    configuration.threads = 1
    // On a busy machine a client may be kept waiting for long before it sends its request.
    configuration.timeouts.header = .seconds(300)
    let server = try await HTTPServer.bind(
      configuration: configuration, responder: responder,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    do {
      try await body(try await RawHTTPConnection.open(port: server.port))
    } catch {
      await server.shutdown(gracePeriod: .zero)
      throw error
    }
    await server.shutdown(gracePeriod: .zero)
  }
}

/// Responds with the threads before, during and after a search.
private struct ThreadReporter: HTTPResponder {
  private static var thread: String {
    MultiThreadedEventLoopGroup.currentEventLoop == nil ? "other thread" : "event loop"
  }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let before = Self.thread
    let during = (try? await request.computing { Self.thread }) ?? "none"
    let text = "\(before), \(during), \(Self.thread)"
    return HTTPResponse(contentType: "text/plain", bytes: Array(text.utf8))
  }
}

/// A responder that keeps the status of its first response, whether the client receives it or not.
private struct RecordingResponder: HTTPResponder {
  private let responder: any HTTPResponder
  private let statuses = AsyncStream<Int>.makeStream()

  init(_ responder: any HTTPResponder) {
    self.responder = responder
  }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let response = await responder.respond(to: request)
    statuses.continuation.yield(Int(response.status.code))
    return response
  }

  /// Waits for the first response, and returns its status.
  func status() async -> Int? { await statuses.stream.first { _ in true } }
}

/// A store whose searches begin once their client has disconnected.
private struct DisconnectedStore: ForwardingStore {
  let store = MemoryStore.countingFromOne()
  let hasBegun = Gate()

  var index: (any StoreIndex)? {
    ComputedIndex(index: store) { [hasBegun] in
      hasBegun.open()
      // It holds its thread, as a search does.
      while !Task.isCancelled { Thread.sleep(forTimeInterval: 0.001) }
    }
  }
}
