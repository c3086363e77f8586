import Foundation
import Hosting
import JSONText
import MemoryStore
import PointFormats
import Points
import PostgresClient
import PostgresStore
import SQLiteJournal
import ServerFeatures

/// A copy of the places of a server, with the data sets that they come from and the named areas.
protocol FollowCopy: Sendable {
  /// Applies changes, of which some may have been applied before. On return they are durable.
  ///
  /// - Parameters:
  ///   - position: the position after the changes; `nil` if it is not known yet.
  ///   - followed: the ids of the places that came from the server.
  func apply(_ changes: [FollowedChange], upTo position: String?, followed: Set<PointID>) async throws

  /// A Boolean value that indicates whether the copy is known to have no place.
  func isEmpty() async throws -> Bool

  /// Registers data sets. On return they are durable.
  func register(_ sources: [DataSource]) async throws

  /// Removes a data set, or returns `false` if it has places or areas.
  func removeSource(named name: String) async throws -> Bool

  /// A Boolean value that indicates whether the copy has areas.
  var hasAreas: Bool { get }

  /// Creates or replaces areas.
  ///
  /// - Returns: the areas that were not copied, because another area has their origin.
  func apply(_ areas: [AreaRow]) async throws -> [AreaRow]

  /// Deletes areas, as far as there are any.
  func deleteAreas(_ ids: [PointID]) async throws

  func close() async
}

extension FollowCopy {
  func isEmpty() async throws -> Bool { false }

  func removeSource(named name: String) async throws -> Bool { true }

  var hasAreas: Bool { false }

  func apply(_ areas: [AreaRow]) async throws -> [AreaRow] { [] }

  func deleteAreas(_ ids: [PointID]) async throws {}

  func close() async {}
}

extension [FollowedChange] {
  /// The changes, and the position after them if it is known, as NDJSON.
  fileprivate func lines(upTo position: String?) -> [UInt8] {
    var text: [UInt8] = []
    for change in self { text += change.line }
    if let position { text += [UInt8]("{\"position\":\"\(position)\"}\n".utf8) }
    return text
  }
}

extension [DataSource] {
  /// The data sets as a line of NDJSON.
  fileprivate var line: [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.write(name: "sources")
    json.writeArray(of: self) { source, json in
      json.write(member: "name", source.name)
      if let licence = source.licence { json.write(member: "licence", licence) }
      if let attribution = source.attribution { json.write(member: "attribution", attribution) }
      if let url = source.url { json.write(member: "url", url) }
    }
    json.endObject()
    return json.sink + [UInt8(ascii: "\n")]
  }
}

/// The standard output.
struct OutputCopy: FollowCopy {
  func apply(_ changes: [FollowedChange], upTo position: String?, followed: Set<PointID>) async throws {
    try write(changes.lines(upTo: position))
  }

  func register(_ sources: [DataSource]) async throws { try write(sources.line) }

  private func write(_ text: [UInt8]) throws {
    do {
      try FileHandle.standardOutput.write(contentsOf: text)
    } catch {
      throw FollowError.damaged("the standard output can't be written")
    }
  }
}

/// A command that takes the changes on its standard input.
struct CommandCopy: FollowCopy {
  let command: String

  /// The path of the file that is the standard input.
  let path: String

  func apply(_ changes: [FollowedChange], upTo position: String?, followed: Set<PointID>) async throws {
    try await run(changes.lines(upTo: position))
  }

  func register(_ sources: [DataSource]) async throws { try await run(sources.line) }

  private func write(_ input: [UInt8]) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw ExportFileError(path: path) }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    try file.write(contentsOf: input)
    try file.close()
  }

  private func run(_ input: [UInt8]) async throws {
    let url = URL(filePath: path)
    defer { try? FileManager.default.removeItem(at: url) }
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", command]
    do {
      try write(input)
      let page = try FileHandle(forReadingFrom: url)
      // Foundation keeps the process, and with it what is not closed.
      defer { try? page.close() }
      process.standardInput = page
      try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
        process.terminationHandler = { _ in ended.resume() }
        do {
          try process.run()
        } catch {
          process.terminationHandler = nil
          ended.resume(throwing: error)
        }
      }
    } catch {
      throw FollowError.unavailable("the command can't be run: \(error)")
    }
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      throw FollowError.unavailable("the command ended with \(process.terminationStatus)")
    }
  }
}

/// The store of a Waymark.
struct StoreCopy: FollowCopy {
  /// The number of places that are deleted at once.
  private static let concurrentDeletions = 16

  private let store: any PointStore
  private let areas: any AreaStore
  private let end: @Sendable () async -> Void

  /// Opens the file of a memory store.
  ///
  /// - Throws: `PointStoreError`.
  init(path: String) async throws {
    let journal = try await SQLiteJournal.open(path: path)
    let store = try await MemoryStore(journal: journal)
    (self.store, areas) = (store, store)
    end = { await journal.close() }
  }

  /// Opens a database.
  ///
  /// - Throws: ``FollowError`` or `PointStoreError`.
  init(_ configuration: DatabaseConfiguration) async throws {
    let store: PostgresStore
    do {
      store = try configuration.makeStore()
    } catch {
      throw FollowError.damaged("\(error)")
    }
    try await store.checkReadiness()
    (self.store, areas) = (store, PostgresAreas(store))
    end = { await store.shutDown() }
  }

  func close() async { await end() }

  func isEmpty() async throws -> Bool {
    try await reporting { try await store.page(matching: PointQuery(limit: 1)).points.isEmpty }
  }

  func apply(_ changes: [FollowedChange], upTo position: String?, followed: Set<PointID>) async throws {
    try await reporting {
      try await delete(changes.filter { $0.place == nil }.map(\.id))
      let rows = Self.rows(changes)
      guard !rows.isEmpty else { return }
      let batches = AsyncStream { continuation in
        continuation.yield(rows)
        continuation.finish()
      }
      // Fields that were edited in the copy stay until the server changes them, and so do deletions.
      var options = ImportOptions()
      options.conflicts = .source
      guard try await store.importRows(batches, options: options).rejected > 0 else { return }
      for row in rows { try await put(row, followed) }
    }
  }

  func register(_ sources: [DataSource]) async throws {
    try await reporting { try await store.register(sources) }
  }

  func removeSource(named name: String) async throws -> Bool {
    try await reporting { [.removed, .unknown].contains(try await store.removeSource(named: name)) }
  }

  let hasAreas = true

  func apply(_ rows: [AreaRow]) async throws -> [AreaRow] {
    try await reporting {
      let present = try await areas.areas(isCurrent: true)
      let taken = rows.filter { row in
        row.draft.origin.flatMap { present[$0]?.id }.map { $0 != row.id } ?? false
      }
      let ids = Set(taken.map(\.id))
      _ = try await AreaEditor(areas).importRows(rows.filter { !ids.contains($0.id) })
      return taken
    }
  }

  func deleteAreas(_ ids: [PointID]) async throws {
    try await reporting { try await AreaEditor(areas).delete(ids: ids) }
  }

  private func delete(_ ids: [PointID]) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, id) in ids.enumerated() {
        if index >= Self.concurrentDeletions { try await group.next() }
        group.addTask {
          // No edit of the copy: a later change of the server brings the place back.
          var batch = PointBatch([.delete(id: id, if: .none)])
          batch.forgetsDeletions = true
          _ = try await store.apply(batch)
        }
      }
      try await group.waitForAll()
    }
  }

  /// Replaces or creates a place that an import did not take.
  ///
  /// If another place that was copied has its origin, the server has given that place another one, or deleted it: its
  /// own change follows. A place that someone deleted in the copy stays away.
  private func put(_ row: ImportRow, _ followed: Set<PointID>) async throws {
    guard let id = row.id else { return }
    func put() async throws(PointWriteError) {
      do throws(PointWriteError) {
        _ = try await store.put(row.draft, id: id, if: .none, as: .source)
      } catch .deletedByClient {}
    }
    do throws(PointWriteError) {
      try await put()
    } catch .originTaken {
      guard let origin = row.draft.origin else { return }
      let query = PointQuery(source: .init(name: origin.source, sourceID: origin.sourceID), limit: 1)
      guard let owner = try await store.page(matching: query).points.first?.point.id, followed.contains(owner) else {
        return StandardError.warn("place \(id) was not copied: another place has its source and sourceId")
      }
      try await delete([owner])
      try await put()
    }
  }

  private static func rows(_ changes: [FollowedChange]) -> [ImportRow] {
    var parser = PointParser(format: .ndjson)
    var rows: [PointParser.Row] = []
    do throws(FormatError) {
      for place in changes.lazy.compactMap(\.place) {
        try parser.consume(place, into: &rows)
        try parser.consume(CollectionOfOne(UInt8(ascii: "\n")), into: &rows)
      }
      try parser.finish(into: &rows)
    } catch {
      StandardError.warn("places were not copied: \(error)")
    }
    return rows.compactMap { row in
      switch row {
      case .success(let row): return row
      case .failure(let rejection):
        StandardError.warn("a place was not copied: \(rejection.detail)")
        return nil
      }
    }
  }

  /// Calls the store, and turns the errors after which a later call may succeed into ``FollowError/unavailable``.
  private func reporting<Value>(_ call: () async throws -> Value) async throws -> Value {
    do {
      return try await call()
    } catch let error as PointWriteError {
      guard case .store(let error) = error else { throw FollowError.unavailable("the copy: \(error)") }
      throw Self.error(error)
    } catch let error as PointStoreError {
      throw Self.error(error)
    }
  }

  private static func error(_ error: PointStoreError) -> any Error {
    switch error {
    case .unavailable, .readOnly, .overloaded, .timeout, .outcomeUnknown: FollowError.unavailable("the copy: \(error)")
    default: error
    }
  }
}
