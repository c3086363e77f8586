import AsyncHTTPClient
import Foundation
import HTTPServer
import NIOCore
import NIOHTTP1
import PlaceFormats
import Points

/// A running server that files of places are sent to, by `POST /locations/import`.
struct ImportServer {
  private static let path = "/locations/import"

  /// How long a connection may take to be made. How long an import takes is the server's to say.
  private static let connectTimeout = TimeAmount.seconds(10)

  /// A report has at most so many bytes: that of the first hundred rows that were left out.
  private static let maximumReportBytes = 1 << 20

  /// The address of the call, with its parameters.
  let target: String

  private let apiKey: String?
  private let trace: TraceParent?

  /// Makes a server.
  ///
  /// - Parameters:
  ///   - url: where it is, without the path of the call.
  ///   - trace: the trace that the requests are steps of.
  /// - Throws: ``ConfigurationError`` for an address or a key that can't be used; it does not tell the key.
  init(
    url: String, apiKey: String?, trace: TraceParent? = nil, isAtomic: Bool, isDryRun: Bool,
    options: RowOptions = .standard
  ) throws(ConfigurationError) {
    guard let components = URLComponents(string: url), ["http", "https"].contains(components.scheme?.lowercased()),
      components.host?.isEmpty == false, components.user == nil, components.query == nil, components.fragment == nil
    else {
      throw .init(variable: "--url", value: url, expectation: "must be an address such as http://127.0.0.1:8080")
    }
    guard apiKey?.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) != false else {
      throw .init(variable: "WAYMARK_API_KEY", value: nil, expectation: "must be printable ASCII without blanks")
    }
    var base = url
    while base.hasSuffix("/") { base.removeLast() }
    let parameters = [
      isAtomic ? "mode=atomic" : nil, isDryRun ? "dryRun=true" : nil,
      options.unknownFields == .tags ? nil : "unknownFields=\(options.unknownFields.rawValue)",
      options.source.map { "source=\(Self.percentEncoded($0))" },
      options.idField.map { "idField=\(Self.percentEncoded($0))" },
    ].compactMap(\.self)
    target = base + Self.path + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
    self.apiKey = apiKey
    self.trace = trace
  }

  private static func percentEncoded(_ text: String) -> String {
    // The unreserved characters of RFC 3986 alone stay as they are.
    let unreserved = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    return text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
  }

  /// Sends the files, each by a request of its own, and adds up what the server says it did. Memory is bounded whatever a
  /// file's size. Rows are numbered over all files.
  ///
  /// - Parameters:
  ///   - onProgress: is told of each chunk that is sent: the file's path and how many of its bytes have been read.
  ///   - onWarning: is told of the server's warnings.
  func importing(
    _ files: [PlaceFiles.File],
    onProgress: @escaping @Sendable (_ path: String, _ bytesRead: Int) -> Void,
    onWarning: (String) -> Void
  ) async throws(ImportServerError) -> ImportReport {
    var configuration = HTTPClient.Configuration()
    configuration.timeout.connect = Self.connectTimeout
    // A request whose body is a stream can't be sent again to elsewhere.
    configuration.redirectConfiguration = .disallow
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    var whole = ImportReport()
    var failure: ImportServerError?
    for (index, file) in files.enumerated() {
      do {
        let report = try await send(file, by: client, onProgress: onProgress)
        for warning in report.warnings ?? [] { onWarning("\(file.path): \(warning)") }
        whole.add(report.counted(after: whole.rowCount, in: file))
      } catch {
        failure = error.about(file, importedBefore: index)
        break
      }
    }
    try? await client.shutdown()
    if let failure { throw failure }
    return whole
  }

  /// Sends a file, and once more where the connection broke off. Both requests have one key, so that the file is imported
  /// once.
  private func send(
    _ file: PlaceFiles.File,
    by client: HTTPClient,
    onProgress: @escaping @Sendable (_ path: String, _ bytesRead: Int) -> Void
  ) async throws(ImportServerError) -> ServerReport {
    let key = UUID().uuidString
    do {
      return try await send(file, key: key, by: client, onProgress: onProgress)
    } catch {
      // The standard input can't be read a second time.
      guard case .brokenOff = error, file.path != FileChunks.standardInputPath else { throw error }
      do {
        return try await send(file, key: key, by: client, onProgress: onProgress)
      } catch let second {
        // That the server can't be reached now says nothing of the first request.
        if case .unavailable = second { throw error }
        throw second
      }
    }
  }

  private func send(
    _ file: PlaceFiles.File,
    key: String,
    by client: HTTPClient,
    onProgress: @escaping @Sendable (_ path: String, _ bytesRead: Int) -> Void
  ) async throws(ImportServerError) -> ServerReport {
    var request = HTTPClientRequest(url: target)
    request.method = .POST
    request.headers = [
      "content-type": file.format.mediaType, "accept": "application/json", "idempotency-key": key,
    ]
    if let apiKey { request.headers.add(name: "authorization", value: "Bearer \(apiKey)") }
    if let trace {
      var generator = SystemRandomNumberGenerator()
      request.headers.add(name: "traceparent", value: trace.child(using: &generator).description)
    }
    request.body = .stream(FileBuffers(path: file.path) { onProgress(file.path, $0) }, length: .unknown)
    let status: HTTPResponseStatus
    let body: ByteBuffer
    do {
      let response = try await client.execute(request, deadline: .distantFuture)
      status = response.status
      body = try await response.body.collect(upTo: Self.maximumReportBytes)
    } catch let error as FileError {
      throw .unreadable("\(error.reason); nothing was imported")
    } catch {
      throw ImportServerError(error, target: target)
    }
    guard status == .ok else { throw ImportServerError(status, body: Data(body.readableBytesView), file: file) }
    do {
      return try JSONDecoder().decode(ServerReport.self, from: Data(body.readableBytesView))
    } catch {
      throw .refused("\(target) did not answer as Waymark does")
    }
  }
}

/// A file as it is sent.
private struct FileBuffers: AsyncSequence, Sendable {
  let path: String
  let onProgress: @Sendable (_ bytesRead: Int) -> Void

  func makeAsyncIterator() -> Iterator {
    Iterator(chunks: FileChunks(path: path).makeAsyncIterator(), onProgress: onProgress)
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var chunks: FileChunks.AsyncIterator
    fileprivate let onProgress: @Sendable (_ bytesRead: Int) -> Void
    private var bytesRead = 0

    fileprivate init(chunks: FileChunks.AsyncIterator, onProgress: @escaping @Sendable (_ bytesRead: Int) -> Void) {
      self.chunks = chunks
      self.onProgress = onProgress
    }

    mutating func next() async throws -> ByteBuffer? {
      guard let chunk = try await chunks.next() else { return nil }
      bytesRead += chunk.count
      onProgress(bytesRead)
      return ByteBuffer(bytes: chunk)
    }
  }
}

extension ImportReport {
  /// How many rows it tells of.
  fileprivate var rowCount: Int { accepted + rejected }
}
