import Foundation
import GRDB
import Geo
import MemoryStore
import Points

/// A reader of a journal's contents, which verifies every row: the file may have been damaged.
struct Loading {
  private static let placeColumns =
    "id, name, category, latitude, longitude, tags, source, source_id, version, created_at, updated_at"

  /// The places in the order of insertion, which is that of the file.
  private static let places = "SELECT \(placeColumns), rowid FROM place ORDER BY rowid"

  private static let creations = """
    SELECT \(placeColumns), text, request_hash, time, rowid FROM answered_key ORDER BY time, rowid
    """

  private static let imports = """
    SELECT text, request_hash, time, created, updated, unchanged, rejected, rejections, rowid, deleted
    FROM answered_import
    """

  private static let sources = "SELECT name, licence, attribution, url, rowid FROM source ORDER BY name"

  private static let formerIDs = "SELECT id, source, source_id, rowid FROM former_id"

  private static let highestVersion = "SELECT highest FROM version_counter"

  private static let isNew = "SELECT NOT has_changes FROM version_counter"

  /// The handling of damaged rows.
  enum DamagePolicy: Sendable {
    /// Loading fails.
    case reject
    /// The row is skipped, and passed to the closure.
    case skip(@Sendable (JournalDamage) -> Void)
  }

  private let policy: DamagePolicy
  private var contents = JournalContents()
  private var ids: Set<PointID> = []
  private var damageCount = 0
  private var firstDamage: JournalDamage?

  /// Returns the contents.
  ///
  /// - Throws: `DatabaseError`, or ``DamagedJournal``.
  static func contents(_ database: Database, onDamage policy: DamagePolicy) throws -> JournalContents {
    var loading = Loading(policy: policy)
    try loading.read(database)
    return loading.contents
  }

  private init(policy: DamagePolicy) {
    self.policy = policy
  }

  private mutating func read(_ database: Database) throws {
    let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM place") ?? 0
    contents.points.reserveCapacity(count)
    ids.reserveCapacity(count)
    try StoredRow.forEach(database, Self.places) { row in
      do throws(RowDamage) {
        let point = try row.point()
        guard ids.insert(point.id).inserted else { throw RowDamage("another row has its id, \(point.id)") }
        contents.points.append(point)
      } catch {
        note(error, in: "place", row: try? row.integer(11, "rowid"))
      }
    }
    try StoredRow.forEach(database, Self.creations) { row in
      do throws(RowDamage) {
        contents.records.append(try Self.creationRecord(row))
      } catch {
        note(error, in: "answered_key", row: try? row.integer(14, "rowid"))
      }
    }
    try StoredRow.forEach(database, Self.imports) { row in
      do throws(RowDamage) {
        contents.records.append(try Self.importRecord(row))
      } catch {
        note(error, in: "answered_import", row: try? row.integer(8, "rowid"))
      }
    }
    try StoredRow.forEach(database, Self.sources) { row in
      do throws(RowDamage) {
        contents.sources.append(
          DataSource(
            name: try row.text(0, "name"), licence: try row.optionalText(1, "licence"),
            attribution: try row.optionalText(2, "attribution"), url: try row.optionalText(3, "url")))
      } catch {
        note(error, in: "source", row: try? row.integer(4, "rowid"))
      }
    }
    try StoredRow.forEach(database, Self.formerIDs) { row in
      do throws(RowDamage) {
        let reference = SourceReference(source: try row.text(1, "source"), sourceID: try row.text(2, "source_id"))
        contents.formerIDs[reference] = try row.id(0)
      } catch {
        note(error, in: "former_id", row: try? row.integer(3, "rowid"))
      }
    }
    contents.records.sort { $0.time < $1.time }
    // A file whose counter is missing has been damaged, and so is not new.
    contents.isNew = try Bool.fetchOne(database, sql: Self.isNew) ?? false
    let highest = try Int64.fetchOne(database, sql: Self.highestVersion)
    if !(0..<PointOfInterest.versionLimit ~= (highest ?? -1)) {
      note(RowDamage("highest is not in the range 0 to 2^53 - 1"), in: "version_counter", row: 1)
    }
    contents.highestVersion = max(highest ?? 0, highestOfPlaces)
    if case .reject = policy, let firstDamage { throw DamagedJournal(first: firstDamage, count: damageCount) }
  }

  /// The greatest version of a place that a store can have given. A greater one is kept but not counted on from.
  private var highestOfPlaces: Int64 {
    contents.points.lazy.map(\.version).filter { $0 <= PointOfInterest.maximumCountedVersion }.max() ?? 0
  }

  private mutating func note(_ damage: RowDamage, in table: String, row: Int64?) {
    let damage = JournalDamage(table: table, row: row, reason: damage.reason)
    damageCount += 1
    firstDamage = firstDamage ?? damage
    if case .skip(let report) = policy { report(damage) }
  }

  private static func creationRecord(_ row: StoredRow) throws(RowDamage) -> IdempotencyRecord {
    IdempotencyRecord(
      key: IdempotencyKey(
        text: try row.text(11, "text"),
        requestHash: UInt64(bitPattern: try row.integer(12, "request_hash"))
      ),
      time: try row.time(13, "time"),
      outcome: .created(try row.point())
    )
  }

  private static func importRecord(_ row: StoredRow) throws(RowDamage) -> IdempotencyRecord {
    let text = try row.text(7, "rejections")
    guard let rejections = JournalRejection.rows(of: text) else { throw RowDamage("rejections are not a list of rows") }
    return IdempotencyRecord(
      key: IdempotencyKey(
        text: try row.text(0, "text"),
        requestHash: UInt64(bitPattern: try row.integer(1, "request_hash"))
      ),
      time: try row.time(2, "time"),
      outcome: .imported(
        ImportReport(
          created: Int(try row.integer(3, "created")),
          updated: Int(try row.integer(4, "updated")),
          unchanged: Int(try row.integer(5, "unchanged")),
          deleted: try row.optionalInteger(9, "deleted").map { Int($0) },
          rejected: Int(try row.integer(6, "rejected")),
          rejections: rejections
        )
      )
    )
  }
}

/// A damaged row of a journal.
package struct JournalDamage: Hashable, Sendable, CustomStringConvertible {
  /// The table that the row is in.
  package let table: String

  /// The number of the row in the table; `nil` where it can't be read either.
  package let row: Int64?

  /// The damage, such as `name is missing`.
  package let reason: String

  /// A line that names the row and its damage.
  package var description: String { "row \(row.map(String.init) ?? "?") of table \(table): \(reason)" }
}

struct DamagedJournal: Error, CustomStringConvertible {
  /// The first damaged row.
  let first: JournalDamage

  /// The number of damaged rows.
  let count: Int

  var description: String { count == 1 ? "\(first)" : "\(first); \(count - 1) more rows are damaged" }
}

/// The stored form of a rejected row of an import.
struct JournalRejection: Codable {
  private let number: Int
  private let detail: String

  static func text(of rows: [RejectedRow]) throws -> String {
    let rows = rows.map { JournalRejection(number: $0.number, detail: $0.detail) }
    return String(decoding: try JSONEncoder().encode(rows), as: UTF8.self)
  }

  /// Returns the rows of the JSON; `nil` where it is not such a list.
  static func rows(of text: String) -> [RejectedRow]? {
    let rows = try? JSONDecoder().decode([JournalRejection].self, from: Data(text.utf8))
    return rows?.map { RejectedRow(number: $0.number, detail: $0.detail) }
  }
}
