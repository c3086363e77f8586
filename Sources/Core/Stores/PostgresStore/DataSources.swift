package import Points
import PostgresClient

/// The SQL of the data sets.
private enum SourceStatements {
  static let all = Statement("sources", "SELECT name, licence, attribution, url FROM sources ORDER BY name")

  /// The statement that registers a data set or replaces its values. Values: name, licence, attribution, address.
  static let register = """
    INSERT INTO sources (name, licence, attribution, url)
    VALUES ($1::text, $2::text, $3::text, $4::text)
    ON CONFLICT (name) DO UPDATE
    SET licence = coalesce(excluded.licence, sources.licence),
      attribution = coalesce(excluded.attribution, sources.attribution), url = coalesce(excluded.url, sources.url),
      updated_at = now()
    WHERE (coalesce(excluded.licence, sources.licence), coalesce(excluded.attribution, sources.attribution),
        coalesce(excluded.url, sources.url))
      IS DISTINCT FROM (sources.licence, sources.attribution, sources.url)
    """

  /// The same as a transaction of its own.
  static let registerOne = Statement("register_source", register)

  /// The statement that removes a data set without places and areas, and forgets its deletions. Value: the name. It returns whether the data set
  /// was registered, whether it was removed, and whether it has places.
  static let remove = Statement(
    "remove_source",
    """
    WITH removed AS (
      DELETE FROM sources
      WHERE name = $1::text AND NOT EXISTS (SELECT FROM points WHERE source = $1::text)
        AND NOT EXISTS (SELECT FROM areas WHERE source = $1::text)
      RETURNING name
    ), import AS (
      DELETE FROM source_imports WHERE source IN (SELECT name FROM removed)
    ), forgotten AS (
      DELETE FROM edits USING removed WHERE edits.source = removed.name
    )
    SELECT EXISTS (SELECT FROM sources WHERE name = $1::text), EXISTS (SELECT FROM removed),
      EXISTS (SELECT FROM points WHERE source = $1::text)
    """
  )

  /// The statement that records the time of an import for the data sets of its accepted rows, of which there are few, and
  /// for those that it names. Values: the names.
  static let recordImport = """
    INSERT INTO source_imports (source, imported_at)
    SELECT source, now()
    FROM (
      SELECT source
      FROM import_rows AS r
      WHERE source IS NOT NULL
        AND NOT EXISTS (SELECT FROM import_rejected WHERE import_rejected.row_number = r.row_number)
      GROUP BY source
      UNION SELECT unnest($1::text[])
    ) AS imported
    ORDER BY source
    LIMIT \(maximumRecordedImports)
    ON CONFLICT (source) DO UPDATE SET imported_at = excluded.imported_at
    """

  static let lastImports = Statement(
    "source_imports",
    """
    SELECT source, extract(epoch FROM imported_at)::float8
    FROM source_imports
    WHERE EXISTS (SELECT FROM points WHERE points.source = source_imports.source)
    ORDER BY imported_at, source
    LIMIT \(maximumReportedImports)
    """
  )

  /// The maximum number of data sets whose imports are recorded at once.
  private static let maximumRecordedImports = 10_000

  /// The maximum number of data sets whose last imports are reported.
  private static let maximumReportedImports = 100
}

extension PostgresStore {
  /// Returns the registered data sets, by name.
  package func sources() async throws(PointStoreError) -> [DataSource] {
    var sources: [DataSource] = []
    for row in try await read(SourceStatements.all, Parameters()).rows {
      func text(_ column: Int32) throws(PointStoreError) -> String? { row.isNull(column) ? nil : try row.text(column) }
      sources.append(
        DataSource(name: try row.text(0), licence: try text(1), attribution: try text(2), url: try text(3)))
    }
    return sources
  }

  /// Returns the data sets with places and the times of their last imports in seconds since 1970, the oldest first and
  /// at most a hundred.
  ///
  /// - Throws: ``PointStoreError``.
  package func lastImports() async throws(PointStoreError) -> [(source: String, seconds: Double)] {
    var imports: [(source: String, seconds: Double)] = []
    for row in try await read(SourceStatements.lastImports, Parameters()).rows {
      imports.append((try row.text(0), try row.double(1)))
    }
    return imports
  }

  /// Removes a registered data set without places and areas; see ``Points/PointStore/removeSource(named:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func removeSource(named name: String) async throws(PointWriteError) -> SourceRemoval {
    do throws(PointStoreError) {
      let row = try await write(SourceStatements.remove, Parameters { $0.add(name) }).rows.first
      guard let row else { throw PointStoreError.unexpected(reason: "the removal of a source returned no row") }
      guard try row.boolean(0) else { return .unknown }
      if try row.boolean(1) { return .removed }
      return try row.boolean(2) ? .hasPlaces : .hasAreas
    } catch {
      throw .store(error)
    }
  }

  /// Registers data sets; see ``Points/PointStore/register(_:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func register(_ sources: [DataSource]) async throws(PointWriteError) {
    do throws(PointStoreError) {
      for source in sources { _ = try await write(SourceStatements.registerOne, source.parameters) }
    } catch {
      throw .store(error)
    }
  }

  /// Records the time of an import in its transaction, for the data sets of its staged rows and of its options, and for
  /// those of rows that were left out because their places were deleted.
  func recordImport(_ options: ImportOptions, sourcesOfLeftOut: [String], _ session: Session) async throws {
    let named = options.namedSources.map(\.name) + sourcesOfLeftOut
    try await session.run(script: "SET LOCAL enable_hashagg = on")
    try await session.run(SourceStatements.recordImport, Parameters { $0.add(named) })
    try await session.run(script: "SET LOCAL enable_hashagg = off")
  }

  /// Registers data sets in the transaction of an import. A value that is not given stays.
  func register(_ sources: [DataSource], _ session: Session) async throws {
    for source in sources { try await session.run(SourceStatements.register, source.parameters) }
  }
}

extension DataSource {
  /// The values of ``SourceStatements/register``.
  fileprivate var parameters: Parameters {
    Parameters {
      $0.add(name)
      $0.add(licence)
      $0.add(attribution)
      $0.add(url)
    }
  }
}
