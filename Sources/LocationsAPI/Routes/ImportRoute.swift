import Gzip
import HTTPServer
import JSONText
import Logging
import NIOHTTP1
import PlaceFormats
import Points
import Synchronization

/// `POST /locations/import`: takes a stream of places, at the store's pace.
struct ImportRoute {
  /// What places may be sent as, for `Accept-Post`.
  static let mediaTypes =
    "application/x-ndjson, application/geo+json, application/geo+json-seq, text/csv, application/json"

  let editor: PlaceEditor

  func respond(to request: HTTPRequest, from principal: Principal) async throws(Problem) -> HTTPResponse {
    let arguments = try ImportArguments(request, principal)
    // Reading rows is work enough to hold up the other connections of this one's event loop.
    let notes = ImportNotes()
    let report = try await withTaskExecutorPreference(globalConcurrentExecutor) { () throws(Problem) -> ImportReport in
      try await take(arguments, request, notes: notes)
    }
    let warnings = notes.keyWarning.map { ["\($0) (parameters source and idField)"] } ?? []
    return HTTPResponse(
      contentType: ResponseFormat.json.contentType, bytes: ImportReportJSON.text(of: report, warnings: warnings))
  }

  private func take(
    _ arguments: ImportArguments, _ request: HTTPRequest, notes: ImportNotes
  ) async throws(Problem) -> ImportReport {
    let rejections = Mutex(ImportReport())
    let parser = PlaceParser(format: arguments.format, options: arguments.options)
    let rows = PlaceReader(arguments.chunks, parser: parser, notes: notes) { row in
      rejections.withLock { $0.reject(row) }
    }

    var report: ImportReport
    do {
      if arguments.isAtomic {
        let all = AllOrNothing(rows) { rejections.withLock { $0 } }
        report = try await editor.importRows(all, mode: .atomic, dryRun: arguments.isDryRun, once: arguments.key)
        guard report.rejected == 0 else {
          report.locateRejections(notes.location)
          throw RejectedImport(report: report)
        }
      } else {
        report = try await editor.importRows(rows, mode: .partial, dryRun: arguments.isDryRun, once: arguments.key)
      }
    } catch {
      throw problem(for: error, request)
    }

    report.add(rejections.withLock { $0 })
    report.locateRejections(notes.location)
    return report
  }

  /// The problem that ended an import. Nothing has been taken then.
  private func problem(for error: any Error, _ request: HTTPRequest) -> Problem {
    switch error {
    case let error as HTTPBodyError: return error.problem
    case let error as FormatError: return .malformedImport("\(error)")
    case GzipError.tooMuch:
      return Problem(
        .payloadTooLarge, code: "body-too-large", detail: "the body \(GzipError.tooMuch); nothing was imported")
    case let error as GzipError: return .malformedImport("the body \(error)")
    case let error as RejectedImport:
      return Problem(
        .unprocessableEntity, code: "invalid-place", detail: "\(error); nothing was imported",
        errors: error.report.rejections.map { ProblemError(.row($0.number, line: $0.location.line), $0.detail) })
    case let error as PointStoreError:
      request.log(error)
      return Problem(error)
    case let error as PointWriteError: return request.problem(for: error)
    case is CancellationError: return HTTPBodyError.cancelled.problem
    default:
      request.logger.error("an import failed", metadata: ["error": "\(String(reflecting: error))"])
      return .internal
    }
  }
}

/// What `POST /locations/import` can be asked.
private struct ImportArguments {
  private enum Mode: String, CaseIterable {
    case partial
    case atomic
  }

  let format: PlaceFormat
  let chunks: BodyChunks
  let isAtomic: Bool
  let isDryRun: Bool
  let options: RowOptions
  let key: ImportKey?

  /// Reads the request's head.
  ///
  /// - Throws: `Problem` 400 or 415.
  init(_ request: HTTPRequest, _ principal: Principal) throws(Problem) {
    var values = try ParameterValues(request, allowing: [.mode, .dryRun, .source, .idField, .unknownFields])
    isAtomic = values.choice(.mode, default: Mode.partial) == .atomic
    isDryRun = values.flag(.dryRun)
    options = values.rowOptions()
    try values.check()
    guard let format = request.mediaType.flatMap({ PlaceFormat(mediaType: $0) }) else {
      throw .unsupportedMediaType(request, accepted: ImportRoute.mediaTypes, header: "accept-post")
    }
    self.format = format
    let keyed = try ImportKey.read(request, of: principal)
    key = keyed?.key
    chunks = try BodyChunks(request, hash: keyed?.hash)
  }
}

extension ParameterValues {
  /// How the rows of an import are read.
  fileprivate mutating func rowOptions() -> RowOptions {
    do {
      return try RowOptions(
        unknownFields: choice(.unknownFields, default: .tags), source: self[.source], idField: self[.idField])
    } catch {
      switch error {
      case .source(let detail): note(.invalid, Parameter.source.name, detail)
      case .idField(let detail): note(.invalid, Parameter.idField.name, detail)
      }
      return .standard
    }
  }
}

extension Problem {
  /// 400 for an import that can't be read to its end.
  fileprivate static func malformedImport(_ detail: String) -> Problem {
    Problem(.badRequest, code: "malformed-body", detail: "\(detail); nothing was imported")
  }
}

/// Writes what an import did.
enum ImportReportJSON {
  /// Returns the JSON object of a report; `warnings` is left out where there are none.
  static func text(of report: ImportReport, warnings: [String] = []) -> [UInt8] {
    var json = Array(
      """
      {"created":\(report.created),"updated":\(report.updated),"unchanged":\(report.unchanged),\
      "rejected":\(report.rejected),"errors":[
      """.utf8)
    for (index, row) in report.rejections.enumerated() {
      json.append(contentsOf: "\(index > 0 ? "," : ""){\"row\":\(row.number),".utf8)
      if let line = row.location.line { json.append(contentsOf: "\"line\":\(line),".utf8) }
      json.append(contentsOf: "\"detail\":".utf8)
      JSONString.append(row.detail, to: &json)
      json.append(UInt8(ascii: "}"))
    }
    json.append(UInt8(ascii: "]"))
    for (index, warning) in warnings.enumerated() {
      json.append(contentsOf: (index > 0 ? "," : ",\"warnings\":[").utf8)
      JSONString.append(warning, to: &json)
    }
    json.append(contentsOf: (warnings.isEmpty ? "}" : "]}").utf8)
    return json
  }
}
