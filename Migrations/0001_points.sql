-- Places, and what finds them.

-- Where PostGIS is installed already, this asks for no privilege.
CREATE EXTENSION IF NOT EXISTS postgis;

CREATE TABLE points (
  -- Version 7, so that new places go to the end of the index.
  id uuid PRIMARY KEY,

  -- Plain numbers beside the geometry: an answer needs no conversion, and what was given comes back to the last bit.
  -- BETWEEN also refuses NaN, which PostgreSQL sorts above all numbers.
  lat double precision NOT NULL CHECK (lat BETWEEN -90 AND 90),
  long double precision NOT NULL CHECK (long BETWEEN -180 AND 180),

  version bigint NOT NULL DEFAULT 1 CHECK (version >= 1),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),

  -- Texts sort and compare by their bytes, which in UTF-8 is by code point: the same on every system, and faster than a
  -- language's order.
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  category text COLLATE "C" CHECK (category <> ''),
  -- The text that answers carry, sorted by key: it goes out as it stands. Of jsonb PostgreSQL would have to write the
  -- text anew for every row of every answer.
  tags json NOT NULL DEFAULT '{}' CHECK (json_typeof(tags) = 'object'),
  source text COLLATE "C",
  source_id text COLLATE "C",

  -- Earth-centred x, y and z on the WGS 84 ellipsoid, in metres (EPSG 4978). In space there is no antimeridian and no
  -- pole, and the straight line to a place ranks as the geodesic does, but for centimetres. Written out, because
  -- ST_Transform depends on the rows of spatial_ref_sys and on the grids that PROJ finds. The sine's square is taken
  -- from the cosine, and a longitude of next to nothing for nothing, because PostgreSQL refuses products that
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

  -- Many places may have no origin; those that have one share it with no other.
  CONSTRAINT points_origin UNIQUE (source, source_id),
  CHECK ((source IS NULL) = (source_id IS NULL))
);

-- Nearest neighbours (<<->>) and boxes (&&&), in three dimensions.
CREATE INDEX points_position ON points USING gist (position gist_geometry_ops_nd);

-- Places of rare categories, and the count of each category.
CREATE INDEX points_category ON points (category);

-- A place at random: the first whose key is not below a random number. The key is a hash of the id and needs no column.
CREATE INDEX points_shuffle ON points (uuid_hash_extended(id, 0));
