import Basics
import LocationsAPI

/// A collection of OGC API Features: all places, or those of some categories.
package struct PointCollection: Sendable {
  /// The identifier, which is part of the addresses.
  package let id: String

  /// The categories whose places the collection has; none for all places.
  package let categories: [String]

  /// Returns a Boolean value that indicates whether a place of a category, or of none, is in the collection.
  func contains(category: String?) -> Bool {
    categories.isEmpty || categories.contains { category.hasSameBytes(as: $0) }
  }

  /// The title for users.
  var title: String { categories.isEmpty ? "Places" : id.prefix(1).uppercased() + id.dropFirst() }

  /// The description for users.
  var description: String {
    categories.isEmpty
      ? "All places."
      : "The places of the categor\(categories.count == 1 ? "y" : "ies") "
        + categories.joined(separator: ", ") + "."
  }
}

/// The collections of OGC API Features.
package struct PointCollections: Sendable {
  /// The identifier of the collection of all places.
  package static let everything = "places"

  /// The maximum number of collections.
  package static let maximumCount = 100

  /// The collections, that of all places first.
  package let all: [PointCollection]

  /// The collection of all places alone.
  package init() {
    all = [PointCollection(id: Self.everything, categories: [])]
  }

  /// Creates the collections of a text such as `food=cafe,restaurant;culture=museum`, and that of all places; `nil` for
  /// another text.
  package init?(_ text: String) {
    var all = Self().all
    for group in text.utf8.split(separator: UInt8(ascii: ";")) {
      let parts = group.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { return nil }
      let id = String(Substring(parts[0]).trimmingBlanks)
      let categories = parts[1].split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        .map { String(Substring($0).trimmingBlanks) }
      guard Self.isIdentifier(id), !categories.contains(""), !all.contains(where: { $0.id.hasSameBytes(as: id) }) else {
        return nil
      }
      all.append(PointCollection(id: id, categories: categories))
    }
    guard all.count <= Self.maximumCount else { return nil }
    self.all = all
  }

  /// Returns the collection of an identifier; `nil` where there is none.
  subscript(id: String) -> PointCollection? { all.first { $0.id.hasSameBytes(as: id) } }

  private static func isIdentifier(_ text: String) -> Bool {
    (1...50).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "_")
          || byte == UInt8(ascii: "-")
      }
  }
}
