import Foundation
import FoundationNetworking

/// A client of one server: each request by its own session, none of them shared.
struct ServerDriver: Sendable {
  /// An answer, read.
  struct Answer: Sendable {
    let status: Int
    let headers: [String: String]
    let body: Data

    /// The body as an array of places.
    var places: [PlaceAnswer] {
      get throws { try JSONDecoder().decode([PlaceAnswer].self, from: body) }
    }

    /// The body as a place.
    var place: PlaceAnswer {
      get throws { try JSONDecoder().decode(PlaceAnswer.self, from: body) }
    }

    /// The body as an import's report.
    var report: ReportAnswer {
      get throws { try JSONDecoder().decode(ReportAnswer.self, from: body) }
    }

    /// The body as a problem.
    var problem: ProblemAnswer {
      get throws { try JSONDecoder().decode(ProblemAnswer.self, from: body) }
    }

    /// The target of the link to the next page.
    var next: String? {
      headers["link"].map { String($0.dropFirst().prefix { $0 != ">" }) }
    }
  }

  struct PlaceAnswer: Decodable, Sendable {
    let id: String
    let name: String
    let lat: Double
    let long: Double
    let distance: Double?
    let category: String?
    let tags: [String: String]
  }

  struct ReportAnswer: Decodable, Sendable {
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

  struct ProblemAnswer: Decodable, Sendable {
    struct Detail: Decodable, Sendable {
      let parameter: String?
    }
    let status: Int
    let code: String
    let errors: [Detail]?
  }

  private let base: String
  private let session: URLSession

  init(port: Int) {
    base = "http://127.0.0.1:\(port)"
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 16
    configuration.timeoutIntervalForRequest = 30
    session = URLSession(configuration: configuration)
  }

  /// The answer to an import.
  func importing(_ body: Data, as mediaType: String, query: String = "") async throws -> Answer {
    try await send("POST", "/locations/import\(query)", headers: ["Content-Type": mediaType], body: body)
  }

  /// The answer to a GET, the target being percent-encoded already.
  func get(_ target: String, headers: [String: String] = [:]) async throws -> Answer {
    try await send("GET", target, headers: headers)
  }

  /// The answer to a request, the target being percent-encoded already.
  func send(
    _ method: String, _ target: String, headers: [String: String] = [:], body: Data? = nil
  ) async throws -> Answer {
    guard let url = URL(string: base + target) else { throw URLError(.badURL) }
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.httpBody = body
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    let (body, response) = try await session.data(for: request)
    guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields { fields[name.lowercased()] = value }
    return Answer(status: response.statusCode, headers: fields, body: body)
  }
}
