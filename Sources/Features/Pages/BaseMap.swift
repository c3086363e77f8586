import Geo
import JSONText
import LocationsAPI
package import TileFiles

/// A base map of the operator's choice for the map page: images in tiles, of a server or of a file.
package struct BaseMap: Sendable {
  /// The maximum length of the address and of the attribution, in bytes.
  private static let maximumLength = 1000

  /// The tiles for the map page.
  let layer: MapLayer

  /// The origin of the tiles; `nil` where they are on this server.
  package let origin: String?

  /// The file of the tiles; `nil` for those of an address.
  let file: TileFile?

  /// A Boolean value that indicates whether the built-in base map is not drawn below.
  var hidesLand: Bool { file == nil }

  /// Creates a base map; `nil` where the address is no template of tiles, or a text is empty or longer than 1,000
  /// bytes.
  ///
  /// - Parameters:
  ///   - tiles: an absolute address of HTTP, or a reference that is relative to the map page.
  ///   - attribution: the attribution as plain text.
  package init?(tiles: String, attribution: String) {
    let length = 1...Self.maximumLength
    guard length.contains(tiles.utf8.count), length.contains(attribution.utf8.count) else { return nil }
    // The origin becomes part of the content security policy, where white space, `,` and `;` separate.
    let template =
      #/
      (?: (https?:\/\/[A-Za-z0-9._\-]+(?::[0-9]{1,5})?) \/ | \/ )?
      [A-Za-z0-9._~{][A-Za-z0-9._~\/!$&()*+=%{}?@\-]*
      /#
    guard let match = tiles.wholeMatch(of: template) else { return nil }
    var rest = tiles
    for name in ["{z}", "{x}", "{y}"] {
      guard let range = rest.firstRange(of: name) else { return nil }
      rest.removeSubrange(range)
    }
    guard !rest.utf8.contains(UInt8(ascii: "{")), !rest.utf8.contains(UInt8(ascii: "}")) else { return nil }
    layer = MapLayer(tiles: tiles, format: .image, zooms: nil, bounds: nil, attribution: attribution)
    origin = match.output.1.map(String.init)
    file = nil
  }

  /// Creates a base map of a file; `nil` where its attribution, or the given one instead, is empty or longer than 1,000
  /// bytes.
  package init?(file: TileFile, attribution: String? = nil) {
    guard let attribution = attribution ?? file.attribution, (1...Self.maximumLength).contains(attribution.utf8.count)
    else { return nil }
    layer = MapLayer(
      tiles: String(ImageTileRoute.call.path.dropFirst()), format: .image, zooms: file.zooms, bounds: file.bounds,
      attribution: attribution)
    origin = nil
    self.file = file
  }
}

/// Tiles that the map page draws.
struct MapLayer {
  enum Format: String, CaseIterable {
    case image, vector
  }

  /// The address of a tile, with `{z}`, `{x}` and `{y}`.
  let tiles: String
  let format: Format

  /// The zoom levels of the tiles; `nil` where they are not known.
  let zooms: ClosedRange<Int>?

  /// The box that has tiles; `nil` for the world.
  let bounds: BoundingBox?

  /// The attribution as plain text; an address in it becomes a link.
  let attribution: String

  var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init(name: "tiles", value: .string(tiles)), .init(name: "format", value: .string(format.rawValue)),
    ]
    if let zooms {
      members.append(.init(name: "minimumZoom", value: .number(String(zooms.lowerBound))))
      members.append(.init(name: "maximumZoom", value: .number(String(zooms.upperBound))))
    }
    if let bounds {
      let edges = [bounds.west, bounds.south, bounds.east, bounds.north]
      members.append(.init(name: "bounds", value: .array(edges.map { .number("\($0)") })))
    }
    members.append(.init(name: "attribution", value: .string(attribution)))
    return .object(members)
  }
}
