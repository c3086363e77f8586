import WaymarkClient

/// A table of places for a terminal: one line each, nearest first, with columns as wide as their contents.
struct PointTable {
  private let rows: [(distance: String, category: String, name: String)]

  init(_ places: [PointOfInterest]) {
    rows = places.map { place in
      (Self.text(ofMetres: place.distanceMetres), Self.printable(place.category ?? ""), Self.printable(place.name))
    }
  }

  var text: String {
    guard !rows.isEmpty else { return "There are no places." }
    let distanceWidth = rows.map(\.distance.count).max() ?? 0
    let categoryWidth = rows.map(\.category.count).max() ?? 0
    return rows.map { row in
      let distance = String(repeating: " ", count: distanceWidth - row.distance.count) + row.distance
      let category = row.category + String(repeating: " ", count: categoryWidth - row.category.count)
      return "\(distance)  \(category)  \(row.name)"
    }.joined(separator: "\n")
  }

  /// Returns a distance in metres up to a kilometre, and in tenths of a kilometre above.
  private static func text(ofMetres metres: Double?) -> String {
    guard let metres else { return "" }
    guard metres >= 1000 else { return "\(Int(max(0, metres).rounded())) m" }
    return "\((metres / 100).rounded() / 10) km"
  }

  /// Returns the text without control characters, which a terminal would interpret.
  private static func printable(_ text: String) -> String {
    String(text.unicodeScalars.filter { $0.properties.generalCategory != .control })
  }
}
