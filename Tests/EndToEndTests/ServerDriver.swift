import Foundation
import FoundationNetworking

/// A client of one server, which uses a new session for each request.
struct ServerDriver: Sendable {
  /// A response with its body.
  struct Response: Sendable {
    let status: Int
    let headers: [String: String]
    let body: Data

    /// The body, decoded as an array of places.
    var places: [PointResponse] {
      get throws { try JSONDecoder().decode([PointResponse].self, from: body) }
    }

    /// The body, decoded as a place.
    var place: PointResponse {
      get throws { try JSONDecoder().decode(PointResponse.self, from: body) }
    }

    /// The body, decoded as an import report.
    var report: ReportResponse {
      get throws { try JSONDecoder().decode(ReportResponse.self, from: body) }
    }

    /// The body, decoded as problem details.
    var problem: ProblemResponse {
      get throws { try JSONDecoder().decode(ProblemResponse.self, from: body) }
    }

    /// The target of the link to the next page.
    var next: String? {
      headers["link"]?.firstMatch(of: /<([^>]*)>; rel="next"/).map { String($0.output.1) }
    }
  }

  struct PointResponse: Decodable, Sendable {
    let id: String
    let name: String
    let lat: Double
    let long: Double
    let distance: Double?
    let category: String?
    let tags: [String: String]
    let version: Int?
  }

  struct ReportResponse: Decodable, Sendable {
    struct Row: Decodable, Sendable {
      let row: Int
      let detail: String
    }
    let created: Int
    let updated: Int
    let unchanged: Int
    let rejected: Int
    let errors: [Row]
  }

  struct ProblemResponse: Decodable, Sendable {
    struct Detail: Decodable, Sendable {
      let parameter: String?
    }
    let status: Int
    let code: String
    let errors: [Detail]?
  }

  let port: Int

  private let base: String
  private let session: URLSession

  init(port: Int) {
    self.port = port
    base = "http://127.0.0.1:\(port)"
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 16
    configuration.timeoutIntervalForRequest = 300
    session = URLSession(configuration: configuration)
  }

  /// Sends an import and returns the response.
  func importing(_ body: Data, as mediaType: String, query: String = "") async throws -> Response {
    try await send("POST", "/locations/import\(query)", headers: ["Content-Type": mediaType], body: body)
  }

  /// Returns when the server reads from an index that follows the database.
  func waitForIndex() async throws {
    let phase = Data(#""phase":"following""#.utf8)
    while try await get("/health/ready").body.firstRange(of: phase) == nil {
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Sends a GET request with a percent-encoded target.
  func get(_ target: String, headers: [String: String] = [:]) async throws -> Response {
    try await send("GET", target, headers: headers)
  }

  /// Sends a request with a percent-encoded target.
  func send(
    _ method: String, _ target: String, headers: [String: String] = [:], body: Data? = nil
  ) async throws -> Response {
    guard let url = URL(string: base + target) else { throw URLError(.badURL) }
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.httpBody = body
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    let (body, response) = try await session.data(for: request)
    guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields { fields[name.lowercased()] = value }
    return Response(status: response.statusCode, headers: fields, body: body)
  }
}
