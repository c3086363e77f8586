#!/usr/bin/env python3
"""Measures the throughput and latency of a server under overload.

For each store, a closed loop, in which each connection sends the next request after a response, determines the highest rate,
and the rate with as many connections as the overload has, because thousands of connections have a cost of their own. Then an
open loop sends requests at that rate and at multiples of it, independently of responses. The results are the rate and the
latency of 2xx responses, and those of health probes meanwhile.
"""

import argparse
import collections
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

from measure import Bench, say

COLUMNS = [
    "store", "offered", "served", "of the highest rate", "of the rate with as many connections", "p50", "p99", "longest",
    "rejected", "not sent", "slowest live", "slowest ready", "failed probes",
]
# The rates of both closed loops, the results of the open loop, and the probe of one round.
Round = collections.namedtuple("Round", "factor highest same_connections figures probe")


class Probe(threading.Thread):
    """A thread that requests the server's health ten times per second."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.stopping = server, threading.Event()
        self.failures, self.slowest = 0, {"live": 0.0, "ready": 0.0}

    def run(self):
        while not self.stopping.wait(0.1):
            for kind in self.slowest:
                start = time.monotonic()
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{self.server.port}/health/{kind}", timeout=10).read()
                except (urllib.error.URLError, OSError):
                    self.failures += 1
                self.slowest[kind] = max(self.slowest[kind], time.monotonic() - start)

    def stop(self):
        self.stopping.set()
        self.join()


class OverloadBench(Bench):
    def open_loop(self, server, rate):
        """Returns the rate of 2xx responses, their median, 99th percentile and maximum latency in milliseconds, and the
        rates of rejected and unsent requests."""
        command = [self.load_program, "-p", str(server.port), "-t", str(self.nearest), "-c", str(self.options.connections)]
        command += ["-s", str(self.options.seconds), "-r", str(rate), "-o"]
        words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        served, p50, p99, longest = map(float, words[:4])
        rejected, not_sent = (int(word) / self.options.seconds for word in words[4:6])
        return served, p50 / 1e3, p99 / 1e3, longest / 1e3, rejected, not_sent

    def closed_loop(self, server, connections):
        """Returns the rate of 2xx responses when each connection sends the next request after a response."""
        command = [self.load_program, "-p", str(server.port), "-t", str(self.nearest), "-c", str(connections)]
        words = subprocess.run(
            [*command, "-s", str(self.options.seconds)], check=True, capture_output=True, text=True
        ).stdout.split()
        return float(words[0]) - float(words[4]) / self.options.seconds

    def measure(self, name, server):
        self.load(server, self.nearest)
        rounds = []
        for number in range(self.options.rounds):
            highest = max(self.closed_loop(server, connections) for connections in (64, 256))
            same_connections = self.closed_loop(server, self.options.connections)
            for factor in self.options.factors:
                say(f"{name}, round {number + 1}: {factor:g} times {highest:,.0f} per second")
                probe = Probe(server)
                probe.start()
                rounds.append(Round(factor, highest, same_connections, self.open_loop(server, highest * factor), probe))
                probe.stop()
                time.sleep(1)
        for factor in self.options.factors:
            selected = [each for each in rounds if each.factor == factor]
            highest = statistics.median(each.highest for each in selected)
            figures = [statistics.median(each.figures[index] for each in selected) for index in range(6)]
            of_highest = statistics.median(each.figures[0] / each.highest for each in selected)
            of_same_connections = statistics.median(each.figures[0] / each.same_connections for each in selected)
            slowest = [max(each.probe.slowest[kind] for each in selected) * 1e3 for kind in ("live", "ready")]
            failures = sum(each.probe.failures for each in selected)
            print(
                f"| {name} | {factor:g} × {highest:,.0f} | {figures[0]:,.0f} | {of_highest:.2f} | {of_same_connections:.2f} "
                f"| {figures[1]:,.0f} | {figures[2]:,.0f} | {figures[3]:,.0f} | {figures[4]:,.0f} | {figures[5]:,.0f} "
                f"| {slowest[0]:,.0f} | {slowest[1]:,.0f} | {failures} |",
                flush=True,
            )

    def run(self):
        self.nearest = self.targets("nearest", [f"GET /locations?lat={lat}&long={long}" for lat, long in self.query_points()])
        options = self.options
        print(
            f"{options.places:,} places, {os.cpu_count()} cores, {options.rounds} rounds of {options.seconds:g} s, "
            f"{options.connections} connections, REQUEST_DEADLINE_MS={options.deadline}. Rates are per second, times in milliseconds.\n"
        )
        print("| " + " | ".join(COLUMNS) + " |")
        print("| ---" + " | ---:" * (len(COLUMNS) - 1) + " |")
        if "postgres" in options.only:
            self.over_postgres()
        if "memory" in options.only:
            server = self.memory(options.places)
            self.measure("memory", server)
            server.stop()

    def over_postgres(self):
        self.start_postgres()
        try:
            environment = self.import_places(REQUEST_DEADLINE_MS=str(self.options.deadline))
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
    parser.add_argument("--connections", type=int, default=4000, help="connections of the overload")
    parser.add_argument("--deadline", type=int, default=2000, help="REQUEST_DEADLINE_MS")
    parser.add_argument("--factors", type=float, nargs="+", default=[1, 3])
    parser.add_argument("only", nargs="*", default=["postgres", "memory"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waymark-overload.") as folder:
        os.chmod(folder, 0o755)
        OverloadBench(options, pathlib.Path(folder)).run()


if __name__ == "__main__":
    main()
