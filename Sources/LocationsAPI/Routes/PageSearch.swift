import Geo
import HTTPServer
import NIOHTTP1
import Points

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
/// A search leaves the event loop of its request, and its response with it, if its page is long or it has a condition
/// that takes long (memory is reserved for a long page), or if it turns out to need many steps: for a text, for opening
/// hours, or to index the places of a source. If the places found have long texts, or are in areas of many edges that
/// complete their addresses, their response leaves the event loop.
extension PointsService {
  /// Returns the response of a page of places.
  ///
  /// - Parameters:
  ///   - isCopied: a Boolean value that indicates whether the response makes values of the places, and parses or writes
  ///     their texts again.
  ///   - areas: the areas of the request, which complete the addresses of the response.
  /// - Throws: `Problem`.
  @inline(__always)
  func page<Response>(
    matching query: PointQuery, isRecorded: Bool = true, isCopied: Bool = true, in areas: RequestAreas? = nil,
    for request: HTTPRequest,
    response: (PointPage) throws(Problem) -> Response
  ) async throws(Problem) -> Response {
    try await searching(
      query, for: request
    ) { snapshot throws(PointStoreError) in
      try page(matching: query, in: snapshot, isRecorded: isRecorded)
    } inStore: { attempt throws(PointStoreError) in
      try await page(
        matching: query.bounded(ifOnEventLoop: attempt == .onEventLoop),
        isRecorded: isRecorded && attempt != .repetition, notBefore: request.minimumPosition)
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
  /// - Throws: `Problem`; 501 if texts can't be searched for.
  func matches<Response>(
    of query: TextQuery, isRecorded: Bool = true, in areas: RequestAreas?, for request: HTTPRequest,
    response: (TextPage) throws(Problem) -> Response
  ) async throws(Problem) -> Response {
    try requireTextSearch()
    return try await searching(
      query.filters, as: .matches, needsIndex: true, for: request
    ) { snapshot throws(PointStoreError) in
      try matches(of: query, in: snapshot, isRecorded: isRecorded)
    } inStore: { attempt throws(PointStoreError) in
      var query = query
      query.stepLimit = attempt == .onEventLoop ? Self.stepsOnEventLoop : nil
      return try await matches(
        of: query, isRecorded: isRecorded && attempt != .repetition, notBefore: request.minimumPosition)
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

  /// Searches for a request by a query, on the event loop or beside it, and makes the response there.
  ///
  /// - Parameters:
  ///   - operation: the operation of the store.
  ///   - isLong: a Boolean value that indicates whether the search takes long whatever the query.
  ///   - needsIndex: a Boolean value that indicates whether only an index can search, whatever the query.
  ///   - inSnapshot: the search in the places of a moment.
  ///   - inStore: the search in the store itself. On the event loop it may end with
  ///     ``Points/PointStoreError/stepLimit``, and is repeated beside it.
  ///   - isShort: a Boolean value that indicates whether the response of what was found takes less than a millisecond.
  ///   - response: the response of what was found.
  /// - Throws: `Problem`.
  @inline(__always)
  func searching<Found, Response>(
    _ query: PointQuery, as operation: StoreOperation = .page, isLong: Bool = false, needsIndex: Bool = false,
    for request: HTTPRequest,
    _ inSnapshot: (any IndexSnapshot) throws(PointStoreError) -> Found,
    inStore: (SearchAttempt) async throws(PointStoreError) -> Found,
    isShort: (Found) -> Bool = { _ in true },
    response: (Found) throws(Problem) -> Response
  ) async throws(Problem) -> Response {
    if !isLong, !query.isLong, !isRestricted {
      let found = try await request.reportingStoreErrors { () throws(PointStoreError) -> Found? in
        do throws(PointStoreError) {
          return try await inStore(.onEventLoop)
        } catch {
          guard error == .stepLimit else { throw error }
          return nil
        }
      }
      if let found {
        if isShort(found) { return try response(found) }
        return try await request.computing { () throws(Problem) in try response(found) }
      }
    }
    return try await searchingBesideEventLoop(
      query, as: operation, needsIndex: needsIndex || query.needsIndex || isRestricted, for: request, inSnapshot,
      inStore: inStore,
      response: response)
  }

  /// Searches beside the event loop, and makes the response there.
  ///
  /// The places of the moment come first: a thread for computations is held neither for a round of the index nor for a
  /// database. Where the store searches elsewhere, only the response is made beside the event loop.
  private func searchingBesideEventLoop<Found, Response>(
    _ query: PointQuery, as operation: StoreOperation, needsIndex: Bool, for request: HTTPRequest,
    _ inSnapshot: (any IndexSnapshot) throws(PointStoreError) -> Found,
    inStore: (SearchAttempt) async throws(PointStoreError) -> Found,
    response: (Found) throws(Problem) -> Response
  ) async throws(Problem) -> Response {
    let snapshot = try await request.result(
      of: await self.snapshot(for: operation, isRequired: needsIndex, notBefore: request.minimumPosition))
    guard let snapshot else { return try await searchingElsewhere(query, for: request, inStore, response: response) }
    // After the wait for the index, during which nothing is held.
    var reservation: MemoryReservation?
    if let bytes = query.memoryBytes { reservation = try await request.reserveMemory(bytes: bytes) }
    defer { extendLifetime(reservation) }
    return try await request.computing { () throws(Problem) in
      try response(request.searchResult(of: inSnapshot(snapshot)))
    }
  }
}

/// The place of a search in the store among those of its request.
enum SearchAttempt {
  case onEventLoop
  case besideEventLoop
  /// It is like the one before, which counts in analytics.
  case repetition
}

extension PointsService {
  /// Searches in the store, which waits for a database, and makes the response beside the event loop.
  ///
  /// Nothing is reserved during the first search, however long it waits. What it found is held once its memory is
  /// reserved: if that has to wait, the search is repeated afterwards.
  private func searchingElsewhere<Found, Response>(
    _ query: PointQuery, for request: HTTPRequest,
    _ inStore: (SearchAttempt) async throws(PointStoreError) -> Found,
    response: (Found) throws(Problem) -> Response
  ) async throws(Problem) -> Response {
    func search(_ attempt: SearchAttempt) async throws(Problem) -> Found {
      try await request.result(of: await inStore(attempt))
    }
    var found: Found? = try await search(.besideEventLoop)
    var reservation: MemoryReservation?
    defer { extendLifetime(reservation) }
    if let bytes = query.memoryBytes {
      reservation = request.reserveMemoryAtOnce(bytes: bytes)
      if reservation == nil {
        found = nil
        reservation = try await request.reserveMemory(bytes: bytes)
      }
    }
    let result = if let found { found } else { try await search(.repetition) }
    return try await request.computing { () throws(Problem) in try response(result) }
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

extension [FoundPoint] {
  /// A Boolean value that indicates whether the names and tags are parsed and written in less than a millisecond.
  var areShort: Bool { reduce(0) { $0 + $1.point.draft.textBytes } <= PointPage.shortTextBytes }
}

extension Problem {
  /// 501 where no index searches for texts.
  static let noTextSearch = Problem(
    .notImplemented, code: "not-implemented",
    detail: "places are found by name only with an index; this server has none because POINT_INDEX is off, or auto and "
      + "the places need more memory than there is, or because the database is a standby")
}
