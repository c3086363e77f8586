import Basics
import Testing

@Suite struct WrittenBytesTests {
  @Test(arguments: [0, 1, 15, 16, 100])
  func stringHasTheBytesThatAreWritten(count: Int) {
    let string = String(atMost: 2 * count) { bytes in
      for _ in 0..<count { bytes.write("é") }
    }

    #expect(string == String(repeating: "é", count: count))
  }

  @Test func numberHasTheMostSignificantByteFirst() {
    #expect(UInt32(bigEndianBytes: [1, 2, 0xFF] as [UInt8]) == 0x01_02FF)
    #expect(UInt64(bigEndianBytes: [UInt8](repeating: 0xFF, count: 8)) == .max)
  }

  @Test(arguments: [([], ""), (["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")])
  func stringsAreListedAsInASentence(strings: [String], list: String) {
    #expect(strings.listed("or") == list)
  }
}
