"""Kills servers that keep their index in files at random moments, and damages the files.

Places are written all the time, to PostgreSQL by SQL, to a memory store with MEMORY_STORE_PATH by the server. A server
with INDEX_PATH is started and killed with -9 within seconds, while it reads its files, catches up, writes them or serves.
Before some starts a file is damaged, PostgreSQL is killed, the file of the places or the folder is an earlier copy, places
are changed by hand, or the disk of the folder is nearly full. Sometimes a file is made shorter while the server runs: if
the server reads what is missing, SIGBUS must end it. After each start the places of the server must be those of PostgreSQL or
of the file, found by their ids and by name, whatever was damaged; an undamaged folder must not have the index built.
Prints a table of the starts, and exits with 1 otherwise.

The full disk needs the rights to mount a file system; without them it is left out, and a line says so.

  scripts/faults files                    # a minute on each store
  scripts/faults files --store memory
  scripts/faults files --seconds 600 --places 20000 --seed 7
"""

import collections
import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from http_clients import get, metrics
from servers import Postgres, Waymark, argument_parser, exit_after_each_store, temporary_folder

INSERT = """
    INSERT INTO points (id, lat, long, name, category, tags)
    SELECT gen_random_uuid(), 90 * random(), 180 * random(), 'place ' || number, 'c' || number % 50,
      json_build_object('text', md5(random()::text))
    FROM generate_series(1, {count}) AS number
"""
CHANGES = [
    INSERT.format(count=20),
    "UPDATE points SET name = name || '!' WHERE id IN (SELECT id FROM points TABLESAMPLE SYSTEM (1) LIMIT 20)",
    "DELETE FROM points WHERE id IN (SELECT id FROM points TABLESAMPLE SYSTEM (1) LIMIT 20)",
]


class PostgresPlaces:
    """The places in PostgreSQL, which are changed also while no server runs."""

    outlives_server = True

    def __init__(self, database):
        self.database = database
        self.environment = {"DATABASE_URL": database.url, "POINT_INDEX": "on"}
        self.faults = {"crash of PostgreSQL": self.crash}

    def create(self, server, count):
        server.command("migrate")
        self.database.query(INSERT.format(count=count))

    def change(self, server, generator):
        """Changes places, in a commit that is not on disk when it is acknowledged."""
        try:
            self.database.query("SET synchronous_commit = off", generator.choice(CHANGES))
        except subprocess.SubprocessError:
            # PostgreSQL is down.
            time.sleep(0.05)

    def rows(self):
        return set(self.database.query("SELECT id || ' ' || version || ' ' || name FROM points").splitlines())

    def continued(self, server):
        """Returns whether a server that is ready continued from its files."""
        return metrics(server.port)["point_index_loads_total"] > 0

    def crash(self, generator):
        self.database.kill()
        self.database.start()


class MemoryPlaces:
    """The places in the file of a memory store, which only its server changes."""

    outlives_server = False

    def __init__(self, folder):
        self.folder = folder
        self.file, self.copy, self.kept = folder / "places.db", folder / "copy.db", folder / "kept.db"
        self.index = None
        self.log = folder / "log"
        self.data = folder / "places.csv"
        self.environment = {"MEMORY_STORE_PATH": str(self.file), "DATA_FILE": str(self.data), "LOG_LEVEL": "info"}
        self.faults = {
            "earlier places": self.restore_places, "earlier files": self.restore_index, "changes by hand": self.change_by_hand}

    def create(self, server, count):
        lines = [f"place {number},{number % 90},{number % 180},c{number % 50},s,{number}" for number in range(count)]
        self.data.write_text("name,lat,long,category,source,sourceId\n" + "\n".join(lines) + "\n")

    def change(self, server, generator):
        """Creates, replaces or deletes a place, or imports some; the server may be killed meanwhile."""
        try:
            places = json.loads(get(server.port, f"/locations?limit=20&lat={generator.uniform(-80, 80)}&long=1")[0])
            place = generator.choice(places) if places else {"id": ""}
            body = {"name": f"place {generator.random()}", "lat": generator.uniform(-90, 90), "long": 1}
            match generator.randrange(8):
                case 0 | 1: self.send(server, "DELETE", f"/locations/{place['id']}")
                case 2 | 3 | 4: self.send(server, "PUT", f"/locations/{place['id']}", json.dumps(body))
                case 5 | 6: self.send(server, "POST", "/locations", json.dumps(body))
                case _:
                    rows = [f"import {generator.random()},1,{number % 180},{generator.choice('abc')},{number % 200}"
                            for number in range(generator.choice([1, 100, 3000]))]
                    self.send(server, "POST", "/locations/import?replaceSource=a&maxDeletions=100%25",
                              "name,lat,long,source,sourceId\n" + "\n".join(rows) + "\n", "text/csv")
        except (OSError, http.client.HTTPException):
            time.sleep(0.02)

    def send(self, server, method, target, body=None, kind="application/json"):
        request = urllib.request.Request(
            f"{server.url}{target}", data=body and body.encode(), method=method, headers={"Content-Type": kind})
        urllib.request.urlopen(request, timeout=60).close()

    def rows(self):
        """Returns the places in the file of a killed server, from a copy of it."""
        self.copy_file(self.file, self.copy)
        with contextlib.closing(sqlite3.connect(self.copy)) as database:
            found = database.execute("SELECT lower(hex(id)), version, name FROM place").fetchall()
        return {f"{self.identifier(id)} {version} {name}" for id, version, name in found}

    def identifier(self, digits):
        return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])

    def copy_file(self, source, target):
        for suffix in ["", "-wal"]:
            pathlib.Path(f"{target}{suffix}").unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")

    def continued(self, server):
        return "the index continues from its files" in self.log.read_text()

    def restore_places(self, generator):
        """Puts an earlier copy of the places beside the present files of the index."""
        if self.kept.exists():
            self.copy_file(self.kept, self.file)
        else:
            self.copy_file(self.file, self.kept)
        if generator.random() < 0.5:
            self.kept.unlink(missing_ok=True)

    def restore_index(self, generator):
        """Puts an earlier copy of the files of the index beside the present places."""
        kept = self.folder / "kept.index"
        if kept.exists():
            shutil.rmtree(self.index)
            shutil.move(kept, self.index)
        elif self.index.exists():
            shutil.copytree(self.index, kept)

    def change_by_hand(self, generator):
        statement = generator.choice([
            "UPDATE place SET name = name || '!' WHERE rowid % 100 = 7", "DELETE FROM place WHERE rowid % 100 = 8",
            "UPDATE place SET name = name || '?', version = version + 1 WHERE rowid % 100 = 9",
        ])
        with contextlib.closing(sqlite3.connect(self.file)) as database, database:
            database.execute(statement)


class LoggedWaymark(Waymark):
    """A server whose log is in a file that each start replaces."""

    def __init__(self, program, environment, log):
        super().__init__(program, environment)
        self.log = log

    def start(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([self.program, "serve"], env=self.environment, stderr=log)


class Writer(threading.Thread):
    """Changes places until it is stopped."""

    def __init__(self, places, server, generator):
        super().__init__(daemon=True)
        self.places, self.server, self.generator = places, server, generator
        self.is_paused, self.is_idle, self.is_stopped = threading.Event(), threading.Event(), threading.Event()

    def run(self):
        while not self.is_stopped.is_set():
            if self.is_paused.is_set():
                self.is_idle.set()
                time.sleep(0.01)
                continue
            self.places.change(self.server, self.generator)

    def pause(self):
        self.is_paused.set()
        # It is set again before the next change.
        self.is_idle.clear()
        self.is_idle.wait()

    def resume(self):
        self.is_paused.clear()


class Run:
    def __init__(self, options, folder, places):
        self.options, self.places = options, places
        self.generator = random.Random(options.seed)
        self.disk = folder / "disk"
        self.disk.mkdir()
        self.can_mount = not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={options.disk_mib}m", "none", self.disk], capture_output=True).returncode
        if not self.can_mount:
            print("no file system can be mounted: the disk is never full", file=sys.stderr)
        self.path = self.disk / "index"
        places.index = self.path
        self.server = LoggedWaymark(
            options.waymark, {"LOG_LEVEL": "notice", "INDEX_PATH": str(self.path)} | places.environment, folder / "log")
        places.create(self.server, options.places)
        self.starts = collections.Counter()
        # The manifest when a file was damaged last.
        self.damaged = None
        self.failures = []

    # --- Faults before a start

    def flip(self, path):
        data = bytearray(path.read_bytes())
        if data:
            data[self.generator.randrange(len(data))] ^= 1 << self.generator.randrange(8)
        self.replace(path, data)

    def zero(self, path):
        data = bytearray(path.read_bytes())
        start = self.generator.randrange(len(data) or 1)
        data[start:start + 65536] = bytes(len(data[start:start + 65536]))
        self.replace(path, data)

    def truncate(self, path):
        data = path.read_bytes()
        self.replace(path, data[:self.generator.randrange(len(data) or 1)])

    def substitute(self, path):
        self.replace(path, self.generator.randbytes(10_000))

    def remove(self, path):
        path.unlink()

    def replace(self, path, data):
        path.unlink()
        path.write_bytes(data)

    def damage(self):
        """Damages a file, and returns how; `None` if there is none."""
        files = sorted(path for path in self.path.glob("*") if path.name == "manifest" or path.suffix == ".segment")
        if not files:
            return None
        kind = self.generator.choice([self.flip, self.zero, self.truncate, self.substitute, self.remove])
        kind(self.generator.choice(files))
        self.damaged = self.manifest()
        return kind.__name__

    def manifest(self):
        """Returns what differs between the manifests that were written; `None` if there is none."""
        try:
            status = (self.path / "manifest").stat()
            return status.st_ino, status.st_mtime_ns
        except FileNotFoundError:
            return None

    def fill_disk(self):
        with contextlib.suppress(OSError), open(self.disk / "filler", "wb") as file:
            while True:
                file.write(bytes(1 << 16))

    def shorten(self):
        """Makes a file shorter that the running server has mapped, and has all places read. Returns how the server ended.

        It is killed where it serves without the missing bytes, since its index no longer has the file or has no column there.
        """
        files = sorted(self.path.glob("*.segment"))
        if not files:
            return None
        with contextlib.suppress(FileNotFoundError):
            path = self.generator.choice(files)
            os.truncate(path, self.generator.randrange(path.stat().st_size or 1))
        try:
            get(self.server.port, "/locations/export?f=ndjson")
        except urllib.error.HTTPError:
            pass
        except (OSError, http.client.HTTPException):
            if self.server.process.wait(60) != -signal.SIGBUS:
                self.failures.append("the server did not end by SIGBUS at a missing part of its file")
        has_ended = self.server.process.poll() is not None
        self.server.kill()
        self.damaged = self.manifest()
        return "shortened, ended" if has_ended else "shortened, killed"

    # --- Starts

    def start(self, fault):
        # Damaged files stay until others have been written.
        is_whole = self.manifest() not in (None, self.damaged)
        self.server.start()
        self.server.wait_until_ready()
        loads = self.places.continued(self.server)
        self.starts[fault or "none", "continued" if loads else "built"] += 1
        if is_whole and not loads:
            self.failures.append(f"the index was built although its files were whole; fault: {fault}")

    def get(self, target):
        """Returns the body of a response, once the index and the connections to a restarted PostgreSQL are there."""
        deadline = time.monotonic() + 60
        while True:
            try:
                return get(self.server.port, target)[0].decode()
            except urllib.error.HTTPError as error:
                if error.code != 503 or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def compare(self, wanted):
        """Compares the places of the server with those that it must have, while nothing is written."""
        lines = self.get("/locations/export?f=ndjson").splitlines()
        exported = {"{id} {version} {name}".format(**json.loads(line)) for line in lines}
        if wanted != exported:
            self.failures.append(
                f"{len(wanted - exported)} places are missing or old, {len(exported - wanted)} are wrong or were removed")
        for line in self.generator.sample(sorted(wanted), min(5, len(wanted))):
            name = line.split(" ", 2)[2].replace(" ", "%20")
            found = json.loads(self.get(f"/locations?limit=1000&q={name}"))
            if line.split(" ", 1)[0] not in [place["id"] for place in found]:
                self.failures.append(f"{line} is not found by its name")

    def run(self):
        writer = Writer(self.places, self.server, random.Random(self.options.seed))
        if not self.places.outlives_server:
            writer.is_paused.set()
        writer.start()
        try:
            self.restart_until(time.monotonic() + self.options.seconds, writer)
        finally:
            writer.is_stopped.set()
            self.server.kill()
            if self.can_mount:
                subprocess.run(["umount", self.disk], check=False)

    def restart_until(self, deadline, writer):
        fault, wanted = None, None
        while time.monotonic() < deadline and not self.failures:
            self.start(fault)
            if wanted is not None:
                self.compare(wanted)
            writer.resume()
            time.sleep(self.generator.choice([0, 0.3, 1.2, 2.5]) * self.generator.random())
            if self.places.outlives_server and self.generator.random() < 0.5:
                writer.pause()
                self.compare(self.places.rows())
                writer.resume()
            fault = self.shorten() if self.generator.random() < 0.15 else None
            self.server.kill()
            (self.disk / "filler").unlink(missing_ok=True)
            if not self.places.outlives_server:
                writer.pause()
            fault = fault or self.inject()
            if not self.places.outlives_server:
                wanted = self.places.rows()

    def inject(self):
        kind = self.generator.randrange(8)
        if kind < 2:
            return self.damage()
        if kind == 2:
            name = self.generator.choice(sorted(self.places.faults))
            self.places.faults[name](self.generator)
            if not self.places.outlives_server:
                # The files may stand for another state, until others have been written.
                self.damaged = self.manifest()
            return name
        if kind == 3 and self.can_mount:
            self.fill_disk()
            return "full disk"
        if kind == 4:
            # Killed while it reads the files.
            self.server.start()
            time.sleep(self.generator.random() * 0.3)
            self.server.kill()
        return None

    def report(self):
        print("| fault before the start | index | starts |\n| --- | --- | ---: |")
        for (fault, outcome), count in sorted(self.starts.items()):
            print(f"| {fault} | {outcome} | {count} |")
        for failure in self.failures:
            print(f"FAILED: {failure}", file=sys.stderr)
        if not any(outcome == "continued" for _, outcome in self.starts):
            self.failures.append("no start continued from files")
            print("FAILED: no start continued from files", file=sys.stderr)
        return not self.failures


def main():
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--places", type=int, default=10_000)
    parser.add_argument("--disk-mib", type=int, default=64)
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    exit_after_each_store(check, options)


def check(store, options):
    print(f"\n{store}\n")
    with temporary_folder("waymark-files-") as folder, contextlib.ExitStack() as stack:
        if store == "postgres":
            places = PostgresPlaces(stack.enter_context(Postgres(folder)))
        else:
            places = MemoryPlaces(folder)
        run = Run(options, folder, places)
        run.run()
        return run.report()


if __name__ == "__main__":
    main()
