"""Benchmarks of polygons and routes: Waymark over HTTP and PostGIS through pgbench, in alternating rounds."""

import argparse
import json
import math
import os
import pathlib
import random
import statistics
import tempfile

from programs import READ_SETTINGS, Database, Server, load

CITY = (16.3738, 48.2082)
CITY_DEGREES = 0.12
SHAPES = 40
KINDS = {
    "first": ("20 of a polygon of 1,000 vertices, by id", {"limit": 20}, "≥ 10"),
    "thousand": ("1,000 of a polygon of 1,000 vertices, by id", {"limit": 1000}, "≥ 10"),
    "nearest": ("the 20 nearest in a polygon of 1,000 vertices", {"limit": 20, "lat": CITY[1], "long": CITY[0]}, "≥ 10"),
    "route": ("the first 100 within 200 m of a route of 100 positions", {"limit": 100, "radius": 200}, ""),
}
STATEMENTS = {
    "first": "SELECT p.id FROM shapes s JOIN places p ON ST_Covers(s.area, p.place) WHERE s.id = :n ORDER BY p.id LIMIT 20",
    "thousand": "SELECT p.id FROM shapes s JOIN places p ON ST_Covers(s.area, p.place) WHERE s.id = :n ORDER BY p.id LIMIT 1000",
    "nearest": f"SELECT p.id FROM shapes s JOIN places p ON ST_Covers(s.area, p.place) WHERE s.id = :n "
               f"ORDER BY p.place <-> 'SRID=4326;POINT({CITY[0]} {CITY[1]})'::geography LIMIT 20",
    "route": "SELECT p.id FROM shapes s JOIN places p ON ST_DWithin(s.route, p.place, 200) WHERE s.id = :n "
             "ORDER BY ST_LineLocatePoint(s.route::geometry, p.place::geometry), p.id LIMIT 100",
}


def positions(numbers):
    return ", ".join(f"{x:.5f} {y:.5f}" for x, y in numbers)


class AreaBench:
    """The measurements over one set of places and shapes."""

    def __init__(self, options, work):
        self.options = options
        self.work = work
        generator = random.Random(1)
        self.file = work / "places.csv"
        with open(self.file, "w") as file:
            file.write("id,name,category,lat,long\n")
            for number in range(options.places):
                if number % 2:
                    x = CITY[0] + generator.gauss(0, CITY_DEGREES / 2) * 1.5
                    y = CITY[1] + generator.gauss(0, CITY_DEGREES / 2)
                else:
                    x, y = generator.uniform(-180, 180), math.degrees(math.asin(generator.uniform(-1, 1)))
                file.write(f"00000000-0000-4000-8000-{number:012x},Place {number},cafe,{y:.6f},{x:.6f}\n")
        self.areas, self.routes = [], []
        for _ in range(SHAPES):
            x, y = CITY[0] + generator.gauss(0, 0.03), CITY[1] + generator.gauss(0, 0.02)
            radius = generator.uniform(0.02, CITY_DEGREES)
            ring = []
            for vertex in range(999):
                angle = 2 * math.pi * vertex / 999
                r = radius * (0.7 + 0.2 * math.sin(5 * angle) + 0.1 * generator.random())
                ring.append((x + 1.5 * r * math.cos(angle), y + r * math.sin(angle)))
            self.areas.append(f"POLYGON(({positions(ring + ring[:1])}))")
            line, angle = [(x, y)], generator.uniform(0, 6)
            while len(line) < 100:
                angle += generator.gauss(0, 0.3)
                line.append((line[-1][0] + 0.003 * math.cos(angle), line[-1][1] + 0.002 * math.sin(angle)))
            self.routes.append(f"LINESTRING({positions(line)})")

    # --- Waymark

    def start_waymark(self):
        self.server = Server(self.options.waymark, POINT_STORE="memory", DATA_FILE=str(self.file))
        for kind, (_, query, _) in KINDS.items():
            shapes = [{"route": shape} for shape in self.routes] if kind == "route" else [{"within": shape} for shape in self.areas]
            targets = [f"POST /locations/search {json.dumps({**shape, **query})}\n" for shape in shapes]
            (self.work / f"{kind}.targets").write_text("".join(targets))

    def load(self, kind):
        targets = self.work / f"{kind}.targets"
        return load(self.options.load, self.server.port, targets, self.options.seconds, connections=2)

    # --- PostGIS

    def start_postgres(self):
        self.database = Database(self.work, *READ_SETTINGS)
        self.database.sql(
            "CREATE EXTENSION postgis", "CREATE TABLE raw (id uuid, name text, category text, lat float8, long float8)",
            f"\\copy raw FROM '{self.file}' CSV HEADER",
            "CREATE TABLE places AS SELECT id, name, category, ST_MakePoint(long, lat)::geography AS place FROM raw",
            "ALTER TABLE places ADD PRIMARY KEY (id)", "CREATE INDEX ON places USING gist (place)",
            "CREATE TABLE shapes (id int PRIMARY KEY, area geography, route geography)")
        rows = self.work / "shapes.tsv"
        rows.write_text("".join(f"{number + 1}\tSRID=4326;{area}\tSRID=4326;{route}\n"
                                for number, (area, route) in enumerate(zip(self.areas, self.routes))))
        self.database.sql(f"\\copy shapes FROM '{rows}'", "VACUUM ANALYZE")

    def pgbench(self, kind):
        return self.database.pgbench([f"\\set n random(1, {SHAPES})\n{STATEMENTS[kind]}"], self.options.seconds)

    # --- Both

    def measure(self):
        """Returns for each kind of search the median rate and latencies of Waymark, and the rate of PostGIS."""
        results = {kind: ([], []) for kind in KINDS}
        for _ in range(self.options.rounds):
            for kind, (own, other) in results.items():
                own.append(self.load(kind))
                other.append(self.pgbench(kind))
        return {
            kind: ([statistics.median(column) for column in zip(*own)], statistics.median(other))
            for kind, (own, other) in results.items()}

    def stop(self):
        self.database.stop()
        if hasattr(self, "server"):
            self.server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--places", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        bench = AreaBench(options, pathlib.Path(folder))
        bench.start_postgres()
        try:
            bench.start_waymark()
            print("| search | Waymark, requests/s | p50, µs | p99, µs | PostGIS, queries/s | ratio | target |\n"
                  "| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
            for kind, ((rate, p50, p99, _), other) in bench.measure().items():
                print(f"| {KINDS[kind][0]} | {rate:,.0f} | {p50:,.0f} | {p99:,.0f} | {other:,.1f} | "
                      f"{rate / other:,.1f} | {KINDS[kind][2]} |")
        finally:
            bench.stop()


if __name__ == "__main__":
    main()
