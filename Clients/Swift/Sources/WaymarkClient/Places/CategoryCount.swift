/// A category and how many places have it.
public struct CategoryCount: Hashable, Sendable, Decodable {
  /// The category, for example `cafe`.
  public var category: String

  /// How many places have it.
  public var count: Int

  /// Creates a count.
  public init(category: String, count: Int) {
    self.category = category
    self.count = count
  }
}
