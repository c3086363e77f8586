import Geo
import JSONText
import Points
import Testing

@Suite struct PointDraftTests {
  private static func place(
    _ name: String,
    category: String? = nil,
    source: String? = nil,
    sourceID: String? = nil
  ) throws -> PointDraft {
    try PointDraft(
      name: name,
      category: category,
      coordinate: Coordinate(latitude: 1, longitude: 2),
      source: source,
      sourceID: sourceID
    )
  }

  private static func violation(_ body: () throws -> PointDraft) -> String? {
    do {
      _ = try body()
      return nil
    } catch {
      return (error as? InvalidPoint)?.description
    }
  }

  @Test(arguments: [
    ("A", "A"), ("  A  ", "A"), ("\u{A0}\u{3000}A B\u{2003}\n", "A B"), ("\tÉté\r\n", "Été"), ("東京", "東京"),
    ("👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"), ("e\u{301}", "e\u{301}"), ("\u{301}", "\u{301}"),
  ])
  func textsAreTrimmedOfWhiteSpace(text: String, trimmed: String) throws {
    let place = try Self.place(text, category: text, source: text, sourceID: text)

    #expect(Array(place.name.utf8) == Array(trimmed.utf8))
    #expect(place.category == trimmed)
    #expect(place.origin == SourceReference(source: trimmed, sourceID: trimmed))
  }

  @Test func emptyOptionalTextsCountAsNone() throws {
    let place = try Self.place("A", category: " ", source: "", sourceID: "\t")

    #expect(place.category == nil)
    #expect(place.origin == nil)
  }

  @Test(arguments: ["", " ", "\u{A0}\n\t"])
  func aNameMustNotBeEmpty(name: String) {
    #expect(Self.violation { try Self.place(name) } == "/name must not be empty")
  }

  @Test(arguments: ["A\0B", "A\u{1}B", "A\nB", "A\u{1F}B", "\u{7F}", "A\u{80}", "\u{9F}B", "A\u{85}B"])
  func noTextHoldsControlCharacters(text: String) {
    let violation = Self.violation { try Self.place(text, category: text, source: text, sourceID: text) }

    let pointers = ["/name", "/category", "/source", "/sourceId"]
    #expect(violation == pointers.map { "\($0) must not contain control characters" }.joined(separator: "; "))
  }

  @Test(arguments: ["A\u{A0}B", "A\u{AD}B", "A\u{200D}B", "Ā", "À", "\u{C2}x", "A\u{2028}B", "\u{E0001}B"])
  func charactersNearControlCharactersAreAccepted(name: String) throws {
    #expect(try Self.place(name).name == name)
  }

  @Test func lengthsAreCountedInUnicodeScalars() throws {
    let longest = String(repeating: "😀", count: 500)

    #expect(try Self.place(longest).name == longest)
    #expect(
      Self.violation { try Self.place(longest + "x", category: String(repeating: "é", count: 101)) }
        == "/name must have at most 500 characters, got 501; /category must have at most 100 characters, got 101"
    )
    #expect(try Self.place(" " + longest + " ").name == longest)
    #expect(
      Self.violation { try Self.place("A", source: "s", sourceID: String(repeating: "x", count: 201)) }
        == "/sourceId must have at most 200 characters, got 201"
    )
  }

  @Test func sourceAndSourceIDRequireEachOther() {
    #expect(Self.violation { try Self.place("A", source: "osm") } == "/sourceId must be given if source is given")
    #expect(Self.violation { try Self.place("A", sourceID: "1") } == "/source must be given if sourceId is given")
    #expect(
      Self.violation { try Self.place("A", source: "osm", sourceID: " ") }
        == "/sourceId must be given if source is given"
    )
  }

  @Test func placeFromAStoreIsKeptUnchanged() throws {
    let coordinate = try Coordinate(latitude: 1, longitude: 2)

    let place = PointDraft(storedName: " x ", category: "", coordinate: coordinate, tags: .none, origin: nil)

    #expect(place.name == " x ")
    #expect(place.category == "")
  }

  @Test(arguments: [("", ""), ("a/b", "a~1b"), ("~1", "~01"), ("~/", "~0~1"), ("é", "é")])
  func referenceTokensAreEscaped(token: String, escaped: String) {
    #expect(JSONPointer.escape(token) == escaped)
  }

  @Test func violationWithoutFieldIsDescribedWithoutOne() {
    let invalid = InvalidPoint([
      .init(pointer: "", detail: "must be an object"), .init(pointer: "/a", detail: "is odd"),
    ])

    #expect(invalid.description == "must be an object; /a is odd")
  }
}
