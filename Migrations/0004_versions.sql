-- Versions from one sequence for all places: what is created under the id of a place that is gone goes on above it.
-- oldest-program: 0003

-- About the time of day in microseconds: a database that is set up anew goes on above the one before it, and a number is
-- still exact as a JavaScript number. CACHE 1, so that numbers grow in the order in which sessions draw them.
CREATE SEQUENCE point_versions AS bigint MAXVALUE 9007199254740991 CACHE 1;

-- Above all versions there are and were; what is beyond 2^52 was not given by this program and does not count.
SELECT setval('point_versions', greatest(
  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
  (SELECT max(version) FROM points WHERE version < 4503599627370496),
  (SELECT max(version) FROM changes WHERE version < 4503599627370496)
));

-- Also for an older version of the program, which does not name the column.
ALTER TABLE points ALTER COLUMN version SET DEFAULT nextval('point_versions');

-- Goes with the column, as that of an identity does.
ALTER SEQUENCE point_versions OWNED BY points.version;

-- Whoever may write places may draw their versions.
DO $$
DECLARE
  grantee text;
BEGIN
  FOR grantee IN
    SELECT DISTINCT CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(acl.grantee)) END
    FROM pg_class, aclexplode(pg_class.relacl) AS acl
    WHERE pg_class.oid = 'points'::regclass AND acl.privilege_type IN ('INSERT', 'UPDATE')
  LOOP
    EXECUTE format('GRANT USAGE, SELECT, UPDATE ON SEQUENCE point_versions TO %s', grantee);
  END LOOP;
END
$$;

-- The version that the place was created with; it was 1 so far, and is with an older version of the program.
ALTER TABLE idempotency_keys ADD COLUMN version bigint NOT NULL DEFAULT 1;
