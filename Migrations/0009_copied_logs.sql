-- The pruning of the change log with the snapshot that it was made in, changes by logical replication, and times that
-- can be shown.
-- oldest-program: 0006
-- An older program uses the numbers alone, and builds its index again more often than it must.

-- Times that no response can show, such as 'infinity', were written by hand. First, because it reads the whole table,
-- and the statements below lock it.
UPDATE points
SET created_at = CASE
    WHEN created_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00' THEN created_at ELSE now() END,
  updated_at = CASE
    WHEN updated_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00' THEN updated_at ELSE now() END
WHERE NOT created_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00'
  OR NOT updated_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00';
UPDATE sources SET updated_at = now()
WHERE NOT updated_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00';

-- NOT VALID, so that the table is not read again while it is locked.
ALTER TABLE points ADD CONSTRAINT points_times_check CHECK (
  created_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00'
  AND updated_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00') NOT VALID;
ALTER TABLE sources ADD CONSTRAINT sources_times_check CHECK (
  updated_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00');

-- A reader has missed a deleted entry only if its snapshot sees neither the deletion nor the entry's transaction.
ALTER TABLE changes_pruned
  -- The transaction of the last deletion.
  ADD COLUMN pruned_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
  -- The transactions of deleted entries from the horizon on, at most some thousands.
  ADD COLUMN recent xid8[] NOT NULL DEFAULT '{}',
  -- The greatest transaction of the other deleted entries.
  ADD COLUMN settled xid8 NOT NULL DEFAULT '0';

-- A number that was copied from another server may be greater than any here.
UPDATE changes_pruned SET transaction = '0' WHERE transaction >= pg_snapshot_xmax(pg_current_snapshot());
UPDATE changes_pruned SET settled = transaction;

DO $body$
DECLARE
  path text := format('pg_catalog, %I, pg_temp', current_schema());
BEGIN
  EXECUTE format($function$
    CREATE OR REPLACE FUNCTION log_pruned_changes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = %s AS $$
    DECLARE
      deleted xid8[];
    BEGIN
      IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO changes (kind) VALUES ('reset');
        RETURN NULL;
      END IF;
      -- Concurrent deletions wait for each other. The statements below see what the one before has recorded.
      PERFORM FROM changes_pruned FOR UPDATE;
      -- Other numbers than these were copied from another server, and no reader here has missed their entries.
      deleted := ARRAY(
        SELECT DISTINCT transaction FROM old_changes
        WHERE pg_visible_in_snapshot(transaction, pg_current_snapshot()) OR transaction = pg_current_xact_id()
        ORDER BY transaction);
      IF cardinality(deleted) = 0 THEN RETURN NULL; END IF;
      UPDATE changes_pruned AS pruned
      SET (pruned_by, recent, settled, transaction) = (
        SELECT pg_current_xact_id(), kept.numbers,
          greatest(
            CASE WHEN pruned.settled < pg_snapshot_xmax(pg_current_snapshot()) THEN pruned.settled ELSE '0' END,
            (
              SELECT number FROM unnest(pruned.recent || deleted) AS number
              WHERE (cardinality(kept.numbers) = 0 OR number < kept.numbers[cardinality(kept.numbers)])
                AND (pg_visible_in_snapshot(number, pg_current_snapshot()) OR number = pg_current_xact_id())
              ORDER BY number DESC LIMIT 1
            )),
          greatest(
            CASE WHEN pruned.transaction < pg_snapshot_xmax(pg_current_snapshot()) THEN pruned.transaction ELSE '0' END,
            deleted[cardinality(deleted)])
        FROM (
          SELECT ARRAY(
            SELECT DISTINCT number FROM unnest(pruned.recent || deleted) AS number
            WHERE number >= pruned.horizon
              AND (pg_visible_in_snapshot(number, pg_current_snapshot()) OR number = pg_current_xact_id())
            ORDER BY number DESC LIMIT 5000
          ) AS numbers
        ) AS kept);
      IF NOT FOUND THEN
        INSERT INTO changes_pruned (transaction, settled, horizon, horizon_time)
        VALUES (deleted[cardinality(deleted)], deleted[cardinality(deleted)], pg_snapshot_xmin(pg_current_snapshot()), now());
      END IF;
      RETURN NULL;
    END
    $$
  $function$, path);

  EXECUTE format($function$
    CREATE FUNCTION log_reset() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = %s AS $$
    BEGIN
      INSERT INTO changes (kind) VALUES ('reset');
      RETURN NULL;
    END
    $$
  $function$, path);

  EXECUTE format($function$
    CREATE FUNCTION log_replicated_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = %s AS $$
    BEGIN
      IF TG_OP = 'DELETE' THEN
        INSERT INTO changes (point_id, kind, version) VALUES (OLD.id, 'deleted', OLD.version);
      ELSE
        INSERT INTO changes (point_id, kind, version)
        VALUES (NEW.id, CASE TG_OP WHEN 'INSERT' THEN 'created' ELSE 'updated' END, NEW.version);
      END IF;
      IF current_setting('waymark.notifies', true) IS DISTINCT FROM 'off' THEN
        PERFORM pg_notify('waymark_changes', '');
      END IF;
      RETURN NULL;
    END
    $$
  $function$, path);
END
$body$;

-- Who removes the record of deletions has every reader read all places again.
CREATE TRIGGER changes_pruned_log_delete AFTER DELETE OR TRUNCATE ON changes_pruned
  FOR EACH STATEMENT EXECUTE FUNCTION log_reset();
ALTER TABLE changes_pruned ENABLE ALWAYS TRIGGER changes_pruned_log_delete;

-- Logical replication fires no triggers of statements, only those of rows. The condition holds where an operator has
-- enabled the trigger for all sessions.
CREATE TRIGGER points_log_replicated AFTER INSERT OR UPDATE OR DELETE ON points
  FOR EACH ROW WHEN (current_setting('session_replication_role') = 'replica') EXECUTE FUNCTION log_replicated_change();
ALTER TABLE points ENABLE REPLICA TRIGGER points_log_replicated;
