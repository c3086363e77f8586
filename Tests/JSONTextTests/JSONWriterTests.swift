import Basics
import JSONText
import Testing

@Suite struct JSONWriterTests {
  @Test func namesAndValuesAreSeparatedAtEveryDepth() {
    var json = JSONWriter()

    json.beginObject()
    json.write(member: "text", "a\"b")
    json.write(member: "count", -7)
    json.write(member: "flag", true)
    json.write(name: "list")
    json.beginArray()
    json.beginArray()
    json.endArray()
    json.beginObject()
    json.endObject()
    json.writeNull()
    json.endArray()
    json.write(escapedName: "näme\n")
    json.write(number: 0.5)
    json.endObject()

    #expect(
      String(decoding: json.sink, as: UTF8.self)
        == #"{"text":"a\"b","count":-7,"flag":true,"list":[[],{},null],"näme\n":0.5}"#)
  }

  @Test(arguments: [
    (Int64.min, "-9223372036854775808"), (-1, "-1"), (0, "0"), (10, "10"), (.max, "9223372036854775807"),
  ])
  func integersAreWrittenToTheirLastDigit(value: Int64, text: String) {
    var json = JSONWriter()

    json.write(integer: value)

    #expect(String(decoding: json.sink, as: UTF8.self) == text)
  }

  @Test func aContinuedListBeginsWithAComma() {
    var json = JSONWriter([UInt8](), continuesList: true)

    json.writeString(atMost: 4) { bytes in
      bytes[0] = UInt8(ascii: "x")
      return 1
    }
    json.write(tenths: 20)
    json.write(number: .nan)

    #expect(String(decoding: json.sink, as: UTF8.self) == #","x",20.0,null"#)
  }

  @Test func everySinkTakesTheSameBytes() throws {
    let value = try JSONReader.value(of: #"{"a":[1.50,-2e3,"é\u0001\\"],"b":{"c":null,"d":false}}"#.utf8)
    let reserved = [UInt8](unsafeUninitializedCapacity: 200) { buffer, count in
      guard let start = buffer.baseAddress else { return }
      var json = JSONWriter(UncheckedBytes(at: start))
      json.write(value)
      count = json.sink.end - start
    }

    #expect(reserved == value.text)
    #expect(String(decoding: reserved, as: UTF8.self) == #"{"a":[1.50,-2e3,"é\u0001\\"],"b":{"c":null,"d":false}}"#)
  }

  @Test func bytesWrittenInPlaceFollowThoseThatAreThere() {
    var bytes = Array("ab".utf8)

    for _ in 0..<100 {
      bytes.write(atMost: 300) { start in
        start[0] = UInt8(ascii: "c")
        return 1
      }
    }

    #expect(bytes == Array("ab".utf8) + Array(repeating: UInt8(ascii: "c"), count: 100))
  }
}
