"""Shared parts of the load tests: throw-away servers, and clients that know the correct state of each place.

Each place belongs to one client. The revision of a place, the number of its changes, is stored in its name, its latitude
and its tags, so that a place in which they differ shows a torn write. Its version must be the one that was acknowledged
with the revision. After a request without a response, a place may be in the state before or after it; a creation is then
retried with its Idempotency-Key, and must not be applied twice.
"""

import argparse
import collections
import contextlib
import glob
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import urllib.parse

# The documented errors after which a client may retry, by status and code.
RETRYABLE_ERRORS = {
    (429, "rate-limited"), (503, "store-unavailable"), (503, "overloaded"), (504, "store-timeout"), (504, "outcome-unknown"),
}
STORES = ("postgres", "memory")
PRINTED_VIOLATIONS = 20


# Options


def argument_parser(description):
    """Returns a parser with the options that the tests of both stores share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--waymark", required=True, help="path of the program")
    parser.add_argument("--store", choices=STORES, help="test only this store")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="seed of all random choices")
    return parser


def exit_after_each_store(test, options):
    """Runs a test on each selected store, also after a failure, and exits with 1 if one fails."""
    results = [test(store, options) for store in ([options.store] if options.store else STORES)]
    sys.exit(0 if all(results) else 1)


# Servers


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def children(parent):
    """Returns the identifiers of a process's children, from /proc, because `ps` is not in every base system."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                line = file.read()
        except OSError:
            continue
        # The name before the last parenthesis may contain anything; the state and the parent follow it.
        if int(line.rpartition(")")[2].split()[1]) == parent:
            found.append(int(line.split(" ", 1)[0]))
    return found


def memory_mib(pid, field):
    """Returns a memory field of /proc/PID/status, such as VmRSS (resident) or VmHWM (peak resident), in MiB."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+)", status)[1]) / 1024


@contextlib.contextmanager
def temporary_folder(prefix):
    """Yields a folder that the user of PostgreSQL can enter."""
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        yield folder


@contextlib.contextmanager
def deployment(program, store, prefix):
    """Yields a folder, a server that is not started yet, and its migrated database or None; stops both at the end."""
    with temporary_folder(prefix) as folder:
        environment = {"POINT_STORE": store}
        database = None
        if store == "postgres":
            database = Postgres(folder)
            database.create()
            database.start()
            environment["DATABASE_URL"] = database.url
        else:
            environment["MEMORY_STORE_PATH"] = str(folder / "places.db")
        server = Waymark(program, environment)
        try:
            if database:
                server.command("migrate")
            yield folder, server, database
        finally:
            server.kill()
            if database:
                database.stop()


class Postgres:
    """A throw-away PostgreSQL server."""

    name = "PostgreSQL"

    def __init__(self, folder, data="data", settings=()):
        self.programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.data = folder / data
        self.settings = settings
        self.port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def create(self, *options):
        self.create_folder()
        self.run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", *options)

    def create_folder(self):
        self.data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(self.data, "postgres")

    def run(self, program, *arguments, errors=None):
        # PostgreSQL refuses to run as root.
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
        command = user + [f"{self.programs}/{program}", "-D", str(self.data), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=errors, cwd="/tmp", close_fds=True)

    def start(self):
        # The kernel keeps the writes of a killed process, so nothing is lost without fsync, and recovery is faster.
        options = f"-p {self.port} -h 127.0.0.1 -k {self.data} -c fsync=off"
        options += "".join(f" -c {setting}" for setting in self.settings)
        self.run("pg_ctl", "-w", "-s", "-l", str(self.data / "log"), "-o", options, "start")

    def kill(self):
        postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
        processes = [postmaster, *children(postmaster)]
        for process in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        while any(os.path.exists(f"/proc/{process}") for process in processes):
            time.sleep(0.02)
        # pg_ctl would report a running server.
        (self.data / "postmaster.pid").unlink()

    def stop(self, mode="immediate"):
        self.run("pg_ctl", "-m", mode, "-w", "-s", "stop")

    def query(self, *statements, timeout=60):
        command = ["psql", "-qtAX", "-v", "ON_ERROR_STOP=1", self.url]
        for statement in statements:
            command += ["-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=timeout).stdout.strip()


class Waymark:
    """A server process that keeps its port through restarts."""

    name = "Waymark"

    def __init__(self, program, environment):
        self.program = program
        self.port = free_port()
        self.process = None
        defaults = {
            "LOG_LEVEL": "critical", "ANALYTICS": "off", "HTTP_PORT": str(self.port),
            "MIGRATIONS_PATH": str(pathlib.Path(__file__).resolve().parent.parent / "Migrations"),
        }
        self.environment = os.environ | defaults | environment

    def command(self, *arguments):
        """Runs a command of the program and returns its standard output."""
        command = [self.program, *arguments]
        return subprocess.run(command, env=self.environment, check=True, stdout=subprocess.PIPE, text=True).stdout

    def start(self):
        self.process = subprocess.Popen([self.program, "serve"], env=self.environment)

    def kill(self):
        """Kills the process if it was started."""
        if self.process:
            self.process.kill()
            self.process.wait()

    def wait_until_ready(self, path="/health/ready", seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if responds_with_200(self.port, path, timeout=5):
                return
            time.sleep(0.05)
        sys.exit(f"Waymark was not ready within {seconds} seconds")


# Requests


def responds_with_200(port, path, timeout=30):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def silent_client(port, request):
    """Sends a request and returns the socket, which has a small buffer and is never read."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    client.sendall(request)
    return client


def get_request(target):
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def problem_code(body):
    """Returns the code of a problem document; "none" if there is none."""
    try:
        return json.loads(body)["code"]
    except (ValueError, KeyError, TypeError):
        return "none"


class Client(threading.Thread):
    """A client that creates, replaces, patches and deletes places of its own, one request after another."""

    def __init__(self, number, port, stopping, key=None):
        super().__init__(daemon=True)
        self.credentials = {"Authorization": f"Bearer {key}"} if key else {}
        self.number = number
        self.port = port
        self.stopping = stopping
        self.random = random.Random(number)
        self.serial = 0
        self.connection = None
        # The possible revisions of each place; 0 means absent. Only places with one possible revision are changed.
        self.revisions = {}
        # The entity tag of the last acknowledged revision of each place.
        self.etags = {}
        # The names of places whose creation has no response; they may exist.
        self.unresolved_creations = set()
        self.acknowledged = dict.fromkeys(("POST", "PUT", "PATCH", "DELETE"), 0)
        self.without_response = 0
        # The number of errors, by status and code.
        self.errors = collections.Counter()
        self.violations = []

    def run(self):
        while not self.stopping.is_set():
            known = self.known_revisions()
            id, revision = self.random.choice(known) if known else (None, 0)
            draw = self.random.random()
            if id is None or draw < 0.3:
                self.create()
            elif draw < 0.4:
                self.put_new()
            elif draw < 0.55:
                self.change("PUT", id, revision, self.place(id, revision + 1))
            elif draw < 0.85:
                self.change("PATCH", id, revision, self.place(id, revision + 1))
            else:
                self.change("DELETE", id, revision, None)

    def known_revisions(self):
        """Returns the ids that certainly exist, with their revisions."""
        return [(id, states[0]) for id, states in self.revisions.items() if len(states) == 1 and states[0] > 0]

    def place(self, name, revision):
        return {"name": f"crash {name} r{revision}", "lat": revision % 90, "long": 1, "tags": {"r": str(revision)}}

    def create(self):
        self.serial += 1
        name = f"{self.number}-{self.serial}"
        self.unresolved_creations.add(f"crash {name} r1")
        while not self.stopping.is_set():
            response = self.request("POST", "/locations", self.place(name, 1), {"Idempotency-Key": f'"{name}"'})
            if response and response.status == 201:
                self.unresolved_creations.remove(f"crash {name} r1")
                id = response.headers["location"].rsplit("/", 1)[1]
                self.revisions[id] = [1]
                self.etags[id] = response.headers["etag"]
                return
            if response and response.status != 409:  # the first attempt is still in progress
                self.violations.append(f"POST of {name} returned {response.status}")
                return

    def put_new(self):
        id = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        self.change("PUT", id, 0, self.place(id, 1))

    def change(self, method, id, revision, place):
        condition = {"If-Match": self.etags[id]} if revision else {"If-None-Match": "*"}
        response = self.request(method, f"/locations/{id}", place, condition)
        after = revision + 1 if place else 0
        if response is None:
            self.revisions[id] = [revision, after]
        elif response.status in (200, 201, 204):
            self.revisions[id] = [after]
            self.etags[id] = response.headers.get("etag")
        else:
            self.violations.append(f"{method} of {id} at revision {revision} returned {response.status}")
            self.revisions[id] = [revision, after]

    def request(self, method, path, body, headers):
        """Returns the response, or None if the outcome is unknown. Waits while connections are refused."""
        headers = headers | self.credentials
        if body:
            headers["Content-Type"] = f"application/{'merge-patch+' if method == 'PATCH' else ''}json"
        while not self.connect():
            if self.stopping.is_set():
                return None
            time.sleep(0.05)
        try:
            self.connection.request(method, path, json.dumps(body) if body else None, headers)
            response = self.connection.getresponse()
            response.body = response.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            response = None
        if response and (response.status >= 500 or response.status == 429):
            self.record_error(method, path, response)
            response = None
        if response is None:
            self.without_response += 1
            time.sleep(0.02)
            return None
        if response.status < 300 and method in self.acknowledged:
            self.acknowledged[method] += 1
        return response

    def record_error(self, method, path, response):
        code = problem_code(response.body)
        self.errors[response.status, code] += 1
        if (response.status, code) not in RETRYABLE_ERRORS:
            self.violations.append(f"{method} {path} returned {response.status} {code}")
        elif response.status != 504 and not response.headers.get("retry-after"):
            self.violations.append(f"{method} {path} returned {response.status} without Retry-After")

    def connect(self):
        if self.connection:
            return True
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.connect()
        except OSError:
            return False
        self.connection = connection
        return True


# Verification


def fetch_places(port):
    """Returns all places that clients created, by id."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    path = "/locations?limit=1000&fields=*"
    places = {}
    while path:
        connection.request("GET", path)
        response = connection.getresponse()
        for place in json.loads(response.read()):
            if place["name"].startswith("crash "):
                places[place["id"]] = place
        link = re.match(r'<([^>]*)>; rel="next"', response.headers.get("link") or "")
        path = link and urllib.parse.urljoin(path, link[1])
    return places


def find_violations(places, clients, database):
    """Compares the places, and the change log of a database, with the acknowledged writes."""
    violations = [violation for client in clients for violation in client.violations]
    known = set()
    for client in clients:
        for id, revisions in client.revisions.items():
            known.add(id)
            found = int(places[id]["tags"]["r"]) if id in places else 0
            if found not in revisions:
                violations.append(f"{id} has revision {found}, expected {' or '.join(map(str, revisions))}")
            elif found and revisions == [found] and f'"{places[id]["version"]}"' != client.etags[id]:
                violations.append(f"{id} has version {places[id]['version']}, expected {client.etags[id]}")
    names = [place["name"] for place in places.values()]
    unresolved_creations = set().union(*(client.unresolved_creations for client in clients))
    for id, place in places.items():
        revision = int(place["tags"].get("r", 0))
        if not place["name"].endswith(f" r{revision}") or place["lat"] != revision % 90 or place["tags"] != {"r": str(revision)}:
            violations.append(f"{id} is a torn write: {place}")
        if id not in known and place["name"] not in unresolved_creations:
            violations.append(f"no client created {place}")
    if len(set(names)) < len(names):
        violations.append(f"{len(names) - len(set(names))} places were created twice")
    if database and database.query(CHANGE_LOG_DIFFERENCES) != "0":
        violations.append("the change log does not match the places")
    return violations


def print_violations(violations):
    for violation in violations[:PRINTED_VIOLATIONS]:
        print("  VIOLATION:", violation)


# Counts the places whose version differs from their last entry in the change log.
CHANGE_LOG_DIFFERENCES = """
    SELECT count(*)
    FROM (SELECT DISTINCT ON (point_id) point_id AS id, version, kind FROM changes ORDER BY point_id, sequence DESC) AS last
    FULL JOIN points USING (id)
    WHERE (CASE WHEN kind <> 'deleted' THEN last.version END) IS DISTINCT FROM points.version
"""
