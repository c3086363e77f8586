import ArgumentParser
import AsyncHTTPClient
import Foundation
import Hosting
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import Points
import ServerFeatures

/// A change of the places of a followed server.
struct FollowedChange: Sendable {
  let id: PointID

  /// The version of the server; `nil` if it is not known.
  let version: Int?

  /// The place in JSON; `nil` if the server has none that matches.
  let place: [UInt8]?

  /// The change as a line of NDJSON.
  var line: [UInt8] {
    var text = "{\"id\":\"\(id)\""
    if let version { text += ",\"version\":\(version)" }
    guard let place else { return Array((text + ",\"deleted\":true}\n").utf8) }
    return Array((text + ",\"place\":").utf8) + place + Array("}\n".utf8)
  }
}

/// The error of a follower.
enum FollowError: Error, Hashable, CustomStringConvertible {
  /// The server or the copy can't be reached now. The follower tries again, not before the time that the server named.
  case unavailable(String, retryAfter: Duration? = nil)
  /// The changes since the position are not known any more.
  case expired(String)
  /// The server denies the request.
  case denied(String)
  /// A file of the follower can't be used.
  case damaged(String)

  var description: String {
    switch self {
    case .unavailable(let text, _), .expired(let text), .denied(let text), .damaged(let text): text
    }
  }

  var exitCode: ExitCode {
    switch self {
    case .unavailable: Exit.unavailable
    case .expired, .denied: Exit.failed
    case .damaged: Exit.badData
    }
  }
}

/// A server whose places are copied.
struct FollowedServer {
  /// A page of changes.
  struct Page {
    var changes: [FollowedChange] = []
    var position = ""
    var hasMore = false

    /// Returns the time to wait before the next page.
    ///
    /// A server that waits for a change, as it is asked to, sets the pace itself. After another's page without changes or
    /// with the same position, the next one waits, as otherwise it would be requested without pause.
    func pause(after former: String, responseTime: Duration) -> Duration {
      let hasNothingNew = position == former || changes.isEmpty && !hasMore
      return hasNothingNew && responseTime < .seconds(FollowedServer.waitSeconds) ? .seconds(1) : .zero
    }
  }

  /// The seconds for which a request waits for a change.
  private static let waitSeconds = 25

  /// The timeout of a page of changes.
  private static let pageTimeout = TimeAmount.seconds(75)

  /// The longest time without a byte of an export, of which the copy may take some places slowly.
  static let readTimeout = TimeAmount.minutes(10)

  /// The maximum number of changes of a page, and of places of an export that are applied together.
  static let pageLength = 1000

  /// The limit of a page of changes, which has at most 4 MiB of texts and one place more, as JSON.
  private static let maximumPageBytes = 1 << 26

  /// The limit of a line of an export, and the length of the lines that are applied together.
  static let maximumLineBytes = 1 << 24

  /// The maximum time that a server may name in `Retry-After`.
  private static let maximumRetrySeconds = 3600

  let target: ServerTarget
  let query: FollowQuery
  let client: HTTPClient

  /// Returns the changes after a position.
  ///
  /// - Parameter waits: a Boolean value that indicates whether the call waits for a change if there is none.
  func changes(after position: String, waits: Bool) async throws -> Page {
    let wait = waits ? Self.waitSeconds : 0
    let path = "/changes?since=\(position)&limit=\(Self.pageLength)&wait=\(wait)\(query.suffix)"
    let response = try await response(to: path, deadline: .now() + Self.pageTimeout)
    let text = try await reporting { try await response.body.collect(upTo: Self.maximumPageBytes) }
    return try Self.parsing(text.readableBytesView) { reader in
      var page = Page()
      try reader.enterObject()
      while let name = try reader.nextMember()?.string {
        switch name {
        case "changes":
          try reader.enterArray()
          while try reader.nextElement() { page.changes.append(try Self.change(&reader)) }
        case "position": page.position = try reader.readString().string ?? ""
        case "more": page.hasMore = try reader.readBoolean()
        default: try reader.skipValue()
        }
      }
      try Self.check(page.position)
      return page
    }
  }

  /// Passes all places, some at a time.
  ///
  /// - Returns: the position of the places.
  func export(to consume: ([FollowedChange]) async throws -> Void) async throws -> String {
    let response = try await response(to: "/locations/export?f=ndjson\(query.suffix)")
    guard let position = response.headers.first(name: "waymark-position") else {
      throw FollowError.unavailable("\(target.base): the export has no position at the moment")
    }
    try Self.check(position)
    var changes: [FollowedChange] = []
    var byteCount = 0
    var line: [UInt8] = []
    var body = response.body.makeAsyncIterator()
    while let buffer = try await reporting({ try await body.next() }) {
      var rest = buffer.readableBytesView[...]
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        line += rest[..<end]
        rest = rest[(end + 1)...]
        try Self.checkLength(of: line)
        changes.append(try Self.exported(line))
        byteCount += line.count
        line.removeAll(keepingCapacity: true)
        guard changes.count == Self.pageLength || byteCount > Self.maximumLineBytes else { continue }
        try await consume(changes)
        changes.removeAll(keepingCapacity: true)
        byteCount = 0
      }
      line += rest
      try Self.checkLength(of: line)
    }
    guard line.isEmpty else { throw FollowError.unavailable("\(target.base): the connection broke") }
    try await consume(changes)
    return position
  }

  // MARK: Data sets and areas

  /// Returns the registered data sets.
  func sources() async throws -> [DataSource] {
    struct Source: Decodable {
      let name: String
      let licence: String?
      let attribution: String?
      let url: String?
      let usedFor: String?
    }
    let response = try await response(to: "/sources", deadline: .now() + Self.pageTimeout)
    let text = try await reporting { try await response.body.collect(upTo: Self.maximumPageBytes) }
    guard let sources = try? JSONDecoder().decode([Source].self, from: Data(text.readableBytesView)) else {
      throw FollowError.denied("\(ServerCallError(notWaymark: target))")
    }
    // Those that are built in are part of the copy's program.
    return sources.filter { $0.usedFor == nil }
      .map { DataSource(name: $0.name, licence: $0.licence, attribution: $0.attribution, url: $0.url) }
  }

  /// Returns the entity tag of the areas, which changes with each of them; `nil` if they have the tag that is known.
  /// Without tags, the tag is empty.
  func areasTag(known: String?) async throws -> String? {
    let response = try await response(
      to: "/areas?limit=1", ifNoneMatch: known, deadline: .now() + Self.pageTimeout)
    if response.status == .notModified { return nil }
    _ = try await reporting { try await response.body.collect(upTo: Self.maximumPageBytes) }
    return response.headers.first(name: "etag") ?? ""
  }

  /// Passes all areas, some at a time.
  func exportAreas(to consume: ([AreaRow]) async throws -> Void) async throws {
    let response = try await response(to: "/areas/export?f=ndjson")
    var (lines, lineStart): ([UInt8], Int) = ([], 0)
    var body = response.body.makeAsyncIterator()
    while let buffer = try await reporting({ try await body.next() }) {
      let start = lines.count
      lines += buffer.readableBytesView
      if let end = lines[start...].lastIndex(of: UInt8(ascii: "\n")) { lineStart = end + 1 }
      guard lines.count - lineStart <= Self.maximumAreaBytes else {
        throw FollowError.denied("\(target.base): an area has more than \(Self.maximumAreaBytes >> 20) MiB")
      }
      guard lineStart >= Self.areaBatchBytes else { continue }
      try await consume(try Self.areas(lines[..<lineStart]))
      lines.removeSubrange(..<lineStart)
      lineStart = 0
    }
    guard lineStart == lines.count else { throw FollowError.unavailable("\(target.base): the connection broke") }
    try await consume(try Self.areas(lines[...]))
  }

  /// The length of the lines of areas that are copied together.
  private static let areaBatchBytes = 8 << 20

  /// The maximum length of the line of an area, which has at most a million positions.
  private static let maximumAreaBytes = 1 << 27

  private static func areas(_ lines: ArraySlice<UInt8>) throws -> [AreaRow] {
    let found = try lines.withUnsafeBufferPointer { text throws(FormatError) in try AreaRows(text, format: .ndjson) }
    if let first = found.report.rejections.first {
      StandardError.warn("\(found.report.rejected) areas were not copied; the first: \(first.detail)")
    }
    return found.rows.filter { $0.id != nil }
  }

  // MARK: Responses

  private func response(
    to path: String, ifNoneMatch tag: String? = nil, deadline: NIODeadline = .distantFuture
  ) async throws -> HTTPClientResponse {
    var request = target.request(.GET, path)
    if let tag, !tag.isEmpty { request.headers.add(name: "if-none-match", value: tag) }
    let response = try await reporting { [request] in
      try await client.execute(request, deadline: deadline)
    }
    if response.status == .ok || tag != nil && response.status == .notModified { return response }
    let body = try? await response.body.collect(upTo: ServerTarget.maximumProblemBytes)
    let reason = ServerCallError(response.status, body: Data(body?.readableBytesView ?? ByteBufferView())).description
    switch response.status.code {
    case 410: throw FollowError.expired(reason)
    case 408, 429, 500, 502...599:
      let seconds = response.headers.first(name: "retry-after").flatMap { Int($0) }
      throw FollowError.unavailable(
        "\(target.base): \(reason)",
        retryAfter: seconds.map { .seconds(min(max($0, 0), Self.maximumRetrySeconds)) })
    default: throw FollowError.denied("\(target.base): \(reason)")
    }
  }

  private func reporting<Value>(_ call: () async throws -> Value) async throws -> Value {
    do {
      return try await call()
    } catch {
      throw FollowError.unavailable(ServerCallError(error, target: target).description)
    }
  }

  // MARK: JSON

  private static func check(_ position: String) throws {
    let (text, mark) = PositionText.parts(of: position)
    guard PositionText.isPosition(text), (mark ?? "").allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
      throw FollowError.denied("the server did not respond as Waymark does")
    }
  }

  private static func checkLength(of line: [UInt8]) throws {
    guard line.count <= maximumLineBytes else {
      throw FollowError.denied("the export has a line of more than \(maximumLineBytes) bytes")
    }
  }

  private static func parsing<Value>(
    _ text: some Collection<UInt8>, _ parse: (inout JSONReader) throws -> Value
  ) throws -> Value {
    let bytes = Array(text)
    return try bytes.withUnsafeBufferPointer { bytes in
      var reader = JSONReader(bytes)
      do {
        let value = try parse(&reader)
        try reader.finish()
        return value
      } catch is JSONError {
        throw FollowError.denied("the server did not respond as Waymark does")
      }
    }
  }

  /// Reads a change of a page.
  private static func change(_ reader: inout JSONReader) throws -> FollowedChange {
    var (id, version, place): (PointID?, Int?, [UInt8]?)
    try reader.enterObject()
    while let name = try reader.nextMember()?.string {
      switch name {
      case "id": id = try reader.readString().string.flatMap { PointID($0) }
      case "version": version = Int(String(decoding: try reader.readNumber(), as: UTF8.self))
      case "place": place = Array(try reader.skipValue())
      default: try reader.skipValue()
      }
    }
    guard let id else { throw FollowError.denied("the server did not respond as Waymark does") }
    return FollowedChange(id: id, version: version, place: place)
  }

  /// Returns a line of an export as a change.
  private static func exported(_ line: [UInt8]) throws -> FollowedChange {
    let change = try parsing(line) { try Self.change(&$0) }
    return FollowedChange(id: change.id, version: change.version, place: line)
  }
}
