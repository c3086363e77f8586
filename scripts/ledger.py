"""What scripts/chaos knows: each place's content and history, and which places a list must and may hold."""

import copy
import itertools
import math
import time

from history import ABSENT, DOUBLED, KINDS, TORN, UNEXPECTED, Place, Violation, Write
from linearizability import violations_of

PREFIX = "chaos "
CATEGORIES = ("cafe", "museum", "park", "natural:peak", None)
# Distances on a sphere differ from geodesic ones by up to 0.6 %: nothing is claimed of places this near to an edge.
TOLERANCE = 0.01
EARTH_RADIUS_METRES = 6_371_008.8


def distance_metres(lat, long, other_lat, other_long):
    """The distance on a sphere."""
    first, second = math.radians(lat), math.radians(other_lat)
    half = math.sin((second - first) / 2) ** 2
    half += math.cos(first) * math.cos(second) * math.sin(math.radians(other_long - long) / 2) ** 2
    return 2 * EARTH_RADIUS_METRES * math.asin(min(1.0, math.sqrt(half)))


class Content:
    """What one write makes of a place; its token, which is its name, is never used twice."""

    __slots__ = ("token", "lat", "long", "category", "write")

    def __init__(self, token, random):
        self.token = token
        # Numbers of few digits, which are the same in Python and in the service.
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
    """Which places a list, or one page of it, is to hold."""

    def __init__(self, ledger, text, box=None, centre=None, radius=math.inf, categories=None):
        self.ledger = ledger
        self.text = text
        self.box = box
        self.centre = centre
        self.radius = radius
        self.categories = categories
        # The part of the list that a page shows: by id, or by distance.
        self.after_id, self.last_id = "", "~"
        self.after_metres, self.last_metres = -math.inf, math.inf

    def __str__(self):
        part = "" if (self.after_id, self.last_id) == ("", "~") else f" from {self.after_id or 'the start'} to {self.last_id}"
        return self.text + part

    def copy(self):
        """The same part of the same list."""
        return copy.copy(self)

    def matches(self, content):
        """Whether the filters match, distances left aside."""
        if self.categories is not None and content.category not in self.categories:
            return False
        if self.box is None:
            return True
        west, south, east, north = self.box
        return south <= content.lat <= north and west <= content.long <= east

    def distance(self, content):
        return distance_metres(*self.centre, content.lat, content.long)

    def surely_contains(self, id, token):
        content = self.ledger.contents[token]
        if not self.after_id < id <= self.last_id or not self.matches(content):
            return False
        if self.centre is None:
            return True
        metres = self.distance(content)
        above = metres > self.after_metres * (1 + TOLERANCE) + 1
        return above and metres < min(self.radius, self.last_metres) * (1 - TOLERANCE) - 1

    def surely_lacks(self, id, content):
        if not self.after_id < id <= self.last_id or not self.matches(content):
            return True
        return self.centre is not None and self.distance(content) > self.radius * (1 + TOLERANCE) + 1


class Ledger:
    """All that was sent and answered."""

    def __init__(self):
        self.start = time.monotonic()
        self.contents = {}
        self.places = {}
        # The ids that lists are checked for; the others are gone for good.
        self.active = {}
        self.violations = []
        self.checked_reads = 0
        self.checked_lists = 0
        self.checked_rows = 0
        self.tokens = itertools.count(1)
        # Creations whose id is not known.
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
        """Stops to look for an id that is absent in each list; it is still noticed where it appears."""
        self.active.pop(id, None)

    def complain(self, kind, text):
        if sum(violation.kind == kind for violation in self.violations) < 1000:
            at = f" at {self.now() - self.start:.3f}"
            self.violations.append(Violation(kind, text + at, []))

    # Writes.

    def begin(self, id, kind, content, condition, label):
        """Notes a write to be sent; without an id where it creates a place whose id is yet to be known."""
        write = Write(kind, content.token if content else None, condition, self.now(), label)
        if content:
            content.write = write
        if id:
            self.place(id).begin(write)
        else:
            self.unbound.add(write)
        return write

    def bind(self, write, id):
        """Notes which id a creation has got. Returns whether it is the one that it had."""
        if write.place is None:
            self.unbound.discard(write)
            place = self.place(id)
            place.begin(write)
            write.floor = 0
            if write.answered is not None:
                place.end(write, write.result, write.answered)
            return True
        if write.place.id != id:
            self.complain(DOUBLED, f"{write.token} was created as {write.place.id} and as {id} [{write.label}]")
            return False
        return True

    def end(self, write, result, note, version=None, created=None):
        """Notes how a write was answered."""
        write.note = note
        write.created = created
        if write.place is None:
            write.answered = self.now()
            write.result = result
            if result == "refused":
                self.unbound.discard(write)
            return
        if version is not None:
            write.place.note_write_version(write, version)
        write.place.end(write, result, self.now())

    # Reads.

    def identify(self, item, label):
        """Returns the token of a place in a response; None for a place of others, or one that is wrong."""
        name = item["name"]
        if not name.startswith(PREFIX):
            return None
        token = name[len(PREFIX) :]
        content = self.contents.get(token)
        write = content and content.write
        if write is None:
            self.complain(TORN, f"nobody wrote {item} [{label}]")
            return None
        if write.kind == "create":
            if not self.bind(write, item["id"]):
                return None
        elif write.place.id != item["id"]:
            self.complain(TORN, f"{token} was written to {write.place.id}, not {item['id']} [{label}]")
            return None
        if not content.matches(item):
            self.complain(TORN, f"{item} is not what was written as {token} [{label}]")
        if "version" in item:
            write.place.note_version(item["version"], token, label)
        return token

    def read(self, id, value, sent, label):
        """Notes what a read by id has told: a token or ABSENT."""
        self.checked_reads += 1
        self.place(id).observe(value, None, sent, self.now(), label)

    def list(self, region, items, sent, label):
        """Notes what a list, or one page, has told of every id."""
        answered = self.now()
        self.checked_lists += 1
        self.checked_rows += len(items)
        seen = set()
        for item in items:
            if item["id"] in seen:
                self.complain(DOUBLED, f"{item['id']} is twice in {region} [{label}]")
            seen.add(item["id"])
            token = self.identify(item, label)
            if token is None:
                continue
            if region.surely_lacks(item["id"], self.contents[token]):
                self.complain(TORN, f"{item} does not belong in {region} [{label}]")
            self.places[item["id"]].observe(token, None, sent, answered, label)
        for id, place in self.active.items():
            if id in seen:
                continue
            steady = place.steady
            if steady is not None and sent > place.steady_since:
                if steady == ABSENT or not region.surely_contains(id, steady):
                    continue
            place.observe(None, region, sent, answered, label)

    def counts(self, counts, sent, label):
        """Compares how many places there are of each category with how many there may be."""
        self.checked_lists += 1
        least, most = dict.fromkeys(CATEGORIES, 0), dict.fromkeys(CATEGORIES, 0)
        for place in self.active.values():
            if place.steady is None or sent <= place.steady_since:
                if place.writes or place.reads:
                    for category in self.possible_categories(place, sent):
                        most[category] += 1
            elif place.steady != ABSENT:
                least[self.contents[place.steady].category] += 1
                most[self.contents[place.steady].category] += 1
        for write in self.unbound:
            most[self.contents[write.token].category] += 1
        for category in CATEGORIES[:-1]:
            if not least[category] <= counts.get(category, 0) <= most[category]:
                text = f"{counts.get(category, 0)} of category {category} were counted, not {least[category]} to {most[category]}"
                self.complain(UNEXPECTED, f"{text} [{label}]")

    def possible_categories(self, place, sent):
        """The categories that a place may have been of since then."""
        tokens = [write.token for write in place.writes if write.token]
        return {self.contents[token].category for token in tokens}

    # The end.

    def verdict(self):
        """All violations."""
        found = list(self.violations)
        for place in self.places.values():
            found += violations_of(place, self.start)
        return sorted(found, key=lambda violation: KINDS.index(violation.kind))

    def write_journal(self, path):
        """Writes all histories to a file, for who looks for a cause."""
        with open(path, "w") as file:
            for place in self.places.values():
                operations = sorted([*place.writes, *place.reads], key=lambda operation: operation.sent)
                file.writelines(f"{place.id} {operation.describe(self.start)}\n" for operation in operations)

