import Foundation
import FoundationNetworking
import WaymarkClient

/// A client app of one server: loaders that share a session.
struct ClientDriver: Sendable {
  let baseURL: URL

  private let session: URLSession
  private let configuration: LoaderConfiguration

  init(port: Int, configuration: LoaderConfiguration = .withoutTotalTimeout) throws {
    guard let url = URL(string: "http://127.0.0.1:\(port)") else { throw URLError(.badURL) }
    baseURL = url
    let session = URLSessionConfiguration.ephemeral
    session.timeoutIntervalForRequest = 300
    self.session = URLSession(configuration: session)
    self.configuration = configuration
  }

  /// Returns a loader for one kind of request.
  func loader<T: APIRequest>(_ request: (URL) -> T) -> APIRequestLoader<T> {
    APIRequestLoader(apiRequest: request(baseURL), urlSession: session, configuration: configuration)
  }

  /// Sends a request and returns the value.
  func load<T: APIRequest>(
    _ request: (URL) -> T, _ data: T.RequestDataType
  ) async throws -> APIResponse<T.ResponseDataType> {
    try await loader(request).load(requestData: data)
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
