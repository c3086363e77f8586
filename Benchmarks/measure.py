#!/usr/bin/env python3
"""Compares Waymark with other programs on the same machine, with the same queries.

Each comparison has several rounds, in which the programs alternate, and reports medians. All servers listen on the loopback
address and share the machine with the load generator.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from bulk import Batches, Bulk
from http_clients import Connection, request
from index import IndexBench, medians
from programs import Database
from servers import free_port, memory_mib, processor_seconds

ROOT = pathlib.Path(__file__).parent.parent
# The number of queries of a pgbench run.
SAMPLE = 100


def say(text):
    print(text, file=sys.stderr, flush=True)


def get(url):
    with urllib.request.urlopen(url, timeout=60) as response:
        return response.read()


class Server:
    """A process that serves a port."""

    def __init__(self, command, port, path=None, environment=None, cwd=None, timeout=120, log=None):
        self.port = port
        start = time.monotonic()
        with open(log or os.devnull, "wb") as output:
            self.process = subprocess.Popen(
                command, env=os.environ | (environment or {}), cwd=cwd, stdout=output, stderr=output
            )
        while time.monotonic() < start + timeout:
            if self.process.poll() is not None:
                sys.exit(f"{command[0]} exited with {self.process.returncode}")
            try:
                if path:
                    get(f"http://127.0.0.1:{port}{path}")
                else:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.02)
        else:
            sys.exit(f"{command[0]} was not ready within {timeout} seconds")
        self.seconds_to_ready = time.monotonic() - start

    def processor_seconds(self):
        """Returns the processor time that the server has used."""
        return processor_seconds(self.process.pid)

    def resident_mib(self):
        return memory_mib(self.process.pid, "VmRSS")

    def peak_mib(self):
        """Returns the peak resident memory since the start."""
        return memory_mib(self.process.pid, "VmHWM")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Bench:
    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.waymark_program = options.waymark
        self.load_program = options.load
        self.rows = []
        self.facts = []

    # --- Data

    def places(self, count):
        path = self.work / f"places.{count}.csv"
        if not path.exists():
            say(f"Generating {count:,} places")
            with open(path, "wb") as file:
                subprocess.run([self.options.generator, "places", str(count)], check=True, stdout=file)
        return path

    def query_points(self):
        text = subprocess.run(
            [self.options.generator, "points", "10000"], check=True, capture_output=True, text=True
        ).stdout
        points = [tuple(line.split()) for line in text.splitlines()]
        random.Random(1).shuffle(points)
        return points

    def sparse_points(self, server):
        """Returns 500 points with 5 to 15 places within 5 km, up to 100 km from the places."""
        numbers, found, connection = random.Random(2), [], Connection(server.port)
        while len(found) < 500:
            lat, long = (float(text) + numbers.uniform(-1, 1) for text in numbers.choice(self.points))
            if abs(lat) > 84 or abs(long) > 180:
                continue
            count = len(json.loads(connection.send(request(f"/locations?lat={lat:.5f}&long={long:.5f}&radius=5000"))[2]))
            if 5 <= count <= 15:
                found.append((f"{lat:.5f}", f"{long:.5f}"))
        return found

    def targets(self, name, lines):
        path = self.work / f"targets.{name}"
        path.write_text("\n".join(lines) + "\n")
        return path

    # --- Measuring

    def load(self, server, targets, connections=64, rate=None, protocol="http"):
        """Returns requests per second, and the median and 99th percentile of the latency in microseconds."""
        return self.load_result(self.start_load(server, targets, connections, rate, protocol))

    def start_load(self, server, targets, connections=64, rate=None, protocol="http", seconds=None):
        command = [self.load_program, "-p", str(server.port), "-t", str(targets), "-c", str(connections), "-P", protocol]
        command += ["-s", str(seconds or self.options.seconds)] + (["-r", str(rate)] if rate else [])
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    @staticmethod
    def load_result(process):
        """Waits for the end of a load and returns its result."""
        output = process.communicate()[0].split()
        if process.returncode:
            sys.exit(f"the load generator exited with {process.returncode}")
        if int(output[4]):
            say(f"  {output[4]} responses were errors")
        return float(output[0]), float(output[1]), float(output[2])

    def pgbench(self, statements):
        return self.database.pgbench(statements, self.options.seconds, clients=8, threads=2), None, None

    def compare(self, name, measured, reference_name, reference, target, figure=0):
        """Runs the measured program and the reference in alternation, and records the ratio of their medians. The
        target is the minimum ratio, or the maximum for latencies. Returns the medians of the measured program."""
        results = self.alternate({"reference": reference, "measured": measured})
        return self.record(name, results["measured"], reference_name, results["reference"], target, figure)

    def alternate(self, subjects):
        """Runs each subject once in every round. Returns the results of each by its name."""
        results = {name: [] for name in subjects}
        for _ in range(self.options.rounds):
            for name, subject in subjects.items():
                results[name].append(subject())
        return results

    def record(self, name, results, reference_name, references, target, figure=0):
        """Records the ratio of the medians of two subjects that ran in alternation. Returns those of the first."""
        medians, reference_medians = (
            tuple(statistics.median(run[i] or 0 for run in runs) for i in range(3)) for runs in (results, references)
        )
        ratio = medians[figure] / reference_medians[figure]
        ratios = [result[figure] / other[figure] for result, other in zip(results, references)]
        self.rows.append((name, medians, reference_name, reference_medians, ratio, min(ratios), max(ratios), target))
        say(f"  {name}: {medians[figure]:,.0f} to {reference_medians[figure]:,.0f}, {ratio:.2f} ({target})")
        return medians

    def fact(self, name, value, target=""):
        """Records a result that is not a ratio."""
        self.facts.append((name, value, target))
        say(f"  {name}: {value}{f' ({target})' if target else ''}")

    # --- The servers

    def waymark(self, log=None, **environment):
        port = free_port()
        environment = {"LOG_LEVEL": "critical"} | environment | {"HTTP_PORT": str(port), "ANALYTICS": "off"}
        return Server([self.waymark_program, "serve"], port, "/health/ready", environment, log=log)

    def memory(self, count):
        return self.waymark(POINT_STORE="memory", DATA_FILE=str(self.places(count)))

    def nginx(self, length, workers=os.cpu_count()):
        port, folder = free_port(), self.work / "nginx"
        folder.mkdir(exist_ok=True)
        (folder / "body.json").write_bytes(b"x" * length)
        paths = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "nginx.conf").write_text(f"""
            worker_processes {workers}; daemon off; pid {folder}/pid; error_log stderr crit;
            events {{ worker_connections 4096; }}
            http {{
              access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; open_file_cache max=10;
              default_type application/json; {paths}
              server {{ listen 127.0.0.1:{port}; root {folder}; location / {{ try_files /body.json =404; }} }}
            }}""")
        return Server(["nginx", "-c", f"{folder}/nginx.conf"], port, "/")

    def redis(self, csv):
        port = free_port()
        server = Server(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"], port)
        say("Importing into Redis")
        loader = subprocess.Popen(["redis-cli", "-p", str(port), "--pipe"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        with open(csv) as file:
            next(file)
            for line in file:
                fields = line.split(",")
                # Redis does not support latitudes beyond 85 degrees.
                if abs(float(fields[2])) < 85:
                    words = ["GEOADD", "places", fields[3], fields[2], fields[5]]
                    loader.stdin.write(f"*5\r\n{''.join(f'${len(w)}{chr(13)}{chr(10)}{w}{chr(13)}{chr(10)}' for w in words)}".encode())
        loader.stdin.close()
        loader.wait()
        return server

    def start_postgres(self):
        # Imports are compared, too: their writes are durable.
        self.database = Database(self.work, "fsync=on")

    def sql(self, text):
        return self.database.sql(text)

    def stop_postgres(self):
        self.database.stop()
        shutil.rmtree(self.database.data, ignore_errors=True)

    # --- The comparisons

    def run(self):
        self.points = self.query_points()
        near = [f"lat={lat}&long={long}" for lat, long in self.points]
        self.nearest = self.targets("nearest", [f"GET /locations?{point}" for point in near])
        self.rare = self.targets("rare", [f"GET /locations?{point}&category=rare" for point in near])
        self.radius = self.targets("radius", [f"GET /locations?{point}&radius=500" for point in near])
        self.five_kilometres = self.targets("five", [f"GET /locations?{point}&radius=5000" for point in near])
        self.box = self.targets("box", [f"GET /locations?bbox={self.box_around(*point)}" for point in self.points])
        for part in self.options.only:
            getattr(self, f"measure_{part.replace('-', '_')}")()
        self.report()

    @staticmethod
    def box_around(lat, long, degrees=0.02):
        south, north = max(-90, float(lat) - degrees), min(90, float(lat) + degrees)
        west, east = max(-180, float(long) - degrees), min(180, float(long) + degrees)
        return f"{west:.5f},{south:.5f},{east:.5f},{north:.5f}"

    def ids(self, server):
        ids = []
        for lat, long in self.points[:200]:
            ids += re.findall(rb'"id":"([^"]+)"', get(f"http://127.0.0.1:{server.port}/locations?lat={lat}&long={long}&fields=id"))
        random.Random(2).shuffle(ids)
        return [id.decode() for id in ids[:1000]]

    def median_length(self, server):
        lengths = sorted(
            len(get(f"http://127.0.0.1:{server.port}/locations?lat={lat}&long={long}")) for lat, long in self.points[::99]
        )
        return lengths[len(lengths) // 2]

    def measure_memory(self):
        millions = self.options.places
        server = self.memory(millions)
        time.sleep(3)
        self.facts.append(("memory, load from a file", f"{server.seconds_to_ready:.1f} s", "at most 4 s for 1 M"))
        self.facts.append(("memory, processor time of the load", f"{server.processor_seconds():.1f} s", ""))
        self.facts.append(("memory, resident memory", f"{server.resident_mib():.0f} MiB", "at most 270 MiB for 1 M"))
        self.facts.append(
            ("memory, peak while loading", f"{server.peak_mib():.0f} MiB", "at most 1.25 times the resident memory"))
        nginx = self.nginx(self.median_length(server))
        self.load(server, self.nearest)
        nearest = lambda: self.load(server, self.nearest)
        reference = lambda: self.load(nginx, self.nearest)
        rate = self.compare("memory, nearest 20", nearest, "nginx, a file of that size", reference, "≥ 0.5")[0] / 2
        self.compare(
            "memory, p99 of nearest 20 at half its rate, µs",
            lambda: self.load(server, self.nearest, rate=rate),
            "nginx at that rate",
            lambda: self.load(nginx, self.nearest, rate=rate),
            "≤ 3",
            figure=2,
        )
        self.compare(
            "memory, nearest 20 of a rare category", lambda: self.load(server, self.rare), "nearest 20", nearest, "≥ 0.3"
        )
        self.compare("memory, radius 500 m", lambda: self.load(server, self.radius), "nearest 20", nearest, "")
        self.compare("memory, box of 4 km", lambda: self.load(server, self.box), "nearest 20", nearest, "")
        by_id = self.targets("id", [f"GET /locations/{id}" for id in self.ids(server)])
        self.compare("memory, by id", lambda: self.load(server, by_id), "nearest 20", nearest, "")
        for connections in (1, 16, 512):
            self.compare(
                f"memory, nearest 20, {connections} connections",
                lambda: self.load(server, self.nearest, connections=connections),
                "64 connections",
                nearest,
                "",
            )
        nginx.stop()
        redis = self.redis(self.places(millions))
        commands = [
            f"GEOSEARCH places FROMLONLAT {long} {lat} BYRADIUS 5 km ASC COUNT 20" for lat, long in self.points
            if abs(float(lat)) < 85
        ]
        queries = self.targets("redis.5", commands)
        self.compare(
            "memory, radius 5 km, 20 nearest",
            lambda: self.load(server, self.five_kilometres),
            "Redis GEOSEARCH, the same",
            lambda: self.load(redis, queries, protocol="redis"),
            "≥ 1.3",
        )
        sparse = self.sparse_points(server)
        near = self.targets("sparse", [f"GET /locations?lat={lat}&long={long}&radius=5000" for lat, long in sparse])
        queries = self.targets(
            "redis.sparse",
            [f"GEOSEARCH places FROMLONLAT {long} {lat} BYRADIUS 5 km ASC COUNT 20" for lat, long in sparse])
        self.compare(
            "memory, radius 5 km, 5 to 15 matches",
            lambda: self.load(server, near),
            "Redis GEOSEARCH, the same",
            lambda: self.load(redis, queries, protocol="redis"),
            "≥ 1.3",
        )
        redis.stop()
        place = '{"name":"Written","lat":%s,"long":%s,"category":"written","tags":{"a":"b"}}'
        mixed = [
            f"POST /locations {place % self.points[i]}" if i % 20 == 0 else f"GET /locations?{lat_long}"
            for i, lat_long in enumerate(f"lat={lat}&long={long}" for lat, long in self.points)
        ]
        mixed_targets = self.targets("mixed", mixed)
        self.compare(
            "memory, 95 % nearest 20 and 5 % creations", lambda: self.load(server, mixed_targets), "nearest 20", nearest, ""
        )
        server.stop()

    def measure_sizes(self):
        small = self.memory(10_000)
        for count, target in ((100_000, ""), (1_000_000, ""), (5_000_000, "≥ 0.6")):
            server = self.memory(count)
            self.compare(
                f"memory, nearest 20, {count:,} places",
                lambda: self.load(server, self.nearest),
                "10,000 places",
                lambda: self.load(small, self.nearest),
                target,
            )
            server.stop()
        small.stop()

    def measure_postgres(self):
        with self.postgres():
            environment = self.import_places(POINT_INDEX="off")
            self.add_geography()
            server = self.waymark(**environment)
            self.load(server, self.nearest)
            self.compare_with_pgbench(server)
            if self.options.tipg:
                self.compare_with_tipg(server)
            server.stop()

    def measure_index(self):
        with self.postgres():
            IndexBench(self, self.import_places()).measure()

    def measure_index_build(self):
        with self.postgres():
            index = IndexBench(self, self.import_places())
            index.measure_build()
            index.measure_files()

    @contextlib.contextmanager
    def postgres(self):
        """A PostgreSQL server for the time of a block."""
        say(f"Importing {self.options.places:,} places into PostgreSQL")
        self.start_postgres()
        try:
            yield
        finally:
            self.stop_postgres()

    def add_geography(self):
        """Adds the column and the index of the references; the statements of Waymark use other columns."""
        self.sql("""
            ALTER TABLE points ADD COLUMN geog geography(Point, 4326) GENERATED ALWAYS AS
                (ST_SetSRID(ST_MakePoint(long, lat), 4326)::geography) STORED;
            CREATE INDEX points_geog ON points USING gist (geog);
        """)
        self.sql("VACUUM ANALYZE points")

    def import_places(self, **settings):
        """Migrates the database and imports the places. Returns the environment for a server."""
        environment = self.migrate(**settings)
        subprocess.run(
            [self.waymark_program, "import", str(self.places(self.options.places))], check=True, env=os.environ | environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        return environment

    def migrate(self, **settings):
        """Migrates the database. Returns the environment for a server."""
        environment = {"DATABASE_URL": self.database.url, "MIGRATIONS_PATH": str(ROOT / "Migrations")} | settings
        subprocess.run([self.waymark_program, "migrate"], check=True, env=os.environ | environment, capture_output=True)
        return environment

    def measure_bulk(self):
        self.start_postgres()
        try:
            Bulk(self, self.migrate()).measure()
        finally:
            self.stop_postgres()
        self.measure_batches()
        self.measure_restart()

    def measure_batches(self):
        """Compares creations in batches with single ones, in both stores."""
        self.start_postgres()
        try:
            server = self.waymark(**self.migrate())
            Batches(self, server).compare("PostgreSQL")
            server.stop()
        finally:
            self.stop_postgres()
        server = self.waymark(POINT_STORE="memory", MEMORY_STORE_PATH=str(self.work / "batches.db"))
        Batches(self, server).compare("memory")
        server.stop()

    def measure_restart(self):
        """Measures the time until the memory store serves the places of its file, without and with index files."""
        index = self.work / "index"
        settings = {
            "POINT_STORE": "memory", "MEMORY_STORE_PATH": str(self.work / "places.db"), "INDEX_PATH": str(index)}
        server = self.waymark(**settings, DATA_FILE=str(self.places(self.options.places)))
        alone, kept, resident = [], [], []
        for _ in range(self.options.rounds):
            deadline = time.monotonic() + 600
            while not (index / "manifest").exists():
                if time.monotonic() > deadline:
                    raise SystemExit("the files of the index were not written within 600 seconds")
                time.sleep(0.05)
            server.stop()
            log = self.work / "restart.log"
            server = self.waymark(log=log, **settings, LOG_LEVEL="info")
            kept.append(server.seconds_to_ready)
            resident.append(server.resident_mib())
            server.stop()
            if "continues from its files" not in log.read_text():
                raise SystemExit("the index was built instead of continuing from its files")
            shutil.rmtree(index)
            server = self.waymark(**settings)
            alone.append(server.seconds_to_ready)
        server.stop()
        name = f"memory, start with {self.options.places:,} places in MEMORY_STORE_PATH"
        self.fact(f"{name}, seconds without index files", medians(alone, 2), "at most 5 for 1 M")
        self.fact(f"{name}, seconds with index files", medians(kept, 2))
        self.fact(f"{name}, this of that", f"{statistics.median(kept) / statistics.median(alone):.2f}")
        self.fact(f"{name}, resident MiB after a start with index files", medians(resident, 0))

    def geography_statements(self):
        """Returns statements for the nearest 20 by PostGIS's geography, with distances."""
        return [
            f"""SELECT id, lat, long, name, category, tags, ST_Distance(geog, {point}) FROM points
            ORDER BY geog <-> {point} LIMIT 20"""
            for point in (
                f"ST_SetSRID(ST_MakePoint({long}, {lat}), 4326)::geography" for lat, long in self.points[:SAMPLE]
            )
        ]

    def own_nearest_statements(self):
        """Returns statements for the nearest 20 with Waymark's statement."""
        template = (ROOT / "Benchmarks/nearest.pgbench.sql").read_text().rstrip().rstrip(";")
        return [template.replace("@POINT@", self.earth_centred(*point)) for point in self.points[:SAMPLE]]

    def id_statements(self, ids):
        return [
            "SELECT id, lat, long, name, category, tags, version, created_at, updated_at, source, source_id "
            f"FROM points WHERE id = '{id}'"
            for id in ids[:SAMPLE]
        ]

    def compare_with_pgbench(self, server):
        own_statements = self.own_nearest_statements()
        geography_statements = self.geography_statements()
        ids = self.ids(server)
        id_statements = self.id_statements(ids)
        by_id = self.targets("pg.id", [f"GET /locations/{id}" for id in ids])
        nearest = lambda: self.load(server, self.nearest)
        self.compare(
            "PostgreSQL, nearest 20",
            nearest,
            "pgbench, geography <-> and ST_Distance",
            lambda: self.pgbench(geography_statements),
            "≥ 0.9",
        )
        self.compare("PostgreSQL, nearest 20", nearest, "pgbench, Waymark's statement", lambda: self.pgbench(own_statements), "≥ 0.6")
        self.compare(
            "PostgreSQL, nearest 20 of a rare category", lambda: self.load(server, self.rare), "nearest 20", nearest, "≥ 0.3"
        )
        self.compare("PostgreSQL, by id", lambda: self.load(server, by_id), "pgbench, the same", lambda: self.pgbench(id_statements), "≥ 0.6")
        self.compare(
            "PostgreSQL, nearest 20, 512 connections",
            lambda: self.load(server, self.nearest, connections=512),
            "16 connections",
            lambda: self.load(server, self.nearest, connections=16),
            "≥ 0.9",
        )

    def earth_centred(self, lat, long):
        return self.sql(
            f"SELECT encode(ST_AsEWKB(ST_Transform(ST_SetSRID(ST_MakePoint({long}, {lat}, 0), 4979), 4978)), 'hex')"
        )

    def compare_with_tipg(self, server):
        port = free_port()
        tipg = Server(
            [str(self.options.tipg / "bin/uvicorn"), "tipg.main:app", "--port", str(port), "--log-level", "critical",
             "--workers", str(os.cpu_count())],
            port,
            "/healthz",
            {"DATABASE_URL": self.database.url, "TIPG_DB_SCHEMAS": '["public"]'},
        )
        boxes = [self.box_around(*point) for point in self.points]
        queries = self.targets(
            "tipg", [f"GET /collections/public.points/items?bbox={box}&limit=20&f=geojson&geom-column=geog" for box in boxes]
        )
        self.compare(
            "PostgreSQL, box of 4 km",
            lambda: self.load(server, self.box),
            "tipg, the same",
            lambda: self.load(tipg, queries),
            "≥ 20",
        )
        tipg.stop()

    # --- The report

    @staticmethod
    def figure(number):
        return f"{number:,.0f}" if number else ""

    def report(self):
        cores = os.cpu_count()
        print(
            f"{self.options.places:,} places, {cores} cores, {self.options.rounds} rounds of {self.options.seconds:g} s; "
            "64 connections unless stated otherwise. Rates are requests (or rows, where stated) per second, latencies "
            "microseconds.\n"
        )
        print("| measurement | rate | p50 | p99 | reference | its rate | its p99 | ratio | range | target |")
        print("| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
        for name, medians, reference_name, reference, ratio, minimum, maximum, target in self.rows:
            print(
                f"| {name} | {medians[0]:,.0f} | {self.figure(medians[1])} | {self.figure(medians[2])} "
                f"| {reference_name} | {reference[0]:,.0f} | {self.figure(reference[2])} "
                f"| {ratio:.2f} | {minimum:.2f}–{maximum:.2f} | {target} |"
            )
        if self.facts:
            print("\n| measurement | | target |\n| --- | ---: | ---: |")
            for fact in self.facts:
                print("| " + " | ".join(fact) + " |")
        if self.options.json:
            self.options.json.write_text(json.dumps(self.results(), indent=2) + "\n")

    def results(self):
        """Returns the results as an object for JSON."""
        fields = ("name", "rate_p50_p99", "reference", "reference_rate_p50_p99", "ratio", "least", "greatest", "target")
        return {
            "places": self.options.places,
            "cores": os.cpu_count(),
            "rounds": self.options.rounds,
            "seconds": self.options.seconds,
            "ratios": [dict(zip(fields, row)) for row in self.rows],
            "facts": [dict(zip(("name", "value", "target"), fact)) for fact in self.facts],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ["memory", "sizes", "postgres", "index", "bulk"]
    parser.add_argument("--waymark", required=True, help="path of the program")
    parser.add_argument("--generator", required=True, help="path of waymark-bench")
    parser.add_argument("--load", required=True, help="path of the load generator")
    parser.add_argument("--tipg", type=pathlib.Path, help="path of a virtual environment with tipg")
    parser.add_argument("--places", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the results as JSON to this file")
    parser.add_argument(
        "only", nargs="*", default=parts, choices=[*parts, "index-build", "batches", "restart", []],
        help="parts to measure; by default all but index-build, a part of index, and batches and restart, parts of bulk",
    )
    options = parser.parse_args()
    options.only = options.only or parts
    with tempfile.TemporaryDirectory(prefix="waymark-bench.") as work:
        work = pathlib.Path(work)
        work.chmod(0o755)
        Bench(options, work).run()


if __name__ == "__main__":
    main()
