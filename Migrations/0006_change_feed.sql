-- The change log by transaction, written by triggers, so that it is complete whoever writes.
-- oldest-program: 0005
-- Older programs also write their own entries into the log, which do no harm: an entry says only that a place must be
-- read again.

-- The transaction that made the change. A reader remembers a snapshot (pg_current_snapshot()), takes a newer one, and
-- reads the entries of the transactions that are visible in the new one and were not in the old.
--
-- Entries of before this migration are of no use to such a reader.
TRUNCATE changes;
ALTER TABLE changes
  ADD COLUMN transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
  -- Only older programs read the sequence number, without its index. A later migration removes the column.
  DROP CONSTRAINT changes_pkey,
  -- Null in an entry that stands for all places, as after TRUNCATE.
  ALTER COLUMN point_id DROP NOT NULL,
  ALTER COLUMN version DROP NOT NULL,
  ALTER COLUMN time SET DEFAULT now(),
  DROP CONSTRAINT changes_kind_check,
  ADD CONSTRAINT changes_kind_check CHECK (kind IN ('created', 'updated', 'deleted', 'reset')),
  ADD CONSTRAINT changes_place_check CHECK (kind = 'reset' OR point_id IS NOT NULL AND version IS NOT NULL);
DROP INDEX changes_time;
CREATE INDEX changes_transaction ON changes (transaction);

-- One row about the pruning of the log.
CREATE TABLE changes_pruned (
  -- The greatest transaction of a deleted entry: a reader whose snapshot does not see all transactions up to it must read
  -- all places again.
  transaction xid8 NOT NULL,

  -- A transaction below which all had ended at that time. When the time is long enough ago for all readers to have seen
  -- them, their entries are deleted.
  horizon xid8 NOT NULL,
  horizon_time timestamptz NOT NULL
);
INSERT INTO changes_pruned VALUES ('0', pg_snapshot_xmin(pg_current_snapshot()), now());

-- The functions run with the privileges of their owner, so that whoever may write places needs none on the log. Their
-- search path has this schema and no other that a caller could create objects in.
DO $body$
DECLARE
  path text := format('pg_catalog, %I, pg_temp', current_schema());
BEGIN
  EXECUTE format($function$
    CREATE FUNCTION log_point_changes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = %s AS $$
    BEGIN
      IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO changes (kind) VALUES ('reset');
      ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO changes (point_id, kind, version) SELECT id, 'created', version FROM new_points;
      ELSIF TG_OP = 'UPDATE' THEN
        INSERT INTO changes (point_id, kind, version) SELECT id, 'updated', version FROM new_points;
      ELSE
        INSERT INTO changes (point_id, kind, version) SELECT id, 'deleted', version FROM old_points;
      END IF;
      -- Wakes up readers at the commit. A notification makes commits wait for each other, so a program that sends its
      -- own ones after its commits switches these off.
      IF current_setting('waymark.notifies', true) IS DISTINCT FROM 'off' THEN
        PERFORM pg_notify('waymark_changes', '');
      END IF;
      RETURN NULL;
    END
    $$
  $function$, path);

  EXECUTE format($function$
    CREATE FUNCTION log_point_id_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = %s AS $$
    BEGIN
      INSERT INTO changes (point_id, kind, version) VALUES (OLD.id, 'deleted', OLD.version);
      RETURN NULL;
    END
    $$
  $function$, path);

  EXECUTE format($function$
    CREATE FUNCTION renew_point_version() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = %s AS $$
    BEGIN
      NEW.version := greatest(nextval('point_versions'), OLD.version + 1);
      IF NEW.updated_at = OLD.updated_at THEN NEW.updated_at := greatest(now(), OLD.updated_at); END IF;
      RETURN NEW;
    END
    $$
  $function$, path);

  EXECUTE format($function$
    CREATE FUNCTION log_pruned_changes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = %s AS $$
    BEGIN
      IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO changes (kind) VALUES ('reset');
      ELSE
        UPDATE changes_pruned SET transaction = greatest(changes_pruned.transaction, last.transaction)
        FROM (SELECT transaction FROM old_changes ORDER BY transaction DESC LIMIT 1) AS last;
      END IF;
      RETURN NULL;
    END
    $$
  $function$, path);
END
$body$;

CREATE TRIGGER points_log_insert AFTER INSERT ON points
  REFERENCING NEW TABLE AS new_points FOR EACH STATEMENT EXECUTE FUNCTION log_point_changes();
CREATE TRIGGER points_log_update AFTER UPDATE ON points
  REFERENCING NEW TABLE AS new_points FOR EACH STATEMENT EXECUTE FUNCTION log_point_changes();
CREATE TRIGGER points_log_delete AFTER DELETE ON points
  REFERENCING OLD TABLE AS old_points FOR EACH STATEMENT EXECUTE FUNCTION log_point_changes();
CREATE TRIGGER points_log_truncate AFTER TRUNCATE ON points
  FOR EACH STATEMENT EXECUTE FUNCTION log_point_changes();

-- Only statements by hand change an id, or a place without its version.
CREATE TRIGGER points_log_id_change AFTER UPDATE ON points
  FOR EACH ROW WHEN (OLD.id <> NEW.id) EXECUTE FUNCTION log_point_id_change();
CREATE TRIGGER points_renew_version BEFORE UPDATE ON points
  FOR EACH ROW WHEN (OLD.version = NEW.version) EXECUTE FUNCTION renew_point_version();

CREATE TRIGGER changes_log_delete AFTER DELETE ON changes
  REFERENCING OLD TABLE AS old_changes FOR EACH STATEMENT EXECUTE FUNCTION log_pruned_changes();
CREATE TRIGGER changes_log_truncate AFTER TRUNCATE ON changes
  FOR EACH STATEMENT EXECUTE FUNCTION log_pruned_changes();

-- Also while session_replication_role is replica.
ALTER TABLE points
  ENABLE ALWAYS TRIGGER points_log_insert,
  ENABLE ALWAYS TRIGGER points_log_update,
  ENABLE ALWAYS TRIGGER points_log_delete,
  ENABLE ALWAYS TRIGGER points_log_truncate,
  ENABLE ALWAYS TRIGGER points_log_id_change,
  ENABLE ALWAYS TRIGGER points_renew_version;
ALTER TABLE changes
  ENABLE ALWAYS TRIGGER changes_log_delete,
  ENABLE ALWAYS TRIGGER changes_log_truncate;

-- Whoever may read or prune the log may do so with that row.
DO $$
DECLARE
  granted record;
BEGIN
  FOR granted IN
    SELECT DISTINCT CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(acl.grantee)) END AS role,
      CASE acl.privilege_type WHEN 'DELETE' THEN 'UPDATE' ELSE 'SELECT' END AS privilege
    FROM pg_class, aclexplode(pg_class.relacl) AS acl
    WHERE pg_class.oid = 'changes'::regclass AND acl.privilege_type IN ('SELECT', 'DELETE')
  LOOP
    EXECUTE format('GRANT %s ON changes_pruned TO %s', granted.privilege, granted.role);
  END LOOP;
END
$$;
