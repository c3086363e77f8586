import Foundation
import GRDB
import GRDBSQLite
import Geo

/// Tiles in an SQLite database (MBTiles 1.3).
struct MBTiles: TileFile.Reader {
  private static let tileStatement =
    "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ? LIMIT 1"

  private static let metadataStatement = "SELECT name, value FROM metadata LIMIT 1000"

  private static let zoomsStatement = "SELECT min(zoom_level), max(zoom_level) FROM tiles"

  /// The number of SQLite's instructions after which a statement is stopped: the tables of a file may be views that
  /// never end. A million instructions take some milliseconds.
  private static let maximumInstructions: Int32 = 20_000_000

  private let database: DatabaseQueue
  let properties: TileFile.Properties

  init(path: String) throws(TileFileError) {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.label = "tiles"
    configuration.prepareDatabase { database in
      // The schema of the file may call nothing but harmless functions.
      try database.execute(sql: "PRAGMA trusted_schema = OFF")
      try database.execute(sql: "PRAGMA cell_size_check = ON")
      try database.execute(sql: "PRAGMA mmap_size = 0")
      sqlite3_limit(database.sqliteConnection, SQLITE_LIMIT_LENGTH, Int32(TileFile.maximumTileBytes))
    }
    let database = try Self.mapped { try DatabaseQueue(path: path, configuration: configuration) }
    self.database = database
    let metadata = try Self.mapped {
      try Self.read(database) { database in
        try Row.fetchAll(database, sql: Self.metadataStatement).reduce(into: [String: String]()) { result, row in
          if let name = String.fromDatabaseValue(row[0] as DatabaseValue) {
            result[name] = String.fromDatabaseValue(row[1] as DatabaseValue)
          }
        }
      }
    }
    if let format = metadata["format"], ["pbf", "mvt"].contains(format.lowercased()) {
      throw TileFileError("has vector tiles, and must have raster tiles")
    }
    var properties = TileFile.Properties()
    properties.attribution = metadata["attribution"]
    let edges = metadata["bounds"]?.split(separator: ",").map { Double($0.trimmingCharacters(in: .whitespaces)) } ?? []
    if edges.count == 4, let west = edges[0], let south = edges[1], let east = edges[2], let north = edges[3] {
      properties.bounds = try? BoundingBox(west: west, south: south, east: east, north: north)
    }
    properties.zooms = try Self.zooms(metadata, database)
    self.properties = properties
  }

  private static func zooms(
    _ metadata: [String: String], _ database: DatabaseQueue
  ) throws(TileFileError) -> ClosedRange<Int> {
    var (least, greatest) = (metadata["minzoom"].flatMap { Int($0) }, metadata["maxzoom"].flatMap { Int($0) })
    if least == nil || greatest == nil {
      let row = try mapped { try read(database) { try Row.fetchOne($0, sql: zoomsStatement) } }
      least = row.flatMap { Int.fromDatabaseValue($0[0]) }
      greatest = row.flatMap { Int.fromDatabaseValue($0[1]) }
    }
    guard let least, let greatest, least <= greatest, TileAddress.zooms.contains(least), greatest >= 0 else {
      throw TileFileError("has no tiles of zoom levels from 0 to 22")
    }
    return least...min(greatest, TileAddress.zooms.upperBound)
  }

  func bytes(of tile: TileAddress) throws(TileFileError) -> [UInt8]? {
    // Rows count from the south.
    let arguments: StatementArguments = [tile.zoom, tile.x, 1 << tile.zoom - 1 - tile.y]
    return try Self.mapped {
      try Self.read(database) { database in
        try Row.fetchOne(database, sql: Self.tileStatement, arguments: arguments)
          .flatMap { Data.fromDatabaseValue($0[0]) }.map { Array($0) }
      }
    }
  }

  /// Reads from the database in a bounded time.
  private static func read<Value>(_ database: DatabaseQueue, _ body: (Database) throws -> Value) throws -> Value {
    try database.read { database in
      sqlite3_progress_handler(database.sqliteConnection, maximumInstructions, { _ in 1 }, nil)
      defer { sqlite3_progress_handler(database.sqliteConnection, 0, nil, nil) }
      return try body(database)
    }
  }

  private static func mapped<Value>(_ body: () throws -> Value) throws(TileFileError) -> Value {
    do {
      return try body()
    } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
      throw TileFileError("takes too long to read")
    } catch let error as DatabaseError {
      throw TileFileError("can't be read as MBTiles: \(error.message ?? error.resultCode.description)")
    } catch {
      throw TileFileError("can't be read as MBTiles: \(error)")
    }
  }
}
