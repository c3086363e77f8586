import Points

/// The SQL of an import. All statements run on one connection, in one transaction.
///
/// Rows are staged in a temporary table as they arrive. Set operations then classify them against the existing places
/// and against later rows.
enum ImportStatements {
  /// The statement that serializes imports by an advisory lock with an arbitrary number.
  static let lock = "SELECT pg_advisory_xact_lock(8602447712365544707)"

  /// The definition of the staging tables.
  static let createStage = """
    CREATE TEMPORARY TABLE import_rows (
      row_number bigint NOT NULL,
      id uuid,
      new_id uuid,
      lat double precision NOT NULL,
      long double precision NOT NULL,
      name text COLLATE "C" NOT NULL,
      category text COLLATE "C",
      tags json NOT NULL,
      source text COLLATE "C",
      source_id text COLLATE "C"
    ) ON COMMIT DROP
    """

  static let stage = "COPY import_rows (\(CopyRows.columns)) FROM STDIN (FORMAT binary)"

  /// The statement that joins rows with the places of the same origin (source and source id).
  static let findOwners = """
    ANALYZE import_rows;
    CREATE TEMPORARY TABLE import_owners ON COMMIT DROP AS
    SELECT row_number, points.id AS owner
    FROM import_rows
    JOIN points ON points.source = import_rows.source AND points.source_id = import_rows.source_id;
    ANALYZE import_owners
    """

  /// The statement that finds the rows that share their id, their place or their origin with another row. It compares
  /// hashes, because few of many rows do; a hash collision of different origins does no harm.
  static let findConflicting = """
    CREATE TEMPORARY TABLE import_conflicts ON COMMIT DROP AS
    WITH keyed AS NOT MATERIALIZED (
      SELECT row_number, coalesce(id, owner) AS key, source, source_id,
        hashtextextended(source_id, hashtext(source)) AS origin
      FROM import_rows LEFT JOIN import_owners USING (row_number)
    )
    SELECT row_number, key, source, source_id, NULL::boolean AS is_kept, NULL::bigint AS superseded_by
    FROM keyed
    WHERE key IN (SELECT key FROM keyed WHERE key IS NOT NULL GROUP BY key HAVING count(*) > 1)
      OR origin IN (SELECT origin FROM keyed WHERE source IS NOT NULL GROUP BY origin HAVING count(*) > 1)
    """

  /// The statement that keeps each unresolved row that is the last of its id or place and the last of its origin.
  static let keepLast = """
    UPDATE import_conflicts AS row
    SET is_kept = true
    FROM (
      SELECT row_number,
        max(row_number) OVER (PARTITION BY key) AS last_of_key,
        max(row_number) OVER (PARTITION BY source, source_id) AS last_of_origin
      FROM import_conflicts
      WHERE is_kept IS NULL
    ) AS last
    WHERE row.row_number = last.row_number
      AND (row.key IS NULL OR row.row_number = last_of_key)
      AND (row.source IS NULL OR row.row_number = last_of_origin)
    """

  /// The statement that rejects the rows that share an id, a place or an origin with a kept row.
  static let supersede = """
    UPDATE import_conflicts AS row
    SET is_kept = false, superseded_by = coalesce(same_key, same_origin)
    FROM (
      SELECT unresolved.row_number, same_key.row_number AS same_key, same_origin.row_number AS same_origin
      FROM import_conflicts AS unresolved
      LEFT JOIN import_conflicts AS same_key ON same_key.is_kept AND same_key.key = unresolved.key
      LEFT JOIN import_conflicts AS same_origin ON same_origin.is_kept
        AND same_origin.source = unresolved.source AND same_origin.source_id = unresolved.source_id
      WHERE unresolved.is_kept IS NULL
    ) AS kept
    WHERE row.row_number = kept.row_number AND coalesce(same_key, same_origin) IS NOT NULL
    """

  static let countUnresolved = "SELECT count(*) FROM import_conflicts WHERE is_kept IS NULL"

  /// The statement that finds the rejected rows: superseded ones, and those whose id belongs to one place and whose
  /// origin to another.
  static let findRejected = """
    CREATE TEMPORARY TABLE import_rejected ON COMMIT DROP AS
    SELECT row_number, superseded_by
    FROM import_conflicts
    WHERE is_kept IS NOT TRUE
    UNION ALL
    SELECT row_number, NULL
    FROM import_rows JOIN import_owners USING (row_number)
    WHERE id <> owner AND row_number NOT IN (SELECT row_number FROM import_conflicts WHERE is_kept IS NOT TRUE);
    ANALYZE import_rejected
    """

  static let countRejected = "SELECT count(*) FROM import_rejected"

  static let firstRejected = """
    SELECT row_number, superseded_by
    FROM import_rejected
    ORDER BY row_number
    LIMIT $1::int8
    """

  /// The statement that finds the rows that match an existing place, and whether the place is unchanged.
  static let findMatches = """
    CREATE TEMPORARY TABLE import_matches ON COMMIT DROP AS
    SELECT row_number, points.id AS target,
      (points.lat, points.long, points.name, points.tags::text) = (r.lat, r.long, r.name, r.tags::text)
      AND (points.category, points.source, points.source_id)
        IS NOT DISTINCT FROM (r.category, r.source, r.source_id) AS is_unchanged
    FROM import_rows AS r
    LEFT JOIN import_owners USING (row_number)
    JOIN points ON points.id = coalesce(r.id, owner)
    WHERE NOT EXISTS (SELECT FROM import_rejected WHERE import_rejected.row_number = r.row_number);
    ANALYZE import_matches
    """

  static let countMatches = """
    SELECT count(*), count(*) FILTER (WHERE is_unchanged), (SELECT count(*) FROM import_rows)
    FROM import_matches
    """

  // MARK: Removals

  /// The definition of the table of places to delete.
  static let createRemovals = "CREATE TEMPORARY TABLE import_removals (id uuid NOT NULL) ON COMMIT DROP"

  /// The statement that adds the places with some ids in a data set. Values: the data set's name, and the ids.
  static let stageRemovals = """
    INSERT INTO import_removals
    SELECT id FROM points WHERE source = $1::text AND source_id = ANY ($2::text[])
    """

  /// The query for the ids of the places that a row means, by its own id or by its origin, where no later row counts
  /// instead of it.
  private static let meant = """
    SELECT key.id
    FROM (
      SELECT row_number, id FROM import_rows WHERE id IS NOT NULL
      UNION ALL
      SELECT row_number, owner FROM import_owners
    ) AS key
    WHERE NOT EXISTS (
      SELECT FROM import_rejected AS rejected
      WHERE rejected.row_number = key.row_number AND superseded_by IS NOT NULL
    )
    """

  static let hasRowOfSource = """
    SELECT EXISTS (
      SELECT FROM import_rows AS r
      WHERE source = $1::text
        AND NOT EXISTS (SELECT FROM import_rejected WHERE import_rejected.row_number = r.row_number)
    )
    """

  /// The statement that adds the places of a data set that no row means. Value: the data set's name.
  static let stageOthers = """
    INSERT INTO import_removals
    SELECT id
    FROM points
    WHERE source = $1::text AND NOT EXISTS (SELECT FROM (\(meant)) AS meant WHERE meant.id = points.id)
    """

  /// The statement that leaves out the places that a row means.
  static let dropMeantRemovals = """
    DELETE FROM import_removals
    WHERE id IN (\(meant))
    """

  static let countRemovals = "SELECT count(DISTINCT id) FROM import_removals"

  /// The statement that locks the ids of the places to delete, in the order of the locks' numbers.
  static let lockRemovals = """
    SELECT count(\(VersionStatements.lock(of: "id"))::text)
    FROM (SELECT DISTINCT id, uuid_hash(id) AS hash FROM import_removals ORDER BY hash) AS sorted
    """

  /// The statement that lets the sequence pass the versions of the places to delete.
  static let passVersions = """
    SELECT (\(VersionStatements.pass("greatest_version.version")))
    FROM (
      SELECT coalesce(max(version), 0) AS version
      FROM points
      WHERE id IN (SELECT id FROM import_removals) AND version < \(PointOfInterest.maximumCountedVersion)
    ) AS greatest_version
    """

  /// The statement that deletes the places.
  static let remove = "DELETE FROM points WHERE id IN (SELECT id FROM import_removals)"

  /// The statement that draws the version of all places that the import creates or updates, and returns it with the
  /// oldest transaction that was in progress before, as text.
  static let drawVersion = """
    SELECT \(VersionStatements.next), pg_snapshot_xmin(pg_current_snapshot())::text
    """

  static func update(version: Int64) -> String {
    """
    UPDATE points
    SET lat = r.lat, long = r.long, name = r.name, category = r.category, tags = r.tags,
      source = r.source, source_id = r.source_id,
      version = \(VersionStatements.next(after: "points.version", drawn: "\(version)")),
      updated_at = greatest(now(), points.updated_at)
    FROM import_rows AS r JOIN import_matches USING (row_number)
    WHERE points.id = target AND NOT is_unchanged
    """
  }

  /// Returns the statement that inserts new places along a Hilbert curve, which is PostGIS's sort order: neighbours
  /// then share pages of the table, and the spatial index, whose quality depends on the order of insertion, is several
  /// times as fast.
  ///
  /// New ids are assigned in the same order, so that they are appended to the index and follow the pages of the table:
  /// their timestamp and the 12 bits after it are one counter (RFC 9562, section 6.2), and the rest is random.
  ///
  /// Rows leave the window function in its order. A second `ORDER BY` would make PostgreSQL sort them again, and only
  /// locality depends on it.
  static func insert(version: Int64) -> String {
    """
    INSERT INTO points (id, lat, long, name, category, tags, source, source_id, version)
    SELECT coalesce(
        id,
        (
          lpad(to_hex((SELECT (extract(epoch FROM now()) * 1000)::bigint) + place / 4096), 12, '0')
          || to_hex(x'7000'::int + place % 4096) || substr(new_id::text, 20)
        )::uuid
      ),
      lat, long, name, category, tags, source, source_id, \(version)
    FROM (
      SELECT row_number() OVER (ORDER BY ST_SetSRID(ST_MakePoint(long, lat), 4326)) AS place,
        id, new_id, lat, long, name, category, tags, source, source_id
      FROM import_rows AS r
      WHERE NOT EXISTS (SELECT FROM import_rejected WHERE import_rejected.row_number = r.row_number)
        AND NOT EXISTS (SELECT FROM import_matches WHERE import_matches.row_number = r.row_number)
    ) AS new
    """
  }

  /// Returns the statement that renews the versions of created places whose id belonged to a place that was deleted
  /// after the import's version was drawn, because the deleted place's version may be the greater one. There are hardly
  /// any: other clients would have to create and delete exactly the imported ids during the import.
  ///
  /// The import has owned the ids since it inserted them, so a concurrent deletion was committed before, and this later
  /// statement sees it in the change log.
  ///
  /// - Parameter transaction: the oldest transaction that was in progress when the version was drawn, or an older one.
  static func renewVersions(_ version: Int64, since transaction: String) -> String {
    """
    UPDATE points
    SET version = \(VersionStatements.next)
    WHERE version = \(version) AND id IN (
      SELECT point_id
      FROM changes
      WHERE transaction >= '\(transaction)'::xid8 AND kind = 'deleted' AND version >= \(version)
        AND EXISTS (SELECT FROM import_rows WHERE id IS NOT NULL)
    )
    """
  }
}
