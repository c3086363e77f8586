import Foundation
import Logging
import Points
import ServerFeatures
import Synchronization
import TestSupport
import Testing

@testable import Hosting

@Suite struct LineLogHandlerTests {
  private let time = FixedClock(Timestamp(microsecondsSinceEpoch: 1_700_000_000_250_000))

  @Test func aTextLineHasTheTimeTheLevelTheMessageAndSortedMetadata() {
    let line = written(.text) { $0.warning("it rains", metadata: ["b": "two words", "a": "1"]) }

    #expect(line == "2023-11-14T22:13:20.25Z warning it rains a=1 b=\"two words\"\n")
  }

  @Test func aJSONLineIsOneObject() throws {
    let line = written(.json) { $0.error("it \"pours\"", metadata: ["request-id": "r1", "level": "spoofed"]) }

    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
    #expect(
      object == [
        "time": "2023-11-14T22:13:20.25Z", "level": "error", "message": "it \"pours\"", "request-id": "r1",
      ])
  }

  @Test func jsonLogKeepsTheTypesOfNumbersBooleansAndStrings() {
    let line = written(.json) {
      $0.info(
        "x",
        metadata: [
          "a": .stringConvertible(-7), "b": .stringConvertible(0.25), "c": .stringConvertible(true), "d": "12",
          "e": .stringConvertible(Double.nan), "f": [.stringConvertible(1), "z"],
          "g": ["k": .stringConvertible(UInt8(2))],
        ])
    }

    #expect(line.hasSuffix(#""a":-7,"b":0.25,"c":true,"d":"12","e":"nan","f":[1,"z"],"g":{"k":2}}"# + "\n"))
  }

  @Test(arguments: [LineLogHandler.Format.text, .json])
  func lineSeparatorsInAMessageAreEscaped(format: LineLogHandler.Format) {
    let line = written(format) { $0.info("a\nb\u{1B}[31m", metadata: ["k": "c\r\nd"]) }

    #expect(line.filter { $0 == "\n" || $0 == "\r\n" }.count == 1)
    #expect(!line.unicodeScalars.dropLast().contains { $0.value < 0x20 })
  }

  @Test(arguments: [LineLogHandler.Format.text, .json])
  func controlAndBidirectionalCharactersInAMessageAreEscaped(format: LineLogHandler.Format) {
    let line = written(format) {
      $0.info(
        "caf\u{E9}",
        metadata: ["k": "\u{7F}\u{9B}31m \u{202E}txt.exe\u{2028}\u{2066}", "name": "日本 € \u{61C}\u{200F}"])
    }

    #expect(line.contains(#"\u007f\u009b31m \u202etxt.exe\u2028\u2066"#))
    #expect(line.contains("caf\u{E9}"))
    #expect(line.contains("日本 € \u{61C}\u{200F}"))
  }

  @Test(arguments: [
    ("plain, 日本 é 👩‍💻", "", "plain, 日本 é 👩‍💻"), ("a\u{1B}[2J\u{9B}b\u{7F}\r\n\t", "", #"a\u001b[2J\u009bb\u007f\r\n\t"#),
    ("\u{202A}a\u{202E}b\u{2066}c\u{2069}\u{2028}", "", #"\u202aa\u202eb\u2066c\u2069\u2028"#),
    ("\u{202E}مقهى\u{61C} \u{200F}קפה\u{200E}", "", "\\u202eمقهى\u{61C} \u{200F}קפה\u{200E}"),
    ("a\tb\r\n", "\n\t", "a\tb\\r\n"),
  ])
  func controlsOfAPrintedTextAreEscapedExceptThoseOfItsLayout(text: String, kept: String, expected: String) {
    #expect(text.escapingControls(except: kept).utf8.elementsEqual(expected.utf8))
  }

  @Test func linesBelowTheLogLevelAreOmitted() {
    #expect(written(.text) { $0.debug("quiet") } == "")
  }

  private func written(_ format: LineLogHandler.Format, _ body: (Logger) -> Void) -> String {
    let bytes = Mutex<[UInt8]>([])
    let logger = Logger(label: "test") { _ in
      LineLogHandler(format: format, level: .info, clock: time) { line in bytes.withLock { $0 += line } }
    }
    body(logger)
    return bytes.withLock { String(decoding: $0, as: UTF8.self) }
  }
}
