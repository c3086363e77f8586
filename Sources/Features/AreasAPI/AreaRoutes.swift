import APIDescription
import Basics
import Geo
import Gzip
import HTTPServer
import JSONText
package import LocationsAPI
import Logging
package import ManagementAPI
import NIOCore
import NIOHTTP1
import PointFormats
import Points
import TextFiles

/// The calls of named areas.
package struct AreasAPI: Sendable {
  private let api: LocationsAPI
  private let importMemory: ImportMemory

  /// Creates the calls to the areas of an interface.
  ///
  /// - Parameter importMemory: the memory of imports.
  package init(_ api: LocationsAPI, importMemory: ImportMemory = ImportMemory()) {
    self.api = api
    self.importMemory = importMemory
  }

  package var endpoints: [Endpoint] {
    let configuration = api.configuration
    let (areas, policy, address) = (configuration.areas, configuration.caching, configuration.address)
    let requiresIfMatch = configuration.requiresIfMatch
    let handlers: [any CallHandler] = [
      AreasRoute(areas: areas, policy: policy, program: api.program, address: address),
      AreaRoute(areas: areas, policy: policy),
      LocationAreasRoute(areas: areas, service: configuration.service, policy: policy),
      CreateAreaRoute(areas: areas, address: address),
      ReplaceAreaRoute(areas: areas, address: address, requiresIfMatch: requiresIfMatch),
      ChangeAreaRoute(areas: areas, requiresIfMatch: requiresIfMatch),
      DeleteAreaRoute(areas: areas, requiresIfMatch: requiresIfMatch),
      ImportAreasRoute(areas: areas, service: configuration.service, memory: importMemory),
      ExportAreasRoute(areas: areas),
    ]
    return handlers.map(\.endpoint)
  }
}

/// `GET /areas`: named areas, by name, position, box and kind.
struct AreasRoute: CallHandler {
  static let call = Call(
    .GET, "/areas", scope: .read, joinsRestriction: true, id: "listAreas", group: .areas, link: "areas",
    summary: "Find areas",
    description:
      "With `q` the areas that have a name with its words, the best match first; with a position those that it is in,"
      + " the smallest first; with `bbox` those whose bounding box intersects it. Otherwise all, by id. GeoJSON has the"
      + " geometries, JSON has none. A page ends early, but not without an area, where its text would be longer than"
      + " \(maximumPageBytes >> 20) MiB; a `Link` leads to the next.",
    parameters: [.latitude, .longitude, .box, .limit, .cursor, .format, .text, .kind],
    describing: [
      "q": .init(
        "Words of a name, each at least at its beginning.",
        Schema(.string, nil, ["minLength": 1, "maxLength": .count(TextQuery.maximumLength)], example: "vienna")),
      "bbox": .init("Only areas whose bounding box intersects this one.", Parameter.box.description.schema),
      "f": .areaFormat,
    ],
    caching: .tagged(isAlwaysTagged: false),
    responses: [
      .init(
        200, "The areas.", headers: [.link],
        media: [
          .init(.json, Schema(.array(of: .area))), .init(.geoJSON, .areaCollection),
        ])
    ])

  static let formats: [PointFormat] = [.json, .geoJSON]

  /// The number of bytes at which a page ends.
  private static let maximumPageBytes = PointPage.maximumTextBytes

  let areas: any AreaStore
  let policy: CachePolicy
  let program: ProgramTag
  let address: PublicAddress

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: Self.call.parameters)
    let text = values.text()
    let coordinate = values.coordinate()
    let box = values.box()
    let kind = values.kind()
    let limit = values.limit()
    let last = values.position { PointID($0) }
    try values.check()
    let format = try PointFormat.chosen(by: values[.format], accept: request.headers, from: Self.formats)
    let all = try await areas.forRequest(request).areas
    let tag = "\"a\(String(all.version, radix: 36))\(program.suffix)\(format.etagSuffix)\""
    if !policy.isOff, var response = request.notModified(tag) {
      response.addCaching(by: policy, etag: "W/" + tag)
      return response
    }
    let form: AreaPieces.Form = format == .geoJSON ? .collection : .summaries
    let (page, hasMore) = try await request.computing { () throws(Problem) -> (ArraySlice<Area>, Bool) in
      let found = try Self.find(
        in: all, text: text?.text, coordinate: coordinate, box: box, kind: kind, limit: limit + 1, after: last,
        for: request)
      let count = PointPage.fittingCount(of: min(found.count, limit)) { index in
        AreaJSON.estimatedBytes(of: found[found.startIndex + index], withGeometry: form.hasGeometry)
      }
      return (found.prefix(count), found.count > count)
    }
    var response = try await request.response(of: page, as: form, format, isCompressible: true)
    if ContentCoding.isAsked(by: request) { try await ContentCoding.apply(to: &response, of: request) }
    if hasMore, let end = page.last {
      response.addLink(toNext: address.nextPage(of: "/areas", cursor: end.id.description, for: request))
    }
    response.addCaching(by: policy, etag: policy.isOff ? nil : "W/" + tag)
    return response
  }

  /// Returns the areas that match, from the one after an id on, at most so many.
  ///
  /// - Throws: `Problem` 400 if the area of the id does not match any more, and 503 `filter-timeout`.
  private static func find(
    in all: Areas, text: String?, coordinate: Coordinate?, box: BoundingBox?, kind: AreaKind?, limit: Int,
    after last: PointID?, for request: HTTPRequest
  ) throws(Problem) -> ArraySlice<Area> {
    var around: [Area] = []
    if let coordinate {
      around = try request.searchResult(of: all.containing(coordinate))
    }
    var found = all.all[...]
    if let text {
      let matching = try request.searchResult(of: all.matching(text))
      found = matching[...]
    } else if coordinate != nil {
      found = around[...]
    }
    if let last {
      if text == nil, coordinate == nil {
        let next = found.partitioningIndex { $0.id > last }
        found = found[next...]
      } else if let index = found.firstIndex(where: { $0.id == last }) {
        found = found[(index + 1)...]
      } else {
        throw .invalidParameter(Parameter.cursor.name, "is of an area that does not match any more")
      }
    }
    guard box != nil || kind != nil || text != nil && coordinate != nil else { return found.prefix(limit) }
    var allowed: Set<PointID>?
    if text != nil, coordinate != nil { allowed = Set(around.map(\.id)) }
    if let box {
      let inBox = Set(all.intersecting(box).map(\.id))
      allowed = allowed?.intersection(inBox) ?? inBox
    }
    let matching = found.lazy.filter { area in
      (kind == nil || area.draft.kind == kind) && allowed?.contains(area.id) != false
    }
    return ArraySlice(matching.prefix(limit))
  }
}

extension HTTPRequest {
  /// The number of bytes of areas up to which their text is made on the event loop, in less than a millisecond.
  private static let shortBytes = 64 * 1024

  /// Returns a response of areas. A long text is made piece by piece while it is sent, so that it takes little memory
  /// whatever its length.
  ///
  /// - Parameter isCompressible: a Boolean value that indicates whether a long text is compressed if the client prefers
  ///   that. A short one is left to the caller.
  /// - Throws: `Problem` 406 or 503.
  fileprivate func response(
    of areas: ArraySlice<Area>, as form: AreaPieces.Form, _ format: PointFormat, isCompressible: Bool
  ) async throws(Problem) -> HTTPResponse {
    var pieces = AreaPieces(areas, as: form)
    guard pieces.estimatedBytes > Self.shortBytes else {
      var text = ByteBuffer()
      while let piece = pieces.next() { text.writeBytes(piece) }
      return HTTPResponse(contentType: format.mediaType, bytes: text)
    }
    var isGzip = false
    if isCompressible { isGzip = try ContentCoding.accepted(by: headers).coding == .gzip }
    return try await streaming(areas, as: form, format, isGzip: isGzip)
  }

  /// Returns a response of areas, whose text is made piece by piece while it is sent, beside the event loop.
  ///
  /// - Throws: `Problem` 503.
  fileprivate func streaming(
    _ areas: ArraySlice<Area>, as form: AreaPieces.Form, _ format: PointFormat, isGzip: Bool
  ) async throws(Problem) -> HTTPResponse {
    var headers: HTTPHeaders = ["content-type": format.mediaType]
    if isGzip { headers.add(name: "content-encoding", value: "gzip") }
    if method == .HEAD { return HTTPResponse(headers: headers, body: .stream { _ in }) }
    let reservation = try await reserveMemory(bytes: ExportText.memoryBytes(isGzip: isGzip))
    let executor = transferExecutor
    return HTTPResponse(
      headers: headers,
      body: .stream { writer in
        defer { extendLifetime(reservation) }
        try await withTaskExecutorPreference(executor) {
          var pieces = AreaPieces(areas, as: form)
          let encoder = isGzip ? try GzipEncoder() : nil
          while let piece = pieces.next() {
            guard let encoder else {
              try await writer.write(ByteBuffer(bytes: piece))
              continue
            }
            var packed: [UInt8] = []
            piece.withUnsafeBytes { encoder.encode($0, into: &packed) }
            if !packed.isEmpty { try await writer.write(ByteBuffer(bytes: packed)) }
          }
          var end: [UInt8] = []
          encoder?.finish(into: &end)
          if !end.isEmpty { try await writer.write(ByteBuffer(bytes: end)) }
        }
      })
  }

  /// Returns a response of one area.
  fileprivate func response(
    of area: Area, _ format: PointFormat, isCompressible: Bool
  ) async throws(Problem) -> HTTPResponse {
    try await response(
      of: [area], as: format == .geoJSON ? .feature : .object, format, isCompressible: isCompressible)
  }

  /// Returns the response to a write, with the area as it is now.
  ///
  /// - Parameter location: the value of `Location` for an area that was created.
  fileprivate func response(
    written area: Area, createdAt location: String?, _ format: PointFormat
  ) async throws(Problem) -> HTTPResponse {
    var response = try await response(of: area, format, isCompressible: false)
    response.addWritten(etag: EntityTag.of(version: area.version, format: format), createdAt: location)
    return response
  }
}

extension Parameter {
  static let kind = Parameter("kind") {
    .init("Only areas of this kind.", .areaKind)
  }
}

extension ParameterValues {
  /// Returns the kind; `nil` if it is not given or invalid.
  fileprivate mutating func kind() -> AreaKind? {
    has(.kind) ? choice(.kind, default: AreaKind.custom) : nil
  }
}

extension HTTPRequest {
  /// Returns the format of the response with an area, which is all that the query says.
  fileprivate func areaFormat() throws(Problem) -> PointFormat {
    let values = try ParameterValues(self, allowing: [.format])
    try values.check()
    return try .chosen(by: values[.format], accept: headers, from: AreasRoute.formats)
  }
}

extension [MediaDescription] {
  /// The representations of one area.
  fileprivate static let area: [MediaDescription] = [
    .init(.json, .area, example: Examples.area), .init(.geoJSON, .areaFeature),
  ]
}

extension ParameterDescription {
  fileprivate static let areaID = ParameterDescription(
    "Id of the area.", Schema(.string, nil, ["format": "uuid"], example: .string(Examples.id)), isRequired: true)

  fileprivate static let areaFormat = ParameterDescription(
    Parameter.format.description.description,
    Schema.enumeration(AreasRoute.formats.map(\.rawValue)).named("AreaFormat", order: 930))
}

/// `GET /areas/{id}`: one area with its geometry.
struct AreaRoute: CallHandler {
  static let call = Call(
    .GET, "/areas/{id}", scope: .read, joinsRestriction: true, id: "getArea", group: .areas, link: "area",
    summary: "Get an area",
    parameters: [.format], describing: ["id": .areaID, "f": .areaFormat], caching: .tagged(),
    responses: [.init(200, "The area.", media: .area)])

  let areas: any AreaStore
  let policy: CachePolicy

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let format = try request.areaFormat()
    let id = try PointID(inPathOf: request)
    guard let area = try await areas.forRequest(request).areas[id] else { throw .noArea(id) }
    return try await request.response(version: area.version, in: format, caching: policy) { () async throws(Problem) in
      try await request.response(of: area, format, isCompressible: true)
    }
  }
}

/// `GET /locations/{id}/areas`: the areas that a place is in.
struct LocationAreasRoute: CallHandler {
  static let call = Call(
    .GET, "/locations/{id}/areas", scope: .read, joinsRestriction: true, id: "listAreasOfLocation", group: .areas,
    link: "location-areas",
    summary: "List the areas of a place", description: "The smallest first, without their geometries.",
    caching: .timed,
    responses: [.init(200, "The areas.", media: .json(Schema(.array(of: .area))))],
    problems: [.init(503, .filterTimeout)])

  let areas: any AreaStore
  let service: PointsService
  let policy: CachePolicy

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let point = try await service.place(try PointID(inPathOf: request), for: request)
    let all = try await areas.forRequest(request).areas
    let found = try await request.computing { () throws(Problem) in
      try request.searchResult(of: all.containing(point.draft.coordinate))
    }
    var response = try await request.response(of: found[...], as: .summaries, .json, isCompressible: true)
    if ContentCoding.isAsked(by: request) { try await ContentCoding.apply(to: &response, of: request) }
    response.addCaching(by: policy)
    return response
  }
}

// MARK: Writing

extension BodyDescription {
  fileprivate static let area = BodyDescription(
    description: "The area. Fields that the service sets are ignored.",
    media: [
      .init(.json, .areaDraft, example: Examples.areaDraft),
      .init(.geoJSON, .areaFeatureDraft),
    ])
}

/// The area in a request's body.
private enum AreaBody {
  static func read(_ request: HTTPRequest) async throws(Problem) -> (document: AreaDocument, bytes: ByteBuffer) {
    guard ["application/json", "application/geo+json"].contains(request.mediaType) else {
      throw .unsupportedMediaType(request, accepted: PointBody.mediaTypes, header: "accept-post")
    }
    let bytes = try await PointBody.collect(request)
    let document = try await request.computing { () throws(Problem) -> AreaDocument in
      try Self.document(try Problem.reporting(json: JSONReader.value(of: bytes.readableBytesView)))
    }
    return (document, bytes)
  }

  static func document(_ value: JSONValue) throws(Problem) -> AreaDocument {
    do {
      return try AreaDocument(value, style: .strict)
    } catch {
      throw Problem(error)
    }
  }
}

extension Problem {
  fileprivate static func noArea(_ id: PointID) -> Problem { .notFound("there is no area with the id \(id)") }
}

extension HTTPRequest {
  /// Returns the editor of areas for the request's client.
  fileprivate func editor(of areas: any AreaStore) -> AreaEditor {
    AreaEditor(areas, for: IdempotencyKey.client(of: self))
  }

  /// Calls the store for a write of areas. An error is logged where operators need it, and thrown as a problem.
  fileprivate func writingAreas<Value>(
    _ call: () async throws(PointWriteError) -> Value
  ) async throws(Problem) -> Value {
    // The positions of an area are compared and stored.
    try await withTaskExecutorPreference(transferExecutor) { () async throws(Problem) -> Value in
      try await writeResult(as: "area", of: await call())
    }
  }

  /// Returns the problem of an import's error.
  fileprivate func problem(forAreas error: any Error) -> Problem {
    if let problem = Problem(ofReplacement: error) { return problem }
    if let error = error as? PointWriteError { return problem(for: error, of: "area") }
    logger.error("an import of areas failed", metadata: ["error": "\(String(reflecting: error))"])
    return .internal
  }
}

/// `POST /areas`: creates an area.
struct CreateAreaRoute: CallHandler {
  static let call = Call(
    .POST, "/areas", scope: .write, id: "createArea", group: .areas, summary: "Create an area",
    description:
      "The service gives the id; one in the body is ignored. A repeat with the same `Idempotency-Key` gets the area as"
      + " it is then.",
    parameters: [.format], describing: ["f": .areaFormat], body: .area,
    responses: [.written(201, "The new area.", media: .area)])

  let areas: any AreaStore
  let address: PublicAddress

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let format = try request.areaFormat()
    let (document, body) = try await AreaBody.read(request)
    let key = try IdempotencyKey.read(request, of: request.principal, body: body)
    let area = try await request.writingAreas { () throws(PointWriteError) in
      try await request.editor(of: areas).create(document.draft, once: key)
    }
    let relative = "areas/\(area.id)"
    let location = address.target(path: "/" + relative, relative: relative, for: request)
    return try await request.response(written: area, createdAt: location, format)
  }
}

/// `PUT /areas/{id}`: replaces an area, or creates it with that id.
struct ReplaceAreaRoute: CallHandler {
  static let call = Call(
    .PUT, "/areas/{id}", scope: .write, id: "replaceArea", group: .areas,
    summary: "Replace an area, or create it with this id", parameters: [.format],
    describing: ["id": .areaID, "f": .areaFormat], body: .area,
    responses: [.written(200, "The replaced area.", media: .area), .written(201, "The new area.", media: .area)])

  let areas: any AreaStore
  let address: PublicAddress
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let format = try request.areaFormat()
    let id = try PointID(inPathOf: request)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)
    let document = try await AreaBody.read(request).document
    try id.check(document.id, isForeign: document.hasForeignID)
    let (area, wasCreated) = try await request.writingAreas { () throws(PointWriteError) in
      try await request.editor(of: areas).put(document.draft, id: id, if: condition)
    }
    let location = address.target(path: "/areas/\(area.id)", relative: "\(area.id)", for: request)
    return try await request.response(written: area, createdAt: wasCreated ? location : nil, format)
  }
}

/// `PATCH /areas/{id}`: changes fields of an area by a JSON merge patch (RFC 7396).
struct ChangeAreaRoute: CallHandler {
  static let call = Call(
    .PATCH, "/areas/{id}", scope: .write, id: "changeArea", group: .areas, summary: "Change fields of an area",
    description: "A JSON merge patch (RFC 7396).", parameters: [.format],
    describing: ["id": .areaID, "f": .areaFormat],
    body: .mergePatch(.areaPatch),
    responses: [.written(200, "The changed area.", media: .area)])

  let areas: any AreaStore
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let format = try request.areaFormat()
    let id = try PointID(inPathOf: request)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)
    let patch = try await PointBody.readPatch(request)
    // A patch with a geometry takes long to read.
    let area = try await withTaskExecutorPreference(request.transferExecutor) { () async throws(Problem) -> Area in
      try await request.reportingUpdateErrors(as: "area") { () throws(PointUpdateError<Problem>) in
        try await request.editor(of: areas).update(id: id, if: condition) { area throws(Problem) in
          let document: AreaDocument
          do throws(InvalidPoint) {
            document = try AreaDocument(area, changedBy: patch)
          } catch {
            throw Problem(error)
          }
          try id.check(document.id, isForeign: document.hasForeignID)
          return document.draft
        }
      }
    }
    return try await request.response(written: area, createdAt: nil, format)
  }
}

/// `DELETE /areas/{id}`: removes an area.
struct DeleteAreaRoute: CallHandler {
  static let call = Call(
    .DELETE, "/areas/{id}", scope: .write, id: "deleteArea", group: .areas, summary: "Delete an area",
    describing: ["id": .areaID], responses: [.init(204, "The area is deleted.")])

  let areas: any AreaStore
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let id = try PointID(inPathOf: request)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)
    try await request.writingAreas { () throws(PointWriteError) in
      try await request.editor(of: areas).delete(id: id, if: condition)
    }
    return HTTPResponse(status: .noContent)
  }
}

// MARK: Import and export

/// `POST /areas/import`: imports areas in one transaction.
struct ImportAreasRoute: CallHandler {
  static let call = Call(
    .POST, "/areas/import", scope: .write, id: "importAreas", group: .areas, link: "import-areas",
    summary: "Import areas",
    description:
      "Objects or Features, with `Content-Encoding: gzip` or without. A row replaces the area with its `id`, or with its"
      + " `source` and `sourceId`, or else creates one. Other members become tags; boundaries of OpenStreetMap and"
      + " divisions of Overture get their kinds.",
    parameters: [
      .mode, .dryRun, .source, .idField, .replaceSource, .maxDeletions, .licence, .attribution, .attributionURL,
    ],
    describing: [
      "source": .init(
        "Name of the data set of the rows that name none; their `sourceId` is their id in it.",
        .rowOption(example: "demo")),
      "replaceSource": .init(
        "Name of a data set whose other areas, those of no row, are deleted in the same transaction.",
        .rowOption(example: "demo")),
      "maxDeletions": .init(
        "Import nothing if `replaceSource` would delete more areas: a number, or a percentage of the data set's.",
        Parameter.maxDeletions.description.schema),
    ],
    body: BodyDescription(
      description: "The areas.",
      media: [
        .init(.geoJSON, Schema(.object([], others: Schema(.any))), example: Examples.areaCollection),
        .init(.ndjson, Schema(.any, "A JSON object a line."), example: .string(Examples.areaLine)),
        .init(
          .geoJSONSequence, Schema(.any, "Features (RFC 8142)."), example: .string("\u{1E}" + Examples.areaLine)),
        .init(.json, Schema(.array(of: Schema(.any))), example: [Examples.areaDraft]),
      ]),
    bodyLimit: .unlimited,
    responses: [.init(200, "What became of the rows.", media: .json(.importReport))],
    problems: [.init(422, .tooManyDeletions)])

  /// The maximum length of a body, decompressed, and the maximum number of bytes that its rows take.
  static let maximumBytes = 512 << 20

  private static let mediaTypes =
    "application/geo+json, application/x-ndjson, application/geo+json-seq, application/json"

  let areas: any AreaStore
  let service: PointsService
  let memory: ImportMemory

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: Self.call.parameters)
    let mode = values.choice(.mode, default: ImportMode.partial)
    let dryRun = values.flag(.dryRun)
    let options = values.rowOptions()
    let removal = values.removal()
    let sources = ImportOptions(removal: removal, sources: values.dataSources(options, removal)).namedSources
    try values.check()
    guard let format = request.mediaType.flatMap({ PointFormat(mediaType: $0) }), format != .csv else {
      throw .unsupportedMediaType(request, accepted: Self.mediaTypes, header: "accept-post")
    }
    if let charset = try request.charset(accepted: Self.mediaTypes), charset != .utf8 {
      throw .unsupportedMediaType(request, accepted: Self.mediaTypes, header: "accept-post")
    }
    let keyed = try ImportKey.read(request, of: request.principal)
    let chunks = try BodyChunks(request, hash: keyed?.hash)
    let share = memory.share(of: request.sender, for: "areas")
    defer { share.end() }
    // Reading rows is work enough to hold up the other connections of this one's event loop.
    var warnings: [String] = []
    let report = try await withTaskExecutorPreference(request.transferExecutor) { () throws(Problem) -> ImportReport in
      let rows = try await Self.rows(of: chunks, format: format, options, request, share)
      if let warning = AreaRows.keyWarning(keylessRows: rows.keylessRows) {
        warnings.append("\(warning) (parameters source and idField)")
      }
      var report = rows.report
      if mode == .partial || report.rejected == 0 {
        do {
          report.add(
            try await request.waitingForStore {
              try await request.editor(of: areas).importRows(
                rows.rows, mode: mode, dryRun: dryRun, once: keyed?.key.hashed(),
                replacing: removal.flatMap { removal in removal.limit.map { (removal.source, $0) } })
            })
        } catch {
          throw request.problem(forAreas: error)
        }
      }
      return report
    }
    if !dryRun, report.accepted > 0 {
      try await request.writingAreas { () throws(PointWriteError) in try await service.register(sources) }
    }
    guard mode == .partial || report.rejected == 0 else {
      let first = report.rejections.first.map { "row \($0.number): \($0.detail)" } ?? "a row was rejected"
      throw Problem(
        .unprocessableEntity, code: "invalid-place", detail: "\(first); nothing was imported",
        errors: report.rejections.map { ProblemError(.row($0.number, line: nil), $0.detail) })
    }
    return HTTPResponse(ImportReportJSON.text(of: report, warnings: warnings))
  }

  /// The number of positions from which on an area is made as a computation: in more than a millisecond.
  private static let longPositionCount = 10_000

  /// Reads the rows of a body chunk by chunk, with other transfers in turn. Memory is that of the rows and the one that is
  /// being read.
  private static func rows(
    of chunks: BodyChunks, format: PointFormat, _ options: RowOptions, _ request: HTTPRequest, _ share: ImportShare
  ) async throws(Problem) -> AreaRows {
    var rows = AreaRows(options: options)
    do {
      var splitter = try AreaSplitter(format: format)
      var byteCount = 0
      try share.hold(read: 0)
      for try await chunk in chunks {
        byteCount += chunk.count
        guard byteCount <= maximumBytes else { throw tooLong("be at most \(maximumBytes >> 20) MiB long") }
        let areas = try chunk.withContiguousBytes { bytes throws(FormatError) in try splitter.areas(in: bytes) }
        try await append(areas, to: &rows, request)
        try share.hold(read: rows.byteCount + splitter.heldBytes)
        await Task.yield()
      }
      try Task.checkCancellation()
      try await append(try splitter.end(), to: &rows, request)
      try share.hold(read: rows.byteCount)
    } catch let problem as Problem {
      throw problem
    } catch let error as HTTPBodyError {
      throw error.problem
    } catch let error as FormatError {
      throw Problem(.badRequest, code: "malformed-body", detail: "\(error); nothing was imported")
    } catch GzipError.tooMuch {
      throw Problem(
        .payloadTooLarge, code: "body-too-large", detail: "the body \(GzipError.tooMuch); nothing was imported")
    } catch is CancellationError {
      throw HTTPBodyError.cancelled.problem
    } catch {
      throw Problem(.badRequest, code: "malformed-body", detail: "the body \(error); nothing was imported")
    }
    return rows
  }

  private static func append(
    _ areas: [AreaText], to rows: inout AreaRows, _ request: HTTPRequest
  ) async throws(Problem) {
    for area in areas {
      if area.positionCount < longPositionCount {
        rows.append(area)
      } else {
        try await request.computing { rows.append(area) }
      }
      guard rows.byteCount <= maximumBytes else { throw tooLong("take at most \(maximumBytes >> 20) MiB of memory") }
    }
  }

  private static func tooLong(_ limit: String) -> Problem {
    Problem(
      .payloadTooLarge, code: "body-too-large",
      detail: "the areas of a request may \(limit); nothing was imported")
  }
}

/// `GET /areas/export`: all areas with their geometries, as a stream.
struct ExportAreasRoute: CallHandler {
  static let call = Call(
    .GET, "/areas/export", scope: .read, joinsRestriction: true, id: "exportAreas", group: .areas, link: "export-areas",
    summary: "Export areas", description: "All areas, as a stream. An import reads it again.", parameters: [.format],
    describing: ["f": .format(formats)], caching: .timed,
    responses: [
      .init(
        200, "The areas.", headers: [.contentDisposition.required],
        media: [
          .init(.ndjson, Schema(.string, "A JSON object a line."), example: .string(Examples.areaLine)),
          .init(.geoJSON, .areaCollection),
          .init(.geoJSONSequence, Schema(.string, "Features (RFC 8142).")),
        ])
    ])

  static let formats: [PointFormat] = [.ndjson, .geoJSON, .geoJSONSequence]

  let areas: any AreaStore

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let values = try ParameterValues(request, allowing: Self.call.parameters)
    try values.check()
    let format = try PointFormat.chosen(by: values[.format], accept: request.headers, from: Self.formats)
    let all = try await areas.forRequest(request).areas
    let form: AreaPieces.Form =
      switch format {
      case .ndjson: .lines
      case .geoJSONSequence: .sequence
      default: .collection
      }
    var response = try await request.streaming(all.all[...], as: form, format, isGzip: false)
    response.headers.add(name: "vary", value: "accept, accept-encoding")
    response.headers.add(name: "cache-control", value: "no-store")
    response.headers.add(
      name: "content-disposition", value: "attachment; filename=\"areas.\(format.rawValue)\"")
    return response
  }
}

// MARK: Descriptions

extension Examples {
  fileprivate static let square: JSONValue = [
    "type": "Polygon", "coordinates": [[[16.3, 48.1], [16.5, 48.1], [16.4, 48.3], [16.3, 48.1]]],
  ]

  static let areaDraft: JSONValue = [
    "name": "Wien", "names": ["en": "Vienna"], "kind": "city", "level": 8, "importance": 0.8, "geometry": square,
  ]

  static let areaFeature: JSONValue = [
    "type": "Feature", "geometry": square, "properties": ["name": "Wien", "kind": "city"],
  ]

  static let areaCollection: JSONValue = ["type": "FeatureCollection", "features": [areaFeature]]

  static let areaLine = String(decoding: areaFeature.text, as: UTF8.self) + "\n"

  static let area: JSONValue = [
    "id": .string(id), "name": "Wien", "names": ["en": "Vienna"], "kind": "city", "level": 8, "importance": 0.8,
    "tags": [:], "source": "osm", "sourceId": "relation/109166", "version": 7, "createdAt": "2026-11-20T10:15:00Z",
    "updatedAt": "2026-11-21T10:15:00Z", "geometry": square,
  ]
}

extension Schema {
  fileprivate static let areaKind = enumeration(AreaKind.allCases.map(\.rawValue)).named("AreaKind", order: 920)

  fileprivate static let areaNames = Schema(.object([], others: Schema(.string)), "Names by language.").named(
    "AreaNames", order: 210)

  fileprivate static let areaGeometry = Schema(
    .object(
      [
        .required("type", .oneOf(["Polygon", "MultiPolygon"])),
        .required(
          "coordinates",
          Schema(.array(of: Schema(.any)), "Rings of positions, longitude before latitude.", ["minItems": 1])),
      ], others: Schema(.any)),
    "At most \(AreaOutline.maximumPositions) positions, which are rounded to 7 decimals of a degree."
  ).named("AreaGeometry", order: 220)

  private static let areaLevel = Schema(
    .integer, "Level in a hierarchy; a lower one is of larger areas.",
    ["minimum": .count(AreaDraft.levels.lowerBound), "maximum": .count(AreaDraft.levels.upperBound)])

  private static let areaImportance = Schema(
    .number, "Rank among areas of the same name.", ["minimum": 0, "maximum": 1])

  private static let areaFields: [Property] = [
    .required("name", name), .optional("names", .areaNames),
    .required("kind", .areaKind),
    .optional("level", areaLevel), .required("importance", areaImportance), .required("tags", .tags),
    .optional("source", source), .optional("sourceId", sourceID),
    .required("version", Schema(.integer, "Grows with each change and never repeats for an id.", ["minimum": 1])),
    .required("createdAt", time), .required("updatedAt", time),
  ]

  static let area = Schema(
    .object([.required("id", uuid)] + areaFields + [.optional("geometry", .areaGeometry)], others: nil),
    "A named area; lists have no geometries.", example: Examples.area
  ).named("Area", order: 200)

  private static let areaChanges: [Property] =
    [
      foreignID, .optional("names", Schema.areaNames.orNull),
      .optional("kind", areaKind.orNull), .optional("level", areaLevel.orNull),
      .optional("importance", areaImportance.orNull), .optional("tags", .tagsDraft),
      .optional("source", source.orNull), .optional("sourceId", sourceID.orNull),
    ] + ["version", "createdAt", "updatedAt"].map { .optional($0, Schema(.any, "Set by the service; ignored.")) }

  fileprivate static let areaDraft = Schema(
    .object(
      [.required("name", name), .required("geometry", .areaGeometry)] + areaChanges, others: nil),
    "The fields of an area that a client sets.", example: Examples.areaDraft
  ).named("AreaDraft", order: 230)

  fileprivate static let areaPatch = Schema(
    .object([.optional("name", name), .optional("geometry", .areaGeometry)] + areaChanges, others: nil),
    "The fields to change; `null` removes one.", example: ["importance": 0.9]
  ).named("AreaPatch", order: 240)

  fileprivate static let areaFeature = Schema(
    .object(
      [
        .required("type", .oneOf(["Feature"])), .optional("id", uuid),
        .required("geometry", .areaGeometry),
        .required("properties", Schema(.object(areaFields, others: nil))),
      ], others: any),
    "An area as a Feature (RFC 7946)."
  ).named("AreaFeature", order: 250)

  fileprivate static let areaFeatureDraft = Schema(
    .object(
      [
        .required("type", .oneOf(["Feature"])),
        foreignID, .required("geometry", .areaGeometry),
        .required("properties", Schema(.object([.required("name", name)] + areaChanges, others: nil))),
      ], others: any),
    "The fields of an area that a client sets, as a Feature (RFC 7946).", example: Examples.areaFeature
  ).named("AreaFeatureDraft", order: 260)

  fileprivate static let areaCollection = Schema(
    .object(
      [
        .required("type", .oneOf(["FeatureCollection"])),
        .required("features", Schema(.array(of: .areaFeature))),
      ], others: nil)
  ).named("AreaFeatureCollection", order: 270)
}

extension CallGroup {
  static let areas = CallGroup(
    name: "Areas", order: 100, description: "Named areas, in which places are searched.")
}
