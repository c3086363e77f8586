package import HTTPServer
package import JSONText
import NIOHTTP1

/// The members of a body in JSON, and their violations.
package struct MemberReader {
  let names: [String]
  private var violations = Violations()

  package init(names: [String]) { self.names = names }

  /// Returns the members of a body.
  ///
  /// - Throws: `Problem` 400 if it is no object.
  package static func members(of body: JSONValue) throws(Problem) -> [JSONValue.Member] {
    guard case .object(let members) = body else {
      throw Problem(.badRequest, code: "malformed-body", detail: "the body must be a JSON object")
    }
    return members
  }

  package mutating func note(_ name: String, _ detail: String, _ code: ParameterProblem = .invalid) {
    violations.note(code, ProblemError(.pointer("/" + JSONPointer.escape(name)), detail))
  }

  /// Notes the violations of a part that has its own.
  package mutating func note(_ problem: Problem, in name: String) {
    for error in problem.errors {
      violations.note(ParameterProblem(rawValue: problem.code) ?? .invalid, error.inside("/" + name))
    }
  }

  package mutating func noteUnknown(_ name: String) {
    note(
      String(name.prefix(100)), "is not a member of the body; its members are \(names.joined(separator: ", "))",
      .unknown)
  }

  /// Returns the text of a member; `nil` for null, white space alone and an invalid value.
  package mutating func text(_ member: JSONValue.Member, maximum: Int) -> String? {
    switch member.value {
    case .null: return nil
    case .string(let text):
      let isShort = text.unicodeScalars.prefix(maximum + 1).count <= maximum
      let hasControls = text.unicodeScalars.contains {
        $0.properties.generalCategory == .control && !["\n", "\t"].contains($0)
      }
      guard isShort, !hasControls else {
        note(member.name, "must be a string of at most \(maximum) characters without control characters")
        return nil
      }
      return text.allSatisfy(\.isWhitespace) ? nil : text
    default:
      note(member.name, "must be a string")
      return nil
    }
  }

  package func check() throws(Problem) { try violations.check() }
}

extension ProblemError {
  /// Returns the error of a part of a body that has a pointer of its own.
  package func inside(_ pointer: String) -> ProblemError {
    switch location {
    case .pointer(let inner): ProblemError(.pointer(pointer + inner), detail)
    case .parameter(let name): ProblemError(.pointer("\(pointer)/\(JSONPointer.escape(name))"), detail)
    case .row: self
    }
  }
}
