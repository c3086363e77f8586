import PlaceFormats
import Testing

/// However a text is cut into pieces, the same is read from it.
@Suite struct ChunkingTests {
  private static let texts: [(PlaceFormat, String)] = [
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
  func theSameIsReadWhateverThePieces(index: Int, pieceSize: Int) {
    let (format, text) = Self.texts[index]
    let whole = Parsed(text, format)

    let inPieces = Parsed(text, format, pieceSize: pieceSize)

    #expect(inPieces == whole)
    #expect(whole.error == nil)
    #expect(!whole.rows.isEmpty)
    #expect(!whole.rejections.isEmpty)
  }
}
