import CQL2
import Geo
import HTTPServer
import Basics
import JSONText
import NIOHTTP1
import PointFormats
import Points

/// The parameters of a request. Their violations are collected, so that one problem names them all.
struct ParameterValues {
  /// The values of the parameters that are given, of which there are few.
  private var texts: [(parameter: Parameter, text: String)] = []

  private var categoryLists: [QueryParameters.Parameter] = []

  /// The conditions on properties, each by the property's name and one value that it may have.
  var conditions: [(property: String, value: String)] = []

  /// The values of a body that are objects, by their parameters.
  var objects: [Parameter: JSONValue] = [:]

  /// The categories of a body, which commas do not separate.
  var categoryNames: [String] = []

  /// The names of the parameters of the query beside a body; `nil` where there is no body.
  var namesBesideBody: Set<ExactText>?

  /// The name by which the longitude was sent, which has three.
  private(set) var longitudeName = Parameter.longitude.name

  /// The parameters whose values are of the wrong type. They count as given, and have no further violations.
  private var mistyped: Set<Parameter> = []

  private(set) var errors: [ProblemError] = []
  private var code: ParameterProblem?

  /// A Boolean value that indicates whether further violations change nothing.
  var hasAllErrors: Bool { errors.count >= Problem.maximumErrorCount }

  /// Creates the values of a request's query. Unknown and repeated parameters are violations, except that the elements
  /// of a list may come in several parameters.
  ///
  /// - Parameter properties: the names of properties that are parameters of the call, and take precedence over others.
  /// - Throws: `Problem` 400 when the query is not percent-encoded UTF-8.
  init(
    _ request: HTTPRequest, allowing allowed: Set<Parameter>, properties: [String] = []
  ) throws(Problem) {
    let pairs = try QueryParameters(request.query).all
    texts.reserveCapacity(pairs.count)
    for pair in pairs {
      if properties.contains(where: { $0.hasSameBytes(as: pair.name) }) {
        conditions.append((pair.name, pair.value))
        continue
      }
      guard let parameter = Parameter(name: pair.name), allowed.contains(parameter) else {
        if allowed.contains(.filter), Queryables.tagKey(ofProperty: pair.name) != nil {
          conditions.append((pair.name, pair.value))
          continue
        }
        let names = Parameter.allCases.filter { allowed.contains($0) }.map(\.name).joined(separator: ", ")
        let known = allowed.isEmpty ? "it has none" : "its parameters are \(names)"
        note(.unknown, String(pair.name.prefix(100)), "is not a parameter of this call; \(known)")
        continue
      }
      setName(of: parameter, to: pair.name)
      if parameter == .category {
        categoryLists.append(pair)
      } else if let index = texts.firstIndex(where: { $0.parameter == parameter }) {
        if parameter.isList {
          texts[index].text += "," + pair.value
        } else {
          note(.invalid, name(of: parameter), "must not be repeated")
        }
      } else {
        set(parameter, to: pair.value)
      }
    }
  }

  func has(_ parameter: Parameter) -> Bool {
    self[parameter] != nil || object(parameter) != nil || !mistyped.isEmpty && mistyped.contains(parameter)
  }

  /// Returns the name by which a parameter was sent, or else its own.
  func name(of parameter: Parameter) -> String { parameter == .longitude ? longitudeName : parameter.name }

  /// Sets the name by which a parameter was sent.
  mutating func setName(of parameter: Parameter, to name: String) {
    if parameter == .longitude { longitudeName = name }
  }

  /// Adds the violation of a value that is of the wrong type.
  mutating func noteType(_ parameter: Parameter, _ type: String) {
    note(.invalid, name(of: parameter), "must be \(type)")
    mistyped.insert(parameter)
  }

  /// Returns a Boolean value that indicates whether the value of a parameter is of the wrong type.
  func isMistyped(_ parameter: Parameter) -> Bool { mistyped.contains(parameter) }

  /// Returns the value that is an object in a body.
  func object(_ parameter: Parameter) -> JSONValue? { objects.isEmpty ? nil : objects[parameter] }

  subscript(parameter: Parameter) -> String? { texts.first { $0.parameter == parameter }?.text }

  /// Sets the value of a parameter that has none.
  mutating func set(_ parameter: Parameter, to text: String) { texts.append((parameter, text)) }

  /// Adds a violation, up to `Problem.maximumErrorCount`.
  ///
  /// - Parameter pointer: a JSON pointer to the part of the value, where that is in a body.
  mutating func note(_ kind: ParameterProblem, _ name: String, _ detail: String, pointer: String = "") {
    if code == nil { code = kind }
    guard !hasAllErrors else { return }
    guard let namesBesideBody, !namesBesideBody.contains(ExactText(name)) else {
      errors.append(ProblemError(.parameter(name), detail))
      return
    }
    errors.append(ProblemError(.pointer("/\(JSONPointer.escape(name))\(pointer)"), detail))
  }

  /// Throws a problem where there are violations.
  func check() throws(Problem) {
    guard let code else { return }
    throw .badRequest(errors, code: code)
  }

  // MARK: Values

  /// Returns the coordinate of `lat` and `long`; `nil` where neither is given or one is invalid.
  ///
  /// - Parameter purpose: the purpose for which it is required; `nil` where it is optional.
  mutating func coordinate(requiredFor purpose: String? = nil) -> Coordinate? {
    for (parameter, other) in [(Parameter.latitude, Parameter.longitude), (.longitude, .latitude)] where !has(parameter)
    {
      if has(other) {
        note(.missing, parameter.name, "must be given where \(name(of: other)) is")
      } else if let purpose {
        note(.missing, parameter.name, "must be given for \(purpose)")
      }
    }
    let latitude = number(.latitude, in: Coordinate.latitudes, "from -90 to 90")
    let longitude = number(.longitude, in: Coordinate.longitudes, "from -180 to 180")
    guard let latitude, let longitude else { return nil }
    return try? Coordinate(latitude: latitude, longitude: longitude)
  }

  /// Returns the radius in metres; `nil` where it is not given or invalid.
  mutating func radius() -> Double? {
    number(.radius, in: 0...Double.greatestFiniteMagnitude, "of metres, 0 or more")
  }

  /// Returns the box; `nil` where it is not given or invalid.
  mutating func box() -> BoundingBox? {
    guard let text = self[.box] else { return nil }
    let edges = Self.list(text).map { Self.number($0) }
    guard edges.count == 4, let west = edges[0], let south = edges[1], let east = edges[2], let north = edges[3] else {
      note(.invalid, "bbox", "must be four numbers, west,south,east,north in degrees, got \(quoted(text))")
      return nil
    }
    do {
      return try BoundingBox(west: west, south: south, east: east, north: north)
    } catch {
      note(.invalid, "bbox", "is not a valid box: \(error)")
      return nil
    }
  }

  /// Returns the source; `nil` where it is not given or invalid.
  mutating func source() -> PointQuery.Source? {
    let name = originText(.source)
    let sourceID = originText(.sourceID)
    if has(.sourceID), !has(.source) { note(.missing, Parameter.source.name, "must be given where sourceId is") }
    guard let name, has(.sourceID) == (sourceID != nil) else { return nil }
    return PointQuery.Source(name: name, sourceID: sourceID)
  }

  private mutating func originText(_ parameter: Parameter) -> String? {
    guard let text = self[parameter] else { return nil }
    let length = PointDraft.maximumOriginLength
    if !text.isEmpty, !text.utf8.contains(0), text.unicodeScalars.count <= length { return text }
    note(.invalid, parameter.name, "must have 1 to \(length) characters, got \(quoted(text))")
    return nil
  }

  /// Returns the categories of all `category` parameters together. A comma stands between two, encoded or not, and may
  /// be part of a name as well: where there is one, the whole is a category too.
  mutating func categories() -> Set<ExactText> {
    var categories: Set<ExactText> = []
    for name in categoryNames where !hasAllErrors {
      if Self.isCategory(name[...]) {
        categories.insert(ExactText(name))
      } else {
        let length = PointDraft.maximumCategoryLength
        note(.invalid, "category", "must be names of 1 to \(length) characters, got \(quoted(name))")
      }
    }
    for list in categoryLists {
      let names = Self.list(list.value)
      let isWhole = names.count > 1 && Self.isCategory(list.value[...])
      if isWhole { categories.insert(ExactText(list.value)) }
      // An element between two encoded commas may be empty: the name with the commas is searched for as a whole.
      let mayBeEmpty = isWhole && list.rawValue.utf8.contains(UInt8(ascii: "%"))
      for name in names where !(name.isEmpty && mayBeEmpty) && !hasAllErrors {
        if Self.isCategory(name) {
          categories.insert(ExactText(String(name)))
        } else {
          let length = PointDraft.maximumCategoryLength
          note(.invalid, "category", "must be names of 1 to \(length) characters, got \(quoted(String(name)))")
        }
      }
    }
    return categories
  }

  private static func isCategory(_ name: Substring) -> Bool {
    !name.isEmpty && !name.utf8.contains(0) && name.unicodeScalars.count <= PointDraft.maximumCategoryLength
  }

  /// Returns the elements of a list, which commas separate. It is split at bytes: a comma with a combining mark behind
  /// it is one character and still a comma.
  static func list(_ text: String) -> [Substring] {
    text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { Substring($0) }
  }

  /// Returns the maximum number of places of a page.
  mutating func limit(
    in range: ClosedRange<Int> = PointQuery.limits, default fallback: Int = PointQuery.defaultLimit
  ) -> Int {
    guard let text = self[.limit] else { return fallback }
    let isPlain = text.utf8.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    guard isPlain, let limit = Int(text), range.contains(limit) else {
      note(
        .invalid, "limit", "must be an integer from \(range.lowerBound) to \(range.upperBound), got \(quoted(text))")
      return fallback
    }
    return limit
  }

  /// Returns the position at which the previous page ended; `nil` for the first page, or where the cursor is invalid.
  mutating func position(in query: PointQuery) -> PointQuery.Position? {
    position { Cursor.position(from: $0, in: query) }
  }

  /// Returns the position of the cursor; `nil` where it is not given or invalid, and after another violation: a query
  /// that lacks what is invalid is another than the cursor's.
  mutating func position<Position>(_ decode: (String) -> Position?) -> Position? {
    guard let text = self[.cursor], errors.isEmpty else { return nil }
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
        let names = FieldSet.named.filter { available.contains($0.field) }.map(\.name).joined(separator: ", ")
        note(.invalid, "fields", "must be names out of \(names), or *, got \(quoted(String(name)))")
      }
    }
    return fields
  }

  /// Returns the languages of `lang`; `nil` where it is not given or invalid.
  mutating func languages() -> LanguagePriorityList? {
    guard let text = self[.languages] else { return nil }
    if let languages = LanguagePriorityList(Self.list(text)) { return languages }
    let most = LanguagePriorityList.maximumCount
    note(
      .invalid, "lang",
      "must be 1 to \(most) language tags such as ko or zh-Hant, with commas between, got \(quoted(text))")
    return nil
  }

  /// Returns the case of an enumeration whose raw value is given.
  mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ parameter: Parameter, default fallback: Choice
  ) -> Choice {
    guard let text = self[parameter] else { return fallback }
    if let choice = Choice(rawValue: text) { return choice }
    let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    note(.invalid, parameter.name, "must be one of \(names), got \(quoted(text))")
    return fallback
  }

  /// Returns the value of a Boolean parameter, `false` where it is not given.
  mutating func flag(_ parameter: Parameter) -> Bool {
    switch self[parameter] {
    case nil, "false": return false
    case "true": return true
    case let text?:
      note(.invalid, parameter.name, "must be true or false, got \(quoted(text))")
      return false
    }
  }

  private mutating func number(_ parameter: Parameter, in range: ClosedRange<Double>, _ words: String) -> Double? {
    guard let text = self[parameter] else { return nil }
    if let number = Self.number(text), range.contains(number) { return number }
    note(.invalid, name(of: parameter), "must be a number \(words), got \(quoted(text))")
    return nil
  }

  /// Returns a finite number; `nil` for another text.
  static func number(_ text: some StringProtocol) -> Double? {
    var text = String(text)
    guard let number = text.withUTF8({ DecimalText.value(of: $0) }), number.isFinite else { return nil }
    return number
  }

  private func quoted(_ text: String) -> String { "'\(text.prefix(50))'" }
}

/// The kind of a parameter's violation, by the code of its problem.
enum ParameterProblem: String {
  case missing = "missing-parameter"
  case invalid = "invalid-parameter"
  case unknown = "unknown-parameter"
}

extension Problem {
  /// The maximum number of errors that a problem names. A body may have a hundred thousand.
  static let maximumErrorCount = 100

  /// 400 with the violations of the parameters, up to ``maximumErrorCount``.
  static func badRequest(_ violations: [ProblemError], code: ParameterProblem) -> Problem {
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
  /// `P1DT12H`; `nil` where it is none.
  ///
  /// Years and months are rejected: they are not of one length. A number has five digits at most.
  init?(iso8601 text: String) {
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
