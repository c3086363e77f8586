"""What scripts/crash-test, scripts/soak and scripts/chaos share: servers of their own, clients that know what must be there,
and what compares that with what is there.

Each place belongs to one client, which so knows what must be there. A place's revision, the number of
its changes, stands in its name, its latitude and its tags: a place in which they differ was written by halves. Its version
must be the one that was acknowledged with the revision. Where a request has no answer,
the place may be as before or after it; a creation is then repeated with its Idempotency-Key, and must not be done twice.
"""

import collections
import glob
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
import urllib.parse

# What the service announces that a client may have to try again, by status and code.
ANNOUNCED = {(503, "store-unavailable"), (503, "overloaded"), (504, "store-timeout"), (504, "outcome-unknown"), (429, "rate-limited")}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def children(parent):
    """Returns the identifiers of a process's children, from /proc: `ps` is in no base system."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                line = file.read()
        except OSError:
            continue
        # The name before the last parenthesis may contain anything; after it come the state and the parent.
        if int(line.rpartition(")")[2].split()[1]) == parent:
            found.append(int(line.split(" ", 1)[0]))
    return found


class Postgres:
    """A PostgreSQL of our own, with the schema in it."""

    name = "PostgreSQL"

    def __init__(self, folder, data="data", settings=()):
        self.programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.data = folder / data
        self.settings = settings
        self.port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self.create()

    def create(self):
        self.make_folder()
        self.run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")

    def make_folder(self):
        self.data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(self.data, "postgres")

    def run(self, program, *arguments, errors=None):
        # PostgreSQL refuses to run as root.
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
        command = user + [f"{self.programs}/{program}", "-D", str(self.data), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=errors, cwd="/tmp", close_fds=True)

    def start(self):
        # What a killed process wrote is with the kernel, so nothing is lost without fsync, and recovery takes less time.
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
        # pg_ctl would take it for one that runs, and say so.
        (self.data / "postmaster.pid").unlink()

    def stop(self, mode="immediate"):
        self.run("pg_ctl", "-m", mode, "-w", "-s", "stop")

    def query(self, *statements):
        command = ["psql", "-qtAX", "-v", "ON_ERROR_STOP=1", self.url]
        for statement in statements:
            command += ["-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


class Waymark:
    """The server, on one port for all its lives."""

    name = "Waymark"

    def __init__(self, program, environment):
        self.program = program
        self.port = free_port()
        quiet = {"LOG_LEVEL": "critical", "ANALYTICS": "off", "HTTP_PORT": str(self.port)}
        self.environment = os.environ | quiet | environment

    def command(self, *arguments):
        """What the command writes."""
        command = [self.program, *arguments]
        return subprocess.run(command, env=self.environment, check=True, stdout=subprocess.PIPE, text=True).stdout

    def start(self):
        self.process = subprocess.Popen([self.program, "serve"], env=self.environment)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def wait_until_ready(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/health/ready")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        sys.exit("Waymark was not ready within a minute")


class Client(threading.Thread):
    """Creates, replaces, patches and deletes places of its own, one request after another."""

    def __init__(self, number, port, stopping, key=None):
        super().__init__(daemon=True)
        self.credentials = {"Authorization": f"Bearer {key}"} if key else {}
        self.number = number
        self.port = port
        self.stopping = stopping
        self.random = random.Random(number)
        self.serial = 0
        self.connection = None
        # The revisions that each place may be of now; 0 is gone. Only a place with one of them is written to.
        self.revisions = {}
        # The entity tag of the last revision of each place that was acknowledged.
        self.etags = {}
        # Creations that were never answered: the names of places that may be there.
        self.open_creations = set()
        self.acknowledged = dict.fromkeys(("POST", "PUT", "PATCH", "DELETE"), 0)
        self.unanswered = 0
        # How often it was told to try again, by status and code.
        self.refusals = collections.Counter()
        self.complaints = []

    def run(self):
        while not self.stopping.is_set():
            known = [(id, states[0]) for id, states in self.revisions.items() if len(states) == 1 and states[0] > 0]
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

    def place(self, name, revision):
        return {"name": f"crash {name} r{revision}", "lat": revision % 90, "long": 1, "tags": {"r": str(revision)}}

    def create(self):
        self.serial += 1
        name = f"{self.number}-{self.serial}"
        self.open_creations.add(f"crash {name} r1")
        while not self.stopping.is_set():
            answer = self.request("POST", "/locations", self.place(name, 1), {"Idempotency-Key": f'"{name}"'})
            if answer and answer.status == 201:
                self.open_creations.remove(f"crash {name} r1")
                id = answer.headers["location"].rsplit("/", 1)[1]
                self.revisions[id] = [1]
                self.etags[id] = answer.headers["etag"]
                return
            if answer and answer.status != 409:  # the first is still in flight
                self.complaints.append(f"POST of {name} was answered with {answer.status}")
                return

    def put_new(self):
        id = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        self.change("PUT", id, 0, self.place(id, 1))

    def change(self, method, id, revision, place):
        condition = {"If-Match": self.etags[id]} if revision else {"If-None-Match": "*"}
        answer = self.request(method, f"/locations/{id}", place, condition)
        after = revision + 1 if place else 0
        if answer is None:
            self.revisions[id] = [revision, after]
        elif answer.status in (200, 201, 204):
            self.revisions[id] = [after]
            self.etags[id] = answer.headers.get("etag")
        else:
            self.complaints.append(f"{method} of {id} at {revision} was answered with {answer.status}")
            self.revisions[id] = [revision, after]

    def request(self, method, path, body, headers):
        """The answer; None where it isn't known whether it was done. Waits while nobody listens."""
        headers = headers | self.credentials
        if body:
            headers["Content-Type"] = f"application/{'merge-patch+' if method == 'PATCH' else ''}json"
        while not self.connect():
            if self.stopping.is_set():
                return None
            time.sleep(0.05)
        try:
            self.connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = self.connection.getresponse()
            answer.body = answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            answer = None
        if answer and (answer.status >= 500 or answer.status == 429):
            self.note_refusal(method, path, answer)
            answer = None
        if answer is None:
            self.unanswered += 1
            time.sleep(0.02)
            return None
        if answer.status < 300 and method in self.acknowledged:
            self.acknowledged[method] += 1
        return answer

    def note_refusal(self, method, path, answer):
        try:
            code = json.loads(answer.body)["code"]
        except (ValueError, KeyError, TypeError):
            code = "none"
        self.refusals[answer.status, code] += 1
        if (answer.status, code) not in ANNOUNCED:
            self.complaints.append(f"{method} {path} was answered with {answer.status} {code}")
        elif answer.status != 504 and not answer.headers.get("retry-after"):
            self.complaints.append(f"{method} {path} was answered with {answer.status} and no Retry-After")

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


def places_of(port):
    """All that were written here, by id."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    path = "/locations?limit=1000&fields=*"
    places = {}
    while path:
        connection.request("GET", path)
        answer = connection.getresponse()
        for place in json.loads(answer.read()):
            if place["name"].startswith("crash "):
                places[place["id"]] = place
        link = re.match(r"<([^>]*)>", answer.headers.get("link") or "")
        path = link and urllib.parse.urljoin(path, link[1])
    return places


def complaints_about(places, clients):
    """What is not as it was acknowledged."""
    complaints = [complaint for client in clients for complaint in client.complaints]
    known = set()
    for client in clients:
        for id, revisions in client.revisions.items():
            known.add(id)
            found = int(places[id]["tags"]["r"]) if id in places else 0
            if found not in revisions:
                complaints.append(f"{id} is of revision {found}, not {' or '.join(map(str, revisions))}")
            elif found and revisions == [found] and f'"{places[id]["version"]}"' != client.etags[id]:
                complaints.append(f"{id} is of version {places[id]['version']}, not {client.etags[id]}")
    names = [place["name"] for place in places.values()]
    open_creations = set().union(*(client.open_creations for client in clients))
    for id, place in places.items():
        revision = int(place["tags"].get("r", 0))
        if not place["name"].endswith(f" r{revision}") or place["lat"] != revision % 90 or place["tags"] != {"r": str(revision)}:
            complaints.append(f"{id} is half there: {place}")
        if id not in known and place["name"] not in open_creations:
            complaints.append(f"nobody knows of {place}")
    if len(set(names)) < len(names):
        complaints.append(f"{len(names) - len(set(names))} were created twice")
    return complaints


# The log tells of each place that is there, and of its version.
LOG_DIFFERENCES = """
    SELECT count(*)
    FROM (SELECT DISTINCT ON (point_id) point_id AS id, version, kind FROM changes ORDER BY point_id, sequence DESC) AS last
    FULL JOIN points USING (id)
    WHERE (CASE WHEN kind <> 'deleted' THEN last.version END) IS DISTINCT FROM points.version
"""
