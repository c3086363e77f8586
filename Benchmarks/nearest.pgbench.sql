SELECT id, lat, long, name, category,
  CASE WHEN pg_column_size(tags) <= 128 THEN tags ELSE coalesce(
    to_json(nullif(greatest(octet_length(tags::text), 4096), 4096)), tags
  ) END AS tags
FROM (
  SELECT id, lat, long, name, category, tags
  FROM points
  ORDER BY position <<->> '@POINT@'::geometry
  LIMIT 24
) AS found;
