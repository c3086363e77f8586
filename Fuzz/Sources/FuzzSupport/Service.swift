import CFuzzer
import Geo
import HTTPServer
import LocationsAPI
import MemoryStore
import NIOHTTP1
import Points
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
      let api = LocationsAPI(service: PointsService(store: store), version: "0")
      found.withLock { $0 = api.router() }
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

  /// Handles a request, and traps where the response is a server error or does not come at once.
  public func get(_ target: String) {
    let status = Mutex<UInt?>(nil)
    Task.immediate {
      let response = await responder.respond(to: HTTPRequest(target: target))
      status.withLock { $0 = response.status.code }
    }
    guard let code = status.withLock({ $0 }) else { fatalError("no response to \(target)") }
    precondition(code < 500, "\(code) for \(target)")
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
