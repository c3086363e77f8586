"""Benchmarks of OGC API Features: pages, counts and copies of all places; boxes beside tipg and pygeoapi over PostgreSQL, in
alternating rounds; and polygons beside PostGIS."""

import argparse
import csv
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from areas import KINDS, AreaBench
from http_clients import Connection, request
from measure import Server as Process
from measure import say
from programs import READ_SETTINGS, Database, Server, load
from servers import free_port

WORKERS = 2
ITEMS = "/ogc/collections/places/items"
# The number of boxes, of features in each, and the part by which it may differ, for each kind of box.
PAGE = (20, 6_000, 0.1)
COUNT = (20, 100_000, 0.02)
SMALL = (1_000, 10, 0.2)
PYGEOAPI = """
server:
  bind: {{host: 127.0.0.1, port: {port}}}
  url: http://127.0.0.1:{port}
  mimetype: application/json; charset=UTF-8
  encoding: utf-8
  languages: [en-US]
  limits: {{default_items: 10, max_items: 10000, on_exceed: throttle}}
  map: {{url: "https://example.org/{{z}}/{{x}}/{{y}}.png", attribution: none}}
logging: {{level: ERROR}}
metadata:
  identification: {{title: Places, description: Places, keywords: [places], keywords_type: theme, terms_of_service: none,
    url: "https://example.org"}}
  license: {{name: CC0, url: "https://example.org"}}
  provider: {{name: none, url: "https://example.org"}}
  contact: {{name: none, email: none@example.org, url: "https://example.org"}}
resources:
  places:
    type: collection
    title: Places
    description: Places
    keywords: [places]
    extents: {{spatial: {{bbox: [-180, -90, 180, 90], crs: "http://www.opengis.net/def/crs/OGC/1.3/CRS84"}}}}
    providers:
      - type: feature
        name: PostgreSQL
        data: {{host: 127.0.0.1, port: {database}, dbname: postgres, user: postgres, password: none, search_path: [public]}}
        id_field: id
        table: places
        geom_field: geom
"""


class Figure:
    """A result, with that of another program where there is one."""

    def __init__(self, name, value, unit, target, reference=None, reference_value=None):
        self.name = name
        self.value = value
        self.unit = unit
        self.target = target
        self.reference = reference
        self.reference_value = reference_value
        self.ratio = None
        if reference:
            # A greater rate is faster, and a smaller duration.
            self.ratio = value / reference_value if unit.endswith("/s") else reference_value / value

    def row(self):
        reference = f"{self.reference}: {self.text(self.reference_value)}" if self.reference else ""
        ratio = f"{self.ratio:.1f}" if self.reference else ""
        return f"| {self.name} | {self.text(self.value)} | {reference} | {ratio} | {self.target} |"

    def text(self, value):
        return f"{value:,.0f} {self.unit}" if value >= 100 else f"{value:.3g} {self.unit}"


class StandardsBench:
    """The measurements over one set of places."""

    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.figures = []
        self.chance = random.Random(1)
        self.places = work / "places.csv"
        say(f"Generating {options.places:,} places")
        with open(self.places, "wb") as file:
            subprocess.run([options.generator, "places", str(options.places)], stdout=file, check=True)
        with open(self.places, newline="", encoding="utf-8") as file:
            positions = [(float(row["long"]), float(row["lat"])) for row in csv.DictReader(file)]
        self.centres = [(x, y) for x, y in positions if abs(x) < 170 and abs(y) < 80]

    # --- Servers

    def start(self):
        self.waymark = Server(self.options.waymark, POINT_STORE="memory", DATA_FILE=str(self.places))
        say("Copying the places into PostgreSQL")
        self.database = Database(self.work, *READ_SETTINGS)
        with open(self.places, newline="", encoding="utf-8") as file:
            columns = ", ".join(f'"{name}" {"float8" if name in ("lat", "long") else "text"}' for name in next(csv.reader(file)))
        self.database.sql(
            "CREATE EXTENSION postgis", f"CREATE TABLE raw ({columns})", f"\\copy raw FROM '{self.places}' CSV HEADER",
            "CREATE TABLE places AS SELECT gen_random_uuid() AS id, name, category, source, \"sourceId\" AS source_id, "
            "ST_SetSRID(ST_MakePoint(long, lat), 4326)::geometry(Point, 4326) AS geom FROM raw",
            "DROP TABLE raw", "ALTER TABLE places ADD PRIMARY KEY (id)", "CREATE INDEX ON places USING gist (geom)",
            "VACUUM ANALYZE places")
        self.others = {"tipg": self.start_tipg()}
        self.others["pygeoapi"] = self.start_pygeoapi()
        self.ports = {"Waymark": self.waymark.port} | {name: other.port for name, other in self.others.items()}

    def start_tipg(self):
        port = free_port()
        return Process(
            [self.options.tools / "bin/uvicorn", "tipg.main:app", "--port", str(port), "--log-level", "critical",
             "--workers", str(WORKERS)],
            port, "/healthz", {"DATABASE_URL": self.database.url, "TIPG_DB_SCHEMAS": '["public"]'},
            log=self.work / "tipg.log")

    def start_pygeoapi(self):
        port = free_port()
        configuration, description = self.work / "pygeoapi.yml", self.work / "pygeoapi-openapi.yml"
        configuration.write_text(PYGEOAPI.format(port=port, database=self.database.port))
        environment = {"PYGEOAPI_CONFIG": str(configuration), "PYGEOAPI_OPENAPI": str(description)}
        programs = self.options.tools / "bin"
        subprocess.run(
            [programs / "pygeoapi", "openapi", "generate", configuration, "--output-file", description], check=True,
            env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return Process(
            [programs / "gunicorn", "--bind", f"127.0.0.1:{port}", "--workers", str(WORKERS), "--worker-class", "gthread",
             "--threads", "8", "--keep-alive", "600", "pygeoapi.flask_app:APP"],
            port, "/conformance", environment, log=self.work / "pygeoapi.log")

    def stop(self):
        for other in getattr(self, "others", {}).values():
            other.stop()
        for server in ("database", "waymark"):
            if hasattr(self, server):
                getattr(self, server).stop()

    # --- Requests

    def target(self, program, box, limit):
        query = f"bbox={','.join(f'{edge:.6f}' for edge in box)}&limit={limit}"
        return {
            "Waymark": f"{ITEMS}?{query}", "tipg": f"/collections/public.places/items?{query}&f=geojson",
            "pygeoapi": f"/collections/places/items?{query}&f=json",
        }[program]

    def matched(self, connection, target):
        status, _, body = connection.send(request(target))
        if status != 200:
            raise SystemExit(f"the response to {target} was {status}: {body[:300]}")
        return json.loads(body)["numberMatched"]

    def boxes(self, count, wanted, part):
        """Returns boxes around places, with nearly the given number of features."""
        wanted = min(wanted, self.options.places // 4)
        # Idle connections are closed after a minute.
        connection = Connection(self.waymark.port)
        found = []
        for _ in range(20 * count):
            x, y = self.chance.choice(self.centres)
            low, high = 0, 90
            for _ in range(30):
                half = (low + high) / 2
                box = (max(x - half, -180), max(y - half, -90), min(x + half, 180), min(y + half, 90))
                number = self.matched(connection, self.target("Waymark", box, 1))
                if abs(number - wanted) <= part * wanted:
                    found.append(box)
                    break
                low, high = (half, high) if number < wanted else (low, half)
            if len(found) == count:
                return found
        raise SystemExit(f"there are not {count} boxes with {wanted} places")

    def time_requests(self, program, boxes, limit, count):
        """Returns the durations of single requests in milliseconds."""
        connection = Connection(self.ports[program])
        requests = [request(self.target(program, box, limit)) for box in boxes]
        durations = []
        for number in range(-2, count):
            start = time.perf_counter()
            status, _, body = connection.send(requests[number % len(requests)])
            if number >= 0:
                durations.append(1000 * (time.perf_counter() - start))
            if status != 200 or json.loads(body)["numberReturned"] == 0:
                raise SystemExit(f"the response of {program} was {status}: {body[:300]}")
        return durations

    # --- The parts

    def measure_single_requests(self):
        count = 200 * self.options.rounds
        for name, kind, limit, target in (
                ("a page of 5,000 features", PAGE, 5_000, 50), ("exact numberMatched of 100,000, limit=1", COUNT, 1, 10)):
            boxes = self.boxes(*kind)
            if kind is COUNT:
                self.check_counts(boxes)
            durations = self.time_requests("Waymark", boxes, limit, count)
            others = {program: self.time_requests(program, boxes, limit, 20) for program in self.others}
            self.add(Figure(f"{name}, p99", percentile(durations, 99), "ms", f"≤ {target} ms"))
            for program, times in others.items():
                self.add(Figure(
                    f"{name}, p50", percentile(durations, 50), "ms", f"≤ {target} ms", program, percentile(times, 50)))

    def check_counts(self, boxes):
        """Compares the counts with those of PostgreSQL."""
        connection = Connection(self.waymark.port)
        for box in boxes:
            # The envelope of the numbers in the request.
            west, south, east, north = (float(f"{edge:.6f}") for edge in box)
            own = self.matched(connection, self.target("Waymark", box, 1))
            # The operator && alone compares numbers of single precision.
            wanted = int(self.database.sql(
                f"SELECT count(*) FROM places WHERE geom && ST_MakeEnvelope({west}, {south}, {east}, {north}, 4326) "
                f"AND ST_X(geom) BETWEEN {west} AND {east} AND ST_Y(geom) BETWEEN {south} AND {north}"))
            if own != wanted:
                raise SystemExit(f"numberMatched of the box {box} is {own}, in PostgreSQL {wanted}")

    def measure_copies(self):
        layer = f"OAPIF:http://127.0.0.1:{self.waymark.port}/ogc"
        for name, end in (("FlatGeobuf", "fgb"), ("GPKG", "gpkg")):
            file = self.work / f"copy.{end}"
            start = time.monotonic()
            subprocess.run(
                ["ogr2ogr", "-f", name, "-oo", "PAGE_SIZE=10000", file, layer, "places"], check=True, stdout=subprocess.DEVNULL)
            seconds = time.monotonic() - start
            text = subprocess.run(["ogrinfo", "-so", "-al", file], check=True, capture_output=True, text=True).stdout
            if f"Feature Count: {self.options.places}\n" not in text:
                raise SystemExit(f"the copy in {name} does not have all places:\n{text}")
            self.add(Figure(f"ogr2ogr copies all places to {name}", seconds, "s", "≤ 60 s"))

    def measure_boxes(self):
        boxes = self.boxes(*SMALL)
        rates = {}
        for program, port in self.ports.items():
            lines = [f"GET {self.target(program, box, 100)}" for box in boxes]
            (self.work / f"{program}.targets").write_text("\n".join(lines) + "\n")
            load(self.options.load, port, self.work / f"{program}.targets", 2)
        for _ in range(self.options.rounds):
            for program, port in self.ports.items():
                figures = load(self.options.load, port, self.work / f"{program}.targets", self.options.seconds)
                rates.setdefault(program, []).append(figures[0])
        medians = {program: statistics.median(values) for program, values in rates.items()}
        own = medians.pop("Waymark")
        for program, rate in medians.items():
            self.add(Figure("a box of 10 features", own, "requests/s", "ratio ≥ 50", program, rate))

    def measure_areas(self):
        folder = self.work / "areas"
        folder.mkdir()
        bench = AreaBench(self.options, folder)
        bench.start_postgres()
        try:
            bench.start_waymark()
            for kind, (own, other) in bench.measure().items():
                name, _, target = KINDS[kind]
                self.add(Figure(name, own[0], "requests/s", f"ratio {target}" if target else "", "PostGIS", other))
        finally:
            bench.stop()

    def add(self, figure):
        self.figures.append(figure)
        say("  " + figure.row())


def percentile(values, part):
    return sorted(values)[min(len(values) * part // 100, len(values) - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--tools", required=True, type=pathlib.Path, help="virtual environment with tipg and pygeoapi")
    parser.add_argument("--places", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the results as JSON to this file")
    options = parser.parse_args()
    # The servers are stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="waymark-standards.") as folder:
        os.chmod(folder, 0o755)
        bench = StandardsBench(options, pathlib.Path(folder))
        try:
            bench.start()
            bench.measure_single_requests()
            bench.measure_boxes()
            bench.measure_copies()
        finally:
            bench.stop()
        bench.measure_areas()
    print(f"{options.places:,} places, {os.cpu_count()} cores, {options.rounds} rounds of {options.seconds} s. A ratio is how many "
          "times as fast Waymark is.\n")
    print("| measurement | Waymark | reference | ratio | target |\n| --- | ---: | ---: | ---: | ---: |")
    for figure in bench.figures:
        print(figure.row())
    if options.json:
        figures = [vars(figure) for figure in bench.figures]
        options.json.write_text(json.dumps({"places": options.places, "rounds": options.rounds, "figures": figures}, indent=2) + "\n")


if __name__ == "__main__":
    main()
