import JSONText

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
  let clauses: [Clause]

  /// Returns a Boolean value that indicates whether the condition holds.
  func holds(of record: Record) -> Bool {
    clauses.allSatisfy { clause in
      switch clause.quantifier {
      case .any: clause.tests.contains { $0.holds(of: record) }
      case .all: clause.tests.allSatisfy { $0.holds(of: record) }
      case .none: !clause.tests.contains { $0.holds(of: record) }
      }
    }
  }
}

extension Condition.Field {
  fileprivate func holds(of record: Record) -> Bool {
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
