"""Benchmark of searches by name beside writes of places with long tags, which PostgreSQL stores outside of their rows. The
same searches are measured undisturbed before each kind of writes. Fails if a search fails."""

import argparse
import http.client
import json
import multiprocessing
import pathlib
import sys
import tempfile
import time

from programs import Database, Server
from servers import Waymark

# 12 values of the maximum length of 2,000 characters.
TAG_COUNT = 12
PLACES = """
    INSERT INTO points (id, lat, long, name)
    SELECT ('00000000-0000-4000-8000-' || lpad(number::text, 12, '0'))::uuid,
      number % 1700 / 10.0 - 85, number / 1700 % 3600 / 10.0 - 180, 'place ' || number
    FROM generate_series(1, {count}) AS number
"""
PAUSE_SECONDS = 0.005


def write(port, rate, count, writes):
    """Replaces places by ones with long tags, `rate` a second or as fast as possible, and counts them."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    number = 0
    began = time.monotonic()
    while True:
        number += 1
        text = f"{number} and so on, " * 150
        tags = {f"text {tag}": (f"{tag} {text}")[:2000] for tag in range(TAG_COUNT)}
        body = json.dumps({"name": f"place {number % count + 1}", "lat": 1, "long": 2, "tags": tags})
        id = f"00000000-0000-4000-8000-{number % count + 1:012}"
        client.request("PUT", f"/locations/{id}", body, {"Content-Type": "application/json"})
        response = client.getresponse()
        response.read()
        if response.status != 200:
            raise SystemExit(f"a write got {response.status}")
        with writes:
            writes.value += 1
        if rate:
            time.sleep(max(0, began + number / rate - time.monotonic()))


def search(port, seconds, count):
    """Searches for names one after the other. Returns the latencies in milliseconds, and the number of failures."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    latencies, failures = [], 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        start = time.monotonic()
        client.request("GET", f"/locations?q=place%20{len(latencies) * 7919 % count + 1}&limit=5")
        response = client.getresponse()
        response.read()
        failures += response.status != 200
        latencies.append((time.monotonic() - start) * 1000)
        time.sleep(PAUSE_SECONDS)
    return sorted(latencies), failures


def figures(latencies):
    return " / ".join(f"{latencies[min(len(latencies) - 1, int(len(latencies) * rank))]:.1f}" for rank in (0.5, 0.99, 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True, help="path of the program")
    parser.add_argument("--places", type=int, default=20_000, help="number of places (default: 20000)")
    parser.add_argument("--seconds", type=float, default=10, help="duration of each measurement (default: 10)")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="waymark-bench.") as folder:
        # PostgreSQL's user reaches the folder.
        pathlib.Path(folder).chmod(0o755)
        database = Database(pathlib.Path(folder), "shared_buffers=256MB")
        server = None
        try:
            environment = {"POINT_STORE": "postgres", "DATABASE_URL": database.url, "POINT_INDEX": "on"}
            Waymark(options.waymark, environment).command("migrate")
            database.sql(PLACES.format(count=options.places), "VACUUM ANALYZE points")
            server = Server(options.waymark, **environment)
            search(server.port, 1, options.places)
            print("| writes of 23 KB of tags a second | failed searches | median / p99 / maximum, ms | undisturbed | ratio of p99 |")
            print("| ---: | ---: | ---: | ---: | ---: |", flush=True)
            for rate in (5, 0):
                undisturbed, failures = search(server.port, options.seconds, options.places)
                failed += failures
                writes = multiprocessing.Value("q")
                writer = multiprocessing.Process(
                    target=write, args=(server.port, rate, options.places, writes), daemon=True)
                writer.start()
                latencies, failures = search(server.port, options.seconds, options.places)
                writer.terminate()
                writer.join()
                failed += failures
                ratio = latencies[int(len(latencies) * 0.99)] / undisturbed[int(len(undisturbed) * 0.99)]
                print(
                    f"| {writes.value / options.seconds:.0f} | {failures} of {len(latencies)} | {figures(latencies)} "
                    f"| {figures(undisturbed)} | {ratio:.1f} |", flush=True)
        finally:
            if server:
                server.stop()
            database.stop()
    if failed:
        sys.exit(f"{failed} searches failed")


if __name__ == "__main__":
    main()
