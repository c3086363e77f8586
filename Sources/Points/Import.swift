/// A place on its way into a store, with where it stood.
public struct ImportRow: Hashable, Sendable {
  /// The row's number in what is imported, counted from 1 over all files.
  public let number: Int

  /// The id that the place came with, if any.
  public let id: PointID?

  /// The description.
  public let place: Place

  /// Creates a row.
  public init(number: Int, id: PointID?, place: Place) {
    self.number = number
    self.id = id
    self.place = place
  }
}

/// A row that did not go in, and why.
public struct RejectedRow: Error, Hashable, Sendable {
  /// The row's number, counted from 1.
  public let number: Int

  /// What is wrong, for a user.
  public let detail: String

  /// Where the row stands, as far as that is known.
  public var location: RowLocation

  /// Creates a rejection.
  public init(number: Int, detail: String, location: RowLocation = RowLocation()) {
    self.number = number
    self.detail = detail
    self.location = location
  }
}

/// The position of a row in the text that it was read from.
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

/// What becomes of the good rows of an import that has bad ones.
public enum ImportMode: String, CaseIterable, Hashable, Sendable {
  /// They go in; the bad ones are reported.
  case partial
  /// They stay out: either every row goes in or none.
  case atomic
}

/// What an import did, or would do.
public struct ImportReport: Hashable, Sendable {
  /// How many rejections are kept with their details.
  public static let maximumRejections = 100

  /// Places that were not there before.
  public var created = 0
  /// Places that were there and differ now.
  public var updated = 0
  /// Places that were there just so.
  public var unchanged = 0
  /// Rows that did not go in.
  public private(set) var rejected = 0
  /// The first ``maximumRejections`` of the rows that did not go in.
  public private(set) var rejections: [RejectedRow] = []

  /// Creates a report of nothing done.
  public init() {}

  /// Creates a report that was kept.
  ///
  /// - Parameters:
  ///   - rejected: the number of rows that did not go in; at least as many as the rejections.
  ///   - rejections: the first ``maximumRejections`` of them, by their numbers.
  public init(created: Int, updated: Int, unchanged: Int, rejected: Int, rejections: [RejectedRow]) {
    self.created = created
    self.updated = updated
    self.unchanged = unchanged
    self.rejected = rejected
    self.rejections = rejections
  }

  /// Counts a row that did not go in.
  public mutating func reject(_ row: RejectedRow) {
    rejected += 1
    if rejections.count < Self.maximumRejections { rejections.append(row) }
  }

  /// Sets the location of each rejection to the one that the closure returns for it.
  public mutating func locateRejections(_ location: (RejectedRow) -> RowLocation) {
    for index in rejections.indices { rejections[index].location = location(rejections[index]) }
  }

  /// The number of rows that went in, or were there already.
  public var accepted: Int { created + updated + unchanged }

  /// Counts rows that did not go in, of which no details are kept: those of ``maximumRejections`` others are.
  public mutating func reject(count: Int) {
    rejected += count
  }

  /// Notes that nothing went in after all: what is left is the rows that were rejected.
  public mutating func takeNothing() {
    created = 0
    updated = 0
    unchanged = 0
  }

  /// Adds what another part of the same import did. The rejections that are kept are the first of both by their numbers.
  public mutating func add(_ other: ImportReport) {
    created += other.created
    updated += other.updated
    unchanged += other.unchanged
    rejected += other.rejected
    if other.rejections.isEmpty { return }
    rejections = Array((rejections + other.rejections).sorted { $0.number < $1.number }.prefix(Self.maximumRejections))
  }
}

/// What takes places in bulk: a store's way in.
public protocol PointImporter: Sendable {
  /// Takes all the rows but those it rejects, or none when the sequence or the store fails.
  ///
  /// A row with an id replaces the place of that id, or creates it. A row without one replaces the place of the same
  /// origin; where there is none, or the row has no origin, it creates a place. A replaced place keeps its id and its
  /// `createdAt`, and its version grows by one; a place that is just as the row says is left alone. Of rows that mean the
  /// same place the last one counts, the others are reported as rejected; so is a row whose id and origin belong to
  /// two places. Each change is in the change log where the store keeps one.
  ///
  /// A reader that rejects rows by itself makes them count by throwing from the sequence where the mode is
  /// ``ImportMode/atomic``.
  ///
  /// - Parameters:
  ///   - batches: the rows, some thousands at a time; taken one after another, at the store's pace.
  ///   - mode: whether rows that are rejected keep the others out too; the report then has nothing but them.
  ///   - dryRun: whether only to say what would be done.
  ///   - key: makes a repeat of the import return the report of the first, for ``IdempotencyKey/lifetime``, and change
  ///     nothing. It is committed with the rows. A dry run and an atomic import that takes nothing leave no key.
  /// - Throws: ``PointStoreError``, ``PointWriteError/keyInFlight``, ``PointWriteError/keyReused``, or what the sequence
  ///   throws; nothing has been taken then.
  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    mode: ImportMode,
    dryRun: Bool,
    once key: ImportKey?
  ) async throws -> ImportReport where Batches.Element == [ImportRow]
}

extension PointImporter {
  /// Takes all the rows but those it rejects, whether or not they were taken before.
  ///
  /// - Throws: ``PointStoreError``, or what the sequence throws; nothing has been taken then.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    mode: ImportMode,
    dryRun: Bool
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await importRows(batches, mode: mode, dryRun: dryRun, once: nil)
  }
}

/// The key of an import, whose hash is known when its last row is.
public struct ImportKey: Sendable {
  /// The owner of the key and the key: what is unique.
  public let text: String

  private let requestHash: @Sendable () -> UInt64

  /// Creates a key.
  ///
  /// - Parameter requestHash: returns the hash of the whole request; called once the rows have been read to their end.
  public init(text: String, requestHash: @escaping @Sendable () -> UInt64) {
    self.text = text
    self.requestHash = requestHash
  }

  /// Returns the key with the hash of the request, all of whose rows have been read.
  public func hashed() -> IdempotencyKey { IdempotencyKey(text: text, requestHash: requestHash()) }
}

extension PointImporter {
  /// Takes all the rows but those it rejects; see ``importRows(_:mode:dryRun:)``.
  ///
  /// - Throws: ``PointStoreError``, or what the sequence throws; nothing has been taken then.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    dryRun: Bool = false
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await importRows(batches, mode: .partial, dryRun: dryRun)
  }
}
