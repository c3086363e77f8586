"""Counts database connections during requests that occupy them, and measures other requests.

The requests are exports that no client reads, HTTP/2 streams with a closed flow-control window, and uploads that send
nothing. During each attack, a second server starts on the same database, and both receive requests. Prints a row of a
Markdown table for each attack. Exits with 1 if the pool exceeds its size or another request fails.

  scripts/faults connections
  scripts/faults connections --seconds 3 --pool-size 4
"""

import collections
import socket
import struct
import subprocess
import sys
import threading
import time

from http_clients import HTTP2_PREFACE, get_request, http2_frame, responds_with_200, silent_client
from servers import Postgres, Waymark, argument_parser, temporary_folder

# Fifty megabytes, much more than socket buffers hold.
PLACES = """
    INSERT INTO points (id, lat, long, name, tags)
    SELECT gen_random_uuid(), 10 + number / 1e4, 20, 'place ' || number, json_build_object('t', repeat('x', 2000))
    FROM generate_series(1, 25000) AS number
"""

COLUMNS = [
    "attack", "most connections", "failed requests of the other server", "failed requests of the attacked server",
    "responses to the attack", "`waymark migrate`",
]
EMPTY_IMPORT = (
    b"POST /locations/import HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def unread_exports(port, count=130):
    return [silent_client(port, get_request("/locations/export")) for _ in range(count)]


def idle_imports(port, count=50):
    return [silent_client(port, EMPTY_IMPORT) for _ in range(count)]


def blocked_streams(port, count=100):
    """Opens one HTTP/2 connection (RFC 9113) with that many exports and a flow-control window of 0."""

    settings = struct.pack(">HI", 4, 0)  # SETTINGS_INITIAL_WINDOW_SIZE is 0
    path, authority = b"/locations/export", b"attack"
    # :method GET, :scheme http, and literals for :path and :authority, from the static table of RFC 7541.
    block = b"\x82\x86\x04" + bytes([len(path)]) + path + b"\x01" + bytes([len(authority)]) + authority
    client = silent_client(port, HTTP2_PREFACE + http2_frame(4, 0, 0, settings))
    for number in range(count):
        client.sendall(http2_frame(1, 5, 2 * number + 1, block))
    return [client]


ATTACKS = {
    "130 unread exports": unread_exports,
    "an HTTP/2 connection, 100 exports, closed window": blocked_streams,
    "50 uploads that send nothing": idle_imports,
    "all at once": lambda port: unread_exports(port) + blocked_streams(port) + idle_imports(port),
}


def response_statuses(clients):
    """Returns the number of HTTP/1.1 responses by status, reading only their status lines."""
    statuses = collections.Counter()
    for client in clients:
        client.settimeout(0.01)
        try:
            head = client.recv(12, socket.MSG_PEEK)
        except OSError:
            continue
        if head.startswith(b"HTTP/1.1"):
            statuses[head[9:12].decode()] += 1
    return ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items())) or "none"


class ConnectionMonitor(threading.Thread):
    """A thread that polls the number of a server's database connections, over a connection opened before the attack."""

    def __init__(self, database, name):
        super().__init__(daemon=True)
        self.sql = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}';\n"
        command = ["psql", "-qtAX", "-v", "ON_ERROR_STOP=1", database.url]
        self.psql = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.maximum = self.count()
        self.stopping = threading.Event()

    def count(self):
        self.psql.stdin.write(self.sql)
        self.psql.stdin.flush()
        return int(self.psql.stdout.readline())

    def run(self):
        while not self.stopping.wait(0.02):
            self.maximum = max(self.maximum, self.count())

    def stop(self):
        self.stopping.set()
        self.join()
        self.psql.stdin.close()
        self.psql.wait()


class Client(threading.Thread):
    """A client that requests places until a deadline, and counts failures."""

    def __init__(self, port, deadline):
        super().__init__(daemon=True)
        self.port = port
        self.deadline = deadline
        self.requests = 0
        self.failures = 0

    def run(self):
        while time.monotonic() < self.deadline:
            self.requests += 1
            self.failures += not responds_with_200(self.port, "/locations?lat=10&long=20&limit=3")
            time.sleep(0.05)


def measure(program, attack, seconds, pool_size):
    """Returns a row of the table."""
    with temporary_folder("waymark-attack.") as folder:
        database = Postgres(folder)
        database.create()
        database.start()
        servers = []
        try:
            environment = {"POINT_STORE": "postgres", "DATABASE_POOL_SIZE": str(pool_size)}
            for name in ("attacked", "other"):
                url = f"{database.url}?application_name={name}"
                servers.append(Waymark(program, environment | {"DATABASE_URL": url}))
            attacked, other = servers
            attacked.command("migrate")
            database.query(PLACES)
            attacked.start()
            attacked.wait_until_ready()
            monitor = ConnectionMonitor(database, "attacked")
            monitor.start()
            silent_clients = ATTACKS[attack](attacked.port)
            # This server has no connection yet and must open some during the attack.
            other.start()
            other.wait_until_ready("/health/live")
            deadline = time.monotonic() + seconds
            clients = {server: [Client(server.port, deadline) for _ in range(8)] for server in servers}
            for client in clients[attacked] + clients[other]:
                client.start()
            for client in clients[attacked] + clients[other]:
                client.join()
            # The default application name, which is not counted.
            uncounted = attacked.environment | {"DATABASE_URL": database.url}
            migrates = subprocess.run([program, "migrate"], env=uncounted, capture_output=True, check=False).returncode == 0
            monitor.stop()
            statuses = response_statuses(silent_clients)
            for client in silent_clients:
                client.close()
        finally:
            for server in servers:
                server.kill()
            database.stop()
    failed = [
        f"{sum(client.failures for client in clients[server])} of {sum(client.requests for client in clients[server])}"
        for server in (other, attacked)
    ]
    return [attack, monitor.maximum, *failed, statuses, "works" if migrates else "fails"]


def report(program, seconds, pool_size):
    """Prints the table. Returns True if every attack stayed within the limits."""
    print("|", " | ".join(COLUMNS), "|")
    print("| --- | ---: | ---: | ---: | --- | --- |", flush=True)
    passed = True
    for attack in ATTACKS:
        row = measure(program, attack, seconds, pool_size)
        print("|", " | ".join(map(str, row)), "|", flush=True)
        passed = passed and row[1] <= pool_size and row[2].startswith("0 ") and row[3].startswith("0 ") and row[5] == "works"
    return passed


def main():
    parser = argument_parser(__doc__, stores=False, seed=False)
    parser.add_argument("--seconds", type=float, default=10, help="duration of each attack")
    parser.add_argument("--pool-size", type=int, default=8, help="DATABASE_POOL_SIZE")
    options = parser.parse_args()
    sys.exit(0 if report(options.waymark, options.seconds, options.pool_size) else 1)


if __name__ == "__main__":
    main()
