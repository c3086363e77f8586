"""Measures streams of changes: their latency, memory and processor time, and reads beside them. scripts/bench live runs
this.

Streams have boxes of their own, of which few contain the places that change. The clients are one process of this
program.
"""

import argparse
import http.client
import json
import multiprocessing
import random
import re
import selectors
import socket
import statistics
import time

from programs import Database, Server, load
from servers import Waymark, memory_mib, temporary_folder

CHANGES_PER_SECOND = 100
# The places that change are in a box of a degree at this corner, and no idle stream is near it.
CHANGING_EAST, CHANGING_NORTH, CHANGING_PLACES = 10, 45, 500
EVERYTHING_THAT_CHANGES = f"{CHANGING_EAST},{CHANGING_NORTH},{CHANGING_EAST + 1},{CHANGING_NORTH + 1}"
LIMITS = {"CHANGES_MAX_STREAMS": "20000", "HTTP_MAX_CONNECTIONS": "20000"}
HEAD = "Host: localhost\r\nAccept: text/event-stream\r\n\r\n"


def idle_box(number):
    """Returns a box of its own, south of the equator."""
    west, south = -170 + number % 300, -80 + number // 300 * 2
    return f"{west},{south},{west + 0.9},{south + 0.9}"


def place_id(number):
    return f"00000000-0000-4000-8000-{number:012x}"


def place(number, value):
    lat, long = CHANGING_NORTH + (number % 25 + 0.5) / 25, CHANGING_EAST + (number // 25 + 0.5) / 25
    return {"name": f"Place {number}", "category": "cafe", "lat": lat, "long": long, "tags": {"value": str(value)}}


def write_places(path, count):
    generator = random.Random(1)
    with open(path, "w") as file:
        file.write("id,name,category,lat,long\n")
        for number in range(CHANGING_PLACES, count):
            lat, long = generator.uniform(-70, 70), generator.uniform(-170, 170)
            file.write(f"{place_id(number)},Place {number},cafe,{lat:.6f},{long:.6f}\n")


class Streams:
    """Streams of changes, which a process of its own reads."""

    def __init__(self, port, boxes):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=read_streams, args=(port, boxes, other), daemon=True)
        self.process.start()
        if self.pipe.recv() != len(boxes):
            raise SystemExit("a stream did not begin")

    def events(self):
        """Returns the value of each event so far and the time at which it was read."""
        self.pipe.send("events")
        return self.pipe.recv()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.terminate()
        self.process.join()


def read_streams(port, boxes, pipe):
    """Opens a stream for each box, and sends the number of those that have begun, and the events when it is asked."""
    selector = selectors.DefaultSelector()
    begun, events = 0, []
    selector.register(pipe, selectors.EVENT_READ)
    waiting = list(boxes)
    buffers, beginning = {}, set()
    while True:
        # Some at a time: a server whose database has many calls to answer rejects more.
        while waiting and len(buffers) - begun < 8:
            box = waiting.pop()
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(f"GET /changes?bbox={box} HTTP/1.1\r\n{HEAD}".encode())
            connection.setblocking(False)
            buffers[connection] = b""
            beginning.add(connection)
            selector.register(connection, selectors.EVENT_READ)
        for key, _ in selector.select():
            if key.fileobj is pipe:
                pipe.recv()
                pipe.send(events)
                continue
            data = key.fileobj.recv(65_536)
            now = time.monotonic()
            if not data:
                raise SystemExit(f"a stream has ended after {buffers[key.fileobj]!r}")
            lines = (buffers[key.fileobj] + data).split(b"\n")
            buffers[key.fileobj] = lines.pop()
            for line in lines:
                if line == b"event: position" and key.fileobj in beginning:
                    beginning.remove(key.fileobj)
                    begun += 1
                    if begun == len(boxes):
                        pipe.send(begun)
                elif b'"value":"' in line:
                    value = line.partition(b'"value":"')[2].partition(b'"')[0]
                    events.append((int(value), now))


class Writer:
    """A client that changes places."""

    def __init__(self, server):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port)
        self.value = 0
        # When each value was sent and when its response was read.
        self.times = {}

    def write(self):
        self.value += 1
        number = self.value % CHANGING_PLACES
        body = json.dumps(place(number, self.value))
        start = time.monotonic()
        self.connection.request("PUT", f"/locations/{place_id(number)}", body, {"content-type": "application/json"})
        response = self.connection.getresponse()
        response.read()
        if response.status not in (200, 201):
            raise SystemExit(f"a write got {response.status}")
        self.times[self.value] = (start, time.monotonic())

    def run(self, seconds):
        """Changes places at the rate of the benchmark."""
        start = time.monotonic()
        for number in range(seconds * CHANGES_PER_SECOND):
            time.sleep(max(0, start + number / CHANGES_PER_SECOND - time.monotonic()))
            self.write()


def percentile(values, percent):
    return sorted(values)[min(len(values) - 1, int(len(values) * percent / 100))]


def latency(options, work):
    """Returns the seconds until a stream of one instance over PostgreSQL has the changes of another: from the responses
    to the writes, and from their requests. Returns also the rate at which a client catches up."""
    database = Database(work)
    environment = {"POINT_STORE": "postgres", "DATABASE_URL": database.url} | LIMITS
    servers = []
    try:
        Waymark(options.waymark, environment).command("migrate")
        servers = [Server(options.waymark, **environment) for _ in range(2)]
        position = json.loads(servers[1].get("/changes")[0])["position"]
        servers[0].command("import", str(work / "places.csv"))
        # A strict read waits until the index has the places.
        servers[1].get("/locations?q=Place&limit=1")
        boxes = [idle_box(number) for number in range(options.streams)] + [EVERYTHING_THAT_CHANGES]
        with Streams(servers[1].port, boxes) as streams:
            writer = Writer(servers[0])
            writer.run(3)
            time.sleep(2)
            known = len(streams.events())
            writer.run(options.seconds)
            time.sleep(3)
            events = streams.events()[known:]
        times = [(now - writer.times[value][1], now - writer.times[value][0]) for value, now in events]
        if len({value for value, _ in events}) < options.seconds * CHANGES_PER_SECOND * 0.9:
            raise SystemExit(f"only {len(events)} events came")
        from_response, from_request = zip(*times)
        return from_response, from_request, catch_up(servers[1], position)
    finally:
        for server in servers:
            server.stop()
        database.stop()


def catch_up(server, position):
    """Returns the number of changes a second that a client reads after an absence. It parses only what it needs to
    continue."""
    count = 0
    start = time.monotonic()
    while True:
        body, _ = server.get(f"/changes?since={position}&limit=10000")
        count += body.count(b'{"id":')
        position, more = re.search(rb'"position":"([^"]+)","more":(true|false)\}$', body).groups()
        position = position.decode()
        if more == b"false":
            return count / (time.monotonic() - start)


def idle_memory(options, work):
    """Returns the resident bytes of a stream that waits."""
    server = Server(options.waymark, POINT_STORE="memory", DATA_FILE=str(work / "places.csv"), **LIMITS)
    try:
        time.sleep(2)
        before = memory_mib(server.process.pid, "VmRSS")
        with Streams(server.port, [idle_box(number) for number in range(options.streams)]):
            time.sleep(20)
            return (memory_mib(server.process.pid, "VmRSS") - before) * (1 << 20) / options.streams
    finally:
        server.stop()


def processor_microseconds(options, work, streams):
    """Returns the processor time of a change that ten of some streams match."""
    server = Server(options.waymark, POINT_STORE="memory", DATA_FILE=str(work / "places.csv"), **LIMITS)
    try:
        boxes = [idle_box(number) for number in range(streams - 10)] + [EVERYTHING_THAT_CHANGES] * 10
        with Streams(server.port, boxes):
            writer = Writer(server)
            writer.run(2)
            # Idle streams have a comment now and then, which is no cost of a change.
            start = server.processor_seconds()
            time.sleep(options.seconds)
            idle = server.processor_seconds() - start
            start = server.processor_seconds()
            writer.run(options.seconds)
            used = server.processor_seconds() - start - idle
            return used / (options.seconds * CHANGES_PER_SECOND) * 1e6
    finally:
        server.stop()


def reads_beside(options, work):
    """Returns the rate of nearest 20 beside 1,000 streams and changes, as a ratio to that without, in turn."""
    generator = random.Random(2)
    (work / "targets").write_text("".join(
        f"GET /locations?lat={generator.uniform(-60, 60):.5f}&long={generator.uniform(-160, 160):.5f}\n"
        for _ in range(2_000)))
    server = Server(options.waymark, POINT_STORE="memory", DATA_FILE=str(work / "places.csv"), **LIMITS)
    boxes = [idle_box(number) for number in range(999)] + [EVERYTHING_THAT_CHANGES]
    ratios = []
    try:
        for _ in range(options.rounds):
            alone = load(options.load, server.port, work / "targets", options.seconds)[0]
            with Streams(server.port, boxes):
                writing = multiprocessing.Process(target=Writer(server).run, args=(options.seconds + 2,))
                writing.start()
                time.sleep(1)
                ratios.append(load(options.load, server.port, work / "targets", options.seconds)[0] / alone)
                writing.join()
    finally:
        server.stop()
    return statistics.median(ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--places", type=int, default=200_000)
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    multiprocessing.set_start_method("fork")
    with temporary_folder("waymark-live-") as work:
        write_places(work / "places.csv", options.places)
        print("| measure | | target |\n| --- | ---: | ---: |")
        from_response, from_request, caught_up = latency(options, work)
        print(f"| commit until the event is read, another instance over PostgreSQL, {options.streams:,} idle streams: "
              f"median | {1_000 * percentile(from_response, 50):.1f} ms | |")
        print(f"| the same, p99 | {1_000 * percentile(from_response, 99):.1f} ms | ≤ 25 ms |")
        print(f"| from the request of the write, p99 | {1_000 * percentile(from_request, 99):.1f} ms | |")
        print(f"| changes a second after an absence, PostgreSQL | {caught_up:,.0f} | ≥ 100,000 |", flush=True)
        print(f"| memory of an idle stream | {idle_memory(options, work) / 1024:.1f} KiB | ≤ 12 KiB |", flush=True)
        few, many = processor_microseconds(options, work, 10), processor_microseconds(options, work, options.streams)
        print(f"| processor time of a change that matches 10 of {options.streams:,} streams, against 10 of 10 | "
              f"{many:.0f} µs / {few:.0f} µs = {many / few:.2f} | ≤ 1.5 |", flush=True)
        print(f"| rate of nearest 20 beside 1,000 streams and {CHANGES_PER_SECOND} changes a second | "
              f"{reads_beside(options, work):.2f} | ≥ 0.85 |")


if __name__ == "__main__":
    main()
