"""Cuts, stalls and kills while clients write and read, and checks all responses for linearizability.

Clients use two instances over a primary and a synchronous standby of PostgreSQL, or one instance with MEMORY_STORE_PATH:
connections are cut, stalled and delayed, servers are stopped and killed with -9, standbys are promoted. The model is that
of docs/consistency.md. Exits with 1 and prints the history on a violation.

  scripts/faults chaos                              # ten minutes on each store
  scripts/faults chaos --store memory --seconds 30
  scripts/faults chaos --faults promote,stop_backends --seed 7 --clients 32 --rate 500
"""

import asyncio
import collections
import random
import signal
import sys

from client import Client, new_id
from cluster import MemoryCluster, PostgresCluster
from history import KINDS, UNEXPECTED, WRONG_CONTENT
from injectors import DatabaseFaults, InstanceFaults
from ledger import Ledger
from servers import argument_parser, exit_after_each_store, temporary_folder

SHARED_PLACES = 6
PRINTED_VIOLATIONS = 10
FAULTS = (*DatabaseFaults.FAULTS, *InstanceFaults.FAULTS)


class Scenario:
    """The servers and faults of a run; other checks have scenarios of their own."""

    def environment(self, folder, options):
        """Returns settings of the instances, and header fields of requests."""
        return {}, {}

    def injectors(self, cluster, ledger, shared_ids, options):
        names = options.faults.split(",") if options.faults else FAULTS
        if not cluster.database_proxies:
            names = [name for name in names if not name.endswith("_database")]
        kinds = {"servers": DatabaseFaults, "instances": InstanceFaults}
        if not cluster.database_proxies:
            del kinds["servers"]
        return [
            kind(cluster, shared_ids, random.Random(f"{name} {options.seed}"), names, ledger) for name, kind in kinds.items()]

    async def monitor(self, cluster, ledger, clients, injectors):
        """Runs beside the load until it is cancelled."""

    def check(self, ledger):
        """Reports violations at the end of the load."""


async def run(store, options, scenario):
    # A signal cancels the task, so that the servers are stopped.
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asyncio.current_task().cancel)
    with temporary_folder("waymark-faults.") as folder:
        settings, headers = scenario.environment(folder, options)
        cluster = (PostgresCluster if store == "postgres" else MemoryCluster)(folder, options.waymark, settings)
        ledger = Ledger()
        clients, injectors = [], []
        try:
            await cluster.start()
            load = f"{options.rate:g} requests/s, {options.clients} clients"
            print(f"{store}, {options.seconds:g} s, {load}, seed {options.seed}", flush=True)
            ledger.start = ledger.now()
            shared = random.Random(options.seed)
            shared_ids = [new_id(shared) for _ in range(SHARED_PLACES)]
            rate = options.rate / options.clients
            clients = [
                Client(number, options.seed, cluster, ledger, shared_ids, rate, headers) for number in range(options.clients)
            ]
            injectors = scenario.injectors(cluster, ledger, shared_ids, options)
            monitor = asyncio.create_task(scenario.monitor(cluster, ledger, clients, injectors))
            await run_load(cluster, ledger, clients, injectors, monitor, options.seconds)
            scenario.check(ledger)
            for instance in cluster.instances:
                if instance.process.poll() is not None:
                    ledger.report_violation(UNEXPECTED, f"{instance.name} exited with {instance.process.returncode}")
            await cluster.restart()
            await read_everything(cluster, ledger, clients)
            check_change_log(cluster, ledger, injectors)
        except TimeoutError as error:
            ledger.report_violation(UNEXPECTED, f"{error}")
        finally:
            cluster.stop()
        if options.keep_history:
            ledger.write_history(options.keep_history)
    violations = ledger.all_violations()
    report(ledger, clients, injectors, violations)
    return not violations


async def run_load(cluster, ledger, clients, injectors, monitor, seconds):
    """Runs clients and faults for a time, and returns when the cluster has recovered and no request is in progress."""
    no_more_faults, no_more_requests = asyncio.Event(), asyncio.Event()
    requests = [asyncio.create_task(client.run(no_more_requests)) for client in clients]
    faults = [asyncio.create_task(injector.run(no_more_faults, ledger.now)) for injector in injectors]
    try:
        done, _ = await asyncio.wait([*requests, *faults], timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
        no_more_faults.set()
        await asyncio.gather(*faults)
        await cluster.recover()
        if cluster.database_proxies:
            for instance in cluster.instances:
                await instance.wait_for_index()
        for client in clients:
            client.disconnects = False
        # Clients resolve unknown outcomes.
        await asyncio.sleep(2)
        no_more_requests.set()
        await asyncio.gather(*requests)
    finally:
        for task in [*requests, *faults, monitor]:
            task.cancel()
        await asyncio.gather(*requests, *faults, monitor, return_exceptions=True)


async def read_everything(cluster, ledger, clients):
    """Reads each place by id, in lists and by what only an index can answer, from each instance."""
    client = clients[0]
    client.tags.clear()
    for instance in cluster.instances:
        for id in list(ledger.places):
            await client.read(id, instance)
        for _ in range(20):
            await client.list()
            await client.walk()
        await client.export()
        for read in (client.search, client.tile):
            if not await read(instance):
                ledger.report_violation(UNEXPECTED, f"{instance.name} was ready and failed a {read.__name__}")


def check_change_log(cluster, ledger, injectors):
    """Compares the change log with the places, unless a fault has deleted its entries."""
    is_emptied = any(injector.counts[DatabaseFaults.FAULTS["empty_log"]] for injector in injectors)
    if cluster.database_proxies and not is_emptied and (count := cluster.change_log_differences()):
        ledger.report_violation(WRONG_CONTENT, f"{count} places differ from their last entry in the change log")


def report(ledger, clients, injectors, violations):
    counts = sum((client.counts for client in clients), collections.Counter())
    errors = sum((client.errors for client in clients), collections.Counter())
    faults = sum((injector.counts for injector in injectors), collections.Counter())
    writes = [write for place in ledger.places.values() for write in place.writes]
    results = collections.Counter(write.result for write in writes)

    def line(title, text):
        print(f"  {title + ':':24} {text}")

    line("faults", ", ".join(f"{count} {fault}" for fault, count in sorted(faults.items())) or "none")
    methods = ", ".join(f"{counts[kind]} {kind}" for kind in ("POST", "PUT", "PATCH", "DELETE", "imported rows"))
    line("acknowledged writes", f"{results['applied']} ({methods}), to {len(ledger.places)} ids")
    line("failed conditions", f"{results['failed']} × 412, {results['missing']} × 404")
    line("repeats by key", counts["repeats"])
    lists = f"{ledger.checked_lists} lists of {ledger.checked_rows} places, {counts['unchanged lists']} of them 304"
    line("checked", f"{ledger.checked_reads} reads by id, {lists}")
    line("by the index alone", f"{counts['searches']} searches by name, {counts['tiles']} tiles")
    line("unknown outcomes", results["unknown"])
    line("rejected", f"{results['rejected']} ({counts['disconnected while sending']} partial requests)")
    line("errors", ", ".join(f"{count} × {status} {code}" for (status, code), count in sorted(errors.items())) or "none")
    kinds = collections.Counter(violation.kind for violation in violations)
    line("violations", ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS))
    printed = collections.Counter()
    for violation in violations:
        printed[violation.kind] += 1
        if printed[violation.kind] > max(2, PRINTED_VIOLATIONS // len(kinds)):
            continue
        print(f"  VIOLATION: {violation.kind}: {violation.text}")
        for operation in violation.history:
            print(f"      {operation}")
    if violations:
        print("  faults by time:")
        for begin, end, fault in sorted(entry for injector in injectors for entry in injector.log):
            print(f"      {begin - ledger.start:9.3f} {end - ledger.start:9.3f}  {fault}")
    print(f"  result: {f'{len(violations)} violations' if violations else 'passed'}", flush=True)


def option_parser(description, seconds, rate):
    """Returns a parser with the options of a run, and their defaults."""
    parser = argument_parser(description)
    parser.add_argument("--seconds", type=float, default=seconds, help="duration of the load and the faults")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rate", type=float, default=rate, help="requests per second of all clients together")
    parser.add_argument("--keep-history", metavar="FILE", help="write all requests and responses to a file")
    return parser


def run_and_exit(options, scenario_of):
    """Runs a scenario on each selected store."""
    try:
        exit_after_each_store(lambda store, options: asyncio.run(run(store, options, scenario_of())), options)
    except asyncio.CancelledError:
        sys.exit("ended by a signal")


def main():
    parser = option_parser(__doc__, seconds=600, rate=300)
    parser.add_argument("--faults", help=f"inject only these, separated by commas: {', '.join(FAULTS)}")
    run_and_exit(parser.parse_args(), Scenario)


if __name__ == "__main__":
    main()
