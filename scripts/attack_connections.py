#!/usr/bin/env python3
"""Attacks a server by what takes connections to its database, and counts them: exports that nobody reads, streams of HTTP/2
whose window is shut, uploads that send nothing. Meanwhile a second server starts on the same database, and both are asked for places.

  python3 scripts/attack_connections.py --waymark .build/release/waymark

Prints a row of a Markdown table for each attack.
"""

import argparse
import collections
import http.client
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from load import Postgres, Waymark

# Fifty megabytes, far more than sockets hold.
PLACES = """
    INSERT INTO points (id, lat, long, name, tags)
    SELECT gen_random_uuid(), 10 + number / 1e4, 20, 'place ' || number, json_build_object('t', repeat('x', 2000))
    FROM generate_series(1, 25000) AS number
"""

COLUMNS = [
    "attack", "connections at most", "failed requests of the other server", "of the attacked one",
    "attackers' responses", "`waymark migrate`",
]


def connect(port):
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    return client


def unread_exports(port, count=130):
    clients = []
    for _ in range(count):
        client = connect(port)
        client.sendall(b"GET /locations/export HTTP/1.1\r\nHost: attack\r\n\r\n")
        clients.append(client)
    return clients


def idle_imports(port, count=50):
    clients = []
    for _ in range(count):
        client = connect(port)
        client.sendall(
            b"POST /locations/import HTTP/1.1\r\nHost: attack\r\nContent-Type: application/x-ndjson\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        clients.append(client)
    return clients


def shut_streams(port, count=100):
    """One connection of HTTP/2 (RFC 9113) with that many exports, of none of which a byte may be sent."""

    def frame(kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    settings = struct.pack(">HI", 4, 0)  # SETTINGS_INITIAL_WINDOW_SIZE is 0
    path, authority = b"/locations/export", b"attack"
    # :method GET, :scheme http, and literals for :path and :authority, by RFC 7541's static table.
    block = b"\x82\x86\x04" + bytes([len(path)]) + path + b"\x01" + bytes([len(authority)]) + authority
    client = connect(port)
    client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, settings))
    for number in range(count):
        client.sendall(frame(1, 5, 2 * number + 1, block))
    return [client]


ATTACKS = {
    "130 unread exports": unread_exports,
    "1 connection of HTTP/2, 100 exports, its window shut": shut_streams,
    "50 uploads that send nothing": idle_imports,
    "all of them": lambda port: unread_exports(port) + shut_streams(port) + idle_imports(port),
}


def responses(clients):
    """What the clients of HTTP/1.1 that asked for something were told, by status, without reading much."""
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


class Watch(threading.Thread):
    """Counts a server's backends, again and again, on a connection of its own that it has before all others."""

    def __init__(self, database, name):
        super().__init__(daemon=True)
        self.sql = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}';\n"
        command = ["psql", "-qtAX", "-v", "ON_ERROR_STOP=1", database.url]
        self.psql = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.maximum = self.count()
        self.is_over = threading.Event()

    def count(self):
        self.psql.stdin.write(self.sql)
        self.psql.stdin.flush()
        return int(self.psql.stdout.readline())

    def run(self):
        while not self.is_over.wait(0.02):
            self.maximum = max(self.maximum, self.count())

    def end(self):
        self.is_over.set()
        self.join()
        self.psql.stdin.close()
        self.psql.wait()


class Client(threading.Thread):
    """Asks a server for places, and counts how often it gets none."""

    def __init__(self, port, end):
        super().__init__(daemon=True)
        self.port = port
        self.end = end
        self.requests = 0
        self.failures = 0

    def run(self):
        while time.monotonic() < self.end:
            self.requests += 1
            self.failures += fails(self.port)
            time.sleep(0.05)


def fails(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/locations?lat=10&long=20&limit=3")
        return connection.getresponse().status != 200
    except OSError:
        return True
    finally:
        connection.close()


def wait_until_live(port):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/health/live")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.05)
    sys.exit("the other server did not start")


def measure(program, attack, seconds, pool_size):
    """A row of the table."""
    with tempfile.TemporaryDirectory(prefix="waymark-attack.") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        database = Postgres(folder)
        database.start()
        servers = []
        try:
            environment = {
                "POINT_STORE": "postgres", "DATABASE_POOL_SIZE": str(pool_size),
                "MIGRATIONS_PATH": str(pathlib.Path(__file__).resolve().parent.parent / "Migrations"),
            }
            for server in ("attacked", "other"):
                url = f"{database.url}?application_name={server}"
                servers.append(Waymark(program, environment | {"DATABASE_URL": url}))
            servers[0].command("migrate")
            database.query(PLACES)
            attacked, other = servers
            attacked.start()
            attacked.wait_until_ready()
            watch = Watch(database, "attacked")
            watch.start()
            clients = ATTACKS[attack](attacked.port)
            # It has no connection yet, and needs some now.
            other.start()
            wait_until_live(other.port)
            end = time.monotonic() + seconds
            askers = {server: [Client(server.port, end) for _ in range(8)] for server in servers}
            for asker in askers[attacked] + askers[other]:
                asker.start()
            for asker in askers[attacked] + askers[other]:
                asker.join()
            # Under no name that is counted.
            unnamed = attacked.environment | {"DATABASE_URL": database.url}
            migrates = subprocess.run([program, "migrate"], env=unnamed, capture_output=True, check=False).returncode == 0
            watch.end()
            told = responses(clients)
            for client in clients:
                client.close()
        finally:
            for server in servers:
                if hasattr(server, "process"):
                    server.kill()
            database.stop()
    failed = [
        f"{sum(asker.failures for asker in askers[server])} of {sum(asker.requests for asker in askers[server])}"
        for server in (other, attacked)
    ]
    return [attack, watch.maximum, *failed, told, "works" if migrates else "fails"]


def report(program, seconds=10, pool_size=8):
    """Prints the table; returns whether all held."""
    print("|", " | ".join(COLUMNS), "|")
    print("| --- | ---: | ---: | ---: | --- | --- |", flush=True)
    held = True
    for attack in ATTACKS:
        row = measure(program, attack, seconds, pool_size)
        print("|", " | ".join(map(str, row)), "|", flush=True)
        held = held and row[1] <= pool_size and row[2].startswith("0 ") and row[3].startswith("0 ") and row[5] == "works"
    return held


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waymark", required=True, help="the program")
    parser.add_argument("--seconds", type=float, default=10, help="how long each attack lasts")
    parser.add_argument("--pool-size", type=int, default=8, help="DATABASE_POOL_SIZE")
    options = parser.parse_args()
    sys.exit(0 if report(options.waymark, options.seconds, options.pool_size) else 1)


if __name__ == "__main__":
    main()
