-- The schema of version 0.1.0.

-- Needs no privilege if PostGIS is installed already.
CREATE EXTENSION IF NOT EXISTS postgis;

-- The versions of all places, so that a place created under the id of a deleted one continues above it. A version is
-- about the time in microseconds: a database that is set up again continues above the one before it, and a number is
-- still exact as a JavaScript number. CACHE 1, so that numbers grow in the order in which sessions draw them.
CREATE SEQUENCE point_versions AS bigint MAXVALUE 9007199254740991 CACHE 1;
SELECT setval('point_versions', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);

CREATE TABLE points (
  -- Version 7, so that new places go to the end of the index.
  id uuid PRIMARY KEY,

  -- Plain numbers beside the geometry: a response needs no conversion and has the exact numbers that were written.
  -- BETWEEN also rejects NaN, which PostgreSQL sorts above all numbers.
  lat double precision NOT NULL CHECK (lat BETWEEN -90 AND 90),
  long double precision NOT NULL CHECK (long BETWEEN -180 AND 180),

  -- The default is for other programs that write places.
  version bigint NOT NULL DEFAULT nextval('point_versions') CHECK (version >= 1),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),

  -- Texts sort and compare by their bytes, which in UTF-8 is by code point: the same on every system, and faster than a
  -- language's order.
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  category text COLLATE "C" CHECK (category <> ''),
  -- The text that responses contain, sorted by key. PostgreSQL would have to serialize jsonb for each row of each
  -- response.
  tags json NOT NULL DEFAULT '{}' CHECK (json_typeof(tags) = 'object'),
  source text COLLATE "C",
  source_id text COLLATE "C",

  -- Earth-centred x, y and z on the WGS 84 ellipsoid, in metres (EPSG 4978). In space there is no antimeridian and no
  -- pole, and the straight line to a place ranks as the geodesic does, but for centimetres. Written out, because
  -- ST_Transform depends on the rows of spatial_ref_sys and on the grids that PROJ finds. The sine's square is taken
  -- from the cosine, and a longitude of next to nothing for nothing, because PostgreSQL rejects products that
  -- underflow.
  position geometry(PointZ, 4978) NOT NULL GENERATED ALWAYS AS (
    ST_SetSRID(
      ST_MakePoint(
        6378137.0 / sqrt(1 - 0.0066943799901413165 * (1 - cosd(lat) ^ 2)) * cosd(lat) * cosd(long),
        6378137.0 / sqrt(1 - 0.0066943799901413165 * (1 - cosd(lat) ^ 2)) * cosd(lat)
          * CASE WHEN abs(long) < 1e-200 THEN 0 ELSE sind(long) END,
        6335439.3272928195 / sqrt(1 - 0.0066943799901413165 * (1 - cosd(lat) ^ 2)) * sind(lat)
      ),
      4978
    )
  ) STORED,

  -- Any number of places may have no origin; those that have one share it with no other.
  CONSTRAINT points_origin UNIQUE (source, source_id),
  CHECK ((source IS NULL) = (source_id IS NULL)),

  -- Other times, such as 'infinity', cannot be expressed in a response.
  CONSTRAINT points_times_check CHECK (
    created_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00'
    AND updated_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00')
);

-- The sequence is dropped with the column, as that of an identity column is.
ALTER SEQUENCE point_versions OWNED BY points.version;

-- Nearest neighbours (<<->>) and boxes (&&&), in three dimensions.
CREATE INDEX points_position ON points USING gist (position gist_geometry_ops_nd);

-- Places of rare categories, and the count of each category.
CREATE INDEX points_category ON points (category);

-- A place at random: the first whose key is not below a random number. The key is a hash of the id and needs no column.
CREATE INDEX points_shuffle ON points (uuid_hash_extended(id, 0));

-- The ids of deleted places, so that a place of the same origin gets its id again, and references to it stay valid.
-- Beside them, only edits keep something of a deleted place: that and when a client deleted it. Rows may be deleted at
-- any time.
CREATE TABLE former_ids (
  source text COLLATE "C",
  source_id text COLLATE "C",
  id uuid NOT NULL,
  PRIMARY KEY (source, source_id)
);

-- The edits of places of a data set by clients, which imports keep: a row for each edited field, and one for a deletion.
CREATE TABLE edits (
  -- Of the place, or of the deleted place. No foreign key: that would cost each import a look-up for each place.
  id uuid,
  -- name, category, position, tags. with the key of a tag, or deleted.
  field text COLLATE "C",
  -- As those of the place. The edits of a place end with its origin.
  source text COLLATE "C" NOT NULL,
  source_id text COLLATE "C" NOT NULL,

  -- The value that the data set gave last, which is not that of the place; all null for none.
  base text COLLATE "C",
  base_lat double precision CHECK (base_lat BETWEEN -90 AND 90),
  base_long double precision CHECK (base_long BETWEEN -180 AND 180),
  since timestamptz NOT NULL,
  -- Whether the data set has changed its value since the edit.
  is_conflict boolean NOT NULL DEFAULT false,
  PRIMARY KEY (id, field),
  CHECK ((base_lat IS NULL) = (base_long IS NULL) AND (base_lat IS NULL OR base IS NULL)),
  CONSTRAINT edits_times_check CHECK (
    since BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00')
);

-- Lists of the edits of a data set, and of those in conflict.
CREATE INDEX edits_source ON edits (source, id);
CREATE INDEX edits_conflict ON edits (id) WHERE is_conflict;

-- The deletion of the place that had an origin.
CREATE INDEX edits_deleted ON edits (source, source_id) WHERE field = 'deleted';

-- The data sets that places come from, with licence and attribution.
CREATE TABLE sources (
  -- As points.source. A data set may have no places, and a place's data set need not be here.
  name text COLLATE "C" PRIMARY KEY,
  licence text COLLATE "C",
  attribution text COLLATE "C",
  url text COLLATE "C",
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT sources_times_check CHECK (
    updated_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00')
);

-- The time of the last import of each data set.
CREATE TABLE source_imports (
  -- As points.source. The data set need not be in the table sources.
  source text COLLATE "C" PRIMARY KEY,
  imported_at timestamptz NOT NULL
);

-- The named areas, of which every instance holds all in memory.
CREATE TABLE areas (
  id uuid PRIMARY KEY,

  -- From the sequence point_versions, by a trigger: greater than those of all changes before, whoever makes them.
  version bigint NOT NULL CHECK (version >= 1),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  -- By language.
  names json NOT NULL DEFAULT '{}' CHECK (json_typeof(names) = 'object'),
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('country', 'region', 'city', 'district', 'postcode', 'custom')),
  level smallint CHECK (level BETWEEN 0 AND 20),
  importance double precision NOT NULL DEFAULT 0 CHECK (importance BETWEEN 0 AND 1),
  tags json NOT NULL DEFAULT '{}' CHECK (json_typeof(tags) = 'object'),
  source text COLLATE "C",
  source_id text COLLATE "C",
  shape geography NOT NULL CHECK (GeometryType(shape::geometry) IN ('POLYGON', 'MULTIPOLYGON')),
  CONSTRAINT areas_origin UNIQUE (source, source_id),
  CHECK ((source IS NULL) = (source_id IS NULL)),
  CONSTRAINT areas_times_check CHECK (
    created_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00'
    AND updated_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00')
);

-- For queries in SQL: the program searches in memory.
CREATE INDEX areas_shape ON areas USING gist (shape);

-- One row: the version of all areas, which is not less than that of any. Whoever writes areas locks it before a version
-- is drawn, so that those above a known one are all that has changed since.
CREATE TABLE area_state (version bigint NOT NULL);
INSERT INTO area_state (version) VALUES (nextval('point_versions'));

-- The records of features: small documents in collections, which the features alone read.
CREATE TABLE records (
  collection text COLLATE "C",
  id text COLLATE "C",
  -- Grows with each change, so that of two concurrent changes one fails and is repeated.
  revision bigint NOT NULL CHECK (revision > 0),
  -- What records are found by: an object of strings.
  fields jsonb NOT NULL DEFAULT '{}',
  expires_at timestamptz,
  -- The time of removal; null for never.
  kept_until timestamptz,
  document json NOT NULL,
  PRIMARY KEY (collection, id)
);
CREATE INDEX records_fields ON records USING gin (fields jsonb_path_ops);
CREATE INDEX records_end ON records (collection, kept_until) WHERE kept_until IS NOT NULL;

-- The outcomes of requests with an idempotency key, which are the responses to repeats. The keys of writes of areas end
-- with ' areas'.
CREATE TABLE idempotency_keys (
  key text COLLATE "C" PRIMARY KEY,
  request_hash bigint NOT NULL,
  -- All of an outcome; programs alone read it.
  outcome json NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- To find the oldest: each new key removes a few that have expired.
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- A row for each search, if ANALYTICS=postgres. Places are rounded, so that a row reveals no one's whereabouts.
CREATE TABLE searches (
  time timestamptz NOT NULL,

  -- The middle of a cell of a hundredth of a degree, in hundredths; both null for a search without a centre.
  lat_hundredths smallint,
  long_hundredths smallint,

  -- The requested categories; null for all.
  categories text[] COLLATE "C",

  -- The number of places on the page, and the duration in the store in microseconds.
  found integer NOT NULL,
  duration_us integer NOT NULL,

  -- The normalised text of a search that found nothing, if ANALYTICS_SEARCH_TEXTS is on.
  text text COLLATE "C",

  CHECK ((lat_hundredths IS NULL) = (long_hundredths IS NULL))
);

-- Reports and pruning are by time. Rows are inserted in the order of their times, so a summary of each range of pages
-- is enough, and costs an insertion next to nothing.
CREATE INDEX searches_time ON searches USING brin (time) WITH (pages_per_range = 32, autosummarize = true);

-- The change log by transaction, written by triggers, so that it is complete whoever writes.
CREATE TABLE changes (
  -- The order of the insertions, for people. Numbers are assigned before commit and become visible out of order, so no
  -- reader of the log depends on them.
  sequence bigint GENERATED ALWAYS AS IDENTITY,

  -- No foreign key: the log contains deleted places, and a key would cost each write a look-up. Null in an entry that
  -- stands for all places, as after TRUNCATE.
  point_id uuid,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('created', 'updated', 'deleted', 'reset')),
  -- After the change; for a deletion, one that is greater than every one of the removed place, and that no place gets.
  version bigint CHECK (version >= 1),
  time timestamptz NOT NULL DEFAULT now(),

  -- The transaction that made the change. A reader remembers a snapshot (pg_current_snapshot()), takes a newer one, and
  -- reads the entries of the transactions that are visible in the new one and were not in the old.
  transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),

  CONSTRAINT changes_place_check CHECK (kind = 'reset' OR point_id IS NOT NULL AND version IS NOT NULL)
);
-- A reader that has read a part of the entries between two snapshots continues after a place.
CREATE INDEX changes_transaction ON changes (transaction, point_id);

-- The entries that stand for all places, of which there are hardly any.
CREATE INDEX changes_reset ON changes (transaction) WHERE point_id IS NULL;

-- The entries of a place in their order: an entry with a later one is not needed, and is deleted from time to time.
CREATE INDEX changes_point ON changes (point_id, version);

-- The anchors of indexes that instances keep in files. Where the row of an anchor is, everything is that was committed
-- before it, after a crash, a promotion or a restore too: see docs/decisions/index-in-files.md.
CREATE TABLE index_anchors (
  id text PRIMARY KEY CHECK (octet_length(id) <= 64),
  created_at timestamptz NOT NULL DEFAULT now()
);

-- The anchors of positions in the change log: by the row of one, a server proves that the snapshots of a former life of
-- it, or of the server that it has replaced, mean the same here. The newest of each hour is kept.
CREATE TABLE change_anchors (
  -- A hash of what identifies the server and its start; see ChangePosition.life.
  life bigint NOT NULL,

  -- What identifies the database and the table, through restarts and promotions.
  origin text COLLATE "C" NOT NULL,

  -- Taken before the row was committed.
  snapshot pg_snapshot NOT NULL,
  time timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX change_anchors_life ON change_anchors (life, time);
CREATE INDEX change_anchors_time ON change_anchors (time);

-- One row about the pruning of the log. A reader has missed a deleted entry only if its snapshot sees neither the
-- deletion nor the entry's transaction; it must read all places again then.
CREATE TABLE changes_pruned (
  -- The greatest transaction of a deleted entry.
  transaction xid8 NOT NULL,

  -- A transaction below which all had ended at that time, which is the one of an anchor from before the retention: their
  -- entries are deleted.
  horizon xid8 NOT NULL,
  horizon_time timestamptz NOT NULL,

  -- The transaction of the last deletion.
  pruned_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
  -- The transactions of deleted entries from the horizon on, at most some thousands.
  recent xid8[] NOT NULL DEFAULT '{}',
  -- The greatest transaction of the other deleted entries.
  settled xid8 NOT NULL DEFAULT '0',

  -- The transaction below which entries with later ones of the same place were deleted.
  compacted xid8 NOT NULL DEFAULT '0'
);
INSERT INTO changes_pruned (transaction, horizon, horizon_time)
VALUES ('0', pg_snapshot_xmin(pg_current_snapshot()), now());

-- The functions run with the privileges of their owner, so that whoever may write places needs none on the log. Their
-- search path has this schema and no other that a caller could create objects in.
DO $body$
DECLARE
  path text := format('pg_catalog, %I, pg_temp', current_schema());
BEGIN
  EXECUTE format($function$
    CREATE FUNCTION log_point_changes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = %s AS $$
    DECLARE
      drawn bigint;
    BEGIN
      IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO changes (kind) VALUES ('reset');
      ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO changes (point_id, kind, version) SELECT id, 'created', version FROM new_points;
      ELSIF TG_OP = 'UPDATE' THEN
        INSERT INTO changes (point_id, kind, version) SELECT id, 'updated', version FROM new_points;
      ELSE
        -- Drawn while the places are locked, so that it is less than that of a place that gets the id.
        drawn := nextval('point_versions');
        INSERT INTO changes (point_id, kind, version)
        SELECT id, 'deleted', greatest(drawn, least(version, 9223372036854775806) + 1) FROM old_points;
        INSERT INTO former_ids (source, source_id, id)
        SELECT source, source_id, id FROM old_points WHERE source IS NOT NULL ORDER BY source, source_id
        ON CONFLICT (source, source_id) DO UPDATE SET id = excluded.id WHERE former_ids.id <> excluded.id;
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
      INSERT INTO changes (point_id, kind, version)
      VALUES (OLD.id, 'deleted', least(OLD.version, 9223372036854775806) + 1);
      RETURN NULL;
    END
    $$
  $function$, path);

  EXECUTE format($function$
    CREATE FUNCTION lock_area_state() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = %s AS $$
    BEGIN
      PERFORM FROM area_state FOR UPDATE;
      RETURN NULL;
    END
    $$
  $function$, path);

  EXECUTE format($function$
    CREATE FUNCTION set_area_version() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = %s AS $$
    BEGIN
      NEW.version := nextval('point_versions');
      IF TG_OP = 'UPDATE' AND NEW.updated_at = OLD.updated_at THEN
        NEW.updated_at := greatest(now(), OLD.updated_at);
      END IF;
      RETURN NEW;
    END
    $$
  $function$, path);

  EXECUTE format($function$
    CREATE FUNCTION renew_area_state() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = %s AS $$
    BEGIN
      -- Only there are no changed rows to name. A write that finds the areas changed changes none.
      IF TG_OP = 'TRUNCATE' THEN
        UPDATE area_state SET version = nextval('point_versions');
      ELSIF EXISTS (SELECT FROM changed_areas) THEN
        UPDATE area_state SET version = nextval('point_versions');
      END IF;
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
    DECLARE
      deleted xid8[];
    BEGIN
      IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO changes (kind) VALUES ('reset');
        RETURN NULL;
      END IF;
      -- Concurrent deletions wait for each other. The statements below see what the one before has recorded.
      PERFORM FROM changes_pruned FOR UPDATE;
      -- Other numbers than these were copied from another server, and no reader here has missed their entries. Neither
      -- has one missed an entry that has a later one of the same place: versions are drawn under the place's lock, so a
      -- snapshot that sees the later transaction sees the earlier one.
      deleted := ARRAY(
        SELECT DISTINCT transaction FROM old_changes AS former
        WHERE (pg_visible_in_snapshot(transaction, pg_current_snapshot()) OR transaction = pg_current_xact_id())
          AND NOT EXISTS (
            SELECT FROM changes AS later
            WHERE later.point_id = former.point_id AND later.version > former.version
              AND later.transaction >= former.transaction
              AND (
                pg_visible_in_snapshot(later.transaction, pg_current_snapshot())
                OR later.transaction = pg_current_xact_id()))
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
        INSERT INTO changes (point_id, kind, version)
        VALUES (OLD.id, 'deleted', least(OLD.version, 9223372036854775806) + 1);
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

-- Logical replication fires no triggers of statements, only those of rows. The condition holds where an operator has
-- enabled the trigger for all sessions.
CREATE TRIGGER points_log_replicated AFTER INSERT OR UPDATE OR DELETE ON points
  FOR EACH ROW WHEN (current_setting('session_replication_role') = 'replica') EXECUTE FUNCTION log_replicated_change();

-- Whoever removes the record of deletions has every reader read all places again.
CREATE TRIGGER changes_pruned_log_delete AFTER DELETE OR TRUNCATE ON changes_pruned
  FOR EACH STATEMENT EXECUTE FUNCTION log_reset();

CREATE TRIGGER areas_lock_state BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON areas
  FOR EACH STATEMENT EXECUTE FUNCTION lock_area_state();
CREATE TRIGGER areas_set_version BEFORE INSERT OR UPDATE ON areas
  FOR EACH ROW EXECUTE FUNCTION set_area_version();
CREATE TRIGGER areas_renew_state_insert AFTER INSERT ON areas
  REFERENCING NEW TABLE AS changed_areas FOR EACH STATEMENT EXECUTE FUNCTION renew_area_state();
CREATE TRIGGER areas_renew_state_update AFTER UPDATE ON areas
  REFERENCING NEW TABLE AS changed_areas FOR EACH STATEMENT EXECUTE FUNCTION renew_area_state();
CREATE TRIGGER areas_renew_state_delete AFTER DELETE ON areas
  REFERENCING OLD TABLE AS changed_areas FOR EACH STATEMENT EXECUTE FUNCTION renew_area_state();
CREATE TRIGGER areas_renew_state_truncate AFTER TRUNCATE ON areas
  FOR EACH STATEMENT EXECUTE FUNCTION renew_area_state();

-- ALWAYS: also while session_replication_role is replica.
ALTER TABLE points
  ENABLE ALWAYS TRIGGER points_log_insert,
  ENABLE ALWAYS TRIGGER points_log_update,
  ENABLE ALWAYS TRIGGER points_log_delete,
  ENABLE ALWAYS TRIGGER points_log_truncate,
  ENABLE ALWAYS TRIGGER points_log_id_change,
  ENABLE ALWAYS TRIGGER points_renew_version,
  ENABLE REPLICA TRIGGER points_log_replicated;
ALTER TABLE changes
  ENABLE ALWAYS TRIGGER changes_log_delete,
  ENABLE ALWAYS TRIGGER changes_log_truncate;
ALTER TABLE changes_pruned ENABLE ALWAYS TRIGGER changes_pruned_log_delete;
