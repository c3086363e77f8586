"""The servers that checks and benchmarks start, PostgreSQL and Waymark, and the options that the checks share."""

import argparse
import contextlib
import glob
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
import time

from http_clients import responds_with_200

STORES = ("postgres", "memory")
MIGRATIONS = pathlib.Path(__file__).resolve().parents[2] / "Migrations"


# Options


def argument_parser(description, stores=True, seed=True):
    """Returns a parser with the options that most checks share. The name of the command is in the environment."""
    parser = argparse.ArgumentParser(
        prog=os.environ.get("CHECK"), description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waymark", required=True, help="path of the program; by default $WAYMARK, or a release build")
    if stores:
        parser.add_argument("--store", choices=STORES, help="check only this store")
    if seed:
        parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="seed of all random choices")
    return parser


def exit_after_each_store(check, options):
    """Runs a check on each selected store, also after a failure, and exits with 1 if one fails."""
    results = [check(store, options) for store in ([options.store] if options.store else STORES)]
    sys.exit(0 if all(results) else 1)


# Servers


def create_key(program, folder):
    """Creates a key that may write, and a key file in the folder. Returns both."""
    command = [program, "keys", "create", "check", "--scope", "write"]
    # Standard output has the line of the key file, standard error the key.
    created = subprocess.run(command, env=os.environ | {"API_KEYS_FILE": ""}, check=True, capture_output=True, text=True)
    file = folder / "keys.txt"
    file.write_text(created.stdout)
    return re.search(r"wm_[A-Za-z0-9_-]+", created.stderr)[0], file


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


def processor_seconds(pid):
    """Returns the processor time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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

    def __enter__(self):
        self.create()
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()

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
        }
        if "DATABASE_URL" in environment:
            defaults["MIGRATIONS_PATH"] = str(MIGRATIONS)
        self.environment = os.environ | defaults | environment

    def __enter__(self):
        self.start()
        self.wait_until_ready()
        return self

    def __exit__(self, *error):
        self.kill()

    def command(self, *arguments):
        """Runs a command of the program and returns its standard output."""
        command = [self.program, *arguments]
        return subprocess.run(command, env=self.environment, check=True, stdout=subprocess.PIPE, text=True).stdout

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

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
