import ArgumentParser
import AsyncHTTPClient
import Basics
import Foundation
import Gzip
import Hosting
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import Points
import ServerFeatures
import Synchronization
import TextFiles

/// A running server that files of places or areas are sent to.
struct ImportServer {
  /// The name of rows that are sent instead of a file, in messages.
  private static let rowsPath = "the rows"

  /// The maximum size of a report, which has the first hundred rejected rows.
  private static let maximumReportBytes = 1 << 20

  private let target: ServerTarget

  /// The path of the call, with its parameters.
  private let call: String

  private let isAtomic: Bool

  /// A Boolean value that indicates whether the import deletes the places of a source that no row means.
  private let isReplacing: Bool

  private let onProgress: @Sendable (_ path: String, _ bytesRead: Int) -> Void
  private let charset: TextCharset?
  private let notes: ImportNotes
  private let onWarning: (String) -> Void

  /// Creates a server.
  ///
  /// - Parameters:
  ///   - charset: the encoding of the files; `nil` if each file determines it.
  ///   - onProgress: takes, at each chunk that is sent, the path of the file and the number of its bytes read so far.
  ///   - notes: the notes about the rows, to which the server's are added.
  ///   - onWarning: takes the server's warnings.
  init(
    _ target: ServerTarget, path: String = "/locations/import", _ importOptions: ImportOptions,
    rows options: RowOptions, charset: TextCharset? = nil, notes: ImportNotes,
    onProgress: @escaping @Sendable (_ path: String, _ bytesRead: Int) -> Void, onWarning: @escaping (String) -> Void
  ) {
    self.target = target
    isAtomic = importOptions.mode == .atomic
    isReplacing = importOptions.removal?.limit != nil
    self.onProgress = onProgress
    self.charset = charset
    self.notes = notes
    self.onWarning = onWarning
    let source = importOptions.sources.first
    let parameters = [
      importOptions.mode == .atomic ? "mode=atomic" : nil, importOptions.dryRun ? "dryRun=true" : nil,
      options.unknownFields == .tags ? nil : "unknownFields=\(options.unknownFields.rawValue)",
      (options.source ?? source?.name).map { "source=\(PercentEncoding.encode($0))" },
      options.idField.map { "idField=\(PercentEncoding.encode($0))" },
      options.nameField.map { "nameField=\(PercentEncoding.encode($0))" },
      importOptions.removal.map { "replaceSource=\(PercentEncoding.encode($0.source))" },
      importOptions.removal?.limit.map { "maxDeletions=\(PercentEncoding.encode($0.description))" },
      importOptions.conflicts == .edits ? nil : "conflicts=\(importOptions.conflicts.rawValue)",
      importOptions.assumeEditedSince.map { "assumeEditedSince=\(PercentEncoding.encode($0.description))" },
      source?.licence.map { "licence=\(PercentEncoding.encode($0))" },
      source?.attribution.map { "attribution=\(PercentEncoding.encode($0))" },
      source?.url.map { "attributionUrl=\(PercentEncoding.encode($0))" },
    ].compactMap(\.self)
    call = path + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
  }

  /// Sends the files, each by a request of its own, and adds up the server's reports. Memory is bounded whatever the
  /// size of a file. Rows are numbered over all files.
  func importing(_ files: [PointFiles.File]) async throws(ImportServerError) -> ImportReport {
    try await target.withClient { (client) async throws(ImportServerError) in
      var whole = ImportReport()
      for (index, file) in files.enumerated() {
        do throws(ImportServerError) {
          let (report, file) = try await send(file, by: client)
          for warning in report.warnings ?? [] { onWarning("\(file.path): \(warning)") }
          notes.note(implausibleWarnings: report.implausible ?? 0)
          whole.add(report.counted(after: whole.rowCount, in: file))
        } catch {
          throw error.about(file, importedBefore: index)
        }
      }
      return whole
    }
  }

  /// Sends rows as NDJSON, by one request, and adds the rows that were rejected before they were sent.
  ///
  /// Where the import deletes places, the ids of rejected rows follow the others, so that the server rejects them too and
  /// keeps their places.
  ///
  /// - Parameter rejections: the rows that have been rejected so far.
  func importing(
    _ batches: RowBatches, _ rejections: RejectedRows
  ) async throws(ImportServerError) -> ImportReport {
    try await target.withClient { (client) async throws(ImportServerError) in
      let rows = PointFiles.File(path: Self.rowsPath, format: .ndjson)
      let counter = RowCounter()
      let buffers = RowBuffers(
        batches: isAtomic ? RowBatches(AllOrNothing(batches) { rejections.report }) : batches, counter: counter,
        rejected: { [isReplacing] in isReplacing ? rejections.places : RejectedPlaces() })
      let body = HTTPClientRequest.Body.stream(buffers, length: .unknown)
      let sent = try await send(rows, key: UUID().uuidString, body: body, by: client)
      var report = sent.counted(after: 0, in: rows, before: counter)
      report.locateRejections { _ in RowLocation() }
      report.add(rejections.report)
      return report
    }
  }

  /// Sends rows of areas as NDJSON, by one request.
  func importing(_ rows: [AreaRow]) async throws(ImportServerError) -> ImportReport {
    var text: [UInt8] = []
    for row in rows { AreaJSON.append(row, to: &text) }
    let body = HTTPClientRequest.Body.bytes(ByteBuffer(bytes: text))
    return try await target.withClient { (client) async throws(ImportServerError) in
      let file = PointFiles.File(path: Self.rowsPath, format: .ndjson)
      let sent = try await send(file, key: UUID().uuidString, body: body, by: client)
      let counted = sent.counted(after: 0, in: file)
      // The numbers of the rows in their files, of which some were rejected before.
      var report = ImportReport()
      (report.created, report.updated) = (counted.created, counted.updated)
      (report.unchanged, report.deleted) = (counted.unchanged, counted.deleted)
      for rejection in counted.rejections where rows.indices.contains(rejection.number - 1) {
        report.reject(RejectedRow(number: rows[rejection.number - 1].number, detail: rejection.detail))
      }
      report.reject(count: counted.rejected - report.rejected)
      return report
    }
  }

  /// Sends a file, and once more where the connection broke off. Both requests have one key, so that the file is
  /// imported once.
  ///
  /// - Returns: the report, and the file with its format.
  private func send(
    _ file: PointFiles.File, by client: HTTPClient
  ) async throws(ImportServerError) -> (ServerReport, PointFiles.File) {
    let key = UUID().uuidString
    let start = try await start(of: file)
    let file = PointFiles.File(path: file.path, format: start.format)
    func send(_ buffers: FileBuffers) async throws(ImportServerError) -> ServerReport {
      try await self.send(
        file, key: key, body: .stream(buffers, length: .unknown), isCompressed: start.isCompressed, by: client)
    }
    do {
      return (try await send(FileBuffers(path: file.path, start: start, onProgress: progress(of: file))), file)
    } catch {
      // The standard input can't be read a second time.
      guard case .brokenOff = error, file.path != FileChunks.standardInputPath else { throw error }
      do {
        var start = start
        start.rewind()
        return (try await send(FileBuffers(path: file.path, start: start, onProgress: progress(of: file))), file)
      } catch let second {
        // That the server is unavailable now does not determine the outcome of the first request.
        if case .unavailable = second { throw error }
        throw second
      }
    }
  }

  private func start(of file: PointFiles.File) async throws(ImportServerError) -> FileStart {
    do {
      return try await FileStart(of: file.path, format: file.format, charset: charset)
    } catch let error as FileError {
      throw .unreadable("\(error.reason); nothing was imported")
    } catch {
      throw .unreadable("the file \(error); nothing was imported")
    }
  }

  private func progress(of file: PointFiles.File) -> @Sendable (_ bytesRead: Int) -> Void {
    { [onProgress] in onProgress(file.path, $0) }
  }

  /// Returns the media type of a file, of which the server detects the encoding unless that is given.
  private func mediaType(of file: PointFiles.File) -> String {
    let essence = (file.format ?? .ndjson).mediaType.prefix { $0 != ";" }
    guard let charset, file.path != Self.rowsPath else { return String(essence) }
    return "\(essence); charset=\(charset.name)"
  }

  private func send(
    _ file: PointFiles.File, key: String, body: HTTPClientRequest.Body, isCompressed: Bool = false,
    by client: HTTPClient
  ) async throws(ImportServerError) -> ServerReport {
    var request = target.request(.POST, call)
    request.headers.add(
      contentsOf: [
        "content-type": mediaType(of: file), "accept": "application/json", "idempotency-key": key,
      ])
    if isCompressed { request.headers.add(name: "content-encoding", value: "gzip") }
    request.body = body
    let status: HTTPResponseStatus
    let text: ByteBuffer
    do {
      let response = try await client.execute(request, deadline: .distantFuture)
      status = response.status
      text = try await response.body.collect(upTo: Self.maximumReportBytes)
    } catch let error as RejectedImport {
      throw .rejected(error.report)
    } catch let error as GzipError {
      throw .unreadable("the file \(error); nothing was imported")
    } catch let error as FileError {
      throw .unreadable("\(file.path == Self.rowsPath ? "\(error)" : error.reason); nothing was imported")
    } catch {
      throw ImportServerError(error, target: target.base + call)
    }
    guard status == .ok else { throw ImportServerError(status, body: Data(text.readableBytesView), file: file) }
    guard let report = try? JSONDecoder().decode(ServerReport.self, from: Data(text.readableBytesView)),
      report.isPlausible
    else { throw .denied("\(target.base) did not respond as Waymark does") }
    return report
  }
}

/// The buffers of a file that is sent.
private struct FileBuffers: AsyncSequence, Sendable {
  let path: String

  /// The chunks that have been read already, with the reading of the others.
  let start: FileStart

  let onProgress: @Sendable (_ bytesRead: Int) -> Void

  func makeAsyncIterator() -> Iterator {
    Iterator(
      first: start.chunks[...], chunks: start.rest,
      table: start.isArchive ? FileText(path: path, archives: .tables) : nil,
      onProgress: onProgress)
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var first: ArraySlice<[UInt8]>
    fileprivate var chunks: FileChunks.AsyncIterator
    fileprivate var table: FileText?
    fileprivate let onProgress: @Sendable (_ bytesRead: Int) -> Void
    fileprivate var bytesRead = 0

    mutating func next() async throws -> ByteBuffer? {
      if table != nil {
        let text = try await table?.next()
        onProgress(table?.bytesRead ?? 0)
        return text.map { ByteBuffer(bytes: $0) }
      }
      let next = if let chunk = first.popFirst() { chunk } else { try await chunks.next() }
      guard let chunk = next else { return nil }
      bytesRead += chunk.count
      onProgress(bytesRead)
      return ByteBuffer(bytes: chunk)
    }
  }
}

/// The numbers of rows that were sent: valid ones, and after them the ids of rejected ones.
final class RowCounter: Sendable {
  private let state = Mutex((valid: 0, rejected: 0))

  var valid: Int { state.withLock { $0.valid } }
  var rejected: Int { state.withLock { $0.rejected } }

  func add(valid: Int = 0, rejected: Int = 0) {
    state.withLock { $0 = ($0.valid + valid, $0.rejected + rejected) }
  }
}

/// The buffers of rows that are sent as NDJSON, and behind them those of the ids of rejected rows.
private struct RowBuffers: AsyncSequence, Sendable {
  let batches: RowBatches
  let counter: RowCounter

  /// Returns the places of the rejected rows, once all rows have been parsed.
  let rejected: @Sendable () -> RejectedPlaces

  func makeAsyncIterator() -> Iterator {
    Iterator(batches: batches.makeAsyncIterator(), counter: counter, rejected: rejected)
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var batches: RowBatches.Iterator
    fileprivate let counter: RowCounter
    fileprivate var rejected: (@Sendable () -> RejectedPlaces)?

    mutating func next() async throws -> ByteBuffer? {
      if let batch = try await batches.next() {
        counter.add(valid: batch.count)
        var text: [UInt8] = []
        for row in batch { PointFileWriter.append(row, to: &text) }
        return ByteBuffer(bytes: text)
      }
      guard let rejected = rejected.take()?(), rejected.count > 0 else { return nil }
      counter.add(rejected: rejected.count)
      return ByteBuffer(bytes: rejected.text)
    }
  }
}

extension RejectedPlaces {
  /// The number of lines of ``text``.
  fileprivate var count: Int { ids.count + origins.count + unknown }

  /// The places as lines of NDJSON that a server rejects too, as a place needs a name and a position.
  fileprivate var text: [UInt8] {
    var text: [UInt8] = []
    func append(_ writeMembers: (inout JSONWriter<[UInt8]>) -> Void) {
      var json = JSONWriter()
      json.beginObject()
      writeMembers(&json)
      json.endObject()
      text += json.sink
      text.append(UInt8(ascii: "\n"))
    }
    for id in ids { append { $0.write(member: "id", "\(id)") } }
    for origin in origins {
      append {
        $0.write(member: "source", origin.source)
        $0.write(member: "sourceId", origin.sourceID)
      }
    }
    for _ in 0..<unknown { append { _ in } }
    return text
  }
}

extension ImportReport {
  fileprivate var rowCount: Int { accepted + rejected }
}

/// A server's response to an import.
struct ServerReport: Decodable {
  struct Row: Decodable {
    let row: Int
    let line: Int?
    let detail: String
  }

  let created: Int
  let updated: Int
  let unchanged: Int
  let deleted: Int?
  let kept: Int?
  let keptEdits: Int?
  let conflicts: Int?
  let rejected: Int
  let errors: [Row]
  let warnings: [String]?
  let implausible: Int?

  /// A Boolean value that indicates whether the numbers can be those of an import. Their sums do not overflow.
  var isPlausible: Bool {
    let counts =
      [created, updated, unchanged, rejected] + [deleted, kept, keptEdits, conflicts, implausible].map { $0 ?? 0 }
    return (counts + errors.map(\.row) + errors.compactMap(\.line)).allSatisfy { 0...1 << 53 ~= $0 }
  }

  /// Returns the report of a file whose rows come after a number of others.
  ///
  /// - Parameter counter: the rows that were sent, of which those that were rejected before are left out.
  func counted(after rows: Int, in file: PointFiles.File, before counter: RowCounter? = nil) -> ImportReport {
    var report = ImportReport()
    (report.created, report.updated, report.unchanged, report.deleted) = (created, updated, unchanged, deleted)
    (report.kept, report.keptEdits, report.conflicts) = (kept ?? 0, keptEdits ?? 0, conflicts ?? 0)
    let errors = errors.filter { $0.row <= counter?.valid ?? .max }
    for error in errors { report.reject(error.rejection(after: rows, in: file)) }
    report.reject(count: max(0, rejected - (counter?.rejected ?? 0) - errors.count))
    return report
  }
}

extension ServerReport.Row {
  /// Returns the rejection of a row of a file whose rows come after a number of others.
  func rejection(after rows: Int, in file: PointFiles.File) -> RejectedRow {
    let isFeature = file.format == .geoJSON || file.format == .geoJSONSequence
    let location = RowLocation(file: file.path, line: line, feature: isFeature ? row : nil)
    return RejectedRow(number: rows + row, detail: detail, location: location)
  }
}

/// The error of a file that a server did not import.
enum ImportServerError: Error, Hashable, CustomStringConvertible {
  /// The file or its places can't be read.
  case unreadable(String)
  /// The server denies the request, to this user or at all.
  case denied(String)
  /// The server, or its store, can't be reached.
  case unavailable(String)
  /// Rows are invalid, and the import is atomic.
  case rejected(ImportReport)
  /// The connection broke: the file may have been imported or not.
  case brokenOff(String)

  /// Creates the error of a connection.
  init(_ error: any Error, target: String) {
    self =
      ServerTarget.isBreak(error)
      ? .brokenOff("\(target): the connection broke; the file may have been imported or not")
      : .unavailable("\(target) can't be reached: \(HTTPClient.reason(of: error)); nothing was imported")
  }

  /// Creates the error of a response that is not a report.
  init(_ status: HTTPResponseStatus, body: Data, file: PointFiles.File) {
    struct Problem: Decodable {
      let detail: String?
    }
    struct RejectedRows: Decodable {
      let errors: [ServerReport.Row]
    }
    let detail = (try? JSONDecoder().decode(Problem.self, from: body))?.detail
      .map { ForeignFile.naming(file.path, in: $0).escapingControls() }
    if status == .unprocessableEntity, let rows = (try? JSONDecoder().decode(RejectedRows.self, from: body))?.errors,
      !rows.isEmpty
    {
      var report = ImportReport()
      for row in rows { report.reject(row.rejection(after: 0, in: file)) }
      self = .rejected(report)
      return
    }
    let reason = "the server responded with \(status.code)\(detail.map { ": \($0)" } ?? "")"
    switch status {
    // Errors of places read as those of an import into a database.
    case .badRequest, .unprocessableEntity: self = .unreadable(detail ?? reason)
    case .payloadTooLarge, .unsupportedMediaType: self = .unreadable(reason)
    case .requestTimeout, .tooManyRequests, .badGateway, .serviceUnavailable, .gatewayTimeout:
      self = .unavailable(reason)
    default: self = .denied(reason)
    }
  }

  /// Returns the error with the name of its file, and with the outcome of the files before it.
  func about(_ file: PointFiles.File, importedBefore count: Int) -> ImportServerError {
    var text = description
    if count > 0 { text += count == 1 ? "; the file before it was" : "; the \(count) files before it were" }
    switch self {
    case .unreadable: return .unreadable("\(file.path): \(text)")
    case .denied: return .denied(text)
    case .unavailable: return .unavailable(text)
    case .rejected: return self
    case .brokenOff: return .brokenOff(text)
    }
  }

  var description: String {
    switch self {
    case .unreadable(let text), .denied(let text), .unavailable(let text), .brokenOff(let text): text
    case .rejected(let report): ImportSummary.rejection(of: report)
    }
  }

  var exitCode: ExitCode {
    switch self {
    case .unreadable, .rejected: Exit.badData
    case .denied: Exit.failed
    case .unavailable, .brokenOff: Exit.unavailable
    }
  }
}
