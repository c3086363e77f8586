import Basics
import JSONText

/// Alternatives for a text; the first that has a value counts.
struct Expression: Hashable, Sendable {
  /// One alternative.
  struct Alternative: Hashable {
    let form: Form
    /// The condition on the record; `nil` for none.
    let condition: Condition?
  }

  /// The form of an alternative.
  enum Form: Hashable {
    /// The value at a path.
    case path(FieldPath)
    /// A text with values in it, each of which must be there.
    case template([Part])
    /// A fixed text.
    case text(String)
  }

  /// A part of a template.
  enum Part: Hashable {
    case text(String)
    case path(FieldPath)
  }

  let alternatives: [Alternative]

  init(_ alternatives: [Alternative]) {
    self.alternatives = alternatives
  }

  /// Returns the first value; `nil` if no alternative has one.
  func value(in record: Record) -> String? { match(in: record)?.value }

  /// Returns the first value and the names of the fields that it comes from; `nil` if no alternative has a value.
  func match(in record: Record) -> (value: String, fields: [String])? {
    for alternative in alternatives {
      if let condition = alternative.condition, !condition.holds(of: record) { continue }
      guard let value = alternative.form.value(in: record) else { continue }
      return (value, alternative.form.paths.map { $0.fieldName(in: record) })
    }
    return nil
  }

  /// Returns a Boolean value that indicates whether the value at a path may be the expression's, or part of it.
  func mayRead(_ path: FieldPath) -> Bool { alternatives.contains { $0.form.paths.contains(path) } }
}

extension Expression.Form {
  fileprivate var paths: [FieldPath] {
    switch self {
    case .path(let path): [path]
    case .text: []
    case .template(let parts):
      parts.compactMap { part in
        if case .path(let path) = part { path } else { nil }
      }
    }
  }

  fileprivate func value(in record: Record) -> String? {
    switch self {
    case .path(let path): return path.value(in: record)?.plainText
    case .text(let text): return text
    case .template(let parts):
      var text = ""
      for part in parts {
        switch part {
        case .text(let fixed): text += fixed
        case .path(let path):
          guard let value = path.value(in: record)?.plainText else { return nil }
          text += value
        }
      }
      return text
    }
  }

  /// Creates the form of a text: a path, or a template where it has braces; `nil` if it is malformed.
  init?(_ text: String) {
    guard text.contains(where: { $0 == "{" || $0 == "}" }) else {
      guard let path = FieldPath(text) else { return nil }
      self = .path(path)
      return
    }
    var parts: [Expression.Part] = []
    var rest = text[...]
    while let open = rest.firstIndex(of: "{") {
      guard let close = rest[open...].firstIndex(of: "}"),
        let path = FieldPath(String(rest[rest.index(after: open)..<close]))
      else { return nil }
      if open > rest.startIndex { parts.append(.text(String(rest[..<open]))) }
      parts.append(.path(path))
      rest = rest[rest.index(after: close)...]
    }
    guard !rest.contains("}") else { return nil }
    if !rest.isEmpty { parts.append(.text(String(rest))) }
    self = .template(parts)
  }
}

/// A condition on a record.
struct Condition: Hashable, Sendable {
  /// The number of tests that must hold.
  enum Quantifier: String, CaseIterable, Hashable {
    case any
    case all
    case none
  }

  /// A test of one field.
  enum Test: Hashable {
    /// The field has a value.
    case exists
    /// The field has one of the values, or the elements of its array do.
    case isOneOf([String])
    /// The field is a number of at least that value.
    case isAtLeast(Double)
  }

  /// The tests, by field.
  struct Clause: Hashable {
    let quantifier: Quantifier
    let tests: [Field]
  }

  /// A field and its test.
  struct Field: Hashable {
    let path: FieldPath
    let test: Test
  }

  /// The clauses, all of which must hold.
  var clauses: [Clause]

  /// Conditions, one of which must hold; empty for none.
  var alternatives: [Condition] = []

  /// Returns a Boolean value that indicates whether the condition holds.
  func holds(of record: Record) -> Bool {
    guard alternatives.isEmpty || alternatives.contains(where: { $0.holds(of: record) }) else { return false }
    return clauses.allSatisfy { clause in
      switch clause.quantifier {
      case .any: clause.tests.contains { $0.holds(of: record) }
      case .all: clause.tests.allSatisfy { $0.holds(of: record) }
      case .none: !clause.tests.contains { $0.holds(of: record) }
      }
    }
  }
}

extension Condition {
  /// The fields of the clause of which one test must hold, with a Boolean value that indicates whether the record must
  /// have a name too.
  var selectedFields: [(field: Field, isForNamed: Bool)] {
    let isForNamed = clauses.contains { clause in
      clause.quantifier == .all && clause.tests.contains { $0.path.text.hasSameBytes(as: "name") }
    }
    return clauses.first { $0.quantifier == .any }?.tests.map { ($0, isForNamed) } ?? []
  }
}

extension Condition.Field {
  func holds(of record: Record) -> Bool {
    guard let value = path.value(in: record) else { return false }
    switch test {
    case .exists: return value.plainText != nil
    case .isOneOf(let values):
      if case .array(let elements) = value.parsed {
        return elements.contains { element in element.plainText.map(values.contains) ?? false }
      }
      return value.plainText.map(values.contains) ?? false
    case .isAtLeast(let minimum):
      return value.plainText.flatMap(Double.init).map { $0 >= minimum } ?? false
    }
  }
}
