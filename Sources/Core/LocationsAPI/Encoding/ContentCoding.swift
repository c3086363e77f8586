import Basics
import Gzip
package import HTTPServer
import NIOCore
import NIOHTTP1

/// The content coding of a response (RFC 9110, sections 8.4.1 and 12.5.3).
package enum ContentCoding {
  case identity
  case gzip

  /// The minimum length of a response that is compressed, in bytes: a shorter one fits a packet or two either way.
  static let leastLength = 1024

  /// The maximum length of a response that is compressed on the event loop, in bytes: a longer one takes milliseconds.
  private static let greatestLengthInPlace = 1 << 16

  /// Returns the coding that a request prefers: gzip where it is named and weighs no less than identity.
  ///
  /// - Returns: the coding, and a Boolean value that indicates whether identity is excluded; `nil` if every coding
  ///   is.
  static func chosen(by headers: RequestFields) -> (coding: ContentCoding, isRequired: Bool)? {
    guard headers.contains(name: "accept-encoding") else { return (.identity, false) }
    var (gzip, identity, others): (Int?, Int?, Int?)
    for element in headers[canonicalForm: "accept-encoding"].prefix(MediaRange.maximumCount) {
      let parts = element.split(separator: ";", omittingEmptySubsequences: false)
      let weight = MediaRange.quality(of: parts.dropFirst())
      switch parts[0].trimmingBlanks.lowercased() {
      case "gzip", "x-gzip": gzip = max(gzip ?? 0, weight)
      case "identity": identity = weight
      case "*": others = weight
      default: break
      }
    }
    let gzipWeight = gzip ?? others ?? 0
    // Identity is acceptable unless it is excluded.
    let isIdentityAllowed = (identity ?? others ?? 1) > 0
    if gzipWeight > 0, !isIdentityAllowed || gzipWeight >= identity ?? 0 { return (.gzip, !isIdentityAllowed) }
    return isIdentityAllowed ? (.identity, false) : nil
  }

  /// Returns the coding that a request prefers, as ``chosen(by:)`` does.
  ///
  /// - Throws: `Problem` 406 where the request excludes every coding.
  package static func accepted(by headers: RequestFields) throws(Problem) -> (coding: ContentCoding, isRequired: Bool) {
    guard let chosen = chosen(by: headers) else {
      throw .notAcceptable("the available codings are gzip and identity")
    }
    return chosen
  }

  /// Returns a Boolean value that indicates whether `Accept-Encoding` prefers gzip.
  package static func prefersGzip(_ headers: RequestFields) -> Bool {
    chosen(by: headers)?.coding == .gzip
  }

  /// Returns a Boolean value that indicates whether a request names codings. If not, the caller saves the call of
  /// ``apply(to:of:)``, whose frame is an allocation.
  package static func isAsked(by request: HTTPRequest) -> Bool { request.headers.contains(name: "accept-encoding") }

  /// Compresses the body of a response where its request prefers that and the body is long enough. The caller adds
  /// `Vary`.
  ///
  /// - Throws: `Problem` 406 where the request excludes every coding.
  package static func apply(to response: inout HTTPResponse, of request: HTTPRequest) async throws(Problem) {
    guard isAsked(by: request), case .bytes(let bytes) = response.body else { return }
    let (coding, isRequired) = try accepted(by: request.headers)
    guard coding == .gzip, isRequired || bytes.readableBytes >= leastLength else { return }
    if bytes.readableBytes <= greatestLengthInPlace {
      try compress(bytes, of: &response)
      return
    }
    do throws(Problem) {
      response = try await request.computing { [response] () throws(Problem) in
        var response = response
        try compress(bytes, of: &response)
        return response
      }
    } catch {
      // Without a free processor in time, the body is sent as it is, which costs none.
      if isRequired { throw error }
    }
  }

  private static func compress(_ bytes: ByteBuffer, of response: inout HTTPResponse) throws(Problem) {
    // Without memory for the compressed body.
    guard let compressed = try? compress(bytes) else { throw .internal }
    response.body = .bytes(compressed)
    response.headers.add(name: "content-encoding", value: "gzip")
  }

  private static func compress(_ bytes: ByteBuffer) throws -> ByteBuffer {
    let encoder = try GzipEncoder()
    var compressed: [UInt8] = []
    compressed.reserveCapacity(bytes.readableBytes / 4)
    bytes.withUnsafeReadableBytes { encoder.encode($0, into: &compressed) }
    encoder.finish(into: &compressed)
    return ByteBuffer(bytes: compressed)
  }
}
