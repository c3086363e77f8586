import SyntheticData
import Testing
import TextFiles

@Suite struct RowLinesTests {
  @Test(arguments: [1, 3, .max]) func linesEndWithLFOrCRLFOrCRWhateverTheChunks(chunkSize: Int) {
    let text = Array("a\n\r\nb\rc\r\r\n\nd".utf8)
    // The line of each byte; a line feed behind a carriage return is counted to the next line.
    let expected = [1, 1, 2, 3, 3, 3, 4, 4, 5, 6, 6, 7]

    var counter = LineCounter()
    var lines: [Int] = []
    var rest = text[...]
    while !rest.isEmpty {
      let chunk = Array(rest.prefix(chunkSize))
      chunk.withUnsafeBufferPointer { bytes in
        for position in bytes.indices { lines.append(counter.line(at: position, in: bytes)) }
        counter.drop(bytes.count, of: bytes)
      }
      rest = rest.dropFirst(chunkSize)
    }

    #expect(lines == expected)
  }

  @Test func everyRowHasItsLine() {
    var random = SeededGenerator(seed: 3)
    var rows = RowLines()
    var lines: [Int: Int] = [:]
    var line = 1
    for row in 5..<3_000 {
      // Long runs of the same distance, and some others.
      line += row % 100 < 90 ? 2 : Int.random(in: 1...5, using: &random)
      rows.append(line, ofRow: row)
      lines[row] = line
    }

    #expect((5..<3_000).allSatisfy { rows.line(ofRow: $0) == lines[$0] })
    #expect(rows.line(ofRow: 4) == nil && rows.line(ofRow: 3_000) == nil)
  }

  @Test func regularRowsTakeTheMemoryOfOne() {
    var (one, many) = (RowLines(), RowLines())
    one.append(7, ofRow: 1)
    for row in 1...10_000 { many.append(7 * row, ofRow: row) }

    #expect(many.byteCount == one.byteCount)
    #expect(many.line(ofRow: 9_999) == 69_993)
  }

  @Test func linesOfAPartFollowThoseBefore() {
    var (whole, part) = (RowLines(), RowLines())
    whole.append(1, ofRow: 1)
    part.append(1, ofRow: 0)
    part.append(4, ofRow: 1)

    whole.append(part, linesBefore: 10, rowsBefore: 2)

    #expect((1...4).map { whole.line(ofRow: $0) } == [1, 11, 14, nil])
  }
}
