"""Benchmarks of the index of a great number of places in PostgreSQL, with the same figures of a million of them.

The places are synthetic, with the fields that Overture Maps documents for its places: a name, one of 2,000 categories, an
address, a confidence, and a telephone number and a website for about half of them. They are in a town for each 2,500 places.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from http_clients import Connection, metrics, request
from index import visible_milliseconds
from programs import Database, MemoryLimit, Server, load
from servers import children, memory_mib, processor_seconds, Waymark

MILLION = 1_000_000
# The columns of the index.
COLUMNS = "id, lat, long, name, category, tags, version, created_at, updated_at, source, source_id"
QUERIES = 10_000
CONNECTIONS = 16
# The bytes of memory for a place, the files included, with which searches are measured.
MEMORY_OF_PLACE = 250
ZOOMS = range(5)


def say(text):
    print(text, file=sys.stderr, flush=True)


class FolderPeak:
    """The greatest size of the files of a folder for the time of a block, in bytes."""

    def __init__(self, folder):
        self.folder = folder
        self.bytes = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.ended.set()
        self.thread.join()

    def watch(self):
        while not self.ended.wait(0.2):
            self.bytes = max(self.bytes, folder_bytes(self.folder))


def folder_bytes(folder):
    size = 0
    for path in folder.glob("*"):
        try:
            size += path.stat().st_size
        except FileNotFoundError:
            pass  # Deleted since.
    return size


def drop_from_cache(folder):
    """Drops the files of a folder from the page cache, so that the process that reads them next is charged for them."""
    for path in folder.glob("*"):
        file = os.open(path, os.O_RDONLY)
        try:
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)


class Places:
    """A database of places, and the queries near them."""

    def __init__(self, bench, name, count):
        self.bench = bench
        self.count = count
        self.url = bench.database.url.rsplit("/", 1)[0] + f"/{name}"
        self.folder = bench.work / name
        bench.database.sql(f"CREATE DATABASE {name}")
        environment = {"DATABASE_URL": self.url}
        # Only for its commands.
        program = Waymark(bench.options.waymark, environment)
        program.command("migrate")
        start = time.monotonic()
        generator = subprocess.Popen(
            [bench.options.generator, "places", "--content", "contacts", "--categories", "2000",
             "--towns", str(max(400, count // 2500)), str(count)], stdout=subprocess.PIPE)
        subprocess.run(
            [bench.options.waymark, "import", "--exclusive", "--format", "csv", "-"], stdin=generator.stdout, check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=program.environment)
        if generator.wait():
            raise SystemExit(f"the generator exited with {generator.returncode}")
        say(f"Imported {count:,} places in {time.monotonic() - start:.0f} s")
        self.sql("VACUUM ANALYZE points")
        self.row_bytes = int(self.sql("SELECT pg_total_relation_size('points')")) / count
        self.make_queries(name)

    def sql(self, text):
        return subprocess.run(
            ["psql", "-qtAX", "-v", "ON_ERROR_STOP=1", self.url, "-c", text], check=True, capture_output=True, text=True
        ).stdout.strip()

    def make_queries(self, name):
        """Writes files of requests for and near random places."""
        percent = min(100, 200 * QUERIES / self.count)
        rows = [
            line.split("|") for line in self.sql(
                f"SELECT id, lat, long, replace(name, '|', ' ') FROM points TABLESAMPLE BERNOULLI ({percent}) REPEATABLE (1)"
            ).splitlines()
        ]
        generator = random.Random(1)
        generator.shuffle(rows)
        rows = rows[:QUERIES]
        lines = {"nearest 20": [], "box of 4 km": [], "by id": [], "name": []}
        for id, lat, long, text in rows:
            lat = max(-89.9, min(89.9, float(lat) + generator.uniform(-0.05, 0.05)))
            long = max(-179.9, min(179.9, float(long) + generator.uniform(-0.05, 0.05)))
            lines["nearest 20"].append(f"GET /locations?lat={lat:.5f}&long={long:.5f}")
            lines["box of 4 km"].append(
                f"GET /locations?bbox={long - 0.02:.5f},{lat - 0.02:.5f},{long + 0.02:.5f},{lat + 0.02:.5f}")
            lines["by id"].append(f"GET /locations/{id}")
            lines["name"].append(f"GET /locations?q={urllib.parse.quote(text)}&lat={lat:.5f}&long={long:.5f}")
        lines["mixed"] = [line for group in zip(*lines.values()) for line in group]
        self.targets = {}
        for kind, requests in lines.items():
            self.targets[kind] = self.bench.work / f"{name}.{kind.replace(' ', '-')}.targets"
            self.targets[kind].write_text("".join(line + "\n" for line in requests))

    def serve(self, **settings):
        """Returns a server that is ready, with or without its index."""
        settings = {"READ_CONSISTENCY": "strict"} | settings
        return Server(
            self.bench.options.waymark, ready_seconds=7200, DATABASE_URL=self.url, POINT_INDEX="on", **settings)

    def follow(self, **settings):
        """Returns a server whose index is complete, and the seconds from its start until a search by name."""
        start = time.monotonic()
        server = self.serve(**settings)
        connection = Connection(server.port)
        # A search by name is answered by the index alone.
        while connection.send(request("/locations?q=a&limit=1"))[0] != 200:
            time.sleep(0.005)
        return server, time.monotonic() - start


class WorldBench:
    def __init__(self, options, work):
        self.options = options
        self.work = work
        # Nothing of PostgreSQL is compared with it but its copies, so its writes need not be durable.
        self.database = Database(work, "max_wal_size=4GB", "synchronous_commit=off", "fsync=off")
        print(f"{options.places:,} places, seconds of mixed searches: {options.mixed}\n\n| measurement | | at most |")
        print("| --- | ---: | ---: |")

    def fact(self, name, value, target=""):
        print(f"| {name} | {value} | {target} |", flush=True)

    def load(self, server, places, kind, seconds=None):
        return load(
            self.options.load, server.port, places.targets[kind], seconds or self.options.seconds, connections=CONNECTIONS)

    def measure(self):
        self.world = Places(self, "world", self.options.places)
        self.fact("bytes of a place in PostgreSQL, its indexes included", f"{self.world.row_bytes:.0f}")
        server = self.measure_build()
        self.measure_mixed(server)
        self.measure_tiles(server)
        self.measure_visibility(server)
        server.stop()
        self.measure_start()
        self.measure_cost()
        self.measure_limited()
        self.measure_rates()

    def copy_seconds(self):
        start = time.monotonic()
        command = f"\\copy (SELECT {COLUMNS} FROM points) TO '/dev/null' (FORMAT binary)"
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", self.world.url, "-c", command], check=True)
        return time.monotonic() - start

    def measure_build(self):
        copy = self.copy_seconds()
        with FolderPeak(self.world.folder) as peak:
            server, seconds = self.world.follow(INDEX_PATH=str(self.world.folder))
            while not (self.world.folder / "manifest").exists():
                time.sleep(0.2)
            # The memory that building needed is returned soon after.
            time.sleep(10)
            resident, most = (memory_mib(server.process.pid, field) for field in ("VmRSS", "VmHWM"))
        count = self.options.places
        size = folder_bytes(self.world.folder)
        self.fact("seconds to build the index", f"{seconds:.1f}")
        self.fact("seconds of psql's \\copy of the columns in binary", f"{copy:.1f}")
        self.fact("ratio", f"{seconds / copy:.2f}", "3")
        self.fact("peak memory while it is built, beyond the bytes of the index", f"{most * (1 << 20) / size - 1:.0%}", "25 %")
        self.fact("resident bytes of a place after it", f"{resident * (1 << 20) / count:.0f}")
        self.fact("bytes of a place on disk", f"{size / count:.0f}")
        self.fact("the greatest number of them while they were written", f"{peak.bytes / count:.0f}", "450")
        return server

    def measure_cost(self):
        """Measures the processor time of requests, of the server and of PostgreSQL."""
        postmaster = int((self.database.data / "postmaster.pid").read_text().split()[0])

        def used(process):
            return processor_seconds(process) + sum(map(processor_seconds, children(process)))

        for consistency in ("strict", "bounded"):
            server, _ = self.world.follow(INDEX_PATH=str(self.world.folder), READ_CONSISTENCY=consistency)
            self.load(server, self.world, "nearest 20")
            before = server.processor_seconds(), used(postmaster)
            requests = self.load(server, self.world, "nearest 20")[0] * self.options.seconds
            after = server.processor_seconds(), used(postmaster)
            own, database = (1e6 * (end - begin) / requests for begin, end in zip(before, after))
            self.fact(f"nearest 20, {consistency}, microseconds of processor time of the server, and of PostgreSQL",
                      f"{own:.1f}, {database:.1f}")
            server.stop()

    def measure_mixed(self, server):
        self.load(server, self.world, "mixed", self.options.mixed)
        resident, anonymous, file = (
            memory_mib(server.process.pid, field) * (1 << 20) / self.options.places
            for field in ("VmRSS", "RssAnon", "RssFile"))
        self.fact("resident bytes of a place after mixed searches", f"{resident:.0f}", "250")
        self.fact("of these not in files, and in mapped files, which the kernel may drop", f"{anonymous:.0f}, {file:.0f}")

    def measure_tiles(self, server):
        milliseconds, connection = [], Connection(server.port)
        for zoom in ZOOMS:
            for x in range(1 << zoom):
                for y in range(1 << zoom):
                    start = time.monotonic()
                    status = connection.send(request(f"/tiles/{zoom}/{x}/{y}.mvt"))[0]
                    if status not in (200, 204):
                        raise SystemExit(f"the tile {zoom}/{x}/{y} has status {status}")
                    milliseconds.append(1000 * (time.monotonic() - start))
        self.fact("milliseconds of the slowest tile of zoom 0 to 4", f"{max(milliseconds):.1f}", "50")

    def measure_visibility(self, writer):
        reader, _ = self.world.follow()
        milliseconds = visible_milliseconds(writer, reader)
        self.fact(
            "milliseconds from a write's response to a read of it on another instance, p99",
            f"{milliseconds[len(milliseconds) * 99 // 100]:.1f}", "30")
        reader.stop()

    def measure_start(self):
        starts = []
        for _ in range(self.options.rounds):
            server, seconds = self.world.follow(INDEX_PATH=str(self.world.folder))
            found = metrics(server.port)
            if (found["point_index_loads_total"], found["point_index_builds_total"]) != (1, 0):
                raise SystemExit("the index was built instead of continuing from its files")
            starts.append(seconds)
            server.stop()
        self.fact("seconds from a start with the files until the first strict search", f"{statistics.median(starts):.2f}", "5")

    def measure_rates(self):
        million = Places(self, "million", MILLION)
        settings = {"INDEX_PATH": str(million.folder)}
        subjects = {
            self.world: self.world.follow(INDEX_PATH=str(self.world.folder))[0], million: million.follow(**settings)[0]}
        # Both from files.
        while not (million.folder / "manifest").exists():
            time.sleep(0.2)
        subjects[million].stop()
        subjects[million] = million.follow(**settings)[0]
        for kind, target in (("nearest 20", "0.8"), ("box of 4 km", "0.8"), ("by id", "0.9"), ("name", "0.5")):
            rates = {places: [] for places in subjects}
            for places, server in subjects.items():
                self.load(server, places, kind)
            for _ in range(self.options.rounds):
                for places, server in subjects.items():
                    rates[places].append(self.load(server, places, kind)[0])
            many, few = (statistics.median(found) for found in rates.values())
            self.fact(f"{kind}: requests a second, of these from a million places, ratio",
                      f"{many:,.0f}, {few:,.0f}, {many / few:.2f}", f"at least {target}")
        for server in subjects.values():
            server.stop()

    def measure_limited(self):
        """Compares the rates of searches with those in less memory than the index has."""
        rates = collections.defaultdict(list)
        kinds = [kind for kind in self.world.targets if kind != "mixed"]
        with MemoryLimit(MEMORY_OF_PLACE * self.options.places) as limit:
            for memory_limit in (None, limit):
                drop_from_cache(self.world.folder)
                server, _ = self.world.follow(INDEX_PATH=str(self.world.folder), memory_limit=memory_limit)
                self.load(server, self.world, "mixed", self.options.mixed)
                for kind in kinds:
                    rates[kind].append(self.load(server, self.world, kind, self.options.rounds * self.options.seconds)[0])
                server.stop()
        for kind, (unlimited, limited) in rates.items():
            self.fact(
                f"{kind}: requests a second with memory for {MEMORY_OF_PLACE} bytes a place, without a limit, ratio",
                f"{limited:,.0f}, {unlimited:,.0f}, {limited / unlimited:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--places", type=int, default=64 * MILLION)
    parser.add_argument("--mixed", type=int, default=3600, help="the seconds of mixed searches before memory is measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    free = shutil.disk_usage(tempfile.gettempdir()).free
    # A row with its indexes, the log of PostgreSQL, and the files of the index.
    needed = 1_300 * options.places + (4 << 30)
    if free < needed:
        raise SystemExit(f"{options.places:,} places need about {needed >> 30} GiB in {tempfile.gettempdir()}, {free >> 30} are free")
    with tempfile.TemporaryDirectory(prefix="waymark-world.") as folder:
        work = pathlib.Path(folder)
        work.chmod(0o755)
        bench = WorldBench(options, work)
        try:
            bench.measure()
        finally:
            bench.database.stop()


if __name__ == "__main__":
    main()
