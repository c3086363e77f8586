import HTTPServer
import Points

extension PointQuery {
  /// The number of places up to which a page is short. A longer one takes more than a millisecond and much memory.
  static let shortLimit = 100

  /// A Boolean value that indicates whether the search or its page may take long, and so leaves the event loop.
  var isLong: Bool { limit > Self.shortLimit || timeLimit != nil }
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
