import CQL2
import HTTPServer
import Basics
import JSONText
import NIOHTTP1
import Points

extension ParameterValues {
  /// Creates the values of a JSON object whose members have the names of parameters, and those of a query beside it.
  /// Unknown members, and those that are in the query too, are violations.
  ///
  /// - Throws: `Problem` 400 when the query is not percent-encoded UTF-8, or the value is no object.
  init(
    _ body: JSONValue, beside request: HTTPRequest, allowing allowed: Set<Parameter>, inQuery: Set<Parameter>
  ) throws(Problem) {
    try self.init(request, allowing: inQuery)
    guard case .object(let members) = body else {
      throw Problem(.badRequest, code: "malformed-body", detail: "the body must be a JSON object")
    }
    let former = Parameter.allCases.filter { has($0) }
    namesBesideBody = Set(former.map { ExactText($0.name) } + errors.compactMap(\.parameterName))
    for member in members where !hasAllErrors {
      if let parameter = Parameter(name: member.name), allowed.contains(parameter) {
        if has(parameter) {
          namesBesideBody?.remove(ExactText(member.name))
          note(.invalid, member.name, "must not be repeated")
        } else {
          setName(of: parameter, to: member.name)
          take(member.value, as: parameter)
        }
      } else if Queryables.tagKey(ofProperty: member.name) != nil {
        guard let values = member.value.texts else {
          note(.invalid, member.name, "must be a text, a number, a Boolean value, or an array of these")
          continue
        }
        conditions += values.map { (member.name, $0) }
      } else {
        let names = Parameter.allCases.filter { allowed.contains($0) }.map(\.name).joined(separator: ", ")
        note(.unknown, String(member.name.prefix(100)), "is not a member of the body; its members are \(names)")
      }
    }
  }

  /// Takes the value of a member of a body.
  private mutating func take(_ value: JSONValue, as parameter: Parameter) {
    switch (parameter, value) {
    case (.filter, .object), (.filter, .bool), (.within, .object), (.route, .object): objects[parameter] = value
    case (.latitude, .number(let text)), (.longitude, .number(let text)), (.radius, .number(let text)):
      set(parameter, to: text)
    case (.limit, .number(let text)):
      // A number with a fraction of zero is an integer (JSON Schema 2020-12, section 6.1.1).
      set(parameter, to: Double(text).flatMap { Int(exactly: $0) }.map { "\($0)" } ?? text)
    case (.autocomplete, .bool(let isSet)): set(parameter, to: isSet ? "true" : "false")
    case (.category, _):
      if let names = value.strings { categoryNames = names } else { noteType(parameter, "a text or an array of texts") }
    case (.fields, _), (.languages, _):
      guard let names = value.strings else { return noteType(parameter, "a text or an array of texts") }
      set(parameter, to: names.joined(separator: ","))
    case (.box, .array(let edges)):
      guard edges.allSatisfy(\.isNumber) else { return noteType(parameter, "an array of numbers") }
      set(parameter, to: edges.compactMap { $0.texts?.first }.joined(separator: ","))
    case (.latitude, _), (.longitude, _), (.radius, _), (.limit, _): noteType(parameter, "a number")
    case (.autocomplete, _): noteType(parameter, "true or false")
    case (.box, _): noteType(parameter, "an array of numbers")
    case (.filter, _), (.within, _), (.route, _):
      guard case .string(let text) = value else { return noteType(parameter, "a text or an object") }
      set(parameter, to: text)
    case (_, .string(let text)): set(parameter, to: text)
    default: noteType(parameter, "a text")
    }
  }
}

extension JSONValue {
  fileprivate var isNumber: Bool {
    if case .number = self { true } else { false }
  }

  /// The texts of a string, a number or a Boolean value, or of an array of these; `nil` for any other value.
  fileprivate var texts: [String]? {
    switch self {
    case .string(let text), .number(let text): return [text]
    case .bool(let isSet): return [isSet ? "true" : "false"]
    case .array(let elements):
      let texts = elements.compactMap { element -> String? in
        if case .array = element { return nil }
        return element.texts?.first
      }
      return texts.count == elements.count && !texts.isEmpty ? texts : nil
    case .null, .object: return nil
    }
  }

  /// The text of a string, or those of an array of strings; `nil` for any other value.
  fileprivate var strings: [String]? {
    switch self {
    case .string(let text): return [text]
    case .array(let elements):
      let texts = elements.compactMap { element -> String? in
        guard case .string(let text) = element else { return nil }
        return text
      }
      return texts.count == elements.count && !texts.isEmpty ? texts : nil
    default: return nil
    }
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
