import Basics

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

  /// Adds a rule behind the others.
  mutating func append(_ rule: Rule, of path: FieldPath) {
    if groups.last?.path == path {
      groups[groups.count - 1].rules.append(rule)
    } else {
      groups.append(Group(path: path, rules: [rule]))
    }
  }

  /// Returns the category of a record; `nil` where no rule gives it one.
  func category(of record: Record) -> String? {
    for group in groups {
      guard let value = group.path.value(in: record)?.plainText else { continue }
      // Of several values the first counts, such as cafe of cafe;bar.
      let first = value.firstIndex(of: ";").map { String(value[..<$0]) } ?? value
      guard let rule = group.rules.first(where: { $0.value?.hasSameBytes(as: first) ?? true }) else { continue }
      guard let category = rule.category else { continue }
      let name = category.contains("*") ? category.replacing("*", with: first) : category
      let trimmed = name.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      if !trimmed.isEmpty { return names[trimmed] ?? trimmed }
    }
    return nil
  }
}
