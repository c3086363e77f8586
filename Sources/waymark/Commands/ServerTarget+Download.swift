import AsyncHTTPClient
import Foundation
import HTTPServer
import NIOCore
import NIOHTTP1
import ServerFeatures

extension ServerTarget {
  /// The limit of the body of a response that is a problem.
  static let maximumProblemBytes = 1 << 20

  /// Sends a request whose response is a file, and writes it as it comes.
  ///
  /// - Parameter mediaType: the media type that the response must have.
  /// - Returns: the header fields of the response.
  /// - Throws: ``ServerCallError``, or the error of writing.
  @discardableResult
  func download(_ request: HTTPClientRequest, _ mediaType: String, to file: ExportFile) async throws -> HTTPHeaders {
    try await withClient { (client) async throws -> HTTPHeaders in
      let response: HTTPClientResponse
      do {
        response = try await client.execute(request, deadline: .distantFuture)
      } catch {
        throw ServerCallError(error, target: self)
      }
      guard response.status == .ok else {
        let body = try? await response.body.collect(upTo: Self.maximumProblemBytes)
        throw ServerCallError(response.status, body: Data(body?.readableBytesView ?? ByteBufferView()))
      }
      guard response.headers.first(name: "content-type")?.hasPrefix(mediaType) == true else {
        throw ServerCallError(notWaymark: self)
      }
      var body = response.body.makeAsyncIterator()
      while let buffer = try await next(of: &body) { try file.write(Array(buffer.readableBytesView)) }
      return response.headers
    }
  }

  private func next(of body: inout HTTPClientResponse.Body.AsyncIterator) async throws -> ByteBuffer? {
    do {
      return try await body.next()
    } catch {
      throw ServerCallError(error, target: self)
    }
  }
}
