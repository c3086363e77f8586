-- What was searched for, a row a search, where ANALYTICS=postgres asks for it. Told coarsely: it gives away no one's
-- whereabouts.

CREATE TABLE searches (
  time timestamptz NOT NULL,

  -- The middle of a cell of a hundredth of a degree, in hundredths; both null where the search named no centre.
  lat_hundredths smallint,
  long_hundredths smallint,

  -- Those that were asked for; null for all.
  categories text[] COLLATE "C",

  -- How many places the page held, and how long the store took in microseconds.
  found integer NOT NULL,
  duration_us integer NOT NULL,

  CHECK ((lat_hundredths IS NULL) = (long_hundredths IS NULL))
);

-- Reports are about a stretch of time, and so is forgetting. Rows come in the order of their times, so a summary of each
-- stretch of pages is enough, and costs an insert next to nothing.
CREATE INDEX searches_time ON searches USING brin (time) WITH (pages_per_range = 32, autosummarize = true);
