import Geo
public import Points

extension PostgresStore: PointExporter {
  /// Hands over every place that matches, from one snapshot, by id; see
  /// ``Points/PointExporter/exportPoints(matching:to:)``.
  ///
  /// It has a connection of its own, one of a few, to which the statement time-out doesn't apply. While one batch is taken
  /// the next one comes, and no more: a slow taker holds the snapshot open, and memory does not grow. The first batch is
  /// handed over when the database has found it.
  ///
  /// - Throws: ``PointStoreError``, of which ``PointStoreError/overloaded`` where no connection became free in time, or what
  ///   `consume` throws.
  public func exportPoints(
    matching query: PointQuery,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    let connector = Connector(connectionInfo: configuration.connectionInfo)
    do {
      try await bulk.withSession(for: .export, connector: connector) { session in
        try await export(query, session, consume)
      }
    } catch DatabaseError.cancelled {
      throw CancellationError()
    } catch DatabaseError.refused(let error) where error.isDenial {
      throw PointStoreError(await pool.explained(error))
    } catch let error as DatabaseError {
      throw PointStoreError(error)
    }
  }

  private func export(
    _ query: PointQuery,
    _ session: Session,
    _ consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    let filter = PointFilter(query, center: query.proximity.map { EarthCentred($0.center) })
    if filter.isEmpty { return }
    // The cursor is read to its end, which PostgreSQL would otherwise not expect.
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
      let question = try pages.following(page)
      async let next = Self.ask(question, session)
      let points = try Self.points(of: page, matching: query.proximity)
      if !points.isEmpty { try await consume(points) }
      guard let following = try await next else { return }
      result = following
    }
  }

  private static func ask(
    _ question: ExportPages.Question?,
    _ session: Session
  ) async throws(DatabaseError) -> QueryResult? {
    guard let question else { return nil }
    return try await session.run(question.sql, question.parameters)
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

  /// The places of an answer, without those that only the chord has within the radius.
  private static func points(
    of result: QueryResult,
    matching proximity: PointQuery.Proximity?
  ) throws(PointStoreError) -> [PointOfInterest] {
    var points: [PointOfInterest] = []
    points.reserveCapacity(result.count)
    for row in result.rows {
      let point = try row.point()
      if let proximity, let radius = proximity.radiusMetres,
        Geodesic.distanceMetres(from: proximity.center, to: point.place.coordinate) > radius
      {
        continue
      }
      points.append(point)
    }
    return points
  }
}
