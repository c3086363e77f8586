import Crypto
import HTTPServer
import NIOCore
import NIOHTTP1
import Points

extension IdempotencyKey {
  /// The longest key, in characters.
  static let maximumLength = 255

  /// The key that a request carries; `nil` where it carries none. A key is its sender's own: others may use the same.
  ///
  /// - Throws: `Problem` 400 for a key that is not 1 to 255 visible ASCII characters.
  static func read(
    _ request: HTTPRequest, of principal: Principal, body: ByteBuffer
  ) throws(Problem) -> IdempotencyKey? {
    let values = request.headers["idempotency-key"]
    guard let value = values.first else { return nil }
    guard values.count == 1, (1...maximumLength).contains(value.utf8.count),
      value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw .invalidHeader("Idempotency-Key", "must be 1 to \(maximumLength) visible ASCII characters")
    }
    var hash = SHA256()
    hash.update(data: Array("\(request.method.rawValue) \(request.path) \(request.mediaType ?? "")\n".utf8))
    body.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
    let requestHash = hash.finalize().prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    // A principal's namespace has no colon.
    return IdempotencyKey(text: "\(principal.namespace):\(value)", requestHash: requestHash)
  }
}
