#!/usr/bin/env python3
"""What scripts/bench-overload runs: how much a server still answers when it is asked more than it can.

For each store the most that it answers is measured first, each connection asking again when it has its answer. Then
requests fall due at that rate and at multiples of it, whether those before them were answered or not. What counts is how
many are answered with 2xx, how long those took, and whether probes of the server's health are answered meanwhile.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

from measure import ROOT, Bench, say


class Probe(threading.Thread):
    """Asks for the server's health ten times a second."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.is_over = server, threading.Event()
        self.failures, self.slowest = 0, {"live": 0.0, "ready": 0.0}

    def run(self):
        while not self.is_over.wait(0.1):
            for kind in self.slowest:
                start = time.monotonic()
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{self.server.port}/health/{kind}", timeout=10).read()
                except (urllib.error.URLError, OSError):
                    self.failures += 1
                self.slowest[kind] = max(self.slowest[kind], time.monotonic() - start)

    def stop(self):
        self.is_over.set()
        self.join()


class OverloadBench(Bench):
    def flood(self, server, rate):
        command = [self.load_program, "-p", str(server.port), "-t", str(self.nearest), "-c", str(self.options.connections)]
        command += ["-s", str(self.options.seconds), "-r", str(rate), "-o"]
        words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        good, p50, p99, longest = map(float, words[:4])
        return good, p50 / 1e3, p99 / 1e3, longest / 1e3, int(words[4]) / self.options.seconds, int(words[5]) / self.options.seconds

    def measure(self, name, server):
        self.load(server, self.nearest)
        rounds = []
        for number in range(self.options.rounds):
            most = max(self.load(server, self.nearest, connections=connections)[0] for connections in (64, 256))
            for factor in self.options.factors:
                say(f"{name}, round {number + 1}: {factor:g} times {most:,.0f} a second")
                probe = Probe(server)
                probe.start()
                rounds.append((factor, most, self.flood(server, most * factor), probe))
                probe.stop()
                time.sleep(1)
        for factor in self.options.factors:
            mine = [entry for entry in rounds if entry[0] == factor]
            figures = [statistics.median(entry[2][index] for entry in mine) for index in range(6)]
            share = statistics.median(entry[2][0] / entry[1] for entry in mine)
            live, ready = (max(entry[3].slowest[kind] for entry in mine) for kind in ("live", "ready"))
            failures = sum(entry[3].failures for entry in mine)
            print(
                f"| {name} | {factor:g} × {statistics.median(entry[1] for entry in mine):,.0f} | {figures[0]:,.0f} | {share:.2f} "
                f"| {figures[1]:,.0f} | {figures[2]:,.0f} | {figures[3]:,.0f} | {figures[4]:,.0f} | {figures[5]:,.0f} "
                f"| {live * 1e3:,.0f} | {ready * 1e3:,.0f} | {failures} |",
                flush=True,
            )

    def run(self):
        self.nearest = self.targets("nearest", [f"GET /locations?lat={lat}&long={long}" for lat, long in self.query_points()])
        options = self.options
        print(
            f"{options.places:,} places, {os.cpu_count()} cores, {options.rounds} rounds of {options.seconds:g} s, "
            f"{options.connections} connections, REQUEST_DEADLINE_MS={options.deadline}. Rates are a second, times milliseconds.\n"
        )
        print("| store | offered | answered | of the most | p50 | p99 | longest | refused | not sent | live | ready | failed probes |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        if "postgres" in options.only:
            self.over_postgres()
        if "memory" in options.only:
            server = self.memory(options.places)
            self.measure("memory", server)
            server.stop()

    def over_postgres(self):
        self.start_postgres()
        try:
            environment = {
                "DATABASE_URL": self.database_url, "MIGRATIONS_PATH": str(ROOT / "Migrations"),
                "REQUEST_DEADLINE_MS": str(self.options.deadline),
            }
            for command in (["migrate"], ["import", str(self.places(self.options.places))]):
                subprocess.run(
                    [self.waymark_program, *command], check=True, env=os.environ | environment,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )
            self.sql("VACUUM ANALYZE points")
            server = self.waymark(**environment)
            self.measure("PostgreSQL", server)
            server.stop()
        finally:
            self.stop_postgres()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("waymark", "load", "generator"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--places", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--connections", type=int, default=4000, help="how many requests may be under way at once")
    parser.add_argument("--deadline", type=int, default=2000, help="REQUEST_DEADLINE_MS")
    parser.add_argument("--factors", type=float, nargs="+", default=[1, 3])
    parser.add_argument("only", nargs="*", default=["postgres", "memory"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waymark-overload.") as folder:
        os.chmod(folder, 0o755)
        OverloadBench(options, pathlib.Path(folder)).run()


if __name__ == "__main__":
    main()
