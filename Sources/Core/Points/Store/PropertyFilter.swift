public import CQL2
public import Basics
import JSONText

/// The kinds of indexes of the values of a tag.
public enum TagIndexKind: String, Hashable, Sendable, CaseIterable {
  /// An index by equal values.
  case hash
  /// An index by equal values and by ranges of them.
  case sorted
}

/// The types of the tags' values in filters. The values of a tag without a declared type are strings.
public struct Queryables: Hashable, Sendable {
  /// The declared types, by the tags' keys.
  public let types: [ExactText: FilterType]

  /// The declared indexes, by the tags' keys.
  public let indexes: [ExactText: TagIndexKind]

  public init(types: [ExactText: FilterType] = [:], indexes: [ExactText: TagIndexKind] = [:]) {
    self.types = types
    self.indexes = indexes
  }

  /// The types that a tag can have, in the order of the documentation.
  public static let tagTypes = FilterType.allCases.filter { $0 != .geometry }

  /// The beginning of a property's name that is always that of a tag, even if a property of places has the rest of it.
  public static let tagPrefix = "tag."

  /// Returns the key of the tag whose property's name begins with ``tagPrefix``; `nil` for any other name.
  public static func tagKey(ofProperty name: String) -> String? {
    guard name.utf8.starts(with: tagPrefix.utf8), name.utf8.count > tagPrefix.utf8.count else { return nil }
    return String(name[name.utf8.index(name.startIndex, offsetBy: tagPrefix.utf8.count)...])
  }

  /// Returns the type of a tag.
  public func type(ofTag key: String) -> FilterType { types[ExactText(key)] ?? .string }
}

/// A condition on the properties of places, in the Common Query Language, ready to be evaluated.
public final class PropertyFilter: Sendable {
  /// A tag whose value the condition reads.
  public struct Tag: Hashable, Sendable {
    /// The key as a JSON string, as it is in stored tags.
    public let jsonKey: [UInt8]

    /// The type that the value is read as.
    public let type: FilterType

    /// The index of the values; `nil` if there is none.
    public let index: TagIndexKind?
  }

  /// The condition.
  public let expression: FilterExpression

  /// The condition, which reads a ``PointField`` by its raw value, and the tag at an index of ``tags`` by
  /// ``firstTag`` more than that.
  public let condition: CompiledFilter

  /// The tags that the condition reads.
  public let tags: [Tag]

  /// The number of the first tag among the properties of the condition.
  public static let firstTag = PointField.allCases.count

  /// Creates a filter.
  ///
  /// - Throws: `FilterError` where the condition cannot be evaluated on places.
  public init(_ expression: FilterExpression, queryables: Queryables) throws(FilterError) {
    var tags: [Tag] = []
    var numbers: [ExactText: Int] = [:]
    for name in expression.propertyNames where PointField(queryable: name.text) == nil && numbers[name] == nil {
      let key = Queryables.tagKey(ofProperty: name.text) ?? name.text
      numbers[name] = Self.firstTag + tags.count
      tags.append(
        Tag(
          jsonKey: JSONString.bytes(of: key), type: queryables.type(ofTag: key),
          index: queryables.indexes[ExactText(key)]))
    }
    let types = tags.map(\.type)
    condition = try CompiledFilter(expression) { [numbers] name throws(FilterError) in
      if let field = PointField(queryable: name), let type = field.filterType {
        return FilterProperty(number: field.rawValue, type: type)
      }
      guard let number = numbers[ExactText(name)] else { throw .unknownProperty(name) }
      return FilterProperty(number: number, type: types[number - Self.firstTag])
    }
    self.expression = expression
    self.tags = tags
  }
}

extension PropertyFilter: Hashable {
  /// Returns a Boolean value that indicates whether both filters have the same condition on the same types.
  public static func == (left: PropertyFilter, right: PropertyFilter) -> Bool {
    left === right || (left.expression == right.expression && left.tags == right.tags)
  }

  /// Adds the condition to a hash.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(expression)
  }
}
