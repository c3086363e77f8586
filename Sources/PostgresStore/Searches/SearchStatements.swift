import PostgresClient

/// The SQL of the search log.
enum SearchStatements {
  /// The stored value for a search without a cell.
  static let noCell = Int64(Int16.min)

  /// The statement that records searches. Values: an array for each column; for categories and texts, the number of the
  /// search from 1 beside each.
  static let append = Statement(
    "searches_append",
    """
    INSERT INTO searches (time, lat_hundredths, long_hundredths, categories, found, duration_us, text)
    SELECT timestamptz 'epoch' + search.time_us * interval '1 microsecond',
      nullif(search.lat, \(noCell))::smallint, nullif(search.long, \(noCell))::smallint,
      requested.names, search.found::integer, search.duration_us::integer, described.text
    FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[])
      WITH ORDINALITY AS search (time_us, lat, long, found, duration_us, number)
    LEFT JOIN (
      SELECT number, array_agg(name ORDER BY name) AS names
      FROM unnest($6::int8[], $7::text[]) AS named (number, name)
      GROUP BY number
    ) AS requested ON requested.number = search.number
    LEFT JOIN unnest($8::int8[], $9::text[]) AS described (number, text) ON described.number = search.number
    ORDER BY search.number
    """
  )

  private static let span = "time >= $1::timestamptz AND time < $2::timestamptz"
  private static let counts = "count(*), count(*) FILTER (WHERE found = 0)"

  static let totals = Statement(
    "searches_totals",
    planning: .eachTime,
    """
    SELECT \(counts),
      percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_us)::int8,
      percentile_disc(0.99) WITHIN GROUP (ORDER BY duration_us)::int8
    FROM searches
    WHERE \(span)
    """
  )

  static let busiestCells = cells("searches_busiest", orderedBy: 3)

  static let emptiestCells = cells(
    "searches_emptiest", having: "HAVING count(*) FILTER (WHERE found = 0) > 0", orderedBy: 4)

  private static func cells(_ name: String, having: String = "", orderedBy column: Int) -> Statement {
    Statement(
      name,
      planning: .eachTime,
      """
      SELECT lat_hundredths::int8, long_hundredths::int8, \(counts)
      FROM searches
      WHERE \(span) AND lat_hundredths IS NOT NULL
      GROUP BY lat_hundredths, long_hundredths
      \(having)
      ORDER BY \(column) DESC, lat_hundredths, long_hundredths
      LIMIT $3::int8
      """
    )
  }

  static let categories = Statement(
    "searches_categories",
    planning: .eachTime,
    """
    SELECT name, \(counts)
    FROM searches, unnest(categories) AS requested (name)
    WHERE \(span)
    GROUP BY name
    ORDER BY 2 DESC, name
    LIMIT $3::int8
    """
  )

  /// The statement for the texts that found nothing. Values: the period, the maximum number of texts and the minimum
  /// number of searches.
  static let texts = Statement(
    "searches_texts",
    planning: .eachTime,
    """
    SELECT text, \(counts)
    FROM searches
    WHERE \(span) AND text IS NOT NULL
    GROUP BY text
    HAVING count(*) >= $4::int8
    ORDER BY 2 DESC, text
    LIMIT $3::int8
    """
  )

  static let hours = Statement(
    "searches_hours",
    planning: .eachTime,
    """
    SELECT date_trunc('hour', time, 'UTC') AS hour, \(counts)
    FROM searches
    WHERE \(span)
    GROUP BY hour
    ORDER BY hour
    """
  )

  /// The statement that deletes a batch of the searches before a time, in a fraction of a second.
  static let prune = Statement(
    "searches_prune",
    planning: .eachTime,
    """
    DELETE FROM searches
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM searches WHERE time < $1::timestamptz LIMIT \(prunedAtOnce)))
    """
  )

  static let prunedAtOnce = 20_000
}
