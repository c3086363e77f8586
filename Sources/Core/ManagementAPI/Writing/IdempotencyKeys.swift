import Basics
import Crypto
package import HTTPServer
import LocationsAPI
package import NIOCore
import NIOHTTP1
package import Points
import Synchronization

extension IdempotencyKey {
  /// The longest key, in characters.
  static let maximumLength = 255

  /// Returns the key of a request; `nil` if it has none. Keys of different principals never conflict.
  ///
  /// - Parameter variant: what makes the request another one beside its path and body, if anything.
  /// - Throws: `Problem` 400 for a key that is not 1 to 255 visible ASCII characters.
  package static func read(
    _ request: HTTPRequest, of principal: Principal, body: ByteBuffer, variant: String? = nil
  ) throws(Problem) -> IdempotencyKey? {
    guard let text = try text(of: request, principal) else { return nil }
    let variant = variant.map { " \($0)" } ?? ""
    let hash = RequestHash("\(request.method.rawValue) \(request.path) \(request.mediaType ?? "")\(variant)")
    hash.update(body)
    return IdempotencyKey(text: text, requestHash: hash.value, client: client(of: request))
  }

  fileprivate static func text(of request: HTTPRequest, _ principal: Principal) throws(Problem) -> String? {
    let values = request.headers["idempotency-key"]
    guard let value = values.first else { return nil }
    guard values.count == 1, (1...maximumLength).contains(value.utf8.count),
      value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw .invalidParameter("Idempotency-Key", "must be 1 to \(maximumLength) visible ASCII characters")
    }
    // A principal's namespace has no colon.
    return "\(principal.namespace):\(value)"
  }

  /// Returns the unique name of the client whose share of the memory for keys the keys of a request use.
  package static func client(of request: HTTPRequest) -> String {
    switch request.sender {
    case .principal(let principal): principal.namespace
    // No namespace has a colon.
    case .address(let address): ":\(address?.digits ?? "")"
    }
  }
}

extension ImportKey {
  /// Returns the key of a request whose body is a stream.
  ///
  /// - Returns: the key, and the hash to update with the body; `nil` if the request has no key.
  /// - Throws: `Problem` 400 for a key that is not 1 to 255 visible ASCII characters.
  package static func read(
    _ request: HTTPRequest, of principal: Principal
  ) throws(Problem) -> (key: ImportKey, hash: RequestHash)? {
    guard let text = try IdempotencyKey.text(of: request, principal) else { return nil }
    let encoding = request.headers["content-encoding"].joined(separator: ",")
    let target = "\(request.path)?\(request.query ?? "")"
    let hash = RequestHash("\(request.method.rawValue) \(target) \(request.mediaType ?? "") \(encoding)")
    return (ImportKey(text: text, client: IdempotencyKey.client(of: request)) { hash.value }, hash)
  }
}

/// An incremental hash of a request: the first 64 bits of SHA-256.
package final class RequestHash: Sendable {
  private let hash: Mutex<SHA256>

  init(_ head: String) {
    var hash = SHA256()
    hash.update(data: Array("\(head)\n".utf8))
    self.hash = Mutex(hash)
  }

  /// Adds a chunk of the body.
  func update(_ chunk: ByteBuffer) {
    chunk.withUnsafeReadableBytes { bytes in hash.withLock { $0.update(bufferPointer: bytes) } }
  }

  /// The hash of the head and the chunks so far.
  var value: UInt64 { UInt64(bigEndianBytes: hash.withLock { $0 }.finalize().prefix(8)) }
}
