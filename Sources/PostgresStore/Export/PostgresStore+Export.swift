import Geo
package import Points
import PostgresClient

extension PostgresStore: PointExporter {
  /// Passes every matching place, from one snapshot and ordered by id, to a handler; see
  /// ``Points/PointExporter/exportPoints(matching:to:)``.
  ///
  /// It uses a dedicated connection without a statement timeout; the number of these is limited. One batch is read
  /// ahead while the handler processes another: a slow handler holds the snapshot open, but memory does not grow. The
  /// first batch is passed on as soon as it was read.
  ///
  /// - Throws: ``PointStoreError``, including ``PointStoreError/overloaded`` where no connection became free in time,
  ///   or the error of `consume`.
  package func exportPoints(
    matching query: PointQuery,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    guard !query.needsIndex else { throw PointStoreError.indexRequired }
    do {
      try await pool.withSession(for: .export) { session in
        try await export(query, session, consume)
      }
    } catch DatabaseError.cancelled {
      throw CancellationError()
    } catch let error as DatabaseError {
      throw await pool.storeError(error)
    }
  }

  private func export(
    _ query: PointQuery,
    _ session: Session,
    _ consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    let filter = PointFilter(query, center: query.proximity.map { EarthCentred($0.center) })
    if filter.isEmpty { return }
    // The cursor is read to its end, whereas the planner would expect a tenth of it.
    try await session.run(
      script: """
        BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \(BulkSettings.script); SET LOCAL cursor_tuple_fraction = 1; \
        \(Self.sortMemory)
        """
    )
    let pages: ExportPages = filter.hasConditions ? .cursor : .keyset
    if case .cursor = pages {
      let (sql, parameters) = Self.cursor(query, filter)
      try await session.run(sql, parameters)
    }
    var result = try await session.run(pages.first.sql)
    while result.count > 0 {
      let page = result
      let statement = try pages.following(page)
      async let next = Self.fetch(statement, session)
      let points = try Self.points(of: page, matching: query.proximity)
      if !points.isEmpty { try await consume(points) }
      guard let following = try await next else { return }
      result = following
    }
  }

  private static func fetch(
    _ statement: ExportPages.Statement?,
    _ session: Session
  ) async throws(DatabaseError) -> QueryResult? {
    guard let statement else { return nil }
    return try await session.run(statement.sql, statement.parameters)
  }

  private static let sortMemory = "SET LOCAL work_mem = '64MB'"

  private static func cursor(_ query: PointQuery, _ filter: PointFilter) -> (sql: String, Parameters) {
    var values = BoundValues()
    var center: String?
    if let proximity = query.proximity, filter.greatestChord != nil {
      center = values.bind(EarthCentred(proximity.center))
    }
    let conditions = filter.conditions(&values, center: center)
    return (ExportPages.cursor(whereClause: conditions.asWhereClause), values.parameters)
  }

  /// Returns the places of a page, without those that are within the radius by chord but not by the geodesic.
  private static func points(
    of result: QueryResult,
    matching proximity: PointQuery.Proximity?
  ) throws(PointStoreError) -> [PointOfInterest] {
    var points: [PointOfInterest] = []
    points.reserveCapacity(result.count)
    for row in result.rows {
      let point = try row.point()
      if let proximity, let radius = proximity.radiusMetres,
        Geodesic.distanceMetres(from: proximity.center, to: point.draft.coordinate) > radius
      {
        continue
      }
      points.append(point)
    }
    return points
  }
}
