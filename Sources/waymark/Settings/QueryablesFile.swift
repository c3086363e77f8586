import CQL2
import Foundation
import Basics
import JSONText
import Points

extension Queryables {
  /// The maximum number of tags in a file.
  private static let maximumCount = 10_000

  /// Creates the declarations of a file: a JSON object with a member for each tag, such as
  /// `"population": {"type": "integer", "index": "sorted"}`.
  ///
  /// - Throws: ``ConfigurationError`` that names the file and the member.
  init(path: String) throws(ConfigurationError) {
    let key = Setting.filters.queryables
    guard let bytes = FileManager.default.contents(atPath: path) else {
      throw ConfigurationError(key, value: path, expectation: "must be a file that can be read")
    }
    func error(_ reason: String) -> ConfigurationError { .conflict(key, "names '\(path)', \(reason)") }
    let value: JSONValue
    do {
      value = try JSONReader.value(of: bytes)
    } catch {
      throw ConfigurationError.conflict(key, "names '\(path)', which is \(error)")
    }
    guard case .object(let members) = value, members.count <= Self.maximumCount else {
      throw error("which must be an object of at most \(Self.maximumCount) members")
    }
    let names = Self.tagTypes.map(\.rawValue).joined(separator: ", ")
    let indexNames = TagIndexKind.allCases.map(\.rawValue).joined(separator: ", ")
    var types: [ExactText: FilterType] = [:]
    var indexes: [ExactText: TagIndexKind] = [:]
    for member in members {
      guard case .object(let declaration) = member.value,
        declaration.allSatisfy({ ["type", "index"].contains($0.name) }),
        case .string(let typeName)? = member.value["type"], let type = FilterType(rawValue: typeName),
        Self.tagTypes.contains(type)
      else {
        throw error(
          "whose member '\(member.name)' must be an object with the member type, one of \(names), and optionally index")
      }
      types[ExactText(member.name)] = type
      guard let index = member.value["index"] else { continue }
      guard case .string(let indexName) = index, let kind = TagIndexKind(rawValue: indexName) else {
        throw error("whose member '\(member.name)' has an index that must be one of \(indexNames)")
      }
      indexes[ExactText(member.name)] = kind
    }
    self.init(types: types, indexes: indexes)
  }
}
