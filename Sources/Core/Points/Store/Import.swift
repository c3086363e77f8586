public import Basics
import Synchronization

/// A row of an import: a draft, with its position in the input.
public struct ImportRow: Hashable, Sendable {
  /// The number of the row, counted from 1 over all files.
  public let number: Int

  /// The id in the input, if any.
  public let id: PointID?

  /// The values of the place.
  public let draft: PointDraft

  /// The fields of the row that hold opening hours, but cannot be parsed, for a warning; `nil` if there are none.
  @ComparedByBytes public private(set) var unreadableHours: String?

  /// The fields that the file has.
  public let given: GivenFields

  public init(
    number: Int, id: PointID?, draft: PointDraft, unreadableHours: String? = nil, given: GivenFields = .all
  ) {
    self.number = number
    self.id = id
    self.draft = draft
    self.unreadableHours = unreadableHours
    self.given = given
  }

  /// An estimate of the number of bytes that the row takes until it is imported.
  ///
  /// Beside its texts these are its fields and four heads of 32 bytes, because the name, the tags, the source and its
  /// id are objects of their own.
  package var byteCount: Int {
    var count = MemoryLayout<Self>.stride + 4 * 32 + draft.textBytes
    if let category = draft.category { count += category.utf8.count }
    if let origin = draft.origin { count += origin.source.utf8.count + origin.sourceID.utf8.count }
    if let unreadableHours { count += unreadableHours.utf8.count }
    return count
  }
}

/// A row that was rejected, with the reason.
public struct RejectedRow: Error, Hashable, Sendable {
  /// The row's number, counted from 1.
  public let number: Int

  /// The reason, for a user.
  public let detail: String

  /// The position of the row in its file, as far as it is known.
  public var location: RowLocation

  /// The id that the row gives, if it can be read.
  package var id: PointID?

  /// The origin that the row gives, if it can be read.
  package var origin: SourceReference?

  public init(number: Int, detail: String, location: RowLocation = RowLocation()) {
    self.number = number
    self.detail = detail
    self.location = location
  }

  package init(number: Int, detail: String, id: PointID?, origin: SourceReference?) {
    self.init(number: number, detail: detail)
    self.id = id
    self.origin = origin
  }
}

/// The position of a row in the text that it was parsed from.
public struct RowLocation: Hashable, Sendable, CustomStringConvertible {
  /// The file's path as the user gave it; `nil` if the text is no file.
  public var file: String?

  /// The line on which the row starts, counted from 1; `nil` if it is not known.
  public var line: Int?

  /// The number of the feature in its file, counted from 1; `nil` for formats without features.
  public var feature: Int?

  public init(file: String? = nil, line: Int? = nil, feature: Int? = nil) {
    self.file = file
    self.line = line
    self.feature = feature
  }

  /// The parts that are known, such as `places.csv, line 7`; empty where none is.
  public var description: String {
    [file, feature.map { "feature \($0)" }, line.map { "line \($0)" }].compactMap(\.self).joined(separator: ", ")
  }
}

/// The treatment of the valid rows of an import that has invalid ones.
public enum ImportMode: String, CaseIterable, Hashable, Sendable {
  /// The valid rows are imported and the invalid ones reported.
  case partial
  /// Either every row is imported or none.
  case atomic
}

/// The outcome of an import or of a dry run.
public struct ImportReport: Hashable, Sendable {
  /// The maximum number of rejections that are kept with their details.
  public static let maximumRejections = 100

  /// The number of places that were created.
  public var created = 0
  /// The number of places that were replaced by different values.
  public var updated = 0
  /// The number of rows whose places had the same values already, before the import or by an exact duplicate of the
  /// row, or were deleted by a client and stay so.
  public var unchanged = 0
  /// The number of places that were deleted; `nil` if the import does not delete any.
  public var deleted: Int?
  /// The number of places that a replacement did not delete because a rejected row has their id.
  public var kept = 0
  /// The number of places that keep edits, or stay deleted, although a row means them.
  public var keptEdits = 0
  /// The number of places that have an edit which is a conflict because of the import.
  public var conflicts = 0
  /// The number of rows that were rejected.
  public private(set) var rejected = 0
  /// The first ``maximumRejections`` of the rejected rows.
  public private(set) var rejections: [RejectedRow] = []

  public init() {}

  /// Creates a report from stored values; `nil` if a count is negative or greater than 2^53.
  ///
  /// - Parameters:
  ///   - deleted: the number of deleted places; `nil` if the import deleted none on purpose.
  ///   - kept: the number of places that only rejected rows mean.
  ///   - keptEdits: the number of places that keep edits.
  ///   - conflicts: the number of places with a new conflict.
  ///   - rejected: the number of rejected rows; at least as many as the rejections.
  ///   - rejections: the first ``maximumRejections`` of them, by their numbers.
  package init?(
    created: Int, updated: Int, unchanged: Int, deleted: Int?, kept: Int = 0, keptEdits: Int = 0, conflicts: Int = 0,
    rejected: Int, rejections: [RejectedRow]
  ) {
    let counts = [created, updated, unchanged, deleted ?? 0, kept, keptEdits, conflicts, rejected]
    guard counts.allSatisfy((0...1 << 53).contains) else { return nil }
    self.created = created
    self.updated = updated
    self.unchanged = unchanged
    self.deleted = deleted
    self.kept = kept
    self.keptEdits = keptEdits
    self.conflicts = conflicts
    self.rejected = rejected
    self.rejections = rejections
  }

  /// Counts a rejected row.
  public mutating func reject(_ row: RejectedRow) {
    rejected += 1
    if rejections.count < Self.maximumRejections { rejections.append(row) }
  }

  /// Sets the location of each rejection to the one that the closure returns for it.
  public mutating func locateRejections(_ location: (RejectedRow) -> RowLocation) {
    for index in rejections.indices { rejections[index].location = location(rejections[index]) }
  }

  /// The number of rows that were imported, or whose values were there already.
  public var accepted: Int { created + updated + unchanged }

  /// The number of places that were created, updated or deleted.
  public var changedRows: Int { created + updated + (deleted ?? 0) }

  /// A Boolean value that indicates whether no row was accepted and nothing changed, so that there is nothing that a
  /// repeat must not do again. Rows that a parser rejected before may not be counted.
  package var isFailure: Bool { accepted == 0 && changedRows == 0 }

  /// Counts rejected rows without their details, where those of ``maximumRejections`` others are kept.
  public mutating func reject(count: Int) {
    rejected += count
  }

  /// Sets the numbers of imported rows to zero, as after a rollback; the rejected rows stay.
  public mutating func takeNothing() {
    created = 0
    updated = 0
    unchanged = 0
    kept = 0
    keptEdits = 0
    conflicts = 0
    if deleted != nil { deleted = 0 }
  }

  /// Adds the report of another part of the same import. The rejections that are kept are the first of both by number.
  public mutating func add(_ other: ImportReport) {
    created += other.created
    updated += other.updated
    unchanged += other.unchanged
    if let count = other.deleted { deleted = (deleted ?? 0) + count }
    kept += other.kept
    keptEdits += other.keptEdits
    conflicts += other.conflicts
    rejected += other.rejected
    if other.rejections.isEmpty { return }
    rejections = Array((rejections + other.rejections).sorted { $0.number < $1.number }.prefix(Self.maximumRejections))
  }
}

/// The rows of an import that were rejected before a store got them.
package final class RejectedRows: Sendable {
  private struct State {
    var report = ImportReport()
    var places = RejectedPlaces()
    var byteCount = 0
  }

  private let state = Mutex(State())
  private let notesPlaces: Bool

  /// Creates a collection without rows.
  ///
  /// - Parameter notesPlaces: a Boolean value that indicates whether the places of the rows matter, because the import
  ///   deletes others.
  package init(notesPlaces: Bool) {
    self.notesPlaces = notesPlaces
  }

  /// Adds a rejected row.
  package func reject(_ row: RejectedRow) {
    state.withLock { state in
      state.report.reject(row)
      if notesPlaces { state.byteCount += state.places.add(row) }
    }
  }

  /// The report that counts the rows.
  package var report: ImportReport { state.withLock { $0.report } }

  /// The places that the rows mean.
  package var places: RejectedPlaces { state.withLock { $0.places } }

  /// The number of bytes of memory that the places take.
  package var byteCount: Int { state.withLock { $0.byteCount } }
}

/// The places that rejected rows of an import mean.
package struct RejectedPlaces: Sendable {
  /// The ids that rows give.
  package private(set) var ids: [PointID] = []

  /// The origins that rows give.
  package private(set) var origins: [SourceReference] = []

  /// The number of rows without an id that can be read: each may be any place.
  package private(set) var unknown = 0

  package init() {}

  /// Adds the place of a row, and returns the number of bytes of memory that it takes.
  package mutating func add(_ row: RejectedRow) -> Int {
    var bytes = 0
    if let id = row.id {
      ids.append(id)
      bytes += MemoryLayout<PointID>.stride
    }
    if let origin = row.origin {
      origins.append(origin)
      // Two texts that may be objects with a head of 32 bytes.
      bytes += MemoryLayout<SourceReference>.stride + 2 * 32 + origin.source.utf8.count + origin.sourceID.utf8.count
    }
    if row.id == nil, row.origin == nil { unknown += 1 }
    return bytes
  }
}

/// The options of an import.
public struct ImportOptions: Sendable {
  /// The treatment of the other rows where one is rejected; in an atomic import the report then has only the rejected
  /// rows.
  public var mode: ImportMode

  /// A Boolean value that indicates whether to report what would be done without doing it.
  public var dryRun: Bool

  /// The key that makes a repeat of the import return the report of the first, for ``IdempotencyKey/lifetime``, and
  /// change nothing. It is committed with the rows. A dry run, an atomic import that is rejected, and an import all of
  /// whose rows are rejected store no key.
  public var key: ImportKey?

  /// The places to delete in the same transaction; `nil` for none.
  public var removal: ImportRemoval?

  /// The values to take where both a client and the data set have changed a field.
  public var conflicts = ConflictPolicy.edits

  /// The time from which on a change of a place of the store without edits is taken for edits of all fields in which
  /// its row differs; `nil` for never. For places that were edited before the store kept edits.
  public var assumeEditedSince: Timestamp?

  /// Returns the places of the rows that were rejected before the store got them, once all rows have been parsed; `nil`
  /// if there are none. ``ImportRemoval/others(source:limit:)`` does not delete them.
  package var rejected: (@Sendable () -> RejectedPlaces)?

  /// The data sets to register or to replace in the same transaction, if it accepts a row.
  public var sources: [DataSource]

  /// A Boolean value that indicates whether the import may lock out all other readers and writers of a store without
  /// places, where that makes it faster.
  public var isExclusive: Bool

  /// The client whose share of the store's connections the import takes; `nil` for the program itself.
  package var client: String?

  /// The decision on which places exist for the caller; `nil` if all do.
  ///
  /// To the import, other places do not exist, except that a row with the id or the origin of one is rejected. So is a
  /// row whose place would be one. A place is judged in the version that the import replaces or deletes.
  package var admits: PointJudge?

  /// Called before the store holds more memory for rows that are not imported yet, with the number of bytes of all of
  /// them. An error that it throws ends the import, unless the store can pass rows on instead.
  package var reserve: (@Sendable (_ bytes: Int) throws -> Void)?

  /// The number of places that a store passes to ``admits`` at a time.
  package static let judgedAtOnce = 250

  public init(
    mode: ImportMode = .partial, dryRun: Bool = false, key: ImportKey? = nil, removal: ImportRemoval? = nil,
    sources: [DataSource] = [], isExclusive: Bool = false
  ) {
    self.mode = mode
    self.dryRun = dryRun
    self.key = key
    self.removal = removal
    self.sources = sources
    self.isExclusive = isExclusive
  }

  /// The data sets that the import names: ``sources``, and the one of which it deletes places.
  package var namedSources: [DataSource] {
    guard let name = removal?.source, !sources.contains(where: { $0.name.hasSameBytes(as: name) }) else {
      return sources
    }
    return sources + [DataSource(name: name)]
  }
}

/// The error of an exclusive import into a store that has places, or edits of deleted ones.
package struct StoreNotEmpty: Error, Hashable, Sendable, CustomStringConvertible {
  package init() {}

  package var description: String { "an exclusive import needs a store without places and edits" }
}

/// The places that an import deletes.
public enum ImportRemoval: Sendable {
  /// The places of a data set that no row means, not even a rejected one. One valid row at least must be of the data
  /// set, and no more places may be deleted than the limit allows. Where places are deleted, each rejected row without
  /// an id counts as one more.
  case others(source: String, limit: DeletionLimit = .standard)

  /// The places with certain ids in a data set, except those that a row means. The ids are called for once all rows
  /// have been parsed.
  case places(source: String, sourceIDs: @Sendable () -> [String])

  /// The name of the data set.
  public var source: String {
    switch self {
    case .others(let source, _), .places(let source, _): source
    }
  }

  /// The limit of the number of places to delete; `nil` if there is none.
  public var limit: DeletionLimit? {
    switch self {
    case .others(_, let limit): limit
    case .places: nil
    }
  }

  /// The key of the tag with the names of the records that a place of the data set was made from, with `;` between;
  /// `nil` if no place gets another source id. A place that no row means and a row with another source id are the
  /// same place if they have a record in common that no other such place or row has.
  package var recordKey: String? {
    switch self {
    case .others(let source, _): source + ":records"
    case .places: nil
    }
  }

  /// The ids of the places to delete; `nil` if the rows determine them.
  public var sourceIDs: [String]? {
    switch self {
    case .others: nil
    case .places(_, let sourceIDs): sourceIDs()
    }
  }
}

/// The error of an import that would delete all places of a data set, as it has no valid row of it.
public struct EmptyReplacement: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the data set.
  @ComparedByBytes public private(set) var source: String

  /// The plural of what the rows are.
  @ComparedByBytes private var things: String

  public init(source: String, of things: String = "places") {
    self.source = source
    self.things = things
  }

  /// The message for a user.
  public var description: String {
    "there is no valid row of the source '\(source)', so that all its \(things) would be deleted"
  }
}

/// The maximum number of places that the replacement of a data set deletes.
public enum DeletionLimit: Hashable, Sendable, CustomStringConvertible {
  /// A number of places.
  case count(Int)
  /// A percentage of the places that the data set has, or ``smallestShare`` places if that is more.
  case percentage(Int)

  /// The limit where none is given.
  public static let standard = percentage(20)

  /// The number of places that every percentage allows.
  public static let smallestShare = 10

  /// Creates the limit of a text: a number of places, or a percentage such as `20%`; `nil` if it is malformed.
  public init?(_ text: String) {
    let isPercentage = text.hasSuffix("%")
    let digits = isPercentage ? text.dropLast() : text[...]
    guard digits.utf8.count <= 15, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits),
      !isPercentage || number <= 100
    else { return nil }
    self = isPercentage ? .percentage(number) : .count(number)
  }

  /// Returns the maximum for a data set of a number of places.
  public func maximum(of total: Int) -> Int {
    switch self {
    case .count(let count): count
    case .percentage(let share): max(Self.smallestShare, Int((Double(total) * Double(share) / 100).rounded(.down)))
    }
  }

  /// The limit as ``init(_:)`` reads it.
  public var description: String {
    switch self {
    case .count(let count): "\(count)"
    case .percentage(let share): "\(share)%"
    }
  }
}

/// The error of an import that would delete more places of a data set than it may.
public struct TooManyDeletions: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the data set.
  @ComparedByBytes public private(set) var source: String

  /// The number of places that the data set has.
  public let total: Int

  /// The number of places that may be deleted.
  public let maximum: Int

  /// The number of rejected rows without an id, each of which may be one of the places.
  public let unknownRows: Int

  /// The report of what the import would have done.
  public let report: ImportReport

  /// The plural of what the rows are.
  @ComparedByBytes private var things: String

  /// Creates the error of an import, or returns `nil` if it deletes no more places than it may.
  ///
  /// - Parameters:
  ///   - things: the plural of what the rows are.
  ///   - unknownRows: the number of rejected rows without an id. Each counts as a deletion, unless there are no others.
  ///   - report: what the import would do.
  public init?(
    source: String, of things: String = "places", total: Int, limit: DeletionLimit, unknownRows: Int = 0,
    report: ImportReport
  ) {
    maximum = limit.maximum(of: total)
    guard let deleted = report.deleted, deleted > 0, deleted + unknownRows > maximum else { return nil }
    self.unknownRows = unknownRows
    self.source = source
    self.things = things
    self.total = total
    self.report = report
  }

  /// The message for a user.
  public var description: String {
    "\(report.deleted ?? 0) of the \(total) \(things) of the source '\(source)' would be deleted\(unknownDeletions), and"
      + " at most \(maximum) may be (\(report.created) created, \(report.updated) updated, \(report.unchanged) unchanged)"
  }
}

extension TooManyDeletions {
  /// The rejected rows without an id in words, after a comma; empty if there are none.
  private var unknownDeletions: String {
    switch unknownRows {
    case 0: ""
    case 1: ", 1 rejected row without an id may be one more"
    default: ", \(unknownRows) rejected rows without an id may be as many more"
    }
  }
}

/// The idempotency key of an import, whose hash is known when its last row is parsed.
public struct ImportKey: Sendable {
  /// The owner of the key and the key, which are unique together.
  public let text: String

  /// The client whose share of the memory for keys the key uses.
  public let client: String

  private let requestHash: @Sendable () -> UInt64

  /// Creates a key.
  ///
  /// - Parameters:
  ///   - client: the client to whose share the key counts; `nil` for the owner of the key.
  ///   - requestHash: returns the hash of the whole request; called once all rows have been parsed.
  public init(text: String, client: String? = nil, requestHash: @escaping @Sendable () -> UInt64) {
    self.text = text
    self.client = client ?? IdempotencyKey.owner(ofKey: text)
    self.requestHash = requestHash
  }

  /// Returns the key with the hash of the request, all of whose rows must have been parsed.
  public func hashed() -> IdempotencyKey {
    IdempotencyKey(text: text, requestHash: requestHash(), client: client)
  }
}

/// A sequence of batches of rows that ends with an error once a row has been rejected, so that no store keeps any of
/// them.
///
/// After the first rejection the rest is parsed, but not passed on, until ``ImportReport/maximumRejections`` rows have
/// been rejected: an operator sees more than one error at a time.
package struct AllOrNothing<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == [ImportRow] {
  private let base: Base
  private let rejections: @Sendable () -> ImportReport

  /// Creates the sequence.
  ///
  /// - Parameter rejections: the rows that have been rejected so far.
  package init(_ base: Base, rejections: @escaping @Sendable () -> ImportReport) {
    self.base = base
    self.rejections = rejections
  }

  /// Returns an iterator that starts at the first batch.
  package func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: base.makeAsyncIterator(), rejections: rejections)
  }

  /// An iterator over the batches.
  package struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var base: Base.AsyncIterator
    fileprivate let rejections: @Sendable () -> ImportReport

    /// Returns the next batch; `nil` at the end.
    ///
    /// - Throws: ``RejectedImport``, or the error of the batches.
    package mutating func next() async throws -> [ImportRow]? {
      let batch = try await base.next()
      guard rejections().rejected > 0 else { return batch }
      var isAtEnd = batch == nil
      while !isAtEnd, rejections().rejected < ImportReport.maximumRejections { isAtEnd = try await base.next() == nil }
      throw RejectedImport(report: rejections())
    }
  }
}

/// The error of an import that takes all rows or none, and took none.
package struct RejectedImport: Error, CustomStringConvertible {
  /// The rows that were rejected: not all of them where there are many.
  package let report: ImportReport

  /// Creates the error from a report with at least one rejection.
  package init(report: ImportReport) {
    self.report = report
  }

  /// The first rejection, for a user.
  package var description: String {
    report.rejections.first.map { "row \($0.number): \($0.detail)" } ?? "a row was rejected"
  }
}
