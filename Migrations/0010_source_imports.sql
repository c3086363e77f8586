-- The time of the last import of each data set.
-- oldest-program: 0006
-- Older programs do not record it.

CREATE TABLE source_imports (
  -- As points.source. The data set need not be in the table sources.
  source text COLLATE "C" PRIMARY KEY,
  imported_at timestamptz NOT NULL
);

-- Whoever may read or write places may do so with the times.
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
    EXECUTE format('GRANT %s ON source_imports TO %s', granted.privilege, granted.role);
  END LOOP;
END
$$;
