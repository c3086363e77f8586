import Gzip
import HTTPServer
import NIOCore
import NIOHTTP1

/// In which coding an answer is sent (RFC 9110, sections 8.4.1 and 12.5.3).
enum ContentCoding {
  case identity
  case gzip

  /// An answer that is shorter than this is sent as it is, in bytes: it fits a packet or two either way.
  static let leastLength = 1024

  /// Longer answers than this are packed off the event loop, in bytes: it would take it milliseconds.
  private static let greatestLengthInPlace = 1 << 16

  /// The coding that a request prefers: gzip where it is named and weighs no less than the answer as it is.
  ///
  /// - Returns: the coding, and whether the answer may not be sent as it is; `nil` where it may not be sent in any
  ///   coding there is.
  static func chosen(by headers: HTTPHeaders) -> (coding: ContentCoding, isRequired: Bool)? {
    guard headers.contains(name: "accept-encoding") else { return (.identity, false) }
    var (gzip, identity, others): (Double?, Double?, Double?)
    for element in headers[canonicalForm: "accept-encoding"].prefix(MediaRange.maximumCount) {
      let parts = element.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
      switch parts.first {
      case "gzip", "x-gzip": gzip = max(gzip ?? 0, weight)
      case "identity": identity = weight
      case "*": others = weight
      default: break
      }
    }
    let gzipWeight = gzip ?? others ?? 0
    // As it is an answer may be sent unless that is ruled out.
    let isIdentityAllowed = (identity ?? others ?? 1) > 0
    if gzipWeight > 0, !isIdentityAllowed || gzipWeight >= identity ?? 0 { return (.gzip, !isIdentityAllowed) }
    return isIdentityAllowed ? (.identity, false) : nil
  }

  /// Whether `Accept-Encoding` prefers gzip, for what is always worth it.
  static func prefersGzip(_ headers: HTTPHeaders) -> Bool {
    chosen(by: headers)?.coding == .gzip
  }

  /// Compresses the body of a response where its request asks for that and the body is long enough. `Vary` is for the caller
  /// to add.
  ///
  /// - Throws: `Problem` 406 where the request rules out every coding.
  static func apply(to response: inout HTTPResponse, of request: HTTPRequest) async throws(Problem) {
    guard request.headers.contains(name: "accept-encoding"), case .bytes(let bytes) = response.body else {
      return
    }
    guard let (coding, isRequired) = chosen(by: request.headers) else {
      throw Problem(.notAcceptable, code: "not-acceptable", detail: "the available codings are gzip and identity")
    }
    guard coding == .gzip, isRequired || bytes.readableBytes >= leastLength else { return }
    let packed: ByteBuffer
    do {
      packed =
        bytes.readableBytes <= greatestLengthInPlace
        ? try pack(bytes)
        : try await withTaskExecutorPreference(globalConcurrentExecutor) { try await packElsewhere(bytes) }
    } catch {
      // There is no memory to pack it in.
      throw .internal
    }
    response.body = .bytes(packed)
    response.headers.add(name: "content-encoding", value: "gzip")
  }

  private static func packElsewhere(_ bytes: ByteBuffer) async throws -> ByteBuffer { try pack(bytes) }

  private static func pack(_ bytes: ByteBuffer) throws -> ByteBuffer {
    let encoder = try GzipEncoder()
    var packed: [UInt8] = []
    packed.reserveCapacity(bytes.readableBytes / 4)
    bytes.withUnsafeReadableBytes { encoder.encode($0, into: &packed) }
    encoder.finish(into: &packed)
    return ByteBuffer(bytes: packed)
  }
}
