public import Basics

/// A store whose places can be found by their names.
public protocol TextSearchableStore: Sendable {
  /// Returns a page of the places that match a text, in the query's order.
  ///
  /// Following ``TextPage/next`` to the end returns every place that matches exactly once, as long as no place is
  /// changed meanwhile: whether typos are searched for depends on the places that match without them.
  ///
  /// - Throws: ``PointStoreError``; ``PointStoreError/unavailable(reason:)`` while there is no index.
  func matches(of query: TextQuery) async throws(PointStoreError) -> TextPage

  /// The fields of places that are searched. Searches of stores that differ in it may find different places.
  var textConfiguration: TextIndexConfiguration { get }

  /// A Boolean value that indicates whether texts can be searched for, at once or when an index has been built.
  var supportsTextSearch: Bool { get }
}

extension TextSearchableStore {
  /// `true`.
  public var supportsTextSearch: Bool { true }
}

/// The fields of places that a text index covers.
public struct TextIndexConfiguration: Hashable, Sendable {
  /// The default of ``nameTags``.
  public static let defaultNameTags = [
    "name:*", "alt_name", "official_name", "short_name", "old_name", "loc_name", "brand", "int_name",
  ]

  /// The keys of the tags that hold alternative names; one that ends with `*` stands for all keys that begin like it.
  public var nameTags: [String] { keys.map(\.text) }

  private let keys: [ExactText]

  /// The key of a tag whose number is the importance of a place; `nil` for the importance by other tags.
  @ComparedByBytes public private(set) var importanceTag: String?

  public init(nameTags: [String] = defaultNameTags, importanceTag: String? = nil) {
    keys = nameTags.map { ExactText($0) }
    self.importanceTag = importanceTag
  }
}

extension TextIndexConfiguration: CustomStringConvertible {
  /// The keys, as a text that is different for each configuration.
  public var description: String { "\(nameTags) \(importanceTag.debugDescription)" }
}
