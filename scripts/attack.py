#!/usr/bin/env python3
"""What scripts/attack runs: silent clients against a server, and its peak memory and other clients' responses."""

import argparse
import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time

PAGE = "/locations?bbox=0,0,20,20&limit=1000"
EXPORT = "/locations/export"
LONG_PAGE = "/locations?bbox=100,0,120,20&limit=100"
ATTACKS = {
    "2,000 silent clients, a page of 410 kB each": [(PAGE, 2000)],
    "500 silent exports": [(EXPORT, 500)],
    "8 pages of 100 places of 1 MB": [(LONG_PAGE, 8)],
    "all at once": [(PAGE, 2000), (EXPORT, 500), (LONG_PAGE, 8)],
}
# An attack is over when the peak has not grown for so long.
STILL_SECONDS = 10
LONGEST_SECONDS = 180
PROBE_PAUSE_SECONDS = 0.05


def write_places(path):
    """Writes 20,000 places, a thousand of which make a page of 410 kB, and 100 of 1 MB."""
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


class Server:
    """A server of its own, with the memory store."""

    def __init__(self, program, data, budget):
        environment = {
            "PATH": os.environ["PATH"],
            "LOG_FORMAT": "json",
            "LOG_LEVEL": "info",
            "HTTP_MAX_BUFFERED_BYTES": str(budget),
        }
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")
        self.process = subprocess.Popen(
            [program, "serve", "--http-port", "0", "--data-file", data],
            env=environment, stderr=self.log, stdout=subprocess.DEVNULL)
        self.port = None
        deadline = time.monotonic() + 120
        while self.port is None:
            if time.monotonic() > deadline or self.process.poll() is not None:
                sys.exit(f"{program} did not start: {open(self.log.name).read()}")
            match = re.search(r'"listening".*?"port":"?(\d+)|"port":"?(\d+).*"listening"', open(self.log.name).read())
            if match:
                self.port = int(match.group(1) or match.group(2))
            time.sleep(0.05)

    def memory(self, key):
        """The value of a line of /proc/PID/status in MiB."""
        text = open(f"/proc/{self.process.pid}/status").read()
        return int(re.search(rf"{key}:\s+(\d+)", text).group(1)) / 1024

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def silent_client(port, target):
    """A client that asks once and never reads."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    client.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    client.setblocking(False)
    return client


def attack(program, data, budget, targets):
    """Returns the memory at rest and at most, both in MiB, and what other clients got."""
    server = Server(program, data, budget)
    try:
        at_rest = server.memory("VmRSS")
        clients = []
        for target, count in targets:
            for _ in range(count):
                clients.append(silent_client(server.port, target))
        served, failed, slowest = 0, 0, 0.0
        begin = grown = time.monotonic()
        peak = at_rest
        while time.monotonic() < min(grown + STILL_SECONDS, begin + LONGEST_SECONDS):
            start = time.monotonic()
            if server.memory("VmHWM") > peak:
                peak, grown = server.memory("VmHWM"), start
            try:
                probe = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
                probe.request("GET", "/locations?lat=1&long=1&limit=3")
                ok = probe.getresponse().status == 200
                probe.close()
            except OSError:
                ok = False
            served, failed = served + ok, failed + (not ok)
            slowest = max(slowest, time.monotonic() - start)
            time.sleep(PROBE_PAUSE_SECONDS)
        peak = server.memory("VmHWM")
        for client in clients:
            client.close()
        return at_rest, peak, served, failed, slowest
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True, help="the program")
    parser.add_argument("--before", help="another build to compare with")
    parser.add_argument("--limit-mib", type=int, default=512, help="the memory of the container (default: 512)")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    budget = options.limit_mib * 1024 * 1024 // 4
    builds = ([("before", options.before)] if options.before else []) + [("after", options.waymark)]
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "places.ndjson")
        write_places(data)
        print("| attack | build | at rest | peak | small requests served, failed | slowest of them |")
        print("| --- | --- | ---: | ---: | ---: | ---: |")
        worst = 0.0
        for name, targets in ATTACKS.items():
            for build, program in builds:
                at_rest, peak, served, failed, slowest = attack(program, data, budget, targets)
                print(
                    f"| {name} | {build} | {at_rest:.0f} MiB | {peak:.0f} MiB | {served}, {failed} | "
                    f"{slowest * 1000:.0f} ms |", flush=True)
                if build == "after":
                    worst = max(worst, peak)
    if worst >= options.limit_mib:
        sys.exit(f"the peak of {worst:.0f} MiB is not below {options.limit_mib} MiB")


if __name__ == "__main__":
    main()
