import Basics
import CQL2
import Foundation
import JSONText
import PointFormats
package import Points
import SearchWords
package import ServerFeatures

/// The configuration of searches for places by name and category.
struct SearchConfiguration: Hashable {
  /// The tree of categories.
  let categories: CategoryTree

  /// The fields of places that texts are searched in.
  let textIndex: TextIndexConfiguration

  /// The number of searches for a text from which on analytics report it; `nil` where texts are not recorded.
  let minimumTextCount: Int?

  /// A text that fewer search for may identify one of them.
  private static let minimumTextCount = 5

  /// Creates the configuration of the settings.
  ///
  /// - Throws: ``ConfigurationError``, also for a setting that would have no effect.
  init(_ settings: Settings, analytics: ServeConfiguration.AnalyticsKind) throws(ConfigurationError) {
    let names =
      try settings[Setting.search.nameTags] == nil
      ? TextIndexConfiguration.defaultNameTags : settings.list(Setting.search.nameTags)
    let length = Tags.maximumKeyLength
    guard names.count <= 100, names.allSatisfy({ $0.unicodeScalars.count <= length && !$0.dropLast().contains("*") })
    else {
      throw settings.error(
        Setting.search.nameTags,
        "must be at most 100 keys of tags separated by commas, with * at the end of a key alone")
    }
    categories = try settings[Setting.filters.categories].map(CategoryTree.make(path:)) ?? .builtIn
    var textIndex = TextIndexConfiguration(nameTags: names)
    textIndex.categories = categories
    self.textIndex = textIndex
    let recordsTexts = try settings.boolean(Setting.observability.searchTexts)
    minimumTextCount = recordsTexts ? Self.minimumTextCount : nil
    if analytics == .off, recordsTexts {
      throw .conflict(Setting.observability.searchTexts, "needs ANALYTICS=log or ANALYTICS=postgres")
    }
    if settings[Setting.postgres.index]?.lowercased() == IndexConfiguration.Use.off.rawValue {
      let ofIndex = [Setting.search.nameTags.setting, Setting.observability.searchTexts.setting]
      for setting in ofIndex where settings[setting] != nil {
        throw .conflict(setting, "is for searches in the index, but POINT_INDEX is off")
      }
    }
  }
}

extension CategoryTree {
  /// Returns the tree of a file.
  ///
  /// - Throws: ``ConfigurationError`` that names the file, the line and the category.
  static func make(path: String) throws(ConfigurationError) -> CategoryTree {
    let key = Setting.filters.categories
    guard let bytes = FileManager.default.contents(atPath: path) else {
      throw ConfigurationError(key, value: path, expectation: "must be a file that can be read")
    }
    do {
      return try make(yaml: String(decoding: bytes, as: UTF8.self))
    } catch {
      throw .conflict(key, "names '\(path)', which is invalid: \(error)")
    }
  }
}

extension Queryables {
  /// The maximum number of tags in a file.
  private static let maximumCount = 10_000

  /// Creates the declarations of a file: a JSON object with a member for each tag, such as
  /// `"population": {"type": "integer", "index": "sorted"}`.
  ///
  /// - Throws: ``ConfigurationError`` that names the file and the member.
  package init(path: String) throws(ConfigurationError) {
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
