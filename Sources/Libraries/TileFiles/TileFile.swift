import Foundation
package import Geo

/// A file of raster tiles in Web Mercator: MBTiles, which is an SQLite database, or PMTiles of version 3.
///
/// Which it is, its first bytes tell. A file is trusted no further than its numbers are in range: tiles that are no
/// images, long tiles, and views that take long are errors.
package struct TileFile: Sendable {
  /// The properties that both formats have.
  struct Properties {
    var zooms = TileAddress.zooms
    /// The attribution, in which HTML is allowed.
    var attribution: String?
    var bounds: BoundingBox?
  }

  /// A reader of one of the formats.
  protocol Reader: Sendable {
    var properties: Properties { get }

    /// Returns the bytes of a tile; `nil` if there is none.
    func bytes(of tile: TileAddress) throws(TileFileError) -> [UInt8]?
  }

  /// The maximum number of bytes of a tile.
  static let maximumTileBytes = 4 << 20

  /// The zoom levels of the tiles.
  package let zooms: ClosedRange<Int>

  /// The attribution as plain text; `nil` if the file has none.
  package let attribution: String?

  /// The box that has tiles; `nil` if the file does not tell it.
  package let bounds: BoundingBox?

  private let reader: any Reader

  /// Opens a file, and reads its description.
  ///
  /// - Throws: ``TileFileError`` for a file that can't be read, of another format, or without raster tiles.
  package init(path: String) throws(TileFileError) {
    guard let file = FileHandle(forReadingAtPath: path) else { throw TileFileError("can't be read") }
    defer { try? file.close() }
    let start = (try? file.read(upToCount: 16)) ?? Data()
    if start.starts(with: "SQLite format 3\0".utf8) {
      reader = try MBTiles(path: path)
    } else if start.starts(with: "PMTiles".utf8) {
      reader = try PMTiles.open(path: path)
    } else {
      throw TileFileError("is neither an MBTiles nor a PMTiles file")
    }
    let properties = reader.properties
    zooms = properties.zooms
    bounds = properties.bounds
    attribution = properties.attribution.map(Self.plainText).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns a tile; `nil` if the file has none.
  ///
  /// It reads from the disk.
  ///
  /// - Throws: ``TileFileError`` if the file is damaged, or the tile is no image.
  package func image(of tile: TileAddress) throws(TileFileError) -> TileImage? {
    guard zooms.contains(tile.zoom), let bytes = try reader.bytes(of: tile), !bytes.isEmpty else { return nil }
    guard let image = TileImage(bytes) else { throw TileFileError("has a tile that is no PNG, JPEG or WebP image") }
    return image
  }

  /// The maximum number of characters of an attribution.
  private static let maximumAttributionLength = 500

  /// Returns the text of HTML, in which the addresses of links follow their texts.
  static func plainText(_ html: String) -> String {
    let link = #/<a\s[^>]*?href\s*=\s*["']?(https?:[^"'\s>]*)["']?[^>]*>(.*?)<\/a\s*>/#
      .ignoresCase().dotMatchesNewlines()
    var text = String(html.prefix(8 * maximumAttributionLength))
      .replacing(link) { "\($0.output.2) \($0.output.1)" }
      .replacing(#/<[^>]*>/#, with: "")
    for (entity, character) in [
      ("&copy;", "©"), ("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&"),
    ] {
      text = text.replacing(entity, with: character)
    }
    return String(
      text.split { $0.isWhitespace || $0.isNewline }.joined(separator: " ").prefix(maximumAttributionLength))
  }
}

/// An image of a tile.
package struct TileImage: Sendable {
  package let bytes: [UInt8]
  package let mediaType: String

  /// Creates an image; `nil` if the bytes are none that browsers show.
  init?(_ bytes: [UInt8]) {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      mediaType = "image/png"
    } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
      mediaType = "image/jpeg"
    } else if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) {
      mediaType = "image/webp"
    } else {
      return nil
    }
    self.bytes = bytes
  }
}

/// The reason why a file of tiles can't be used, as the rest of a sentence whose subject is the file.
package struct TileFileError: Error, Hashable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}
