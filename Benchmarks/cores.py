#!/usr/bin/env python3
"""Compares the processor time of a request with nginx's, each server on cores of its own.

Waymark answers searches for the nearest 20 of a million places in memory, nginx sends a file of the median length of
these responses. Both have the same cores, in turn; the load generator has others, so that it hides nothing of the
difference. The ratio is of the processor time of a request, the kernel's included.
"""

import argparse
import os
import pathlib
import statistics
import subprocess

from measure import Bench
from servers import processor_seconds, temporary_folder


class CoresBench(Bench):
    """The comparison with a number of cores."""

    def __init__(self, options, work, cores):
        super().__init__(options, work)
        self.cores = cores

    def on_cores(self, server):
        """Has a server run on its cores."""
        for pid in processes(server):
            pin(pid, self.cores)
        return server

    def cost(self, server):
        """Returns the microseconds of processor time of a request, and the requests a second."""
        def seconds():
            return sum(processor_seconds(pid) for pid in processes(server))

        before = seconds()
        # A generator has one thread, and one for each core of a server keeps them all busy.
        generators = [self.start_load(server, self.nearest, connections=16) for _ in self.cores]
        for generator in generators:
            pin(generator.pid, sorted(os.sched_getaffinity(0) - set(self.cores)))
        rate = sum(self.load_result(generator)[0] for generator in generators)
        return (seconds() - before) / (rate * self.options.seconds) * 1e6, rate


def processes(server):
    """Returns a server's process and those that it has started."""
    pid = server.process.pid
    return [pid, *map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def pin(pid, cores):
    """Has all threads of a process run on some cores alone."""
    subprocess.run(["taskset", "-acp", ",".join(map(str, cores)), str(pid)], check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench cores", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waymark", required=True, help="path of the program")
    parser.add_argument("--generator", required=True, help="path of waymark-bench")
    parser.add_argument("--load", required=True, help="path of the load generator")
    parser.add_argument("--cores", type=int, nargs="+", default=[1], help="numbers of cores of the servers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--places", type=int, default=1_000_000)
    parser.add_argument("--former", metavar="PROGRAM", help="another build, in turn with the first")
    options = parser.parse_args()
    available = sorted(os.sched_getaffinity(0))
    if max(options.cores) >= len(available):
        parser.error(f"of {len(available)} cores at least one is the load generator's")

    with temporary_folder("waymark-cores.") as work:
        print("| cores | server | µs of a request | requests a second | nginx's time to its |")
        print("| ---: | --- | ---: | ---: | ---: |")
        for count in options.cores:
            bench = CoresBench(options, work, available[-count:])
            bench.points = bench.query_points()
            bench.nearest = bench.targets(
                "nearest", [f"GET /locations?lat={lat}&long={long}" for lat, long in bench.points])
            programs = {"Waymark": options.waymark} | ({"former": options.former} if options.former else {})
            servers = {}
            for title, program in programs.items():
                bench.waymark_program = program
                servers[title] = bench.on_cores(bench.waymark(
                    POINT_STORE="memory", DATA_FILE=str(bench.places(options.places)), HTTP_THREADS=str(count)))
            servers["nginx"] = bench.on_cores(bench.nginx(bench.median_length(servers["Waymark"]), workers=count))
            for server in servers.values():
                bench.cost(server)
            results = bench.alternate({title: lambda server=server: bench.cost(server) for title, server in servers.items()})
            reference = statistics.median(cost for cost, _ in results["nginx"])
            for title, rounds in results.items():
                costs = [cost for cost, _ in rounds]
                rate = statistics.median(rate for _, rate in rounds)
                cost = statistics.median(costs)
                print(f"| {count} | {title} | {cost:.1f} ({min(costs):.1f}–{max(costs):.1f}) | {rate:,.0f} "
                      f"| {reference / cost:.2f} |", flush=True)
            for server in servers.values():
                server.stop()


if __name__ == "__main__":
    main()
