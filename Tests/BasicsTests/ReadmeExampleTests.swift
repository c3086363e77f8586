import Basics
import Testing

/// The example of the README.
@Suite struct ReadmeExampleTests {
  @Test func encodingsOfTheExampleAreAsItSays() {
    let composed: ExactText = "Caf\u{E9}"
    let isEqual = composed == ExactText("Cafe\u{301}")  // false; as strings they are equal
    let segment = PercentEncoding.encode("a b")  // "a%20b"
    let microseconds = RFC3339.microsecondsSinceEpoch(of: "2026-11-27T18:00:00Z")

    #expect(!isEqual)
    #expect(segment == "a%20b")
    #expect(microseconds == 1_795_802_400_000_000)
  }
}
