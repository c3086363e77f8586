#!/usr/bin/env python3
"""What scripts/soak runs: clients at a steady rate, faults around the server, a line each half minute and a verdict."""

import argparse
import collections
import http.client
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from load import LOG_DIFFERENCES, Client, Postgres, Waymark, complaints_about, places_of

CLIENTS = 16
# A client writes no more places than this, so that the memory that places take stays what it is.
PLACES_OF_ONE = 100
INTERVAL_SECONDS = 30
# Memory is compared with what it is after this long, and taken between faults: a crowd that is there takes its share.
WARM_UP_SECONDS = 60
SETTLING_SECONDS = 2
GROWTH_ALLOWED = 1.1
READS = (
    "/locations?lat={lat}&long={long}",
    "/locations?lat={lat}&long={long}&radius=500000&limit=100",
    "/locations?bbox=0,0,2,90&limit=50",
    "/locations/check?lat={lat}&long={long}",
    "/locations/featured",
    "/categories",
)


class SoakClient(Client):
    """Reads and writes at a steady rate."""

    def __init__(self, number, port, stopping, key, rate):
        super().__init__(number, port, stopping, key)
        self.pause = 1 / rate
        self.reads = 0
        self.confirmations = 0
        self.tags = {}
        self.times = []

    def run(self):
        due = time.monotonic()
        while not self.stopping.is_set():
            due = max(due + self.pause * self.random.uniform(0.5, 1.5), time.monotonic() - 1)
            time.sleep(max(0, due - time.monotonic()))
            start = time.monotonic()
            self.act()
            self.times.append(time.monotonic() - start)

    def act(self):
        known = [(id, states[0]) for id, states in self.revisions.items() if len(states) == 1 and states[0] > 0]
        id, revision = self.random.choice(known) if known else (None, 0)
        draw = self.random.random()
        if draw < 0.5:
            self.read(self.random.choice(READS))
        elif draw < 0.6 and id:
            self.read(f"/locations/{id}")
        elif len(known) >= PLACES_OF_ONE:
            self.change("DELETE", id, revision, None)
        elif id is None or draw < 0.7:
            self.put_new()
        elif draw < 0.71:
            self.create()
        elif draw < 0.95:
            self.change(self.random.choice(("PUT", "PATCH")), id, revision, self.place(id, revision + 1))
        else:
            self.change("DELETE", id, revision, None)

    def read(self, template):
        path = template.format(lat=self.random.randrange(-80, 80), long=self.random.randrange(-180, 180))
        headers = {"If-None-Match": self.tags[path]} if path in self.tags else {}
        answer = self.request("GET", path, None, headers)
        if answer is None:
            return
        self.reads += 1
        self.confirmations += answer.status == 304
        # There may be no place to feature yet.
        if answer.status not in (200, 304) and not (answer.status == 404 and path.endswith("featured")):
            self.complaints.append(f"GET {path} was answered with {answer.status}")
        if len(self.tags) >= 1000:
            self.tags.clear()
        if answer.headers.get("etag"):
            self.tags[path] = answer.headers["etag"]


class Faults:
    """What goes wrong around the server, one thing after another in random order."""

    def __init__(self, server, database, key, seed):
        self.server = server
        self.database = database
        self.key = key
        self.random = random.Random(seed)
        self.counts = collections.Counter()
        self.complaints = []
        # Held while something goes wrong; who takes it has a moment in which nothing does.
        self.under_way = threading.Lock()
        self.kinds = [self.slow_clients, self.burst, self.hang_up]
        if database:
            self.kinds += [self.restart, self.crash, self.cut]

    def run(self, stopping):
        """Each kind once in each round, the first round within the warm-up."""
        while not stopping.is_set():
            for kind in self.random.sample(self.kinds, len(self.kinds)):
                if stopping.wait(self.random.uniform(3, 9)):
                    return
                with self.under_way:
                    kind()
                self.counts[kind.__doc__] += 1

    def restart(self):
        "database restarts"
        self.database.stop("fast")
        time.sleep(self.random.uniform(0, 2))
        self.database.start()

    def crash(self):
        "database crashes"
        self.database.kill()
        self.database.start()

    def cut(self):
        "cuts of all connections"
        for _ in range(20):
            self.database.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'waymark'")
            time.sleep(0.05)

    def hang_up(self):
        "SIGHUPs"
        self.server.process.send_signal(signal.SIGHUP)

    def slow_clients(self):
        "crowds of slow clients"
        sockets = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(100)]
        for number, each in enumerate(sockets):
            head = b"GET /locations?limit=1000&fields=* HTTP/1.1\r\nHost: a\r\n"
            # Half of them never end their request, the others never read the answers.
            each.sendall(head if number % 2 else (head + b"\r\n") * 20)
        time.sleep(3)
        for each in sockets:
            each.close()

    def burst(self):
        "bursts of requests"
        end = time.monotonic() + 2

        def ask():
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
            while time.monotonic() < end:
                try:
                    connection.request("GET", "/locations?lat=1&long=1&limit=100")
                    answer = connection.getresponse()
                    answer.read()
                    if answer.status not in (200, 429, 503, 504):
                        self.complaints.append(f"a burst was answered with {answer.status}")
                except (OSError, http.client.HTTPException):
                    connection.close()
            connection.close()

        threads = [threading.Thread(target=ask, daemon=True) for _ in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def resident_megabytes(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


class Table:
    """A line each half minute."""

    HEAD = "  time   requests  304s  writes  try again   p50 ms   p99 ms  memory MB  files"

    def __init__(self, server, clients, faults):
        self.server = server
        self.clients = clients
        self.faults = faults
        self.start = time.monotonic()
        self.seen = collections.Counter()
        self.memory = []
        print(self.HEAD, flush=True)

    def line(self):
        totals = collections.Counter(
            requests=sum(client.reads + sum(client.acknowledged.values()) for client in self.clients),
            confirmations=sum(client.confirmations for client in self.clients),
            writes=sum(sum(client.acknowledged.values()) for client in self.clients),
            refusals=sum(sum(client.refusals.values()) for client in self.clients),
        )
        new = totals - self.seen
        self.seen = totals
        times = []
        for client in self.clients:
            times += client.times
            client.times = []
        times.sort()
        with self.faults.under_way:
            time.sleep(SETTLING_SECONDS)
            seconds = time.monotonic() - self.start
            if self.server.process.poll() is not None:
                return
            megabytes = resident_megabytes(self.server.process)
            files = len(os.listdir(f"/proc/{self.server.process.pid}/fd"))
        self.memory.append((seconds, megabytes))
        middle, late = (times[int(len(times) * part)] * 1000 if times else 0 for part in (0.5, 0.99))
        print(
            f"{int(seconds) // 60:3d}:{int(seconds) % 60:02d} {new['requests']:10d} {new['confirmations']:5d} {new['writes']:7d}"
            f" {new['refusals']:10d} {middle:8.1f} {late:8.1f} {megabytes:10.1f} {files:6d}",
            flush=True,
        )

    def complaints(self):
        warm = [megabytes for seconds, megabytes in self.memory if seconds >= WARM_UP_SECONDS]
        if len(warm) < 2:
            return ["it was too short to say anything about memory"]
        if max(warm) > GROWTH_ALLOWED * warm[0]:
            return [f"memory grew from {warm[0]:.1f} to {max(warm):.1f} MB"]
        return []


def soak(store, options):
    seconds = options.minutes * 60
    with tempfile.TemporaryDirectory(prefix="waymark-soak.") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        database = None
        environment = {"POINT_STORE": store, "API_KEYS_FILE": str(folder / "keys.txt")}
        if store == "postgres":
            database = Postgres(folder)
            database.start()
            environment["DATABASE_URL"] = database.url
            environment["MIGRATIONS_PATH"] = str(pathlib.Path(__file__).parent.parent / "Migrations")
        else:
            environment["MEMORY_STORE_PATH"] = str(folder / "places.db")
        server = Waymark(options.waymark, environment)
        key = make_key(server, folder / "keys.txt")
        try:
            if database:
                server.command("migrate")
            server.start()
            server.wait_until_ready()
            print(f"{store}, {options.minutes:g} minutes, {options.rate} requests/s, seed {options.seed}")
            stopping = threading.Event()
            rate = options.rate / CLIENTS
            clients = [SoakClient(number, server.port, stopping, key, rate) for number in range(CLIENTS)]
            for client in clients:
                client.start()
            faults = Faults(server, database, key, options.seed)
            trouble = threading.Thread(target=faults.run, args=(stopping,), daemon=True)
            trouble.start()
            table = Table(server, clients, faults)
            while time.monotonic() < table.start + seconds and server.process.poll() is None:
                due = table.start + INTERVAL_SECONDS * (len(table.memory) + 1)
                time.sleep(max(0, due - time.monotonic()))
                if server.process.poll() is None:
                    table.line()
            stopping.set()
            trouble.join()
            for client in clients:
                client.join()
            complaints = faults.complaints + table.complaints()
            if server.process.poll() is not None:
                complaints.append(f"the server ended with {server.process.returncode}")
            else:
                server.wait_until_ready()
                complaints += complaints_about(places_of(server.port), clients)
                if database and database.query(LOG_DIFFERENCES) != "0":
                    complaints.append("the change log tells of other places than there are")
        finally:
            server.kill()
            if database:
                database.stop()
    report(clients, faults, complaints)
    return not complaints


def make_key(server, path):
    """A key that may write; the line of the file goes to the standard output, and the key to the other."""
    command = [server.program, "keys", "create", "soak", "--scope", "write"]
    made = subprocess.run(command, env=server.environment | {"API_KEYS_FILE": ""}, check=True, capture_output=True, text=True)
    path.write_text(made.stdout)
    return re.search(r"wm_[A-Za-z0-9_-]+", made.stderr)[0]


def report(clients, faults, complaints):
    refusals = sum((client.refusals for client in clients), collections.Counter())
    print("  faults:", ", ".join(f"{count} {kind}" for kind, count in faults.counts.items()))
    print("  try again:", ", ".join(f"{count} × {status} {code}" for (status, code), count in refusals.items()) or "never")
    print(f"  acknowledged writes: {sum(sum(client.acknowledged.values()) for client in clients)}")
    for complaint in complaints[:20]:
        print("  WRONG:", complaint)
    print(f"  verdict: {'as promised' if not complaints else f'{len(complaints)} things are wrong'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True, help="the program")
    parser.add_argument("--store", choices=("postgres", "memory"), help="one store alone")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=int, default=500, help="requests a second")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="when what goes wrong")
    options = parser.parse_args()
    stores = [options.store] if options.store else ["postgres", "memory"]
    # Both are tried, whatever the first one shows.
    sys.exit(0 if all([soak(store, options) for store in stores]) else 1)


if __name__ == "__main__":
    main()
