import PointFormats
import Testing

/// The rows of a text do not depend on its division into chunks.
@Suite struct ChunkingTests {
  private static let texts: [(PointFormat, String)] = [
    (
      .ndjson,
      "\u{FEFF}{\"name\":\"Å\",\"lat\":1,\"long\":2}\r\n\n{\"name\":\n{\"name\":\"\\ud83d\\ude00\",\"lat\":1,\"long\":2}"
    ),
    (
      .geoJSON,
      """
      {"x":{"y":["}\\"]"]},"type":"FeatureCollection","features": [
      {"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"Å","q":"\\\\"}} ,
      7,{"type":"Feature","geometry":null,"properties":{"name":"x]"}}],"z":null}
      """
    ),
    (
      .geoJSONSequence,
      "\u{1E}{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\n\"coordinates\":[2,1]},\"properties\":{\"name\":\"Å\"}}\n"
        + "\u{1E}{\"type\":\"Feature\"\u{1E}\n"
    ),
    (
      .csv,
      "\u{FEFF}name,lat,long,tags\r\nÅ,1,2,\"{\"\"a\"\":\"\"b\"\"}\"\r\n\"x\"\"y\",1,2,\r\n\"open,1,2,\r\nz,1,2,{}"
    ),
    (.json, #"[{"name":"Å","lat":1,"long":2},{"name":"B","lat":1,"long":2,"tags":{"k":"[{"}},{}]"#),
  ]

  @Test(arguments: texts.indices, [1, 2, 3, 5, 64])
  func rowsAreTheSameWhateverTheChunks(index: Int, chunkSize: Int) {
    let (format, text) = Self.texts[index]
    let whole = Parsed(text, format)

    let inPieces = Parsed(text, format, chunkSize: chunkSize)

    #expect(inPieces == whole)
    #expect(whole.error == nil)
    #expect(!whole.rows.isEmpty)
    #expect(!whole.rejections.isEmpty)
  }

  /// Whatever is done to a text, reading it ends, and how it is cut changes nothing.
  @Test(arguments: texts.indices)
  func rowsOfADamagedTextAreTheSameWhateverTheChunks(index: Int) {
    let (format, text) = Self.texts[index]
    var generator = SystemRandomNumberGenerator()
    let noise = Array("\"\\{}[],:\n\r\u{1E} 0x".utf8) + [0x00, 0xC3, 0xFF]
    for _ in 0..<400 {
      var bytes = Array(text.utf8)
      for _ in 0..<Int.random(in: 1...6, using: &generator) where !bytes.isEmpty {
        let position = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0...3, using: &generator) {
        case 0: bytes.remove(at: position)
        case 1: bytes.insert(noise.randomElement(using: &generator) ?? 0, at: position)
        case 2: bytes[position] = noise.randomElement(using: &generator) ?? 0
        default: bytes.append(contentsOf: bytes[position...].prefix(40))
        }
      }
      let limit = [20, 60, 100, 1 << 20].randomElement(using: &generator) ?? 0
      let whole = Parsed(bytes, format, maximumRecordBytes: limit)

      let inPieces = Parsed(
        bytes,
        format,
        chunkSize: Int.random(in: 1...20, using: &generator),
        maximumRecordBytes: limit
      )

      #expect(inPieces == whole, "\(bytes) \(limit)")
    }
  }
}
