import Basics
import Geo
import Points
import TestSupport
import Testing

@Suite struct PlaceEditsTests {
  private static let (early, late) = (Timestamp(microsecondsSinceEpoch: 1), Timestamp(microsecondsSinceEpoch: 2))
  private static let origin = SourceReference(source: "s", sourceID: "1")

  private static func draft(
    _ name: String = "old", _ latitude: Double = 1, category: String? = nil, tags: KeyValuePairs<String, String> = [:],
    sourceID: String? = "1"
  ) throws -> PointDraft {
    try .sample(name, latitude, 2, category: category, tags: tags, sourceID: sourceID)
  }

  private static func edits(_ edits: [FieldEdit]) -> PlaceEdits {
    PlaceEdits(id: .sample(1), origin: origin, edits: edits)
  }

  private static func after(
    _ former: PointDraft, _ draft: PointDraft, at time: Timestamp = early, knowing known: PlaceEdits? = nil
  ) -> PlaceEdits? {
    PlaceEdits.afterWrite(to: .sample(1), from: former, to: draft, at: time, knowing: known)
  }

  @Test(arguments: [
    ("name", EditedField.name), ("category", .category), ("position", .position), ("deleted", .deletion),
    ("tags.", .tag("")), ("tags.name", .tag("name")), ("tags.a.b", .tag("a.b")), ("tags.e\u{301}", .tag("e\u{301}")),
  ])
  func fieldIsReadAsItIsWritten(text: String, field: EditedField) {
    #expect(EditedField(text: text) == field)
    #expect(field.text.utf8.elementsEqual(text.utf8))
  }

  @Test(arguments: ["", "Name", "tags", "tag.a", " name", "names"])
  func textOfNoFieldIsNone(text: String) {
    #expect(EditedField(text: text) == nil)
  }

  @Test func everyChangedFieldHasItsFormerValueAsBase() throws {
    let former = try Self.draft(category: "cafe", tags: ["a": "1", "b": "1", "same": "1"])
    let draft = try Self.draft("new", 3, tags: ["a": "2", "c": "1", "same": "1"])

    let found = Self.after(former, draft)

    func edit(_ field: EditedField, _ base: FieldValue) -> FieldEdit {
      FieldEdit(field: field, base: base, since: Self.early)
    }
    #expect(
      found?.edits == [
        edit(.category, .text("cafe")), edit(.name, .text("old")), edit(.position, .position(former.coordinate)),
        edit(.tag("a"), .text("1")), edit(.tag("b"), .text("1")), edit(.tag("c"), FieldValue.none),
      ])
    #expect(found?.undone(in: draft) == former)
  }

  @Test func secondEditKeepsTheBaseAndIsNoConflict() throws {
    let known = Self.edits([
      FieldEdit(field: .category, base: .none, since: Self.early, isConflict: true),
      FieldEdit(field: .name, base: .text("base"), since: Self.early, isConflict: true),
    ])

    let found = Self.after(
      try Self.draft("mine", category: "x"), try Self.draft("again", category: "x"), at: Self.late, knowing: known)

    // The conflict of the category was not looked at.
    #expect(
      found?.edits == [known.edits[0], FieldEdit(field: .name, base: .text("base"), since: Self.late)])
  }

  @Test func editThatReturnsToItsBaseIsNone() throws {
    let (former, draft) = (try Self.draft("a"), try Self.draft("b"))

    #expect(Self.after(draft, former, knowing: Self.after(former, draft)) == nil)
  }

  @Test func writeOfTheSameValuesConfirmsConflictsAlone() throws {
    let known = Self.edits([
      FieldEdit(field: .category, base: .text("x"), since: Self.early),
      FieldEdit(field: .name, base: .text("x"), since: Self.early, isConflict: true),
    ])
    let draft = try Self.draft()

    let found = Self.after(draft, draft, at: Self.late, knowing: known)

    #expect(found?.edits == [known.edits[0], FieldEdit(field: .name, base: .text("x"), since: Self.late)])
    #expect(Self.after(draft, draft) == nil)
  }

  @Test(arguments: [(nil, "1"), ("1", nil), ("1", "2"), (nil, nil)] as [(String?, String?)])
  func placeThatHasNotTheSameOriginBeforeAndAfterHasNoEdits(before: String?, after: String?) throws {
    let known = Self.edits([FieldEdit(field: .name, base: .text("x"), since: Self.early)])

    let found = Self.after(
      try Self.draft("a", sourceID: before), try Self.draft("b", sourceID: after), knowing: known)

    #expect(found == nil)
  }

  @Test(arguments: [(0.999_999_95, true), (1.000_000_05, true), (0.999_999_8, false), (1.000_000_2, false)])
  func positionsWithinATenMillionthDegreeAreTheSame(latitude: Double, isSame: Bool) throws {
    let (former, draft) = (try Self.draft("a", 1), try Self.draft("a", latitude))

    #expect((Self.after(former, draft) == nil) == isSame)
  }

  /// The value of a place whose base is `base`, of a row, and what is left.
  struct Case: CustomTestStringConvertible {
    let row: String
    var wasConflict = false
    var conflicts = ConflictPolicy.edits
    let value: String
    let base: String?
    var isConflict = false
    var isNew = false

    var testDescription: String { "\(row), conflict \(wasConflict), \(conflicts)" }
  }

  @Test(arguments: [
    Case(row: "base", value: "mine", base: "base"),
    Case(row: "base", conflicts: .source, value: "mine", base: "base"),
    Case(row: "base", wasConflict: true, value: "mine", base: "base", isConflict: true),
    Case(row: "base", wasConflict: true, conflicts: .source, value: "base", base: nil),
    Case(row: "new", value: "mine", base: "new", isConflict: true, isNew: true),
    Case(row: "new", conflicts: .source, value: "new", base: nil),
    Case(row: "new", wasConflict: true, value: "mine", base: "new", isConflict: true, isNew: true),
    Case(row: "mine", value: "mine", base: nil), Case(row: "mine", wasConflict: true, value: "mine", base: nil),
    Case(row: "mine", conflicts: .source, value: "mine", base: nil),
  ])
  func rowIsMergedWithAnEdit(_ expected: Case) throws {
    let known = Self.edits([
      FieldEdit(field: .name, base: .text("base"), since: Self.early, isConflict: expected.wasConflict)
    ])

    let merge = known.merging(
      try Self.draft(expected.row, category: "row"), onto: try Self.draft("mine", category: "place"),
      conflicts: expected.conflicts)

    #expect(merge.draft == (try Self.draft(expected.value, category: "row")))
    let edit = expected.base.map {
      FieldEdit(field: .name, base: .text(ExactText($0)), since: Self.early, isConflict: expected.isConflict)
    }
    #expect(merge.edits == edit.map { Self.edits([$0]) })
    #expect(merge.hasNewConflict == expected.isNew)
  }

  @Test func fieldThatARowLacksStaysEvenIfConflictsAreTheSources() throws {
    let known = Self.edits([
      FieldEdit(field: .category, base: .text("base"), since: Self.early, isConflict: true),
      FieldEdit(field: .tag("a"), base: .none, since: Self.early),
      FieldEdit(field: .tag("b"), base: .none, since: Self.early),
    ])
    let place = try Self.draft(category: "mine", tags: ["a": "1", "b": "1"])

    let merge = known.merging(
      try Self.draft(), onto: place, given: GivenFields(hasCategory: false, tagKeys: ["b"]), conflicts: .source)

    #expect(merge.draft == place && merge.edits == known && !merge.hasNewConflict)
  }

  @Test func positionOfARowWithinTheToleranceIsTaken() throws {
    let (base, place, row) = (try Self.draft("a", 5), try Self.draft("a", 1), try Self.draft("a", 1.000_000_05))
    let known = try #require(Self.after(base, place))

    let merge = known.merging(row, onto: place)

    #expect(merge.draft == row && merge.edits == nil && !merge.hasNewConflict)
  }

  @Test func undoneEditsLeaveOutTagsForWhichThereIsNoRoom() throws {
    func tags(_ range: Range<Int>) -> [(key: String, value: String)] { range.map { ("t\($0)", "1") } }
    let full = try PointDraft(
      name: "mine", coordinate: Coordinate(latitude: 1, longitude: 2), tags: try Tags(tags(0..<Tags.maximumCount)),
      source: "s", sourceID: "1")
    let known = Self.edits([
      FieldEdit(field: .name, base: .text("old"), since: Self.early),
      FieldEdit(field: .tag("another"), base: .text("1"), since: Self.early),
      FieldEdit(field: .tag("t1"), base: .text("2"), since: Self.early),
    ])

    let draft = known.undone(in: full)

    #expect(draft.name == "old" && draft.tags["t1"] == "2" && draft.tags["another"] == nil)
    #expect(draft.tags.dictionary.count == Tags.maximumCount)
  }

  @Test(arguments: [
    (EditedField.name, FieldValue.none, false), (.name, .text("a"), true), (.category, .none, true),
    (.category, .text("a"), true), (.position, .none, false), (.position, .text("1,1"), false),
    (.tag("a"), .none, true), (.deletion, .none, true), (.deletion, .text("a"), false),
  ])
  func baseIsOfTheTypeOfItsField(field: EditedField, base: FieldValue, isValid: Bool) {
    #expect(FieldEdit(field: field, base: base, since: Self.early).isValid == isValid)
  }

  @Test func queryMatchesBySourceConflictAndID() {
    let edits = Self.edits([FieldEdit(field: .name, base: .text("a"), since: Self.early, isConflict: true)])
    let calm = Self.edits([FieldEdit(field: .name, base: .text("a"), since: Self.early)])

    #expect(EditQuery(source: "s", onlyConflicts: true, after: .sample(0), limit: 1).matches(edits))
    #expect(!EditQuery(source: "t", limit: 1).matches(edits))
    #expect(!EditQuery(after: .sample(1), limit: 1).matches(edits))
    #expect(!EditQuery(onlyConflicts: true, limit: 1).matches(calm))
    #expect(EditQuery(limit: 1).matches(calm))
  }
}
