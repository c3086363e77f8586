import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PlaceFormats
import Points

/// A running server that files of places are sent to, by `POST /locations/import`.
struct ImportServer {
  private static let path = "/locations/import"

  /// A report has at most so many bytes: that of the first hundred rows that were left out.
  private static let maximumReportBytes = 1 << 20

  private let target: ServerTarget

  /// The path of the call, with its parameters.
  private let call: String

  /// Creates a server.
  init(_ target: ServerTarget, isAtomic: Bool, isDryRun: Bool, options: RowOptions = .standard) {
    self.target = target
    let parameters = [
      isAtomic ? "mode=atomic" : nil, isDryRun ? "dryRun=true" : nil,
      options.unknownFields == .tags ? nil : "unknownFields=\(options.unknownFields.rawValue)",
      options.source.map { "source=\(Self.percentEncoded($0))" },
      options.idField.map { "idField=\(Self.percentEncoded($0))" },
    ].compactMap(\.self)
    call = Self.path + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
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
    try await target.withClient { client in
      await Self.result { () throws(ImportServerError) in
        try await importing(files, by: client, onProgress: onProgress, onWarning: onWarning)
      }
    }.get()
  }

  private static func result<Value>(
    _ body: () async throws(ImportServerError) -> Value
  ) async -> Result<Value, ImportServerError> {
    do {
      return .success(try await body())
    } catch {
      return .failure(error)
    }
  }

  private func importing(
    _ files: [PlaceFiles.File],
    by client: HTTPClient,
    onProgress: @escaping @Sendable (_ path: String, _ bytesRead: Int) -> Void,
    onWarning: (String) -> Void
  ) async throws(ImportServerError) -> ImportReport {
    var whole = ImportReport()
    for (index, file) in files.enumerated() {
      do {
        let report = try await send(file, by: client, onProgress: onProgress)
        for warning in report.warnings ?? [] { onWarning("\(file.path): \(warning)") }
        whole.add(report.counted(after: whole.rowCount, in: file))
      } catch {
        throw error.about(file, importedBefore: index)
      }
    }
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
    var request = target.request(.POST, call)
    request.headers.add(
      contentsOf: ["content-type": file.format.mediaType, "accept": "application/json", "idempotency-key": key])
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
      throw ImportServerError(error, target: target.base + call)
    }
    guard status == .ok else { throw ImportServerError(status, body: Data(body.readableBytesView), file: file) }
    do {
      return try JSONDecoder().decode(ServerReport.self, from: Data(body.readableBytesView))
    } catch {
      throw .refused("\(target.base) did not answer as Waymark does")
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
