"""Benchmarks of vector tiles: Waymark over HTTP, and PostGIS's ST_AsMVT through pgbench."""

import argparse
import csv
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from programs import READ_SETTINGS, Database, Server, load

TARGETS = 2000
RATE = 1000
CONNECTIONS = 16
ZOOMS = (14, 16, 12, 10, 8, 5)
LIMIT = 85.0511287798066


def tile(latitude, longitude, zoom):
    angle = math.radians(max(-LIMIT, min(LIMIT, latitude)))
    x = (longitude + 180) / 360
    y = 0.5 - math.log(math.tan(angle) + 1 / math.cos(angle)) / (2 * math.pi)
    most = 2**zoom - 1
    return max(0, min(most, math.floor(x * 2**zoom))), max(0, min(most, math.floor(y * 2**zoom)))


class TileBench:
    """The measurements over one set of places."""

    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.places = work / "places.csv"
        with open(self.places, "wb") as file:
            subprocess.run([options.generator, "places", "--content", "names", str(options.places)], stdout=file, check=True)
        with open(self.places, newline="", encoding="utf-8") as file:
            self.positions = [(float(row["lat"]), float(row["long"])) for row in csv.DictReader(file)]
        random.seed(1)
        # Tiles of random places: towns, where most places are, are drawn most.
        self.tiles = {zoom: [tile(*place, zoom) for place in random.sample(self.positions, TARGETS)] for zoom in ZOOMS}

    def start_waymark(self, program):
        return Server(program, POINT_STORE="memory", DATA_FILE=str(self.places))

    def load(self, server, name, lines, *arguments):
        file = self.work / f"{name}.targets"
        file.write_text("".join(line + "\n" for line in lines))
        return load(self.options.load, server.port, file, self.options.seconds, *arguments, connections=CONNECTIONS)

    def tiles_of(self, zoom):
        return [f"GET /tiles/{zoom}/{x}/{y}.mvt" for x, y in self.tiles[zoom]]

    # --- PostgreSQL

    def start_postgres(self):
        self.database = Database(self.work, *READ_SETTINGS)
        self.database.sql("CREATE EXTENSION postgis")
        self.database.sql("CREATE TABLE rows (name text, category text, lat float8, long float8)")
        rows = self.work / "rows.csv"
        with open(self.places, newline="", encoding="utf-8") as source, open(rows, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            for row in csv.DictReader(source):
                writer.writerow([row["name"], row["category"], row["lat"], row["long"]])
        self.database.sql(f"\\copy rows FROM '{rows}' CSV")
        self.database.sql("CREATE TABLE places AS SELECT gen_random_uuid() AS id, name, category, ST_Transform("
                          f"ST_SetSRID(ST_MakePoint(long, greatest(least(lat, {LIMIT}), -{LIMIT})), 4326), 3857) AS position FROM rows")
        self.database.sql("CREATE INDEX ON places USING gist (position)")
        # The best order on disk for tiles.
        self.database.sql("CLUSTER places USING places_position_idx")
        self.database.sql("VACUUM ANALYZE places")
        for zoom, tiles in self.tiles.items():
            self.database.sql(f"CREATE TABLE tiles_{zoom} (id serial PRIMARY KEY, x int, y int)")
            file = self.work / f"tiles-{zoom}.csv"
            file.write_text("".join(f"{x},{y}\n" for x, y in tiles))
            self.database.sql(f"\\copy tiles_{zoom} (x, y) FROM '{file}' CSV")

    def pgbench(self, zoom):
        statement = (
            f"\\set n random(1, {TARGETS})\n"
            "SELECT ST_AsMVT(f, 'places', 4096, 'geom') FROM (\n"
            "  SELECT p.id::text, p.name, p.category, ST_AsMVTGeom(p.position, e.box, 4096, 0, false) AS geom\n"
            f"  FROM (SELECT ST_TileEnvelope({zoom}, x, y) AS box FROM tiles_{zoom} WHERE id = :n) AS e\n"
            "  JOIN places AS p ON p.position && e.box) AS f")
        return self.database.pgbench([statement], self.options.seconds, clients=CONNECTIONS)

    # --- The parts

    def measure_tiles(self, server):
        rates = {}
        for _ in range(self.options.rounds):
            for zoom in ZOOMS:
                used, own = server.processor_seconds(), os.times()
                closed = self.load(server, f"z{zoom}", self.tiles_of(zoom))
                used, after = server.processor_seconds() - used, os.times()
                generator = after.children_user + after.children_system - own.children_user - own.children_system
                tiles = closed[0] * self.options.seconds
                open_loop = self.load(server, f"z{zoom}", self.tiles_of(zoom), "-r", str(RATE))
                pgbench = self.pgbench(zoom) if zoom >= 14 else 0
                rates.setdefault(zoom, []).append(
                    (closed[0], open_loop[1], open_loop[2], 1e6 * used / tiles, 1e6 * generator / tiles, pgbench))
        print("| tiles | rate | p50 | p99 | server | generator | ST_AsMVT | ratio | target |\n"
              "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
        for zoom, rounds in rates.items():
            rate, median, p99, used, generator, pgbench = (statistics.median(column) for column in zip(*rounds))
            target = "≥ 5,000/s, p99 ≤ 3,000 µs, ratio ≥ 10" if zoom == 14 else ""
            reference = f"{pgbench:,.0f} | {rate / pgbench:.1f}" if pgbench else " | "
            print(f"| zoom {zoom} | {rate:,.0f} | {median:,.0f} | {p99:,.0f} | {used:.0f} | {generator:.0f} | {reference} | {target} |")
        print(f"Latencies in µs at {RATE:,} requests/s; rates in a closed loop, with the processor time of a tile in µs. "
              f"{CONNECTIONS} connections, also of pgbench.")

    def measure_world(self, server):
        durations = []
        for _ in range(50):
            start = time.perf_counter()
            body, headers = server.get("/tiles/0/0/0.mvt")
            durations.append(1000 * (time.perf_counter() - start))
        compressed, _ = server.get("/tiles/0/0/0.mvt", **{"Accept-Encoding": "gzip"})
        print(f"zoom 0: median {statistics.median(durations):.1f} ms, maximum {max(durations):.1f} ms (target ≤ 20), "
              f"{len(body):,} bytes (target ≤ 200,000), {len(compressed):,} with gzip")
        lines = ["GET /tiles/0/0/0.mvt"]
        print(f"zoom 0: {self.load(server, 'world', lines)[0]:,.0f} tiles/s")
        request = urllib.request.Request(f"http://127.0.0.1:{server.port}/tiles/0/0/0.mvt", headers={"If-None-Match": headers["etag"]})
        durations = []
        for _ in range(200):
            start = time.perf_counter()
            try:
                urllib.request.urlopen(request, timeout=60)
                raise SystemExit("the tile was not confirmed")
            except urllib.error.HTTPError as error:
                if error.code != 304:
                    raise
            durations.append(1e6 * (time.perf_counter() - start))
        print(f"zoom 0, 304: median {statistics.median(durations):.0f} µs with a new connection")

    def measure_writes(self, server):
        """Compares the rate of replacements with that of a program without tiles."""
        former = self.start_waymark(self.options.former)
        try:
            servers = {"with tiles": server, "before": former}
            found = {name: json.loads(instance.get("/locations?limit=1000")[0]) for name, instance in servers.items()}
            rates = {name: [] for name in servers}
            for round in range(2 * self.options.rounds):
                for name, instance in servers.items():
                    # Each request changes its place: others would write nothing.
                    lines = [
                        f"PUT /locations/{place['id']} " + json.dumps({
                            "name": place["name"], "lat": place["lat"], "long": place["long"],
                            "tags": {"turn": f"{round}, {turn}"}})
                        for turn in range(2) for place in found[name]]
                    rates[name].append(self.load(instance, "writes", lines)[0])
            medians = {name: statistics.median(values) for name, values in rates.items()}
            cost = 100 * (medians["before"] / medians["with tiles"] - 1)
            print(f"replacements: {medians['with tiles']:,.0f}/s, {medians['before']:,.0f}/s before: {cost:.1f} % more (target ≤ 10)")
        finally:
            former.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--former", help="a program without tiles, to compare the cost of writes")
    parser.add_argument("--places", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        bench = TileBench(options, pathlib.Path(folder))
        server = None
        bench.start_postgres()
        try:
            server = bench.start_waymark(options.waymark)
            bench.measure_world(server)
            bench.measure_tiles(server)
            if options.former:
                bench.measure_writes(server)
        finally:
            bench.database.stop()
            if server:
                server.stop()


if __name__ == "__main__":
    main()
