public import Points

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
}

extension PostgresStore {
  /// Returns the registered data sets, by name.
  public func sources() async throws(PointStoreError) -> [DataSource] {
    var sources: [DataSource] = []
    for row in try await read(SourceStatements.all, Parameters()).rows {
      func text(_ column: Int32) throws(PointStoreError) -> String? { row.isNull(column) ? nil : try row.text(column) }
      sources.append(
        DataSource(name: try row.text(0), licence: try text(1), attribution: try text(2), url: try text(3)))
    }
    return sources
  }

  /// Registers data sets in the transaction of an import. A value that is not given stays.
  func register(_ sources: [DataSource], _ session: Session) async throws {
    for source in sources {
      try await session.run(
        SourceStatements.register,
        Parameters {
          $0.add(source.name)
          $0.add(source.licence)
          $0.add(source.attribution)
          $0.add(source.url)
        })
    }
  }
}
