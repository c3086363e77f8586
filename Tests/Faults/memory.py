"""Starts servers with POINT_INDEX=auto under a limit of memory that an index of the places would exceed.

The places have long tags, which PostgreSQL stores in a small part of their length. They are there at the start, or are
written beside an index that follows. Each server must find out that they do not fit, serve reads from the database, and
never use as much memory as the limit. Then counts the values of a tag that has another long text in each place
(`/locations/facets`), which must need a small part of the memory of these texts. Prints a Markdown table, and exits with
1 otherwise.

The limit is a file in a file system that only the server sees, which needs the rights to mount one: those of root, or user
namespaces.

  scripts/faults memory
  scripts/faults memory --limit-mib 1024
"""

import os
import pathlib
import subprocess
import sys
import time

from http_clients import Client, metrics
from servers import Postgres, Waymark, argument_parser, memory_mib, temporary_folder

# Tags of 23 KB.
LONG_TAGS = "json_build_object('a', repeat(md5(number::text), 720))"
KIB_PER_PLACE = 23
DIFFERENT_TEXTS = "json_build_object('text', repeat(md5(number::text), 60))"
PLACES = """
    INSERT INTO points (id, lat, long, name, tags)
    SELECT gen_random_uuid(), number % 90, number % 180, 'place ' || number, {tags}
    FROM generate_series(1, {count}) AS number
"""
PHASES = ("building", "following", "catching_up", "too_large", "standby")
SECONDS = 120
FACET_PLACES = 100_000


class LimitedWaymark(Waymark):
    """A server that finds a limit of its memory."""

    SCRIPT = 'mount -t tmpfs none /sys/fs/cgroup && echo "$0" > /sys/fs/cgroup/memory.max && exec "$@"'

    def __init__(self, program, environment, limit_mib):
        super().__init__(program, environment)
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        self.prefix = ["unshare", "--mount", *user, "sh", "-c", self.SCRIPT, str(limit_mib << 20)]

    def start(self):
        if subprocess.run([*self.prefix, "true"]).returncode:
            sys.exit("the limit of memory can't be mounted")
        self.process = subprocess.Popen([*self.prefix, self.program, "serve"], env=self.environment)

    def phase(self):
        found = metrics(self.port)
        return next(name for name in PHASES if found[f'point_index_phase{{phase="{name}"}}'] == 1)

    def wait_for_phase(self, *wanted):
        """Returns the phase when it is a wanted one, or the last one after some time."""
        deadline = time.monotonic() + SECONDS
        while (phase := self.phase()) not in wanted and time.monotonic() < deadline:
            time.sleep(0.1)
        return phase


def insert(database, count, tags):
    database.query(PLACES.format(count=count, tags=tags), timeout=600)


def places_at_the_start(database, server, count):
    insert(database, count, LONG_TAGS)
    database.query("ANALYZE points")
    server.start()


def places_written_later(database, server, count):
    server.start()
    server.wait_until_ready()
    server.wait_for_phase("following")
    insert(database, count, LONG_TAGS)
    # The poll finds the changes.
    server.wait_for_phase("building", "catching_up", "too_large")


CASES = {"long tags at the start": places_at_the_start, "long tags written later": places_written_later}


def check(database, program, prepare, limit_mib):
    """Returns the last phase, the peak in MiB and the statuses of a list and a search for a text."""
    server = LimitedWaymark(
        program, {"POINT_STORE": "postgres", "DATABASE_URL": database.url, "POINT_INDEX": "auto"}, limit_mib)
    try:
        # The places alone are twice the limit.
        prepare(database, server, (limit_mib << 11) // KIB_PER_PLACE)
        server.wait_until_ready(seconds=SECONDS)
        phase = server.wait_for_phase("too_large")
        client = Client(server.port)
        statuses = [client.send("GET", target)[0] for target in ("/locations?limit=10", "/locations?q=place")]
        return phase, memory_mib(server.process.pid, "VmHWM"), statuses
    finally:
        server.kill()
        database.query("TRUNCATE points")


def facets_growth(database, program, count):
    """Returns the growth of the peak, in MiB, and the statuses while the texts of a tag are counted, and their MiB."""
    insert(database, count, DIFFERENT_TEXTS)
    server = Waymark(program, {
        "POINT_STORE": "postgres", "DATABASE_URL": database.url, "POINT_INDEX": "on", "FILTER_TIMEOUT_MS": "60000"})
    with server:
        client = Client(server.port)
        client.send("GET", "/locations/facets?by=category")
        # The peak of the build does not count.
        pathlib.Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")
        before = memory_mib(server.process.pid, "VmHWM")
        statuses = {client.send("GET", "/locations/facets?by=tag.text&limit=1000")[0] for _ in range(4)}
        return memory_mib(server.process.pid, "VmHWM") - before, statuses, count * 60 * 32 / 2**20


def main():
    parser = argument_parser(__doc__, stores=False, seed=False)
    parser.add_argument("--limit-mib", type=int, default=512, help="memory of the container (default: 512)")
    options = parser.parse_args()
    failed = 0
    with temporary_folder("waymark-memory.") as folder, Postgres(folder) as database:
        Waymark(options.waymark, {"DATABASE_URL": database.url}).command("migrate")
        print("| places | phase | peak | list, text |\n| --- | --- | ---: | --- |")
        for name, prepare in CASES.items():
            phase, peak, statuses = check(database, options.waymark, prepare, options.limit_mib)
            print(f"| {name} | {phase} | {peak:.0f} MiB | {statuses[0]}, {statuses[1]} |", flush=True)
            failed += phase != "too_large" or peak >= options.limit_mib or statuses != [200, 501]
        growth, statuses, text_mib = facets_growth(database, options.waymark, FACET_PLACES)
        print(f"\n{growth:.0f} MiB more to count {FACET_PLACES:,} different texts of {text_mib:.0f} MiB")
        if statuses != {200} or growth > text_mib / 3:
            sys.exit(f"counting texts has the statuses {statuses} and needs too much memory")
    if failed:
        sys.exit(f"{failed} servers used an index that does not fit, failed, or reached {options.limit_mib} MiB")


if __name__ == "__main__":
    main()
