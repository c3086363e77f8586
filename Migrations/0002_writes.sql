-- What writing needs beside the places: a log of the changes, and the keys by which a repeated request is known.

CREATE TABLE changes (
  -- Numbers are given before a transaction commits, so they become visible out of order, and the number of a write that was
  -- rolled back is missing for ever. Whoever writes first takes a shared advisory lock that names the last number given so
  -- far: whoever reads goes no further than the least of those.
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,

  -- No foreign key: the log tells of places that are gone, and a key would cost each write a look-up.
  point_id uuid NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('created', 'updated', 'deleted')),
  -- After the change; of a deleted place the one that was removed.
  version bigint NOT NULL CHECK (version >= 1),
  time timestamptz NOT NULL
);

-- To forget what is old. Rows stand in the table about in the order of their times, so a summary of each stretch of pages
-- is enough; it costs a write next to nothing.
CREATE INDEX changes_time ON changes USING brin (time) WITH (autosummarize = true);

CREATE TABLE idempotency_keys (
  key text COLLATE "C" PRIMARY KEY,
  request_hash bigint NOT NULL,

  -- The place as it was created, which a repeat is answered with whatever has become of it since. Its version was 1.
  point_id uuid NOT NULL,
  lat double precision NOT NULL,
  long double precision NOT NULL,
  name text COLLATE "C" NOT NULL,
  category text COLLATE "C",
  tags json NOT NULL,
  source text COLLATE "C",
  source_id text COLLATE "C",
  created_at timestamptz NOT NULL
);

-- To find the oldest: each new key takes out a few that have expired.
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
