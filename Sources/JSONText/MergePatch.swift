import Basics

extension JSONValue {
  /// Returns this value with a JSON merge patch applied to it (RFC 7396, section 2): the patch's members replace those
  /// of the same names, null removes one, objects are merged member by member, and anything but an object replaces the
  /// whole.
  ///
  /// Of a repeated name the last value counts; names are compared by their bytes. Members keep their order, new ones
  /// follow them. Linear in the length of both.
  public func merging(_ patch: JSONValue) -> JSONValue {
    guard case .object(let changes) = patch else { return patch }
    var merged = if case .object(let members) = self { UniqueMembers(members) } else { UniqueMembers([]) }
    for change in UniqueMembers(changes).members {
      if change.value == .null {
        merged[change.name] = nil
      } else {
        merged[change.name] = (merged[change.name] ?? .null).merging(change.value)
      }
    }
    return .object(merged.members)
  }
}

/// An object's members, each name once.
private struct UniqueMembers {
  private var names: [String] = []
  private var values: [JSONValue?] = []
  private var positions: [ExactText: Int] = [:]

  init(_ members: [JSONValue.Member]) {
    for member in members { self[member.name] = member.value }
  }

  /// The members in the order in which their names first came.
  var members: [JSONValue.Member] {
    zip(names, values).compactMap { name, value in value.map { .init(name: name, value: $0) } }
  }

  subscript(name: String) -> JSONValue? {
    get { positions[ExactText(name)].flatMap { values[$0] } }
    set {
      if let position = positions[ExactText(name)] {
        values[position] = newValue
      } else if newValue != nil {
        positions[ExactText(name)] = names.count
        names.append(name)
        values.append(newValue)
      }
    }
  }
}
