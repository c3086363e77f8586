import CMigrations

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A migration: a file of SQL that upgrades the schema and runs once, in a transaction of its own.
///
/// Migrations are numbered, and the age of a program is the number of the newest migration that it knows. A comment
/// line at the beginning of a file may declare the oldest program that is compatible with the schema after it:
///
///     -- oldest-program: 0005
///
/// Programs that know 0005 but not this file then stay ready, which makes rolling upgrades and rollbacks possible. A
/// file without that line is incompatible with every program that does not know it.
package struct Migration: Hashable, Sendable {
  /// The file's name without `.sql`: four digits, an underscore, and its subject.
  package let name: String

  /// The file's SQL.
  package let sql: String

  package init(name: String, sql: String) {
    self.name = name
    self.sql = sql
  }

  /// The number at the beginning of the name; 0 without one.
  var number: Int { Self.number(of: name) ?? 0 }

  /// The number of the newest migration known to the oldest compatible program; this migration's number by default.
  var oldestProgram: Int { Self.declaredOldestProgram(in: sql).flatMap { Self.number($0) } ?? number }

  private static let declaration = "-- oldest-program:"

  /// Returns the value of the declaration in the comment lines at the beginning of a file.
  private static func declaredOldestProgram(in sql: String) -> Substring? {
    sql.split(separator: "\n").prefix { $0.hasPrefix("--") }.first { $0.hasPrefix(declaration) }.map { line in
      let value = line.dropFirst(declaration.count).drop { $0 == " " }
      return value.prefix { $0 != " " && $0 != "\r" }
    }
  }

  /// A Boolean value that indicates whether the file declares no oldest program, or one that is not newer than itself.
  private var hasValidDeclaration: Bool {
    guard let declared = Self.declaredOldestProgram(in: sql) else { return true }
    guard let oldest = Self.number(declared) else { return false }
    return oldest <= number
  }

  /// The migrations that are part of the program, in order of their names.
  package static let builtIn = UnsafeBufferPointer(start: waymark_migrations(), count: waymark_migration_count()).map {
    Migration(
      name: String(cString: $0.name),
      sql: String(decoding: UnsafeBufferPointer(start: $0.bytes, count: $0.count), as: UTF8.self))
  }

  /// Returns the migrations in a folder, the `.sql` files, in order of their names.
  ///
  /// - Throws: ``MigrationError`` when the folder or a file can't be read, a name is not of the form `0001_what.sql`,
  ///   two names begin with the same number, a declaration of the oldest program is invalid, or there is no file.
  package static func all(inDirectory path: String) throws(MigrationError) -> [Migration] {
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
      guard migration.hasValidDeclaration else { throw .misdeclared(file: file) }
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

package enum MigrationError: Error, Hashable, Sendable {
  /// A file or folder can't be read, or is not UTF-8.
  case unreadable(path: String)
  /// There are no migrations in the folder.
  case noMigrations(directory: String)
  /// A file's name is not of the form `0001_what.sql`, or its number is taken.
  case misnamed(file: String)
  /// A file's declaration of the oldest program is not four digits, or is newer than the file.
  case misdeclared(file: String)
  /// A migration was changed after it had run.
  case changed(name: String)
  /// The database has run a migration that is unknown to this program and does not allow a program of its age.
  case unknown(name: String)
  /// The database has run a migration that is none of this program's, although it is not newer than they are.
  case foreign(name: String)
  /// A pending migration comes before one that has run.
  case outOfOrder(name: String)
  /// PostgreSQL rejected a migration, which was rolled back.
  case failed(name: String, reason: String)
  /// PostgreSQL rejected a statement other than a migration; no migration has run.
  case rejected(reason: String)
  /// The database is unavailable.
  case unavailable(reason: String)
}

extension MigrationError: CustomStringConvertible {
  /// The message for the operator.
  package var description: String {
    switch self {
    case .unreadable(let path): "\(path) can't be read"
    case .noMigrations(let directory): "there are no migrations in \(directory)"
    case .misnamed(let file):
      "\(file) is not named like 0001_what.sql, or its number is already used"
    case .misdeclared(let file):
      "\(file) must declare its oldest program as '-- oldest-program: 0001', with a number not greater than its own"
    case .changed(let name):
      "\(name).sql was changed after it was run on this database; put it back, and make the change in a new file"
    case .unknown(let name): "this database has run \(name).sql, which needs a newer program than this one"
    case .foreign(let name):
      """
      this database has run \(name).sql, which this program does not know: the schema is of an unreleased version, or of \
      another program; use an empty database
      """
    case .outOfOrder(let name):
      "\(name).sql has not been run on this database, but a later one has; give it a later number"
    case .failed(let name, let reason): "\(name).sql failed and was rolled back: \(reason)"
    case .rejected(let reason): "the database rejected the migrations, and none was run: \(reason)"
    case .unavailable(let reason): "the database is unavailable: \(reason)"
    }
  }
}
