import Geo
import HTTPServer
import LocationsAPI
import MemoryStore
import NIOHTTP1
import Points
import Synchronization

/// A service over a few places, which is asked in process.
public struct Service: Sendable {
  private let responder: Router

  /// Creates the service. Its store is in memory, so that nothing it does has to be waited for.
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
      let place = try? Place(name: "\(number)", category: "cafe", coordinate: coordinate)
    else { fatalError("a place with a name and a coordinate is one") }
    return ImportRow(number: number, id: nil, place: place)
  }

  /// Asks, and stops the program where the answer is an error of the server's, or none comes at once.
  public func get(_ target: String) {
    let status = Mutex<UInt?>(nil)
    Task.immediate {
      let response = await responder.respond(to: HTTPRequest(target: target))
      status.withLock { $0 = response.status.code }
    }
    guard let code = status.withLock({ $0 }) else { fatalError("no answer to \(target)") }
    precondition(code < 500, "\(code) for \(target)")
  }
}
