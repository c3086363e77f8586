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
from history import KINDS, UNEXPECTED
from injectors import DatabaseFaults, InstanceFaults
from ledger import Ledger
from servers import argument_parser, exit_after_each_store, temporary_folder

SHARED_PLACES = 6
PRINTED_VIOLATIONS = 10
FAULTS = (*DatabaseFaults.FAULTS, *InstanceFaults.FAULTS)


async def run(store, options):
    # A signal cancels the task, so that the servers are stopped.
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asyncio.current_task().cancel)
    with temporary_folder("waymark-chaos.") as folder:
        cluster = (PostgresCluster if store == "postgres" else MemoryCluster)(folder, options.waymark)
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
                Client(number, options.seed, cluster, ledger, shared_ids, rate) for number in range(options.clients)
            ]
            injectors = create_injectors(cluster, shared_ids, options)
            await run_load(cluster, ledger, clients, injectors, options.seconds)
            for instance in cluster.instances:
                if instance.process.poll() is not None:
                    ledger.report_violation(UNEXPECTED, f"{instance.name} exited with {instance.process.returncode}")
            await cluster.restart()
            await read_everything(cluster, ledger, clients)
        except TimeoutError as error:
            ledger.report_violation(UNEXPECTED, f"{error}")
        finally:
            cluster.stop()
        if options.keep_history:
            ledger.write_history(options.keep_history)
    violations = ledger.all_violations()
    report(ledger, clients, injectors, violations)
    return not violations


def create_injectors(cluster, shared_ids, options):
    names = options.faults.split(",") if options.faults else FAULTS
    if not cluster.database_proxies:
        names = [name for name in names if not name.endswith("_database")]
        return [InstanceFaults(cluster, shared_ids, random.Random(f"instances {options.seed}"), names)]
    return [
        DatabaseFaults(cluster, shared_ids, random.Random(f"servers {options.seed}"), names),
        InstanceFaults(cluster, shared_ids, random.Random(f"instances {options.seed}"), names),
    ]


async def run_load(cluster, ledger, clients, injectors, seconds):
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
        for client in clients:
            client.disconnects = False
        # Clients resolve unknown outcomes.
        await asyncio.sleep(2)
        no_more_requests.set()
        await asyncio.gather(*requests)
    finally:
        for task in [*requests, *faults]:
            task.cancel()
        await asyncio.gather(*requests, *faults, return_exceptions=True)


async def read_everything(cluster, ledger, clients):
    """Reads each place by id and in lists, from each instance."""
    client = clients[0]
    client.tags.clear()
    for instance in cluster.instances:
        for id in list(ledger.places):
            await client.read(id, instance)
        for _ in range(20):
            await client.list()
            await client.walk()
        await client.export()


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


def main():
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="duration of the load and the faults")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rate", type=float, default=300, help="requests per second of all clients together")
    parser.add_argument("--faults", help=f"inject only these, separated by commas: {', '.join(FAULTS)}")
    parser.add_argument("--keep-history", metavar="FILE", help="write all requests and responses to a file")
    try:
        exit_after_each_store(lambda store, options: asyncio.run(run(store, options)), parser.parse_args())
    except asyncio.CancelledError:
        sys.exit("ended by a signal")


if __name__ == "__main__":
    main()
