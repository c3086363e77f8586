"""The record of chaos, crash and soak: the content and history of each place, and the expected places of lists."""

import itertools
import math
import time

from history import ABSENT, DUPLICATED, KINDS, UNEXPECTED, WRONG_CONTENT, Place, Violation, Write
from linearizability import violations_of

PREFIX = "chaos "
CATEGORIES = ("cafe", "museum", "park", "natural:peak", None)
# Spherical distances differ from geodesic ones by up to 0.6 %, so places this close to an edge are not checked.
TOLERANCE = 0.01
EARTH_RADIUS_METRES = 6_371_008.8


def distance_metres(lat, long, other_lat, other_long):
    """Returns the great-circle distance."""
    first, second = math.radians(lat), math.radians(other_lat)
    half = math.sin((second - first) / 2) ** 2
    half += math.cos(first) * math.cos(second) * math.sin(math.radians(other_long - long) / 2) ** 2
    return 2 * EARTH_RADIUS_METRES * math.asin(min(1.0, math.sqrt(half)))


class Content:
    """The content of a place that one write produces, with a unique token in its name."""

    __slots__ = ("token", "lat", "long", "category", "write")

    def __init__(self, token, random):
        self.token = token
        # Three decimal places, which Python and the service print alike.
        self.lat = random.randrange(40_000, 44_000) / 1000
        self.long = random.randrange(10_000, 16_000) / 1000
        self.category = random.choice(CATEGORIES)
        self.write = None

    def body(self, **more):
        body = {"name": PREFIX + self.token, "lat": self.lat, "long": self.long, "tags": {"token": self.token}}
        return body | ({"category": self.category} if self.category else {}) | more

    def matches(self, item):
        if (item["lat"], item["long"], item.get("category")) != (self.lat, self.long, self.category):
            return False
        return item.get("tags", {"token": self.token}) == {"token": self.token}


class Region:
    """The condition for a place to be in a list, or in one page of it."""

    def __init__(self, ledger, text, box=None, centre=None, radius=math.inf, categories=None):
        self.ledger = ledger
        self.text = text
        self.box = box
        self.centre = centre
        self.radius = radius
        self.categories = categories
        # The part of the list that a page contains: a range of ids, or of distances.
        self.after_id, self.last_id = "", "~"
        self.after_metres, self.last_metres = -math.inf, math.inf

    def __str__(self):
        part = "" if (self.after_id, self.last_id) == ("", "~") else f" from {self.after_id or 'the start'} to {self.last_id}"
        return self.text + part

    def matches(self, content):
        """Returns True if the content matches the category and the box; distances are not compared."""
        if self.categories is not None and content.category not in self.categories:
            return False
        if self.box is None:
            return True
        west, south, east, north = self.box
        return south <= content.lat <= north and west <= content.long <= east

    def distance(self, content):
        return distance_metres(*self.centre, content.lat, content.long)

    def certainly_contains(self, id, token):
        content = self.ledger.contents[token]
        if not self.after_id < id <= self.last_id or not self.matches(content):
            return False
        if self.centre is None:
            return True
        metres = self.distance(content)
        above = metres > self.after_metres * (1 + TOLERANCE) + 1
        return above and metres < min(self.radius, self.last_metres) * (1 - TOLERANCE) - 1

    def certainly_excludes(self, id, content):
        if not self.after_id < id <= self.last_id or not self.matches(content):
            return True
        return self.centre is not None and self.distance(content) > self.radius * (1 + TOLERANCE) + 1


class Ledger:
    """The record of all requests and responses."""

    def __init__(self):
        self.start = time.monotonic()
        self.contents = {}
        self.places = {}
        # The ids that lists are checked for; the others are deleted and not used again.
        self.active = {}
        self.violations = []
        self.checked_reads = 0
        self.checked_lists = 0
        self.checked_rows = 0
        self.tokens = itertools.count(1)
        # Creations whose id is unknown.
        self.unbound = set()

    now = staticmethod(time.monotonic)

    def content(self, random, number):
        token = f"{number}-{next(self.tokens)}"
        self.contents[token] = Content(token, random)
        return self.contents[token]

    def place(self, id):
        place = self.places.get(id)
        if place is None:
            place = self.places[id] = self.active[id] = Place(id)
        return place

    def retire(self, id):
        """Stops checking lists for the absence of a deleted id; its presence is still a violation."""
        self.active.pop(id, None)

    def report_violation(self, kind, text):
        if sum(violation.kind == kind for violation in self.violations) < 1000:
            at = f" at {self.now() - self.start:.3f}"
            self.violations.append(Violation(kind, text + at, []))

    # Writes.

    def begin(self, id, kind, content, condition, label):
        """Records a write before it is sent; its id is None if the server assigns it."""
        write = Write(kind, content.token if content else None, condition, self.now(), label)
        if content:
            content.write = write
        if id:
            self.place(id).begin(write)
        else:
            self.unbound.add(write)
        return write

    def bind(self, write, id):
        """Records the id of a creation. Returns False if the creation has another id already."""
        if write.place is None:
            self.unbound.discard(write)
            place = self.place(id)
            place.begin(write)
            write.previous_version = 0
            if write.completed is not None:
                place.end(write, write.result, write.completed)
            return True
        if write.place.id != id:
            self.report_violation(DUPLICATED, f"{write.token} was created as {write.place.id} and as {id} [{write.label}]")
            return False
        return True

    def end(self, write, result, response, version=None, created=None):
        """Records the result of a write, and a summary of its response."""
        write.response = response
        write.created = created
        if write.place is None:
            write.completed = self.now()
            write.result = result
            if result == "rejected":
                self.unbound.discard(write)
            return
        if version is not None:
            write.place.record_write_version(write, version)
        write.place.end(write, result, self.now())

    # Reads.

    def identify(self, item, label):
        """Returns the token of a place in a response; None if no client wrote it, or if it is a violation."""
        name = item["name"]
        if not name.startswith(PREFIX):
            return None
        token = name[len(PREFIX) :]
        content = self.contents.get(token)
        write = content and content.write
        if write is None:
            self.report_violation(WRONG_CONTENT, f"no client wrote {item} [{label}]")
            return None
        if write.kind == "create":
            if not self.bind(write, item["id"]):
                return None
        elif write.place.id != item["id"]:
            self.report_violation(WRONG_CONTENT, f"{token} was written to {write.place.id}, not {item['id']} [{label}]")
            return None
        if not content.matches(item):
            self.report_violation(WRONG_CONTENT, f"{item} differs from the content written as {token} [{label}]")
        if "version" in item:
            write.place.record_version(item["version"], token, label)
        return token

    def read(self, id, value, sent, label):
        """Records the state in a response to a read by id: a token or ABSENT."""
        self.checked_reads += 1
        self.place(id).observe(value, None, sent, self.now(), label)

    def list(self, region, items, sent, label):
        """Records the observation of each id in a list, or in one page."""
        completed = self.now()
        self.checked_lists += 1
        self.checked_rows += len(items)
        seen = set()
        for item in items:
            if item["id"] in seen:
                self.report_violation(DUPLICATED, f"{item['id']} is twice in {region} [{label}]")
            seen.add(item["id"])
            token = self.identify(item, label)
            if token is None:
                continue
            if region.certainly_excludes(item["id"], self.contents[token]):
                self.report_violation(WRONG_CONTENT, f"{item} does not belong in {region} [{label}]")
            self.places[item["id"]].observe(token, None, sent, completed, label)
        for id, place in self.active.items():
            if id in seen:
                continue
            state = place.stable_state
            if state is not None and sent > place.stable_since:
                if state == ABSENT or not region.certainly_contains(id, state):
                    continue
            place.observe(None, region, sent, completed, label)

    def counts(self, counts, sent, label):
        """Compares the number of places of each category with the possible range."""
        self.checked_lists += 1
        minimum, maximum = dict.fromkeys(CATEGORIES, 0), dict.fromkeys(CATEGORIES, 0)
        for place in self.active.values():
            if place.stable_state is None or sent <= place.stable_since:
                if place.writes or place.reads:
                    for category in self.possible_categories(place):
                        maximum[category] += 1
            elif place.stable_state != ABSENT:
                minimum[self.contents[place.stable_state].category] += 1
                maximum[self.contents[place.stable_state].category] += 1
        for write in self.unbound:
            maximum[self.contents[write.token].category] += 1
        for category in CATEGORIES[:-1]:
            if not minimum[category] <= counts.get(category, 0) <= maximum[category]:
                expected = f"expected {minimum[category]} to {maximum[category]}"
                text = f"category {category} has {counts.get(category, 0)} places, {expected} [{label}]"
                self.report_violation(UNEXPECTED, text)

    def possible_categories(self, place):
        """Returns the categories that writes may have given to a place."""
        tokens = [write.token for write in place.writes if write.token]
        return {self.contents[token].category for token in tokens}

    # Results.

    def all_violations(self):
        """Returns the violations of all histories."""
        found = list(self.violations)
        for place in self.places.values():
            found += violations_of(place, self.start)
        return sorted(found, key=lambda violation: KINDS.index(violation.kind))

    def write_history(self, path):
        """Writes all histories to a file."""
        with open(path, "w") as file:
            for place in self.places.values():
                operations = sorted([*place.writes, *place.reads], key=lambda operation: operation.sent)
                file.writelines(f"{place.id} {operation.describe(self.start)}\n" for operation in operations)

