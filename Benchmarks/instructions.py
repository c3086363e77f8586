#!/usr/bin/env python3
"""Counts the instructions of a request and of an idle server, by callgrind.

The server has 100,000 places in memory and one event loop. Requests for the nearest 20 come one at a time over one
persistent connection; their instructions are those of the event loop's thread. Those of an idle server are of all
threads. Neither has those of the kernel. The counts hardly depend on other work of the machine.
"""

import argparse
import collections
import itertools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from http_clients import Connection, request
from measure import Server, say
from servers import free_port

PLACES = 100_000
# The requests before the counted ones, and the counted ones.
WARM_UP, COUNTED = 300, 1000
# The time after a start in which what is regular has happened once.
SETTLING_SECONDS = 25
# A part of the mangled name of the function that an event loop's thread runs.
EVENT_LOOP = "SelectableEventLoopC3run"


class CountedServer:
    """A server under callgrind, which counts only while it is asked to."""

    def __init__(self, program, work, environment):
        self.work, self.port = work, free_port()
        # Valgrind before version 3.20 does not read all of DWARF 5, and needs only the symbols.
        stripped = work / "waymark"
        subprocess.run(["objcopy", "--strip-debug", program, stripped], check=True)
        self.server = Server(
            ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes",
             f"--callgrind-out-file={work}/out", stripped, "serve", "--http-port", str(self.port)],
            self.port, "/health/ready", environment, cwd=work, timeout=600, log=work / "log")

    def counting(self, work):
        """Returns the files with the counts of each thread while `work` runs."""
        self.control("--instr=on")
        self.control("--zero")
        for earlier in self.work.glob("out.*"):
            earlier.unlink()
        work()
        self.control("--dump")
        self.control("--instr=off")
        return sorted(self.work.glob("out.*"))

    def control(self, *arguments):
        command = ["callgrind_control", *arguments, str(self.server.process.pid)]
        result = subprocess.run(command, capture_output=True, text=True, cwd=self.work)
        if result.returncode:
            sys.exit(f"callgrind_control {arguments[0]}: {result.stdout}{result.stderr}")

    def stop(self):
        self.server.stop()


def own_counts(lines):
    """Returns the instructions of each function, without those that it calls; see the format in Valgrind's manual."""
    counts, names, function, is_call = collections.Counter(), {}, None, False
    for line in lines:
        if match := re.match(r"(c?)fn=(\(\d+\))(?: (.*))?$", line):
            name = names.setdefault(match[2], match[3])
            function = function if match[1] else name
        elif line.startswith("calls="):
            is_call = True
        elif match := re.match(r"(?:0x[0-9a-f]+|[+\-]?\d+|\*) (\d+)$", line):
            if not is_call:
                counts[function] += int(match[1])
            is_call = False
    return counts


def demangled(names):
    """Returns the names as Swift has them, where `swift demangle` is at hand."""
    try:
        command = ["swift", "demangle", "--simplified", "--compact"]
        return subprocess.run(command, input="\n".join(names), capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return names


def source_files(program, functions):
    """Returns the project's source files of functions, by the debug information, which has none of inlined ones."""
    symbols = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    addresses = {fields[2]: fields[0] for line in symbols.splitlines() if len(fields := line.split()) == 3}
    # callgrind adds an apostrophe and a number to the names of recursive functions.
    known = [addresses[name] for name in {name.split("'")[0] for name in functions if name} if name in addresses]
    command = ["addr2line", "--exe", program]
    places = subprocess.run(command, input="\n".join(known), capture_output=True, text=True, check=True).stdout
    files = {pathlib.Path(line.rsplit(":", 1)[0]) for line in places.splitlines()}
    return sorted(file for file in files if "Sources" in file.parts and ".build" not in file.parts and file.exists())


class Counts:
    """The counts of a program, whose server starts with the places in files, as loading them takes long."""

    def __init__(self, options, work):
        self.options, self.work = options, work
        self.environment = {
            "POINT_STORE": "memory", "MEMORY_STORE_PATH": str(work / "places.db"), "INDEX_PATH": str(work / "index"),
            "HTTP_THREADS": "1", "LOG_LEVEL": "critical", "ANALYTICS": "off"}
        data, port = work / "places.csv", free_port()
        with open(data, "wb") as file:
            subprocess.run([options.generator, "places", str(PLACES)], check=True, stdout=file)
        say(f"Loading {PLACES:,} places")
        loading = {"HTTP_PORT": str(port), "DATA_FILE": str(data)}
        # The end writes the index into files.
        Server([options.waymark, "serve"], port, "/health/ready", self.environment | loading).stop()

    def of_requests(self):
        """Returns the instructions of each function for a request."""
        text = subprocess.run(
            [self.options.generator, "points", "100"], check=True, capture_output=True, text=True).stdout
        messages = itertools.cycle(
            [request("/locations?lat={}&long={}".format(*line.split())) for line in text.splitlines()])
        say("Counting requests")
        server = CountedServer(
            self.options.waymark, self.work, self.environment | {"LD_PRELOAD": str(self.options.clock)})
        try:
            connection = Connection(server.port)

            def send(count):
                for message in itertools.islice(messages, count):
                    status, _, body = connection.send(message)
                    if status != 200:
                        sys.exit(f"{status}: {body[:300]!r}")

            send(WARM_UP)
            dumps = server.counting(lambda: send(COUNTED))
        finally:
            server.stop()
        # Few threads have an event loop, and one of them the connection.
        counts = {dump: own_counts(dump.read_text().splitlines()) for dump in dumps}
        loops = [dump for dump in dumps if any(name and EVENT_LOOP in name for name in counts[dump])]
        if not loops:
            sys.exit("no thread has an event loop")
        busiest = max(loops, key=lambda dump: counts[dump].total())
        if self.options.keep:
            shutil.copy(busiest, self.options.keep)
        return counts[busiest]

    def of_idle_minute(self):
        """Returns the instructions of an idle server in a minute."""
        say(f"Counting {self.options.idle} seconds without requests")
        server = CountedServer(self.options.waymark, self.work, self.environment)
        try:
            time.sleep(SETTLING_SECONDS)
            dumps = server.counting(lambda: time.sleep(self.options.idle))
        finally:
            server.stop()
        total = sum(own_counts(dump.read_text().splitlines()).total() for dump in dumps)
        return total / self.options.idle * 60


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench instructions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waymark", required=True, help="path of the program")
    parser.add_argument("--generator", required=True, help="path of waymark-bench")
    parser.add_argument("--clock", required=True, help="path of the library with the slow clock")
    parser.add_argument("--functions", type=int, default=0, metavar="N", help="print the N functions with the most")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FILE", help="keep the counts, for callgrind_annotate")
    parser.add_argument("--files", action="store_true", help="print the source files of the functions")
    parser.add_argument("--idle", type=int, default=60, metavar="SECONDS", help="count an idle server; 0 for not")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waymark-instructions.") as name:
        counts = Counts(options, pathlib.Path(name))
        functions = counts.of_requests()
        print(f"nearest 20: {functions.total() / COUNTED:,.0f} instructions a request")
        files = source_files(options.waymark, functions)
        lines = sum(len(file.read_text().splitlines()) for file in files)
        print(f"the files of its functions, but inlined ones: {len(files)}, with {lines:,} lines")
        if options.files:
            print(*files, sep="\n")
        common = functions.most_common(options.functions)
        for (_, count), name in zip(common, demangled([name or "?" for name, _ in common])):
            print(f"{count / COUNTED:9,.0f}  {name[:150]}")
        if options.idle:
            print(f"idle server: {counts.of_idle_minute() / 1e6:,.2f} million instructions a minute")


if __name__ == "__main__":
    main()
