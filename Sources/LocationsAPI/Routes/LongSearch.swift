import HTTPServer
import Points

extension PointQuery {
  /// The number of places up to which a page is short. A longer one takes more than a millisecond and much memory.
  static let shortLimit = 100

  /// A Boolean value that indicates whether the search or its page may take long, and so leaves the event loop.
  var isLong: Bool { limit > Self.shortLimit || timeLimit != nil }

  /// The query for a search on the event loop, which ends with ``Points/PointStoreError/stepLimit`` where the places of
  /// its source would have to be indexed first. It is repeated beside the event loop then.
  var onEventLoop: PointQuery {
    var query = self
    query.needsBuiltIndexes = source != nil
    return query
  }
}

extension HTTPRequest {
  /// Searches on the event loop; returns `nil` where the search has to be repeated beside it.
  ///
  /// - Throws: `Problem` of the store's error.
  func searchingOnEventLoop<Found>(
    _ search: () async throws(PointStoreError) -> Found
  ) async throws(Problem) -> Found? {
    try await reportingStoreErrors { () throws(PointStoreError) -> Found? in
      do throws(PointStoreError) {
        return try await search()
      } catch {
        guard error == .stepLimit else { throw error }
        return nil
      }
    }
  }

  /// The number of bytes of the names and tags of places up to which their response is made on the event loop.
  private static let shortTextBytes = 256 * 1024

  /// Returns the response of the places of a page. If their texts are long, it is made beside the event loop, since each
  /// may be parsed and written again.
  ///
  /// - Throws: `Problem` of the closure, or 503.
  func responding(
    with points: [FoundPoint], _ response: () throws(Problem) -> HTTPResponse
  ) async throws(Problem) -> HTTPResponse {
    let bytes = points.reduce(0) { $0 + $1.point.draft.name.utf8.count + $1.point.draft.tags.json.utf8.count }
    return bytes <= Self.shortTextBytes ? try response() : try await computing(response)
  }
}

extension PointsService {
  /// Searches for a request beside the event loop, and makes the response there.
  ///
  /// The places of the moment come first: a thread for computations is held neither for a round of the index nor for a
  /// database. Where the store searches elsewhere, only the response is made beside the event loop.
  ///
  /// - Parameters:
  ///   - needsIndex: a Boolean value that indicates whether only an index can search.
  ///   - inSnapshot: the search in the places of a moment.
  ///   - inStore: the search in the store itself.
  ///   - response: the response of what was found.
  /// - Throws: `Problem`.
  func searching<Found, Value>(
    of request: HTTPRequest, needsIndex: Bool,
    _ inSnapshot: (any MapSnapshot) throws(PointStoreError) -> Found,
    inStore: () async throws(PointStoreError) -> Found,
    response: (Found) throws(Problem) -> Value
  ) async throws(Problem) -> Value {
    let snapshot = try await request.reportingStoreErrors { () throws(PointStoreError) -> (any MapSnapshot)? in
      try await self.snapshot(isRequired: needsIndex)
    }
    guard let snapshot else {
      let found = try await request.reportingStoreErrors(inStore)
      return try await request.computing { () throws(Problem) in try response(found) }
    }
    return try await request.computing { () throws(Problem) in
      try response(request.reportingSearchErrors { () throws(PointStoreError) in try inSnapshot(snapshot) })
    }
  }
}
