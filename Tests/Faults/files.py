"""Kills servers that keep their index in files at random moments, and damages the files.

Places are written by SQL all the time. A server with INDEX_PATH is started and killed with -9 within seconds, while it
reads its files, catches up, writes them or serves. Before some starts a file is damaged, PostgreSQL is killed, or the disk
of the folder is nearly full. After each start the places of the server must be those of PostgreSQL, found by their ids
and by name; an undamaged folder must not have the index built. Prints a table of the starts, and exits with 1 otherwise.

The full disk needs the rights to mount a file system; without them it is left out, and a line says so.

  scripts/faults files
  scripts/faults files --seconds 600 --places 20000 --seed 7
"""

import collections
import contextlib
import json
import pathlib
import random
import subprocess
import sys
import threading
import time
import urllib.error

from http_clients import get, metrics
from servers import Postgres, Waymark, argument_parser, temporary_folder

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


class Writer(threading.Thread):
    """Changes places by SQL, with commits that are not on disk when they are acknowledged, until it is stopped."""

    def __init__(self, database, generator):
        super().__init__(daemon=True)
        self.database, self.generator = database, generator
        self.is_paused, self.is_idle, self.is_stopped = threading.Event(), threading.Event(), threading.Event()

    def run(self):
        while not self.is_stopped.is_set():
            if self.is_paused.is_set():
                self.is_idle.set()
                time.sleep(0.01)
                continue
            self.is_idle.clear()
            try:
                self.database.query("SET synchronous_commit = off", self.generator.choice(CHANGES))
            except subprocess.SubprocessError:
                # PostgreSQL is down.
                time.sleep(0.05)

    def pause(self):
        self.is_paused.set()
        self.is_idle.wait()

    def resume(self):
        self.is_idle.clear()
        self.is_paused.clear()


class Run:
    def __init__(self, options, folder, database):
        self.options, self.database = options, database
        self.generator = random.Random(options.seed)
        self.disk = folder / "disk"
        self.disk.mkdir()
        self.can_mount = not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={options.disk_mib}m", "none", self.disk], capture_output=True).returncode
        if not self.can_mount:
            print("no file system can be mounted: the disk is never full", file=sys.stderr)
        self.path = self.disk / "index"
        self.server = Waymark(
            options.waymark,
            {"DATABASE_URL": database.url, "POINT_INDEX": "on", "INDEX_PATH": str(self.path), "LOG_LEVEL": "notice"})
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

    # --- Starts

    def start(self, fault):
        # Damaged files stay until others have been written.
        is_whole = self.manifest() not in (None, self.damaged)
        self.server.start()
        self.server.wait_until_ready()
        found = metrics(self.server.port)
        loads = int(found["point_index_loads_total"])
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

    def compare(self):
        """Compares the places of the server with those of PostgreSQL, while nothing is written."""
        wanted = set(self.database.query("SELECT id || ' ' || version || ' ' || name FROM points").splitlines())
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
        writer = Writer(self.database, random.Random(self.options.seed))
        writer.start()
        try:
            self.restart_until(time.monotonic() + self.options.seconds, writer)
        finally:
            writer.is_stopped.set()
            self.server.kill()
            if self.can_mount:
                subprocess.run(["umount", self.disk], check=False)

    def restart_until(self, deadline, writer):
        fault = None
        while time.monotonic() < deadline and not self.failures:
            self.start(fault)
            time.sleep(self.generator.choice([0, 0.3, 1.2, 2.5]) * self.generator.random())
            if self.generator.random() < 0.5:
                writer.pause()
                self.compare()
                writer.resume()
            self.server.kill()
            (self.disk / "filler").unlink(missing_ok=True)
            fault = self.inject()

    def inject(self):
        kind = self.generator.randrange(8)
        if kind < 2:
            return self.damage()
        if kind == 2:
            self.database.kill()
            self.database.start()
            return "crash of PostgreSQL"
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
        return 1 if self.failures else 0


def main():
    parser = argument_parser(__doc__, stores=False)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--places", type=int, default=10_000)
    parser.add_argument("--disk-mib", type=int, default=64)
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    with temporary_folder("waymark-files-") as folder, Postgres(pathlib.Path(folder)) as database:
        run = Run(options, folder, database)
        run.server.command("migrate")
        database.query(INSERT.format(count=options.places))
        run.run()
        sys.exit(run.report())


if __name__ == "__main__":
    main()
