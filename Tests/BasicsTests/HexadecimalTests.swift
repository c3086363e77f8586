import Basics
import Testing

@Suite struct HexadecimalTests {
  @Test func everyByteRoundTrips() {
    let bytes = Array(UInt8.min ... .max)

    let text = Hexadecimal.encode(bytes)

    #expect(text.hasPrefix("000102"))
    #expect(text.hasSuffix("fdfeff"))
    #expect(Hexadecimal.decode(text, count: 256) == bytes)
    #expect(Hexadecimal.decode(text.uppercased(), count: 256) == bytes)
  }

  @Test(arguments: ["", "0", "0g", "000", "+1", " 1", "é", "１１"])
  func anythingButTheDigitsOfOneByteIsRejected(text: String) {
    #expect(Hexadecimal.decode(text, count: 1) == nil)
  }

  @Test func aNumberHasAllOfItsDigits() {
    #expect(Hexadecimal.text(UInt16(0x1C)) == "001c")
    #expect(Hexadecimal.text(UInt64.max) == "ffffffffffffffff")
    #expect(Hexadecimal.text(UInt8(0)) == "00")
  }

  @Test func digitsOfEitherCaseHaveTheirValue() {
    for number in UInt8(0)..<16 {
      #expect(Hexadecimal.value(ofDigit: Hexadecimal.digit(number)) == number)
      #expect(Hexadecimal.value(ofDigit: Hexadecimal.uppercaseDigit(number)) == number)
    }
    #expect((UInt8.min ... .max).count { Hexadecimal.value(ofDigit: $0) != nil } == 22)
  }
}
