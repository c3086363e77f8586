"""Measures requests beside searches that compute for as long as they may.

The requests are a place by its id, the nearest ones, a write and readiness; before each attack they are measured
undisturbed. Prints a Markdown table with a row for each attack and kind of request: latencies undisturbed and beside the
attack, and the ratio of their 99th percentiles. Exits with 1 if a request beside an attack fails.

  scripts/faults computation                              # 300,000 places
  scripts/faults computation --places 100000 --seconds 5
"""

import http.client
import json
import multiprocessing
import socket
import struct
import sys
import threading
import time

from http_clients import HTTP2_PREFACE, http2_frame
from servers import Postgres, Waymark, argument_parser, temporary_folder

TERMS = 600
FILTER = " OR ".join(["CASEI(ACCENTI(description)) LIKE '%iz%'"] * (TERMS // 2))
FILTER = f"({FILTER}) AND ({FILTER})"
SEARCH = json.dumps({"filter": FILTER, "limit": 20}).encode()
ID = "0190b7c5-7e5a-7000-8000-000000000001"
PLACES = """
    INSERT INTO points (id, lat, long, name, tags)
    SELECT gen_random_uuid(), number % 1700 / 10.0 - 85, number / 1700 % 3600 / 10.0 - 180, 'place ' || number,
      json_build_object('description', 'A quiet corner of the old town, number ' || number)
    FROM generate_series(1, {count}) AS number
"""
PLACE = json.dumps({"name": "probe", "lat": 1, "long": 2}).encode()
JSON = {"Content-Type": "application/json"}
PROBES = {
    "by id": lambda client: client.request("GET", f"/locations/{ID}"),
    "nearest 20": lambda client: client.request("GET", "/locations?lat=1&long=2&limit=20"),
    "`PUT`": lambda client: client.request("PUT", f"/locations/{ID}", PLACE, JSON),
    "`/health/ready`": lambda client: client.request("GET", "/health/ready"),
}
PAUSE_SECONDS = 0.01


class Statuses:
    """The numbers of responses by status, in memory that a process leaves readable however it ends."""

    KINDS = (200, 503, "other status", "broken")

    def __init__(self):
        self.counts = multiprocessing.RawArray("q", len(self.KINDS))
        self.lock = threading.Lock()

    def put(self, status):
        with self.lock:
            self.counts[self.KINDS.index(status if status in self.KINDS else "other status")] += 1

    def by_kind(self):
        return {kind: count for kind, count in zip(self.KINDS, self.counts) if count}


# The attacks. Each runs in a process of its own, so that it takes no time of the interpreter that measures.


def search_forever(port, statuses):
    """Sends the search again and again on one connection, and counts the responses."""
    while True:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        try:
            while True:
                client.request("POST", "/locations/search", SEARCH, JSON)
                response = client.getresponse()
                response.read()
                statuses.put(response.status)
        except (OSError, http.client.HTTPException):
            statuses.put("broken")


def clients(count):
    def run(port, statuses):
        threads = [threading.Thread(target=search_forever, args=(port, statuses)) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return run


def streams(count):
    """Keeps that many streams of one HTTP/2 connection (RFC 9113) busy with searches."""

    def literal(name, value):
        return b"\x00" + b"".join(bytes([len(text)]) + text for text in (name, value))

    # :method POST and :scheme http, and a literal for :path, from the static table of RFC 7541.
    path = b"/locations/search"
    block = b"\x83\x86\x04" + bytes([len(path)]) + path + literal(b":authority", b"localhost")
    block += literal(b"content-type", b"application/json")

    def run(port, statuses):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(HTTP2_PREFACE + http2_frame(4, 0, 0, b""))
        window, number, unsent, received = 65_535, -1, [], b""

        def start():
            nonlocal number
            number += 2
            client.sendall(http2_frame(1, 4, number, block))
            unsent.append((number, SEARCH))

        def send():
            nonlocal window
            while unsent and window > 0:
                stream, body = unsent.pop(0)
                part = body[: min(window, 16_384)]
                rest = body[len(part):]
                window -= len(part)
                client.sendall(http2_frame(0, 0 if rest else 1, stream, part))
                if rest:
                    unsent.insert(0, (stream, rest))

        for _ in range(count):
            start()
        send()
        while data := client.recv(65_536):
            received += data
            while len(received) >= 9 and len(received) >= 9 + (length := int.from_bytes(received[:3], "big")):
                kind, flags = received[3], received[4]
                stream = int.from_bytes(received[5:9], "big")
                payload, received = received[9 : 9 + length], received[9 + length :]
                if kind == 8 and stream == 0:
                    window += int.from_bytes(payload, "big")
                elif kind == 4 and not flags & 1:
                    client.sendall(http2_frame(4, 1, 0, b""))
                elif kind == 6 and not flags & 1:
                    client.sendall(http2_frame(6, 1, 0, payload))
                elif kind == 1:
                    # 0x88 is the index of :status 200.
                    statuses.put(200 if payload[:1] == b"\x88" else "other status")
                elif kind in (3, 7):
                    statuses.put("broken")
                if kind == 0 and payload:
                    update = struct.pack(">I", len(payload))
                    client.sendall(http2_frame(8, 0, 0, update))
                if (kind in (0, 1) and flags & 1) or kind == 3:
                    start()
                send()

    return run


ATTACKS = {
    "2 clients": clients(2), "16 clients": clients(16), "an HTTP/2 connection with 100 streams": streams(100),
}


# Measurement


class Probe(threading.Thread):
    """A client that sends one kind of request, one after the other, and records latencies."""

    def __init__(self, port, send, seconds):
        super().__init__(daemon=True)
        self.client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.send = send
        self.seconds = seconds
        self.latencies = []
        self.failures = 0

    def run(self):
        deadline = time.monotonic() + self.seconds
        while time.monotonic() < deadline:
            start = time.monotonic()
            try:
                self.send(self.client)
                response = self.client.getresponse()
                response.read()
                self.failures += response.status not in (200, 201)
            except (OSError, http.client.HTTPException):
                self.failures += 1
                self.client.close()
            self.latencies.append(time.monotonic() - start)
            time.sleep(PAUSE_SECONDS)

    def percentile(self, rank):
        latencies = sorted(self.latencies)
        return latencies[min(len(latencies) - 1, int(len(latencies) * rank))] * 1000


def probe(port, seconds):
    """Returns the probes by kind, after they have sent requests side by side."""
    probes = {name: Probe(port, send, seconds) for name, send in PROBES.items()}
    for one in probes.values():
        one.start()
    for one in probes.values():
        one.join()
    return probes


def measure(port, attack, seconds):
    """Returns the probes without and with an attack, and the statuses of the attack's responses."""
    undisturbed = probe(port, seconds)
    statuses = Statuses()
    attacker = multiprocessing.Process(target=ATTACKS[attack], args=(port, statuses), daemon=True)
    attacker.start()
    try:
        # The first searches are at work.
        time.sleep(1)
        disturbed = probe(port, seconds)
    finally:
        attacker.terminate()
        attacker.join()
    # The searches that the attack has left in the queue end.
    time.sleep(2)
    return undisturbed, disturbed, statuses.by_kind()


def row(name, kind, before, after):
    def times(one):
        return " / ".join(f"{one.percentile(rank):.1f}" for rank in (0.5, 0.99, 1))

    ratio = after.percentile(0.99) / before.percentile(0.99)
    return f"| {name} | {kind} | {times(before)} | {times(after)} | {ratio:.1f} | {after.failures} of {len(after.latencies)} |"


def main():
    parser = argument_parser(__doc__, stores=False, seed=False)
    parser.add_argument("--places", type=int, default=300_000, help="number of places (default: 300000)")
    parser.add_argument("--seconds", type=float, default=10, help="duration of each measurement (default: 10)")
    options = parser.parse_args()
    failures = 0
    with temporary_folder("waymark-attack.") as folder:
        database = Postgres(folder)
        database.create()
        database.start()
        server = Waymark(options.waymark, {"POINT_STORE": "postgres", "DATABASE_URL": database.url})
        try:
            server.command("migrate")
            database.query(PLACES.format(count=options.places), "ANALYZE points", timeout=600)
            server.start()
            server.wait_until_ready(seconds=300)
            wait_for_index(server.port)
            probe(server.port, 1)
            print("| attack | request | undisturbed: median / p99 / maximum, ms | beside the attack | ratio of p99 | failed |")
            print("| --- | --- | ---: | ---: | ---: | ---: |", flush=True)
            for name in ATTACKS:
                undisturbed, disturbed, statuses = measure(server.port, name, options.seconds)
                for kind in PROBES:
                    print(row(name, kind, undisturbed[kind], disturbed[kind]))
                    failures += disturbed[kind].failures
                print(f"\nresponses to {name}: {statuses}\n", file=sys.stderr, flush=True)
                # Without any response, nothing has been attacked.
                failures += not set(statuses) & {200, 503, "other status"}
        finally:
            server.kill()
            database.stop()
    if failures:
        sys.exit(f"{failures} requests beside the attacks failed")


def wait_for_index(port, seconds=300):
    """Waits until the index has all places."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        client.request("GET", "/locations?q=place&limit=1")
        response = client.getresponse()
        response.read()
        if response.status == 200:
            return
        time.sleep(0.2)
    sys.exit("the index was not ready in time")


if __name__ == "__main__":
    main()
