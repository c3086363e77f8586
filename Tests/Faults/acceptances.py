"""Kills servers with -9 while suggested edits are accepted, and checks that each acceptance is whole.

New places are suggested, and three reviewers accept the same ones at the same time. The server, and sometimes PostgreSQL, is
killed at a random moment. After the next start each suggestion that is accepted must have exactly one place, an open one
none, and one whose acceptance was acknowledged must be accepted. Exits with 1 otherwise.

  scripts/faults acceptances                 # a minute on each store
  scripts/faults acceptances --store memory --seconds 600 --seed 7
"""

import concurrent.futures
import http.client
import json
import random
import sys
import threading
import time

from http_clients import Client, get
from servers import argument_parser, deployment, exit_after_each_store

SUGGESTIONS = 40
REVIEWERS = 3
KILL_SECONDS = 0.4


def suggest(server, round_number):
    """Suggests new places and returns the ids of the suggestions by the sourceIds of the places."""
    client, ids = Client(server.port), {}
    for number in range(SUGGESTIONS):
        source_id = f"{round_number}-{number}"
        place = {"name": f"place {source_id}", "lat": 1, "long": 2, "source": "check", "sourceId": source_id}
        status, _, body = client.send("POST", "/suggestions", {"draft": place})
        if status != 201:
            raise RuntimeError(f"a suggestion is {status}: {body[:200]}")
        ids[source_id] = json.loads(body)["id"]
    return ids


def accept(server, ids, acknowledged):
    """Accepts suggestions until the server is killed, and notes those whose acceptance was acknowledged."""
    client = Client(server.port, timeout=20)
    for id in ids:
        try:
            status, _, body = client.send("POST", f"/suggestions/{id}/accept")
        except (OSError, http.client.HTTPException):
            return None
        if status == 200:
            acknowledged.add(id)
        elif status not in (503, 504):
            return f"an acceptance is {status}: {body[:200]}"
    return None


def deviations(server, ids, acknowledged):
    """Returns what is wrong after a start."""
    found = []
    for source_id, id in ids.items():
        state = json.loads(get(server.port, f"/suggestions/{id}")[0])["state"]
        places = json.loads(get(server.port, f"/locations?source=check&sourceId={source_id}")[0])
        if state != "accepted" and id in acknowledged:
            found.append(f"the acceptance of {id} was acknowledged, and it is {state}")
        if len(places) != (1 if state == "accepted" else 0):
            found.append(f"{id} is {state}, and has {len(places)} places")
        if state == "open":
            # An address has a maximum number of open ones.
            Client(server.port).send("POST", f"/suggestions/{id}/reject")
    return found


def check(store, options):
    generator = random.Random(options.seed)
    end = time.monotonic() + options.seconds
    rounds = acknowledgements = partial = 0
    errors = []
    with deployment(options.waymark, store, "waymark-acceptances-") as (_, server, database):
        server.start()
        server.wait_until_ready()
        while time.monotonic() < end and not errors:
            ids, acknowledged = suggest(server, rounds), set()
            kills = [server.kill] if database is None or generator.random() < 0.7 else [database.kill, server.kill]

            def kill(seconds=generator.uniform(0, KILL_SECONDS)):
                time.sleep(seconds)
                for step in kills:
                    step()

            killer = threading.Thread(target=kill)
            killer.start()
            with concurrent.futures.ThreadPoolExecutor(REVIEWERS) as pool:
                reviews = [pool.submit(accept, server, list(ids.values()), acknowledged) for _ in range(REVIEWERS)]
                errors += [error for error in (review.result() for review in reviews) if error]
            killer.join()
            if len(kills) > 1:
                database.start()
            server.start()
            server.wait_until_ready()
            errors += deviations(server, ids, acknowledged)
            rounds += 1
            acknowledgements += len(acknowledged)
            partial += 0 < len(acknowledged) < SUGGESTIONS
    print(f"{store}, seed {options.seed}: {rounds} kills, {acknowledgements} acceptances acknowledged; {partial} kills came"
          " between acceptances", flush=True)
    if not partial:
        errors.append("no kill came between acceptances")
    for error in errors[:20]:
        print(f"  {error}", file=sys.stderr)
    return not errors


if __name__ == "__main__":
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="the duration on each store")
    exit_after_each_store(check, parser.parse_args())
