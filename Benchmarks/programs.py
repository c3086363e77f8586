"""The programs that benchmarks start: PostgreSQL, Waymark and the load generator."""

import pathlib
import re
import subprocess
import sys

import http_clients
from servers import Postgres, Waymark, processor_seconds

SETTINGS = ("shared_buffers=2GB", "max_wal_size=8GB", "max_connections=50")
# The settings of comparisons of reads alone, on a machine with fast disks and much memory.
READ_SETTINGS = (
    "maintenance_work_mem=1GB", "effective_cache_size=8GB", "random_page_cost=1.1", "work_mem=64MB", "jit=off")


class Database(Postgres):
    """A PostgreSQL server that is compared with Waymark."""

    def __init__(self, folder, *settings):
        super().__init__(folder, "database", SETTINGS + settings)
        self.folder = folder
        self.create("--locale=C.UTF-8")
        self.start()

    def sql(self, *statements):
        """Executes statements and meta-commands of psql, however long they take."""
        try:
            return self.query(*statements, timeout=None)
        except subprocess.CalledProcessError as error:
            sys.exit(error.stderr)

    def pgbench(self, statements, seconds, clients=2, threads=1):
        """Returns the number of transactions per second. Each transaction is one of the statements, in equal parts."""
        command = [f"{self.programs}/pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", str(threads)]
        command += ["-T", str(max(1, round(seconds)))]
        for number, statement in enumerate(statements):
            script = self.folder / f"pgbench.{number}.sql"
            script.write_text(f"{statement};\n")
            command += ["-f", str(script)]
        output = subprocess.run([*command, self.url], check=True, capture_output=True, text=True).stdout
        return float(re.search(r"tps = ([\d.]+)", output)[1])


class MemoryLimit:
    """A control group of Linux whose processes use at most so many bytes of memory, the files that they read included.

    Creating one requires root."""

    def __init__(self, limit):
        root = pathlib.Path("/sys/fs/cgroup")
        is_unified = (root / "cgroup.controllers").exists()
        self.folder = (root if is_unified else root / "memory") / "waymark-bench"
        if is_unified:
            (root / "cgroup.subtree_control").write_text("+memory")
        self.folder.mkdir(exist_ok=True)
        (self.folder / ("memory.max" if is_unified else "memory.limit_in_bytes")).write_text(str(limit))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.folder.rmdir()

    def join(self):
        """Adds the process that calls it."""
        (self.folder / "cgroup.procs").write_text("0")


class Server(Waymark):
    """A running Waymark."""

    def __init__(self, program, ready_seconds=300, memory_limit=None, **environment):
        super().__init__(program, environment)
        self.memory_limit = memory_limit
        self.start()
        self.wait_until_ready(seconds=ready_seconds)

    def start(self):
        join = self.memory_limit.join if self.memory_limit else None
        self.process = subprocess.Popen([self.program, "serve"], env=self.environment, preexec_fn=join)

    def get(self, target, **headers):
        """Returns the body and the header fields of a response."""
        return http_clients.get(self.port, target, **headers)

    def metric(self, series):
        """Returns a metric of the server; `None` if there is none of that name."""
        return http_clients.metrics(self.port).get(series)

    def processor_seconds(self):
        """Returns the processor time that the server has used."""
        return processor_seconds(self.process.pid)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def load(program, port, targets, seconds, *arguments, connections=16):
    """Sends requests in a closed loop. Returns their rate, and the median, the 99th percentile and the maximum of their
    latencies in microseconds."""
    command = [program, "-p", str(port), "-t", str(targets), "-c", str(connections), "-s", str(seconds), *arguments]
    figures = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    if int(figures[4]) > 0:
        raise SystemExit(f"{figures[4]} responses to {pathlib.Path(targets).name} were errors")
    return [float(figure) for figure in figures[:4]]
