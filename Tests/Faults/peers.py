"""Has foreign peers respond with what HTTP does not allow, and checks that no process of Waymark ends by it.

The peers are the receiver of a webhook, the issuer of tokens, and the server that commands call. Each response is one of
some hundred that are wrong in a way of their own, or a valid one with random alterations. Exits with 1 if the server ends,
a command ends by a signal or takes too long, or the server no longer sends to a receiver that is right.

  scripts/faults peers                      # two minutes
  scripts/faults peers --seconds 600 --seed 7
"""

import collections
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from servers import Waymark, argument_parser, temporary_folder

HEADS = [f"HTTP/1.1 {status} x" for status in (
    "099", "000", "007", "600", "999", "1000", "65635", "99999999999", "99", "9", "-10", "+20", "2e2", "2 0", "", "100", "101",
    "102", "103", "199", "200", "204", "205", "206", "301", "304", "400", "401", "410", "429", "500", "503", "599")]
HEADS += ["HTTP/2.0 200 OK", "HTTP/1.0 200 OK", "HTTP/0.9 200 OK", "HTTP/1.1", "HTTP/1.1 200", "ICY 200 OK", "", "\0\0\0\4\0\0\0\0\0"]
FIELDS = [
    "content-length: 0", "content-length: 5", "content-length: 6", "content-length: -1", "content-length: 99999999999999999999",
    "content-length: 5, 5", "transfer-encoding: chunked", "transfer-encoding: chunked, gzip", "transfer-encoding: x",
    "connection: close", "connection: upgrade", "upgrade: h2c", "retry-after: 1", "retry-after: 99999999999999999999",
    "retry-after: Fri, 31 Dec 9999 23:59:59 GMT", "cache-control: max-age=99999999999999999999", "age: -1",
    "content-type: application/x-ndjson", "content-type: application/vnd.sqlite3", "waymark-position: 1.2",
    "waymark-position: \"", "content-encoding: gzip", "x: " + "a" * 100_000, ": x", " folded", "x\0: y", "x: \xff"]
BODIES = [
    "", "hello", "5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\nx: y\r\n\r\n", "fffffffffffffffff\r\n", "-1\r\n", "5;" + "a" * 100_000,
    "[]", "{}", "[" * 100_000, '{"keys":[]}', '{"keys":[{"kty":"RSA","n":"","e":"","alg":"RS256","kid":"1"}]}',
    '{"keys":[{"kty":"RSA","n":"AQ","e":"AQ","alg":"RS256","kid":"1"}]}',
    '{"keys":[{"kty":"EC","crv":"P-256","x":"","y":"","alg":"ES256","kid":"1"}]}',
    '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA","alg":"EdDSA","kid":"1"}]}',
    '{"changes":[],"position":"1.2","more":false}', '{"changes":[{"id":"x"}],"position":"1.2","more":false}',
    '{"created":9223372036854775807,"updated":9223372036854775807,"unchanged":1,"rejected":1,"errors":[]}',
    '{"created":1,"updated":1,"unchanged":1,"rejected":9223372036854775807,"errors":[{"row":-9223372036854775808,"detail":""}]}',
    '[{"id":"1","name":"a","distance":-1e300}]', '[{"id":"1","name":"a","distance":1e300}]', "a" * 200_000]
INTERIM = ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 x\r\nlink: y\r\n\r\n"]
COMMANDS = [
    ["export", "{folder}/export.ndjson"], ["search", "cafe"], ["webhooks"], ["backup", "{folder}/copy.db"],
    ["follow", "--once", "--to", "{folder}/follow.db"], ["import", "{folder}/places.csv"],
    ["import", "--areas", "{folder}/areas.geojson"], ["duplicates", "a"]]
# A command that tries again ends by this time.
COMMAND_SECONDS = 6
CONNECTION_SECONDS = 20
ATTEMPT_SECONDS = 30


def response(random):
    """Returns the bytes of a response, which may be valid."""
    fields = random.sample(FIELDS, random.choice((0, 1, 1, 2, 2, 3)))
    body = random.choice(BODIES)
    if random.random() < 0.3:
        fields.append(f"content-length: {len(body)}")
    text = random.choice(INTERIM) * random.choice((0, 0, 0, 1, 30)) + "\r\n".join([random.choice(HEADS), *fields]) + "\r\n\r\n" + body
    text = text * random.choice((1, 1, 1, 2))
    data = bytearray(text.encode("latin-1"))
    for _ in range(random.choice((0, 0, 1, 2))):
        position = random.randrange(len(data) + 1)
        if random.random() < 0.5:
            data[position:position] = bytes([random.choice((0, 10, 13, 32, 45, 48, 57, 58, 255))])
        else:
            del data[position:position + random.choice((1, 1, 2, 50, 10_000))]
    return bytes(data)


class Peer:
    """A server that sends one response to each connection."""

    def __init__(self, seed):
        self.random = random.Random(f"peer {seed}")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.is_right = False
        self.last = b""
        self.count = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            data = b"HTTP/1.1 204 x\r\n\r\n" if self.is_right else response(self.random)
            early = not self.is_right and self.random.random() < 0.1
            self.last, self.count = data, self.count + 1
            threading.Thread(target=self.serve, args=(connection, data, early), daemon=True).start()

    @staticmethod
    def serve(connection, data, early):
        try:
            with connection:
                connection.settimeout(CONNECTION_SECONDS)
                if not early:
                    request = b""
                    while b"\r\n\r\n" not in request:
                        piece = connection.recv(65536)
                        if not piece:
                            return
                        request += piece
                    length = re.search(rb"(?i)content-length: *(\d+)", request)
                    rest = int(length[1]) - len(request.partition(b"\r\n\r\n")[2]) if length else 0
                    while rest > 0 and (piece := connection.recv(65536)):
                        rest -= len(piece)
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
        except OSError:
            pass


class Check:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.peer = Peer(options.seed)
        self.random = random.Random(options.seed)
        self.counts = collections.Counter()
        self.failures = []
        created = subprocess.run(
            [options.waymark, "keys", "create", "check", "--scope", "admin"], env=os.environ | {"API_KEYS_FILE": ""},
            check=True, capture_output=True, text=True)
        (folder / "keys.txt").write_text(created.stdout)
        self.key = re.search(r"wm_[A-Za-z0-9_-]+", created.stderr)[0]
        (folder / "places.csv").write_text("name,lat,long\n" + "a,1,2\n" * 20_000)
        outline = [[[0, 0], [1, 0], [1, 1], [0, 0]]]
        (folder / "areas.geojson").write_text(json.dumps(
            {"type": "Feature", "properties": {"name": "a"}, "geometry": {"type": "Polygon", "coordinates": outline}}))
        self.server = Waymark(options.waymark, {
            "POINT_STORE": "memory", "MEMORY_STORE_PATH": str(folder / "places.db"), "API_KEYS_FILE": str(folder / "keys.txt"),
            "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8", "JWT_JWKS": f"http://127.0.0.1:{self.peer.port}/jwks", "JWT_ISSUER": "i",
            "JWT_AUDIENCE": "a"})

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=ATTEMPT_SECONDS)
        try:
            headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            connection.request(method, path, body and json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def fail(self, text):
        self.failures.append(f"{text}; the last response began with {self.peer.last[:200]!r}")
        print(f"  FAILED: {self.failures[-1]}", flush=True)

    def run(self):
        with self.server:
            self.server.wait_until_ready(seconds=60)
            url = f"http://127.0.0.1:{self.peer.port}/hook"
            status, webhook = self.request("POST", "/webhooks", {"url": url})
            assert status == 201, webhook
            end = time.monotonic() + self.options.seconds
            while time.monotonic() < end and len(self.failures) < 10:
                for _ in range(40):
                    self.receive(webhook["id"])
                for _ in range(10):
                    self.reload()
                self.command()
                if self.server.process.poll() is not None:
                    self.fail(f"the server ended with {self.server.process.returncode}")
                    return
            self.peer.is_right = True
            status, delivery = self.request("POST", f"/webhooks/{webhook['id']}/test")
            if delivery.get("status") != 204:
                self.fail(f"a receiver that is right got {delivery}")

    def receive(self, id):
        try:
            status, _ = self.request("POST", f"/webhooks/{id}/test")
            self.counts["attempts of a webhook"] += 1
            if status != 200:
                self.fail(f"the test of a webhook is {status}")
        except (OSError, http.client.HTTPException) as error:
            self.fail(f"the test of a webhook: {error!r}")

    def reload(self):
        before, end = self.peer.count, time.monotonic() + CONNECTION_SECONDS
        self.server.process.send_signal(signal.SIGHUP)
        while self.peer.count == before and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(0.02)
        self.counts["fetches of token keys"] += 1

    def command(self):
        arguments = [part.format(folder=self.folder) for part in self.random.choice(COMMANDS)]
        environment = os.environ | {"WAYMARK_API_KEY": self.key}
        arguments += ["--url", f"http://127.0.0.1:{self.peer.port}"]
        process = subprocess.Popen(
            [self.options.waymark, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            _, log = process.communicate(timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            # `follow` tries again until it is stopped.
            process.kill()
            _, log = process.communicate()
            if arguments[0] != "follow":
                self.fail(f"waymark {arguments[0]} takes longer than {COMMAND_SECONDS} s")
        else:
            if process.returncode < 0:
                self.fail(f"waymark {arguments[0]} ended by the signal {-process.returncode}: {log[-500:]}")
        self.counts[f"waymark {arguments[0]}"] += 1
        for name in ("follow.db", "follow.db.follow", "follow.db.follow.ids"):
            (self.folder / name).unlink(missing_ok=True)


def main():
    parser = argument_parser(__doc__, stores=False)
    parser.add_argument("--seconds", type=float, default=120, help="duration of the check")
    options = parser.parse_args()
    with temporary_folder("waymark-peers.") as folder:
        check = Check(options, folder)
        print(f"{options.seconds:g} s, seed {options.seed}", flush=True)
        check.run()
    text = ", ".join(f"{count} {kind}" for kind, count in sorted(check.counts.items()))
    print(f"  {text}\n  result: {f'{len(check.failures)} failures' if check.failures else 'passed'}", flush=True)
    sys.exit(1 if check.failures else 0)


if __name__ == "__main__":
    main()
