SELECT id, lat, long, name, category, tags
FROM points
ORDER BY position <<->> '@POINT@'::geometry
LIMIT 24;
