#!/usr/bin/env python3
"""Measures the duration and the memory allocations of operations, and the allocations of requests.

`waymark-bench micro` measures operations in its own process. Allocations of requests are counted in `waymark serve`: one
persistent connection, one request at a time, the same requests in every run. The counts are compared with a file of
thresholds; times are not, because they depend on the machine.
"""

import argparse
import itertools
import json
import mmap
import pathlib
import struct
import subprocess
import sys
import tempfile

from http_clients import Connection, request
from measure import Server, say
from servers import free_port

DIRECTORY = pathlib.Path(__file__).parent
PLACES = 100_000
# The requests per round, the requests before the first round, and the rounds.
COUNTED, WARM_UP, ROUNDS = 2000, 500, 3


class Counter:
    """The number of allocations of a program that is loaded with the counting library."""

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(8))
        with open(path, "r+b") as file:
            self.bytes = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)

    def environment(self, library):
        return {"ALLOCATION_COUNT": str(self.path), "LD_PRELOAD": str(library)}

    def value(self):
        return struct.unpack("=Q", self.bytes[:8])[0]


def requests(points, connection):
    """Returns the measurements: a name, the expected status, and the requests, which are sent in turn."""
    found = json.loads(connection.send(request("/locations?limit=100"))[2])
    nearest = [f"/locations?lat={latitude}&long={longitude}" for latitude, longitude in points]
    tag = connection.send(request(nearest[0]))[1]["etag"]

    def box(latitude, longitude):
        south, west = min(max(float(latitude), -89), 89) - 0.02, min(max(float(longitude), -179), 179) - 0.02
        return f"/locations?bbox={west:.5f},{south:.5f},{west + 0.04:.5f},{south + 0.04:.5f}"

    def place(number):
        latitude, longitude = points[number % len(points)]
        return json.dumps({"name": f"Created {number}", "category": "cafe", "lat": float(latitude), "long": float(longitude)})

    total = WARM_UP + COUNTED * ROUNDS
    return [
        ("nearest 20", 200, [request(target) for target in nearest]),
        ("nearest 20 of a category", 200, [request(target + "&category=rare") for target in nearest]),
        ("box of 4 km", 200, [request(box(*point)) for point in points]),
        ("by id", 200, [request(f"/locations/{place['id']}") for place in found]),
        ("no such place", 404, [request("/locations/00000000-0000-4000-8000-000000000000")]),
        ("no such path", 404, [request("/nowhere")]),
        ("nearest 20, not modified", 304, [request(nearest[0], if_none_match=tag)]),
        ("liveness", 200, [request("/health/live")]),
        # The last, because it changes the places and their version.
        ("create", 201, [request("/locations", "POST", place(number)) for number in range(total)]),
    ]


def allocations_per_request(options, work):
    """Returns the mean number of allocations of each kind of request."""
    data = work / "places.csv"
    with open(data, "wb") as file:
        subprocess.run([options.generator, "places", str(PLACES)], check=True, stdout=file)
    text = subprocess.run([options.generator, "points", "100"], check=True, capture_output=True, text=True).stdout
    points = [tuple(line.split()) for line in text.splitlines()]
    counter, port = Counter(work / "count"), free_port()
    server = Server(
        [options.waymark, "serve", "--http-port", str(port), "--data-file", str(data)],
        port,
        "/health/ready",
        counter.environment(options.counter) | {"HTTP_THREADS": "1"},
        cwd=work,
    )
    try:
        if counter.value() == 0:
            sys.exit("the counting library was not loaded")
        connection, counts = Connection(port), {}
        for name, expected, kind in requests(points, connection):
            say(f"{name}, {ROUNDS} × {COUNTED} requests")
            sequence = itertools.cycle(kind)

            def send(count):
                for message in itertools.islice(sequence, count):
                    status, _, body = connection.send(message)
                    if status != expected:
                        sys.exit(f"{name} returned {status}: {body[:300]!r}")

            send(WARM_UP)
            means = []
            for _ in range(ROUNDS):
                before = counter.value()
                send(COUNTED)
                means.append((counter.value() - before) / COUNTED)
            # The smallest mean has the fewest allocations of background work.
            counts[name] = min(means)
        return counts
    finally:
        server.stop()


def operations(options, work):
    """Returns the rows of `waymark-bench micro`: name, minimum and median nanoseconds, allocations."""
    environment = Counter(work / "operations").environment(options.counter)
    command = ["env", *(f"{name}={value}" for name, value in environment.items()), options.generator, "micro"]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = [line.split("\t") for line in text.splitlines()]
    return [(name, float(best), float(median), float(count)) for name, best, median, count in rows]


def duration(nanoseconds):
    return f"{nanoseconds / 1000:,.2f} µs" if nanoseconds >= 1000 else f"{nanoseconds:,.1f} ns"


def threshold(count):
    """Returns a count with slack: 1 %, and half an allocation, so that one more exceeds the threshold."""
    return round(count * 1.01 + 0.5, 1)


def compare(counts, thresholds):
    """Returns a message for each count that exceeds its threshold, and for each missing count or threshold."""
    failures = [f"{name}: no threshold" for name in counts if name not in thresholds]
    failures += [f"{name}: has a threshold, but was not measured" for name in thresholds if name not in counts]
    return failures + [
        f"{name}: {count:.2f} allocations, at most {thresholds[name]}"
        for name, count in counts.items()
        if count > thresholds.get(name, count)
    ]


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench micro", description=__doc__.splitlines()[0])
    parser.add_argument("--waymark", required=True, help="path of the program")
    parser.add_argument("--generator", required=True, help="path of waymark-bench")
    parser.add_argument("--counter", required=True, help="path of the counting library")
    parser.add_argument("--thresholds", type=pathlib.Path, default=DIRECTORY / "allocations/thresholds.json")
    parser.add_argument("--write", action="store_true", help="write the counts, plus some slack, as thresholds")
    parser.add_argument("parts", nargs="*", metavar="part", help="operations or requests; both by default")
    options = parser.parse_args()
    parts = options.parts or ["operations", "requests"]
    if not set(parts) <= {"operations", "requests"}:
        parser.error("part must be operations or requests")

    thresholds = json.loads(options.thresholds.read_text()) if options.thresholds.exists() else {}
    measured = {}
    with tempfile.TemporaryDirectory(prefix="waymark-micro.") as name:
        work = pathlib.Path(name)
        if "operations" in parts:
            rows = operations(options, work)
            measured["operations"] = {name: count for name, _, _, count in rows}
            print("| operation | best | median | allocations | at most |\n| --- | ---: | ---: | ---: | ---: |")
            for name, best, median, count in rows:
                maximum = thresholds.get("operations", {}).get(name, "")
                print(f"| {name} | {duration(best)} | {duration(median)} | {count:.2f} | {maximum} |")
            print()
        if "requests" in parts:
            measured["requests"] = allocations_per_request(options, work)
            print("| request | allocations | at most |\n| --- | ---: | ---: |")
            for name, count in measured["requests"].items():
                print(f"| {name} | {count:.2f} | {thresholds.get('requests', {}).get(name, '')} |")
            print()

    if options.write:
        for part, counts in measured.items():
            thresholds[part] = {name: threshold(count) for name, count in counts.items()}
        options.thresholds.write_text(json.dumps(thresholds, indent=2) + "\n")
        return
    failures = [line for part, counts in measured.items() for line in compare(counts, thresholds.get(part, {}))]
    for line in failures:
        say(line)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
