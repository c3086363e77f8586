#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A step from one schema to the next: a file of SQL that is run once, in a transaction of its own.
///
/// Migrations are numbered, and a program is as old as the newest migration that it knows. One of the comment lines at
/// the beginning of a file may declare the oldest program that works with the schema after it:
///
///     -- oldest-program: 0005
///
/// Programs that know 0005 but not this file then stay ready, which makes a rolling upgrade and a rollback possible. A
/// file without the line works with no program that does not know it.
public struct Migration: Hashable, Sendable {
  /// The file's name without `.sql`: four digits, an underline, and what it is about.
  public let name: String

  /// What the file says.
  public let sql: String

  /// Creates a migration.
  public init(name: String, sql: String) {
    self.name = name
    self.sql = sql
  }

  /// The number that its name begins with, or 0 where there is none.
  var number: Int { Self.number(of: name) ?? 0 }

  /// The number of the newest migration that the oldest compatible program knows; its own number by default.
  var oldestProgram: Int { Self.declaredOldestProgram(in: sql).flatMap { Self.number($0) } ?? number }

  private static let declaration = "-- oldest-program:"

  /// The text after the declaration in the comment lines at the beginning of a file.
  private static func declaredOldestProgram(in sql: String) -> Substring? {
    sql.split(separator: "\n").prefix { $0.hasPrefix("--") }.first { $0.hasPrefix(declaration) }.map { line in
      let value = line.dropFirst(declaration.count).drop { $0 == " " }
      return value.prefix { $0 != " " && $0 != "\r" }
    }
  }

  /// A Boolean value that indicates whether the file declares no oldest program, or one that is not newer than itself.
  private var isWellDeclared: Bool {
    guard let declared = Self.declaredOldestProgram(in: sql) else { return true }
    guard let oldest = Self.number(declared) else { return false }
    return oldest <= number
  }

  /// The migrations in a folder, in the order in which they are run: the `.sql` files by their names.
  ///
  /// - Throws: ``MigrationError`` when the folder or a file can't be read, a name is not of the form `0001_what.sql`,
  ///   two begin with the same number, a file declares an oldest program that cannot be, or there is no file.
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
      let migration = Migration(name: name, sql: sql)
      guard migration.isWellDeclared else { throw .misdeclared(file: file) }
      migrations.append(migration)
    }
    return migrations
  }

  private static func number(of name: String) -> Int? {
    let parts = name.split(separator: "_", maxSplits: 1)
    return parts.count == 2 ? number(parts[0]) : nil
  }

  /// Parses four digits.
  private static func number(_ text: Substring) -> Int? {
    guard text.utf8.count == 4, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
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
  /// A file declares an oldest program that is not four digits, or newer than the file.
  case misdeclared(file: String)
  /// A migration was changed after it was run.
  case changed(name: String)
  /// The database has run a migration that is not known here and allows no program as old as this one.
  case unknown(name: String)
  /// A migration that was not run comes before one that was.
  case outOfOrder(name: String)
  /// PostgreSQL refused a migration, of which nothing was done.
  case failed(name: String, reason: String)
  /// PostgreSQL refused what goes with any migration; none was run.
  case refused(reason: String)
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
    case .misdeclared(let file):
      "\(file) must declare its oldest program as '-- oldest-program: 0001', with a number not greater than its own"
    case .changed(let name):
      "\(name).sql was changed after it was run on this database; put it back, and make the change in a new file"
    case .unknown(let name): "this database has run \(name).sql, which needs a newer program than this one"
    case .outOfOrder(let name):
      "\(name).sql has not been run on this database, but a later one has; give it a later number"
    case .failed(let name, let reason): "\(name).sql failed, and nothing of it was done: \(reason)"
    case .refused(let reason): "the database refused the migrations, and none was run: \(reason)"
    case .unavailable(let reason): "the database can't be asked: \(reason)"
    }
  }
}
