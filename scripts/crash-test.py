#!/usr/bin/env python3
"""What scripts/crash-test runs: servers that are killed, clients that write, and a comparison at the end.

Each place belongs to one client, which so knows what must be there. A place's revision, which is its version, stands
in its name, its latitude and its tags: a place in which they differ was written by halves. Where a request has no answer,
the place may be as before or after it; a creation is then repeated with its Idempotency-Key, and must not be done twice.
"""

import argparse
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


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Postgres:
    """A PostgreSQL of our own, with the schema in it."""

    name = "PostgreSQL"

    def __init__(self, folder):
        self.programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.data = folder / "data"
        self.port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self.data.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self.data, "postgres")
        self.run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")

    def run(self, program, *arguments):
        # PostgreSQL refuses to run as root.
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
        command = user + [f"{self.programs}/{program}", "-D", str(self.data), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/tmp", close_fds=True)

    def start(self):
        # What a killed process wrote is with the kernel, so nothing is lost without fsync, and recovery takes less time.
        options = f"-p {self.port} -h 127.0.0.1 -k {self.data} -c fsync=off"
        self.run("pg_ctl", "-w", "-s", "-l", str(self.data / "log"), "-o", options, "start")

    def kill(self):
        postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(postmaster)], capture_output=True, text=True)
        processes = [postmaster, *map(int, children.stdout.split())]
        for process in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        while any(os.path.exists(f"/proc/{process}") for process in processes):
            time.sleep(0.02)

    def stop(self):
        self.run("pg_ctl", "-m", "immediate", "-s", "stop")

    def query(self, sql):
        command = ["psql", "-qtAX", "-v", "ON_ERROR_STOP=1", self.url, "-c", sql]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class Waymark:
    """The server, on one port for all its lives."""

    name = "Waymark"

    def __init__(self, program, environment):
        self.program = program
        self.port = free_port()
        quiet = {"LOG_LEVEL": "critical", "ANALYTICS": "off", "HTTP_PORT": str(self.port)}
        self.environment = os.environ | quiet | environment

    def command(self, *arguments):
        subprocess.run([self.program, *arguments], env=self.environment, check=True, stdout=subprocess.DEVNULL)

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

    def __init__(self, number, port, stopping):
        super().__init__(daemon=True)
        self.number = number
        self.port = port
        self.stopping = stopping
        self.random = random.Random(number)
        self.serial = 0
        self.connection = None
        # The revisions that each place may be of now; 0 is gone. Only a place with one of them is written to.
        self.revisions = {}
        # Creations that were never answered: the names of places that may be there.
        self.open_creations = set()
        self.acknowledged = dict.fromkeys(("POST", "PUT", "PATCH", "DELETE"), 0)
        self.unanswered = 0
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
                self.revisions[answer.headers["location"].rsplit("/", 1)[1]] = [1]
                return
            if answer and answer.status != 409:  # the first is still in flight
                self.complaints.append(f"POST of {name} was answered with {answer.status}")
                return

    def put_new(self):
        id = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        self.change("PUT", id, 0, self.place(id, 1))

    def change(self, method, id, revision, place):
        condition = {"If-Match": f'"{revision}"'} if revision else {"If-None-Match": "*"}
        answer = self.request(method, f"/locations/{id}", place, condition)
        after = revision + 1 if place else 0
        if answer is None:
            self.revisions[id] = [revision, after]
        elif answer.status in (200, 201, 204):
            self.revisions[id] = [after]
        else:
            self.complaints.append(f"{method} of {id} at {revision} was answered with {answer.status}")
            self.revisions[id] = [revision, after]

    def request(self, method, path, body, headers):
        """The answer; None where it isn't known whether it was done. Waits while nobody listens."""
        headers = headers | {"Content-Type": f"application/{'merge-patch+' if method == 'PATCH' else ''}json"}
        while not self.connect():
            if self.stopping.is_set():
                return None
            time.sleep(0.05)
        try:
            self.connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = self.connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            answer = None
        if answer is None or answer.status >= 500:
            self.unanswered += 1
            time.sleep(0.02)
            return None
        if answer.status < 300:
            self.acknowledged[method] += 1
        return answer

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


def kill_at_random(victims, kills, seconds, generator):
    """Kills each as often as that, in random order at random times, and starts it again after a moment."""
    order = victims * kills
    generator.shuffle(order)
    start = time.monotonic()
    counts = dict.fromkeys((victim.name for victim in victims), 0)
    for index, victim in enumerate(order):
        time.sleep(max(0, start + (index + generator.random()) * seconds / len(order) - time.monotonic()))
        victim.kill()
        counts[victim.name] += 1
        time.sleep(generator.uniform(0, 0.2))
        victim.start()
    time.sleep(max(0, start + seconds - time.monotonic()))
    return counts


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
        path = link and re.sub(r"^https?://[^/]*", "", link[1])
    return places


def complaints_about(places, clients):
    """What is not as it was acknowledged."""
    complaints = [complaint for client in clients for complaint in client.complaints]
    known = set()
    for client in clients:
        for id, revisions in client.revisions.items():
            known.add(id)
            found = places[id]["version"] if id in places else 0
            if found not in revisions:
                complaints.append(f"{id} is of version {found}, not {' or '.join(map(str, revisions))}")
    names = [place["name"] for place in places.values()]
    open_creations = set().union(*(client.open_creations for client in clients))
    for id, place in places.items():
        version = place["version"]
        if not place["name"].endswith(f" r{version}") or place["lat"] != version % 90 or place["tags"] != {"r": str(version)}:
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


def test(store, options):
    generator = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="waymark-crash.") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        database = None
        if store == "postgres":
            database = Postgres(folder)
            database.start()
            environment = {"POINT_STORE": "postgres", "DATABASE_URL": database.url}
            environment["MIGRATIONS_PATH"] = str(pathlib.Path(__file__).parent.parent / "Migrations")
        else:
            environment = {"POINT_STORE": "memory", "MEMORY_STORE_PATH": str(folder / "places.db")}
        server = Waymark(options.waymark, environment)
        try:
            if database:
                server.command("migrate")
            server.start()
            server.wait_until_ready()
            stopping = threading.Event()
            clients = [Client(number, server.port, stopping) for number in range(options.clients)]
            for client in clients:
                client.start()
            counts = kill_at_random([server] + ([database] if database else []), options.kills, options.seconds, generator)
            stopping.set()
            for client in clients:
                client.join()
            # Once more, so that what is compared is what was kept.
            server.kill()
            server.start()
            server.wait_until_ready()
            places = places_of(server.port)
            complaints = complaints_about(places, clients)
            if database and database.query(LOG_DIFFERENCES) != "0":
                complaints.append("the change log tells of other places than there are")
        finally:
            server.kill()
            if database:
                database.stop()
    report(store, options, counts, clients, places, complaints)
    return not complaints


def report(store, options, counts, clients, places, complaints):
    acknowledged = {method: sum(client.acknowledged[method] for client in clients) for method in clients[0].acknowledged}
    print(f"{store}, {options.seconds} s, {options.clients} clients, seed {options.seed}")
    print("  killed with -9:", ", ".join(f"{name} {count} times" for name, count in counts.items()))
    print("  acknowledged:", ", ".join(f"{count} {method}" for method, count in acknowledged.items()))
    print(f"  without an answer: {sum(client.unanswered for client in clients)}; places afterwards: {len(places)}")
    for complaint in complaints[:20]:
        print("  WRONG:", complaint)
    print(f"  lost, half there or done twice: {len(complaints)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True, help="the program")
    parser.add_argument("--store", choices=("postgres", "memory"), help="one store alone")
    parser.add_argument("--seconds", type=float, default=60, help="how long clients write")
    parser.add_argument("--kills", type=int, default=10, help="how often each server is killed")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="when what is killed")
    options = parser.parse_args()
    stores = [options.store] if options.store else ["postgres", "memory"]
    # Both are tested, whatever the first one shows.
    sys.exit(0 if all([test(store, options) for store in stores]) else 1)


if __name__ == "__main__":
    main()
