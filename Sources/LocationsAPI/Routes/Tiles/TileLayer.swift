/// A layer of vector tiles, as the descriptions of the tiles have it.
struct TileLayer {
  /// The type of the values of an attribute.
  enum FieldType {
    case text, number
  }

  let id: String
  let title: String

  /// The attributes, besides the tags that a request asks for.
  let fields: [(name: String, type: FieldType)]

  static let places = TileLayer(
    id: "places", title: "Places", fields: [("id", .text), ("name", .text), ("category", .text)])

  static let clusters = TileLayer(
    id: "clusters", title: "Cells of a grid with several places",
    fields: [("cell", .text), ("count", .number), ("name", .text), ("category", .text)])
}
