import ArgumentParser
import Foundation
import NIOHTTP1
import PlaceFormats
import Points

/// Why a server did not import a file.
enum ImportServerError: Error, Hashable, CustomStringConvertible {
  /// The file can't be read, or its places can't.
  case unreadable(String)
  /// The server does not take it, from this user or at all.
  case refused(String)
  /// The server, or its store, can't be reached.
  case unavailable(String)
  /// Rows are invalid, and the import takes all rows or none.
  case rejected(ImportReport)
  /// The connection broke off: the file may have been imported or not.
  case brokenOff(String)

  /// Takes a connection's error.
  init(_ error: any Error, target: String) {
    self =
      ServerTarget.isBreak(error)
      ? .brokenOff("\(target): the connection broke off; whether the file was imported is not known")
      : .unavailable("\(target) can't be reached: \(ServerTarget.reason(error)); nothing was imported")
  }

  /// Takes an answer that is not a report.
  init(_ status: HTTPResponseStatus, body: Data, file: PlaceFiles.File) {
    struct Problem: Decodable {
      let detail: String?
    }
    struct RejectedRows: Decodable {
      let errors: [ServerReport.Row]
    }
    let detail = (try? JSONDecoder().decode(Problem.self, from: body))?.detail
    if status == .unprocessableEntity, let rows = (try? JSONDecoder().decode(RejectedRows.self, from: body))?.errors,
      !rows.isEmpty
    {
      var report = ImportReport()
      for row in rows { report.reject(row.rejection(after: 0, in: file)) }
      self = .rejected(report)
      return
    }
    let reason = "the server answered \(status.code)\(detail.map { ": \($0)" } ?? "")"
    switch status {
    // What is wrong with the places is said as the import into a database says it.
    case .badRequest, .unprocessableEntity: self = .unreadable(detail ?? reason)
    case .payloadTooLarge, .unsupportedMediaType: self = .unreadable(reason)
    case .requestTimeout, .tooManyRequests, .badGateway, .serviceUnavailable, .gatewayTimeout:
      self = .unavailable(reason)
    default: self = .refused(reason)
    }
  }

  /// The error with the file that it is about, and with what has become of those before it.
  func about(_ file: PlaceFiles.File, importedBefore count: Int) -> ImportServerError {
    var text = description
    if count > 0 { text += count == 1 ? "; the file before it was" : "; the \(count) files before it were" }
    switch self {
    case .unreadable: return .unreadable("\(file.path): \(text)")
    case .refused: return .refused(text)
    case .unavailable: return .unavailable(text)
    case .rejected: return self
    case .brokenOff: return .brokenOff(text)
    }
  }

  var description: String {
    switch self {
    case .unreadable(let text), .refused(let text), .unavailable(let text), .brokenOff(let text): text
    case .rejected(let report): ImportSummary.rejection(of: report)
    }
  }

  /// How the program ends.
  var exitCode: ExitCode {
    switch self {
    case .unreadable, .rejected: Exit.badData
    case .refused: Exit.failed
    case .unavailable, .brokenOff: Exit.unavailable
    }
  }
}
