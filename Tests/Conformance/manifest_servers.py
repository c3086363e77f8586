"""Checks that the metrics of the alert rules, the dashboard and the documentation exist on a running server, and that
the examples for nginx and Caddy work, also while two instances behind nginx are restarted one after the other."""

import argparse
import collections
import contextlib
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import yaml

import http_clients
from http_clients import get, get_request
from servers import Postgres, Waymark, free_port, temporary_folder

RULES = pathlib.Path("deploy/prometheus/waymark-alerts.yml")
DASHBOARD = pathlib.Path("deploy/grafana/waymark-dashboard.json")
OPERATIONS = pathlib.Path("docs/operations.md")
NGINX = pathlib.Path("deploy/nginx/waymark.conf")
DEPLOYMENT = pathlib.Path("docs/deployment.md")
CADDY = pathlib.Path("deploy/caddy/Caddyfile")
METRIC = re.compile(r"\b(?:http|store|database|memory|analytics|point|process|source|waymark)_[a-z_]+\b")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True, help="path of the program")
    parser.add_argument("--nginx", required=True)
    parser.add_argument("--caddy")
    parser.add_argument("--restarts", type=int, default=2, help="restarts of each of two instances behind nginx")
    parser.add_argument("--only-restarts", action="store_true", help="check the restarts alone, without Caddy")
    options = parser.parse_args()
    problems = []
    with temporary_folder("waymark-deploy.") as folder:
        create_certificate(folder)
        if not options.only_restarts:
            problems += check_metrics(options.waymark, folder)
            problems += check_forwarding(options, folder)
            problems += check_proxies(options, folder)
        problems += check_restarts(options, folder)
    for problem in problems:
        print(problem)
    print(f"{'restarts' if options.only_restarts else 'metrics, nginx and Caddy'}: {len(problems)} problems")
    sys.exit(1 if problems else 0)


# Metrics


def write_places(folder):
    """Writes a file of places, of 5 MB."""
    rows = "".join(
        json.dumps({"name": f"Place {number}", "lat": number % 180 - 90, "long": number % 360 - 180, "source": "check",
                    "sourceId": str(number), "tags": {"note": "x" * 50}}) + "\n"
        for number in range(30_000))
    path = folder / "places.ndjson"
    path.write_text(rows)
    return path


def check_metrics(program, folder):
    existing = metrics(program, {"POINT_STORE": "memory", "DATA_FILE": str(write_places(folder))})
    with Postgres(folder) as postgres:
        existing |= metrics(program, {"DATABASE_URL": postgres.url}, imported=write_places(folder))
    problems = []
    for path, names in (
        (RULES, metrics_of_rules()),
        (DASHBOARD, metrics_of_dashboard()),
        (OPERATIONS, metrics_of_operations()),
    ):
        if path == OPERATIONS:
            existing |= {name.removesuffix("_count") for name in existing}
        if len(names) < 8:
            problems.append(f"{path}: only {len(names)} metrics were found")
        problems += [f"{path}: the server has no metric {name}" for name in sorted(names - existing)]
    return problems


def metrics(program, environment, imported=None):
    """Returns the names of the series of a server after a few requests."""
    server = Waymark(program, environment | {"ANALYTICS": "log"})
    if imported:
        server.command("migrate")
        server.command("import", str(imported))
    server.start()
    try:
        server.wait_until_ready()
        # The first rendering asks the database for the imports.
        for target in ("/locations?lat=1&long=2", "/locations?limit=1", "/categories", "/metrics"):
            get(server.port, target)
        time.sleep(1)
        if "DATA_FILE" in environment:
            disconnect_while_sending(server.port)
        found = http_clients.metrics(server.port)
    finally:
        server.process.terminate()
        server.process.wait()
    return {series.split("{")[0] for series in found}


def disconnect_while_sending(port):
    """Requests more than socket buffers hold, and disconnects before the end of the response."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(get_request("/locations/export") * 10)
        connection.recv(1)
    deadline = time.monotonic() + 30
    while b"\nhttp_responses_incomplete_total{" not in get(port, "/metrics")[0] and time.monotonic() < deadline:
        time.sleep(0.2)


def metrics_of_rules():
    rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    return set().union(*(METRIC.findall(rule["expr"]) for rule in rules))


def metrics_of_dashboard():
    dashboard = json.loads(DASHBOARD.read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    return set().union(*map(METRIC.findall, expressions))


def metrics_of_operations():
    """Returns the metrics in the first column of the table, without the suffix _count of histograms."""
    rows = [line.split("|")[1] for line in OPERATIONS.read_text().splitlines() if line.startswith("| `")]
    names = set().union(*(METRIC.findall(row) for row in rows if "_" in row))
    return {name for name in names if not name.endswith("_")}


# Proxies


def check_proxies(options, folder):
    key = create_key(options.waymark, folder)
    server = Waymark(
        options.waymark,
        {"POINT_STORE": "memory", "DATA_FILE": str(write_places(folder)), "API_KEYS_FILE": str(folder / "keys.txt"),
         "TRUSTED_PROXIES": "127.0.0.1"})
    server.start()
    problems = []
    try:
        server.wait_until_ready()
        for proxy in (Nginx(options.nginx, folder, [server.port] * 2), Caddy(options.caddy, folder, server.port)):
            with proxy.running():
                problems += [f"{proxy.name}: {each}" for each in ProxyCheck(proxy, server.port, key, folder).problems()]
    finally:
        server.process.terminate()
        server.process.wait()
    return problems


class RecordingHandler(http.server.BaseHTTPRequestHandler):
    """Responds to each request, and keeps its headers by its path."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.recorded[self.path] = self.headers
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def check_forwarding(options, folder):
    """Checks that the server gets no header of a client's own that it would believe from a trusted proxy."""
    problems = []
    own = ["Forwarded: for=192.0.2.1;proto=http", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: http",
           "X-Forwarded-Prefix: /other"]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), RecordingHandler)
    server.recorded = {}
    # A proxy resets its idle connections when it ends.
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    for make in (lambda: Nginx(options.nginx, folder, [port] * 2), lambda: Caddy(options.caddy, folder, port)):
        proxy = make()
        expected = {"Forwarded": [], "X-Forwarded-For": ["127.0.0.1"], "X-Forwarded-Proto": ["https"]}
        targets = {"/forwarding": []}
        if proxy.name == "nginx":
            targets["/poi/forwarding"] = ["/poi"]
        with proxy.running():
            for target, prefix in targets.items():
                server.recorded.clear()
                ProxyCheck(proxy, port, None, folder).curl(target, *(word for each in own for word in ("-H", each)))
                headers = server.recorded.get("/forwarding")
                for name, values in (expected | {"X-Forwarded-Prefix": prefix}).items():
                    found = headers and headers.get_all(name, [])
                    if found != values:
                        problems.append(f"{proxy.name}: expected: {target} has {name} {values}, got {found}")
    server.shutdown()
    return problems


def create_key(program, folder):
    """Creates a key for everything in `keys.txt`, and returns it."""
    created = subprocess.run([program, "keys", "create", "check", "--scope", "admin"], check=True, capture_output=True, text=True)
    (folder / "keys.txt").write_text(created.stdout)
    return re.search(r"shown this once: (\S+)", created.stderr).group(1)


def create_certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=places.example.org", "-addext", "subjectAltName=DNS:places.example.org", "-keyout",
         str(folder / "key.pem"), "-out", str(folder / "fullchain.pem")], check=True, stderr=subprocess.DEVNULL)
    (folder / "key.pem").chmod(0o644)


def listens(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


class Proxy:
    """A proxy that runs its example configuration with other ports."""

    def __init__(self, program, folder, upstream):
        self.program = program
        self.folder = folder
        self.port = free_port()
        self.plain_port = free_port()
        self.upstream = upstream

    def replace_in(self, path, *pairs):
        """Returns the text of an example after replacements, each of which must be possible."""
        return self.replace(path, path.read_text(), *pairs)

    @staticmethod
    def replace(path, text, *pairs):
        for old, new in pairs:
            if old not in text:
                sys.exit(f"{path} does not contain '{old}'")
            text = text.replace(old, new)
        return text

    @contextlib.contextmanager
    def running(self):
        configuration = self.configure()
        with open(self.folder / f"{self.name}.log", "w") as log:
            environment = os.environ | {"HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder)}
            process = subprocess.Popen(self.command(configuration), stdout=log, stderr=log, env=environment)
        try:
            deadline = time.monotonic() + 60
            while not listens(self.port):
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"{self.name} did not start: {(self.folder / f'{self.name}.log').read_text()}")
                time.sleep(0.1)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


class Nginx(Proxy):
    name = "nginx"
    example = NGINX

    def configure(self):
        server = self.replace_in(
            NGINX, ("server 127.0.0.1:8080 ", f"server 127.0.0.1:{self.upstream[0]} "),
            ("server 127.0.0.1:8081 ", f"server 127.0.0.1:{self.upstream[1]} "),
            ("    listen [::]:80;\n", ""), ("    listen [::]:443 ssl http2;\n", ""),
            ("listen 80;", f"listen 127.0.0.1:{self.plain_port};"),
            ("listen 443 ssl http2;", f"listen 127.0.0.1:{self.port} ssl http2;"),
            ("/etc/ssl/places.example.org", str(self.folder)),
            ("    location / {", self.prefixed() + "    location / {"))
        user = "user root;" if os.geteuid() == 0 else ""
        temporary = "".join(
            f"{kind}_temp_path {self.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        main = (f"{user} daemon off; pid {self.folder}/nginx.pid; error_log stderr; events {{}}\n"
                f"http {{ access_log off; {temporary}\n{server}\n}}\n")
        path = self.folder / "nginx.conf"
        path.write_text(main)
        subprocess.run([self.program, "-t", "-q", "-e", "stderr", "-c", str(path)], check=True)
        return path

    def command(self, path):
        return [self.program, "-e", "stderr", "-c", str(path)]


    def prefixed(self):
        """Returns the location with a path prefix of the documentation, with the other headers of the example."""
        location = re.search(r"```nginx\n(location /poi/ \{\n.*?\n\}\n)```", DEPLOYMENT.read_text(), re.DOTALL).group(1)
        server = NGINX.read_text()
        headers = [line for line in server.splitlines(True)
                   if "proxy_set_header" in line and "X-Forwarded-Prefix" not in line]
        return self.replace(DEPLOYMENT, location, ("    # and the other headers of the example\n", "".join(headers)))


class Caddy(Proxy):
    name = "Caddy"
    example = CADDY

    def configure(self):
        site = self.replace_in(
            CADDY, ("\nplaces.example.org {\n",
                    "\n{\n\tadmin off\n\tauto_https disable_redirects\n}\n"
                    f"https://places.example.org:{self.port} {{\n"
                    f"\ttls {self.folder}/fullchain.pem {self.folder}/key.pem\n"),
            ("127.0.0.1:8080", f"127.0.0.1:{self.upstream}"))
        path = self.folder / "Caddyfile"
        path.write_text(site)
        # Both the original example and the one that is run.
        for caddyfile in (CADDY, path):
            subprocess.run([self.program, "validate", "--adapter", "caddyfile", "--config", str(caddyfile)], check=True,
                           capture_output=True)
        return path

    def command(self, path):
        return [self.program, "run", "--adapter", "caddyfile", "--config", str(path)]


class ProxyCheck:
    """Requests through a proxy, with their expected results."""

    def __init__(self, proxy, direct_port, key, folder):
        self.proxy = proxy
        self.direct_port = direct_port
        self.key = key
        self.folder = folder

    def curl(self, target, *arguments):
        """Returns the status, the HTTP version and the digest of the body."""
        body = self.folder / "body"
        body.write_bytes(b"")
        host = f"places.example.org:{self.proxy.port}"
        finished = subprocess.run(
            ["curl", "-sS", "--http2", "--max-time", "120", "--cacert", str(self.folder / "fullchain.pem"), "--resolve",
             f"{host}:127.0.0.1", "-o", str(body), "-w", "%{http_code} %{http_version}", *arguments,
             f"https://{host}{target}"], capture_output=True, text=True)
        status, version = finished.stdout.split()
        return int(status), version, hashlib.sha256(body.read_bytes()).hexdigest()

    def problems(self):
        found = []

        def expect(expectation, is_met):
            if not is_met:
                found.append(f"expected: {expectation}")

        status, version, _ = self.curl("/locations?lat=1&long=2")
        expect("a search returns 200 over HTTP/2", (status, version) == (200, "2"))
        place = ["-X", "POST", "-H", "Content-Type: application/json", "-d", '{"name":"x","lat":1,"long":2}']
        expect("a write without a key is rejected", self.curl("/locations", *place)[0] == 401)
        authorized = ["-H", f"Authorization: Bearer {self.key}"]
        expect("a write with a key succeeds", self.curl("/locations", *place, *authorized)[0] == 201)
        direct = get(self.direct_port, "/locations/export?f=ndjson")[0]
        status, _, digest = self.curl("/locations/export?f=ndjson")
        expect("an export is the same as without the proxy", (status, digest) == (200, hashlib.sha256(direct).hexdigest()))
        rows = self.folder / "places.ndjson"
        status, _, _ = self.curl(
            "/locations/import", "-X", "POST", "-H", "Content-Type: application/x-ndjson", "-T", str(rows), *authorized)
        expect(f"an import of {rows.stat().st_size} bytes returns 200, got {status}", status == 200)
        large = ["-H", "Content-Type: application/json", "--data-binary", f"@{rows}"]
        expect("a large body other than an import is rejected", self.curl("/locations", *large, *authorized)[0] == 413)
        found += self.problems_of_bodies(authorized)
        for target in ("/metrics", "/status/history.json"):
            expect(f"this machine can read {target}", self.curl(target)[0] == 200)
        private = re.escape(r"status/history\.json") if self.proxy.name == "nginx" else "/status/history.json"
        expect("the history of metrics is as private as the metrics",
               re.search(rf"metrics.*{private}", self.proxy.example.read_text()))
        self.curl("/tiles.json")
        tiles = json.loads((self.folder / "body").read_text())["tiles"][0]
        expect(f"links have the proxy's address, got {tiles}",
               tiles.startswith(f"https://places.example.org:{self.proxy.port}/tiles/"))
        if self.proxy.name == "nginx":
            found += self.problems_of_the_prefix(authorized)
            finished = subprocess.run(
                ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"http://127.0.0.1:{self.proxy.plain_port}/"],
                capture_output=True, text=True)
            expect("plain HTTP is redirected to HTTPS", finished.stdout == "301")
        return found

    def problems_of_bodies(self, authorized):
        """Sends each call that has a body through the proxy and without it, with a small body and with one that is larger
        than the limit of most: both must have the same status."""
        found = []
        calls = [(method.upper(), path, operation)
                 for path, item in json.loads(get(self.direct_port, "/openapi.json")[0])["paths"].items()
                 for method, operation in item.items() if "requestBody" in operation]
        if len(calls) < 10:
            found.append(f"expected: more than {len(calls)} calls with a body")
        prefixes = ("", "/poi") if self.proxy.name == "nginx" else ("",)
        body = self.folder / "sent"
        for method, path, operation in calls:
            target = re.sub(r"\{[^}]*\}", "0199a1b2-0000-7000-8000-000000000000", path)
            media_type = next(iter(operation["requestBody"]["content"]))
            for size in (0, 3 << 19):
                body.write_text("{" + " " * size + "}")
                arguments = ["-X", method, "-H", f"Content-Type: {media_type}", "--data-binary", f"@{body}", *authorized]
                direct = subprocess.run(
                    ["curl", "-sS", "--max-time", "120", "-o", "/dev/null", "-w", "%{http_code}", *arguments,
                     f"http://127.0.0.1:{self.direct_port}{target}"], capture_output=True, text=True).stdout
                for prefix in prefixes:
                    status = self.curl(prefix + target, *arguments)[0]
                    if status != int(direct):
                        found.append(f"expected: {method} {prefix}{path} with {size} bytes returns {direct}, got {status}")
        return found

    def problems_of_the_prefix(self, authorized):
        """Checks that absolute links, and the addresses of new places, have the path prefix that the proxy removes."""
        found = []
        base = f"https://places.example.org:{self.proxy.port}/poi/"

        def expect_prefix(target, addresses):
            if not addresses or not all(address.startswith(base) for address in addresses):
                found.append(f"expected: addresses of {target} begin with {base}, got {addresses}")

        self.curl("/poi/tiles.json")
        expect_prefix("/poi/tiles.json", json.loads((self.folder / "body").read_text())["tiles"])
        self.curl("/poi/ogc")
        links = json.loads((self.folder / "body").read_text())["links"]
        expect_prefix("/poi/ogc", [link["href"] for link in links])
        feature = {"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]}, "properties": {"name": "x"}}
        headers = self.folder / "headers"
        status, _, _ = self.curl(
            "/poi/ogc/collections/places/items", "-H", "Content-Type: application/geo+json", "-d", json.dumps(feature),
            "-D", str(headers), *authorized)
        location = re.search(r"(?im)^location: (\S+)", headers.read_text())
        expect_prefix(f"a new feature ({status})", [location.group(1)] if location else [])
        if location and self.curl(location.group(1).split(f":{self.proxy.port}")[1])[0] != 200:
            found.append(f"expected: the new feature is at {location.group(1)}")
        return found


# Restarts


def check_restarts(options, folder):
    """Restarts two instances behind nginx one after the other, each when the other is ready, while clients read and
    write, and returns the failed requests."""
    key = create_key(options.waymark, folder)
    postgres = Postgres(folder, "restarts")
    postgres.create()
    postgres.start()
    settings = {"DATABASE_URL": postgres.url, "POINT_INDEX": "on", "API_KEYS_FILE": str(folder / "keys.txt"),
                "TRUSTED_PROXIES": "127.0.0.1",
                # Debug builds, on a busy machine, are checked for gaps of the service alone, not for their speed.
                "FILTER_TIMEOUT_MS": "30000"}
    instances = [Waymark(options.waymark, settings) for _ in range(2)]
    try:
        instances[0].command("migrate")
        instances[0].command("import", str(write_places(folder)))
        for instance in instances:
            instance.start()
        for instance in instances:
            instance.wait_until_ready()
        proxy = Nginx(options.nginx, folder, [instance.port for instance in instances])
        with proxy.running():
            clients = [RestartClient(kind, proxy.port, folder, key) for kind in RestartClient.KINDS]
            for client in clients:
                client.start()
            for instance in instances * options.restarts:
                time.sleep(1)
                instance.process.terminate()
                instance.process.wait()
                instance.start()
                instance.wait_until_ready()
            time.sleep(1)
            for client in clients:
                client.is_stopping = True
            for client in clients:
                client.join()
    finally:
        for instance in instances:
            instance.kill()
        postgres.stop()
    for client in clients:
        print(f"restarts: {client.kind}: {client.requests:,} requests, {sum(client.failures.values())} failed, "
              f"longest {1000 * client.longest:.0f} ms")
    return [f"{client.kind} while instances restart: {count} × {failure}"
            for client in clients for failure, count in client.failures.items()]


class RestartClient(threading.Thread):
    """A client that sends requests of one kind, one after another on one connection to the proxy."""

    KINDS = ("list", "q", "tile", "filter", "search by POST", "place", "write")

    def __init__(self, kind, port, folder, key):
        super().__init__(daemon=True)
        self.kind = kind
        self.port = port
        self.context = ssl.create_default_context(cafile=str(folder / "fullchain.pem"))
        self.headers = {"Host": f"places.example.org:{port}", "Authorization": f"Bearer {key}"}
        self.is_stopping = False
        self.requests = 0
        self.longest = 0
        self.failures = collections.Counter()
        self.connection = None

    def run(self):
        created = self.send("POST", "/locations", {"name": "Made", "lat": 1, "long": 2})
        while not self.is_stopping:
            if self.kind == "list":
                self.send("GET", f"/locations?lat={self.requests % 80}&long=2&limit=5")
            elif self.kind == "q":
                self.send("GET", f"/locations?q=place+{self.requests}&limit=5")
            elif self.kind == "tile":
                self.send("GET", f"/tiles/6/{self.requests % 64}/32.mvt")
            elif self.kind == "filter":
                self.send("GET", f"/locations?filter=name%3D%27Place%20{self.requests}%27&limit=5")
            elif self.kind == "search by POST":
                self.send("POST", "/locations/search", {"q": f"place {self.requests}"})
            elif self.kind == "place":
                self.send("GET", f"/locations/{created['id']}")
            else:
                made = self.send("POST", "/locations", {"name": "New", "lat": 1, "long": 2})
                if made:
                    target = f"/locations/{made['id']}"
                    self.send("PATCH", target, {"name": "Changed"}, "application/merge-patch+json")
                    self.send("PUT", target, {"name": "Replaced", "lat": 2, "long": 2})
                    self.send("DELETE", target)

    def send(self, method, target, body=None, media_type="application/json"):
        """Returns the JSON of a successful response; None for any other."""
        self.requests += 1
        start = time.monotonic()
        try:
            if not self.connection:
                plain = socket.create_connection(("127.0.0.1", self.port), timeout=60)
                self.connection = http.client.HTTPSConnection("places.example.org", self.port, timeout=60)
                self.connection.sock = self.context.wrap_socket(plain, server_hostname="places.example.org")
            headers = self.headers | ({"Content-Type": media_type} if body else {})
            self.connection.request(method, target, json.dumps(body) if body else None, headers)
            response = self.connection.getresponse()
            content = response.read()
            # nginx ends a connection after a thousand requests.
            if response.will_close:
                self.connection = None
            if response.status < 300:
                is_json = "json" in (response.headers["content-type"] or "")
                return json.loads(content) if content and is_json else None
            self.failures[f"{method} {response.status} {content[:200].decode(errors='replace')}"] += 1
        except (OSError, http.client.HTTPException) as error:
            self.connection = None
            self.failures[f"{method} {error!r}"] += 1
        finally:
            self.longest = max(self.longest, time.monotonic() - start)
        return None


if __name__ == "__main__":
    main()
