import Foundation

/// The contents of a cache file: a line of JSON with the metadata, followed by the response's body.
///
/// Files are written atomically with respect to a process that crashes, but not to a machine that does: a length and a
/// checksum detect truncated files. The key distinguishes addresses whose files have the same name.
struct CacheEntry {
  private struct Head: Codable {
    let key: String
    let entityTag: String?
    let nextPage: String?
    let receivedAt: Double
    let checksum: UInt64
  }

  /// Returns the contents of the file for a response.
  ///
  /// - Throws: `EncodingError`.
  static func data(of response: StoredResponse, key: String) throws -> Data {
    let head = Head(
      key: key, entityTag: response.entityTag?.rawValue, nextPage: response.nextPage?.absoluteString,
      receivedAt: response.receivedAt.timeIntervalSinceReferenceDate, checksum: FNV1a.hash(response.body))
    return try ServiceJSON.data(of: head) + [UInt8(ascii: "\n")] + response.body
  }

  /// Returns the response in a file's contents; `nil` for another key or a damaged file.
  static func response(from data: Data, key: String) -> StoredResponse? {
    guard let end = data.firstIndex(of: UInt8(ascii: "\n")),
      let head = try? JSONDecoder().decode(Head.self, from: data[..<end]), head.key == key
    else { return nil }
    let body = Data(data[data.index(after: end)...])
    guard FNV1a.hash(body) == head.checksum else { return nil }
    return StoredResponse(
      body: body, entityTag: head.entityTag.map(EntityTag.init(rawValue:)),
      nextPage: head.nextPage.flatMap { URL(string: $0) },
      receivedAt: Date(timeIntervalSinceReferenceDate: head.receivedAt))
  }

  /// Returns the name of the file for a key.
  static func fileName(for key: String) -> String {
    let digits = String(FNV1a.hash(key.utf8), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits + ".answer"
  }
}

/// FNV-1a with 64 bits (Fowler, Noll and Vo), a hash that is stable across processes, unlike `Hasher`'s.
enum FNV1a {
  static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { hash, byte in (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
  }
}
