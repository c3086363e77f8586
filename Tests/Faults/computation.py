"""Measures requests beside searches that compute for as long as they may.

The attacks are long filters, misspelt frequent words, searches of one source after another, and facets by a tag with
another value for each place; they come from another address than the requests. The requests are a place by its id, the
nearest ones, a write, the health checks, a text and a tile; before each attack they are measured undisturbed. Prints a
Markdown table with a row for each attack and kind of request: latencies undisturbed and beside the attack, and the
ratio of their medians. Exits with 1 if a request beside an attack fails, or if the median of one that computes nothing
is more than 20 times the undisturbed one, and more than 100 ms.

  scripts/faults computation                              # 300,000 places
  scripts/faults computation --places 100000 --seconds 5
"""

import http.client
import json
import multiprocessing
import random
import socket
import struct
import sys
import threading
import time
import urllib.parse

from http_clients import HTTP2_PREFACE, http2_frame
from servers import Postgres, Waymark, argument_parser, temporary_folder

TERMS = 600
FILTER = " OR ".join(["CASEI(ACCENTI(description)) LIKE '%iz%'"] * (TERMS // 2))
FILTER = f"({FILTER}) AND ({FILTER})"
SEARCH = json.dumps({"filter": FILTER, "limit": 20}).encode()
ID = "0190b7c5-7e5a-7000-8000-000000000001"
WORDS = (
    "museum restaurant cafe street park school church library station pharmacy market bakery theatre hospital hotel"
    " bank garden bridge square tower castle palace central royal north south east west green river mountain valley"
).split()
SOURCES = 1000
PLACES = """
    INSERT INTO points (id, lat, long, name, source, source_id, tags)
    SELECT gen_random_uuid(), number % 1700 / 10.0 - 85, number / 1700 % 3600 / 10.0 - 180,
      concat_ws(' ', words[1 + number % 32], words[1 + number / 32 % 32], words[1 + number / 1024 % 32], number),
      's' || number % {sources}, number,
      json_build_object('description', 'A quiet corner of the old town, number ' || number, 'ref', 'ref ' || number)
    FROM generate_series(1, {count}) AS number, string_to_array('{words}', ' ') AS words
"""
PLACE = json.dumps({"name": "probe", "lat": 1, "long": 2}).encode()
JSON = {"Content-Type": "application/json"}
PROBES = {
    "by id": lambda client: client.request("GET", f"/locations/{ID}"),
    "nearest 20": lambda client: client.request("GET", "/locations?lat=1&long=2&limit=20"),
    "`PUT`": lambda client: client.request("PUT", f"/locations/{ID}", PLACE, JSON),
    "`/health/ready`": lambda client: client.request("GET", "/health/ready"),
    "`/health/live`": lambda client: client.request("GET", "/health/live"),
    "`q`": lambda client: client.request("GET", "/locations?q=museum+park+place&limit=5"),
    "tile": lambda client: client.request("GET", "/tiles/10/512/511.mvt"),
}
# These may wait for a computation of the attack.
COMPUTING = {"`q`", "tile"}
PAUSE_SECONDS = 0.01
MAXIMUM_RATIO = 20
TOLERATED_MEDIAN_MS = 100
# The server divides computing time between addresses.
ATTACKER = "127.0.0.2"


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


def misspelt(word, generator):
    """Returns a word with two neighbouring letters exchanged or one replaced."""
    index = generator.randrange(1, len(word) - 1)
    if generator.random() < 0.5:
        return word[:index] + word[index + 1] + word[index] + word[index + 2 :]
    return word[:index] + generator.choice("abcdefghijklmnopqrstuvwxyz") + word[index + 1 :]


def filter_requests():
    while True:
        yield "POST", "/locations/search", SEARCH, JSON


def text_requests():
    generator = random.Random(1)
    while True:
        text = " ".join(misspelt(generator.choice(WORDS), generator) for _ in range(40))[:200]
        yield "GET", "/locations?" + urllib.parse.urlencode({"q": text})


def source_requests():
    while True:
        for number in range(SOURCES):
            yield "GET", f"/locations?source=s{number}&lat=1&long=2"
            yield "GET", f"/locations?source=s{(number + SOURCES // 2) % SOURCES}&q=museum"


def facet_requests():
    while True:
        yield "GET", "/locations/facets?by=tag.ref&limit=100"
        yield "GET", "/locations/facets?by=tag.description,tag.ref,category&limit=1000"


def search_forever(requests, port, statuses):
    """Sends the requests again and again on one connection, and counts the responses."""
    while True:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=120, source_address=(ATTACKER, 0))
        try:
            for request in requests():
                client.request(*request)
                response = client.getresponse()
                response.read()
                statuses.put(response.status)
        except (OSError, http.client.HTTPException):
            statuses.put("broken")


def clients(count, requests):
    def run(port, statuses):
        threads = [threading.Thread(target=search_forever, args=(requests, port, statuses)) for _ in range(count)]
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
        client = socket.create_connection(("127.0.0.1", port), source_address=(ATTACKER, 0))
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


FILTERS = {
    "filters of 2 clients": clients(2, filter_requests), "filters of 16 clients": clients(16, filter_requests),
    "filters of 100 HTTP/2 streams": streams(100),
}
ATTACKS = FILTERS | {
    "misspelt words of 1 client": clients(1, text_requests), "misspelt words of 8 clients": clients(8, text_requests),
    "sources in turn of 2 clients": clients(2, source_requests), "facets of 2 clients": clients(2, facet_requests),
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
        self.refusals = 0

    def run(self):
        deadline = time.monotonic() + self.seconds
        while time.monotonic() < deadline:
            start = time.monotonic()
            try:
                self.send(self.client)
                response = self.client.getresponse()
                response.read()
                self.refusals += response.status == 503
                self.failures += response.status not in (200, 201, 204, 503)
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

    failed = f"{after.failures + after.refusals} of {len(after.latencies)}"
    return f"| {name} | {kind} | {times(before)} | {times(after)} | {ratio(before, after):.1f} | {failed} |"


def ratio(before, after):
    return after.percentile(0.5) / before.percentile(0.5)


def mistakes(name, kind, before, after):
    """Returns the number of requests that failed, and 1 more if they took too long."""
    # Long filters take all of the time that a computation may wait.
    failures = after.failures + (0 if name in FILTERS and kind in COMPUTING else after.refusals)
    is_slow = ratio(before, after) > MAXIMUM_RATIO and after.percentile(0.5) > TOLERATED_MEDIAN_MS
    if is_slow and kind not in COMPUTING:
        print(f"{kind} took too long beside {name}", file=sys.stderr)
        failures += 1
    return failures


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
            places = PLACES.format(count=options.places, sources=SOURCES, words=" ".join(WORDS))
            database.query(places, "ANALYZE points", timeout=600)
            server.start()
            server.wait_until_ready(seconds=300)
            wait_for_index(server.port)
            probe(server.port, 1)
            print(
                "| attack | request | undisturbed: median / p99 / maximum, ms | beside the attack | ratio of medians"
                " | failed |")
            print("| --- | --- | ---: | ---: | ---: | ---: |", flush=True)
            for name in ATTACKS:
                undisturbed, disturbed, statuses = measure(server.port, name, options.seconds)
                for kind in PROBES:
                    print(row(name, kind, undisturbed[kind], disturbed[kind]))
                    failures += mistakes(name, kind, undisturbed[kind], disturbed[kind])
                print(f"\nresponses to {name}: {statuses}\n", file=sys.stderr, flush=True)
                # Without any response, nothing has been attacked.
                failures += not set(statuses) & {200, 503, "other status"}
        finally:
            server.kill()
            database.stop()
    if failures:
        sys.exit(f"{failures} kinds of requests or requests beside the attacks failed or took too long")


def wait_for_index(port, seconds=300):
    """Waits until the index has all places."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        client.request("GET", "/locations?q=museum&limit=1")
        response = client.getresponse()
        response.read()
        if response.status == 200:
            return
        time.sleep(0.2)
    sys.exit("the index was not ready in time")


if __name__ == "__main__":
    main()
