SELECT id, lat, long, version, created_at, updated_at, name, category, tags, source, source_id
FROM points
ORDER BY position <<->> '@POINT@'::geometry
LIMIT 24;
