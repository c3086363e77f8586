-- The keys of imports, beside those of created places: what is remembered is the report, and there is no place.
-- oldest-program: 0004
-- An older program goes on to ignore the keys of imports.

ALTER TABLE idempotency_keys
  ALTER COLUMN point_id DROP NOT NULL,
  ALTER COLUMN lat DROP NOT NULL,
  ALTER COLUMN long DROP NOT NULL,
  ALTER COLUMN name DROP NOT NULL,
  ALTER COLUMN tags DROP NOT NULL,
  ADD COLUMN created bigint,
  ADD COLUMN updated bigint,
  ADD COLUMN unchanged bigint,
  ADD COLUMN rejected bigint,
  -- The first rows that were rejected, by number, and why.
  ADD COLUMN rejected_rows bigint[],
  ADD COLUMN rejected_details text[] COLLATE "C",
  ADD CONSTRAINT idempotency_keys_response CHECK (point_id IS NOT NULL OR created IS NOT NULL);
