package import APIDescription
import Gzip
import HTTPServer
package import JSONText
package import LocationsAPI
import Logging
import NIOHTTP1
package import PointFormats
package import Points
import TextFiles

/// `POST /locations/import`: imports a stream of places, as fast as the store takes them.
struct ImportRoute: CallHandler {
  static let call = Call(
    .POST, "/locations/import", scope: .write, joinsRestriction: true, id: "importLocations", group: .transfer,
    link: "import", summary: "Import places",
    description:
      "A stream of places of any length, with `Content-Encoding: gzip` or without. A row replaces the place with its"
      + " `id`, or with its `source` and `sourceId`, or else creates one. For keys and tokens with a filter or areas, a"
      + " row is rejected if its place is outside or would be. With `replaceSource`, the place with the id of a rejected"
      + " row is kept and counted as `kept`; where places are deleted, a rejected row without an id counts towards"
      + " `maxDeletions` as one more. Fields and tags of a place with a source that other calls changed keep their"
      + " values, unless `conflicts` says otherwise, and a place that was deleted by a call stays deleted.",
    parameters: [
      .mode, .dryRun, .source, .idField, .nameField, .unknownFields, .replaceSource, .maxDeletions, .conflicts,
      .assumeEditedSince, .licence, .attribution, .attributionURL,
    ],
    describing: [
      "source": .init(
        "Name of the data set of the rows that name none; their `sourceId` is their id in it.",
        .rowOption(example: "waymark-sample"))
    ],
    body: BodyDescription(
      description: "The places.",
      media: [
        .init(.ndjson, Schema(.any, "A JSON object a line."), example: Examples.ndjson),
        .init(.geoJSON, Schema(.object([], others: Schema(.any))), example: Examples.collection),
        .init(.geoJSONSequence, Schema(.any, "Features (RFC 8142)."), example: Examples.sequence),
        .init(.csv, Schema(.any, "A header row and a row for each place (RFC 4180)."), example: Examples.csv),
        .init(.json, Schema(.array(of: Schema(.any))), example: [Examples.draft]),
      ]),
    bodyLimit: .unlimited,
    responses: [.init(200, "What became of the rows.", media: .json(.importReport))],
    problems: [.init(422, .tooManyDeletions)])

  /// The accepted media types, for `Accept-Post`.
  static let mediaTypes =
    "application/x-ndjson, application/geo+json, application/geo+json-seq, text/csv, application/json"

  let service: PointsService
  let memory: ImportMemory

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let arguments = try ImportArguments(request)
    // Reading rows is work enough to hold up the other connections of this one's event loop.
    let notes = ImportNotes()
    let report = try await withTaskExecutorPreference(request.transferExecutor) { () throws(Problem) -> ImportReport in
      try await take(arguments, request, notes: notes)
    }
    var warnings = notes.warnings
    if let warning = notes.keyWarning { warnings.append("\(warning) (parameters source and idField)") }
    if service.isRestricted, arguments.sources.contains(where: { $0 != DataSource(name: $0.name) }) {
      warnings.append("a key or token with a filter or areas registers no licence and no attribution")
    }
    return HTTPResponse(
      ImportReportJSON.text(of: report, warnings: warnings, implausible: notes.implausibleWarnings))
  }

  private func take(
    _ arguments: ImportArguments, _ request: HTTPRequest, notes: ImportNotes
  ) async throws(Problem) -> ImportReport {
    let share = memory.share(of: request.sender)
    defer { share.end() }
    let rejections = RejectedRows(notesPlaces: arguments.removal != nil)
    let parser = PointParser(format: arguments.format, options: arguments.options, charset: arguments.charset)
    let rows = PointFileReader(arguments.chunks, parser: parser, notes: notes) { row in
      rejections.reject(row)
    } onMemory: { bytes in
      try share.hold(read: bytes + rejections.byteCount)
    }

    var report: ImportReport
    do {
      var options = ImportOptions(
        mode: arguments.isAtomic ? .atomic : .partial, dryRun: arguments.isDryRun, key: arguments.key,
        removal: arguments.removal, sources: arguments.sources)
      options.conflicts = arguments.conflicts
      options.assumeEditedSince = arguments.assumeEditedSince
      options.rejected = { rejections.places }
      options.client = IdempotencyKey.client(of: request)
      options.reserve = { bytes in try share.hold(staged: bytes) }
      if arguments.isAtomic {
        let all = AllOrNothing(rows) { rejections.report }
        report = try await request.waitingForStore { try await service.importRows(all, options: options) }
        guard report.rejected == 0 else {
          report.locateRejections(notes.location)
          throw RejectedImport(report: report)
        }
      } else {
        report = try await request.waitingForStore { try await service.importRows(rows, options: options) }
      }
    } catch {
      throw problem(for: error, request)
    }

    report.add(rejections.report)
    report.locateRejections(notes.location)
    return report
  }

  /// Returns the problem that ended an import, of which nothing was stored.
  private func problem(for error: any Error, _ request: HTTPRequest) -> Problem {
    if let problem = Problem(ofReplacement: error) { return problem }
    switch error {
    case let problem as Problem: return problem
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

/// The arguments of `POST /locations/import`.
private struct ImportArguments {
  private enum Mode: String, CaseIterable {
    case partial
    case atomic
  }

  let format: PointFormat
  let charset: TextCharset?
  let chunks: BodyChunks
  let isAtomic: Bool
  let isDryRun: Bool
  let options: RowOptions
  let removal: ImportRemoval?
  let conflicts: ConflictPolicy
  let assumeEditedSince: Timestamp?
  let sources: [DataSource]
  let key: ImportKey?

  /// Creates the arguments from a request's head.
  ///
  /// - Throws: `Problem` 400 or 415.
  init(_ request: HTTPRequest) throws(Problem) {
    var values = try ParameterValues(request, allowing: ImportRoute.call.parameters)
    isAtomic = values.choice(.mode, default: Mode.partial) == .atomic
    isDryRun = values.flag(.dryRun)
    options = values.rowOptions()
    removal = values.removal()
    conflicts = values.choice(.conflicts, default: .edits)
    assumeEditedSince = values.assumeEditedSince()
    sources = values.dataSources(options, removal)
    try values.check()
    guard let format = request.mediaType.flatMap({ PointFormat(mediaType: $0) }) else {
      throw .unsupportedMediaType(request, accepted: ImportRoute.mediaTypes, header: "accept-post")
    }
    self.format = format
    charset = try request.charset(accepted: ImportRoute.mediaTypes)
    let keyed = try ImportKey.read(request, of: request.principal)
    key = keyed?.key
    chunks = try BodyChunks(request, hash: keyed?.hash)
  }
}

extension Parameter {
  package static let mode = Parameter("mode") {
    .init(
      "`partial`, the default, imports the valid rows; `atomic` imports nothing if a row is invalid.",
      .oneOf(ImportMode.allCases.map(\.rawValue)))
  }

  package static let dryRun = Parameter("dryRun", .flag) {
    .init("`true` reports what would be done, and changes nothing.", Schema(.boolean, nil, ["default": false]))
  }

  package static let idField = Parameter("idField") {
    .init(
      "Member or column with the id in the data set. Needs `source`.", Schema(.string, example: "sourceId"))
  }

  static let nameField = Parameter("nameField") {
    .init("Member or column with the name, where `name` is a tag.", Schema(.string, example: "name"))
  }

  static let unknownFields = Parameter("unknownFields") {
    .init(
      "Whether members and columns that are not fields of a place become tags, or make a row invalid.",
      .oneOf(["tags", "reject"], default: "tags"))
  }

  package static let replaceSource = Parameter("replaceSource") {
    .init(
      "Name of a data set whose other places, those of no row, are deleted in the same transaction.",
      .rowOption(example: "demo"))
  }

  package static let maxDeletions = Parameter("maxDeletions") {
    .init(
      "Maximum number of places that `replaceSource` may delete, or percentage of the places of the data set, of"
        + " which \(DeletionLimit.smallestShare) may be deleted in any case. More is 422 `too-many-deletions`.",
      Schema(
        .string, nil,
        ["pattern": "^([0-9]{1,15}|(100|[0-9]{1,2})%)$", "default": .string(DeletionLimit.standard.description)]))
  }

  static let conflicts = Parameter("conflicts") {
    .init(
      "The values of fields that were edited and that the source has changed since: `edits`, the default, keeps those of"
        + " the edits, and `GET /edits?conflict=true` lists the places; `source` takes those of the source.",
      .conflictPolicy)
  }

  static let assumeEditedSince = Parameter("assumeEditedSince") {
    .init(
      "For places that were edited before the service kept edits: fields of a place whose last change is not before this"
        + " time, and that differ from its row, become edits. Places with edits are left out.",
      Schema(.string, nil, ["format": "date-time"], example: "2026-11-21T10:15:00Z"))
  }

  package static let licence = Parameter("licence") {
    .init("Licence of the data set that `source` names.", sourceTextSchema(example: "ODbL-1.0"))
  }

  package static let attribution = Parameter("attribution") {
    .init(
      "Attribution of the data set that `source` names.",
      sourceTextSchema(example: "© OpenStreetMap contributors"))
  }

  package static let attributionURL = Parameter("attributionUrl") {
    .init(
      "Address of the attribution's page.",
      Schema(
        .string, nil, ["maxLength": .count(DataSource.maximumLength), "pattern": .address],
        example: "https://www.openstreetmap.org/copyright"))
  }

  private static func sourceTextSchema(example: JSONValue) -> Schema {
    Schema(
      .string, nil, ["minLength": 1, "maxLength": .count(DataSource.maximumLength), "pattern": .noControlCharacters],
      example: example)
  }
}

extension ParameterValues {
  /// Returns the options for parsing the rows of an import. Invalid values are noted.
  package mutating func rowOptions() -> RowOptions {
    do {
      return try RowOptions(
        unknownFields: choice(.unknownFields, default: .tags), source: self[.source], idField: self[.idField],
        nameField: self[.nameField])
    } catch {
      switch error {
      case .source(let detail): note(.invalid, Parameter.source.name, detail)
      case .idField(let detail): note(.invalid, Parameter.idField.name, detail)
      case .nameField(let detail): note(.invalid, Parameter.nameField.name, detail)
      }
      return .standard
    }
  }
}

extension ParameterValues {
  /// Returns what an import deletes: the places of a data set that no row means. Invalid values are noted.
  package mutating func removal() -> ImportRemoval? {
    var limit = DeletionLimit.standard
    if let text = self[.maxDeletions] {
      if let given = DeletionLimit(text) {
        limit = given
      } else {
        note(
          .invalid, Parameter.maxDeletions.name,
          "must be a number of places, or a percentage from 0% to 100%, got \(quoted(text))")
      }
    }
    guard let name = self[.replaceSource] else {
      if self[.maxDeletions] != nil {
        note(.invalid, Parameter.maxDeletions.name, "needs the parameter replaceSource")
      }
      return nil
    }
    do {
      return try RowOptions(source: name).source.map { .others(source: $0, limit: limit) }
    } catch {
      if case .source(let detail) = error { note(.invalid, Parameter.replaceSource.name, detail) }
      return nil
    }
  }

  /// Returns the time of `assumeEditedSince`; `nil` if it is absent or invalid. An invalid value is noted.
  fileprivate mutating func assumeEditedSince() -> Timestamp? {
    guard let text = self[.assumeEditedSince] else { return nil }
    if let time = Timestamp(rfc3339: text) { return time }
    note(
      .invalid, Parameter.assumeEditedSince.name,
      "must be a time such as 2026-11-21T10:15:00Z, got \(quoted(text))")
    return nil
  }

  /// Returns the data set of the parameter `source`, or else of `replaceSource`, with its licence and attribution. Invalid
  /// values are noted.
  package mutating func dataSources(_ options: RowOptions, _ removal: ImportRemoval?) -> [DataSource] {
    let source = options.source ?? removal?.source
    var texts: [Parameter: String] = [:]
    for parameter in [Parameter.licence, .attribution, .attributionURL] {
      guard let text = self[parameter] else { continue }
      if text.isEmpty || text.unicodeScalars.count > DataSource.maximumLength
        || text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
      {
        note(
          .invalid, parameter.name,
          "must have 1 to \(DataSource.maximumLength) characters, none of them a control character")
      } else if parameter == .attributionURL, !DataSource.isAddress(text) {
        note(.invalid, parameter.name, "must be an address that begins with http:// or https://")
      }
      if source == nil { note(.invalid, parameter.name, "needs the parameter source or replaceSource") }
      texts[parameter] = text
    }
    guard let source else { return [] }
    return [
      DataSource(
        name: source, licence: texts[.licence], attribution: texts[.attribution], url: texts[.attributionURL])
    ]
  }
}

extension Problem {
  /// Creates the problem of a replacement that an import refuses; `nil` for another error.
  package init?(ofReplacement error: any Error) {
    switch error {
    case let error as EmptyReplacement:
      self.init(.unprocessableEntity, code: "invalid-place", detail: "\(error); nothing was imported")
    case let error as TooManyDeletions:
      self.init(
        .unprocessableEntity, code: "too-many-deletions",
        detail: "\(error); nothing was imported; the parameter maxDeletions allows more")
    default: return nil
    }
  }

  /// 400 for an import that can't be parsed to its end.
  fileprivate static func malformedImport(_ detail: String) -> Problem {
    Problem(.badRequest, code: "malformed-body", detail: "\(detail); nothing was imported")
  }
}

package enum ImportReportJSON {
  /// Returns the JSON object of a report; `kept`, `keptEdits` and `conflicts` are left out where they are 0, `warnings`
  /// where there are none, and so is `implausible`, the number of those about implausible coordinates.
  package static func text(
    of report: ImportReport, warnings: [String] = [], implausible: Int = 0
  ) -> JSONWriter<[UInt8]> {
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "created", report.created)
    json.write(member: "updated", report.updated)
    json.write(member: "unchanged", report.unchanged)
    if let deleted = report.deleted { json.write(member: "deleted", deleted) }
    if report.kept > 0 { json.write(member: "kept", report.kept) }
    if report.keptEdits > 0 { json.write(member: "keptEdits", report.keptEdits) }
    if report.conflicts > 0 { json.write(member: "conflicts", report.conflicts) }
    json.write(member: "rejected", report.rejected)
    json.write(name: "errors")
    json.writeArray(of: report.rejections) { row, json in
      json.write(member: "row", row.number)
      if let line = row.location.line { json.write(member: "line", line) }
      json.write(member: "detail", row.detail)
    }
    if !warnings.isEmpty {
      json.write(name: "warnings")
      json.beginArray()
      for warning in warnings { json.write(string: warning) }
      json.endArray()
    }
    if implausible > 0 { json.write(member: "implausible", implausible) }
    json.endObject()
    return json
  }
}

extension Schema {
  fileprivate static let conflictPolicy = enumeration(ConflictPolicy.allCases.map(\.rawValue))
    .named("ConflictPolicy", order: 990)

  package static let importReport = Schema(
    .object(
      [
        .required("created", count), .required("updated", count), .required("unchanged", count),
        .optional("deleted", count),
        .optional(
          "kept",
          Schema(
            .integer, "The number of places that `replaceSource` did not delete, as a rejected row has their id.",
            ["minimum": 1])),
        .optional(
          "keptEdits",
          Schema(
            .integer, "The number of places of which rows left edits, or their deletion by a call, as they are.",
            ["minimum": 1])),
        .optional(
          "conflicts",
          Schema(
            .integer,
            "The number of those places of which this import found that the source has changed an edited field. Conflicts"
              + " that earlier imports found are not counted again.", ["minimum": 1])),
        .required("rejected", count),
        .required(
          "errors",
          Schema(
            .array(
              of: Schema(
                .object(
                  [
                    .required("row", count), .optional("line", count), .required("detail", Schema(.string)),
                  ], others: nil))),
            "The first 100 rejected rows.", ["maxItems": 100])),
        .optional("warnings", Schema(.array(of: Schema(.string)))),
        .optional(
          "implausible",
          Schema(.integer, "The number of the warnings about implausible coordinates.", ["minimum": 1])),
      ], others: nil),
    "The number of rows by what became of them.",
    example: [
      "created": 1, "updated": 0, "unchanged": 0, "rejected": 1,
      "errors": [["row": 2, "line": 3, "detail": "/lat must be a number from -90 to 90, got '-91'"]],
    ]
  ).named("ImportReport", order: 290)
}
