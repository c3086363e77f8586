import ArgumentParser
import AsyncHTTPClient
import Basics
import Duplicates
import Foundation
import Geo
import Hosting
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import PointIndex
import PointMapping
import Points
import PostgresClient
import PostgresStore
import ServerFeatures
import Synchronization

/// `waymark duplicates`: writes the pairs of places of two data sets that are likely the same.
struct DuplicatesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "duplicates",
    abstract: "Writes pairs of places of two data sets that are likely the same.",
    discussion: """
      Compares all places of two data sets of the database, or of one with each other, in memory. A line is a pair with \
      its state, its score and both places, the highest score first. Pairs that were refuted are left out. Nothing is \
      changed.

      With --url the pairs come from a running server, whatever its store, which compares at most 100,000 places at a \
      time; --bbox reads a part.

      Examples:
        waymark duplicates osm overture > pairs.ndjson
        waymark duplicates osm overture --min-score 0.8 --output pairs.csv
        waymark duplicates --url https://places.example.org --bbox 16.2,48.1,16.6,48.3 osm overture
      """
  )

  @OptionGroup var database: SettingOptions<DatabaseSettings>

  @OptionGroup var server: ClientOptions

  @Option(help: "Minimum score of a pair, from 0.5 to 1.")
  var minScore = Double(DuplicateQuery.defaultMinimumScore) / 1000

  @Option(help: "Box of both places, in degrees: west,south,east,north.")
  var bbox: String?

  @Option(help: "ndjson or csv. (default: what the file's name ends in, else ndjson)")
  var format: String?

  @Option(help: "File to write; - is the standard output.")
  var output = "-"

  @Argument(help: "Name of a data set.")
  var source: String

  @Argument(help: "Name of another data set. (default: the same)")
  var other: String?

  func run() async throws {
    let isCSV = try isCSV()
    let query = try query()
    if let target = try server.target() {
      guard !database.namesDatabase else {
        throw Exit.because("--url and --database-url can't be given both", Exit.usage)
      }
      try await write(isCSV: isCSV) { write in try await forEachPage(of: target, query, write) }
    } else {
      let configuration = try database.configuration()
      try await write(isCSV: isCSV) { write in try await compare(query, in: configuration, write) }
    }
  }

  /// Writes the pairs that a closure passes.
  private func write(
    isCSV: Bool, _ body: (_ write: ([DuplicateRow]) throws -> Void) async throws -> Void
  ) async throws {
    do {
      let file = try ExportFile(path: output)
      do {
        if isCSV { try file.write(DuplicateRow.csvHeader) }
        try await body { rows in
          var bytes: [UInt8] = []
          for row in rows { row.append(to: &bytes, isCSV: isCSV) }
          try file.write(bytes)
        }
        try file.finish()
      } catch {
        file.discard()
        throw error
      }
    } catch let error as PointStoreError {
      throw Exit.because(error, didNothing: "nothing was compared")
    } catch let error as ConfigurationError {
      throw Exit.because(error, Exit.usage)
    } catch let error as ServerCallError {
      throw Exit.because("\(error)", error.isUnavailable ? Exit.unavailable : Exit.failed)
    } catch {
      throw Exit.because("\(error); no pairs were written", Exit.failed)
    }
  }

  // MARK: Options

  private func isCSV() throws -> Bool {
    switch format ?? (output.hasSuffix(".csv") ? "csv" : "ndjson") {
    case "ndjson": return false
    case "csv": return true
    case let name: throw Exit.because("--format must be ndjson or csv, got '\(name)'", Exit.usage)
    }
  }

  private func query() throws -> DuplicateQuery {
    var query = DuplicateQuery(source: ExactText(source), other: ExactText(other ?? source))
    guard let score = DuplicateQuery.thousandths(minScore) else {
      throw Exit.because("--min-score must be a number from 0.5 to 1, got '\(minScore)'", Exit.usage)
    }
    query.minimumScore = score
    query.box = try bbox.map { try BoundingBox(option: $0) }
    return query
  }

  // MARK: Database

  /// The number of pairs that are written at a time.
  private static let batch = 1000

  private func compare(
    _ query: DuplicateQuery, in configuration: DatabaseConfiguration, _ write: ([DuplicateRow]) throws -> Void
  ) async throws {
    let store = try configuration.makeStore()
    let places = Mutex(PointBuffer())
    for name in Set([query.source, query.other]) {
      var conditions = PointQuery()
      conditions.source = PointQuery.Source(name: name.text)
      conditions.box = query.box
      try await store.exportPoints(matching: conditions) { points in
        places.withLock { places in for point in points { places.append(point) } }
      }
    }
    var text = TextIndexConfiguration()
    text.categories = .builtIn
    let snapshot = PointSnapshot(places.withLock { $0 }, text: text)
    let candidates = try snapshot.allDuplicates(matching: query)
    let decisions = try await DuplicateDecisions(store).all()
    var rest = try DuplicatePair.pairs(among: candidates, decisions)[...]
    while !rest.isEmpty {
      try write(rest.prefix(Self.batch).compactMap { DuplicateRow($0, in: snapshot) })
      rest = rest.dropFirst(Self.batch)
    }
    await store.shutDown()
  }

  // MARK: Server

  private func forEachPage(
    of target: ServerTarget, _ query: DuplicateQuery, _ write: ([DuplicateRow]) throws -> Void
  ) async throws {
    var components = URLComponents()
    components.queryItems = [
      .init(name: "source", value: source), .init(name: "other", value: other ?? source),
      .init(name: "minScore", value: "\(Double(query.minimumScore) / 1000)"), .init(name: "limit", value: "1000"),
    ]
    if let bbox { components.queryItems?.append(.init(name: "bbox", value: bbox)) }
    // A plus sign is a space in a query.
    var next: String? = "?" + (components.percentEncodedQuery?.replacing("+", with: "%2B") ?? "")
    while let page = next {
      let (rows, link) = try await target.duplicates("/duplicates" + page)
      try write(rows)
      next = link
    }
  }
}

extension ServerTarget {
  private static let maximumPageBytes = 64 << 20
  private static let pageTimeout = TimeAmount.seconds(120)

  /// Returns the pairs of a page, and the query of the next one.
  fileprivate func duplicates(
    _ path: String
  ) async throws(ServerCallError) -> (rows: [DuplicateRow], next: String?) {
    let request = request(.GET, path)
    return try await withClient {
      (client) async throws(ServerCallError) -> (rows: [DuplicateRow], next: String?) in
      let response: HTTPClientResponse
      let body: Data
      do {
        response = try await client.execute(request, timeout: Self.pageTimeout)
        body = Data(try await response.body.collect(upTo: Self.maximumPageBytes).readableBytesView)
      } catch {
        throw ServerCallError(error, target: self)
      }
      guard response.status == .ok else { throw ServerCallError(response.status, body: body) }
      guard let page = try? JSONDecoder().decode(DuplicatePage.self, from: body) else {
        throw ServerCallError(notWaymark: self)
      }
      let next = response.headers.first(name: "link").map { String($0.drop { $0 != "?" }.prefix { $0 != ">" }) }
      return (page.duplicates, next)
    }
  }
}

private struct DuplicatePage: Decodable {
  let duplicates: [DuplicateRow]
}

/// A pair of places in the output.
private struct DuplicateRow: Decodable {
  struct Place: Decodable {
    let id: String
    let name: String
    let source: String?
    let sourceId: String?
  }

  let id: String
  let state: String
  let score: Double
  let distance: Int
  let places: [Place]

  /// Creates the row of a pair; `nil` if a snapshot lacks a place.
  init?(_ pair: DuplicatePair, in snapshot: PointSnapshot) {
    let candidate = pair.candidate
    id = candidate.pair.description
    state = pair.state.rawValue
    score = Double(candidate.score.total) / 1000
    distance = Int(candidate.distanceMetres)
    places = [candidate.first, candidate.second].compactMap { snapshot.point(id: $0) }.map { point in
      Place(
        id: point.id.description, name: point.draft.name, source: point.draft.origin?.source,
        sourceId: point.draft.origin?.sourceID)
    }
    guard places.count == 2 else { return nil }
  }

  static let csvHeader = Array(
    "id,state,score,distance,firstId,firstName,firstSourceId,secondId,secondName,secondSourceId\n".utf8)

  func append(to bytes: inout [UInt8], isCSV: Bool) {
    if isCSV {
      let texts = [id, state, "\(score)", "\(distance)"] + places.flatMap { [$0.id, $0.name, $0.sourceId ?? ""] }
      for (index, text) in texts.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        CSVText.append(text, to: &bytes)
      }
    } else {
      var json = JSONWriter()
      json.beginObject()
      json.write(member: "id", id)
      json.write(member: "state", state)
      json.write(name: "score")
      json.write(number: score)
      json.write(member: "distance", distance)
      json.write(name: "places")
      json.writeArray(of: places) { place, json in
        json.write(member: "id", place.id)
        json.write(member: "name", place.name)
        if let source = place.source { json.write(member: "source", source) }
        if let sourceID = place.sourceId { json.write(member: "sourceId", sourceID) }
      }
      json.endObject()
      bytes += json.sink
    }
    bytes.append(UInt8(ascii: "\n"))
  }
}
