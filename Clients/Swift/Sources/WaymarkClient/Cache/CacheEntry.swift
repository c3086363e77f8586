import Foundation

/// The text of a cache's file: a line of JSON that says what it is, and the body of the answer.
///
/// A file is written whole or not at all by a process that dies, but not by a machine that does: a length and a checksum
/// tell what was cut or never reached the disk. The key tells two addresses whose files have the same name.
struct CacheEntry {
  private struct Head: Codable {
    let key: String
    let entityTag: String?
    let nextPage: String?
    let receivedAt: Double
    let checksum: UInt64
  }

  /// The text for an answer.
  ///
  /// - Throws: `EncodingError`.
  static func data(of answer: StoredAnswer, key: String) throws -> Data {
    let head = Head(
      key: key, entityTag: answer.entityTag?.rawValue, nextPage: answer.nextPage?.absoluteString,
      receivedAt: answer.receivedAt.timeIntervalSinceReferenceDate, checksum: FNV1a.hash(answer.body))
    return try ServiceJSON.data(of: head) + [UInt8(ascii: "\n")] + answer.body
  }

  /// The answer that a text is of; `nil` where it is another key's or not whole.
  static func answer(from data: Data, key: String) -> StoredAnswer? {
    guard let end = data.firstIndex(of: UInt8(ascii: "\n")),
      let head = try? JSONDecoder().decode(Head.self, from: data[..<end]), head.key == key
    else { return nil }
    let body = Data(data[data.index(after: end)...])
    guard FNV1a.hash(body) == head.checksum else { return nil }
    return StoredAnswer(
      body: body, entityTag: head.entityTag.map(EntityTag.init(rawValue:)),
      nextPage: head.nextPage.flatMap { URL(string: $0) },
      receivedAt: Date(timeIntervalSinceReferenceDate: head.receivedAt))
  }

  /// The name of the file for a key.
  static func fileName(for key: String) -> String {
    let digits = String(FNV1a.hash(key.utf8), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits + ".answer"
  }
}

/// A hash that is the same in every process and for ever, unlike `Hasher`'s: FNV-1a of 64 bits (Fowler, Noll and Vo).
enum FNV1a {
  static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { hash, byte in (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
  }
}
