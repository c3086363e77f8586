"""Checks every response of two instances that read from the index, while servers are killed.

HTTP clients and SQL sessions write meanwhile. No read may lack a write that was acknowledged before it, as
docs/consistency.md defines. Exits with 1 on a violation.

  scripts/faults consistency                                           # all modes, some minutes
  scripts/faults consistency --mode strict --reads 1000000 --kills 20  # or bounded, tags, unavailable
  scripts/faults consistency --mode bounded --seed 7 --progress
"""

import asyncio
import collections
import http.client
import logging
import random
import re
import signal
import subprocess
import sys

from cluster import Instance, Node, PostgresCluster
from http_clients import Client, metrics
from injectors import DatabaseFaults, signal_all
from lane_clients import (
    BULK_PLACES,
    SMALL_PLACES,
    BulkWriter,
    PlaceWriter,
    Reader,
    SessionWriter,
    Truncater,
    fill,
)
from lanes import KINDS, WRONG, Ledger
from proxy import Proxy
from servers import argument_parser, temporary_folder

MODES = ("strict", "bounded", "tags", "unavailable")
PLACE_WRITERS, SESSION_WRITERS, BULK_WRITERS = 5, 6, 2
MAXIMUM_STALENESS_MS = 300
# The time for which reads continue in the mode "unavailable".
STALE_SECONDS = 4
# The same in the mode "bounded", whose default it is: reads that need the index while it catches up have an age.
BOUNDED_STALE_SECONDS = 60
PRINTED_VIOLATIONS = 12
INDEX_READS = re.compile(r'point_index_reads_total\{source="(\w+)"\}')


class Cluster(PostgresCluster):
    """Instances over a primary and its standby, connected directly, so that requests cost little."""

    instance_count = 2
    # The statuses of requests that failed without an effect.
    failure_statuses = (429, 503, 504)

    def __init__(self, folder, program, settings):
        super().__init__(folder, program, settings)
        # The number of reads of earlier processes of each instance, by source, and of the present one.
        self.former_reads = collections.Counter()
        self.reads = [collections.Counter() for _ in range(self.instance_count)]

    @property
    def url(self):
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in sorted(self.nodes, key=lambda node: node.number))
        return f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write&connect_timeout=2"

    def instance_settings(self, number):
        """Returns settings of one instance."""
        return {"INDEX_PATH": str(self.folder / f"index-{number}")}

    def unknown_outcomes(self, method):
        """Returns the statuses of writes, besides those that Waymark says are of unknown outcome, that may have had an
        effect."""
        return ()

    @property
    def sessions_url(self):
        return f"{self.url}&application_name=session"

    async def start(self):
        self.nodes = [Node(self.folder, number) for number in range(2)]
        for node in self.nodes:
            node.replication = Proxy(node.port)
            await node.replication.start()
        await asyncio.to_thread(self.primary.create)
        await asyncio.to_thread(self.primary.start)
        for number in range(self.instance_count):
            environment = {
                "POINT_STORE": "postgres",
                "POINT_INDEX": "on",
                "DATABASE_URL": self.url,
                "DATABASE_POOL_SIZE": "8",
                "DATABASE_STATEMENT_TIMEOUT_MS": "4000",
                "REQUEST_DEADLINE_MS": "1000",
            }
            self.instances.append(
                Instance(self.program, environment | self.settings | self.instance_settings(number), number))
        await asyncio.to_thread(self.instances[0].command, "migrate")
        await self.build_standby()
        await asyncio.gather(*(instance.start_until_ready() for instance in self.instances))

    async def count_reads(self, instance):
        """Reads the metrics of an instance."""
        counts = await asyncio.to_thread(read_sources, instance.port)
        if counts:
            self.reads[instance.number] = counts

    async def kill_instance(self, instance):
        await self.count_reads(instance)
        instance.kill()
        instance.is_up = False
        self.former_reads += self.reads[instance.number]
        self.reads[instance.number] = collections.Counter()


def read_sources(port):
    """Returns the numbers of reads of an instance by source; `None` without a response."""
    try:
        found = metrics(port, timeout=5)
    except (OSError, http.client.HTTPException):
        return None
    return collections.Counter({match[1]: int(count) for series, count in found.items() if (match := INDEX_READS.match(series))})


class Load:
    """The state that writers, readers and faults of one mode share."""

    def __init__(self, mode, cluster, options):
        self.mode = mode
        self.cluster = cluster
        self.options = options
        self.is_bounded = mode == "bounded"
        self.maximum_staleness = MAXIMUM_STALENESS_MS / 1000
        self.stale_seconds = {"unavailable": STALE_SECONDS, "bounded": BOUNDED_STALE_SECONDS}.get(mode)
        self.conditional_share = {"tags": 0.95}.get(mode, 0.25)
        self.ledger = Ledger(sees=not self.is_bounded)
        self.gate = asyncio.Event()
        self.gate.set()
        self.stopping = False
        self.faults_are_done = False
        # False while the builds of indexes are counted, since a truncation has them built too.
        self.may_truncate = True
        self.positions = collections.deque(maxlen=100)
        # The seconds and the status with the problem's code of each read that failed; `None` without a response.
        self.failed_reads = []
        # The last entity tag and the content it stands for, by entrance and path.
        self.tags = {}
        # Deleted places whose ids are not used again.
        self.retired = collections.deque(maxlen=200)
        self.writers = []
        for number in range(PLACE_WRITERS + SESSION_WRITERS + BULK_WRITERS):
            lane = self.ledger.add_lane(number)
            is_bulk = number >= PLACE_WRITERS + SESSION_WRITERS
            kind = PlaceWriter if number < PLACE_WRITERS else BulkWriter if is_bulk else SessionWriter
            fill(lane, BULK_PLACES if is_bulk else SMALL_PLACES)
            self.writers.append(kind(self, lane, f"writer {number}"))
        self.large = self.ledger.lanes[-BULK_WRITERS:]
        self.listed = self.ledger.lanes[: 2 if mode == "tags" else None]

    def generator(self, name):
        return random.Random(f"{self.mode} {self.options.seed} {name}")

    def is_done(self):
        return self.faults_are_done and self.ledger.reads >= self.options.reads

    async def sample(self):
        """Keeps the acknowledged commits and the counts of reads while the load runs."""
        count = 0
        while True:
            self.ledger.sample()
            count += 1
            if count % 40 == 0:
                for instance in self.cluster.instances:
                    if instance.is_up:
                        await self.cluster.count_reads(instance)
            await asyncio.sleep(0.025)

    async def pause_writers(self):
        """Stops the writers for moments, so that entity tags stay valid for some reads."""
        generator = self.generator("pauses")
        while True:
            await asyncio.sleep(generator.uniform(0.005, 0.04))
            self.gate.clear()
            await asyncio.sleep(generator.uniform(0, 0.25))
            self.gate.set()


class ReadFaults(DatabaseFaults):
    """The faults of a mode, evenly over its reads. After each, the instances become ready."""

    FAULTS = {name: name for name in (
        "kill_instance", "kill_server", "kill_backend", "promote", "terminate", "prune", "restore", "stop_server")}

    def __init__(self, load):
        super().__init__(load.cluster, [], load.generator("faults"), self.FAULTS)
        self.load = load
        # The numbers of builds of each index for a fault, by its name.
        self.builds = collections.defaultdict(list)

    def planned(self):
        """Returns the names of the faults, in order."""
        kills = self.load.options.kills
        if self.load.mode == "unavailable":
            return [name for _ in range(max(1, kills // 2)) for name in ("stop_server", "terminate")]
        if not kills:
            return []
        names = [("kill_instance", "kill_server", "kill_backend")[number % 3] for number in range(kills)]
        names += ["promote", "restore"] + ["terminate"] * (kills // 4) + ["prune"] * (1 + kills // 4)
        self.random.shuffle(names)
        return names

    async def run(self):
        names = self.planned()
        ledger, reads = self.load.ledger, self.load.options.reads
        for number, name in enumerate(names):
            while ledger.reads < (number + 0.7) * reads / (len(names) + 1):
                await asyncio.sleep(0.02)
            await self.pause(0, 0.3)
            await self.inject(name, ledger.now)
        self.load.faults_are_done = True

    async def wait_until_ready(self):
        for instance in self.cluster.instances:
            await asyncio.to_thread(instance.wait_until_ready)

    async def kill_instance(self):
        instance = self.random.choice(self.cluster.instances)
        await self.cluster.kill_instance(instance)
        await self.pause(0, 0.5)
        await instance.start_until_ready()

    async def kill_server(self):
        await self.crash_primary()
        await self.wait_until_ready()

    async def kill_backend(self):
        """Kills one process of the server, which then restarts the others and recovers."""
        signal_all(self.random.sample(pids := await self.backends(), min(len(pids), 1)), signal.SIGKILL)
        await asyncio.sleep(1)
        await self.wait_for_server()
        await self.wait_until_ready()

    async def backends(self):
        sql = "SELECT pid FROM pg_stat_activity WHERE application_name IN ('waymark', 'session')"
        try:
            return [int(pid) for pid in (await asyncio.to_thread(self.cluster.primary.query, sql)).split()]
        except subprocess.CalledProcessError:
            return []

    async def terminate(self):
        """Terminates some sessions, after which only their transactions are rolled back."""
        for _ in range(3):
            pids = await self.backends()
            for pid in self.random.sample(pids, min(len(pids), self.random.randrange(1, 6))):
                await asyncio.to_thread(self.cluster.primary.query, f"SELECT pg_terminate_backend({pid})")
            await self.pause(0, 0.3)

    async def wait_for_server(self):
        for _ in range(300):
            try:
                await asyncio.to_thread(self.cluster.primary.query, "SELECT 1")
                return
            except subprocess.CalledProcessError:
                await asyncio.sleep(0.1)
        raise TimeoutError("the server did not recover")

    async def promote(self):
        """Kills the primary after its standby has caught up, and promotes the standby."""
        await asyncio.to_thread(self.cluster.primary.wait_for_standby)
        await self.cluster.fail_over(self.random.uniform(0, 0.3))
        await self.wait_until_ready()

    async def prune(self):
        """Empties the change log. An index that has not seen the entries yet is built again."""
        self.load.may_truncate = False
        # A truncation that has begun holds it.
        async with self.load.writers[0].lock:
            pass
        try:
            await self.check_builds(self.empty_log)
        finally:
            self.load.may_truncate = True

    async def restore(self):
        """Restores a dump into a younger server, in place of the primary, while no writer is in a change."""
        for writer in self.load.writers:
            await writer.lock.acquire()
        try:
            await self.check_builds(self.restore_cluster)
        finally:
            for writer in self.load.writers:
                writer.lock.release()

    async def restore_cluster(self):
        await self.cluster.restore()
        return 2

    async def check_builds(self, fault):
        """Injects a fault that returns how often it may have an index built, after which each index follows again and
        answers what only an index can."""
        instances, ledger = self.cluster.instances, self.load.ledger
        try:
            before = [await instance.wait_for_index() for instance in instances]
            most = await fault()
            after = [await instance.wait_for_index() for instance in instances]
        except TimeoutError as error:
            ledger.report(WRONG, f"{fault.__name__}: {error}")
            return
        for instance, former, builds in zip(instances, before, after):
            self.builds[fault.__name__].append(builds - former)
            if builds - former > most:
                ledger.report(WRONG, f"{instance.name} built its index {builds - former} times for {fault.__name__}")
            status = (await asyncio.to_thread(Client(instance.port).send, "GET", "/tiles/0/0/0.mvt"))[0]
            if status not in (200, 204):
                ledger.report(WRONG, f"{instance.name} answered a tile after {fault.__name__} by {status}")

    async def stop_server(self):
        """Stops the server for a time, longer than reads continue or not."""
        primary = self.cluster.primary
        await asyncio.to_thread(primary.kill)
        await asyncio.sleep(self.random.choice((0.5, 2, STALE_SECONDS + 2)))
        await asyncio.to_thread(primary.start)
        await self.wait_until_ready()


async def run(mode, options):
    # A signal cancels the task, so that the servers are stopped.
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asyncio.current_task().cancel)
    settings = {}
    if mode == "bounded":
        settings = {"READ_CONSISTENCY": "bounded", "READ_MAX_STALENESS_MS": str(MAXIMUM_STALENESS_MS),
            "READ_STALE_S": str(BOUNDED_STALE_SECONDS)}
    elif mode == "unavailable":
        settings = {"READ_STALE_S": str(STALE_SECONDS)}
    with temporary_folder("waymark-consistency.") as folder:
        cluster = Cluster(folder, options.waymark, settings)
        tasks = []
        try:
            await cluster.start()
            load = Load(mode, cluster, options)
            began = load.ledger.now()
            readers = [
                Reader(load, instance, f"reader {number} of {instance.name}")
                for instance in cluster.instances
                for number in range(options.readers // 2)
            ]
            truncater = Truncater(load, load.writers, "truncater")
            faults = ReadFaults(load)
            tasks = [load.sample(), faults.run(), truncater.run(), *(writer.run() for writer in load.writers)]
            if mode == "tags":
                tasks.append(load.pause_writers())
            tasks = [asyncio.create_task(task) for task in tasks]
            reads = [asyncio.create_task(reader.run()) for reader in readers]
            await finish(tasks, reads, load, faults, options)
            seconds = load.ledger.now() - began
            for instance in cluster.instances:
                await cluster.count_reads(instance)
                if instance.process.poll() is not None:
                    load.ledger.report(WRONG, f"{instance.name} exited with {instance.process.returncode}")
        finally:
            await cancel(tasks)
            cluster.stop()
    return report(mode, options, load, faults, cluster, began, seconds)


async def cancel(tasks):
    """Cancels tasks, and returns when they have ended. A task may lose a cancellation that arrives together with what it
    waits for, so it is cancelled until it ends."""
    while tasks:
        for task in tasks:
            task.cancel()
        _, tasks = await asyncio.wait(tasks, timeout=1)


async def finish(tasks, reads, load, faults, options):
    """Returns when all reads were made, or when a task fails."""
    pending = {*tasks, *reads}
    shown = load.ledger.now()
    while any(not task.done() for task in reads):
        done, pending = await asyncio.wait(pending, timeout=1, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
        if options.progress and load.ledger.now() - shown > 10:
            shown = load.ledger.now()
            print(f"  {load.ledger.reads} reads, {dict(faults.counts)}, {dict(load.ledger.counts)}", file=sys.stderr, flush=True)


def report(mode, options, load, faults, cluster, began, seconds):
    ledger = load.ledger
    sources = sum(cluster.reads, cluster.former_reads)
    share = sources["index"] / max(1, sources.total())

    def line(title, counter):
        print(f"  {title + ':':10} {', '.join(f'{count} {name}' for name, count in sorted(counter.items())) or 'none'}")

    line("reads", ledger.checked)
    line("sources", sources)
    line("writes", ledger.writes)
    line("faults", faults.counts)
    line("builds", collections.Counter({f"for {name} at most": max(counts) for name, counts in faults.builds.items()}))
    line("errors", ledger.errors)
    if sources["index"] <= sources["database"]:
        ledger.report(WRONG, f"most reads came from the database: {dict(sources)}")
    printed = collections.Counter()
    for kind, text in ledger.violations:
        printed[kind] += 1
        if printed[kind] <= PRINTED_VIOLATIONS:
            print(f"  VIOLATION: {kind}: {text}")
    if ledger.violations:
        print(f"  faults by time, from {began:.3f}:")
        for begin, end, name in faults.log:
            print(f"      {begin:.3f} to {end:.3f} {name}")
    kills = sum(count for name, count in faults.counts.items() if name.startswith("kill"))
    counts = ", ".join(f"{ledger.counts[kind]} {kind}" for kind in KINDS)
    print(
        f"{mode}: {ledger.reads} reads in {seconds:.0f} s, {share:.1%} from the index, {ledger.writes.total()} writes, "
        f"{kills} kills, {faults.counts['promote']} promotions, seed {options.seed}: {counts}", flush=True)
    return not ledger.violations


def reader_parser(description, modes, reads):
    """Returns a parser with the options of checks that read until they have made a number of reads."""
    parser = argument_parser(description, stores=False)
    parser.add_argument("--reads", type=int, default=reads, help="number of checked reads of each mode")
    parser.add_argument("--readers", type=int, default=24, help="number of clients that read")
    parser.add_argument("--mode", choices=(*modes, "all"), default="all")
    parser.add_argument("--progress", action="store_true", help="print the number of reads every ten seconds")
    return parser


def run_and_exit(run, modes, options):
    """Runs each selected mode, also after a failure, and exits with 1 if one fails."""
    # It warns of psql processes that ended with the server.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    try:
        results = [asyncio.run(run(mode, options)) for mode in (modes if options.mode == "all" else [options.mode])]
    except asyncio.CancelledError:
        sys.exit("ended by a signal")
    sys.exit(0 if all(results) else 1)


def main():
    parser = reader_parser(__doc__, MODES, reads=60_000)
    parser.add_argument("--kills", type=int, default=4, help="number of kills of each mode, besides a promotion")
    run_and_exit(run, MODES, parser.parse_args())


if __name__ == "__main__":
    main()
