import Foundation
import Synchronization
import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Waymark {
  /// Creates a client of a server on this machine.
  init(port: Int, configuration: LoaderConfiguration = .withoutTotalTimeout) throws {
    guard let url = URL(string: "http://127.0.0.1:\(port)") else { throw URLError(.badURL) }
    self.init(baseURL: url, configuration: configuration)
  }

  /// Returns the places that match a filter, as the contents of a file.
  func exported(_ filter: PointFilter, as format: PointFormat = .ndjson) async throws -> Data {
    let folder = try TemporaryFolder()
    let file = URL(filePath: folder.path(of: "places"))
    try await exportPlaces(filter, as: format, to: file)
    return try Data(contentsOf: file)
  }
}

extension LoaderConfiguration {
  /// A configuration without a total timeout, for busy machines.
  static var withoutTotalTimeout: LoaderConfiguration {
    var configuration = LoaderConfiguration()
    configuration.totalTimeout = nil
    return configuration
  }
}

/// The methods of the requests of a client, in order.
final class MethodLog: APIInterceptor {
  private let recorded = Mutex<[String]>([])

  var methods: [String] { recorded.withLock { $0 } }

  func prepare(_ request: URLRequest) async throws -> URLRequest {
    recorded.withLock { $0.append(request.httpMethod ?? "") }
    return request
  }
}
