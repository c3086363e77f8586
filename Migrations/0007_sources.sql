-- The data sets that places come from, with licence and attribution; and the number of places that an import deleted.
-- oldest-program: 0006
-- An older program does not know the data sets, and reports no deletions.

CREATE TABLE sources (
  -- As points.source. A data set may have no places, and a place's data set need not be here.
  name text COLLATE "C" PRIMARY KEY,
  licence text COLLATE "C",
  attribution text COLLATE "C",
  url text COLLATE "C",
  updated_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE idempotency_keys ADD COLUMN deleted bigint;

-- Whoever may read or write places may do so with their data sets.
DO $$
DECLARE
  granted record;
BEGIN
  FOR granted IN
    SELECT DISTINCT CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(acl.grantee)) END AS role,
      acl.privilege_type AS privilege
    FROM pg_class, aclexplode(pg_class.relacl) AS acl
    WHERE pg_class.oid = 'points'::regclass AND acl.privilege_type IN ('SELECT', 'INSERT', 'UPDATE')
  LOOP
    EXECUTE format('GRANT %s ON sources TO %s', granted.privilege, granted.role);
  END LOOP;
END
$$;
