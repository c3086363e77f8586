package import Basics
import Geo
package import HTTPServer
import NIOHTTP1
package import Points

extension PointQuery {
  /// The number of places up to which a page is short. A longer one takes more than a millisecond and much memory.
  private static let shortLimit = 100

  /// A Boolean value that indicates whether the search or its page may take long, and so leaves the event loop.
  fileprivate var isLong: Bool { limit > Self.shortLimit || hasLongCondition }

  /// A Boolean value that indicates whether a search of an index takes less than a millisecond, whatever it finds.
  var isQuick: Bool { !isLong && source == nil && opening == nil && excludedCategories.isEmpty }

  /// The estimated number of bytes of each place of a long page.
  private static let placeBytes = 1024

  /// The number of bytes to reserve for writing a page; `nil` for a short one.
  fileprivate var memoryBytes: Int? { limit > Self.shortLimit ? limit * Self.placeBytes : nil }

  /// Returns the query for a search in the store. On the event loop, it ends with
  /// ``Points/PointStoreError/stepLimit`` if the places of its source or the opening hours would have to be indexed
  /// first, or the hours or the excluded categories of many places examined.
  func bounded(ifOnEventLoop isOnEventLoop: Bool) -> PointQuery {
    var query = self
    query.needsBuiltIndexes = isOnEventLoop && (source != nil || opening != nil || !excludedCategories.isEmpty)
    return query
  }
}

/// The searches for a page of places, for every call that has pages.
///
/// The places of a moment are searched on the event loop of the request. The search leaves it, and the response with it,
/// if the page is long or there is a condition that takes long (memory is reserved for a long page), or if it turns out
/// to need many steps: for a text, for opening hours, or to index the places of a source. If the places found have long
/// texts, or are in areas of many edges that complete their addresses, their response leaves the event loop.
extension PointsService {
  /// Returns the places that a search reads for a request.
  package func view(
    of query: PointQuery, as operation: StoreOperation = .page, for request: HTTPRequest
  ) async throws(Problem) -> PlacesView {
    try await request.result(
      of: await view(
        for: operation, isRequired: query.needsIndex || isRestricted, notBefore: request.minimumPosition))
  }

  /// Returns the places of the moment for a search that only an index makes.
  ///
  /// - Parameters:
  ///   - operation: the operation of the store.
  ///   - text: the text that the places are to match.
  /// - Throws: `Problem` 501 where there is no index, or that of the store's error.
  package func requiredSnapshot(
    as operation: StoreOperation, for request: HTTPRequest, text: ExactText? = nil
  ) async throws(Problem) -> any IndexSnapshot {
    if text != nil { try requireTextSearch() }
    return try await request.reportingStoreErrors { () throws(PointStoreError) in
      let view = try await view(for: operation, isRequired: true, notBefore: request.minimumPosition)
      guard case .snapshot(let snapshot) = view else { throw .indexRequired }
      return snapshot
    }
  }

  /// Returns the response of a page of places.
  ///
  /// - Parameters:
  ///   - isCopied: a Boolean value that indicates whether the response makes values of the places, and parses or writes
  ///     their texts again.
  ///   - isCounted: returns whether the places that match are counted, for ``Points/PointPage/total``. The response has
  ///     no number if the count takes too long.
  ///   - areas: the areas of the request, which complete the addresses of the response.
  /// - Throws: `Problem`.
  @inline(__always)
  package func page<Response>(
    matching query: PointQuery, isRecorded: Bool = true, isCopied: Bool = true,
    countedIf isCounted: (PointPage) -> Bool = { _ in false }, in areas: RequestAreas? = nil,
    for request: HTTPRequest,
    response: (PointPage) throws(Problem) -> Response
  ) async throws(Problem) -> Response {
    let snapshot: any IndexSnapshot
    switch try await view(of: query, for: request) {
    case .snapshot(let view): snapshot = view
    case .store(let store):
      let found = try await page(
        matching: query, in: store, isRecorded: isRecorded, countedIf: isCounted,
        isShort: { !isCopied || $0.isShort(in: areas) }, for: request, response: response)
      if let found { return found }
      snapshot = try await requiredSnapshot(as: .page, for: request)
    }
    return try await searching(query, for: request) { isOnEventLoop throws(PointStoreError) in
      let query = query.bounded(ifOnEventLoop: isOnEventLoop)
      var page = try page(matching: query, in: snapshot, isRecorded: isRecorded)
      if isCounted(page) {
        do throws(PointStoreError) {
          page.total = try count(matching: query, in: snapshot)
        } catch let error where error.isOfSlowCount {}
      }
      return page
    } isShort: { page in
      !isCopied || page.isShort(in: areas)
    } response: { page throws(Problem) in
      try response(page)
    }
  }

  /// The number of steps of a search for a text on the event loop, about a millisecond.
  private static let stepsOnEventLoop = 400_000

  /// Returns the response of a page of the places that match a text.
  ///
  /// - Parameters:
  ///   - isRecorded: a Boolean value that indicates whether the search counts in analytics.
  ///   - isEmptyRecorded: a Boolean value that indicates whether it does if nothing is found.
  /// - Throws: `Problem`; 501 if texts can't be searched for.
  package func matches<Response>(
    of query: TextQuery, isRecorded: Bool = true, isEmptyRecorded: Bool = true, in areas: RequestAreas?,
    for request: HTTPRequest,
    response: (TextPage) throws(Problem) -> Response
  ) async throws(Problem) -> Response {
    try requireTextSearch()
    let snapshot = try await requiredSnapshot(as: .matches, for: request)
    return try await searching(query.filters, for: request) { isOnEventLoop throws(PointStoreError) in
      var query = query
      query.stepLimit = isOnEventLoop ? Self.stepsOnEventLoop : nil
      return try matches(
        of: query, in: snapshot, isRecorded: isRecorded, isEmptyRecorded: isEmptyRecorded)
    } isShort: { page in
      page.matches.reduce(0) { $0 + $1.point.draft.textBytes } <= PointPage.shortTextBytes
        && areas.lookUp(page.matches.lazy.map(\.point.draft.coordinate))
    } response: { page throws(Problem) in
      try response(page)
    }
  }

  /// Checks that texts can be searched for.
  ///
  /// - Throws: `Problem` 501.
  func requireTextSearch() throws(Problem) {
    if !usesIndex { throw .noTextSearch }
  }

  /// A Boolean value that indicates whether a search begins on the event loop.
  private func beginsOnEventLoop(_ query: PointQuery) -> Bool { !query.isLong && !isRestricted }

  /// Searches in the places of a moment, on the event loop or beside it, and makes the response there.
  ///
  /// - Parameters:
  ///   - search: the search. On the event loop it may end with ``Points/PointStoreError/stepLimit``, and is repeated
  ///     beside it.
  ///   - isShort: a Boolean value that indicates whether the response of what was found takes less than a millisecond.
  ///   - response: the response of what was found.
  /// - Throws: `Problem`.
  @inline(__always)
  private func searching<Found, Response>(
    _ query: PointQuery, for request: HTTPRequest,
    _ search: (_ isOnEventLoop: Bool) throws(PointStoreError) -> Found,
    isShort: (Found) -> Bool,
    response: (Found) throws(Problem) -> Response
  ) async throws(Problem) -> Response {
    if beginsOnEventLoop(query), let found = try request.searchResult(of: try Self.unlessLong(search)) {
      if isShort(found) { return try response(found) }
      return try await request.computing { () throws(Problem) in try response(found) }
    }
    // After the wait for the index, during which nothing is held.
    var reservation: MemoryReservation?
    if let bytes = query.memoryBytes { reservation = try await request.reserveMemory(bytes: bytes) }
    defer { extendLifetime(reservation) }
    return try await request.computing { () throws(Problem) in
      try response(request.searchResult(of: try search(false)))
    }
  }

  /// Returns the result of a search on the event loop; `nil` if it reached its step limit.
  private static func unlessLong<Found>(
    _ search: (_ isOnEventLoop: Bool) throws(PointStoreError) -> Found
  ) throws(PointStoreError) -> Found? {
    do throws(PointStoreError) {
      return try search(true)
    } catch .stepLimit {
      return nil
    }
  }

  /// Searches in a store, which waits for a database, and makes the response, beside the event loop if it is long.
  ///
  /// Nothing is reserved during the first search, however long it waits. What it found is held once its memory is
  /// reserved: if that has to wait, the search is repeated afterwards, which does not count in analytics.
  ///
  /// - Returns: `nil` if the store searched an index that can be read by now, and reached the step limit.
  private func page<Response>(
    matching query: PointQuery, in store: any PointStore, isRecorded: Bool, countedIf isCounted: (PointPage) -> Bool,
    isShort: (PointPage) -> Bool, for request: HTTPRequest, response: (PointPage) throws(Problem) -> Response
  ) async throws(Problem) -> Response? {
    let isOnEventLoop = beginsOnEventLoop(query)
    let bounded = query.bounded(ifOnEventLoop: isOnEventLoop)
    func search(isRecorded: Bool) async throws(Problem) -> PointPage? {
      try await request.reportingStoreErrors { () throws(PointStoreError) -> PointPage? in
        do throws(PointStoreError) {
          var page = try await self.page(matching: bounded, in: store, isRecorded: isRecorded)
          if isCounted(page) {
            do throws(PointStoreError) {
              page.total = try await observed(.count, await store.count(matching: bounded))
            } catch let error where error.isOfSlowCount {}
          }
          return page
        } catch .stepLimit {
          return nil
        }
      }
    }
    var found = try await search(isRecorded: isRecorded)
    if isOnEventLoop, let page = found, isShort(page) { return try response(page) }
    var reservation: MemoryReservation?
    defer { extendLifetime(reservation) }
    if let bytes = query.memoryBytes {
      reservation = request.reserveMemoryAtOnce(bytes: bytes)
      if reservation == nil {
        found = nil
        reservation = try await request.reserveMemory(bytes: bytes)
        found = try await search(isRecorded: false)
      }
    }
    guard let page = found else { return nil }
    return try await request.computing { () throws(Problem) in try response(page) }
  }
}

extension PointStoreError {
  /// A Boolean value that indicates whether a page is complete without the number of places that match, as to find that
  /// took too long.
  fileprivate var isOfSlowCount: Bool {
    switch self {
    case .filterTimeout, .overloaded, .timeout: true
    default: false
    }
  }
}

extension PointPage {
  /// The number of bytes of the names and tags of places up to which their response is made on the event loop.
  fileprivate static let shortTextBytes = 256 * 1024

  /// Returns a Boolean value that indicates whether the texts and the addresses of the places are parsed and written in
  /// less than a millisecond.
  ///
  /// - Parameter areas: the areas that complete the addresses.
  fileprivate func isShort(in areas: RequestAreas?) -> Bool {
    var bytes = 0
    borrowed.forEach { bytes += $0.name.count + $0.tags.beginning.count + $0.tags.rest.count }
    guard bytes <= Self.shortTextBytes else { return false }
    guard areas.completeAddresses else { return true }
    var coordinates: [Coordinate] = []
    borrowed.forEach { coordinates.append($0.coordinate) }
    return areas.lookUp(coordinates)
  }
}

extension Problem {
  /// 501 where no index searches for texts.
  static let noTextSearch = Problem(
    .notImplemented, code: "not-implemented",
    detail: "places are found by name only with an index; this server has none because POINT_INDEX is off, or auto and "
      + "the places need more memory than there is, or because the database is a standby")
}
