#!/usr/bin/env python3
"""What scripts/crash-test runs: servers that are killed, clients that write, and a comparison at the end."""

import argparse
import pathlib
import random
import sys
import tempfile
import threading
import time

from load import LOG_DIFFERENCES, Client, Postgres, Waymark, complaints_about, places_of


def kill_at_random(victims, kills, seconds, generator):
    """Kills each as often as that, in random order at random times, and starts it again after a moment."""
    order = victims * kills
    generator.shuffle(order)
    start = time.monotonic()
    counts = dict.fromkeys((victim.name for victim in victims), 0)
    for index, victim in enumerate(order):
        time.sleep(max(0, start + (index + generator.random()) * seconds / len(order) - time.monotonic()))
        victim.kill()
        counts[victim.name] += 1
        time.sleep(generator.uniform(0, 0.2))
        victim.start()
    time.sleep(max(0, start + seconds - time.monotonic()))
    return counts


def test(store, options):
    generator = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="waymark-crash.") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        database = None
        if store == "postgres":
            database = Postgres(folder)
            database.start()
            environment = {"POINT_STORE": "postgres", "DATABASE_URL": database.url}
            environment["MIGRATIONS_PATH"] = str(pathlib.Path(__file__).parent.parent / "Migrations")
        else:
            environment = {"POINT_STORE": "memory", "MEMORY_STORE_PATH": str(folder / "places.db")}
        server = Waymark(options.waymark, environment)
        try:
            if database:
                server.command("migrate")
            server.start()
            server.wait_until_ready()
            stopping = threading.Event()
            clients = [Client(number, server.port, stopping) for number in range(options.clients)]
            for client in clients:
                client.start()
            counts = kill_at_random([server] + ([database] if database else []), options.kills, options.seconds, generator)
            stopping.set()
            for client in clients:
                client.join()
            # Once more, so that what is compared is what was kept.
            server.kill()
            server.start()
            server.wait_until_ready()
            places = places_of(server.port)
            complaints = complaints_about(places, clients)
            if database and database.query(LOG_DIFFERENCES) != "0":
                complaints.append("the change log tells of other places than there are")
        finally:
            server.kill()
            if database:
                database.stop()
    report(store, options, counts, clients, places, complaints)
    return not complaints


def report(store, options, counts, clients, places, complaints):
    acknowledged = {method: sum(client.acknowledged[method] for client in clients) for method in clients[0].acknowledged}
    print(f"{store}, {options.seconds} s, {options.clients} clients, seed {options.seed}")
    print("  killed with -9:", ", ".join(f"{name} {count} times" for name, count in counts.items()))
    print("  acknowledged:", ", ".join(f"{count} {method}" for method, count in acknowledged.items()))
    print(f"  without an answer: {sum(client.unanswered for client in clients)}; places afterwards: {len(places)}")
    for complaint in complaints[:20]:
        print("  WRONG:", complaint)
    print(f"  lost, half there or done twice: {len(complaints)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True, help="the program")
    parser.add_argument("--store", choices=("postgres", "memory"), help="one store alone")
    parser.add_argument("--seconds", type=float, default=60, help="how long clients write")
    parser.add_argument("--kills", type=int, default=10, help="how often each server is killed")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="when what is killed")
    options = parser.parse_args()
    stores = [options.store] if options.store else ["postgres", "memory"]
    # Both are tested, whatever the first one shows.
    sys.exit(0 if all([test(store, options) for store in stores]) else 1)


if __name__ == "__main__":
    main()
