"""Kills Waymark and PostgreSQL with -9 while clients write, and looks for lost writes.

No acknowledged write may be lost, torn or applied twice. Takes about 60 s for each store.

  scripts/faults crash
  scripts/faults crash --store memory --seconds 600 --kills 100 --clients 16 --seed 7
"""

import random
import threading
import time

from revisions import Client, fetch_places, find_violations, print_violations
from servers import argument_parser, deployment, exit_after_each_store


def kill_at_random(servers, kills, seconds, generator):
    """Kills each server the given number of times, in random order at random times, and restarts it after a moment."""
    order = servers * kills
    generator.shuffle(order)
    start = time.monotonic()
    counts = dict.fromkeys((server.name for server in servers), 0)
    for index, server in enumerate(order):
        time.sleep(max(0, start + (index + generator.random()) * seconds / len(order) - time.monotonic()))
        server.kill()
        counts[server.name] += 1
        time.sleep(generator.uniform(0, 0.2))
        server.start()
    time.sleep(max(0, start + seconds - time.monotonic()))
    return counts


def test(store, options):
    with deployment(options.waymark, store, "waymark-crash.") as (_, server, database):
        server.start()
        server.wait_until_ready()
        stopping = threading.Event()
        clients = [Client(number, server.port, stopping) for number in range(options.clients)]
        for client in clients:
            client.start()
        servers = [server] + ([database] if database else [])
        counts = kill_at_random(servers, options.kills, options.seconds, random.Random(options.seed))
        stopping.set()
        for client in clients:
            client.join()
        # Another restart, so that only durable places are compared.
        server.kill()
        server.start()
        server.wait_until_ready()
        places = fetch_places(server.port)
        violations = find_violations(places, clients, database)
    report(store, options, counts, clients, places, violations)
    return not violations


def report(store, options, counts, clients, places, violations):
    acknowledged = {method: sum(client.acknowledged[method] for client in clients) for method in clients[0].acknowledged}
    print(f"{store}, {options.seconds} s, {options.clients} clients, seed {options.seed}")
    print("  killed with -9:", ", ".join(f"{name} {count} times" for name, count in counts.items()))
    print("  acknowledged writes:", ", ".join(f"{count} {method}" for method, count in acknowledged.items()))
    print(f"  without a response: {sum(client.without_response for client in clients)}; places at the end: {len(places)}")
    print_violations(violations)
    print(f"  violations: {len(violations)}", flush=True)


def main():
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="duration of the load")
    parser.add_argument("--kills", type=int, default=10, help="number of kills of each server")
    parser.add_argument("--clients", type=int, default=8)
    exit_after_each_store(test, parser.parse_args())


if __name__ == "__main__":
    main()
