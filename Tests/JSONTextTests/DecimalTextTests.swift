import JSONText
import TestSupport
import Testing

@Suite struct DecimalTextTests {
  private static let extremes: [(Double, String)] = [
    (0, "0"), (-0.0, "0"), (1, "1"), (-1, "-1"), (0.1, "0.1"), (-0.5, "-0.5"), (180, "180"), (-121.8893, "-121.8893"),
    (37.3293, "37.3293"), (1e-7, "0.0000001"), (1.5e-7, "0.00000015"), (99_999_999.9999999, "99999999.9999999"),
    (12_345_678, "12345678"), (1e8, "100000000"), (1e15, "1000000000000000"), (1e16, "10000000000000000"),
    (9_007_199_254_740_992, "9007199254740992"), (1e22, "10000000000000000000000"), (0.1 + 0.2, "0.30000000000000004"),
    (52.55889892578125, "52.55889892578125"), (-81.00000000000001, "-81.00000000000001"),
    (.infinity, "null"), (-.infinity, "null"), (.nan, "null"),
    (.leastNonzeroMagnitude, "0." + String(repeating: "0", count: 323) + "5"),
    (.greatestFiniteMagnitude, "17976931348623157" + String(repeating: "0", count: 292)),
  ]

  @Test(arguments: extremes)
  func aNumberIsWrittenWithoutExponent(value: Double, text: String) {
    #expect(shortest(value) == text)
  }

  /// The standard library's description is the shortest there is; ours has the same digits.
  @Test func integerArithmeticWritesTheShortestDecimal() {
    var generator = Xorshift(state: 3)
    for _ in 0..<200_000 {
      let decimals = Int(generator.next() % 9)
      let scale = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8][decimals]
      let bound = [180.0, 1.0, 0.001, 1e5, 1e8, 1e9][Int(generator.next() % 6)]
      var value = (Double.random(in: -bound...bound, using: &generator) * scale).rounded() / scale
      if generator.next() % 4 == 0 { value = value.nextUp }
      guard value.magnitude >= 1e-4 || value == 0 else { continue }

      #expect(shortest(value) == expanded(value))
    }
  }

  /// Numbers at which a way of writing them, or the length of their text, begins or ends.
  private static let edges: [Double] =
    [
      0, .leastNonzeroMagnitude, .leastNormalMagnitude, 0x1p-1030, 1e-300, 5e-8, 1e-7, 1.5e-7, 1e-4, 1e-3, 0.1, 0.5,
      89.999999999999, 90, 180, 99_999_999, 99_999_999.9999999, 1e8, 1e15, 1e16, 1e22, 1e300, 0x1p51 + 0.25, 0x1p51,
      0x1p52 - 0.5, 0x1p52, 0x1p53, 0x1p54, 0x1p63, 0x1p64, .greatestFiniteMagnitude, .infinity, .nan,
    ] + (1...8).map { Double("1e\($0)") ?? 0 } + (1...9).map { Double("1e-\($0)") ?? 0 }

  @Test(arguments: edges) func edgesAreWrittenLikeTheStandardLibrarysDigits(value: Double) {
    expectDifferentialText(of: value)
  }

  @Test(arguments: 0...9) func decimalsAreWrittenLikeTheStandardLibrarysDigits(decimals: Int) throws {
    let scale = try #require(Double("1e\(decimals)"))
    var generator = Xorshift(state: 17 + UInt64(decimals))
    for bound in [0.001, 1, 180, 1e5, 1e8, 1e9] {
      for _ in 0..<150 {
        expectDifferentialText(of: (Double.random(in: 0...bound, using: &generator) * scale).rounded() / scale)
      }
    }
  }

  @Test func anyBitsAreWrittenLikeTheStandardLibrarysDigits() {
    var generator = Xorshift(state: 19)
    for _ in 0..<2_000 {
      expectDifferentialText(of: Double(bitPattern: generator.next()))
      expectDifferentialText(of: Double.random(in: 0...180, using: &generator))
      expectDifferentialText(of: Double(bitPattern: generator.next() >> 12))
      expectDifferentialText(of: Double(generator.next() >> (generator.next() % 64)))
    }
  }

  @Test func anyNumberRoundTripsWithinTheMaximumLength() {
    var generator = Xorshift(state: 11)
    for _ in 0..<50_000 {
      let value = Double(bitPattern: generator.next())
      guard value.isFinite else { continue }
      let text = shortest(value)

      #expect(Double(text) == value)
      #expect(text.utf8.count <= DecimalText.maximumLength)
      #expect(!text.contains("e"))
      #expect(read(text) == value)
    }
  }

  @Test func smallestNumbersHaveTheMaximumLength() {
    let longest = (1...2000).map { shortest(-Double(bitPattern: $0)).utf8.count }.max()

    #expect(longest == DecimalText.maximumLength)
  }

  @Test(arguments: [
    (0.0, "0.0"), (-0.0, "0.0"), (-0.04, "0.0"), (0.04, "0.0"), (0.05, "0.1"), (-0.05, "-0.1"), (0.25, "0.3"),
    (-0.25, "-0.3"), (0.15, "0.1"), (0.35, "0.3"), (0.45, "0.5"), (1.15, "1.1"), (0.95, "0.9"),
    (0.9500000000000001, "1.0"),
    (0.9999999999999999, "1.0"), (5632.44, "5632.4"), (20_003_931.458_6, "20003931.5"), (9.96, "10.0"),
    (0x1p53, "9007199254740992.0"), (0x1p53 - 1, "9007199254740991.0"),
    (1e300, "1" + String(repeating: "0", count: 300) + ".0"),
    (.nan, "null"), (.infinity, "null"), (.leastNonzeroMagnitude, "0.0"),
  ])
  func tenthsAreTheNearestToTheExactValue(value: Double, text: String) {
    var bytes: [UInt8] = []

    DecimalText.appendTenths(value, to: &bytes)

    #expect(String(decoding: bytes, as: UTF8.self) == text)
  }

  /// Times 20, a number with a few bits of fraction is exact, and so is the nearest tenth.
  @Test func tenthsAreNearestForNumbersOfFewBits() {
    var generator = Xorshift(state: 5)
    for _ in 0..<50_000 {
      let value = Double(Int64.random(in: -(1 << 40)...(1 << 40), using: &generator)) / 4096
      let tenths = Int64((value * 10).rounded(.toNearestOrAwayFromZero))
      let sign = tenths < 0 ? "-" : ""
      var bytes: [UInt8] = []

      DecimalText.appendTenths(value, to: &bytes)

      #expect(String(decoding: bytes, as: UTF8.self) == "\(sign)\(tenths.magnitude / 10).\(tenths.magnitude % 10)")
    }
  }

  @Test(arguments: 0...51) func tenthsAreNearestAtHalves(exponent: Int) {
    var generator = Xorshift(state: 23 + UInt64(exponent))
    for _ in 0..<40 {
      let whole = Double(generator.next() >> (63 - UInt64(exponent)))
      for hundredths in [5, 15, 25, 35, 45, 55, 65, 75, 85, 95] {
        let value = whole + Double(hundredths) / 100
        for value in [value, value.nextUp, value.nextDown, -value] { expectTenths(of: value) }
      }
    }
  }

  @Test(
    arguments: [0, 7, 10, 99, 100, 12_345, 9_999_999_999_999_999_999, 10_000_000_000_000_000_000, .max] as [UInt64]
  )
  func integersAreWritten(value: UInt64) {
    let bytes = [UInt8](unsafeUninitializedCapacity: 20) { buffer, count in
      if let start = buffer.baseAddress { count = DecimalText.write(value, to: start) }
    }

    #expect(String(decoding: bytes, as: UTF8.self) == value.description)
  }

  @Test func integersAtPowersOfTenFitIntoTheirRoom() {
    var values = Set<UInt64>([.max, .max - 1, 1 << 63])
    var power: UInt64 = 1
    for _ in 0..<20 {
      values.formUnion([power - 1, power, power + 1, power &* 9, power + power / 10])
      power &*= 10
    }
    #expect(values.contains(10_000_000_000_000_000_000))

    for value in values { expectInteger(value) }
  }

  @Test func integersOfAnyDigitsAreWritten() {
    var generator = Xorshift(state: 29)
    for number in 0..<10_000 as Range<UInt64> {
      expectInteger(number)
      // The same digits before others, and before and after them.
      expectInteger(number * 10_000 + 1_234)
      expectInteger((number * 10_000 + 9_999 - number) * 100_000_000 + number * 10_001)
      expectInteger(generator.next() >> (generator.next() % 64))
    }
  }

  @Test(arguments: [
    ("0", 0), ("-0.5", -0.5), ("+12.25", 12.25), (".5", 0.5), ("5.", 5), ("1e3", 1000), ("1E-2", 0.01), ("1.5e+1", 15),
    ("007", 7), ("9007199254740993", 9_007_199_254_740_992), ("0.1", 0.1), ("43.930599212646484", 43.930599212646484),
    ("1e999", .infinity), ("-1e999", -.infinity), ("0.00000000000000000000000000001", 1e-29),
    ("123456789012345678901234567890", 123_456_789_012_345_677_877_719_597_056),
  ])
  func decimalTextIsParsed(text: String, value: Double) {
    #expect(read(text) == value)
  }

  @Test(arguments: [
    "", "-", "+", ".", "-.", "e5", "1e", "1e+", "1.2.3", "1,5", "nan", "inf", "0x1p3", " 1", "1 ", "1_0", "--1", "٣",
  ])
  func otherTextIsNotParsedAsANumber(text: String) {
    #expect(read(text) == nil)
  }

  /// The fast way and the standard library read the same number.
  @Test func decimalTextIsParsedAsTheNearestNumber() {
    var generator = Xorshift(state: 13)
    for _ in 0..<50_000 {
      let digits = String(generator.next() % 1_000_000_000_000_000_000 >> (generator.next() % 60))
      let point = Int(generator.next() % UInt64(digits.count + 1))
      let text = digits.prefix(point) + "." + digits.dropFirst(point)

      #expect(read(String(text)) == Double(text))
    }
  }

  /// Expects the texts of a number, of its neighbours, and of all three with the other sign, to be those of simple
  /// formatters and to need no more than the maximum length.
  private func expectDifferentialText(of number: Double) {
    for value in [number, number.nextUp, number.nextDown, -number, -number.nextUp, -number.nextDown] {
      var sink = GuardedSink()
      DecimalText.append(value, to: &sink)
      let expected = SimpleText.decimal(value)
      if !sink.holds(expected) {
        Issue.record("\(value): \(String(decoding: sink.bytes, as: UTF8.self)), expected \(expected)")
      }
      expectTenths(of: value)
    }
  }

  private func expectTenths(of value: Double) {
    var sink = GuardedSink()
    DecimalText.appendTenths(value, to: &sink)
    let expected = SimpleText.tenths(value)
    if !sink.holds(expected) {
      Issue.record("\(value): \(String(decoding: sink.bytes, as: UTF8.self)), expected \(expected)")
    }
  }

  private func expectInteger(_ value: UInt64) {
    var sink = GuardedSink()
    sink.write(atMost: 20) { DecimalText.write(value, to: $0) }
    if !sink.holds(value.description) {
      Issue.record("\(value): \(String(decoding: sink.bytes, as: UTF8.self))")
    }
  }

  private func shortest(_ value: Double) -> String {
    var bytes: [UInt8] = []
    DecimalText.append(value, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The standard library's shortest digits, where it writes no exponent.
  private func expanded(_ value: Double) -> String {
    let text = value.description
    if text == "-0.0" { return "0" }
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  private func read(_ text: String) -> Double? {
    Array(text.utf8).withUnsafeBufferPointer { DecimalText.value(of: $0) }
  }
}
