"""Clients that know the correct state of each place, and the verification of places after faults.

Each place belongs to one client. The revision of a place, the number of its changes, is stored in its name, its latitude
and its tags, so that a place in which they differ shows a torn write. Its version must be the one that was acknowledged
with the revision. After a request without a response, a place may be in the state before or after it; a creation is then
retried with its Idempotency-Key, and must not be applied twice.
"""

import collections
import http.client
import json
import random
import re
import threading
import time
import urllib.parse
import uuid

from http_clients import problem_code

# The documented errors after which a client may retry, by status and code.
RETRYABLE_ERRORS = {
    (429, "rate-limited"), (503, "store-unavailable"), (503, "overloaded"), (504, "store-timeout"), (504, "outcome-unknown"),
}
PRINTED_VIOLATIONS = 20


class Client(threading.Thread):
    """A client that creates, replaces, patches and deletes places of its own, one request after another."""

    def __init__(self, number, port, stopping, key=None):
        super().__init__(daemon=True)
        self.credentials = {"Authorization": f"Bearer {key}"} if key else {}
        self.number = number
        self.port = port
        self.stopping = stopping
        self.random = random.Random(number)
        self.serial = 0
        self.connection = None
        # The possible revisions of each place; 0 means absent. Only places with one possible revision are changed.
        self.revisions = {}
        # The entity tag of the last acknowledged revision of each place.
        self.etags = {}
        # The names of places whose creation has no response; they may exist.
        self.unresolved_creations = set()
        self.acknowledged = dict.fromkeys(("POST", "PUT", "PATCH", "DELETE"), 0)
        self.without_response = 0
        # The number of errors, by status and code.
        self.errors = collections.Counter()
        self.violations = []

    def run(self):
        while not self.stopping.is_set():
            known = self.known_revisions()
            id, revision = self.random.choice(known) if known else (None, 0)
            draw = self.random.random()
            if id is None or draw < 0.3:
                self.create()
            elif draw < 0.4:
                self.put_new()
            elif draw < 0.55:
                self.change("PUT", id, revision, self.place(id, revision + 1))
            elif draw < 0.85:
                self.change("PATCH", id, revision, self.place(id, revision + 1))
            else:
                self.change("DELETE", id, revision, None)

    def known_revisions(self):
        """Returns the ids that certainly exist, with their revisions."""
        return [(id, states[0]) for id, states in self.revisions.items() if len(states) == 1 and states[0] > 0]

    def place(self, name, revision):
        return {"name": f"crash {name} r{revision}", "lat": revision % 90, "long": 1, "tags": {"r": str(revision)}}

    def create(self):
        self.serial += 1
        name = f"{self.number}-{self.serial}"
        self.unresolved_creations.add(f"crash {name} r1")
        while not self.stopping.is_set():
            response = self.request("POST", "/locations", self.place(name, 1), {"Idempotency-Key": f'"{name}"'})
            if response and response.status == 201:
                self.unresolved_creations.remove(f"crash {name} r1")
                id = response.headers["location"].rsplit("/", 1)[1]
                self.revisions[id] = [1]
                self.etags[id] = response.headers["etag"]
                return
            if response and response.status != 409:  # the first attempt is still in progress
                self.violations.append(f"POST of {name} returned {response.status}")
                return

    def put_new(self):
        id = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        self.change("PUT", id, 0, self.place(id, 1))

    def change(self, method, id, revision, place):
        condition = {"If-Match": self.etags[id]} if revision else {"If-None-Match": "*"}
        response = self.request(method, f"/locations/{id}", place, condition)
        after = revision + 1 if place else 0
        if response is None:
            self.revisions[id] = [revision, after]
        elif response.status in (200, 201, 204):
            self.revisions[id] = [after]
            self.etags[id] = response.headers.get("etag")
        else:
            self.violations.append(f"{method} of {id} at revision {revision} returned {response.status}")
            self.revisions[id] = [revision, after]

    def request(self, method, path, body, headers):
        """Returns the response, or None if the outcome is unknown. Waits while connections are refused."""
        headers = headers | self.credentials
        if body:
            headers["Content-Type"] = f"application/{'merge-patch+' if method == 'PATCH' else ''}json"
        while not self.connect():
            if self.stopping.is_set():
                return None
            time.sleep(0.05)
        try:
            self.connection.request(method, path, json.dumps(body) if body else None, headers)
            response = self.connection.getresponse()
            response.body = response.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            response = None
        if response and (response.status >= 500 or response.status == 429):
            self.record_error(method, path, response)
            response = None
        if response is None:
            self.without_response += 1
            time.sleep(0.02)
            return None
        if response.status < 300 and method in self.acknowledged:
            self.acknowledged[method] += 1
        return response

    def record_error(self, method, path, response):
        code = problem_code(response.body)
        self.errors[response.status, code] += 1
        if (response.status, code) not in RETRYABLE_ERRORS:
            self.violations.append(f"{method} {path} returned {response.status} {code}")
        elif response.status != 504 and not response.headers.get("retry-after"):
            self.violations.append(f"{method} {path} returned {response.status} without Retry-After")

    def connect(self):
        if self.connection:
            return True
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.connect()
        except OSError:
            return False
        self.connection = connection
        return True


# Verification


def fetch_places(port):
    """Returns all places that clients created, by id."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    path = "/locations?limit=1000&fields=*"
    places = {}
    while path:
        connection.request("GET", path)
        response = connection.getresponse()
        for place in json.loads(response.read()):
            if place["name"].startswith("crash "):
                places[place["id"]] = place
        link = re.match(r'<([^>]*)>; rel="next"', response.headers.get("link") or "")
        path = link and urllib.parse.urljoin(path, link[1])
    return places


def find_violations(places, clients, database):
    """Compares the places, and the change log of a database, with the acknowledged writes."""
    violations = [violation for client in clients for violation in client.violations]
    known = set()
    for client in clients:
        for id, revisions in client.revisions.items():
            known.add(id)
            found = int(places[id]["tags"]["r"]) if id in places else 0
            if found not in revisions:
                violations.append(f"{id} has revision {found}, expected {' or '.join(map(str, revisions))}")
            elif found and revisions == [found] and f'"{places[id]["version"]}"' != client.etags[id]:
                violations.append(f"{id} has version {places[id]['version']}, expected {client.etags[id]}")
    names = [place["name"] for place in places.values()]
    unresolved_creations = set().union(*(client.unresolved_creations for client in clients))
    for id, place in places.items():
        revision = int(place["tags"].get("r", 0))
        if not place["name"].endswith(f" r{revision}") or place["lat"] != revision % 90 or place["tags"] != {"r": str(revision)}:
            violations.append(f"{id} is a torn write: {place}")
        if id not in known and place["name"] not in unresolved_creations:
            violations.append(f"no client created {place}")
    if len(set(names)) < len(names):
        violations.append(f"{len(names) - len(set(names))} places were created twice")
    if database and database.query(CHANGE_LOG_DIFFERENCES) != "0":
        violations.append("the change log does not match the places")
    return violations


def print_violations(violations):
    for violation in violations[:PRINTED_VIOLATIONS]:
        print("  VIOLATION:", violation)


# Counts the places whose version differs from their last entry in the change log.
CHANGE_LOG_DIFFERENCES = """
    SELECT count(*)
    FROM (SELECT DISTINCT ON (point_id) point_id AS id, version, kind FROM changes ORDER BY point_id, sequence DESC) AS last
    FULL JOIN points USING (id)
    WHERE (CASE WHEN kind <> 'deleted' THEN last.version END) IS DISTINCT FROM points.version
"""
