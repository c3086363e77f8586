package import Basics
import Geo
import JSONText
package import PointFormats
package import Points
import Synchronization

/// A mapping of the records of a data set to places, which a mapping file describes: docs/import.md.
///
/// Mapping is a pure function of the record, apart from the counts in ``tally``.
package struct Mapping: RecordMapping {
  /// A rule about the records that are taken.
  struct TakeRule: Hashable {
    let condition: Condition
    /// The reason why other records are skipped.
    let reason: String

    /// A Boolean value that indicates whether the rule is a choice between fields or conditions.
    fileprivate var isChoice: Bool {
      !condition.alternatives.isEmpty || condition.clauses.contains { $0.quantifier == .any }
    }
  }

  /// A rule about the pieces of lines, of which those with one name and one field that are near each other become one
  /// place.
  struct PieceRule: Hashable {
    let condition: Condition
    /// The maximum distance between neighbouring pieces in metres.
    let distanceMetres: Double
  }

  /// Tags from the members of an object, or from the elements of an array.
  struct Spread: Hashable {
    let from: FieldPath
    let key: Expression
    let value: Expression
  }

  /// The fields whose values give the position of records without a geometry.
  struct Position: Hashable {
    var latitude = Expression([])
    var longitude = Expression([])
    var wellKnownText = Expression([])

    /// A text with both coordinates.
    var pair = Expression([])
  }

  /// The fields that become tags under their own names.
  enum Kept: Hashable {
    case all
    case only([NamePattern])
  }

  /// The data set.
  package internal(set) var source: DataSource?

  /// The counts of the records that were skipped, and of tags that were left out.
  package let tally: ImportTally

  /// The layout of the data set's text files; `nil` for CSV with a header.
  package internal(set) var table: TableLayout?

  var ignoresCase = false

  /// The texts of the mapping file, in lower case, of which the names of fields are a part.
  var mentions: Set<ExactText> = []

  package var mentionedNames: Set<ExactText>? { ignoresCase ? mentions : nil }

  var unpacked: [String] = []
  var takeRules: [TakeRule] = []
  var sourceID = Expression([])
  var name = Expression([])
  var position = Position()
  var category = CategoryRules()
  var pieceRules: [PieceRule] = []
  var kept = Kept.only([])
  var dropped: [NamePattern] = []
  var tags: [(key: String, value: Expression)] = []
  var spreads: [Spread] = []

  /// A Boolean value that indicates whether the fields that the name, the id and the position come from are tags as
  /// well.
  private var keepsUsedFields = false

  init() {
    tally = ImportTally()
  }

  /// Returns the place of a record or the reason of its rejection; `nil` if the mapping does not take it.
  package func place(of foreign: ForeignRecord) -> Result<PointDraft, InvalidRecord>? {
    var record = Record(foreign, ignoresCase: ignoresCase, unpacked: unpacked)
    for rule in takeRules where !rule.condition.holds(of: record) {
      tally.skip(rule.reason)
      return nil
    }
    let positions = [position.latitude, position.wellKnownText, position.pair]
    if let geometry = foreign.geometry, geometry.isNull, positions.allSatisfy({ $0.value(in: record) == nil }) {
      tally.skip("without a geometry")
      return nil
    }
    do throws(InvalidRecord) {
      return .success(try draft(of: &record, foreign))
    } catch {
      var invalid = error
      invalid.origin = SourceReference(validating: source?.name, sourceID: sourceID.value(in: record))
      return .failure(invalid)
    }
  }

  /// Returns the line that a record is a piece of; `nil` if it is none.
  package func line(of foreign: ForeignRecord) -> LinePieces.Line? {
    guard !pieceRules.isEmpty else { return nil }
    let record = Record(foreign, ignoresCase: ignoresCase, unpacked: unpacked)
    for rule in pieceRules where rule.condition.holds(of: record) {
      guard let field = rule.condition.selectedFields.first(where: { $0.field.holds(of: record) })?.field else {
        continue
      }
      return LinePieces.Line(field: field.path.text, distanceMetres: rule.distanceMetres)
    }
    return nil
  }

  private func draft(of record: inout Record, _ foreign: ForeignRecord) throws(InvalidRecord) -> PointDraft {
    let category = category.category(of: record) ?? selectedCategory(of: record)
    if let category { record.add("@categoryWords", .string(Self.words(of: category))) }
    var used = UsedFields()
    let coordinate = try coordinate(of: record, foreign, &used)
    var id: String?
    if source != nil {
      id = used.value(of: sourceID, in: record)
      if id == nil { throw InvalidRecord(detail: "has no id in its data set (sourceId)") }
    }
    guard let name = used.value(of: name, in: record).map(Self.cleaned), !name.isEmpty else {
      throw InvalidRecord(detail: "has no name\(Self.list(foreign.fields))")
    }
    do {
      return try PointDraft(
        name: name, category: category, coordinate: coordinate,
        tags: tags(of: record, except: keepsUsedFields ? [] : used.names, foreign.schedule), source: source?.name,
        sourceID: id)
    } catch {
      throw InvalidRecord(detail: error.description)
    }
  }

  /// Returns the category of a record that no rule gives one: the field by which it was selected, with its value. A
  /// field that a name may come from is none.
  private func selectedCategory(of record: Record) -> String? {
    for (field, _) in selectedFields where !name.mayRead(field.path) && field.holds(of: record) {
      guard let value = field.path.value(in: record)?.plainText else { continue }
      return category.fallback(field.path.text, value)
    }
    return nil
  }

  /// Returns a category in words: `place:city` is City.
  private static func words(of category: String) -> String {
    let name = category.split(separator: ":").last.map(String.init) ?? category
    let words = name.replacing("_", with: " ")
    return words.prefix(1).uppercased() + words.dropFirst()
  }

  /// Returns a text with a space for each control character and run of white space.
  private static func cleaned(_ text: String) -> String {
    let isClean = text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    if isClean { return text }
    let scalars = text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }

  /// Returns the names of fields for a message, after a semicolon; empty where there are none.
  private static func list(_ fields: [JSONValue.Member]) -> String {
    if fields.isEmpty { return "" }
    let shown = fields.prefix(20).map { "'\($0.name.prefix(40))'" }.joined(separator: ", ")
    return "; it has \(shown)\(fields.count > 20 ? " and \(fields.count - 20) more" : "")"
  }

  // MARK: Position

  private func coordinate(
    of record: Record, _ foreign: ForeignRecord, _ used: inout UsedFields
  ) throws(InvalidRecord) -> Coordinate {
    if let coordinate = foreign.coordinate { return coordinate }
    if let geometry = foreign.geometry, !geometry.isNull {
      guard let position = GeoJSONPosition.position(of: geometry) else {
        throw InvalidRecord(detail: "/geometry has no position in degrees")
      }
      return try coordinate(latitude: position.latitude, longitude: position.longitude)
    }
    if let text = used.value(of: position.wellKnownText, in: record) {
      let point = Array(text.utf8).withUnsafeBufferPointer { WellKnownPoint(text: $0) }
      guard let point else {
        throw InvalidRecord(detail: "has a geometry that is no point in degrees: '\(text.prefix(40))'")
      }
      return try coordinate(latitude: point.latitude, longitude: point.longitude)
    }
    let latitude = used.value(of: position.latitude, in: record)
    let longitude = used.value(of: position.longitude, in: record)
    if latitude == nil || longitude == nil, let (text, fields) = used.match(of: position.pair, in: record) {
      return try coordinate(ofPair: text, fields.first ?? "", record, foreign)
    }
    return try coordinate(
      latitude: try degrees(latitude, "latitude", foreign), longitude: try degrees(longitude, "longitude", foreign))
  }

  /// Returns the position of a field that has both coordinates.
  private func coordinate(
    ofPair text: String, _ name: String, _ record: Record, _ foreign: ForeignRecord
  ) throws(InvalidRecord) -> Coordinate {
    // An array of numbers, whose text would leave out the second one where both are equal.
    var text = text
    if case .array? = record[name], let value = record[name] { text = String(decoding: value.text, as: UTF8.self) }
    let known = foreign.pairOrders[ExactText(name.lowercased())]
    var finder = PairOrderFinder(name: name)
    let position = Array(text.utf8).withUnsafeBufferPointer { bytes in
      finder.note(bytes)
      return PositionText.position(of: bytes, order: known ?? finder.order)
    }
    guard let position else {
      throw InvalidRecord(detail: "must have the latitude and the longitude in degrees, got '\(text.prefix(40))'")
    }
    if known == nil, let warning = finder.warning { tally.warn(warning) }
    return try coordinate(latitude: position.latitude, longitude: position.longitude)
  }

  package func pairFields(among names: [String]) -> [String] {
    func isAmong(_ expression: Expression) -> Bool {
      names.contains { name in FieldPath(name).map { expression.mayRead($0) } ?? false }
        || ignoresCase
          && names.contains { name in FieldPath(name.lowercased()).map { expression.mayRead($0) } ?? false }
    }
    if isAmong(position.wellKnownText) || isAmong(position.latitude) && isAmong(position.longitude) { return [] }
    return names.filter { name in
      [name, ignoresCase ? name.lowercased() : name].contains { name in
        FieldPath(name).map { position.pair.mayRead($0) } ?? false
      }
    }
  }

  private func degrees(_ text: String?, _ name: String, _ foreign: ForeignRecord) throws(InvalidRecord) -> Double {
    guard let text else { throw InvalidRecord(detail: "has no \(name)\(Self.list(foreign.fields))") }
    var bytes = Array(text.utf8.drop { $0 == 0x20 })
    while bytes.last == 0x20 { bytes.removeLast() }
    let written = bytes
    if foreign.hasDecimalCommas, let comma = bytes.firstIndex(of: UInt8(ascii: ",")) {
      bytes[comma] = UInt8(ascii: ".")
    }
    let value =
      bytes.withUnsafeBufferPointer { DecimalText.value(of: $0) }
      ?? written.withUnsafeBufferPointer { DegreesText.value(of: $0, isLatitude: name == "latitude") }
    guard let value else {
      throw InvalidRecord(
        detail: "the \(name) must be a number of degrees, got '\(text.prefix(40))'\(DegreesText.advice(on: text))")
    }
    return value
  }

  private func coordinate(latitude: Double, longitude: Double) throws(InvalidRecord) -> Coordinate {
    do {
      return try Coordinate(latitude: latitude, longitude: longitude)
    } catch {
      let isSwapped = SwappedCoordinates.areLikely(latitude: latitude, longitude: longitude)
      throw InvalidRecord(
        detail: "the position \(latitude), \(longitude) is out of range" + (isSwapped ? SwappedCoordinates.remark : ""))
    }
  }

  // MARK: Tags

  /// Returns the tags of a record.
  ///
  /// - Parameters:
  ///   - usedFields: the names of the fields that are no tags, because other fields of the place come from them.
  ///   - schedule: the opening hours that fields hold in another form than a text.
  private func tags(
    of record: Record, except usedFields: [String], _ schedule: ForeignRecord.Schedule?
  ) -> Tags {
    var builder = TagsBuilder()
    var count = 0
    let hours = hours(of: record, schedule)
    let usedFields = usedFields + (kept == .all ? hours?.fields ?? [] : [])
    func append(_ key: String, _ value: String) {
      guard count < Tags.maximumCount, Self.isValid(key, Tags.maximumKeyLength),
        Self.isValid(value, Tags.maximumValueLength)
      else { return tally.leaveOutTag() }
      builder.append(key: key, value: value)
      count += 1
    }
    for member in record.members where isKept(member.name) && !record.contains(member.name, in: usedFields) {
      if let text = member.value.plainText {
        append(member.name, text)
      } else if case .object = member.value {
        append(member.name, String(decoding: member.value.text, as: UTF8.self))
      }
    }
    if let hours { append(Self.hoursKey, hours.text) }
    for (key, expression) in tags {
      if let value = expression.value(in: record) { append(key, value) }
    }
    for spread in spreads {
      for item in Self.items(of: spread.from.value(in: record)) {
        if let key = spread.key.value(in: item), let value = spread.value.value(in: item) { append(key, value) }
      }
    }
    do {
      return try builder.build()
    } catch {
      tally.leaveOutTag()
      return .none
    }
  }

  private static let hoursKey = "opening_hours"

  /// Returns the opening hours that kept fields hold in another form than a text, with the names of these fields; `nil`
  /// if there are none, or the mapping sets the tag itself.
  private func hours(of record: Record, _ schedule: ForeignRecord.Schedule?) -> (text: String, fields: [String])? {
    guard case .hours(let text, let fields)? = schedule, isKept(Self.hoursKey) || fields.allSatisfy(isKept),
      !tags.contains(where: { $0.key == Self.hoursKey && $0.value.value(in: record) != nil })
    else { return nil }
    return (text, fields)
  }

  private func isKept(_ name: String) -> Bool {
    switch kept {
    case .all: break
    case .only(let patterns): guard patterns.contains(where: { $0.matches(name) }) else { return false }
    }
    return !dropped.contains { $0.matches(name) }
  }

  private static func isValid(_ text: String, _ maximumLength: Int) -> Bool {
    (text.utf8.count <= maximumLength || text.unicodeScalars.count <= maximumLength) && !text.utf8.contains(0)
  }

  /// Returns the records of a value: of each member of an object or pair of an array, with the fields `key` and
  /// `value`, or each object of an array.
  private static func items(of value: JSONValue?) -> [Record] {
    func pair(_ key: JSONValue, _ value: JSONValue) -> Record {
      Record(members: [.init(name: "key", value: key), .init(name: "value", value: value)])
    }
    switch value?.parsed {
    case .object(let members)?: return members.map { pair(.string($0.name), $0.value) }
    case .array(let elements)?:
      return elements.compactMap { element in
        switch element {
        case .object(let members): Record(members: members)
        case .array(let parts) where parts.count == 2: pair(parts[0], parts[1])
        default: nil
        }
      }
    default: return []
    }
  }
}

// MARK: Changes by options

extension Mapping {
  /// Sets the name of the data set, with a licence and attribution of its own where another one had them.
  package mutating func setSource(_ name: String) {
    source = DataSource(
      name: name, licence: source?.licence, attribution: source?.attribution, url: source?.url)
  }

  /// Sets the licence and attribution of the data set, as far as they are given.
  package mutating func setAttribution(licence: String?, attribution: String?, url: String?) {
    if let licence { source?.licence = licence }
    if let attribution { source?.attribution = attribution }
    if let url { source?.url = url }
  }

  /// Sets the field of the ids in the data set.
  ///
  /// - Returns: `false` where the text is no path of a field.
  package mutating func setIDField(_ text: String) -> Bool {
    guard let path = FieldPath(text) else { return false }
    mentions.insert(ExactText(text.lowercased()))
    sourceID = Expression([.init(form: .path(path), condition: nil)])
    return true
  }

  /// Sets the field of the names.
  ///
  /// - Returns: `false` where the text is no path of a field.
  package mutating func setNameField(_ text: String) -> Bool {
    guard let path = FieldPath(text) else { return false }
    mentions.insert(ExactText(text.lowercased()))
    name = Expression([.init(form: .path(path), condition: nil)])
    return true
  }

  /// Takes only records with a confidence of at least a value.
  package mutating func require(confidence minimum: Double) {
    guard let path = FieldPath("confidence") else { return }
    let clause = Condition.Clause(quantifier: .all, tests: [.init(path: path, test: .isAtLeast(minimum))])
    takeRules.append(TakeRule(condition: Condition(clauses: [clause]), reason: "confidence below \(minimum)"))
  }

  /// Takes records of closed places too.
  package mutating func takeClosed() {
    takeRules.removeAll { $0.reason == "closed" }
  }

  /// Keeps all fields as tags, except those of the data set's own administration.
  package mutating func keepAllTags() {
    kept = .all
    dropped = dropped.filter { $0.text == "@*" }
    keepsUsedFields = true
  }

  /// Takes the records that have one of the values, in place of the mapping's own choice by values.
  ///
  /// - Parameter fields: the names of fields with the accepted values; `nil` for any value.
  package mutating func take(anyOf fields: [(name: String, values: [String]?)]) {
    takeRules.removeAll { $0.isChoice }
    takeRules.append(TakeRule(condition: Self.condition(anyOf: fields), reason: "not selected"))
  }

  /// Takes the records that have one of the values too.
  ///
  /// - Parameter fields: the names of fields with the accepted values; `nil` for any value.
  /// - Returns: `false` where the mapping has no choice by values.
  package mutating func takeAlso(anyOf fields: [(name: String, values: [String]?)]) -> Bool {
    guard let index = takeRules.firstIndex(where: \.isChoice) else { return false }
    let rule = takeRules[index]
    let alternatives = rule.condition.alternatives
    let former = alternatives.isEmpty || !rule.condition.clauses.isEmpty ? [rule.condition] : alternatives
    takeRules[index] = TakeRule(
      condition: Condition(clauses: [], alternatives: former + [Self.condition(anyOf: fields)]), reason: rule.reason)
    return true
  }

  private static func condition(anyOf fields: [(name: String, values: [String]?)]) -> Condition {
    let tests = fields.compactMap { name, values in
      FieldPath(name).map { Condition.Field(path: $0, test: values.map { .isOneOf($0) } ?? .exists) }
    }
    return Condition(clauses: [.init(quantifier: .any, tests: tests)])
  }

  /// The fields one of which a record must have to be taken.
  private var selectedFields: [(field: Condition.Field, isForNamed: Bool)] {
    guard let condition = takeRules.first(where: \.isChoice)?.condition else { return [] }
    return condition.selectedFields + condition.alternatives.flatMap(\.selectedFields)
  }

  /// The fields one of which a record must have to be taken, with the accepted values; `nil` for any value.
  package var requiredFields: [(name: String, values: [String]?, isForNamed: Bool)] {
    selectedFields.compactMap { field, isForNamed in
      switch field.test {
      case .exists: (field.path.text, nil, isForNamed)
      case .isOneOf(let values): (field.path.text, values, isForNamed)
      case .isAtLeast: nil
      }
    }
  }
}

/// The fields of a record from which fields of the place come.
private struct UsedFields {
  private(set) var names: [String] = []

  /// Returns the value of an expression, and notes the fields that it comes from; `nil` if it has no value.
  mutating func value(of expression: Expression, in record: Record) -> String? {
    match(of: expression, in: record)?.value
  }

  /// Returns the value of an expression with the fields that it comes from, and notes them; `nil` if it has no value.
  mutating func match(of expression: Expression, in record: Record) -> (value: String, fields: [String])? {
    guard let (value, fields) = expression.match(in: record) else { return nil }
    names += fields
    return (value, fields)
  }
}

/// A name of fields, or the beginning of names before a `*`.
struct NamePattern: Hashable, Sendable {
  let text: String

  func matches(_ name: String) -> Bool {
    guard text.hasSuffix("*") else { return text == name }
    return name.utf8.starts(with: text.utf8.dropLast())
  }
}

/// The rules by which a record gets its category: the first whose field has the value determines it.
struct CategoryRules: Hashable, Sendable {
  /// A rule: `amenity=cafe: cafe`.
  struct Rule: Hashable {
    /// The value of the field; `nil` for any.
    let value: String?

    /// The category, in which `*` stands for the value; `nil` for none.
    let category: String?
  }

  /// Rules of one field that follow one another.
  private struct Group: Hashable {
    let path: FieldPath
    var rules: [Rule]
  }

  private var groups: [Group] = []

  /// The names of categories that are replaced, with their replacements.
  var names: [String: String] = [:]

  /// The values that are no categories.
  struct Values: Hashable, Sendable {
    /// A Boolean value that indicates whether only identifiers, of lower-case ASCII letters, digits and `_:.-`, are
    /// categories.
    var areIdentifiers = false

    /// Values that say nothing but that the record has the field, whose name is the category then.
    var unclear: Set<ExactText> = []

    /// Values that stand for the absence of the field.
    var absent: Set<ExactText> = []

    fileprivate func isClear(_ value: String) -> Bool {
      (!areIdentifiers || Self.isIdentifier(value)) && !unclear.contains(ExactText(value))
    }

    private static func isIdentifier(_ text: String) -> Bool {
      guard let first = text.utf8.first, (0x61...0x7A).contains(first) else { return false }
      return text.utf8.allSatisfy { byte in
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || "_:.-".utf8.contains(byte)
      }
    }
  }

  /// The values that are no categories, in rules for any value.
  var values = Values()

  /// Adds a rule behind the others.
  mutating func append(_ rule: Rule, of path: FieldPath) {
    if groups.last?.path == path {
      groups[groups.count - 1].rules.append(rule)
    } else {
      groups.append(Group(path: path, rules: [rule]))
    }
  }

  /// Returns the category of a record; `nil` if no rule gives it one.
  func category(of record: Record) -> String? {
    var unclear: String?
    for group in groups {
      guard let value = group.path.value(in: record)?.plainText else { continue }
      let parts = value.split(separator: ";").map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        .filter { !$0.isEmpty && !values.absent.contains(ExactText($0)) }
      // Of several values the first counts, such as cafe of cafe;bar.
      guard let first = parts.first(where: values.isClear) ?? parts.first else { continue }
      guard let rule = group.rules.first(where: { $0.value?.hasSameBytes(as: first) ?? true }) else { continue }
      guard let category = rule.category else { continue }
      if rule.value == nil, !values.isClear(first) {
        unclear = unclear ?? group.path.text
        continue
      }
      let name = category.contains("*") ? category.replacing("*", with: first) : category
      return names[name] ?? name
    }
    return unclear
  }

  /// Returns the category of a field without a rule: its name with its value, if that is a category.
  func fallback(_ name: String, _ value: String) -> String {
    let first = value.split(separator: ";").first.map(String.init) ?? value
    return values.isClear(first) && !values.absent.contains(ExactText(first)) ? "\(name):\(first)" : name
  }
}

/// The counts of what a mapping left out.
package final class ImportTally: Sendable {
  private struct Counts {
    var skipped: [String: Int] = [:]
    var tags = 0
    var warnings: Set<String> = []
  }

  private let counts = Mutex(Counts())

  package init() {}

  /// Counts skipped records.
  package func skip(_ reason: String, count: Int = 1) {
    counts.withLock { $0.skipped[reason, default: 0] += count }
  }

  /// Counts a tag that is too long, or one too many.
  func leaveOutTag() {
    counts.withLock { $0.tags += 1 }
  }

  /// The maximum number of different warnings.
  private static let maximumWarnings = 10

  /// Adds a warning, if it is new.
  func warn(_ warning: String) {
    counts.withLock { counts in
      if counts.warnings.count < Self.maximumWarnings { counts.warnings.insert(warning) }
    }
  }

  /// The warnings about how records were read, for a user.
  package var warnings: [String] { counts.withLock { $0.warnings }.sorted() }

  /// The numbers of skipped records by reason, the most frequent first.
  package var skipped: [(reason: String, count: Int)] {
    counts.withLock { $0.skipped }.map { ($0.key, $0.value) }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
  }

  /// The number of tags that were left out.
  package var omittedTags: Int { counts.withLock { $0.tags } }
}
