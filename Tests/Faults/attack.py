"""Measures the peak memory with clients that read no responses, and the requests of others meanwhile.

The clients request pages, exports and pages of very long places. Exits with 1 if the peak reaches the limit.

  scripts/faults attack
  scripts/faults attack --before /path/waymark   # compare with another build
  scripts/faults attack --limit-mib 1024         # another container size
"""

import json
import os
import resource
import sys
import tempfile
import time

from http_clients import get_request, responds_with_200, silent_client
from servers import Waymark, argument_parser, memory_mib

PAGE = "/locations?bbox=0,0,20,20&limit=1000"
EXPORT = "/locations/export"
LONG_PAGE = "/locations?bbox=100,0,120,20&limit=100"
ATTACKS = {
    "2,000 silent clients, a page of 410 kB each": [(PAGE, 2000)],
    "500 silent exports": [(EXPORT, 500)],
    "8 pages of 100 places of 1 MB": [(LONG_PAGE, 8)],
    "all at once": [(PAGE, 2000), (EXPORT, 500), (LONG_PAGE, 8)],
}
# An attack ends when the peak has not grown for this time.
STEADY_SECONDS = 10
MAXIMUM_SECONDS = 180
PROBE_PAUSE_SECONDS = 0.05


def write_places(path):
    """Writes 20,000 places, of which a thousand fill a page of 410 kB, and 100 places of 1 MB."""
    with open(path, "w") as file:
        for index in range(20_000):
            dense = index < 1000
            place = {
                "name": f"Place {index}",
                "lat": index % 40 / 4,
                "long": (index // 40 / 4) if dense else 30 + index % 60,
                "tags": {"note": "x" * 280},
            }
            file.write(json.dumps(place) + "\n")
        tags = {f"key {key}": "x" * 1990 for key in range(500)}
        for index in range(100):
            place = {"name": f"Long {index}", "lat": index % 10, "long": 105 + index // 10, "tags": tags}
            file.write(json.dumps(place) + "\n")


def attack(program, data, budget, targets):
    """Returns idle and peak memory in MiB, and another client's served and failed requests and maximum latency."""
    settings = {"POINT_STORE": "memory", "DATA_FILE": data, "HTTP_MAX_BUFFERED_BYTES": str(budget), "ANALYTICS": "log"}
    server = Waymark(program, settings)
    server.start()
    try:
        server.wait_until_ready(seconds=120)
        idle = memory_mib(server.process.pid, "VmRSS")
        clients = []
        for target, count in targets:
            for _ in range(count):
                clients.append(silent_client(server.port, get_request(target)))
        served, failed, slowest = 0, 0, 0.0
        begin = grown = time.monotonic()
        peak = idle
        while time.monotonic() < min(grown + STEADY_SECONDS, begin + MAXIMUM_SECONDS):
            start = time.monotonic()
            if memory_mib(server.process.pid, "VmHWM") > peak:
                peak, grown = memory_mib(server.process.pid, "VmHWM"), start
            is_served = responds_with_200(server.port, "/locations?lat=1&long=1&limit=3")
            served, failed = served + is_served, failed + (not is_served)
            slowest = max(slowest, time.monotonic() - start)
            time.sleep(PROBE_PAUSE_SECONDS)
        peak = memory_mib(server.process.pid, "VmHWM")
        for client in clients:
            client.close()
        return idle, peak, served, failed, slowest
    finally:
        server.kill()


def main():
    parser = argument_parser(__doc__, stores=False, seed=False)
    parser.add_argument("--before", help="path of another build to compare with")
    parser.add_argument("--limit-mib", type=int, default=512, help="memory of the container (default: 512)")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    budget = options.limit_mib * 1024 * 1024 // 4
    builds = ([("before", options.before)] if options.before else []) + [("after", options.waymark)]
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "places.ndjson")
        write_places(data)
        print("| attack | build | idle | peak | small requests served, failed | slowest |")
        print("| --- | --- | ---: | ---: | ---: | ---: |")
        worst = 0.0
        for name, targets in ATTACKS.items():
            for build, program in builds:
                idle, peak, served, failed, slowest = attack(program, data, budget, targets)
                print(
                    f"| {name} | {build} | {idle:.0f} MiB | {peak:.0f} MiB | {served}, {failed} | "
                    f"{slowest * 1000:.0f} ms |", flush=True)
                if build == "after":
                    worst = max(worst, peak)
    if worst >= options.limit_mib:
        sys.exit(f"the peak of {worst:.0f} MiB is not below {options.limit_mib} MiB")


if __name__ == "__main__":
    main()
