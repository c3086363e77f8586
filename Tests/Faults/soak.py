"""Sends a mixed load for minutes while faults are injected, and looks for lost writes and growing memory.

No acknowledged write may be lost, all errors must be documented, and memory may not grow.

  scripts/faults soak                     # ten minutes on each store
  scripts/faults soak --store postgres --minutes 60 --rate 1000 --seed 7
"""

import collections
import http.client
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time

from http_clients import get_request
from revisions import Client, fetch_places, find_violations, print_violations
from servers import argument_parser, deployment, exit_after_each_store, memory_mib

CLIENTS = 16
# The maximum number of places of a client, so that the memory of places stays constant.
PLACES_PER_CLIENT = 100
INTERVAL_SECONDS = 30
# Memory is compared with its value after this time, and measured between faults, because bursts of clients take memory.
WARM_UP_SECONDS = 60
SETTLING_SECONDS = 2
MAXIMUM_GROWTH = 1.1
READS = (
    "/locations?lat={lat}&long={long}",
    "/locations?lat={lat}&long={long}&radius=500000&limit=100",
    "/locations?bbox=0,0,2,90&limit=50",
    "/locations/check?lat={lat}&long={long}",
    "/locations/featured",
    "/categories",
)


class SoakClient(Client):
    """A client that reads and writes at a steady rate."""

    def __init__(self, number, port, stopping, key, rate):
        super().__init__(number, port, stopping, key)
        self.pause = 1 / rate
        self.reads = 0
        self.not_modified = 0
        self.read_etags = {}
        self.latencies = []

    def run(self):
        due = time.monotonic()
        while not self.stopping.is_set():
            due = max(due + self.pause * self.random.uniform(0.5, 1.5), time.monotonic() - 1)
            time.sleep(max(0, due - time.monotonic()))
            start = time.monotonic()
            self.act()
            self.latencies.append(time.monotonic() - start)

    def act(self):
        known = self.known_revisions()
        id, revision = self.random.choice(known) if known else (None, 0)
        draw = self.random.random()
        if draw < 0.5:
            self.read(self.random.choice(READS))
        elif draw < 0.6 and id:
            self.read(f"/locations/{id}")
        elif len(known) >= PLACES_PER_CLIENT:
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
        headers = {"If-None-Match": self.read_etags[path]} if path in self.read_etags else {}
        response = self.request("GET", path, None, headers)
        if response is None:
            return
        self.reads += 1
        self.not_modified += response.status == 304
        # There may be no featured place yet.
        if response.status not in (200, 304) and not (response.status == 404 and path.endswith("featured")):
            self.violations.append(f"GET {path} returned {response.status}")
        if len(self.read_etags) >= 1000:
            self.read_etags.clear()
        if response.headers.get("etag"):
            self.read_etags[path] = response.headers["etag"]


class FaultInjector:
    """Faults around the server, one after another in random order."""

    def __init__(self, server, database, seed):
        self.server = server
        self.database = database
        self.random = random.Random(seed)
        self.counts = collections.Counter()
        self.violations = []
        # Held during a fault.
        self.lock = threading.Lock()
        self.faults = [
            (self.open_slow_clients, "crowds of slow clients"),
            (self.send_burst, "bursts of requests"),
            (self.reload, "SIGHUPs"),
        ]
        if database:
            self.faults += [
                (self.restart, "database restarts"),
                (self.crash, "database crashes"),
                (self.terminate_sessions, "cuts of all connections"),
            ]

    def run(self, stopping):
        """Injects each fault once per round; the first round ends within the warm-up."""
        while not stopping.is_set():
            for inject, name in self.random.sample(self.faults, len(self.faults)):
                if stopping.wait(self.random.uniform(3, 9)):
                    return
                with self.lock:
                    inject()
                self.counts[name] += 1

    def restart(self):
        self.database.stop("fast")
        time.sleep(self.random.uniform(0, 2))
        self.database.start()

    def crash(self):
        self.database.kill()
        self.database.start()

    def terminate_sessions(self):
        for _ in range(20):
            self.database.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'waymark'")
            time.sleep(0.05)

    def reload(self):
        self.server.process.send_signal(signal.SIGHUP)

    def open_slow_clients(self):
        request = get_request("/locations?limit=1000&fields=*")
        sockets = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(100)]
        for number, client in enumerate(sockets):
            # Half of them never finish their request, the others never read the responses.
            client.sendall(request[:-2] if number % 2 else request * 20)
        time.sleep(3)
        for client in sockets:
            client.close()

    def send_burst(self):
        threads = [threading.Thread(target=self.send_requests, args=(time.monotonic() + 2,), daemon=True) for _ in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def send_requests(self, deadline):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        while time.monotonic() < deadline:
            try:
                connection.request("GET", "/locations?lat=1&long=1&limit=100")
                response = connection.getresponse()
                response.read()
                if response.status not in (200, 429, 503, 504):
                    self.violations.append(f"a request of a burst returned {response.status}")
            except (OSError, http.client.HTTPException):
                connection.close()
        connection.close()


class Table:
    """The printed table, with a row per half minute."""

    HEAD = "  time   requests  304s  writes     errors   p50 ms   p99 ms  memory MB  files"

    def __init__(self, server, clients, injector):
        self.server = server
        self.clients = clients
        self.injector = injector
        self.start = time.monotonic()
        self.previous = collections.Counter()
        self.memory = []
        print(self.HEAD, flush=True)

    def print_row(self):
        totals = collections.Counter(
            requests=sum(client.reads + sum(client.acknowledged.values()) for client in self.clients),
            not_modified=sum(client.not_modified for client in self.clients),
            writes=sum(sum(client.acknowledged.values()) for client in self.clients),
            errors=sum(sum(client.errors.values()) for client in self.clients),
        )
        new = totals - self.previous
        self.previous = totals
        latencies = []
        for client in self.clients:
            latencies += client.latencies
            client.latencies = []
        latencies.sort()
        with self.injector.lock:
            time.sleep(SETTLING_SECONDS)
            seconds = time.monotonic() - self.start
            if self.server.process.poll() is not None:
                return
            mib = memory_mib(self.server.process.pid, "VmRSS")
            files = len(os.listdir(f"/proc/{self.server.process.pid}/fd"))
        self.memory.append((seconds, mib))
        p50, p99 = (latencies[int(len(latencies) * part)] * 1000 if latencies else 0 for part in (0.5, 0.99))
        print(
            f"{int(seconds) // 60:3d}:{int(seconds) % 60:02d} {new['requests']:10d} {new['not_modified']:5d} {new['writes']:7d}"
            f" {new['errors']:10d} {p50:8.1f} {p99:8.1f} {mib:10.1f} {files:6d}",
            flush=True,
        )

    def violations(self):
        warm = [mib for seconds, mib in self.memory if seconds >= WARM_UP_SECONDS]
        if len(warm) < 2:
            return ["the run was too short to measure the growth of memory"]
        if max(warm) > MAXIMUM_GROWTH * warm[0]:
            return [f"memory grew from {warm[0]:.1f} to {max(warm):.1f} MB"]
        return []


def test(store, options):
    seconds = options.minutes * 60
    with deployment(options.waymark, store, "waymark-soak.") as (folder, server, database):
        key = create_key(server, folder / "keys.txt")
        server.start()
        server.wait_until_ready()
        print(f"{store}, {options.minutes:g} minutes, {options.rate} requests/s, seed {options.seed}")
        stopping = threading.Event()
        rate = options.rate / CLIENTS
        clients = [SoakClient(number, server.port, stopping, key, rate) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        injector = FaultInjector(server, database, options.seed)
        injecting = threading.Thread(target=injector.run, args=(stopping,), daemon=True)
        injecting.start()
        table = Table(server, clients, injector)
        while time.monotonic() < table.start + seconds and server.process.poll() is None:
            due = table.start + INTERVAL_SECONDS * (len(table.memory) + 1)
            time.sleep(max(0, due - time.monotonic()))
            if server.process.poll() is None:
                table.print_row()
        stopping.set()
        injecting.join()
        for client in clients:
            client.join()
        violations = injector.violations + table.violations()
        if server.process.poll() is not None:
            violations.append(f"the server exited with {server.process.returncode}")
        else:
            server.wait_until_ready()
            violations += find_violations(fetch_places(server.port), clients, database)
    report(clients, injector, violations)
    return not violations


def create_key(server, path):
    """Configures the server with a key that may write, and returns the key."""
    command = [server.program, "keys", "create", "soak", "--scope", "write"]
    # Standard output has the line of the key file, standard error the key.
    environment = server.environment | {"API_KEYS_FILE": ""}
    created = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    path.write_text(created.stdout)
    server.environment["API_KEYS_FILE"] = str(path)
    return re.search(r"wm_[A-Za-z0-9_-]+", created.stderr)[0]


def report(clients, injector, violations):
    errors = sum((client.errors for client in clients), collections.Counter())
    print("  faults:", ", ".join(f"{count} {name}" for name, count in injector.counts.items()))
    print("  errors:", ", ".join(f"{count} × {status} {code}" for (status, code), count in errors.items()) or "none")
    print(f"  acknowledged writes: {sum(sum(client.acknowledged.values()) for client in clients)}")
    print_violations(violations)
    print(f"  result: {f'{len(violations)} violations' if violations else 'passed'}", flush=True)


def main():
    parser = argument_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=int, default=500, help="requests per second")
    exit_after_each_store(test, parser.parse_args())


if __name__ == "__main__":
    main()
