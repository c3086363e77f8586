"""Reads streams of changes by curl, sseclient-py and a browser's EventSource, directly and through nginx and Caddy.

Over HTTP/1.1 and HTTP/2, with the configurations in deploy: each reader must have a change at once, also after a time in
which nothing happens, and go on where it was after the server has been away for longer than `retry`. Then thousands of clients connect again after
a restart: none may get a status other than 200, and `retry` must spread them. Installs Chromium, nginx and Caddy from
Debian, and sseclient-py and Playwright from PyPI.

  scripts/conformance streams
  scripts/conformance streams --clients 1000 --idle-seconds 20
"""

import asyncio
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

import requests
import sseclient
from playwright.sync_api import sync_playwright

from manifest_servers import Caddy, Nginx, create_certificate
from servers import Waymark, argument_parser, temporary_folder

HOST = "places.example.org"
# The time in which a change must arrive, on a machine with other load.
SECONDS = 10
# The longest pause that `retry` asks for, and the time that the last clients have beyond it.
RETRY_SECONDS, LAST_SECONDS = 10, 60
# The greatest part of the clients that `retry` may have connect within a second, with thousands of them.
LARGEST_SHARE = 0.2


class Reader:
    """A stream and its events, which a thread collects. It connects again as a program does that keeps the position."""

    def __init__(self, name, url):
        self.name = name
        self.url = url
        self.events = []
        self.position = None
        self.ends = []
        self.is_stopped = False

    def start(self):
        threading.Thread(target=self.collect, daemon=True).start()

    def collect(self):
        while not self.is_stopped:
            reason = "ended"
            try:
                for event, id, data in self.read():
                    self.position = id or self.position
                    self.events.append((event, data))
            except (OSError, ValueError) as error:
                reason = repr(error)
            self.ends.append(reason)
            time.sleep(1)

    def headers(self):
        fields = {"Accept": "text/event-stream"}
        return fields | {"Last-Event-ID": self.position} if self.position else fields

    def stop(self):
        self.is_stopped = True


class CurlReader(Reader):
    def __init__(self, name, url, folder, *options):
        super().__init__(name, url)
        self.options = ["--cacert", str(folder / "fullchain.pem"), *options]
        self.process = None

    def read(self):
        fields = [part for name, value in self.headers().items() for part in ("-H", f"{name}: {value}")]
        port = self.url.split(":")[2].split("/")[0]
        command = ["curl", "-sN", "--fail", "--resolve", f"{HOST}:{port}:127.0.0.1", *self.options, *fields, self.url]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        fields = {}
        for line in self.process.stdout:
            name, _, value = line.rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif fields:
                if "event" in fields:
                    yield fields["event"], fields.get("id"), fields.get("data")
                fields = {}

    def stop(self):
        super().stop()
        if self.process:
            self.process.kill()


class LibraryReader(Reader):
    """A stream that sseclient-py reads."""

    def __init__(self, name, url, folder):
        super().__init__(name, url)
        self.authority = str(folder / "fullchain.pem")

    def read(self):
        with requests.Session() as session:
            if self.url.startswith("https"):
                port = self.url.split(":")[2].split("/")[0]
                session.mount("https://", HostAdapter())
                url, fields = self.url.replace(HOST, "127.0.0.1"), self.headers() | {"Host": f"{HOST}:{port}"}
            else:
                url, fields = self.url, self.headers()
            response = session.get(url, headers=fields, stream=True, verify=self.authority)
            response.raise_for_status()
            for event in sseclient.SSEClient(response).events():
                yield event.event, event.id, event.data


class HostAdapter(requests.adapters.HTTPAdapter):
    """Connections to this machine whose certificate is that of the host."""

    def init_poolmanager(self, *arguments, **options):
        super().init_poolmanager(*arguments, **options, server_hostname=HOST, assert_hostname=HOST)


class BrowserReader(Reader):
    """A browser's EventSource in a page of the service, which connects again by itself."""

    SCRIPT = """target => {
        window.received = []
        const source = new EventSource(target)
        for (const name of ["change", "position", "reset", "end"]) {
            source.addEventListener(name, event => window.received.push([name, event.data]))
        }
        source.onerror = () => { if (source.readyState === 2) window.received.push(["error", "closed"]) }
    }"""

    def __init__(self, name, browser, url):
        super().__init__(name, url)
        self.page = browser.new_context(ignore_https_errors=True).new_page()
        self.page.goto(url.split("/changes")[0] + "/status")

    def start(self):
        self.page.evaluate(self.SCRIPT, "/changes" + self.url.split("/changes")[1])

    def update(self):
        self.events = [tuple(event) for event in self.page.evaluate("window.received")]
        self.ends = [data for event, data in self.events if event == "error"]

    def stop(self):
        super().stop()
        self.page.close()


def put(server, number, name):
    request = urllib.request.Request(
        f"{server.url}/locations/0199a1b2-0000-7000-8000-{number:012x}", method="PUT",
        data=json.dumps({"name": name, "lat": 1, "long": 2}).encode(), headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30):
        pass


class Check:
    def __init__(self, options):
        self.options = options
        self.problems = 0

    def expect(self, is_met, what):
        print(f"{'ok     ' if is_met else 'DIFFERS'} {what}", flush=True)
        self.problems += 0 if is_met else 1

    def wait_for(self, readers, name):
        """Waits until each reader has the place of the name, and reports those that do not."""
        deadline = time.monotonic() + SECONDS + RETRY_SECONDS
        while True:
            for reader in readers:
                if isinstance(reader, BrowserReader):
                    reader.update()
            late = [reader for reader in readers if not any(f'"name":"{name}"' in (data or "") for _, data in reader.events)]
            if not late or time.monotonic() > deadline:
                return late
            time.sleep(0.1)

    def report(self, readers, name):
        late = self.wait_for(readers, name)
        for reader in late:
            print(f"        {reader.name}: {reader.ends[-1:]} {[event for event, _ in reader.events[-3:]]}")
        self.expect(not late, f"{len(readers) - len(late)} of {len(readers)} readers have the place '{name}'")


def check_readers(check, folder, browser):
    server = Waymark(
        check.options.waymark,
        {"POINT_STORE": "memory", "MEMORY_STORE_PATH": str(folder / "places.db"), "TRUSTED_PROXIES": "127.0.0.1"})
    nginx = Nginx(shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin"), folder, [server.port] * 2)
    caddy = Caddy(shutil.which("caddy"), folder, server.port)
    readers = []
    # The proxies end after the server, as they wait for the ends of streams.
    with nginx.running(), caddy.running(), server:
        try:
            target = "/changes?bbox=0,0,3,3"
            plain = server.url + target
            readers.append(CurlReader("curl, HTTP/1.1", plain, folder, "--http1.1"))
            readers.append(CurlReader("curl, HTTP/2", plain, folder, "--http2-prior-knowledge"))
            readers.append(LibraryReader("sseclient-py", plain, folder))
            readers.append(BrowserReader("EventSource", browser, plain))
            for proxy in (nginx, caddy):
                url = f"https://{HOST}:{proxy.port}{target}"
                readers.append(CurlReader(f"curl, HTTP/1.1, {proxy.name}", url, folder, "--http1.1"))
                readers.append(CurlReader(f"curl, HTTP/2, {proxy.name}", url, folder, "--http2"))
                readers.append(LibraryReader(f"sseclient-py, {proxy.name}", url, folder))
                readers.append(BrowserReader(f"EventSource, {proxy.name}", browser, url))
            follow(check, server, readers)
        finally:
            for reader in readers:
                if not reader.is_stopped:
                    reader.stop()


def follow(check, server, readers):
    for reader in readers:
        reader.start()
    deadline = time.monotonic() + SECONDS
    while count_open(server) < len(readers) and time.monotonic() < deadline:
        time.sleep(0.1)
    put(server, 1, "first")
    check.report(readers, "first")
    time.sleep(check.options.idle_seconds)
    ended = [reader.name for reader in readers if reader.ends]
    check.expect(not ended, f"the streams go on after {check.options.idle_seconds} s without a change {ended or ''}")
    opened = count_open(server)
    check.expect(opened == len(readers), f"{opened} streams of {len(readers)} readers are open")
    put(server, 2, "second")
    check.report(readers, "second")

    server.process.send_signal(signal.SIGTERM)
    server.process.wait()
    # Each has tried to connect meanwhile. A browser's EventSource gives up after any status but 200.
    time.sleep(RETRY_SECONDS + 2)
    server.start()
    server.wait_until_ready()
    put(server, 3, "third")
    check.report(readers, "third")
    resets = [reader.name for reader in readers if any(event in ("reset", "error") for event, _ in reader.events)]
    check.expect(not resets, f"no reader was reset, and no browser gave up {resets or ''}")

    for reader in readers:
        reader.stop()
    closed = [reader for reader in readers if not isinstance(reader, LibraryReader)]
    deadline = time.monotonic() + SECONDS
    while count_open(server) > len(readers) - len(closed) and time.monotonic() < deadline:
        time.sleep(0.1)
    left = count_open(server)
    check.expect(left <= len(readers) - len(closed), f"{left} streams are open after {len(closed)} readers have closed theirs")


def count_open(server):
    with urllib.request.urlopen(server.url + "/metrics", timeout=30) as response:
        return int(float(re.search(r"^change_streams_open (\S+)", response.read().decode(), re.MULTILINE)[1]))


# Many clients


class Storm:
    """Clients that read streams and connect again after the time that `retry` asks for, as browsers do."""

    def __init__(self, port, count):
        self.port = port
        self.count = count
        self.connected = 0
        self.statuses = collections.Counter()
        self.retries, self.times = [], []
        self.is_ending = False

    async def run(self, restart):
        tasks = [asyncio.create_task(self.client()) for _ in range(self.count)]
        await self.wait(lambda: self.connected == self.count)
        self.times.clear()
        await asyncio.to_thread(restart)
        start = time.monotonic()
        await self.wait(lambda: self.connected == self.count)
        self.seconds = time.monotonic() - start
        self.is_ending = True
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def wait(self, condition):
        deadline = time.monotonic() + 60 + RETRY_SECONDS + LAST_SECONDS
        while not condition() and time.monotonic() < deadline:
            await asyncio.sleep(0.1)

    async def client(self):
        retry = 3.0
        while not self.is_ending:
            writer = None
            began = time.monotonic()
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.write(b"GET /changes?category=none HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
                status = int((await reader.readline()).split()[1])
                self.statuses[status] += 1
                while line := await reader.readline():
                    if line.startswith(b"retry: "):
                        retry = int(line.split()[1]) / 1000
                        self.connected += 1
                        self.retries.append(retry)
                        self.times.append(began)
                        break
                try:
                    while await reader.readline():
                        pass
                finally:
                    self.connected -= 1
            except (OSError, IndexError):
                pass
            finally:
                if writer:
                    writer.close()
            await asyncio.sleep(retry)


def largest_share(times):
    """Returns the greatest part of times that is within a second."""
    times = sorted(times)
    first, largest = 0, 0
    for last, moment in enumerate(times):
        while moment - times[first] > 1:
            first += 1
        largest = max(largest, last - first + 1)
    return largest / len(times)


def check_storm(check, folder):
    count = check.options.clients
    server = Waymark(check.options.waymark, {"POINT_STORE": "memory", "MEMORY_STORE_PATH": str(folder / "storm.db")})
    with server:
        def restart():
            server.process.send_signal(signal.SIGTERM)
            server.process.wait()
            server.start()
            server.wait_until_ready()

        storm = Storm(server.port, count)
        asyncio.run(storm.run(restart))
        check.expect(set(storm.statuses) == {200}, f"the statuses of {count} clients: {dict(storm.statuses)}")
        check.expect(
            len(storm.times) >= count and storm.seconds < RETRY_SECONDS + LAST_SECONDS,
            f"all are connected {storm.seconds:.1f} s after the restart")
        share = largest_share(storm.retries)
        check.expect(
            share <= LARGEST_SHARE, f"retry has {100 * share:.0f} % connect within a second, at most {100 * LARGEST_SHARE:.0f} %")
        print(f"        {100 * largest_share(storm.times):.0f} % have begun to connect within a second")


def main():
    parser = argument_parser(__doc__, stores=False, seed=False)
    parser.add_argument("--clients", type=int, default=5000, help="clients that connect again after a restart")
    parser.add_argument("--idle-seconds", type=int, default=70, help="time without a change, longer than proxies wait")
    options = parser.parse_args()
    check = Check(options)
    with temporary_folder("waymark-streams.") as folder:
        create_certificate(folder)
        with sync_playwright() as playwright:
            # Chromium's own sandbox needs privileges that containers lack; the pages are those of the server under test.
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"),
                args=["--no-sandbox", f"--host-resolver-rules=MAP {HOST} 127.0.0.1"])
            check_readers(check, folder, browser)
            browser.close()
        check_storm(check, folder)
    sys.exit(1 if check.problems else 0)


if __name__ == "__main__":
    main()
