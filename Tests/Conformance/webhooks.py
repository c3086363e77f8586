"""Receives the messages of webhooks, and verifies them with the libraries of others: standardwebhooks and svix.

With both stores: an endpoint that fails at random, a server that is killed meanwhile, a rotated secret, endpoints that
redirect, respond without end or not at all, and addresses that must be refused; then an endpoint that fails for 72 hours,
of a clock that runs ahead, while servers are killed. Installs the libraries from PyPI, and PostgreSQL with PostGIS and a C
compiler from Debian.

  scripts/conformance webhooks
  scripts/conformance webhooks --store memory
"""

import collections
import contextlib
import datetime
import http.server
import json
import pathlib
import random
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import standardwebhooks
import svix.webhooks

from servers import Waymark, argument_parser, deployment, exit_after_each_store

SECONDS = 120
PLACES = 60
OUTAGE_HOURS = 72


class Clock:
    """The time of day of servers, and of the libraries that verify signatures."""

    def __init__(self, folder):
        self.offset = 0
        self.file = folder / "offset"
        library = folder / "clock.so"
        source = pathlib.Path(__file__).with_name("clock.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O", "-o", library, source, "-ldl"], check=True)
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(self.file)}
        self.advance(0)

    def advance(self, seconds):
        self.offset += seconds
        new = self.file.with_suffix(".new")
        new.write_text(f"{self.offset:.0f}")
        new.rename(self.file)

    @property
    def now(self):
        return time.time() + self.offset

    @contextlib.contextmanager
    def shown_to_receivers(self):
        class ShiftedTime(datetime.datetime):
            @classmethod
            def now(cls, tz=None):
                return datetime.datetime.now(tz) + datetime.timedelta(seconds=self.offset)

        module = sys.modules["standardwebhooks.webhooks"]
        module.datetime = ShiftedTime
        try:
            yield
        finally:
            module.datetime = datetime.datetime


class Receiver:
    """An endpoint that verifies what it receives, and fails when it is told to."""

    def __init__(self, generator, permits_repeats=False):
        self.generator = generator
        self.permits_repeats = permits_repeats
        self.secrets = []
        self.failure_rate = 0
        self.status = 204
        self.bodies = {}
        self.attempts = collections.Counter()
        self.delivered = set()
        self.problems = []
        self.places = {}
        self.lock = threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.path == "/silent":
                    time.sleep(60)
                    return
                status = receiver.receive(dict(self.headers.items()), body)
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("location", "/elsewhere")
                if self.path == "/endless":
                    self.end_headers()
                    try:
                        while True:
                            self.wfile.write(b"x" * 100_000)
                    except OSError:
                        return
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.server.server_address[1]}{path}"

    def receive(self, headers, body):
        with self.lock:
            headers = {name.lower(): value for name, value in headers.items()}
            for secret in self.secrets:
                for library in (standardwebhooks.Webhook, svix.webhooks.Webhook):
                    try:
                        library(secret).verify(body, headers)
                    except Exception as error:
                        self.problems.append(f"{library.__module__}: {error!r}")
            if len(body) >= 20_000:
                self.problems.append(f"a body of {len(body)} bytes")
            message = headers["webhook-id"]
            self.attempts[message] += 1
            if self.bodies.setdefault(message, body) != body:
                self.problems.append(f"{message} was sent with two bodies")
            if self.generator.random() < self.failure_rate:
                return self.generator.choice([500, 503, 429, 404])
            document = json.loads(body)
            if document["type"] != "places.changed":
                return self.status
            if not 200 <= self.status < 300:
                return self.status
            for change in document["data"]["changes"]:
                former = self.places.get(change["id"], (0, None))
                if change["version"] < former[0]:
                    self.problems.append(f"{change['id']} came out of order")
                if change["version"] == former[0] and message not in self.delivered and not self.permits_repeats:
                    self.problems.append(f"{change['id']} came in two messages")
                self.places[change["id"]] = (change["version"], not change.get("deleted"))
            self.delivered.add(message)
            return self.status


def call(server, method, path, document=None):
    """Returns the status and the document of a response."""
    request = urllib.request.Request(
        server.url + path, method=method, data=None if document is None else json.dumps(document).encode(),
        headers={"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            body = response.read()
            return response.status, json.loads(body) if body else None
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def change_places(server, generator, count):
    for _ in range(count):
        path = f"/locations/0199a1b2-0000-7000-8000-{generator.randrange(PLACES):012x}"
        if generator.random() < 0.25:
            status, _ = call(server, "DELETE", path)
        else:
            tags = {f"note{number}": "x" * 2000 for number in range(12)} if generator.random() < 0.05 else {}
            status, _ = call(server, "PUT", path, {
                "name": f"Café {generator.random()}", "lat": 1, "long": 2, "tags": tags})
        if status not in (200, 201, 204, 404):
            sys.exit(f"a change got the status {status}")


def wait_for(condition, what):
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return f"{what} did not happen within {SECONDS} s"
        time.sleep(0.1)
    return None


def check(store, options):
    print(f"{store}: the seed is {options.seed}")
    generator = random.Random(options.seed)
    # In PostgreSQL, a place that changes while the log is read may come again.
    receiver = Receiver(generator, permits_repeats=store == "postgres")
    problems = receiver.problems
    with deployment(options.waymark, store, "waymark-webhooks-") as (_, server, _):
        server.environment["WEBHOOK_ALLOWED_NETWORKS"] = "127.0.0.0/8"
        server.start()
        server.wait_until_ready()

        def expect(found, wanted, what):
            print(f"{'ok     ' if found == wanted else 'DIFFERS'} {what}: {found}")
            if found != wanted:
                problems.append(f"{what}: {found}, expected {wanted}")

        status, webhook = call(server, "POST", "/webhooks", {"url": receiver.url()})
        expect(status, 201, "a webhook is created")
        path = f"/webhooks/{webhook['id']}"
        receiver.secrets = [webhook["secret"]]
        expect(call(server, "POST", path + "/test")[1].get("status"), 204, "a test message is verified")

        # The first pause is five seconds; the second, of five minutes, is cut short by enabling the webhook.
        receiver.failure_rate = 0.3
        for _ in range(4):
            change_places(server, generator, 40)
            time.sleep(1.5)
            server.kill()
            server.start()
            server.wait_until_ready()
        receiver.failure_rate = 0

        def is_complete():
            call(server, "PATCH", path, {"enabled": True})
            return has_all(receiver, server)

        if problem := wait_for(is_complete, "the arrival of all changes"):
            problems.append(problem)
        print(f"ok      {len(receiver.bodies)} messages, of {len(receiver.places)} places")

        _, rotated = call(server, "PATCH", path, {"secret": None})
        receiver.secrets = [webhook["secret"], rotated["secret"]]
        expect(call(server, "POST", path + "/test")[1].get("status"), 204, "both secrets verify after a rotation")

        receiver.secrets = []
        for behaviour, found in (("/endless", 204), ("/silent", None)):
            _, other = call(server, "POST", "/webhooks", {"url": receiver.url(behaviour)})
            _, delivery = call(server, "POST", f"/webhooks/{other['id']}/test")
            expect(delivery.get("status"), found, f"an endpoint of {behaviour[1:]} responses")
            call(server, "DELETE", f"/webhooks/{other['id']}")
        receiver.status = 302
        expect(call(server, "POST", path + "/test")[1].get("status"), 302, "a redirect is not followed")
        receiver.status = 410
        change_places(server, generator, 3)
        if problem := wait_for(lambda: not call(server, "GET", path)[1]["enabled"], "disabling by 410"):
            problems.append(problem)
        expect("410" in call(server, "GET", path)[1]["disabledReason"], True, "410 is the reason")

        for url in ("https://10.0.0.1/", "https://[::ffff:10.0.0.1]/", "https://169.254.169.254/", "https://[::1]/"):
            expect(call(server, "POST", "/webhooks", {"url": url})[0], 400, url)
        expect(call(server, "POST", "/webhooks", {"url": receiver.url(), "filter": {"open": "now"}})[0], 400,
               "open in a filter")
    problems += outage(store, options, generator)
    for problem in dict.fromkeys(problems):
        print(f"PROBLEM {problem}")
    return not problems


def has_all(receiver, server):
    _, page = call(server, "GET", "/locations?limit=1000&fields=id,version")
    received = {id: version for id, (version, exists) in receiver.places.items() if exists}
    return received == {place["id"]: place["version"] for place in page}


def outage(store, options, generator):
    """Has an endpoint fail for days while servers are killed, and returns the problems."""
    receiver = Receiver(generator)
    problems = receiver.problems
    with deployment(options.waymark, store, "waymark-webhooks-") as (folder, first, database):
        clock = Clock(folder)
        servers = [first]
        if database:
            servers.append(Waymark(options.waymark, {"POINT_STORE": store, "DATABASE_URL": database.url}))
        try:
            for server in servers:
                server.environment |= clock.environment | {"WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8"}
                server.start()
                server.wait_until_ready()
            with clock.shown_to_receivers():
                _, webhook = call(first, "POST", "/webhooks", {"url": receiver.url()})
                receiver.secrets = [webhook["secret"]]
                path = f"/webhooks/{webhook['id']}"
                problems += fail_for_days(receiver, servers, database, clock, path, generator)
        finally:
            for server in servers:
                server.kill()
    return problems


def fail_for_days(receiver, servers, database, clock, path, generator):
    problems = []
    receiver.status = 503
    start = clock.now
    end = start + OUTAGE_HOURS * 3600
    change_places(servers[0], generator, 40)
    failures = kills = 0
    while True:
        # A sender that was killed has the lease for half a minute.
        clock.advance(31)
        pending = {}

        def has_failed():
            pending.update(call(servers[-1], "GET", path)[1].get("pending") or {})
            return pending.get("failedAttempts", 0) > failures

        if problem := wait_for(has_failed, f"failure {failures + 1}"):
            return [problem]
        failures = pending["failedAttempts"]
        change_places(generator.choice(servers), generator, 40)
        victim = generator.choice(servers)
        victim.kill()
        if database and failures == 4:
            database.kill()
            database.start()
        victim.start()
        for server in servers:
            server.wait_until_ready()
        kills += 1
        next_attempt = datetime.datetime.fromisoformat(pending["nextAttemptAt"].replace("Z", "+00:00")).timestamp()
        if next_attempt >= end:
            break
        clock.advance(max(0, next_attempt - clock.now) + 1)
    receiver.status = 204
    clock.advance(max(0, next_attempt - clock.now) + 32)
    if problem := wait_for(lambda: has_all(receiver, servers[0]), "the arrival of all changes after the outage"):
        problems.append(problem)
    webhook = call(servers[0], "GET", path)[1]
    if not webhook["enabled"]:
        problems.append(f"the webhook is disabled: {webhook['disabledReason']}")
    first = next(iter(receiver.bodies), None)
    if receiver.attempts[first] != failures + 1:
        problems.append(f"the first message came {receiver.attempts[first]} times after {failures} failures")
    hours = (clock.now - start) / 3600
    print(f"{'DIFFERS' if problems else 'ok     '} {failures} failures in {OUTAGE_HOURS} h and {kills} killed servers: "
          f"{len(receiver.bodies)} messages, of {len(receiver.places)} places, after {hours:.1f} h")
    return problems


if __name__ == "__main__":
    exit_after_each_store(check, argument_parser(__doc__).parse_args())
