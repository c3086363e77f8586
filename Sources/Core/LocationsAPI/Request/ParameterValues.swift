package import APIDescription
import Basics
package import CQL2
package import Geo
package import HTTPServer
package import JSONText
import NIOHTTP1
import PointDetails
package import PointFormats
package import Points
package import SearchWords

extension [Parameter] {
  /// The parameters that filter places.
  package static let filters: [Parameter] = [
    .latitude, .longitude, .radius, .category, .box, .source, .sourceID, .filter, .filterLanguage, .within, .route,
    .status, .area,
  ]

  /// The parameters that filter changes: those of places that do not order them, and whose meaning does not change.
  package static let changeFilters = filters.subtracting([.route])

  /// The parameters of the state that the opening hours of places have.
  static let opening: [Parameter] = [.open, .openUnknown]

  /// The parameters of a place's representation in the response to a write.
  package static let presentation: [Parameter] = [.fields, .format]

  /// The parameters of a place's representation in the response to a read.
  static let translation: [Parameter] = presentation + [.languages]

  static let list = filters.union(opening + translation + [.limit, .cursor, .text, .autocomplete, .sort, .ids])
}

/// The parameters of a request. Their violations are collected, so that one problem names them all.
package struct ParameterValues {
  /// The ways in which the values of a parameter of the form ``Parameter/Form/values`` are given.
  private enum Encoding {
    /// In a query without `%XX`.
    case plain
    /// In a query with `%XX`.
    case escaped
    /// As an element of a body, which commas do not separate.
    case element
  }

  /// The values of the parameters that are given, of which there are few.
  private var texts: [(key: Parameter.Key, text: String, encoding: Encoding)] = []

  /// The bits of the parameters that are given, so that most of those that are not need no search.
  private var givenBits: UInt64 = 0

  /// The fingerprint of the values that were read.
  package var fingerprint = QueryFingerprint()

  /// The conditions on properties, each by the property's name and one value that it may have.
  private var conditions: [(property: String, value: String)] = []

  /// The state that only the parameters of a body have.
  private struct Body {
    /// The values that are objects, by their parameters.
    var objects: [Parameter.Key: JSONValue] = [:]

    /// The parameters whose values are of the wrong type. They count as given, and have no further violations.
    var mistyped: Set<Parameter.Key> = []

    /// The names of the parameters of the query beside the body.
    var namesInQuery: Set<ExactText>
  }

  /// The state of a body; `nil` if there is none. A copy without it counts no references of its members.
  private var body: Body?

  /// The name by which the longitude was sent, which has three; `nil` if it was not, or by its own.
  private var longitudeName: String?

  /// The areas that the request needs; `nil` if it needs none.
  package var areas: RequestAreas?

  private var violations = Violations()

  /// A Boolean value that indicates whether there are no violations so far.
  package var areValid: Bool { violations.isEmpty }

  /// A Boolean value that indicates whether further violations change nothing.
  package var hasAllErrors: Bool { violations.areComplete }

  /// Creates the values of a request's query. Unknown and repeated parameters are violations, except that the elements
  /// of a list may come in several parameters.
  ///
  /// - Parameters:
  ///   - allowed: the parameters of the call.
  ///   - properties: the names of properties that are parameters of the call, and take precedence over others.
  ///   - ignoresOthers: a Boolean value that indicates whether unknown parameters are no violations.
  /// - Throws: `Problem` 400 when the query is not percent-encoded UTF-8.
  package init(
    _ request: borrowing HTTPRequest, allowing allowed: [Parameter], properties: [String] = [],
    ignoresOthers: Bool = false
  ) throws(Problem) {
    guard let query = request.query else { return }
    texts.reserveCapacity(4)
    try QueryParameter.forEach(encodedIn: query) { pair throws(Problem) in
      // The name of a parameter has no escapes, so that it is found before it is decoded.
      if properties.isEmpty, let key = allowed.key(named: pair.name) {
        return take(try pair.decodedValue(), hasEscapes: pair.hasEscapes, of: key, named: pair.name)
      }
      let parameter = try pair.decoded()
      var name = parameter.name
      if properties.contains(where: { $0.hasSameBytes(as: parameter.name) }) {
        addCondition(onProperty: parameter.name, parameter.value)
      } else if let key = name.withUTF8({ allowed.key(named: $0) }) {
        name.withUTF8 { take(parameter.value, hasEscapes: parameter.hasEscapes, of: key, named: $0) }
      } else if allowed.contains(.filter), Queryables.tagKey(ofProperty: parameter.name) != nil {
        addCondition(onProperty: parameter.name, parameter.value)
      } else if !ignoresOthers {
        let names = allowed.map(\.name).joined(separator: ", ")
        let known = allowed.isEmpty ? "it has none" : "its parameters are \(names)"
        note(.unknown, String(parameter.name.prefix(100)), "is not a parameter of this call; \(known)")
      }
    }
  }

  /// Takes the value of a parameter of the query.
  private mutating func take(
    _ value: String, hasEscapes: @autoclosure () -> Bool, of key: Parameter.Key, named name: UnsafeBufferPointer<UInt8>
  ) {
    setName(of: key, to: name)
    if key.form == .values {
      append(value, hasEscapes() ? .escaped : .plain, to: key)
    } else if let index = index(of: key) {
      if key.isList {
        texts[index].text += "," + value
      } else {
        note(.invalid, self.name(of: key), "must not be repeated")
      }
    } else {
      set(key, to: value)
    }
  }

  /// Returns a Boolean value that indicates whether a parameter is given, with a valid value or not.
  @inline(__always)
  package func has(_ parameter: Parameter) -> Bool { mayHave(parameter.key) && isGiven(parameter.key) }

  /// Returns `false` only if a parameter is not given. It may be `true` for one that is not, whose bit another one has.
  @inline(__always)
  private func mayHave(_ key: Parameter.Key) -> Bool { givenBits & key.bit != 0 }

  private func isGiven(_ key: Parameter.Key) -> Bool {
    index(of: key) != nil || body.map { $0.objects[key] != nil || $0.mistyped.contains(key) } ?? false
  }

  /// Returns the index of the first value of a parameter.
  private func index(of key: Parameter.Key) -> Int? {
    guard mayHave(key) else { return nil }
    // By index: a closure would be passed a copy of each text.
    for index in texts.indices where texts[index].key == key { return index }
    return nil
  }

  /// Returns the name by which a parameter was sent, or else its own.
  func name(of parameter: Parameter) -> String { name(of: parameter.key) }

  private func name(of key: Parameter.Key) -> String {
    key == Parameter.longitude.key ? longitudeName ?? key.name : key.name
  }

  /// Sets the name by which a parameter was sent.
  private mutating func setName(of key: Parameter.Key, to name: UnsafeBufferPointer<UInt8>) {
    guard key == Parameter.longitude.key else { return }
    longitudeName = name.count == key.bytes.count ? nil : String(decoding: name, as: UTF8.self)
  }

  /// Adds the violation of a value that is of the wrong type.
  private mutating func noteType(_ key: Parameter.Key, _ type: String) {
    note(.invalid, name(of: key), "must be \(type)")
    givenBits |= key.bit
    body?.mistyped.insert(key)
  }

  /// Returns a Boolean value that indicates whether the value of a parameter is of the wrong type.
  private func isMistyped(_ parameter: Parameter) -> Bool { body?.mistyped.contains(parameter.key) ?? false }

  /// Returns the value that is an object in a body.
  private func object(_ parameter: Parameter) -> JSONValue? { body?.objects[parameter.key] }

  /// Returns the value of a parameter, or its first one; `nil` if it is not given, or an object.
  @inline(__always)
  package subscript(parameter: Parameter) -> String? {
    mayHave(parameter.key) ? index(of: parameter.key).map { texts[$0].text } : nil
  }

  /// Returns the values of a parameter of the form ``Parameter/Form/values``.
  package func all(_ parameter: Parameter) -> [String] { texts.filter { $0.key == parameter.key }.map(\.text) }

  /// Sets the value of a parameter that has none.
  private mutating func set(_ key: Parameter.Key, to text: String) { append(text, .plain, to: key) }

  /// Appends a value to those of a parameter.
  private mutating func append(_ text: String, _ encoding: Encoding, to key: Parameter.Key) {
    texts.append((key, text, encoding))
    givenBits |= key.bit
  }

  /// Adds a condition on a property.
  private mutating func addCondition(onProperty property: String, _ value: String) {
    conditions.append((property, value))
    fingerprint.add(.filter) { hash in
      hash.combine(bytes: property.utf8)
      hash.combine(0)
      hash.combine(bytes: value.utf8)
    }
  }

  /// Adds a violation, up to `Problem.maximumErrorCount`.
  ///
  /// - Parameter pointer: a JSON pointer to the part of the value, where that is in a body.
  package mutating func note(_ kind: ParameterProblem, _ name: String, _ detail: String, pointer: String = "") {
    guard let body, !body.namesInQuery.contains(ExactText(name)) else {
      return violations.note(kind, ProblemError(.parameter(name), detail))
    }
    violations.note(kind, ProblemError(.pointer("/\(JSONPointer.escape(name))\(pointer)"), detail))
  }

  /// Throws a problem where there are violations.
  package func check() throws(Problem) { try violations.check() }

  // MARK: Values

  /// Returns the coordinate of `lat` and `long`; `nil` if neither is given or one is invalid.
  ///
  /// - Parameters:
  ///   - longitudeParameter: the parameter of the longitude.
  ///   - purpose: the purpose for which it is required; `nil` if it is optional.
  package mutating func coordinate(_ longitudeParameter: Parameter = .longitude, requiredFor purpose: String? = nil)
    -> Coordinate?
  {
    noteIfMissing(.latitude, beside: longitudeParameter, purpose)
    noteIfMissing(longitudeParameter, beside: .latitude, purpose)
    let latitude = number(.latitude, in: Coordinate.latitudes)
    let longitude = number(longitudeParameter, in: Coordinate.longitudes)
    guard let latitude, let longitude else { return nil }
    return try? Coordinate(latitude: latitude, longitude: longitude)
  }

  private mutating func noteIfMissing(_ parameter: Parameter, beside other: Parameter, _ purpose: String?) {
    guard !has(parameter) else { return }
    if has(other) {
      note(.missing, parameter.name, "must be given if \(name(of: other)) is given")
    } else if let purpose {
      note(.missing, parameter.name, "must be given for \(purpose)")
    }
  }

  /// Returns the radius in metres; `nil` if it is not given or invalid.
  mutating func radius() -> Double? {
    number(.radius, in: 0...Double.greatestFiniteMagnitude, "of metres, 0 or more")
  }

  /// Returns the box; `nil` if it is not given or invalid.
  package mutating func box() -> BoundingBox? {
    guard let text = self[.box] else { return nil }
    let edges = Self.list(text).map { Self.number($0) }
    guard edges.count == 4, let west = edges[0], let south = edges[1], let east = edges[2], let north = edges[3] else {
      note(.invalid, "bbox", "must be four numbers, west,south,east,north in degrees, got \(quoted(text))")
      return nil
    }
    do {
      let box = try BoundingBox(west: west, south: south, east: east, north: north)
      fingerprint.add(box)
      return box
    } catch {
      note(.invalid, "bbox", "is not a valid box: \(error)")
      return nil
    }
  }

  /// Returns the source; `nil` if it is not given or invalid.
  package mutating func source() -> PointQuery.Source? {
    guard has(.source) || has(.sourceID) else { return nil }
    let name = originText(.source)
    let sourceID = originText(.sourceID)
    if has(.sourceID), !has(.source) { note(.missing, Parameter.source.name, "must be given if sourceId is given") }
    guard let name, has(.sourceID) == (sourceID != nil) else { return nil }
    return PointQuery.Source(name: name, sourceID: sourceID)
  }

  /// Returns the name of a data set, or an id in one; `nil` if it is not given or invalid.
  package mutating func originText(_ parameter: Parameter) -> String? {
    guard let text = self[parameter] else { return nil }
    let length = PointDraft.maximumOriginLength
    if !text.isEmpty, !text.utf8.contains(0), text.unicodeScalars.count <= length {
      fingerprint.add(parameter, text)
      return text
    }
    note(.invalid, parameter.name, "must have 1 to \(length) characters, got \(quoted(text))")
    return nil
  }

  /// Sets the categories of a query to those of all `category` parameters together, without those behind an exclamation
  /// mark. A comma stands between two, encoded or not, and may be part of a name as well: where there is one, the whole
  /// is a category too.
  mutating func setCategories(of query: inout PointQuery, in tree: CategoryTree) {
    guard has(.category) else { return }
    let given = texts.filter { $0.key == Parameter.category.key }
    guard !given.isEmpty else { return }
    var (names, excluded): (Set<ExactText>, Set<ExactText>) = ([], [])
    // The lists that are categories too, whose elements may come in another order on the next page.
    var lists: Set<ExactText> = []
    func add(_ name: Substring, isList: Bool = false) -> Bool {
      let isExcluded = name.unicodeScalars.first == CategoryTree.exclusionMark
      let category = isExcluded ? Substring(name.unicodeScalars.dropFirst()) : name
      guard Self.isCategory(category) else { return false }
      let text = ExactText(String(category))
      if isExcluded { excluded.insert(text) } else { names.insert(text) }
      if isList { lists.insert(text) }
      return true
    }
    func noteInvalid(_ name: some StringProtocol) {
      note(
        .invalid, "category",
        "must be names of 1 to \(PointDraft.maximumCategoryLength) characters, got \(quoted(String(name)))")
    }
    for list in given {
      let names = list.encoding == .element ? [list.text[...]] : Self.list(list.text)
      let isWhole = names.count > 1 && add(list.text[...], isList: true)
      // An element between two encoded commas may be empty: the name with the commas is searched for as a whole.
      let mayBeEmpty = isWhole && list.encoding == .escaped
      for name in names where !(name.isEmpty && mayBeEmpty) && !hasAllErrors && !add(name) { noteInvalid(name) }
    }
    guard names.count + excluded.count <= PointQuery.maximumCategories else {
      return note(.invalid, "category", "must be at most \(PointQuery.maximumCategories) names")
    }
    for name in names where !lists.contains(name) { fingerprint.add(.category, name.text) }
    for name in excluded where !lists.contains(name) {
      fingerprint.add(.category) { hash in
        hash.combine(0)
        hash.combine(bytes: name.text.utf8)
      }
    }
    query.setCategories(names, without: excluded, in: tree)
  }

  private static func isCategory(_ name: Substring) -> Bool {
    !name.isEmpty && !name.utf8.contains(0) && name.unicodeScalars.count <= PointDraft.maximumCategoryLength
  }

  /// Returns the elements of a list, which commas separate. It is split at bytes: a comma with a combining mark behind
  /// it is one character and still a comma.
  package static func list(_ text: String) -> [Substring] {
    text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { Substring($0) }
  }

  /// Returns the maximum number of places of a page.
  package mutating func limit(
    in range: ClosedRange<Int> = PointQuery.limits, default fallback: Int = PointQuery.defaultLimit
  ) -> Int {
    integer(.limit, in: range) ?? fallback
  }

  /// Returns the maximum number of elements; a number above the accepted maximum counts as that maximum.
  package mutating func limit(atMost greatest: Int, default fallback: Int) -> Int {
    guard let text = self[.limit] else { return fallback }
    guard let number = Int(digits: text), number > 0 else {
      note(.invalid, "limit", "must be a positive integer, got \(quoted(text))")
      return fallback
    }
    return min(number, greatest)
  }

  /// Returns the value of a parameter that is an integer, as digits alone; `nil` if it is not given or invalid.
  package mutating func integer(_ parameter: Parameter, in range: ClosedRange<Int>) -> Int? {
    guard let text = self[parameter] else { return nil }
    if let number = Int(digits: text), range.contains(number) {
      fingerprint.add(parameter, number: Double(number))
      return number
    }
    note(
      .invalid, parameter.name,
      "must be an integer from \(range.lowerBound) to \(range.upperBound), got \(quoted(text))")
    return nil
  }

  /// Returns the position at which the previous page ended; `nil` for the first page, or where the cursor is invalid.
  ///
  /// - Parameter query: the query; of a cursor with the time of the first page it gets that.
  package mutating func position(in query: inout PointQuery) -> PointQuery.Position? {
    position { [fingerprint] in Cursor.position(from: $0, in: &query, of: fingerprint) }
  }

  /// Returns the position of the cursor; `nil` if it is not given or invalid, and after another violation: without
  /// the invalid value, the query differs from that of the cursor.
  package mutating func position<Position>(_ decode: (String) -> Position?) -> Position? {
    guard let text = self[.cursor], areValid else { return nil }
    let position = decode(text)
    if position == nil {
      note(.invalid, "cursor", "must be taken from a Link header, with the other parameters as they are there")
    }
    return position
  }

  /// Returns the fields of the places.
  ///
  /// - Parameter additional: the fields that this call has beside those of every place.
  mutating func fields(default fallback: FieldSet = .standard, additional: FieldSet = []) -> FieldSet {
    guard let text = self[.fields] else { return fallback }
    let available = FieldSet.all.union([.attribution, additional])
    var fields: FieldSet = []
    for name in Self.list(text) where !hasAllErrors {
      if let field = FieldSet(name: name), available.isSuperset(of: field) {
        fields.formUnion(field)
      } else {
        let names = available.fields.map(\.name).joined(separator: ", ")
        note(.invalid, "fields", "must be names out of \(names), or *, got \(quoted(String(name)))")
      }
    }
    return fields
  }

  /// Returns the ids of `ids` in their order, each once; empty where they are not given or invalid.
  ///
  /// - Throws: `Problem` 400 where there are parameters of another order beside them.
  mutating func ids() throws(Problem) -> [PointID] {
    guard let text = self[.ids] else { return [] }
    for parameter in [Parameter.latitude, .longitude, .radius, .route, .text, .autocomplete, .sort]
    where has(parameter) { note(.invalid, name(of: parameter), "must not be given if ids is given") }
    try check()
    let names = Self.list(text)
    guard names.count <= PointQuery.maximumIDs else {
      note(.invalid, "ids", "must be 1 to \(PointQuery.maximumIDs) ids separated by commas, got \(names.count)")
      return []
    }
    var ids: [PointID] = []
    for name in names where !hasAllErrors {
      if let id = PointID(String(name)) {
        if !ids.contains(id) { ids.append(id) }
      } else {
        note(.invalid, "ids", "must be UUIDs separated by commas, got \(quoted(String(name)))")
      }
    }
    fingerprint.add(.ids) { hash in
      for id in ids {
        hash.combine(id.high)
        hash.combine(id.low)
      }
    }
    return ids
  }

  /// Returns the languages of `lang`; `nil` if it is not given or invalid.
  package mutating func languages() -> LanguagePriorityList? {
    guard let text = self[.languages] else { return nil }
    if let languages = LanguagePriorityList(Self.list(text)) { return languages }
    let most = LanguagePriorityList.maximumCount
    note(
      .invalid, "lang",
      "must be 1 to \(most) language tags such as ko or zh-Hant, separated by commas, got \(quoted(text))")
    return nil
  }

  /// Returns the case of an enumeration whose raw value is given.
  package mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ parameter: Parameter, default fallback: Choice
  ) -> Choice {
    guard let text = self[parameter] else { return fallback }
    if let choice = Choice(rawValue: text) {
      if !text.hasSameBytes(as: fallback.rawValue) { fingerprint.add(parameter, text) }
      return choice
    }
    let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    note(.invalid, parameter.name, "must be one of \(names), got \(quoted(text))")
    return fallback
  }

  /// Returns the value of a Boolean parameter, `false` if it is not given.
  package mutating func flag(_ parameter: Parameter) -> Bool {
    switch self[parameter] {
    case nil, "false": return false
    case "true":
      fingerprint.add(parameter, number: 1)
      return true
    case let text?:
      note(.invalid, parameter.name, "must be true or false, got \(quoted(text))")
      return false
    }
  }

  /// Returns the value of a parameter that is a number; `nil` if it is not given or invalid.
  ///
  /// - Parameter words: the range in words; `nil` for its bounds, which are integers.
  package mutating func number(_ parameter: Parameter, in range: ClosedRange<Double>, _ words: String? = nil) -> Double?
  {
    guard let text = self[parameter] else { return nil }
    if let number = Self.number(text), range.contains(number) {
      fingerprint.add(parameter, number: number)
      return number
    }
    let words = words ?? "from \(Int(range.lowerBound)) to \(Int(range.upperBound))"
    note(.invalid, name(of: parameter), "must be a number \(words), got \(quoted(text))")
    return nil
  }

  /// Returns a finite number; `nil` for another text.
  package static func number(_ text: Substring) -> Double? { number(String(text)) }

  /// Returns a finite number; `nil` for another text.
  package static func number(_ text: String) -> Double? {
    var text = text
    guard let number = text.withUTF8({ DecimalText.value(of: $0) }), number.isFinite else { return nil }
    return number
  }

  package func quoted(_ text: String) -> String { "'\(text.prefix(50))'" }
}

/// The parameters of positions, boxes, categories and sources.
extension Parameter {
  package static let latitude = Parameter("lat", .number, order: 10) {
    .init(
      "Latitude of the position in degrees (WGS 84). Given together with `long`.",
      Schema(.number, nil, ["minimum": -90, "maximum": 90], example: 37.3293))
  }

  package static let longitude = Parameter("long", .number, order: 20) {
    .init(
      "Longitude of the position in degrees (WGS 84). The names `lon` and `lng` are accepted too.",
      Schema(.number, nil, ["minimum": -180, "maximum": 180], example: -121.8893))
  }

  package static let radius = Parameter("radius", .number, order: 30) {
    .init(
      "Maximum distance from the position or the route in metres along the ellipsoid, inclusive. Needs `lat` and"
        + " `long`, or `route`.",
      Schema(.number, nil, ["minimum": 0], example: 1500))
  }

  package static let category = Parameter("category", .values, order: 40) {
    .init(
      "Only places of these categories, separated by commas or as repeated parameters. A category of the tree stands"
        + " for those below it too; one with an exclamation mark before it is left out.",
      Schema(
        .array(
          of: Schema(
            .string, nil,
            [
              "minLength": 1, "maxLength": .count(PointDraft.maximumCategoryLength),
              "pattern": "^(?!!$)[^,\\u0000]+$",
            ])),
        nil, ["minItems": 1], example: ["museum", "theatre"]),
      isRepeatable: true)
  }

  package static let box = Parameter("bbox", .numbers, order: 50) {
    .init(
      "Only places in the box: west, south, east, north in degrees. West may be greater than east, across the"
        + " antimeridian; south must not be greater than north.",
      Schema(
        .array(of: Schema(.number, nil, ["minimum": -180, "maximum": 180])), nil, ["minItems": 4, "maxItems": 4],
        example: [-122.5, 37.2, -121.5, 37.9]))
  }

  package static let source = Parameter("source", order: 100) {
    .init("Name of the data set that the places come from.", .origin(example: "waymark-sample"))
  }

  static let sourceID = Parameter("sourceId", order: 110) {
    .init("Id of the place in its data set. Needs `source`.", .origin(example: "howrah-bridge"))
  }

  package static let since = Parameter("since", order: 120) {
    .init(
      "Position after which changes are returned: `position` of a response, or `Waymark-Position` of an export.",
      Schema(.string, nil, ["minLength": 1], example: "2bv0aw9dz0.1k3.1k3"))
  }
}

/// The parameters of pages and of the representation of places.
extension Parameter {
  package static let limit = Parameter("limit", .integer, order: 60, mayDifferBetweenPages: true) {
    .init(
      "Maximum number of places of a page.",
      Schema(
        .integer, nil,
        [
          "minimum": .count(PointQuery.limits.lowerBound), "maximum": .count(PointQuery.limits.upperBound),
          "default": .count(PointQuery.defaultLimit),
        ]))
  }

  package static let cursor = Parameter("cursor", order: 70, mayDifferBetweenPages: true) {
    .init(
      "Position of the next page, opaque: taken from a `Link` of relation `next`, together with the other"
        + " parameters.",
      Schema(.string, nil, ["minLength": 1]))
  }

  package static let fields = Parameter("fields", .list, order: 80, mayDifferBetweenPages: true) {
    .init(
      "Fields of each place, separated by commas; `*` stands for all of a place's own.",
      .fields(additional: []))
  }

  package static let format = Parameter("f", order: 90, mayDifferBetweenPages: true) {
    .init(
      "Format of the response; it takes precedence over `Accept`.", .oneOf(PointFormat.responses.map(\.rawValue)))
  }

  package static let languages = Parameter("lang", .list, order: 130, mayDifferBetweenPages: true) {
    .init(
      "Preferred languages of the places' names (RFC 4647, look-up), separated by commas; a place without a name in"
        + " one of them keeps its own.",
      Schema(
        .array(of: Schema(.string, nil, ["pattern": "^(\\*|[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8}){0,7})$"])), nil,
        ["minItems": 1, "maxItems": .count(LanguagePriorityList.maximumCount)], example: ["ko", "en"]))
  }

  static let ids = Parameter("ids", .list, order: 290) {
    .init(
      "Only the places with these ids, separated by commas, in this order and each once; ids without a place are left"
        + " out. All of them are on one page, unless `limit` is given or their texts are longer than 4 MiB. Not together"
        + " with `lat` and `long`, `route` or `q`.",
      Schema(
        .array(of: Schema(.string, nil, ["format": "uuid"])), nil,
        ["minItems": 1, "maxItems": .count(PointQuery.maximumIDs)], example: [.string(Examples.id)]))
  }
}

extension ParameterDescription {
  /// The languages of the labels of categories.
  package static let labelLanguages = ParameterDescription(
    "Preferred languages of the labels of categories (RFC 4647, look-up), separated by commas; English without a label in"
      + " one of them.", Parameter.languages.description.schema)

  /// The format of a call that offers these.
  package static func format(_ formats: [PointFormat]) -> ParameterDescription {
    .init(Parameter.format.description.description, .oneOf(formats.map(\.rawValue)))
  }
}

/// The kind of a parameter's violation, by the code of its problem.
package enum ParameterProblem: String {
  case missing = "missing-parameter"
  case invalid = "invalid-parameter"
  case unknown = "unknown-parameter"
}

/// The violations of the rules of a request's parameters or members, up to ``Problem/maximumErrorCount``.
package struct Violations {
  package private(set) var errors: [ProblemError] = []

  /// The kind of the first one, which is the code of the problem.
  private var kind: ParameterProblem?

  package init() {}

  package var isEmpty: Bool { kind == nil }

  /// A Boolean value that indicates whether further ones change nothing.
  var areComplete: Bool { errors.count >= Problem.maximumErrorCount }

  package mutating func note(_ kind: ParameterProblem, _ error: ProblemError) {
    if isEmpty { self.kind = kind }
    if !areComplete { errors.append(error) }
  }

  /// Throws a problem where there are violations.
  package func check() throws(Problem) {
    if let kind { throw .badRequest(errors, code: kind) }
  }
}

extension Problem {
  /// The maximum number of errors that a problem names. A body may have a hundred thousand.
  static let maximumErrorCount = 100

  /// 400 with the violations of the parameters, up to ``maximumErrorCount``.
  package static func badRequest(_ violations: [ProblemError], code: ParameterProblem) -> Problem {
    let errors = Array(violations.prefix(maximumErrorCount))
    var details = errors.map { error in
      switch error.location {
      case .parameter(let name), .pointer(let name): "\(name) \(error.detail)"
      case .row(let number, _): "row \(number) \(error.detail)"
      }
    }
    if errors.count == maximumErrorCount { details.append("there may be more") }
    return Problem(.badRequest, code: code.rawValue, detail: details.joined(separator: "; "), errors: errors)
  }
}

extension Duration {
  /// Creates a duration from text in ISO 8601 in weeks, or in days, hours, minutes and seconds, such as `PT24H` or
  /// `P1DT12H`; `nil` if it is none.
  ///
  /// Years and months are rejected: they are not of one length. A number has five digits at most.
  package init?(iso8601 text: String) {
    guard
      let match = text.wholeMatch(
        of: /P(?:([0-9]{1,5})W|(?:([0-9]{1,5})D)?(?:T(?:([0-9]{1,5})H)?(?:([0-9]{1,5})M)?(?:([0-9]{1,5})S)?)?)/)
    else { return nil }
    let parts: [(Substring?, Int64)] = [
      (match.1, 7 * 86_400), (match.2, 86_400), (match.3, 3600), (match.4, 60), (match.5, 1),
    ]
    guard parts.contains(where: { $0.0 != nil }), text.last != "T" else { return nil }
    self = .seconds(parts.reduce(Int64(0)) { sum, part in sum + (part.0.flatMap { Int64($0) } ?? 0) * part.1 })
  }
}

extension ParameterValues {
  /// Creates the values of a JSON object whose members have the names of parameters, and those of a query beside it.
  /// Unknown members, and those that are in the query too, are violations.
  ///
  /// - Throws: `Problem` 400 when the query is not percent-encoded UTF-8, or the value is no object.
  init(
    _ body: JSONValue, beside request: HTTPRequest, allowing allowed: [Parameter], inQuery: [Parameter]
  ) throws(Problem) {
    try self.init(request, allowing: inQuery)
    try take(body, allowing: allowed)
  }

  /// Creates the values of a JSON object whose members have the names of parameters.
  ///
  /// - Throws: `Problem` 400 for a value that is not an object.
  package init(_ body: JSONValue, allowing allowed: [Parameter]) throws(Problem) {
    try take(body, allowing: allowed)
  }

  /// Takes the members of a body.
  private mutating func take(_ body: JSONValue, allowing allowed: [Parameter]) throws(Problem) {
    guard case .object(let members) = body else {
      throw Problem(.badRequest, code: "malformed-body", detail: "the body must be a JSON object")
    }
    self.body = Body(
      namesInQuery: Set(texts.map { ExactText($0.key.name) } + violations.errors.compactMap(\.parameterName)))
    for member in members where !hasAllErrors {
      var name = member.name
      if let key = name.withUTF8({ allowed.key(named: $0) }) {
        if isGiven(key) {
          self.body?.namesInQuery.remove(ExactText(name))
          note(.invalid, name, "must not be repeated")
        } else {
          name.withUTF8 { setName(of: key, to: $0) }
          take(member.value, as: key)
        }
      } else if Queryables.tagKey(ofProperty: member.name) != nil {
        guard let values = member.value.texts else {
          note(.invalid, member.name, "must be a string, a number, a boolean, or an array of these")
          continue
        }
        guard conditions.count + values.count <= PointQuery.maximumConditions else {
          note(
            .invalid, String(member.name.prefix(100)),
            "must not have more than \(PointQuery.maximumConditions) values together with the other conditions")
          break
        }
        for value in values { addCondition(onProperty: member.name, value) }
      } else {
        let names = allowed.map(\.name).joined(separator: ", ")
        note(.unknown, String(member.name.prefix(100)), "is not a member of the body; its members are \(names)")
      }
    }
  }

  /// Takes the value of a member of a body.
  private mutating func take(_ value: JSONValue, as key: Parameter.Key) {
    switch (key.form, value) {
    case (.filter, .object), (.filter, .bool), (.shape, .object):
      body?.objects[key] = value
      givenBits |= key.bit
    case (.number, .number(let text)): set(key, to: text)
    case (.integer, .number(let text)):
      // A number with a fraction of zero is an integer (JSON Schema 2020-12, section 6.1.1).
      set(key, to: Double(text).flatMap { Int(exactly: $0) }.map { "\($0)" } ?? text)
    case (.flag, .bool(let isSet)): set(key, to: isSet ? "true" : "false")
    case (.values, _):
      guard let elements = value.strings, !elements.isEmpty else {
        return noteType(key, "a string or an array of strings")
      }
      for element in elements { append(element, .element, to: key) }
    case (.list, _):
      guard let elements = value.strings, !elements.isEmpty else {
        return noteType(key, "a string or an array of strings")
      }
      set(key, to: elements.joined(separator: ","))
    case (.numbers, .array(let edges)):
      // One more than a box has is enough for the error.
      let edges = edges.prefix(5)
      guard edges.allSatisfy(\.isNumber) else { return noteType(key, "an array of numbers") }
      set(key, to: edges.compactMap { $0.texts?.first }.joined(separator: ","))
    case (.text, .string(let text)), (.filter, .string(let text)), (.shape, .string(let text)):
      set(key, to: text)
    case (.number, _), (.integer, _): noteType(key, "a number")
    case (.flag, _): noteType(key, "true or false")
    case (.numbers, _): noteType(key, "an array of numbers")
    case (.filter, _), (.shape, _): noteType(key, "a string or an object")
    case (.text, _): noteType(key, "a string")
    }
  }
}

extension JSONValue {
  fileprivate var isNumber: Bool {
    if case .number = self { true } else { false }
  }

  /// The texts of a string, a number or a Boolean value, or of an array of these; `nil` for any other value.
  package var texts: [String]? {
    let texts = texts { value in
      switch value {
      case .string(let text), .number(let text): text
      case .bool(let isSet): isSet ? "true" : "false"
      case .array, .null, .object: nil
      }
    }
    return texts?.isEmpty == true ? nil : texts
  }
}

extension ProblemError {
  /// The name of the parameter that is invalid; `nil` for another location.
  fileprivate var parameterName: ExactText? {
    guard case .parameter(let name) = location else { return nil }
    return ExactText(name)
  }
}

extension FilterError {
  /// The JSON pointer to the part that is invalid, empty for the whole.
  var pointer: String {
    guard case .pointer(let pointer) = position else { return "" }
    return pointer
  }
}

extension Parameter {
  package static let filter = Parameter("filter", .filter, order: 170) {
    .init(
      "Condition on any property, tags included, in the Common Query Language (CQL2, OGC 21-065).",
      Schema(.string, nil, ["minLength": 1], example: "category = 'museum' AND name LIKE 'The %'"))
  }

  package static let filterLanguage = Parameter("filter-lang", order: 180) {
    .init(
      "Encoding of `filter`: `cql2-text` without it, of which `cql-text` is the former name. Needs `filter`.",
      .oneOf(FilterLanguage.allCases.map(\.rawValue)))
  }

  static let status = Parameter("status", order: 270) {
    .init(
      "`operating` leaves out the places whose tags say that they are closed, for a time or for good; `any` without"
        + " it.",
      .statusFilter)
  }
}

extension ParameterValues {
  /// Returns the query of the parameters that filter changes.
  package mutating func changeFilters(by filtering: Filtering) -> PointQuery {
    if has(.latitude) || has(.longitude), !has(.radius) {
      note(.missing, Parameter.radius.name, "must be given if lat and long are given")
    }
    return filters(by: filtering)
  }

  /// Returns the query of the parameters that filter places.
  package mutating func filters(by filtering: Filtering) -> PointQuery {
    var query = PointQuery()
    setFilters(of: &query, by: filtering)
    return query
  }

  /// The bits of the parameters that filter places by more than a position, which most requests do not have.
  private static let bitsOfConditions = ([Parameter].filters + [Parameter].opening)
    .subtracting([.latitude, .longitude, .radius]).reduce(0) { $0 | $1.key.bit }

  /// Sets the conditions of a query to those of the parameters that filter places, in place: a copy of a query counts
  /// many references.
  mutating func setFilters(of query: inout PointQuery, by filtering: Filtering) {
    query.timeLimit = filtering.timeLimit
    let center = has(.route) ? nil : coordinate(requiredFor: has(.radius) ? "radius" : nil)
    let radius = self.radius()
    query.route = route(radius: radius)
    query.proximity = center.map { .init(center: $0, radiusMetres: radius) }
    guard givenBits & Self.bitsOfConditions != 0 || !conditions.isEmpty else { return }
    query.box = box()
    setCategories(of: &query, in: filtering.categories)
    query.source = source()
    query.filter = filter(by: filtering)
    let named = namedArea(near: center)
    query.area = area() ?? named
    query.opening = opening(by: filtering)
  }

  /// Returns a Boolean value that indicates whether there is exactly one condition on a property.
  package func hasOneCondition(onProperty property: PointField) -> Bool {
    conditions.count { $0.property.hasSameBytes(as: property.name) } == 1
  }

  /// Removes the conditions on a property and returns their values; `nil` if there are none.
  package mutating func takeConditions(onProperty property: PointField) -> [String]? {
    let values = conditions.filter { $0.property.hasSameBytes(as: property.name) }.map(\.value)
    conditions.removeAll { $0.property.hasSameBytes(as: property.name) }
    return values.isEmpty ? nil : values
  }

  /// The values of each property's conditions, in the order in which the properties first appear.
  private var valuesOfConditions: [(property: String, values: [String])] {
    var indexes: [ExactText: Int] = [:]
    var properties: [(property: String, values: [String])] = []
    for (property, value) in conditions {
      if let index = indexes[ExactText(property)] {
        properties[index].values.append(value)
      } else {
        indexes[ExactText(property)] = properties.count
        properties.append((property, [value]))
      }
    }
    return properties
  }

  /// Returns the condition of `filter` and of the properties; `nil` if there is none or one is invalid.
  ///
  /// - Parameters:
  ///   - others: further conditions.
  ///   - convert: returns the expression of `filter` as it is evaluated.
  package mutating func filter(
    by filtering: Filtering, and others: [FilterExpression] = [],
    _ convert: (FilterExpression) -> FilterExpression = { $0 }
  ) -> PropertyFilter? {
    guard has(.filter) || has(.filterLanguage) || has(.status) || !conditions.isEmpty || !others.isEmpty else {
      return nil
    }
    let errorCount = violations.errors.count
    let language = choice(.filterLanguage, default: object(.filter) == nil ? FilterLanguage.text : .json)
    let hasLanguage = violations.errors.count == errorCount && !isMistyped(.filterLanguage)
    if object(.filter) != nil, hasLanguage, language != .json {
      note(.invalid, Parameter.filterLanguage.name, "must be \(FilterLanguage.json.rawValue) if filter is an object")
    }
    if has(.filterLanguage), !has(.filter) {
      note(.missing, Parameter.filter.name, "must be given if \(Parameter.filterLanguage.name) is given")
    }
    var expressions = others
    if choice(.status, default: StatusFilter.any) == .operating {
      let status = FilterExpression.property(ExactText(PointField.operatingStatus.name))
      let operating = FilterExpression.string(ExactText(OperatingStatus.operating.rawValue))
      expressions.append(.operation(.equal, [status, operating]))
    }
    guard has(.filter) || !conditions.isEmpty || !expressions.isEmpty else { return nil }
    do {
      if let object = object(.filter) {
        fingerprint.add(.filter, json: object)
        expressions.append(convert(try FilterExpression(json: object)))
      } else if let text = self[.filter], hasLanguage {
        fingerprint.add(.filter, text)
        let expression = try language.expression(of: text)
        expressions.append(convert(language == .formerText ? filtering.readingTimes(expression) : expression))
      }
    } catch {
      note(
        .invalid, Parameter.filter.name, "is not a filter in \(language.rawValue), \(error)", pointer: error.pointer)
    }
    for (name, values) in valuesOfConditions where !hasAllErrors {
      do {
        expressions.append(try filtering.condition(onProperty: name, values))
      } catch {
        note(.invalid, name, error.reason)
      }
    }
    guard let condition = FilterExpression(allOf: expressions) else { return nil }
    do {
      return try filtering.filter(condition)
    } catch {
      note(.invalid, Parameter.filter.name, "cannot be evaluated: \(error)")
      return nil
    }
  }
}

extension ParameterValues {
  /// The number of bytes of filters up to which they are compiled on the event loop.
  static let shortFilterBytes = 256

  /// Returns a Boolean value that indicates whether compiling the conditions may take longer than a millisecond: those
  /// with a shape, whose edges are divided, and filters that are long or are joined to another one.
  func haveLongConditions(areJoined: Bool) -> Bool {
    // By index: a copy of each text would be counted.
    var bytes = 0
    for index in texts.indices {
      let key = texts[index].key
      if key.form == .shape { return true }
      if key.form == .filter || key == Parameter.status.key { bytes += texts[index].text.utf8.count }
    }
    for index in conditions.indices {
      bytes += conditions[index].property.utf8.count + conditions[index].value.utf8.count
    }
    return bytes > (areJoined ? 0 : Self.shortFilterBytes)
  }
}

extension HTTPRequest {
  /// Returns the arguments that a closure makes of parameters: on the event loop, or beside it if compiling their
  /// conditions may take longer than a millisecond.
  ///
  /// - Parameter areJoined: a Boolean value that indicates whether the filters are joined to another one.
  @inline(__always)
  package func compiling<Arguments>(
    _ values: ParameterValues, areJoined: Bool = false, _ arguments: () throws(Problem) -> Arguments
  ) async throws(Problem) -> Arguments {
    values.haveLongConditions(areJoined: areJoined) ? try await computing(arguments) : try arguments()
  }
}

extension Parameter {
  static let within = Parameter("within", .shape, order: 220) {
    .init(
      "Only places in a polygon or a multipolygon, in WKT or GeoJSON: longitude before latitude, holes after the outer"
        + " ring. Edges are geodesics; the interior of a ring is the smaller part of the earth.",
      Schema(
        .string, nil, ["minLength": 1], example: "POLYGON((16.3 48.1, 16.5 48.1, 16.4 48.3, 16.3 48.1))"))
  }

  package static let area = Parameter("in", order: 280) {
    .init(
      "Only places in a named area: its id, or a name in any language. Of several areas of the name the nearest to the"
        + " position counts, and then the most important. Not together with `within`.",
      Schema(.string, nil, ["minLength": 1, "maxLength": .count(PointDraft.maximumNameLength)], example: "Vienna"))
  }

  package static let route = Parameter("route", .shape, order: 230) {
    .init(
      "Only places within `radius`, at most 1,000 km, of a line: an encoded polyline of precision 5, or a line string"
        + " in WKT or GeoJSON. They are in the order along it. Not together with `lat` and `long`.",
      Schema(.string, nil, ["minLength": 1], example: "LINESTRING(16.3 48.1, 16.5 48.2)"))
  }
}

extension ParameterValues {
  /// Returns the area of `within`; `nil` if it is not given or invalid.
  mutating func area() -> GeodesicArea? {
    guard has(.within), !isMistyped(.within) else { return nil }
    do {
      return try GeodesicArea(geometry(of: .within))
    } catch {
      note(
        .invalid, Parameter.within.name, "must be a polygon or a multipolygon in WKT or GeoJSON, \(error)",
        pointer: error.pointer)
      return nil
    }
  }

  /// Returns the route of `route` with its radius; `nil` if it is not given or something is invalid.
  mutating func route(radius: Double?) -> PointQuery.Route? {
    guard has(.route) else { return nil }
    for parameter in [Parameter.latitude, .longitude] where has(parameter) {
      note(.invalid, name(of: parameter), "must not be given if route is given")
    }
    let greatest = GeodesicRoute.maximumRadiusMetres
    if !has(.radius) { note(.missing, Parameter.radius.name, "must be given if route is given") }
    if let radius, radius > greatest {
      note(.invalid, Parameter.radius.name, "must be at most \(Int(greatest)) metres if route is given")
    }
    guard !isMistyped(.route) else { return nil }
    do {
      let line = try lineOfRoute()
      guard let radius, radius <= greatest else { return nil }
      return PointQuery.Route(line, radiusMetres: radius)
    } catch {
      note(
        .invalid, Parameter.route.name,
        "must be an encoded polyline of precision 5, or a line string in WKT or GeoJSON, \(error)",
        pointer: error.pointer)
      return nil
    }
  }

  private mutating func lineOfRoute() throws(FilterError) -> GeodesicRoute {
    if let object = object(.route) {
      fingerprint.add(.route, json: object)
      return try GeodesicRoute(FilterGeometry(geoJSON: object))
    }
    let text = self[.route] ?? ""
    fingerprint.add(.route, text)
    return try GeodesicRoute(text: text)
  }

  private func geometry(of parameter: Parameter) throws(FilterError) -> FilterGeometry {
    if let object = object(parameter) { return try FilterGeometry(geoJSON: object) }
    return try FilterGeometry(text: self[parameter] ?? "")
  }
}

extension Parameter {
  package static let open = Parameter("open", order: 240) {
    .init(
      "Only places that are open at a time, by their tag `opening_hours`: `now`; a local time of each place, such as"
        + " `2026-11-23T19:00`; or a time with an offset. The later pages of `now` are of the time of the first.",
      Schema(
        .string, nil,
        [
          "pattern":
            "^(now|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)$"
        ],
        example: "now"))
  }

  static let openUnknown = Parameter("openUnknown", order: 250) {
    .init(
      "Whether `open` has the places of which it is unknown too: without hours, or with hours that cannot be parsed"
        + " or depend on what is unknown; `exclude` without it. Needs `open`.",
      .unknownHours)
  }
}

extension ParameterValues {
  /// Returns the condition of `open`; `nil` if it is not given or invalid.
  mutating func opening(by filtering: Filtering) -> PointQuery.Opening? {
    guard has(.open) || has(.openUnknown) else { return nil }
    let unknown = choice(.openUnknown, default: UnknownHours.exclude)
    if has(.openUnknown), !has(.open) { note(.missing, Parameter.open.name, "must be given if openUnknown is given") }
    guard let text = self[.open] else { return nil }
    guard let (time, isNow) = Self.openingTime(text, now: filtering.clock.now()) else {
      let years = PointQuery.Opening.years
      note(
        .invalid, Parameter.open.name,
        "must be now, a local time such as 2026-11-23T19:00, or a time with an offset, from \(years.lowerBound) to "
          + "\(years.upperBound), got \(quoted(text))")
      return nil
    }
    fingerprint.add(.open) { hash in
      switch time {
      case _ where isNow: hash.combine(0)
      case .instant(let minutes): hash.combine(UInt64(minutes) << 1)
      case .local(let minutes): hash.combine(UInt64(minutes) << 1 | 1)
      }
    }
    return PointQuery.Opening(at: time, isNow: isNow, includesUnknown: unknown == .include)
  }

  /// Returns the time of a value of `open`, and whether it is the present; `nil` for any other text.
  private static func openingTime(
    _ text: String, now: Timestamp
  ) -> (time: PointQuery.Opening.Time, isNow: Bool)? {
    if text.hasSameBytes(as: "now") { return (.now(now), true) }
    guard
      // A plus sign that is not percent-encoded is a space.
      let match = text.wholeMatch(
        of: /([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2})(:[0-9]{2}(?:\.[0-9]{1,9})?)?(Z|[+\- ][0-9]{2}:[0-9]{2})?/)
    else { return nil }
    let offset = match.3.map { $0.first == " " ? "+" + $0.dropFirst() : $0 }
    guard let time = RFC3339.microsecondsSinceEpoch(of: match.1 + (match.2 ?? ":00") + (offset ?? "Z")) else {
      return nil
    }
    let minutes = Timestamp(microsecondsSinceEpoch: time).minutesSinceEpoch
    let years = PointQuery.Opening.years
    guard
      years.contains(CivilDate(daysSinceEpoch: Int(minutes / 1_440)).year), minutes >= 0
    else { return nil }
    return (offset == nil ? .local(minutes: Int32(minutes)) : .instant(minutes: Int32(minutes)), false)
  }
}

/// The values of `status`.
enum StatusFilter: String, CaseIterable {
  case operating, any
}

/// The values of `openUnknown`.
enum UnknownHours: String, CaseIterable {
  case exclude, include
}

extension PointQuery.Opening.Time {
  /// Returns the minute of a time.
  static func now(_ now: Timestamp) -> PointQuery.Opening.Time {
    .instant(minutes: Int32(clamping: max(0, now.minutesSinceEpoch)))
  }
}

extension Int {
  /// Creates the number of decimal digits, or the greatest representable one for a number beyond it; `nil` for another
  /// text.
  package init?(digits text: String) {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
    self = Int(text) ?? .max
  }
}

extension Schema {
  fileprivate static let statusFilter = enumeration(StatusFilter.allCases.map(\.rawValue))
    .named("StatusFilter", order: 860)

  fileprivate static let unknownHours = enumeration(UnknownHours.allCases.map(\.rawValue))
    .named("UnknownHours", order: 850)
}
