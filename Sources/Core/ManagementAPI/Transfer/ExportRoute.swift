import APIDescription
import Gzip
import HTTPServer
import LocationsAPI
import Logging
import NIOCore
import NIOHTTP1
import PointFormats
import Points
import Synchronization

/// `GET /locations/export`: all places that match, as fast as the client takes them and in constant memory.
struct ExportRoute: AreaCallHandler {
  static let call = Call(
    .GET, "/locations/export", scope: .read, joinsRestriction: true, id: "exportLocations", group: .transfer,
    link: "export",
    summary: "Export places",
    description: "All places that match the filters, as a stream. An import reads it again.",
    parameters: .filters.union([.format]), describing: ["f": .format(PointFormat.exports)],
    caching: .timed,
    responses: [
      .init(
        200, "The places.", headers: [.contentDisposition.required, .exportPosition],
        media: [
          .init(.ndjson, Schema(.string, "A JSON object a line."), example: Examples.ndjson),
          .init(.geoJSON, .featureCollection, example: Examples.collection),
          .init(.geoJSONSequence, Schema(.string, "Features (RFC 8142)."), example: Examples.sequence),
          .init(.csv, Schema(.string, "A header row and a row for each place (RFC 4180)."), example: Examples.csv),
          .init(.json, Schema(.array(of: .place)), example: [Examples.place]),
        ])
    ])

  let service: PointsService

  /// The changes of the places; `nil` if they are not known.
  let changes: (any PointFeed)?
  let filtering: Filtering
  let areas: any AreaStore

  /// The restriction of the senders of all requests; `nil` for none.
  let restriction: Restriction?

  func respond(to request: HTTPRequest, with values: ParameterValues) async throws(Problem) -> HTTPResponse {
    let arguments = try await request.compiling(values) { () throws(Problem) in
      try ExportArguments(values, request, filtering)
    }

    // Once the head is sent an error can only cut the connection: errors are looked for before.
    _ = try await request.result(of: await service.checkReadiness())

    var headers: HTTPHeaders = [
      "content-type": arguments.format.mediaType, "vary": "accept, accept-encoding", "cache-control": "no-store",
      "content-disposition": "attachment; filename=\"locations.\(arguments.format.rawValue)\"",
    ]
    if arguments.isGzip { headers.add(name: "content-encoding", value: "gzip") }
    let position = await position()
    if let position {
      let mark = Restriction.mark(restriction, values.areas?.named)
      headers.add(name: "waymark-position", value: PositionText.marking(position, mark))
    }
    if request.method == .HEAD { return HTTPResponse(headers: headers, body: .stream { _ in }) }
    let export = RunningExport(arguments, service, request, notBefore: position ?? request.minimumPosition)
    do {
      try await export.begun()
    } catch let error as PointStoreError {
      request.log(error)
      throw Problem(error)
    } catch let problem as Problem {
      throw problem
    } catch is CancellationError {
      throw HTTPBodyError.cancelled.problem
    } catch {
      request.logger.error("an export failed", metadata: ["error": "\(String(reflecting: error))"])
      throw .internal
    }
    let body = HTTPResponseBody.stream { writer in
      do {
        try await export.finish(writingTo: writer)
      } catch let error as PointStoreError {
        request.log(error)
        throw error
      }
    }
    return HTTPResponse(headers: headers, body: body)
  }
}

extension ExportRoute {
  /// Returns a position that the export includes; `nil` if there is none at the moment.
  private func position() async -> String? {
    guard let changes, let position = try? await changes.presentPosition() else { return nil }
    guard let index = service.followingIndex else { return position }
    // Reads may be older than what was committed.
    return (try? await index.waitUntilReads(contain: position)) == true ? position : nil
  }
}

/// An export that runs beside the request: it has its connection and its first places before the response's head is
/// sent, and receives the writer afterwards. It is cancelled with the last reference to it.
private final class RunningExport: Sendable {
  private let task: Task<Void, any Error>
  private let beginning: AsyncThrowingStream<Void, any Error>
  private let writers: AsyncStream<HTTPResponseWriter>.Continuation

  init(
    _ arguments: ExportArguments, _ service: PointsService, _ request: HTTPRequest, notBefore minimum: String?
  ) {
    let (beginning, begun) = AsyncThrowingStream.makeStream(of: Void.self)
    let (awaited, writers) = AsyncStream.makeStream(of: HTTPResponseWriter.self)
    self.beginning = beginning
    self.writers = writers
    // Writing and packing text is work enough to hold up the other connections of this one's event loop.
    task = Task(executorPreference: request.transferExecutor) {
      do {
        let text = RunningText(arguments, request)
        let output = Mutex<HTTPResponseWriter?>(nil)
        let write = { @Sendable (bytes: ByteBuffer) async throws in
          begun.finish()
          var writer = output.withLock { $0 }
          if writer == nil {
            writer = await awaited.first { _ in true }
            output.withLock { $0 = writer }
          }
          guard let writer else { throw HTTPConnectionClosed() }
          if bytes.readableBytes > 0 { try await writer.write(bytes) }
        }
        let client = IdempotencyKey.client(of: request)
        try await service.exportPoints(matching: arguments.query, notBefore: minimum, for: client) { points in
          // Chunk by chunk: a batch of long places is megabytes. What is written is not kept while that waits.
          var rest = ArraySlice(points)
          try await text.begin()
          repeat { try await write(text.take(&rest)) } while !rest.isEmpty
        }
        try await text.begin()
        try await write(text.finish())
      } catch {
        begun.finish(throwing: error)
        throw error
      }
    }
  }

  deinit { task.cancel() }

  /// Returns when the first places have been found, or there are none.
  ///
  /// - Throws: what the export throws, `CancellationError`.
  func begun() async throws {
    try await withTaskCancellationHandler {
      for try await _ in beginning {}
      try Task.checkCancellation()
    } onCancel: {
      task.cancel()
    }
  }

  /// Writes the export to its end.
  ///
  /// - Throws: what the export or the writer throws.
  func finish(writingTo writer: HTTPResponseWriter) async throws {
    writers.yield(writer)
    writers.finish()
    try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}

/// The arguments of `GET /locations/export`.
private struct ExportArguments {
  let query: PointQuery
  let format: PointFormat
  let isGzip: Bool

  /// Creates the arguments from the parameters of a request.
  ///
  /// - Throws: `Problem` 400 or 406.
  init(_ values: ParameterValues, _ request: HTTPRequest, _ filtering: Filtering) throws(Problem) {
    var values = values
    query = values.filters(by: filtering)
    try values.check()
    format = try .chosen(by: values[.format], accept: request.headers, from: PointFormat.exports)
    isGzip = ContentCoding.prefersGzip(request.headers)
  }
}

/// The text of an export in progress, and the reservation of its memory.
///
/// The memory is reserved when there is something to write: an export that waits for a connection to the database holds
/// nothing.
private final class RunningText: Sendable {
  private let arguments: ExportArguments
  private let request: HTTPRequest
  private let state = Mutex<(text: ExportText, reservation: MemoryReservation?)?>(nil)

  init(_ arguments: ExportArguments, _ request: HTTPRequest) {
    (self.arguments, self.request) = (arguments, request)
  }

  /// Reserves the memory, once.
  ///
  /// - Throws: `Problem` 503; an error of gzip.
  func begin() async throws {
    guard state.withLock({ $0 == nil }) else { return }
    let reservation = try await request.reserveMemory(bytes: ExportText.memoryBytes(isGzip: arguments.isGzip))
    try state.withLock { $0 = (try ExportText(format: arguments.format, isGzip: arguments.isGzip), reservation) }
  }

  func take(_ points: inout ArraySlice<PointOfInterest>) -> ByteBuffer {
    state.withLock { $0?.text.take(&points) ?? ByteBuffer() }
  }

  func finish() -> ByteBuffer { state.withLock { $0?.text.finish() ?? ByteBuffer() } }
}

/// The text of an export as it grows.
package struct ExportText {
  private var writer: PointFileWriter
  private let encoder: GzipEncoder?
  private var hasBegun = false

  init(format: PointFormat, isGzip: Bool) throws {
    writer = PointFileWriter(format: format)
    encoder = isGzip ? try GzipEncoder() : nil
  }

  /// Returns the memory of an export in bytes, without the output that its connection holds. A compressed one needs
  /// most of it for zlib.
  package static func memoryBytes(isGzip: Bool) -> Int { (isGzip ? 320 : 64) * 1024 }

  private static let chunkBytes = 32 * 1024

  /// Removes places until they fill a chunk, and returns their text.
  mutating func take(_ points: inout ArraySlice<PointOfInterest>) -> ByteBuffer {
    var text: [UInt8] = []
    if !hasBegun { writer.begin(to: &text) }
    hasBegun = true
    while text.count < Self.chunkBytes, let point = points.popFirst() { writer.append(point, to: &text) }
    if points.isEmpty { points = [] }
    return encoded(text)
  }

  /// Returns the end of the text, and its beginning where there was no place.
  mutating func finish() -> ByteBuffer {
    var text: [UInt8] = []
    if !hasBegun { writer.begin(to: &text) }
    writer.end(to: &text)
    return encoded(text, isLast: true)
  }

  private func encoded(_ text: [UInt8], isLast: Bool = false) -> ByteBuffer {
    guard let encoder else { return ByteBuffer(bytes: text) }
    var gzip: [UInt8] = []
    text.withUnsafeBytes { encoder.encode($0, into: &gzip) }
    if isLast { encoder.finish(into: &gzip) }
    return ByteBuffer(bytes: gzip)
  }
}
