-- The search that Waymark is compared with: pg_trgm over names and addresses. psql's variables `texts` and `queries` name
-- files of CSV. A place has a row for each of its names and codes, and if it has an address, rows for street and number,
-- for the whole address, and for its name with that. Texts and queries are without case, marks and punctuation.
CREATE EXTENSION pg_trgm;
CREATE TABLE texts (place text, text text, population bigint, lat float8, long float8);
CREATE TABLE queries (number int PRIMARY KEY, text text, typed bool, lat float8, long float8);
COPY texts FROM :'texts' (FORMAT csv);
COPY queries FROM :'queries' (FORMAT csv);
CREATE INDEX ON texts USING gin (text gin_trgm_ops);
VACUUM ANALYZE texts;
ANALYZE queries;

CREATE FUNCTION kilometres(lat float8, long float8, other_lat float8, other_long float8) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
  111.2 * sqrt((lat - other_lat) ^ 2 + ((long - other_long) * cos(radians(other_lat))) ^ 2);

-- The best texts of a query by their similarity as a whole and that of a part of them, less 0.05 for each factor of e of
-- the distance in kilometres if there is a position; equal ones by population. 40 rows have five places, which may have
-- several texts each.
CREATE FUNCTION similar(query text, at_lat float8, at_long float8) RETURNS TABLE (place text, rank bigint)
LANGUAGE sql STABLE AS $$
  SELECT place, row_number() OVER () FROM (
    SELECT place FROM texts WHERE text % query OR query <% text ORDER BY
      0.7 * similarity(text, query) + 0.3 * word_similarity(query, text)
        - CASE WHEN at_lat IS NULL THEN 0 ELSE 0.05 * ln(1 + kilometres(lat, long, at_lat, at_long)) END DESC,
      population DESC, place
    LIMIT 40) f
$$;

-- Texts that begin with a query, or have a word that begins with it, the nearest or largest places first.
CREATE FUNCTION beginning(query text, at_lat float8, at_long float8) RETURNS TABLE (place text, rank bigint)
LANGUAGE sql STABLE AS $$
  SELECT place, row_number() OVER () FROM (
    SELECT place FROM texts WHERE text LIKE query || '%' OR text LIKE '% ' || query || '%' ORDER BY
      CASE WHEN at_lat IS NULL THEN 0 ELSE kilometres(lat, long, at_lat, at_long) END,
      population DESC, text LIKE query || '%' DESC, length(text), place
    LIMIT 40) f
$$;

-- A query that is being typed has the similar texts behind those that begin with it.
SELECT number, place FROM (
  SELECT number, place, rank FROM queries, similar(text, lat, long) WHERE NOT typed
  UNION ALL SELECT number, place, rank FROM queries, beginning(text, lat, long) WHERE typed
  UNION ALL SELECT number, place, 100 + rank FROM queries, similar(text, lat, long) WHERE typed) found
ORDER BY number, rank;
