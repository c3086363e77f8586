import Foundation

/// The contents of a cache file: a checksum, a line of JSON with the metadata, and the response's body.
///
/// Files are written atomically with respect to a process that crashes, but not to a machine that does. The checksum
/// covers everything after it, and detects any change of a single byte for certain. The key distinguishes requests
/// whose files have the same name.
struct CacheEntry {
  private struct Head: Codable {
    let key: String
    let entityTag: String?
    let nextPage: String?
    let latitude: Double?
    let longitude: Double?
    let receivedAt: Double
    let maxAge: Double?
  }

  private static let newline = UInt8(ascii: "\n")

  /// The length of the checksum and the newline after it.
  private static let checksumLength = 17

  /// Returns the contents of the file for a response.
  ///
  /// - Throws: `EncodingError`.
  static func data(of response: StoredResponse, key: String) throws -> Data {
    let head = Head(
      key: key, entityTag: response.entityTag?.rawValue, nextPage: response.nextPage?.absoluteString,
      latitude: response.center?.latitude, longitude: response.center?.longitude,
      receivedAt: response.receivedAt.timeIntervalSinceReferenceDate, maxAge: response.maxAge)
    let contents = try ServiceJSON.data(of: head) + [newline] + response.body
    return checksum(of: contents) + contents
  }

  /// Returns the response in a file's contents; `nil` for another key or a damaged file.
  static func response(from data: Data, key: String) -> StoredResponse? {
    let contents = data.dropFirst(checksumLength)
    guard data.prefix(checksumLength) == checksum(of: contents), let end = contents.firstIndex(of: newline),
      let head = try? JSONDecoder().decode(Head.self, from: contents[..<end]),
      // Byte for byte: two names of users may be canonically equivalent.
      head.key.utf8.elementsEqual(key.utf8)
    else { return nil }
    var center: Coordinate?
    if let latitude = head.latitude, let longitude = head.longitude {
      center = try? Coordinate(latitude: latitude, longitude: longitude)
    }
    return StoredResponse(
      body: Data(contents[contents.index(after: end)...]), entityTag: head.entityTag.map(EntityTag.init(rawValue:)),
      nextPage: head.nextPage.flatMap { URL(string: $0) }, center: center,
      receivedAt: Date(timeIntervalSinceReferenceDate: head.receivedAt), maxAge: head.maxAge)
  }

  /// Returns the name of the file for a key.
  static func fileName(for key: String) -> String { FNV1a.text(of: key.utf8) + ".response" }

  private static func checksum(of contents: Data) -> Data { Data(FNV1a.text(of: contents).utf8) + [newline] }
}

/// FNV-1a with 64 bits (Fowler, Noll and Vo), a hash that is stable across processes, unlike `Hasher`'s.
///
/// Each step is a bijection of the state and injective in the byte, so that inputs that differ in one byte have
/// different hashes.
enum FNV1a {
  static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
    func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
      var hash: UInt64 = 0xCBF2_9CE4_8422_2325
      for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
      return hash
    }
    // Iteration over a buffer is many times faster than over Data.
    return bytes.withContiguousStorageIfAvailable { hash($0) } ?? hash(bytes)
  }

  /// Returns the hash as 16 lower-case hexadecimal digits.
  static func text(of bytes: some Sequence<UInt8>) -> String {
    let digits = String(hash(bytes), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
