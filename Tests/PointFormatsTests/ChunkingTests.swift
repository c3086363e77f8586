@testable import PointFormats
import SyntheticData
import Testing
import TextFiles

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

  /// Large parts of a text are parsed on two processors, small ones on one.
  @Test func rowsOfALongTextHaveTheSameNumbersAndLinesOnTwoProcessors() throws {
    let lines = [
      #"{"name":"A","lat":1,"long":2,"tags":{"k":"v"}}"#, "", #"{"name":"A","lat":91,"long":2}"#, "\r", "x",
      #"{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"B"}}"#,
      #"{"type":"Feature","geometry":null,"properties":{"name":"C"}}"#, "  ", String(repeating: "y", count: 3_000),
      #"{"name":"C","lat":1,"long":2}"# + "\r", #"{"name":"D\rE","lat":1,"long":2}"#,
    ]
    var random = SeededGenerator(seed: 11)
    var text: [UInt8] = []
    while text.count < 5 * LineParser.minimumHalved {
      text += lines[Int.random(in: lines.indices, using: &random)].utf8
      text.append(UInt8(ascii: "\n"))
    }
    func parsed(chunkSize: Int) throws -> (PointParser, [PointParser.Row]) {
      var parser = PointParser(format: .ndjson, firstRow: 3, maximumRecordBytes: 2_000)
      var rows: [PointParser.Row] = []
      for start in stride(from: 0, to: text.count, by: chunkSize) {
        try parser.consume(text[start..<min(start + chunkSize, text.count)], into: &rows)
      }
      try parser.finish(into: &rows)
      return (parser, rows)
    }

    let (one, rows) = try parsed(chunkSize: 1_000)

    for chunkSize in [text.count, LineParser.minimumHalved + 77, 3 * LineParser.minimumHalved] {
      let (two, other) = try parsed(chunkSize: chunkSize)
      #expect(other == rows)
      #expect(two.nextRow == one.nextRow)
      #expect(two.rowsWithoutGeometry == one.rowsWithoutGeometry && two.rowsWithoutGeometry > 0)
      #expect(two.hasForeignIDs)
      #expect((3..<one.nextRow).allSatisfy { two.lines.line(ofRow: $0) == one.lines.line(ofRow: $0) })
    }
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
