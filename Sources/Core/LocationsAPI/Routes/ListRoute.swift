import APIDescription
import Basics
import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// `GET /locations`: a page of the places that match, with `q` by their names.
struct ListRoute: AreaCallHandler {
  static let call = Call(
    .GET, "/locations", scope: .read, joinsRestriction: true, id: "listLocations", group: .search, link: "locations",
    summary: "List places",
    description:
      "The places that match all filters: with `q` the best match first, else with a position the nearest first, with a"
      + " route in the order along it, with `ids` in their order, else by id. With `q` a position without `radius` makes matches near it rank"
      + " higher. A `Link` leads to the next page.",
    parameters: .list, areas: .searched,
    describing: [
      "fields": .fields(
        Parameter.fields.description.description + " `label`, `score` and `match` need `q`.",
        additional: FieldSet.opening.union([.label, .score, .match]))
    ],
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [.init(200, "A page of places.", headers: [.link, .contentLanguage], media: .places)])

  let service: PointsService
  let revalidation: Revalidation

  /// The revalidation of responses to a text that is being typed.
  let shortLived: Revalidation
  let address: PublicAddress
  let filtering: Filtering
  let areas: any AreaStore

  /// The path of the calls that lead to other pages.
  var path = "/locations"

  /// Returns the response of a quick search whose places are written from their store.
  func respondAtOnce(to request: HTTPRequest) throws(Problem) -> HTTPResponse? {
    guard service.hasIndex, !ContentCoding.isAsked(by: request) else { return nil }
    let values = try ParameterValues(request, allowing: Self.call.parameters)
    guard !values.has(.text), !values.haveLongConditions(areJoined: true), !areas.areNeeded(for: values, .searched)
    else { return nil }
    let arguments = try ListArguments(values, request, filtering)
    guard arguments.areBorrowed, arguments.query.isQuick else { return nil }
    return try revalidation.respondAtOnce(to: request, in: arguments.format) { () throws(Problem) in
      guard let snapshot = service.snapshotAtOnce() else { return nil }
      let page = try request.searchResult(
        of: service.page(matching: arguments.query, in: snapshot, isRecorded: arguments.isSearch))
      return response(of: page, arguments, for: request)
    }
  }

  // As of other handlers, but without a call through the protocol, whose frame takes memory.
  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let values = try ParameterValues(request, allowing: Self.call.parameters)
    guard areas.areNeeded(for: values, .searched) else { return try await respond(to: request, with: values) }
    return try await areas.resolving(values, .searched, for: request) { values throws(Problem) in
      try await respond(to: request, with: values)
    }
  }

  @inline(__always)
  func respond(to request: HTTPRequest, with values: ParameterValues) async throws(Problem) -> HTTPResponse {
    let arguments = try await request.compiling(values) { () throws(Problem) in
      try ListArguments(values, request, filtering)
    }
    // Attributions change without a change of the places.
    let hasVersion = !arguments.fields.contains(.attribution)
    let revalidation = arguments.text?.isIncomplete == true ? shortLived : revalidation
    return try await revalidation.respond(
      to: request, in: arguments.format, languages: arguments.languages, areas: arguments.areas, hasVersion: hasVersion,
      expires: arguments.expire
    ) { () async throws(Problem) in
      try await search(arguments, for: request)
    }
  }

  /// Returns the response of the search.
  func search(_ arguments: ListArguments, for request: HTTPRequest) async throws(Problem) -> ExpiringResponse {
    if arguments.areBorrowed, arguments.text == nil {
      return try await service.page(
        matching: arguments.query, isRecorded: arguments.isSearch, isCopied: false, for: request
      ) { page in
        ExpiringResponse(response(of: page, arguments, for: request), expiry: page.expiry)
      }
    }
    return try await searchPlaces(arguments, for: request)
  }

  private func searchPlaces(
    _ arguments: ListArguments, for request: HTTPRequest
  ) async throws(Problem) -> ExpiringResponse {
    let attributions = try await service.attributions(for: arguments.fields, request)
    if let text = arguments.text {
      return try await service.matches(
        of: text, arguments.query, includesMatchedNames: arguments.fields.contains(.match), in: arguments.areas,
        for: request
      ) { page, query, landmark throws(Problem) in
        let next = page.next.map {
          target(cursor: Cursor.text(for: $0, in: query, near: landmark, of: arguments.fingerprint), for: request)
        }
        var found = try response(
          of: page.matches.map { FoundPoint($0) }, attributions, next: next, expiry: page.expiry, arguments,
          for: request)
        found.response.addLandmark(landmark, in: arguments.areas)
        return found
      }
    }
    return try await service.page(
      matching: arguments.query, isRecorded: arguments.isSearch, in: arguments.areas, for: request
    ) { page throws(Problem) in
      let next = page.next.map { nextTarget(after: $0, arguments, for: request) }
      return try response(
        of: page.points, attributions, next: next, expiry: page.expiry, arguments, for: request)
    }
  }

  private func response(of page: PointPage, _ arguments: ListArguments, for request: HTTPRequest) -> HTTPResponse {
    let link = page.next.map { nextLink(after: $0, arguments, for: request) }
    return HTTPResponse(page.borrowed, fields: arguments.fields, link: link)
  }

  private func response(
    of points: [FoundPoint], _ attributions: Attributions?, next: String?, expiry: Int64?, _ arguments: ListArguments,
    for request: HTTPRequest
  ) throws(Problem) -> ExpiringResponse {
    var points = points
    var expiry = expiry
    if let end = points.addStates(in: arguments.fields, at: arguments.query.opening, by: filtering.clock) {
      expiry = min(end, expiry ?? end)
    }
    attributions?.add(to: &points)
    let language = arguments.languages.translate(&points)
    try points.addLabels(in: arguments.fields, arguments.areas)
    var response = HTTPResponse(
      points, fields: arguments.fields, format: arguments.format,
      links: arguments.format == .geoJSON ? links(next: next, for: request) : [])
    response.addContentLanguage(language)
    if let next { response.addLink(toNext: next) }
    return ExpiringResponse(response, expiry: expiry)
  }

  /// Returns the links of a collection: to the next page, and to the data sets, which have the licences of its places
  /// (relation `license`, RFC 4946).
  private func links(next: String?, for request: HTTPRequest) -> [PointGeoJSON.Link] {
    let sources = address.target(path: "/sources", relative: "sources", for: request)
    let license = PointGeoJSON.Link(relation: "license", mediaType: PointFormat.json.mediaType, target: sources)
    guard let next else { return [license] }
    return [.init(relation: "next", mediaType: PointFormat.geoJSON.mediaType, target: next), license]
  }

  private func nextTarget(
    after position: PointQuery.Position, _ arguments: ListArguments, for request: HTTPRequest
  ) -> String {
    target(cursor: Cursor.text(for: position, in: arguments.query, of: arguments.fingerprint), for: request)
  }

  /// Returns the value of `Link` that leads to the page after a position, written in one pass.
  private func nextLink(
    after position: PointQuery.Position, _ arguments: ListArguments, for request: HTTPRequest
  ) -> String {
    let base = address.target(path: path, relative: "", for: request)
    return NextLink.field(base, request.query, cursorLength: Cursor.maximumLength) { bytes in
      Cursor.write(position, in: arguments.query, of: arguments.fingerprint, to: &bytes)
    }
  }

  private func target(cursor: String, for request: HTTPRequest) -> String {
    address.nextPage(of: path, cursor: cursor, for: request)
  }
}

/// The arguments of `GET /locations`.
///
/// They are an object, since they are passed from function to function, and have more members than a copy should count
/// references of.
final class ListArguments: Sendable {
  let query: PointQuery
  let fields: FieldSet
  let format: PointFormat
  let languages: LanguageNegotiation

  /// The areas of the request; `nil` if it needs none.
  let areas: RequestAreas?

  /// The fingerprint of the parameters that all pages have.
  let fingerprint: QueryFingerprint

  /// The arguments of a search for a text; `nil` without `q`.
  let text: TextArguments?

  /// A Boolean value that indicates whether the response is written from the places in their store.
  var areBorrowed: Bool {
    format == .json && fields.isDisjoint(with: .derived) && languages.languages == nil
  }

  /// A Boolean value that indicates whether the request is a search, which analytics count, and not a look-up by ids.
  var isSearch: Bool { query.ids.isEmpty }

  /// A Boolean value that indicates whether the response depends on the time of the request.
  var expire: Bool {
    query.opening.map { $0.isNow && !$0.isOfFirstPage } ?? !fields.isDisjoint(with: .opening)
  }

  /// A query without conditions: a copy of it costs less than a new one.
  private static let noConditions = PointQuery()

  /// Creates the arguments from parameters of a query or a body.
  ///
  /// - Throws: `Problem` 400 with every invalid parameter, or 406.
  init(
    _ values: borrowing ParameterValues, _ request: borrowing HTTPRequest, _ filtering: borrowing Filtering
  ) throws(Problem) {
    var values = copy values
    areas = values.areas
    let ids = try values.ids()
    var query = Self.noConditions
    values.setFilters(of: &query, by: filtering)
    query.ids = ids
    query.limit = values.limit(default: ids.isEmpty ? PointQuery.defaultLimit : ids.count)
    text = values.textArguments(&query, by: filtering)
    if values.has(.text) {
      fields = values.fields(additional: FieldSet.opening.union([.label, .score, .match]))
      languages = LanguageNegotiation(parameter: values.languages(), headers: request.headers)
    } else {
      query.after = values.position(in: &query)
      fields = values.fields(additional: .opening)
      languages = LanguageNegotiation(parameter: values.languages())
    }
    try values.check()
    self.query = query
    fingerprint = values.fingerprint
    format = try .chosen(by: values[.format], accept: request.headers)
  }
}

/// The query of the target of `Link: <…>; rel="next"` (RFC 8288).
package enum NextLink {
  /// Returns the request's own query with another cursor, from the `?` on.
  package static func query(_ query: Substring?, cursor: String) -> String {
    self.query(query, setting: "cursor", to: cursor)
  }

  /// Returns the request's own query, with a parameter set to a value if one is named, from the `?` on; empty if it has
  /// no parameters. Characters that would end the target early or that no URI has are percent-encoded.
  ///
  /// - Parameter value: a text that needs no percent-encoding.
  package static func query(_ query: Substring?, setting name: StaticString? = nil, to value: String = "") -> String {
    String(atMost: maximumLength(of: query, name) + value.utf8.count) { bytes in
      write(query, setting: name, to: &bytes) { $0.write(text: value) }
    }
  }

  /// Returns the value of `Link` whose target is a base and the request's own query with another cursor.
  ///
  /// - Parameters:
  ///   - cursorLength: the maximum length of the cursor in bytes.
  ///   - writeCursor: writes the cursor.
  static func field(
    _ base: String, _ query: Substring?, cursorLength: Int, _ writeCursor: (inout UncheckedBytes) -> Void
  ) -> String {
    String(atMost: base.utf8.count + maximumLength(of: query, "cursor") + cursorLength + 16) { bytes in
      bytes.write("<")
      bytes.write(text: base)
      write(query, setting: "cursor", to: &bytes, writeCursor)
      bytes.write(">; rel=\"next\"")
    }
  }

  private static func maximumLength(of query: Substring?, _ name: StaticString?) -> Int {
    (query?.utf8.count ?? 0) * 3 + (name?.utf8CodeUnitCount ?? 0) + 3
  }

  private static func write(
    _ query: Substring?, setting name: StaticString?, to bytes: inout UncheckedBytes,
    _ writeValue: (inout UncheckedBytes) -> Void
  ) {
    let first = bytes.end
    func writeSeparator() { bytes.write(bytes.end == first ? UInt8(ascii: "?") : UInt8(ascii: "&")) }
    var query = query ?? ""
    query.withUTF8 { query in
      var start = query.startIndex
      while start < query.endIndex {
        let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.endIndex
        let pair = UnsafeBufferPointer(rebasing: query[start..<end])
        if !pair.isEmpty, !isParameter(pair, named: name) {
          writeSeparator()
          copy(pair, to: &bytes)
        }
        start = end + 1
      }
    }
    if let name {
      writeSeparator()
      bytes.write(name)
      bytes.write("=")
      writeValue(&bytes)
    }
  }

  /// Returns a Boolean value that indicates whether a byte stays as it is in the target of a link.
  private static func isPlain(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "<") && byte != UInt8(ascii: ">") && byte != UInt8(ascii: "\"")
  }

  private static func isParameter(_ pair: UnsafeBufferPointer<UInt8>, named name: StaticString?) -> Bool {
    guard let name else { return false }
    let length = name.utf8CodeUnitCount
    guard pair.count == length || (pair.count > length && pair[length] == UInt8(ascii: "=")) else { return false }
    return (0..<length).allSatisfy { pair[$0] == name.utf8Start[$0] }
  }

  private static func copy(_ text: UnsafeBufferPointer<UInt8>, to writer: inout UncheckedBytes) {
    if text.allSatisfy(isPlain) { return writer.write(text) }
    for byte in text {
      if isPlain(byte) {
        writer.write(byte)
      } else {
        writer.write("%")
        writer.write(Hexadecimal.uppercaseDigit(byte >> 4))
        writer.write(Hexadecimal.uppercaseDigit(byte & 15))
      }
    }
  }
}
