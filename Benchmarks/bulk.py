"""Benchmarks of imports and exports, compared with psql's \\copy of the same rows and the same indexed table, and of
batches, compared with single writes."""

import concurrent.futures
import json
import os
import subprocess
import time

from http_clients import Connection, request

COLUMNS = "id, lat, long, name, category, tags, source, source_id"
MIB = 1 << 20


class Bulk:
    """The measurements with a migrated PostgreSQL database."""

    def __init__(self, bench, environment):
        self.bench = bench
        self.environment = environment
        self.count = bench.options.places
        self.places = bench.places(self.count)
        self.rows = bench.work / "rows.copy"
        self.out = bench.work / "out"
        self.peaks = {}

    def measure(self):
        # The input of \copy: the rows in the order of the file, with the ids that Waymark assigned.
        self.import_by_command()
        self.psql(f"\\copy (SELECT {COLUMNS} FROM points ORDER BY substr(source_id, 6)::bigint) TO '{self.rows}'")
        server = self.bench.waymark(**self.environment)
        copy_in, copy_out = "psql \\copy … from", "psql \\copy … to"
        compare = self.bench.compare
        compare("import of a CSV file, rows", self.import_by_command, copy_in, self.copy_in, "≥ 0.75")
        compare("import --exclusive of a CSV file, rows", self.import_exclusively, copy_in, self.copy_in, "≥ 1")
        compare("import over HTTP, rows", lambda: self.import_over_http(server), copy_in, self.copy_in, "≥ 0.5")
        self.bench.sql("VACUUM ANALYZE points")
        compare("export as CSV, rows", self.export_by_command, copy_out, self.copy_out, "≥ 0.5")
        compare("export over HTTP, rows", lambda: self.export_over_http(server), copy_out, self.copy_out, "")
        server.stop()
        for command in ("import", "export"):
            self.record_fact(f"PostgreSQL, peak memory of waymark {command}", self.peaks[command], "below 150 MiB")
        self.measure_large_upload()

    def record_fact(self, name, mebibytes, target):
        self.bench.facts.append((name, f"{mebibytes:.0f} MiB", target))

    # --- Imports

    def empty(self):
        self.bench.sql("TRUNCATE points, changes")
        self.bench.sql("CHECKPOINT")

    def import_by_command(self):
        self.empty()
        return self.timed(lambda: self.run("import", str(self.places)), is_import=True)

    def import_exclusively(self):
        self.empty()
        return self.timed(lambda: self.run("import", "--exclusive", str(self.places)), is_import=True)

    def import_over_http(self, server):
        self.empty()
        url = f"http://127.0.0.1:{server.port}/locations/import"
        command = ["curl", "-sSf", "-T", self.places, "-X", "POST", "-H", "content-type: text/csv", url]
        return self.timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL), is_import=True)

    def copy_in(self):
        self.empty()
        return self.timed(lambda: self.psql(f"\\copy points ({COLUMNS}) FROM '{self.rows}'"), is_import=True)

    # --- Exports

    def export_by_command(self):
        return self.timed(lambda: self.run("export", "--format", "csv", f"{self.out}.csv"))

    def export_over_http(self, server):
        url = f"http://127.0.0.1:{server.port}/locations/export?f=csv"
        return self.timed(lambda: subprocess.run(["curl", "-sSf", "-o", f"{self.out}.http", url], check=True))

    def copy_out(self):
        return self.timed(lambda: self.psql(f"\\copy points ({COLUMNS}) TO '{self.out}.copy'"))

    # --- A large upload

    def measure_large_upload(self):
        """Measures the memory growth of a server during a chunked request with 1 GiB of rows."""
        # Without an index, which would grow with the places.
        server = self.bench.waymark(**self.environment, POINT_INDEX="off")
        self.empty()
        before = server.resident_mib()
        curl = subprocess.Popen(
            ["curl", "-sSf", "-T", "-", "-X", "POST", "-H", "content-type: application/x-ndjson",
             f"http://127.0.0.1:{server.port}/locations/import"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        sent = rows = 0
        note = "x" * 900
        while sent < 1024 * MIB:
            lines = "".join(
                f'{{"name":"Place {row}","lat":{row % 170 - 85}.{row % 9973:04},"long":{row % 358 - 179}.{row % 9967:04},'
                f'"source":"large","sourceId":"{row}","tags":{{"note":"{note}"}}}}\n'
                for row in range(rows, rows + 1000)
            ).encode()
            curl.stdin.write(lines)
            sent, rows = sent + len(lines), rows + 1000
        curl.stdin.close()
        response = curl.stdout.read()
        if curl.wait() or f'"created":{rows}'.encode() not in response:
            raise SystemExit(f"the large upload failed: {response[:200]}")
        self.record_fact("PostgreSQL, memory growth during an import of 1 GiB", server.peak_mib() - before, "at most 64 MiB")
        server.stop()

    # --- Processes

    def run(self, command, *arguments):
        """Runs a command of Waymark, and records its peak memory."""
        process = subprocess.Popen(
            [self.bench.waymark_program, command, *arguments], env=os.environ | self.environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"waymark {command} exited with {process.returncode}")
        self.peaks[command] = max(self.peaks.get(command, 0), usage.ru_maxrss / 1024)

    def psql(self, command):
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", self.bench.database.url, "-c", command], check=True)

    def timed(self, work, is_import=False):
        """Runs the work and returns rows per second. After an import, verifies the number of rows."""
        start = time.monotonic()
        work()
        seconds = time.monotonic() - start
        if is_import and (found := int(self.bench.sql("SELECT count(*) FROM points"))) != self.count:
            raise SystemExit(f"{found} of {self.count} rows were imported")
        return self.count / seconds, None, None


class Batches:
    """Creations in batches of a thousand places, and in single requests of one client and of several, on one server."""

    SIZE = 1000
    CLIENTS = 8

    def __init__(self, bench, server):
        self.bench = bench
        self.port = server.port
        self.number = 0

    def compare(self, store):
        batches = f"{store}, batches of {self.SIZE:,}, places"
        for clients, reference in ((1, "of one client"), (self.CLIENTS, f"of {self.CLIENTS} clients")):
            self.bench.compare(
                batches, self.write_batches, f"single requests {reference}", lambda: self.write_singly(clients), "")

    def place(self):
        self.number += 1
        return {
            "name": f"Place {self.number}", "category": "cafe", "lat": self.number % 170 - 85 + self.number % 9973 / 1e4,
            "long": self.number % 358 - 179 + self.number % 9967 / 1e4, "tags": {"ref": str(self.number)},
            "source": "batches", "sourceId": str(self.number),
        }

    def write_batches(self):
        return self.rate(
            1, self.SIZE, "/locations/batch?atomic=true",
            lambda: {"operations": [{"op": "create", "place": self.place()} for _ in range(self.SIZE)]})

    def write_singly(self, clients):
        return self.rate(clients, 1, "/locations", self.place)

    def rate(self, clients, size, target, body):
        """Returns the places a second that clients write, each of which sends one request after another."""
        # The time to make bodies is not that of the server.
        messages = [[request(target, "POST", json.dumps(body())) for _ in range(4000 // size)] for _ in range(clients)]
        connections = [Connection(self.port) for _ in range(clients)]

        def write(connection, messages, end):
            written = 0
            for message in messages:
                status, _, response = connection.send(message)
                if status not in (200, 201):
                    raise SystemExit(f"a write was {status}: {response[:200]}")
                written += size
                if time.monotonic() > end:
                    break
            return written

        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            written = sum(pool.map(write, connections, messages, [start + self.bench.options.seconds] * clients))
        return written / (time.monotonic() - start), None, None
