"""Measures searches for places that are open now: Waymark over HTTP, with searches for all places in alternating rounds.

The places are in cities around the world, and each has one of many different opening hours. The positions of the
searches are in cities where it is day, and for comparison in those where it is night: there the nearest open places are
far away.
"""

import argparse
import math
import pathlib
import random
import statistics
import tempfile
import time

from programs import Server, load
from servers import memory_mib

DAYS = ["Mo-Fr", "Mo-Sa", "Mo-Su", "Tu-Su", "Tu-Sa", "Mo-Th"]
CITIES = 300
SPREAD_DEGREES = 0.05
TARGETS = 2_000


def hours(generator, count):
    """Returns different opening hours, of which most are of everyday kinds."""
    values = set()
    while len(values) < count:
        start, end = generator.randrange(360, 660, 5), generator.randrange(960, 1_320, 5)
        times = f"{start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}"
        if generator.random() < 0.3:
            pause = generator.randrange(720, 780, 5)
            times = f"{times[:6]}{pause // 60:02}:{pause % 60:02},14:30-{times[6:]}"
        value = f"{generator.choice(DAYS)} {times}"
        if generator.random() < 0.5:
            end = generator.randrange(720, 1_000, 15)
            value += f"; Su 10:00-{end // 60:02}:{end % 60:02}"
        if generator.random() < 0.3:
            value += "; PH off"
        values.add(value)
    return sorted(values)


def write_places(path, cities, generator, options, key="opening_hours"):
    values = hours(generator, options.hours)
    with open(path, "w") as file:
        file.write(f"id,name,category,lat,long,{key}\n")
        for number in range(options.places):
            x, y = cities[number % CITIES]
            x, y = (x + generator.gauss(0, SPREAD_DEGREES) + 540) % 360 - 180, y + generator.gauss(0, SPREAD_DEGREES)
            value = generator.choice(values) if generator.random() < options.share else ""
            file.write(f'00000000-0000-4000-8000-{number:012x},Place {number},cafe,{y:.6f},{x:.6f},"{value}"\n')


def resident_without(cities, options, work):
    """Returns the resident bytes of a server with the same places, whose hours are another tag."""
    write_places(work / "others.csv", cities, random.Random(2), options, key="description")
    server = Server(options.waymark, POINT_STORE="memory", DATA_FILE=str(work / "others.csv"))
    try:
        return memory_mib(server.process.pid, "VmRSS") * (1 << 20)
    finally:
        server.stop()


def seconds_of_first_search(server):
    """Returns the time of the first search for open places."""
    start = time.monotonic()
    server.get("/locations?lat=48.2&long=16.4&open=now")
    return time.monotonic() - start


def first_search_with_index_files(options, work):
    """Returns the time of the first search of a server that starts from index files."""
    store = work / "places.db"
    environment = {"POINT_STORE": "memory", "MEMORY_STORE_PATH": str(store)}
    server = Server(options.waymark, DATA_FILE=str(work / "places.csv"), **environment)
    while not (work / "places.db.index" / "manifest").exists():
        time.sleep(0.1)
    server.stop()
    server = Server(options.waymark, **environment)
    try:
        return seconds_of_first_search(server)
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--places", type=int, default=1_000_000)
    parser.add_argument("--hours", type=int, default=60_000, help="the number of different opening hours")
    parser.add_argument("--share", type=float, default=1, help="the share of the places that have hours")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    generator = random.Random(1)
    cities = [(generator.uniform(-180, 180), math.degrees(math.asin(generator.uniform(-0.8, 0.9)))) for _ in range(CITIES)]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        resident = resident_without(cities, options, work)
        write_places(work / "places.csv", cities, random.Random(2), options)
        day, night = range(10, 16), range(0, 4)
        kinds = {"nearest 20": (day, ""), "nearest 20 that are open": (day, "&open=now"),
                 "the same at night": (night, "&open=now")}
        utc = time.gmtime().tm_hour
        for kind, (hours_of_day, condition) in kinds.items():
            chosen = [city for city in cities if int((utc + city[0] / 15) % 24) in hours_of_day]
            positions = [
                (x + generator.gauss(0, SPREAD_DEGREES), y + generator.gauss(0, SPREAD_DEGREES))
                for x, y in (generator.choice(chosen) for _ in range(TARGETS))]
            (work / kind).write_text("".join(
                f"GET /locations?lat={y:.5f}&long={(x + 540) % 360 - 180:.5f}{condition}\n" for x, y in positions))
        server = Server(options.waymark, POINT_STORE="memory", DATA_FILE=str(work / "places.csv"), FILTER_TIMEOUT_MS="10000")
        try:
            first = seconds_of_first_search(server)
            # All hours are evaluated.
            start = time.monotonic()
            server.get("/locations/facets?by=category&open=now")
            counted = time.monotonic() - start
            memory = (memory_mib(server.process.pid, "VmRSS") * (1 << 20) - resident) / options.places
            rates = {kind: [] for kind in kinds}
            for _ in range(options.rounds):
                for kind in kinds:
                    rates[kind].append(load(options.load, server.port, work / kind, options.seconds))
            results = {kind: [statistics.median(column) for column in zip(*rounds)] for kind, rounds in rates.items()}
        finally:
            server.stop()
        first_with_files = first_search_with_index_files(options, work)
    everywhere, opened, _ = rates.values()
    ratio = statistics.median(own[0] / other[0] for own, other in zip(opened, everywhere))
    print("| | requests/s | p50, µs | p99, µs |\n| --- | ---: | ---: | ---: |")
    for kind, (rate, p50, p99, _) in results.items():
        print(f"| {kind} | {rate:,.0f} | {p50:,.0f} | {p99:,.0f} |")
    print(f"\nratio {ratio:.2f} (goal: 0.70); first search {first:.2f} s (1), "
          f"{first_with_files:.2f} s with index files (1); count of all open places {counted:.2f} s; "
          f"resident memory {memory:.1f} bytes a place more (40)")


if __name__ == "__main__":
    main()
