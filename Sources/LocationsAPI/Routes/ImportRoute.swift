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

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let arguments = try ImportArguments(request)
    // Reading rows is work enough to hold up the other connections of this one's event loop.
    let report = try await withTaskExecutorPreference(globalConcurrentExecutor) { () throws(Problem) -> ImportReport in
      try await take(arguments, request)
    }
    return HTTPResponse(contentType: ResponseFormat.json.contentType, bytes: ImportReportJSON.text(of: report))
  }

  private func take(
    _ arguments: ImportArguments, _ request: HTTPRequest
  ) async throws(Problem) -> ImportReport {
    let rejections = Mutex(ImportReport())
    let rows = PlaceReader(arguments.chunks, parser: PlaceParser(format: arguments.format)) { row in
      rejections.withLock { $0.reject(row) }
    }

    var report: ImportReport
    do {
      if arguments.isAtomic {
        let all = AllOrNothing(rows) { rejections.withLock { $0.rejections.first } }
        report = try await editor.importRows(all, mode: .atomic, dryRun: arguments.isDryRun)
        if let first = report.rejections.first {
          rejections.withLock { $0.add(report) }
          throw RejectedImport(row: first)
        }
      } else {
        report = try await editor.importRows(rows, mode: .partial, dryRun: arguments.isDryRun)
      }
    } catch {
      throw problem(for: error, request, rejected: rejections.withLock { $0.rejections })
    }

    report.add(rejections.withLock { $0 })
    return report
  }

  /// The problem that ended an import. Nothing has been taken then.
  private func problem(for error: any Error, _ request: HTTPRequest, rejected: [RejectedRow]) -> Problem {
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
        errors: rejected.map { ProblemError(.row($0.number), $0.detail) })
    case let error as PointStoreError:
      request.log(error)
      return Problem(error)
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

  /// Reads the request's head.
  ///
  /// - Throws: `Problem` 400 or 415.
  init(_ request: HTTPRequest) throws(Problem) {
    var values = try ParameterValues(request, allowing: [.mode, .dryRun])
    isAtomic = values.choice(.mode, default: Mode.partial) == .atomic
    isDryRun = values.flag(.dryRun)
    try values.check()
    guard let format = request.mediaType.flatMap({ PlaceFormat(mediaType: $0) }) else {
      throw .unsupportedMediaType(request, accepted: ImportRoute.mediaTypes, header: "accept-post")
    }
    self.format = format
    chunks = try BodyChunks(request)
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
  static func text(of report: ImportReport) -> [UInt8] {
    var json = Array(
      """
      {"created":\(report.created),"updated":\(report.updated),"unchanged":\(report.unchanged),\
      "rejected":\(report.rejected),"errors":[
      """.utf8)
    for (index, row) in report.rejections.enumerated() {
      json.append(contentsOf: "\(index > 0 ? "," : ""){\"row\":\(row.number),\"detail\":".utf8)
      JSONString.append(row.detail, to: &json)
      json.append(UInt8(ascii: "}"))
    }
    json.append(contentsOf: "]}".utf8)
    return json
  }
}
