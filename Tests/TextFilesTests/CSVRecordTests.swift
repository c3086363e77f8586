import Testing
import TextFiles

@Suite struct CSVRecordTests {
  /// Returns the fields of the records that end in the bytes, of which so many more are known at each scan.
  private func rows(_ text: String, separator: Character = ",", chunkSize: Int = .max) -> [[String]] {
    let bytes = Array(text.utf8)
    var rows: [[String]] = []
    var record = CSVRecord(separator: separator.asciiValue ?? 0)
    var (start, position, known) = (0, 0, 0)
    bytes.withUnsafeBufferPointer { bytes in
      while known < bytes.count {
        known += min(chunkSize, bytes.count - known)
        while case .end = record.scan(.init(rebasing: bytes[..<known]), from: start, position: &position) {
          let line = UnsafeBufferPointer(rebasing: bytes[start..<position])
          rows.append(record.fields.map { $0.withBytes(in: line) { String(decoding: $0, as: UTF8.self) } })
          start = position
          record.reset()
        }
      }
    }
    return rows
  }

  @Test(arguments: [1, 2, 7, .max]) func fieldsAreThoseOfTheRecordWhateverTheChunks(chunkSize: Int) {
    let text = "a,\"b, \"\"c\"\"\",\n6\" pipe,\"x\ny\",\"\"\r,\n"

    #expect(
      rows(text, chunkSize: chunkSize) == [["a", "b, \"c\"", ""], ["6\" pipe", "x\ny", ""], ["", ""]])
  }

  @Test(arguments: ["\"a\"b,c\n", "x,\"a\" \n"]) func aQuotationMarkWithinAQuotedFieldIsStray(text: String) {
    let bytes = Array(text.utf8)
    var record = CSVRecord(separator: UInt8(ascii: ","))
    var position = 0

    let outcome = bytes.withUnsafeBufferPointer { record.scan($0, from: 0, position: &position) }

    #expect(outcome == .strayQuote)
  }

  @Test func aFieldThatDoesNotEndIsWithinQuotes() {
    let bytes = Array("a,\"b\nc".utf8)
    var record = CSVRecord(separator: UInt8(ascii: ","))
    var position = 0

    let outcome = bytes.withUnsafeBufferPointer { record.scan($0, from: 0, position: &position) }

    #expect(outcome == .more && record.isWithinQuotes && position == bytes.count)
  }

  @Test(arguments: [
    ("name;lat;long\n", ";"), ("name\tlat,5\tlong\n", "\t"), ("\n\"a;b;c\",d\n", ","), ("name\n", ","), ("a|b", "|"),
  ])
  func separatorIsTheMostFrequentOfTheHeader(text: String, separator: Character) {
    let found = Array(text.utf8).withUnsafeBufferPointer { CSVSeparator.separator(ofHeader: $0, isWhole: true) }

    #expect(found == separator.asciiValue)
  }

  @Test(arguments: [("sep=;\na", ";", 5), ("\"SEP=|\"\r\n", "|", 7), ("sep=\"\n", nil, 0), ("name;sep=,\n", nil, 0)])
  func separatorMayBeDeclared(text: String, separator: Character?, length: Int) {
    let found = Array(text.utf8).withUnsafeBufferPointer { CSVSeparator.declared(in: $0) }

    #expect(found?.separator == separator?.asciiValue)
    #expect(found?.lineLength ?? 0 == length)
  }
}
