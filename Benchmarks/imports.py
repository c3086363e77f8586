"""Reads of all kinds while an import changes many places in PostgreSQL, compared with the same reads in the seconds before.
scripts/bench imports runs this.

For each mode (strict, bounded, and stale: strict with READ_STALE_S) and each number of changed rows, a server is polled at
a fixed rate without an import and then during one, until its index has caught up. Latency counts from the time at which a
request was due. `--replace-source` also deletes a hundredth of the places.

Fails if a read fails, except for a strict one that had waited for `REQUEST_DEADLINE_MS`.
"""

import argparse
import asyncio
import collections
import csv
import json
import math
import os
import random
import subprocess
import sys
import time

from http_clients import request
from programs import Database, Server
from servers import MIGRATIONS, temporary_folder

MODES = {
    "strict": {"READ_CONSISTENCY": "strict"},
    "bounded": {"READ_CONSISTENCY": "bounded"},
    "stale": {"READ_CONSISTENCY": "strict", "READ_STALE_S": "600"},
}
DEADLINE_MS = 2000
# A read is rejected at its deadline, and not a moment before; its time is measured here and there by different clocks.
DEADLINE_TOLERANCE_MS = 50
# The longest time in which an index may catch up with a number of changed rows, on idle cores.
CATCH_UP_ROWS, CATCH_UP_SECONDS = 100_000, 0.5
WORDS = "Alder Birch Cedar Dogwood Elm Fir Ginkgo Hazel Ivy Juniper Larch Maple Oak Pine Rowan Spruce Teak Willow".split()
CATEGORIES = ("cafe", "bar", "museum", "shop", "park", "hotel")


def targets(random_numbers):
    """Returns a request of each kind. Only the index can answer the last six."""
    lat, long = random_numbers.uniform(-60, 60), random_numbers.uniform(-180, 180)
    word, number = random_numbers.choice(WORDS), random_numbers.randrange(1000)
    x, y = random_numbers.randrange(64), random_numbers.randrange(20, 44)
    box = f"{long:.3f},{lat:.3f},{min(180, long + 5):.3f},{lat + 5:.3f}"
    return {
        "nearest": f"/locations?lat={lat:.5f}&long={long:.5f}&limit=20",
        "box": f"/locations?bbox={box}&limit=20",
        "categories": "/categories",
        "q": f"/locations?q={word}+{number}&limit=20",
        "suggest": f"/locations/suggest?q={word[:4]}&limit=5",
        "tile": f"/tiles/6/{x}/{y}.mvt",
        "clusters": f"/locations/clusters?bbox={box}&zoom=6",
        "facets": f"/locations/facets?bbox={box}&by=category",
        "tag.KEY": f"/locations?tag.ref={number}&bbox={box}&limit=20",
    }


class LoggingServer(Server):
    """A server whose log is kept."""

    def __init__(self, program, log, **environment):
        self.log = log
        super().__init__(program, LOG_LEVEL="info", LOG_FORMAT="json", **environment)

    def start(self):
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([self.program, "serve"], env=self.environment, stdout=log, stderr=log)

    def lines(self, *messages):
        """Returns the objects of the log lines with one of the messages."""
        return [json.loads(line) for line in self.log.read_text().splitlines()
                if any(f'"{message}"' in line for message in messages)]


class Poller:
    """Requests of all kinds at a fixed rate, on as many connections as there are requests in progress."""

    def __init__(self, port, rate):
        self.port = port
        self.rate = rate
        self.idle = []
        self.seconds = collections.defaultdict(list)
        self.failures = collections.defaultdict(collections.Counter)
        # The number of reads that failed before the deadline, by kind.
        self.early = collections.Counter()
        self.stale = collections.Counter()

    async def run(self, is_over):
        """Polls until a function returns true."""
        random_numbers, tasks, number = random.Random(1), set(), 0
        start = time.monotonic()
        while not is_over():
            due = start + number / self.rate
            await asyncio.sleep(max(0, due - time.monotonic()))
            requests = targets(random_numbers)
            kind = list(requests)[number % len(requests)]
            task = asyncio.create_task(self.send(kind, requests[kind], due))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            number += 1
        await asyncio.gather(*tasks)
        for _, writer in self.idle:
            writer.close()
        return self

    async def connection(self):
        """Returns an idle connection that the server has not closed, or a new one."""
        while self.idle:
            reader, writer = self.idle.pop()
            if not reader.at_eof():
                return reader, writer
            writer.close()
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def send(self, kind, target, due):
        try:
            reader, writer = await self.connection()
            sent = time.monotonic()
            writer.write(request(target))
            head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).decode().lower()
            fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
            status = int(head.split()[1])
            length = 0 if status in (204, 304) else int(fields["content-length"])
            body = await asyncio.wait_for(reader.readexactly(length), 60)
            self.idle.append((reader, writer))
            if status >= 400:
                if status != 503 or 1000 * (time.monotonic() - sent) < DEADLINE_MS - DEADLINE_TOLERANCE_MS:
                    self.early[kind] += 1
                self.failures[kind][f"{status} {json.loads(body).get('code')}"] += 1
            elif "age" in fields:
                self.stale[kind] += 1
        except (OSError, EOFError, TimeoutError, asyncio.TimeoutError) as error:
            self.failures[kind][repr(error)] += 1
            self.early[kind] += 1
        self.seconds[kind].append(time.monotonic() - due)


class ImportBench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.revision = 0
        self.database = Database(folder)
        self.environment = {"DATABASE_URL": self.database.url, "POINT_INDEX": "on", "REQUEST_DEADLINE_MS": str(DEADLINE_MS)}
        self.has_failed = False

    def measure(self):
        self.waymark("migrate")
        self.waymark("import", str(self.write_rows(self.options.places, 0)))
        self.database.sql("VACUUM ANALYZE points")
        for mode in self.options.modes:
            server = LoggingServer(self.options.waymark, self.folder / "server.log", **self.environment, **MODES[mode])
            try:
                # The index of the tag is built by its first search.
                self.poll(server, lambda until=time.monotonic() + 2: time.monotonic() > until)
                # The file of --replace-source has all places, so that those which an earlier import changed would change too.
                if self.options.replaces:
                    self.measure_import(server, mode, min(self.options.changes), replaces=True)
                for changes in self.options.changes:
                    self.measure_import(server, mode, changes)
            finally:
                server.stop()
            self.waymark("import", str(self.write_rows(self.options.places, 0)))

    def write_rows(self, count, changes):
        """Writes the first places to a file, of which the first `changes` are new revisions."""
        self.revision += 1
        path = self.folder / "places.csv"
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["source", "sourceId", "name", "category", "lat", "long", "ref", "revision"])
            for number in range(count):
                random_numbers = random.Random(number)
                writer.writerow([
                    "bench", number, f"{random_numbers.choice(WORDS)} {number % 1000}", CATEGORIES[number % len(CATEGORIES)],
                    f"{random_numbers.uniform(-60, 60):.5f}", f"{random_numbers.uniform(-180, 180):.5f}", number % 1000,
                    self.revision if number < changes else 0])
        return path

    def measure_import(self, server, mode, changes, replaces=False):
        places = self.options.places
        name = f"{mode}, {min(changes, places):,} changed rows" + (", --replace-source" if replaces else "")
        kept = places - places // 100 if replaces else min(changes, places)
        file = self.write_rows(kept, changes)
        arguments = ["import", *(["--replace-source", "bench"] if replaces else []), str(file)]
        until = time.monotonic() + self.options.seconds
        before = self.poll(server, lambda: time.monotonic() > until)
        caught_up = len(server.lines("the index has caught up", "the index is built"))
        start = time.monotonic()
        process = subprocess.Popen(
            [self.options.waymark, *arguments], env=self.full_environment(), stdout=subprocess.DEVNULL)
        times = {}

        def is_over():
            now = time.monotonic()
            if "import" not in times:
                if process.poll() is not None:
                    times["import"] = now
                return False
            if now - times["import"] > 120:
                raise SystemExit("the index did not catch up within 120 seconds")
            if len(server.lines("the index has caught up", "the index is built")) > caught_up and "index" not in times:
                times["index"] = now
            return "index" in times and now > max(times["index"], times["import"]) + 1

        during = self.poll(server, is_over)
        if process.returncode:
            raise SystemExit(f"waymark import exited with {process.returncode}")
        line = server.lines("the index has caught up", "the index is built")[-1]
        seconds = float(str(line["seconds"]).split()[0])
        has_goal = min(changes, places) == CATCH_UP_ROWS
        goal = f", {seconds / CATCH_UP_SECONDS:.1f} × the goal of {CATCH_UP_SECONDS} s" if has_goal else ""
        print(f"\n{name}, of {places:,} places: import {times['import'] - start:.1f} s, index {seconds} s{goal} "
              f"({line['message']})\n\n"
              "| read | requests | p99, ms | undisturbed | ratio | longest, ms | with Age | failures | before the deadline |\n"
              "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: |")
        for kind, seconds in during.seconds.items():
            p99, reference = percentile(seconds, 99), percentile(before.seconds[kind], 99)
            failures = during.failures[kind] + before.failures[kind]
            early = during.early[kind] + before.early[kind]
            self.has_failed |= bool(early if mode == "strict" else failures)
            print(f"| {kind} | {len(seconds):,} | {1000 * p99:.1f} | {1000 * reference:.1f} | {p99 / reference:.1f} | "
                  f"{1000 * max(seconds):.0f} | {during.stale[kind]} | "
                  f"{', '.join(f'{count} × {text}' for text, count in failures.items()) or 0} | {early} |", flush=True)

    def poll(self, server, is_over):
        return asyncio.run(Poller(server.port, self.options.rate).run(is_over))

    def full_environment(self):
        return os.environ | self.environment | {"MIGRATIONS_PATH": str(MIGRATIONS)}

    def waymark(self, *arguments):
        subprocess.run(
            [self.options.waymark, *arguments], env=self.full_environment(), check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)


def percentile(values, percent):
    values = sorted(values)
    return values[max(0, math.ceil(percent / 100 * len(values)) - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True, help="path of the program")
    parser.add_argument("--places", type=int, default=1_000_000)
    parser.add_argument("--changes", type=lambda text: [int(number) for number in text.split(",")],
                        default=[100_000, 1_000_000], help="numbers of changed rows, with commas between")
    parser.add_argument("--modes", type=lambda text: text.split(","), default=list(MODES), help="strict, bounded, stale")
    parser.add_argument("--rate", type=int, default=200, help="reads a second, of all kinds together")
    parser.add_argument("--seconds", type=float, default=10, help="time of the undisturbed run before each import")
    parser.add_argument("--no-replace", dest="replaces", action="store_false", help="leave out --replace-source")
    options = parser.parse_args()
    with temporary_folder("waymark-imports.") as folder:
        bench = ImportBench(options, folder)
        try:
            bench.measure()
        finally:
            bench.database.stop()
    sys.exit(1 if bench.has_failed else 0)


if __name__ == "__main__":
    main()
