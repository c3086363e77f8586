#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A step from one schema to the next: a file of SQL that is run once, in a transaction of its own.
public struct Migration: Hashable, Sendable {
  /// The file's name without `.sql`: four digits, an underline, and what it is about.
  public let name: String

  /// What the file says.
  public let sql: String

  /// Makes a migration.
  public init(name: String, sql: String) {
    self.name = name
    self.sql = sql
  }

  /// The migrations in a folder, in the order in which they are run: the `.sql` files by their names.
  ///
  /// - Throws: ``MigrationError`` when the folder or a file can't be read, a name is not of the form `0001_what.sql`,
  ///   two begin with the same number, or there is none.
  public static func all(inDirectory path: String) throws(MigrationError) -> [Migration] {
    let files: [String]
    do {
      files = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".sql") }.sorted()
    } catch {
      throw .unreadable(path: path)
    }
    if files.isEmpty { throw .noMigrations(directory: path) }
    var migrations: [Migration] = []
    for file in files {
      let name = String(file.dropLast(4))
      guard let number = number(of: name), number != migrations.last.flatMap({ Self.number(of: $0.name) }) else {
        throw .misnamed(file: file)
      }
      guard let data = FileManager.default.contents(atPath: "\(path)/\(file)"),
        let sql = String(validating: data, as: UTF8.self)
      else { throw .unreadable(path: "\(path)/\(file)") }
      migrations.append(Migration(name: name, sql: sql))
    }
    return migrations
  }

  private static func number(of name: String) -> Int? {
    let parts = name.split(separator: "_", maxSplits: 1)
    guard parts.count == 2, parts[0].utf8.count == 4, parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Int(parts[0])
  }
}

/// Why the schema was not brought up to date.
public enum MigrationError: Error, Hashable, Sendable {
  /// A file or folder can't be read, or is no UTF-8.
  case unreadable(path: String)
  /// There are no migrations in the folder.
  case noMigrations(directory: String)
  /// A file's name is not of the form `0001_what.sql`, or its number is taken.
  case misnamed(file: String)
  /// A migration was changed after it was run.
  case changed(name: String)
  /// The database has a migration that is not known here: it is newer than this version.
  case unknown(name: String)
  /// A migration that was not run comes before one that was.
  case outOfOrder(name: String)
  /// PostgreSQL refused a migration, of which nothing was done.
  case failed(name: String, reason: String)
  /// The database can't be asked.
  case unavailable(reason: String)
}

extension MigrationError: CustomStringConvertible {
  /// What an operator is told.
  public var description: String {
    switch self {
    case .unreadable(let path): "\(path) can't be read"
    case .noMigrations(let directory): "there are no migrations in \(directory)"
    case .misnamed(let file):
      "\(file) is not named like 0001_what.sql, or its number is taken"
    case .changed(let name):
      "\(name).sql was changed after it was run on this database; put it back, and make the change in a new file"
    case .unknown(let name):
      "this database has run \(name).sql, which this version doesn't know: it needs a newer version"
    case .outOfOrder(let name):
      "\(name).sql has not been run on this database, but a later one has; give it a later number"
    case .failed(let name, let reason): "\(name).sql failed, and nothing of it was done: \(reason)"
    case .unavailable(let reason): "the database can't be asked: \(reason)"
    }
  }
}
