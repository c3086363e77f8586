"""Measures the peak memory with clients that read no responses, and the requests of others meanwhile.

The clients request pages, exports, pages of very long places, and areas of many positions, and import areas whose text
expands greatly. Then the changes are attacked: polls that wait, streams that read nothing while a place of 1 MB changes,
streams with long filters, and more streams than the share of a client. Then the writes: more idempotency keys than the
share of a client, a small batch of great work, and suggestions whose differences are long. Exits with 1 if the peak
reaches the limit, or if others are not served meanwhile or wait too long.

  scripts/faults attack
  scripts/faults attack --before /path/waymark   # compare with another build
  scripts/faults attack --limit-mib 1024         # another container size
"""

import gzip
import json
import math
import os
import random
import resource
import selectors
import socket
import sys
import tempfile
import threading
import time
import urllib.parse

from http_clients import Client, get, get_request, metrics, responds_with_200, silent_client
from servers import Waymark, argument_parser, memory_mib

PAGE = "/locations?bbox=0,0,20,20&limit=1000"
EXPORT = "/locations/export"
LONG_PAGE = "/locations?bbox=100,0,120,20&limit=100"
AREAS = "/areas?f=geojson&limit=1000"
AREA_EXPORT = "/areas/export"
DUPLICATES = "/duplicates?source=long&limit=1000"
# An area of 100,000 positions is 2 MB of text.
AREA_COUNT = 40
AREA_POSITIONS = 100_000
ATTACKS = {
    "2,000 silent clients, a page of 410 kB each": [(PAGE, 2000)],
    "500 silent exports": [(EXPORT, 500)],
    "8 pages of 100 places of 1 MB": [(LONG_PAGE, 8)],
    "20 pages of areas of 2 MB each": [(AREAS, 20)],
    "200 silent exports of areas": [(AREA_EXPORT, 200)],
    "4 imports of areas, each 100 MB in 1 MB": [("import", 4)],
    "8 pages of pairs of places of 1 MB": [(DUPLICATES, 8)],
    "all at once": [(PAGE, 2000), (EXPORT, 500), (LONG_PAGE, 8), (AREAS, 8), (AREA_EXPORT, 50), (DUPLICATES, 8)],
}
# The longest wait of a small request.
MAXIMUM_WAIT_SECONDS = 15
# An attack ends when the peak has not grown for this time.
STEADY_SECONDS = 10
MAXIMUM_SECONDS = 180
PROBE_PAUSE_SECONDS = 0.05

# The attackers of changes and writes come from another address than the others: the server has shares for each.
ATTACKER = "127.0.0.2"
PROBE_ID = "0190b7c5-7e5a-7000-8000-000000000001"
STREAM_SECONDS = 30
# The number of streams with filters of 7 kB that a client can have at least.
LEAST_FILTERED_STREAMS = 8
# The tags of a place of 1 MB.
LONG_TAGS = {f"key {key}": "x" * 1990 for key in range(500)}
# The longest wait of a write beside an attack on writes.
MAXIMUM_WRITE_SECONDS = 5


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
        for index in range(100):
            # Two near each other, which are likely the same.
            place = {
                "name": f"Long {index // 2}",
                "lat": index // 2 % 10,
                "long": 105 + index // 20 + index % 2 / 10_000,
                "tags": LONG_TAGS,
                "source": "long",
                "sourceId": str(index),
            }
            file.write(json.dumps(place) + "\n")


def area_line(index, positions):
    """Returns an area around a place as a line of JSON."""
    ring = []
    for position in range(positions):
        angle = position / positions * 2 * math.pi
        ring.append([round(10 + 2 * math.cos(angle), 7), round(index % 40 + 2 * math.sin(angle), 7)])
    area = {"name": f"Area {index}", "geometry": {"type": "Polygon", "coordinates": [ring + ring[:1]]}}
    return json.dumps(area).encode() + b"\n"


def import_areas(port):
    """Imports the areas that attacks request."""
    client = Client(port, timeout=300)
    for index in range(AREA_COUNT):
        status, _, body = client.send(
            "POST", "/areas/import", area_line(index, AREA_POSITIONS), Content_Type="application/x-ndjson")
        if status != 200:
            sys.exit(f"the import of an area is {status}: {body[:300]}")


def expanding_import():
    """Returns the request of an import of 100 MB that are packed to some 1 MB: one area, and many equal ones."""
    choice = random.Random(1)
    ring = [[round(choice.uniform(10, 10.2), 7), round(choice.uniform(40, 40.2), 7)] for _ in range(100_000)]
    area = {"name": "Random", "geometry": {"type": "Polygon", "coordinates": [ring + ring[:1]]}}
    line = area_line(0, 4)
    packed = gzip.compress(json.dumps(area).encode() + b"\n" + line * (100_000_000 // len(line)))
    head = (
        "POST /areas/import?dryRun=true HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
        f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n")
    return head.encode() + packed


def attack(program, data, budget, targets):
    """Returns idle and peak memory in MiB, and another client's served and failed requests and maximum latency."""
    settings = {"POINT_STORE": "memory", "DATA_FILE": data, "HTTP_MAX_BUFFERED_BYTES": str(budget), "ANALYTICS": "log"}
    server = Waymark(program, settings)
    server.start()
    try:
        server.wait_until_ready(seconds=120)
        import_areas(server.port)
        imports = expanding_import() if any(target == "import" for target, _ in targets) else b""
        idle = memory_mib(server.process.pid, "VmRSS")
        clients = []
        for target, count in targets:
            for _ in range(count):
                request = imports if target == "import" else get_request(target)
                clients.append(silent_client(server.port, request))
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


def stream_request(target):
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode()


def attacker(port, request):
    """Sends a request from the attacker's address and returns the socket, which is not read."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.bind((ATTACKER, 0))
    client.connect(("127.0.0.1", port))
    client.sendall(request)
    return client


def put(port, tags):
    """Replaces the place of probes, and returns the status."""
    place = {"name": "probe", "lat": 50, "long": 50, "tags": tags}
    return Client(port).send("PUT", f"/locations/{PROBE_ID}", place)[0]


def seconds_until(client, text):
    """Reads a stream until a text has come, and returns the time, or none if it takes too long."""
    begin = time.monotonic()
    received = b""
    while text not in received:
        client.settimeout(max(0.01, begin + STREAM_SECONDS - time.monotonic()))
        try:
            piece = client.recv(65_536)
        except TimeoutError:
            return None
        if not piece:
            return None
        received = received[-len(text) :] + piece
    return time.monotonic() - begin


def await_streams(server, count):
    """Waits until so many streams are open."""
    end = time.monotonic() + STREAM_SECONDS
    while metrics(server.port)["change_streams_open"] < count:
        if time.monotonic() > end:
            raise RuntimeError(f"there are not {count} streams")
        time.sleep(0.2)


def await_responses(clients):
    """Waits until each has a response, or a part of one."""
    end = time.monotonic() + STREAM_SECONDS
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client, selectors.EVENT_READ)
        while selector.get_map():
            if time.monotonic() > end:
                raise RuntimeError(f"{len(selector.get_map())} requests have no response")
            for key, _ in selector.select(1):
                selector.unregister(key.fileobj)


def check_polls(server):
    """Long polls that wait hold nothing that others need."""
    position = json.loads(get(server.port, "/changes")[0])["position"]
    polls = [
        attacker(server.port, get_request(f"/changes?since={position}&wait=60{limit}"))
        for limit in ["&limit=10000"] * 12 + [""] * 110
    ]
    time.sleep(2)
    failed = [
        target
        for target in (PAGE, EXPORT, f"/changes?since={position}&limit=10000", "/locations?lat=1&long=1&limit=101")
        if not responds_with_200(server.port, target)
    ]
    for poll in polls:
        poll.close()
    return [f"{target} is not served beside polls that wait" for target in failed]


def check_silent_streams(server, count=1_500):
    """Streams that read nothing share the text of a place of 1 MB."""
    streams = [attacker(server.port, stream_request("/changes")) for _ in range(count)]
    await_streams(server, count)
    before = memory_mib(server.process.pid, "VmRSS")
    errors = []
    if put(server.port, LONG_TAGS) not in (200, 201):
        errors.append("the place of 1 MB is not written")
    slowest = 0.0
    end = time.monotonic() + STEADY_SECONDS
    while time.monotonic() < end:
        start = time.monotonic()
        if not responds_with_200(server.port, "/health/live"):
            errors.append("/health/live is not served")
            break
        slowest = max(slowest, time.monotonic() - start)
        time.sleep(PROBE_PAUSE_SECONDS)
    growth = memory_mib(server.process.pid, "VmHWM") - before
    print(f"{count} silent streams and a place of 1 MB: {growth:.0f} MiB, /health/live in {slowest:.2f} s", flush=True)
    if growth > 300:
        errors.append(f"{count} silent streams took {growth:.0f} MiB")
    if slowest > 5:
        errors.append(f"/health/live took {slowest:.1f} s beside silent streams")
    for stream in streams:
        stream.close()
    return errors


def check_filters(server, count=1_000, writes=30):
    """The filters of a client's streams do not delay the changes of others."""
    terms = " OR ".join(f"CASEI(ACCENTI(description)) LIKE '%{term}iz%'" for term in range(100))
    plain = socket.create_connection(("127.0.0.1", server.port))
    plain.sendall(stream_request("/changes"))
    filtered = socket.create_connection(("127.0.0.1", server.port))
    own = urllib.parse.quote("name LIKE 'prob%'")
    filtered.sendall(stream_request(f"/changes?filter={own}"))
    streams = []
    for number in range(count):
        condition = urllib.parse.quote(f"name = '{number}' OR {terms}")
        streams.append(attacker(server.port, stream_request(f"/changes?filter={condition}")))
    await_responses(streams)
    # The conditions of one client have a share of memory, which refuses the others.
    opened = int(metrics(server.port)["change_streams_open"])
    if opened < 2 + LEAST_FILTERED_STREAMS:
        return [f"only {opened} streams are open, and two of them are those of others"]
    for number in range(writes):
        put(server.port, {"number": f"write {number}", "description": "a quiet corner " * 130})
    text = f"write {writes - 1}".encode()
    times = {"without conditions": seconds_until(plain, text), "with a filter": seconds_until(filtered, text)}
    print(f"{opened - 2} streams with long filters of {count}, {writes} writes, the last one after: {times}", flush=True)
    for client in [plain, filtered, *streams]:
        client.close()
    return [f"a stream {kind} is behind the filters of others" for kind, value in times.items() if value is None]


def check_share(server):
    """One client can't take all streams."""
    streams = [attacker(server.port, stream_request("/changes")) for _ in range(400)]
    await_streams(server, 100)
    other = socket.create_connection(("127.0.0.1", server.port))
    other.sendall(stream_request("/changes"))
    is_admitted = seconds_until(other, b"event: position") is not None
    for stream in [other, *streams]:
        stream.close()
    return [] if is_admitted else ["no stream is left beside those of one client"]


def check_keys(server, maximum=1_000):
    """The keys of a client that fills its share push out neither its own nor those of others."""
    client, other = Client(server.port, address=ATTACKER), Client(server.port)
    # One change, as only success is kept, and many results with a text.
    operations = [{"op": "create", "place": {"name": "kept", "lat": 1, "long": 2}}]
    operations += [{"op": "create", "place": {"name": "", "lat": 1, "long": 2}}] * 999
    body = json.dumps({"operations": operations}).encode()

    def send(number):
        return client.send(
            "POST", "/locations/batch", body, Content_Type="application/json", Idempotency_Key=f"batch-{number}")

    def create():
        place = {"name": "other", "lat": 3, "long": 4}
        status, _, response = other.send("POST", "/locations", place, Idempotency_Key="one")
        return status, response

    created = create()
    first = send(0)
    if (first[0], created[0]) != (200, 201):
        return [f"the first batch is {first[0]}, and the first creation {created[0]}"]
    count, status, fields = 1, 200, first[1]
    while status == 200 and count < maximum:
        status, fields, _ = send(count)
        count += 1
    print(f"a client has room for {count - 1} keys of batches of 1,000 operations", flush=True)
    errors = []
    if (status, "retry-after" in fields) != (503, True):
        errors.append(f"batch {count} of a client is {status}, not 503 with Retry-After")
    again = send(0)
    if (again[0], again[2]) != (200, first[2]):
        errors.append(f"the repeat of the first batch is {again[0]}, not the first response")
    if create() != created:
        errors.append("another client's key was pushed out")
    status, _, response = other.send(
        "POST", "/locations/batch", body, Content_Type="application/json", Idempotency_Key="two")
    if status != 200:
        errors.append(f"a new key of another client is {status}: {response[:200]}")
    return errors


def check_batch(server):
    """A batch of 99 kB with a thousand patches of a place of 1 MB is refused, and delays no other write."""
    if put(server.port, LONG_TAGS) not in (200, 201):
        return ["the place of 1 MB is not written"]
    operations = [{"op": "patch", "id": PROBE_ID, "patch": {"tags": {"n": str(number)}}} for number in range(1_000)]
    body = json.dumps({"operations": operations}).encode()
    statuses = []

    def send():
        client = Client(server.port, timeout=MAXIMUM_SECONDS, address=ATTACKER)
        statuses.append(client.send("POST", "/locations/batch", body, Content_Type="application/json")[0])

    thread = threading.Thread(target=send)
    thread.start()
    other, slowest, writes = Client(server.port), 0.0, 0
    while thread.is_alive() or writes == 0:
        start = time.monotonic()
        status = other.send("POST", "/locations", {"name": "other", "lat": 3, "long": 4})[0]
        if status != 201:
            statuses.append(f"another client's write: {status}")
            break
        slowest, writes = max(slowest, time.monotonic() - start), writes + 1
    thread.join()
    print(f"a batch of {len(body)} bytes: {statuses}; beside it {writes} writes, at most {slowest:.2f} s", flush=True)
    errors = [] if statuses == [400] else [f"the batch is {statuses}, not 400"]
    if slowest > MAXIMUM_WRITE_SECONDS:
        errors.append(f"a write took {slowest:.1f} s beside a batch")
    return errors


def check_suggestions(server, count=20, maximum_bytes=33_000):
    """A suggestion that removes the tags of a place of 1 MB keeps a part of them."""
    if put(server.port, LONG_TAGS) not in (200, 201):
        return ["the place of 1 MB is not written"]
    client = Client(server.port, address=ATTACKER)
    for _ in range(count):
        status, _, body = client.send("POST", f"/locations/{PROBE_ID}/suggestions", {"patch": {"tags": None}})
        if status != 201:
            return [f"a suggestion is {status}: {body[:200]}"]
    found = json.loads(get(server.port, "/suggestions?state=open&limit=100")[0])
    texts = [json.dumps(suggestion["difference"], separators=(",", ":"), ensure_ascii=False) for suggestion in found]
    longest = max((len(text.encode()) for text in texts), default=0)
    print(f"{len(found)} suggestions, the longest difference of {longest} bytes", flush=True)
    errors = [] if len(found) == count else [f"there are {len(found)} suggestions, not {count}"]
    if longest > maximum_bytes or not all(suggestion.get("omittedDifferences") for suggestion in found):
        errors.append(f"a suggestion has a difference of {longest} bytes")
    return errors


def check_calls(program, data, budget):
    """Returns the errors of the attacks on changes and writes."""
    errors = []
    for check, settings in [
        (check_polls, {}), (check_silent_streams, {}), (check_filters, {}),
        (check_share, {"CHANGES_MAX_STREAMS": "200"}), (check_keys, {}), (check_batch, {}), (check_suggestions, {}),
    ]:
        settings = {
            "POINT_STORE": "memory", "DATA_FILE": data, "HTTP_MAX_BUFFERED_BYTES": str(budget), "ANALYTICS": "off",
        } | settings
        server = Waymark(program, settings)
        server.start()
        try:
            server.wait_until_ready(seconds=120)
            errors += check(server)
        finally:
            server.kill()
    return errors


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
        worst, longest = 0.0, 0.0
        for name, targets in ATTACKS.items():
            for build, program in builds:
                idle, peak, served, failed, slowest = attack(program, data, budget, targets)
                print(
                    f"| {name} | {build} | {idle:.0f} MiB | {peak:.0f} MiB | {served}, {failed} | "
                    f"{slowest * 1000:.0f} ms |", flush=True)
                if build == "after":
                    worst, longest = max(worst, peak), max(longest, slowest)
        errors = check_calls(options.waymark, data, budget)
    if worst >= options.limit_mib:
        errors.append(f"the peak of {worst:.0f} MiB is not below {options.limit_mib} MiB")
    if longest >= MAXIMUM_WAIT_SECONDS:
        errors.append(f"a small request waited {longest:.0f} s")
    if errors:
        sys.exit("\n".join(errors))


if __name__ == "__main__":
    main()
