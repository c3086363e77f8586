@testable import AreasAPI
import CFuzzer
@testable import Changes
import Dispatch
@testable import Duplicates
import Geo
import HTTPServer
@testable import LocationsAPI
@testable import ManagementAPI
@testable import MCP
@testable import Maps
@testable import MemoryStore
import NIOCore
import NIOHTTP1
@testable import OGC
@testable import Pages
@testable import Photon
import Points
@testable import SearchAnalytics
import Synchronization

/// A service over a few places that handles requests in process.
public struct Service: Sendable {
  private let responder: Router

  /// Creates the service. Its store is in memory, so that none of its tasks suspends.
  public init() {
    let found = Mutex<Router?>(nil)
    Task.immediate {
      let store = MemoryStore()
      let rows = (1...9).map { number in Self.row(number) }
      let stream = AsyncStream<[ImportRow]> { continuation in
        continuation.yield(rows)
        continuation.finish()
      }
      _ = try? await store.importRows(stream, mode: .partial, dryRun: false)
      let service = PointsService(store: store)
      var configuration = LocationsAPI.Configuration(service: service, version: "0")
      configuration.filtering = Filtering(timeLimit: .seconds(600))
      configuration.pageStyle = .translated
      let api = LocationsAPI(configuration)
      let decisions = DuplicateDecisions(store)
      let router = api.router { api in
        ManagementAPI(api).endpoints + MCPCalls(api).endpoints + MapCalls(api).endpoints + PageCalls(api).endpoints
          + ChangeCalls(api, streams: ChangeStreams()).endpoints + AreasAPI(api).endpoints
          + DuplicateCalls(api, decisions: decisions).endpoints
          + SearchReportCalls(api, history: nil).endpoints
          + FeaturesAPI(api).endpoints + PhotonAPI(api).endpoints
      }
      found.withLock { $0 = router }
    }
    while true {
      if let router = found.withLock({ $0 }) {
        responder = router
        return
      }
    }
  }

  private static func row(_ number: Int) -> ImportRow {
    guard let coordinate = try? Coordinate(latitude: Double(number), longitude: Double(number)),
      let place = try? PointDraft(name: "\(number)", category: "cafe", coordinate: coordinate)
    else { fatalError("the place is invalid") }
    return ImportRow(number: number, id: nil, draft: place)
  }

  /// The maximum number of bytes of a response to a request of a number of bytes. Links repeat the target.
  private static func maximumResponseSize(requestSize: Int) -> Int { (1 << 20) + 32 * requestSize }

  /// Handles a request, and traps where the response is a server error or large.
  public func get(_ target: String) {
    handle(HTTPRequest(target: target), maximumResponseSize: Self.maximumResponseSize(requestSize: target.utf8.count))
  }

  /// Handles a request with a body in JSON, and traps where the response is a server error or much larger than the body.
  public func post(_ target: String, _ body: [UInt8]) {
    let request = HTTPRequest(
      method: .POST, target: target, headers: ["content-type": "application/json", "host": "localhost"],
      body: .bytes(ByteBuffer(bytes: body)))
    handle(request, maximumResponseSize: Self.maximumResponseSize(requestSize: body.count))
  }

  private func handle(_ request: HTTPRequest, maximumResponseSize: Int) {
    let isDone = DispatchSemaphore(value: 0)
    // A search with a time limit is finished on another thread.
    Task.immediate {
      let response = await responder.respond(to: request)
      precondition(response.status.code < 500, "\(response.status.code) for \(request.path)")
      if let body = try? await response.body.collect() {
        precondition(body.readableBytes <= maximumResponseSize, "a large response for \(request.path)")
      }
      isDone.signal()
    }
    isDone.wait()
  }
}

/// Runs libFuzzer on a function that traps on a failure, and returns when the time is over.
///
/// - Parameter body: called with each input.
public func runFuzzer(_ body: @escaping @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt) {
  var count = CommandLine.argc
  var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
  _ = LLVMFuzzerRunDriver(&count, &arguments, body)
}
