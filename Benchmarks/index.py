"""Benchmarks of reads from the index of the places in PostgreSQL, compared with PostgreSQL itself."""

import collections
import json
import math
import random
import re
import statistics
import subprocess
import time

from http_clients import Connection, metrics, request

COLUMNS = "id, lat, long, name, category, tags, version, created_at, updated_at, source, source_id"
MILLION = 1_000_000
WRITES_PER_SECOND = 500
# The writes whose time until they are read is measured.
VISIBLE_WRITES = 500
# 220 of the places, and 150 of the index of their words.
MAXIMUM_BYTES = 220 + 150


class IndexBench:
    """The measurements with a migrated PostgreSQL database and its places."""

    def __init__(self, bench, environment):
        self.bench = bench
        self.environment = environment
        self.count = bench.options.places
        bench.sql("VACUUM ANALYZE points")

    def measure(self):
        self.measure_build()
        self.measure_files()
        self.bench.add_geography()
        self.compare_reads()
        # Writes need not maintain the reference's index.
        self.bench.sql("ALTER TABLE points DROP COLUMN geog")
        self.bench.sql("VACUUM ANALYZE points")
        self.measure_writes()

    # --- The servers

    def strict(self, **settings):
        return self.indexed(POINT_INDEX="on", READ_CONSISTENCY="strict", **settings)

    def bounded(self, **settings):
        return self.indexed(POINT_INDEX="on", READ_CONSISTENCY="bounded", **settings)

    def indexed(self, log=None, **settings):
        """Returns a server whose index has been built."""
        server = self.bench.waymark(log=log, **self.environment, **settings)
        deadline = time.monotonic() + 600
        while metrics(server.port).get('point_index_phase{phase="following"}') != 1:
            if time.monotonic() > deadline:
                raise SystemExit("the index was not built within 600 seconds")
            time.sleep(0.05)
        return server

    # --- Building

    def measure_build(self):
        """Measures the time of building the index, from the log, and the memory that it takes."""
        texts = int(self.bench.sql(
            "SELECT sum(octet_length(name) + octet_length(tags::text) + coalesce(octet_length(source_id), 0)) FROM points"
        )) / self.count
        base = self.bench.waymark(**self.environment, POINT_INDEX="off")
        time.sleep(3)
        base_mib = base.resident_mib()
        base.stop()
        builds, copies, resident, peaks = [], [], [], []
        for _ in range(self.bench.options.rounds if self.count <= MILLION else 1):
            copies.append(self.copy_seconds())
            log = self.bench.work / "index.log"
            server = self.strict(log=log, LOG_LEVEL="info", LOG_FORMAT="json")
            builds.append(self.logged_seconds(log))
            # Memory that the building needed is returned soon after.
            time.sleep(3)
            resident.append((server.resident_mib() - base_mib) * (1 << 20) / self.count)
            peaks.append(server.peak_mib())
            server.stop()
        allowed = 6 if self.count <= MILLION else 7.5 * self.count / MILLION
        name = f"index of {self.count:,} places"
        self.bench.fact(f"{name}, seconds to build", medians(builds, 2), f"at most {allowed:g}")
        self.bench.fact(f"{name}, seconds of psql's \\copy of the columns in binary alone", medians(copies, 2))
        self.bench.fact(f"{name}, resident bytes of a place", medians(resident, 0))
        self.bench.fact(f"{name}, of these its name, tags and id of the source", f"{texts:.0f}")
        self.bench.fact(
            f"{name}, resident bytes of a place beyond these", medians([bytes - texts for bytes in resident], 0),
            f"at most {MAXIMUM_BYTES}",
        )
        self.bench.fact(f"{name}, peak memory while it is built, MiB", medians(peaks, 0))

    def measure_files(self):
        """Measures starts from the files of an index, and the size of the files."""
        folder = self.bench.work / "index-files"
        log = self.bench.work / "index.log"
        server = self.strict(log=log, LOG_LEVEL="info", LOG_FORMAT="json", INDEX_PATH=folder)
        built = self.logged_seconds(log)
        deadline = time.monotonic() + 600
        while not (folder / "manifest").exists():
            if time.monotonic() > deadline:
                raise SystemExit("the files of the index were not written within 600 seconds")
            time.sleep(0.05)
        server.stop()
        size = sum(path.stat().st_size for path in folder.iterdir())
        starts, resident = [], []
        for _ in range(self.bench.options.rounds):
            start = time.monotonic()
            server = self.bench.waymark(
                log=log, **self.environment, POINT_INDEX="on", LOG_LEVEL="info", LOG_FORMAT="json", INDEX_PATH=folder)
            # A search by name is answered from the index alone.
            connection = Connection(server.port)
            while connection.send(request("/locations?q=a&limit=1"))[0] != 200:
                time.sleep(0.005)
            starts.append(time.monotonic() - start)
            found = metrics(server.port)
            if (found["point_index_loads_total"], found["point_index_builds_total"]) != (1, 0):
                raise SystemExit("the index was built instead of continuing from its files")
            resident.append(server.resident_mib() * (1 << 20) / self.count)
            server.stop()
        name = f"index of {self.count:,} places in files"
        self.bench.fact(f"{name}, seconds from the start of the process until a search by name", medians(starts, 2))
        self.bench.fact(f"{name}, this of the time to build it", f"{statistics.median(starts) / built:.2f}")
        self.bench.fact(f"{name}, bytes of a place on disk", f"{size / self.count:.0f}", "at most 450")
        self.bench.fact(f"{name}, resident bytes of a place after a start, mapped files included", medians(resident, 0))

    def logged_seconds(self, log):
        for line in log.read_text().splitlines():
            if '"the index is built"' in line:
                return float(re.search(r'"seconds":"?([\d.]+)', line)[1])
        raise SystemExit("the log does not say that the index was built")

    def copy_seconds(self):
        start = time.monotonic()
        command = f"\\copy (SELECT {COLUMNS} FROM points) TO '/dev/null' (FORMAT binary)"
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", self.bench.database.url, "-c", command], check=True)
        return time.monotonic() - start

    # --- Reads

    def compare_reads(self):
        bench = self.bench
        strict, bounded, memory = self.strict(), self.bounded(), bench.memory(self.count)
        servers = {"strict": strict, "bounded": bounded}
        for server in [*servers.values(), memory]:
            bench.load(server, bench.nearest)
        results = bench.alternate(
            {
                "geography": lambda statements=bench.geography_statements(): bench.pgbench(statements),
                "own": lambda statements=bench.own_nearest_statements(): bench.pgbench(statements),
                "strict": lambda: bench.load(strict, bench.nearest),
                "memory": lambda: bench.load(memory, bench.nearest),
                "bounded": lambda: bench.load(bounded, bench.nearest),
            }
        )
        for name, reference_name, reference, target in (
            ("strict", "pgbench, geography <-> and ST_Distance", "geography", "≥ 3"),
            ("strict", "pgbench, Waymark's statement", "own", ""),
            ("strict", "memory store", "memory", ""),
            ("bounded", "pgbench, geography <-> and ST_Distance", "geography", "≥ 4"),
            ("bounded", "memory store", "memory", "≥ 0.9"),
        ):
            bench.record(f"index, {name}, nearest 20", results[name], reference_name, results[reference], target)
        memory.stop()

        # The same requests, answered from PostgreSQL.
        direct = bench.waymark(**self.environment, POINT_INDEX="off")
        servers["POINT_INDEX=off"] = direct
        ids = bench.ids(strict)
        by_id = bench.targets("index.id", [f"GET /locations/{id}" for id in ids])
        sample = bench.points[:100]
        for name, targets, statements in (
            ("by id", by_id, bench.id_statements(ids)),
            ("box of 4 km", bench.box, [self.box_statement(*point) for point in sample]),
            ("radius 500 m", bench.radius, [self.radius_statement(*point) for point in sample]),
            (
                "nearest 20 of a rare category", bench.rare,
                [self.category_statement(*point) for point in sample],
            ),
        ):
            results = bench.alternate(
                {"pgbench": lambda: bench.pgbench(statements)}
                | {kind: lambda server=server: bench.load(server, targets) for kind, server in servers.items()}
            )
            for kind in ("strict", "bounded"):
                bench.record(f"index, {kind}, {name}", results[kind], "pgbench, the same", results["pgbench"], "≥ 3")
                reference = results["POINT_INDEX=off"]
                bench.record(f"index, {kind}, {name}", results[kind], "POINT_INDEX=off", reference, "")
        for kind, server in servers.items():
            if server is not direct:
                self.record_sources(f"index, {kind}", server)
            server.stop()

    def record_sources(self, name, server):
        """Records how many reads came from the index, so that nothing else was measured."""
        index, database = (
            metrics(server.port).get(f'point_index_reads_total{{source="{source}"}}', 0) for source in ("index", "database")
        )
        self.bench.fact(f"{name}, reads from the index", f"{index / max(1, index + database):.2%}", "100 %")

    # --- The statements of PostgreSQL, on Waymark's table and with its indexes

    def box_statement(self, lat, long):
        """Returns the statement for the first places by id in a box, and one more, as Waymark has it: it finds all
        places of a small box and then sorts them."""
        west, south, east, north = map(float, self.bench.box_around(lat, long).split(","))
        grid = [
            earth_centred(south + (north - south) * row / 2, west + (east - west) * column / 2)
            for row in range(3) for column in range(3)
        ]
        # The surface bulges less than this out of the grid.
        slack = 5
        least, greatest = ([edge(axis) for axis in zip(*grid)] for edge in (min, max))
        return f"""
            SELECT {COLUMNS} FROM (
              SELECT {COLUMNS} FROM points
              WHERE position &&& {line([x - slack for x in least], [x + slack for x in greatest])}
                AND CASE WHEN lat BETWEEN {south} AND {north} THEN long BETWEEN {west} AND {east} ELSE false END
              LIMIT 1001
            ) AS matches
            ORDER BY id LIMIT 21"""

    @staticmethod
    def radius_statement(lat, long, metres=500):
        center = earth_centred(float(lat), float(long))
        point = f"ST_SetSRID(ST_MakePoint({center[0]!r}, {center[1]!r}, {center[2]!r}), 4978)"
        return f"""
            SELECT {COLUMNS} FROM points
            WHERE position &&& {line([x - metres for x in center], [x + metres for x in center])}
              AND position <<->> {point} <= {metres}
            ORDER BY position <<->> {point} LIMIT 21"""

    @staticmethod
    def category_statement(lat, long):
        x, y, z = earth_centred(float(lat), float(long))
        return f"""
            SELECT {COLUMNS} FROM points WHERE category = ANY (ARRAY['rare'])
            ORDER BY position <<->> ST_SetSRID(ST_MakePoint({x!r}, {y!r}, {z!r}), 4978) LIMIT 21"""

    # --- Writes

    def measure_writes(self):
        """Measures reads of an instance while another one writes, and the time until writes are read."""
        bench = self.bench
        strict, bounded, writer = self.strict(), self.bounded(), self.strict()
        writes = self.write_targets(bench.ids(strict))
        rates, costs = [], collections.defaultdict(list)

        def read(server, name):
            """Reads, and notes the microseconds of the server's processor time for each read."""
            start = server.processor_seconds()
            result = bench.load(server, bench.nearest)
            costs[name].append(1e6 * (server.processor_seconds() - start) / (result[0] * bench.options.seconds))
            return result

        def read_beside_writes(server, name):
            seconds = bench.options.seconds
            load = bench.start_load(writer, writes, connections=16, rate=WRITES_PER_SECOND, seconds=seconds + 0.6)
            time.sleep(0.3)
            result = read(server, name)
            rates.append(bench.load_result(load))
            return result

        for server in (strict, bounded):
            bench.load(server, bench.nearest)
        results = bench.alternate(
            {
                name: lambda server=server, measure=measure, name=name: measure(server, name)
                for kind, server in (("strict", strict), ("bounded", bounded))
                for name, measure in ((kind, read), (f"{kind} beside writes", read_beside_writes))
            }
        )
        for kind, target in (("strict", "≥ 0.7"), ("bounded", "≥ 0.7")):
            bench.record(
                f"index, {kind}, nearest 20 beside {WRITES_PER_SECOND} writes a second of another instance",
                results[f"{kind} beside writes"], "the same without writes", results[kind], target,
            )
            own, beside = costs[kind], costs[f"{kind} beside writes"]
            bench.fact(f"{kind}, microseconds of the instance's processor time for a read", medians(own, 1))
            bench.fact(f"{kind}, the same beside writes", medians(beside, 1))
            bench.fact(
                f"{kind}, ratio of these", f"{statistics.median(beside) / statistics.median(own):.2f}", "at most 1.25")
        self.bench.fact("writes a second meanwhile", medians([rate for rate, _, _ in rates], 0), str(WRITES_PER_SECOND))
        self.bench.fact("writes meanwhile, p99 of the latency in ms", medians([p99 / 1000 for _, _, p99 in rates], 1))
        strict.stop()
        self.measure_visibility(writer, bounded, "", "")
        load = bench.start_load(writer, writes, connections=16, rate=WRITES_PER_SECOND, seconds=3600)
        self.measure_visibility(writer, bounded, f" beside {WRITES_PER_SECOND} other writes a second", "at most 30")
        load.terminate()
        load.communicate()
        self.record_sources("index, bounded, beside writes", bounded)
        for server in (bounded, writer):
            server.stop()

    def write_targets(self, ids):
        """Returns requests that create and replace places in turn."""
        lines = []
        for number, (lat, long) in enumerate(self.bench.points):
            place = json.dumps(
                {"name": f"Written {number}", "category": "written", "lat": float(lat), "long": float(long), "tags": {"a": "b"}}
            )
            lines.append(f"PUT /locations/{ids[number % len(ids)]} {place}" if number % 2 else f"POST /locations {place}")
        return self.bench.targets("writes", lines)

    def measure_visibility(self, writer, reader, condition, target):
        milliseconds = visible_milliseconds(writer, reader)
        for percent in (50, 99):
            value = milliseconds[math.ceil(percent / 100 * VISIBLE_WRITES) - 1]
            self.bench.fact(f"bounded, ms from a write's response to a read of it on another instance{condition}, p{percent}",
                      f"{value:.1f}", target)
        self.bench.fact(f"the same, longest of {VISIBLE_WRITES}", f"{milliseconds[-1]:.1f}")


def visible_milliseconds(writer, reader):
    """Returns the times from the acknowledgement of a write until another instance has it in a response, in order."""
    writes, reads = Connection(writer.port), Connection(reader.port)
    random_numbers, milliseconds = random.Random(3), []
    for number in range(VISIBLE_WRITES):
        place = json.dumps({"name": f"Visible {number}", "lat": 0.1, "long": number / 1000})
        status, _, body = writes.send(request("/locations", "POST", place))
        acknowledged = time.monotonic()
        if status != 201:
            raise SystemExit(f"a write returned {status}")
        read = request(f"/locations/{json.loads(body)['id']}")
        while reads.send(read)[0] != 200:
            if time.monotonic() > acknowledged + 10:
                raise SystemExit("a write was not read within 10 seconds")
        milliseconds.append((time.monotonic() - acknowledged) * 1000)
        time.sleep(random_numbers.uniform(0, 0.03))
    return sorted(milliseconds)


def medians(values, digits):
    """Returns the median as text, with the range of several values."""
    text = f"{statistics.median(values):,.{digits}f}"
    return text if len(values) == 1 else f"{text} ({min(values):,.{digits}f}–{max(values):,.{digits}f})"


def earth_centred(lat, long):
    """Returns x, y and z on the ellipsoid of WGS 84 in metres (EPSG 4978)."""
    latitude, longitude, squared_eccentricity = math.radians(lat), math.radians(long), 0.0066943799901413165
    normal = 6378137.0 / math.sqrt(1 - squared_eccentricity * math.sin(latitude) ** 2)
    return (
        normal * math.cos(latitude) * math.cos(longitude),
        normal * math.cos(latitude) * math.sin(longitude),
        normal * (1 - squared_eccentricity) * math.sin(latitude),
    )


def line(start, end):
    """Returns the SQL of a geometry whose bounds are the box between two corners."""
    points = (f"ST_MakePoint({x!r}, {y!r}, {z!r})" for x, y, z in (start, end))
    return f"ST_SetSRID(ST_MakeLine({', '.join(points)}), 4978)"
