/// A row of an import: a draft, with its position in the input.
public struct ImportRow: Hashable, Sendable {
  /// The number of the row, counted from 1 over all files.
  public let number: Int

  /// The id in the input, if any.
  public let id: PointID?

  /// The values of the place.
  public let draft: PointDraft

  /// Creates a row.
  public init(number: Int, id: PointID?, draft: PointDraft) {
    self.number = number
    self.id = id
    self.draft = draft
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

  /// Creates a rejection.
  public init(number: Int, detail: String, location: RowLocation = RowLocation()) {
    self.number = number
    self.detail = detail
    self.location = location
  }
}

/// The position of a row in the text that it was parsed from.
public struct RowLocation: Hashable, Sendable, CustomStringConvertible {
  /// The file's path as the user gave it; `nil` where the text is no file.
  public var file: String?

  /// The line on which the row starts, counted from 1; `nil` where it is not known.
  public var line: Int?

  /// The number of the feature in its file, counted from 1; `nil` for formats without features.
  public var feature: Int?

  /// Creates a location.
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
  /// The number of places that had the same values already.
  public var unchanged = 0
  /// The number of rows that were rejected.
  public private(set) var rejected = 0
  /// The first ``maximumRejections`` of the rejected rows.
  public private(set) var rejections: [RejectedRow] = []

  /// Creates an empty report.
  public init() {}

  /// Creates a report from stored values.
  ///
  /// - Parameters:
  ///   - rejected: the number of rejected rows; at least as many as the rejections.
  ///   - rejections: the first ``maximumRejections`` of them, by their numbers.
  public init(created: Int, updated: Int, unchanged: Int, rejected: Int, rejections: [RejectedRow]) {
    self.created = created
    self.updated = updated
    self.unchanged = unchanged
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

  /// Counts rejected rows without their details, where those of ``maximumRejections`` others are kept.
  public mutating func reject(count: Int) {
    rejected += count
  }

  /// Sets the numbers of imported rows to zero, as after a rollback; the rejected rows stay.
  public mutating func takeNothing() {
    created = 0
    updated = 0
    unchanged = 0
  }

  /// Adds the report of another part of the same import. The rejections that are kept are the first of both by number.
  public mutating func add(_ other: ImportReport) {
    created += other.created
    updated += other.updated
    unchanged += other.unchanged
    rejected += other.rejected
    if other.rejections.isEmpty { return }
    rejections = Array((rejections + other.rejections).sorted { $0.number < $1.number }.prefix(Self.maximumRejections))
  }
}

/// The import of places in bulk.
public protocol PointImporter: Sendable {
  /// Imports all rows except those it rejects, or none when the sequence or the store fails.
  ///
  /// A row with an id replaces the place of that id, or creates it. A row without one replaces the place of the same
  /// origin; where there is none, or the row has no origin, it creates a place. A replaced place keeps its id and its
  /// `createdAt`, and its version grows; a place that has the row's values already is left unchanged. Of rows for the
  /// same place the last one counts and the others are reported as rejected; so is a row whose id and origin belong to
  /// two places.
  ///
  /// A parser that rejects rows itself throws from the sequence where the mode is ``ImportMode/atomic``; see
  /// ``AllOrNothing``.
  ///
  /// - Parameters:
  ///   - batches: the rows, some thousands at a time; requested one batch after another, at the store's pace.
  ///   - mode: the treatment of the other rows where one is rejected; in an atomic import the report then has only the
  ///     rejected rows.
  ///   - dryRun: a Boolean value that indicates whether to report what would be done without doing it.
  ///   - key: makes a repeat of the import return the report of the first, for ``IdempotencyKey/lifetime``, and change
  ///     nothing. It is committed with the rows. A dry run and an atomic import that is rejected store no key.
  /// - Throws: ``PointStoreError``, ``PointWriteError/keyInFlight``, ``PointWriteError/keyReused``, or the error of the
  ///   sequence; nothing has been imported then.
  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    mode: ImportMode,
    dryRun: Bool,
    once key: ImportKey?
  ) async throws -> ImportReport where Batches.Element == [ImportRow]
}

extension PointImporter {
  /// Imports all rows except those it rejects, without an idempotency key.
  ///
  /// - Throws: ``PointStoreError``, or the error of the sequence; nothing has been imported then.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    mode: ImportMode,
    dryRun: Bool
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await importRows(batches, mode: mode, dryRun: dryRun, once: nil)
  }
}

/// The idempotency key of an import, whose hash is known when its last row is parsed.
public struct ImportKey: Sendable {
  /// The owner of the key and the key: what is unique.
  public let text: String

  private let requestHash: @Sendable () -> UInt64

  /// Creates a key.
  ///
  /// - Parameter requestHash: returns the hash of the whole request; called once all rows have been parsed.
  public init(text: String, requestHash: @escaping @Sendable () -> UInt64) {
    self.text = text
    self.requestHash = requestHash
  }

  /// Returns the key with the hash of the request, all of whose rows must have been parsed.
  public func hashed() -> IdempotencyKey { IdempotencyKey(text: text, requestHash: requestHash()) }
}

extension PointImporter {
  /// Imports all rows except those it rejects; see ``importRows(_:mode:dryRun:)``.
  ///
  /// - Throws: ``PointStoreError``, or the error of the sequence; nothing has been imported then.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    dryRun: Bool = false
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await importRows(batches, mode: .partial, dryRun: dryRun)
  }
}
