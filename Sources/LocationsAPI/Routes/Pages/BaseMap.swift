/// The base map of the map page: images in tiles, from a server of the operator's choice.
package struct BaseMap: Sendable {
  /// The maximum length of the address and of the attribution, in bytes.
  private static let maximumLength = 1000

  /// The address of a tile, with `{z}`, `{x}` and `{y}`.
  let tiles: String

  /// The attribution as plain text; an address in it becomes a link.
  let attribution: String

  /// The origin of the tiles; `nil` where they are on this server.
  let origin: String?

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
    self.tiles = tiles
    self.attribution = attribution
    origin = match.output.1.map(String.init)
  }
}
