"""Follows the changes of the places while servers are killed, and compares the copies with the places at the end.

Clients write as in scripts/faults chaos, beside its faults: connections are cut, servers are stopped and killed with -9,
standbys are promoted, the change log is emptied. Followers begin with an export and apply nothing but changes: by pages of
several lengths, by requests that wait, and by streams, with conditions and without, over either instance. They are absent
for some time, and forget what they have not kept together with its position. So do processes of `waymark follow`, which
copy into a file and into a command, and are killed with -9. A webhook with a filter has a receiver that keeps a copy: it
is away, disabled, and set back to an earlier copy whose changes are replayed. At the end each copy must equal an export.

  scripts/faults changes                               # two minutes on each store
  scripts/faults changes --store memory --seconds 600 --seed 7
  scripts/faults changes --faults kill_instance,crash_primary,promote
"""

import asyncio
import collections
import http.client
import http.server
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time
import urllib.parse

from chaos import FAULTS, Scenario, option_parser, run_and_exit
from history import LOST, RESURRECTED, STALE, UNEXPECTED
from servers import Waymark

# The conditions of followers, as a query and as a function of a place.
CONDITIONS = (
    ("", lambda place: True),
    ("bbox=-180,-90,10,90", lambda place: -180 <= place["long"] <= 10),
    ("filter=" + urllib.parse.quote("lat > 0"), lambda place: place["lat"] > 0),
)
# The maximum numbers of changes of a page.
LIMITS = (3, 100, 10_000)
TIMEOUT_SECONDS = 30
# The time for which a follower may be behind at the end.
FINISH_SECONDS = 120
# That for the receiver of a webhook, for one attempt: a sender that was killed has the lease for half a minute.
RECEIVER_SECONDS = 45
# A write of unknown outcome may still be applied between an export and the changes: the comparisons of a copy that differs,
# and the time between them.
ATTEMPTS, PAUSE_SECONDS = 6, 5


class Expired(Exception):
    """The position of a follower is not known any more."""


def export(connection, target):
    """Returns the places of an export, by id, and its position."""
    connection.request("GET", target)
    response = connection.getresponse()
    lines = response.read().decode().splitlines()
    position = response.headers["waymark-position"]
    if response.status != 200 or position is None:
        raise http.client.HTTPException(f"export: {response.status}")
    return {place["id"]: place for place in map(json.loads, lines)}, position


def apply(change, places):
    if "place" in change:
        places[change["id"]] = change["place"]
    else:
        places.pop(change["id"], None)


def compare(copy, present, matches=lambda place: True):
    """Yields the differences of a copy from the places of an export, as kinds of violations and texts."""
    for id in present.keys() | copy.keys():
        copied, place = copy.get(id), present.get(id)
        if copied is None:
            yield LOST, f"lacks {place}"
        elif place is None:
            yield RESURRECTED, f"has {copied}"
        elif copied != place:
            yield STALE, f"has {copied} instead of {place}"
        elif not matches(place):
            yield UNEXPECTED, f"has {copied}, which does not match"


class Follower:
    """A copy of the places and the position that it is of, which are kept together."""

    def __init__(self, number, cluster, seed):
        self.cluster = cluster
        self.random = random.Random(f"follower {number} {seed}")
        self.query, self.matches = CONDITIONS[number % len(CONDITIONS)]
        self.limit = LIMITS[number // len(CONDITIONS) % len(LIMITS)]
        self.streams = number % 2 == 1
        self.name = f"follower {number} ({'stream' if self.streams else f'pages of {self.limit}'}, {self.query or 'all places'})"
        self.places, self.position = None, None
        self.counts = collections.Counter()

    # Requests.

    def connection(self):
        instance = self.random.choice(self.cluster.instances)
        return http.client.HTTPConnection("127.0.0.1", instance.proxy.port, timeout=TIMEOUT_SECONDS)

    def target(self, path, **parameters):
        parts = [self.query] if self.query else []
        parts += [f"{name}={value}" for name, value in parameters.items()]
        return path + ("?" + "&".join(parts) if parts else "")

    def export(self, connection):
        """Returns all places that match, by id, and the position of the export."""
        return export(connection, self.target("/locations/export", f="ndjson"))

    def begin(self, connection):
        """Begins with an export, in place of what there is."""
        self.places, self.position = self.export(connection)
        self.counts["exports"] += 1

    def read_page(self, connection, wait):
        """Applies a page, and returns whether there is more."""
        connection.request("GET", self.target("/changes", since=self.position, limit=self.limit, wait=wait))
        response = connection.getresponse()
        body = response.read()
        if response.status == 410:
            raise Expired
        if response.status != 200:
            raise http.client.HTTPException(f"changes: {response.status} {body[:200]}")
        page = json.loads(body)
        places = dict(self.places)
        for change in page["changes"]:
            self.apply(change, places)
        self.keep(places, page["position"])
        self.counts["pages"] += 1
        return page["more"]

    def read_stream(self, connection, stopping, seconds):
        """Applies the events of a stream for a time."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": self.position}
        connection.request("GET", self.target("/changes", limit=self.limit), headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            raise http.client.HTTPException(f"stream: {response.status}")
        deadline = time.monotonic() + seconds
        places = dict(self.places)
        event, data, id = None, None, None
        while time.monotonic() < deadline and not stopping.is_set():
            line = response.readline().decode()
            if not line:
                return
            name, _, value = line.rstrip("\n").partition(": ")
            if name == "event":
                event = value
            elif name == "data":
                data = value
            elif name == "id":
                id = value
            elif not name and event:
                if event == "reset":
                    raise Expired
                if event == "change":
                    self.apply(json.loads(data), places)
                # Events without a position are kept together with the next one that has it.
                if id is not None:
                    self.keep(places, id)
                    places = dict(places)
                event, data, id = None, None, None
        self.counts["streams"] += 1

    # The copy.

    def apply(self, change, places):
        apply(change, places)
        self.counts["changes"] += 1

    def keep(self, places, position):
        self.places, self.position = places, position

    def run(self, stopping):
        """Follows until the end of the load."""
        while not stopping.is_set():
            connection = self.connection()
            try:
                if self.places is None:
                    self.begin(connection)
                elif self.streams:
                    self.read_stream(connection, stopping, self.random.uniform(1, 10))
                else:
                    for _ in range(self.random.randrange(1, 30)):
                        if stopping.is_set():
                            break
                        if not self.read_page(connection, self.random.choice((0, 0, 1, 5))):
                            stopping.wait(self.random.choice((0, 0.05)))
                if self.random.random() < 0.2:
                    stopping.wait(self.random.uniform(0, 5))
            except Expired:
                self.counts["expired"] += 1
                self.places = None
            except (OSError, http.client.HTTPException, ValueError):
                self.counts["failures"] += 1
                stopping.wait(0.2)
            finally:
                connection.close()

    def differences(self):
        """Yields the differences of the copy from an export, as kinds of violations and texts."""
        places = self.finish()
        yield from compare(self.places, places, self.matches)

    def finish(self):
        """Returns the places of an export, once the copy has caught up with the present."""
        deadline = time.monotonic() + FINISH_SECONDS
        while True:
            connection = self.connection()
            try:
                if self.places is None:
                    self.begin(connection)
                # No one writes any more, and the export is not before what was acknowledged.
                places, _ = self.export(connection)
                while self.read_page(connection, 0):
                    pass
                return places
            except Expired:
                self.places = None
            except (OSError, http.client.HTTPException, ValueError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)
            finally:
                connection.close()


class CommandFollower:
    """The copy of processes of `waymark follow`, which are killed: in a file that a server reads, or in one that a command
    writes."""

    # Of a place in a copy that has its own.
    OWN_MEMBERS = ("version", "createdAt", "updatedAt")

    def __init__(self, is_command, cluster, program, folder, seed):
        self.cluster = cluster
        self.program = program
        self.is_command = is_command
        self.random = random.Random(f"waymark follow {is_command} {seed}")
        self.name = f"waymark follow ({'command' if is_command else 'file'})"
        self.copy = folder / ("copied.json" if is_command else "copied.db")
        self.log = folder / f"{self.copy.name}.log"
        target = ["--exec", f"exec {sys.executable} {__file__} {self.copy}"] if is_command else ["--to", str(self.copy)]
        self.arguments = [*target, "--state", str(folder / f"{self.copy.name}.follow")]
        self.places = {}
        self.counts = collections.Counter()

    def start(self, *arguments):
        instance = self.random.choice(self.cluster.instances)
        command = [self.program, "follow", "--url", f"http://127.0.0.1:{instance.proxy.port}", *self.arguments, *arguments]
        with open(self.log, "a") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | {"LOG_LEVEL": "critical"})

    def run(self, stopping):
        """Follows until the end of the load."""
        while not stopping.is_set():
            process = self.start()
            self.counts["processes"] += 1
            stopping.wait(self.random.uniform(0.2, 10))
            if process.poll() is not None:
                self.counts["processes that ended by themselves"] += 1
            process.kill()
            process.wait()
            if self.random.random() < 0.2:
                stopping.wait(self.random.uniform(0, 5))

    def differences(self):
        self.start("--once").wait(timeout=FINISH_SECONDS)
        connection = http.client.HTTPConnection("127.0.0.1", self.cluster.instances[0].proxy.port, timeout=TIMEOUT_SECONDS)
        present, _ = export(connection, "/locations/export?f=ndjson")
        connection.close()
        self.places = self.read()
        if not self.is_command:
            present = {id: without(place, self.OWN_MEMBERS) for id, place in present.items()}
        yield from compare(self.places, present)

    def read(self):
        """Returns the places of the copy, by id."""
        if self.is_command:
            return json.loads(self.copy.read_text())
        server = Waymark(self.program, {"POINT_STORE": "memory", "MEMORY_STORE_PATH": str(self.copy)})
        with server:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_SECONDS)
            places, _ = export(connection, "/locations/export?f=ndjson")
        return {id: without(place, self.OWN_MEMBERS) for id, place in places.items()}


class Unavailable(Exception):
    """A call failed that may succeed later."""


class Receiver:
    """The copy of the receiver of a webhook with a filter, which knows of a change what the messages tell."""

    def __init__(self, cluster, seed):
        self.cluster = cluster
        self.random = random.Random(f"receiver {seed}")
        self.query, self.matches = CONDITIONS[2]
        self.name = "receiver of a webhook with a filter"
        self.lock = threading.Lock()
        self.places, self.position, self.saved = {}, None, None
        # The ids of messages that were received.
        self.known, self.is_away = set(), True
        self.id, self.key = None, f"receiver-{seed}"
        self.counts = collections.Counter()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(receiver.receive(self.headers["webhook-id"], json.loads(body)))
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    # Messages.

    def receive(self, id, message):
        """Applies a message, and returns the status of the response."""
        with self.lock:
            if id in self.known:
                return 204
            if self.is_away:
                self.counts["rejected messages"] += 1
                return 503
            self.known.add(id)
            for change in message["data"]["changes"]:
                if "url" in change:
                    return 500
                apply(change, self.places)
            self.position = message["data"].get("position", self.position)
            self.counts["messages"] += 1
            return 204

    # Calls.

    def call(self, method, path, body=None, key=None):
        instance = self.random.choice(self.cluster.instances)
        connection = http.client.HTTPConnection("127.0.0.1", instance.proxy.port, timeout=TIMEOUT_SECONDS)
        headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
        try:
            connection.request(method, path, json.dumps(body) if body else None, headers)
            response = connection.getresponse()
            status, text = response.status, response.read()
            if status >= 500 or status in (408, 429):
                raise Unavailable(f"{method} {path}: {status}")
            return status, json.loads(text or b"null")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unavailable(f"{method} {path}: {error!r}") from error
        finally:
            connection.close()

    def leave(self):
        with self.lock:
            self.is_away = True

    def come_back(self):
        with self.lock:
            self.is_away = False
        # The next attempt would follow minutes after the second failed one.
        self.call("PATCH", f"/webhooks/{self.id}", {"enabled": True})

    def replay(self, places, position):
        """Sets the copy back to an earlier one. Returns whether the changes since then are known."""
        self.leave()
        status, _ = self.call("POST", f"/webhooks/{self.id}/replay?since={position}")
        if status != 200:
            return False
        # A message from before may be on its way.
        time.sleep(1)
        with self.lock:
            self.places, self.position, self.saved = dict(places), position, None
        self.counts["replays"] += 1
        self.come_back()
        return True

    def begin(self):
        """Begins with an export, in place of what there is."""
        if self.id is None:
            body = {"url": f"http://127.0.0.1:{self.server.server_port}/", "filter": {"filter": "lat > 0"}}
            self.id = self.call("POST", "/webhooks", body, key=self.key)[1]["id"]
        instance = self.random.choice(self.cluster.instances)
        connection = http.client.HTTPConnection("127.0.0.1", instance.proxy.port, timeout=TIMEOUT_SECONDS)
        try:
            places, position = export(connection, f"/locations/export?f=ndjson&{self.query}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unavailable(f"export: {error!r}") from error
        finally:
            connection.close()
        if not self.replay(places, position):
            raise Unavailable("the position of the export has expired")

    def is_behind(self):
        """Returns whether the changes after the position are not known any more."""
        webhook = self.call("GET", f"/webhooks/{self.id}")[1]
        return "not known" in (webhook.get("disabledReason") or "")

    def act(self, stopping):
        if self.position is None or self.is_behind():
            self.leave()
            self.position = None
            return self.begin()
        match self.random.randrange(5):
            case 0:
                self.leave()
                stopping.wait(self.random.uniform(1, 20))
                self.come_back()
            case 1:
                self.call("PATCH", f"/webhooks/{self.id}", {"enabled": False})
                stopping.wait(self.random.uniform(1, 20))
                self.come_back()
                self.counts["times disabled"] += 1
            case 2:
                with self.lock:
                    self.saved = dict(self.places), self.position
            case 3 if self.saved:
                # If the changes since then are not known any more, the copy goes on from its own position.
                if not self.replay(*self.saved):
                    self.come_back()
            case _:
                stopping.wait(self.random.uniform(0, 5))

    def run(self, stopping):
        """Receives until the end of the load."""
        while not stopping.is_set():
            try:
                self.act(stopping)
            except Unavailable:
                self.counts["failures"] += 1
                # A replay of unknown outcome sends what a newer copy has already.
                with self.lock:
                    self.is_away = self.position is None
                stopping.wait(0.2)

    def differences(self):
        """Yields the differences of the copy from an export, once the sender has sent what it has."""
        deadline, found = time.monotonic() + RECEIVER_SECONDS, None
        while time.monotonic() < deadline:
            try:
                if self.position is None or self.is_behind():
                    self.leave()
                    self.position = None
                    self.begin()
                self.come_back()
                connection = http.client.HTTPConnection(
                    "127.0.0.1", self.cluster.instances[0].proxy.port, timeout=TIMEOUT_SECONDS)
                present, _ = export(connection, f"/locations/export?f=ndjson&{self.query}")
                connection.close()
                with self.lock:
                    found = list(compare(self.places, present, self.matches))
                if not found:
                    break
            except (Unavailable, OSError, http.client.HTTPException, ValueError):
                pass
            time.sleep(2)
        yield from [(UNEXPECTED, "could not be compared")] if found is None else found


def without(place, members):
    return {name: value for name, value in place.items() if name not in members}


def apply_lines(path, lines):
    """Applies the lines that `waymark follow --exec` passes to the places of a file, and replaces the file."""
    path = pathlib.Path(path)
    places = json.loads(path.read_text()) if path.exists() else {}
    for line in lines:
        change = json.loads(line)
        if "id" in change:
            apply(change, places)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(places))
    new.replace(path)


class ChangesScenario(Scenario):
    FOLLOWERS = 9

    def __init__(self):
        self.followers = []
        self.differences = [(UNEXPECTED, "the copies were not compared")]

    def environment(self, folder, options):
        self.folder = folder
        settings, headers = super().environment(folder, options)
        return settings | {"WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8"}, headers

    def injectors(self, cluster, ledger, shared_ids, options):
        self.followers = [Follower(number, cluster, options.seed) for number in range(self.FOLLOWERS)]
        for is_command in (False, True):
            self.followers.append(CommandFollower(is_command, cluster, options.waymark, self.folder, options.seed))
        self.followers.append(Receiver(cluster, options.seed))
        return super().injectors(cluster, ledger, shared_ids, options)

    async def monitor(self, cluster, ledger, clients, injectors):
        stopping = threading.Event()
        threads = [threading.Thread(target=follower.run, args=(stopping,), daemon=True) for follower in self.followers]
        for thread in threads:
            thread.start()
        try:
            await asyncio.Event().wait()
        finally:
            stopping.set()
            for thread in threads:
                await asyncio.to_thread(thread.join)
            # Beside the event loop, which the proxies need.
            self.differences = await asyncio.to_thread(self.compare)

    def compare(self):
        """Returns the differences of the copies from the places, when the clients have ended."""
        found = []
        for follower in self.followers:
            for _ in range(ATTEMPTS):
                try:
                    differences = list(follower.differences())
                except Exception as error:
                    differences = [(UNEXPECTED, f"can't catch up: {error!r}")]
                if not differences:
                    break
                time.sleep(PAUSE_SECONDS)
            found += [(kind, f"{follower.name} {text}") for kind, text in differences]
        return found

    def check(self, ledger):
        for kind, text in self.differences:
            ledger.report_violation(kind, text)
        counts = sum((follower.counts for follower in self.followers), collections.Counter())
        text = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
        print(f"  {len(self.followers)} followers of {len(self.followers[0].places)} places: {text}", flush=True)


def main():
    parser = option_parser(__doc__, seconds=120, rate=150)
    parser.add_argument("--faults", help=f"inject only these, separated by commas: {', '.join(FAULTS)}")
    run_and_exit(parser.parse_args(), ChangesScenario)


if __name__ == "__main__":
    if len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        apply_lines(sys.argv[1], sys.stdin)
    else:
        main()
