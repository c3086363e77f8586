#!/usr/bin/env python3
"""What scripts/chaos runs: servers, faults and clients, and what the model says of all that was answered."""

import argparse
import asyncio
import collections
import pathlib
import random
import signal
import sys
import tempfile

from chaos_client import Client, new_id
from cluster import MemoryCluster, PostgresCluster
from faults import InstanceFaults, ServerFaults
from history import KINDS, UNEXPECTED
from ledger import Ledger

SHARED_PLACES = 6
PRINTED_VIOLATIONS = 10


async def run(store, options):
    # Servers are ended also where this program is told to end.
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asyncio.current_task().cancel)
    with tempfile.TemporaryDirectory(prefix="waymark-chaos.", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        cluster = (PostgresCluster if store == "postgres" else MemoryCluster)(folder, options.waymark)
        ledger = Ledger()
        clients, lanes = [], []
        try:
            await cluster.start()
            load_text = f"{options.rate:g} requests/s, {options.clients} clients"
            print(f"{store}, {options.seconds:g} s, {load_text}, seed {options.seed}", flush=True)
            ledger.start = ledger.now()
            shared = random.Random(options.seed)
            shared_ids = [new_id(shared) for _ in range(SHARED_PLACES)]
            rate = options.rate / options.clients
            clients = [
                Client(number, options.seed, cluster, ledger, shared_ids, rate) for number in range(options.clients)
            ]
            lanes = make_lanes(cluster, shared_ids, options)
            await load(cluster, ledger, clients, lanes, options.seconds)
            for instance in cluster.instances:
                if instance.process.poll() is not None:
                    ledger.complain(UNEXPECTED, f"{instance.name} ended with {instance.process.returncode}")
            await cluster.restart()
            await read_everything(cluster, ledger, clients)
        except TimeoutError as error:
            ledger.complain(UNEXPECTED, f"{error}")
        finally:
            cluster.end()
        if options.keep_history:
            ledger.write_journal(options.keep_history)
    violations = ledger.verdict()
    report(ledger, clients, lanes, violations)
    return not violations


def make_lanes(cluster, shared_ids, options):
    kinds = options.faults.split(",") if options.faults else ServerFaults.KINDS + InstanceFaults.KINDS
    if not cluster.database_proxies:
        kinds = [kind for kind in kinds if not kind.endswith("_database")]
        return [InstanceFaults(cluster, shared_ids, random.Random(f"instances {options.seed}"), kinds)]
    return [
        ServerFaults(cluster, shared_ids, random.Random(f"servers {options.seed}"), kinds),
        InstanceFaults(cluster, shared_ids, random.Random(f"instances {options.seed}"), kinds),
    ]


async def load(cluster, ledger, clients, lanes, seconds):
    """Has clients and faults run for so many seconds, and ends with all servers well and no request under way."""
    no_more_faults, no_more_requests = asyncio.Event(), asyncio.Event()
    requests = [asyncio.create_task(client.run(no_more_requests)) for client in clients]
    faults = [asyncio.create_task(lane.run(no_more_faults, ledger.now)) for lane in lanes]
    try:
        done, _ = await asyncio.wait([*requests, *faults], timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
        no_more_faults.set()
        await asyncio.gather(*faults)
        await cluster.make_whole()
        for client in clients:
            client.is_faulty = False
        # Each has the time to find out what became of its places.
        await asyncio.sleep(2)
        no_more_requests.set()
        await asyncio.gather(*requests)
    finally:
        for task in [*requests, *faults]:
            task.cancel()
        await asyncio.gather(*requests, *faults, return_exceptions=True)


async def read_everything(cluster, ledger, clients):
    """Reads every place by id and by pages, from each instance."""
    client = clients[0]
    client.tags.clear()
    for instance in cluster.instances:
        for id in list(ledger.places):
            await client.read(id, instance)
        for _ in range(20):
            await client.list()
            await client.walk()
        await client.export()


def report(ledger, clients, lanes, violations):
    counts = sum((client.counts for client in clients), collections.Counter())
    refusals = sum((client.refusals for client in clients), collections.Counter())
    faults = sum((lane.counts for lane in lanes), collections.Counter())
    writes = [write for place in ledger.places.values() for write in place.writes]
    results = collections.Counter(write.result for write in writes)

    def line(title, text):
        print(f"  {title + ':':24} {text}")

    line("faults", ", ".join(f"{count} {kind}" for kind, count in sorted(faults.items())) or "none")
    methods = ", ".join(f"{counts[kind]} {kind}" for kind in ("POST", "PUT", "PATCH", "DELETE", "rows imported"))
    line("acknowledged writes", f"{results['made']} ({methods}), to {len(ledger.places)} ids")
    line("conditions not met", f"{results['failed']} × 412, {results['missing']} × 404")
    line("repeated by their key", counts["repeats"])
    lists = f"{ledger.checked_lists} lists of {ledger.checked_rows} places, {counts['lists confirmed']} of them by 304"
    line("checked", f"{ledger.checked_reads} reads by id, {lists}")
    line("unknown outcomes", results["unknown"])
    line("not made", f"{results['refused']} ({counts['hung up while sending']} cut short by their client)")
    answers = ", ".join(f"{count} × {status} {code}" for (status, code), count in sorted(refusals.items()))
    line("try again", answers or "never")
    kinds = collections.Counter(violation.kind for violation in violations)
    line("violations", ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS))
    printed = collections.Counter()
    for violation in violations:
        printed[violation.kind] += 1
        if printed[violation.kind] > max(2, PRINTED_VIOLATIONS // len(kinds)):
            continue
        print(f"  WRONG: {violation.kind}: {violation.text}")
        for operation in violation.history:
            print(f"      {operation}")
    if violations:
        print("  faults by time:")
        for begin, end, kind in sorted(entry for lane in lanes for entry in lane.log):
            print(f"      {begin - ledger.start:9.3f} {end - ledger.start:9.3f}  {kind}")
    print(f"  verdict: {f'{len(violations)} violations' if violations else 'as promised'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True, help="the program")
    parser.add_argument("--store", choices=("postgres", "memory"), help="one store alone")
    parser.add_argument("--seconds", type=float, default=600, help="how long clients write and things go wrong")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rate", type=float, default=300, help="requests a second, of all clients")
    parser.add_argument("--faults", help=f"these alone: {', '.join(ServerFaults.KINDS + InstanceFaults.KINDS)}")
    parser.add_argument("--keep-history", metavar="FILE", help="where to write all that was sent and answered")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="what goes wrong when, and what is sent")
    options = parser.parse_args()
    stores = [options.store] if options.store else ["postgres", "memory"]
    try:
        # Both are tried, whatever the first one shows.
        is_right = all([asyncio.run(run(store, options)) for store in stores])
    except asyncio.CancelledError:
        sys.exit("ended by a signal")
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
