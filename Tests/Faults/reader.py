"""The reads of the clients: places by id, lists, pages, counts and exports, recorded in the ledger."""

import collections
import copy
import json
import random
import re

from connection import Connection, NoResponse, NotSent, version_of
from history import ABSENT, UNEXPECTED
from http_clients import problem_code
from ledger import CATEGORIES, PREFIX, Region

# The documented errors after which a client may retry, by status and code.
RETRYABLE_ERRORS = {
    (429, "rate-limited"), (503, "store-unavailable"), (503, "overloaded"), (503, "index-not-ready"),
    (504, "store-timeout"), (504, "outcome-unknown"),
}


class Reader:
    """A client that reads from any instance, and verifies the responses."""

    def __init__(self, number, seed, cluster, ledger, shared_ids, headers):
        self.number = number
        self.random = random.Random(f"{seed} {number}")
        self.cluster = cluster
        self.ledger = ledger
        # The ids that all clients write to.
        self.shared_ids = shared_ids
        # Header fields of each request.
        self.headers = headers
        self.connections = [Connection() for _ in cluster.instances]
        # The last state of each place with its entity tag, and recent lists with theirs.
        self.tags = {}
        self.lists = collections.deque(maxlen=5)
        self.counts = collections.Counter()
        self.errors = collections.Counter()
        self.latencies = []
        self.last_written = None
        self.disconnects = True

    def instance(self, other_than=None):
        """Returns a random instance, which is up with a probability of at least 97 %."""
        instances = [each for each in self.cluster.instances if each is not other_than] or self.cluster.instances
        up = [each for each in instances if each.is_up]
        return self.random.choice(up if up and self.random.random() < 0.97 else instances)

    async def request(self, instance, method, path, headers=None, body=None, may_disconnect=False):
        """Returns the response, with the problem code for body if it is an error. Raises NotSent or NoResponse."""
        timeout, is_partial = None, False
        draw = self.random.random()
        if may_disconnect and self.disconnects:
            if draw < 0.02:
                timeout = self.random.uniform(0, 0.03)
            elif draw < 0.25:
                timeout = self.random.uniform(0.1, 1)
            is_partial = 0.25 <= draw < 0.26 and body is not None
        connection = self.connections[instance.number]
        headers = self.headers | (headers or {})
        began = self.ledger.now()
        try:
            response = await connection.request(instance.proxy.port, method, path, headers, body, timeout, is_partial)
            self.latencies.append(self.ledger.now() - began)
        except NotSent:
            self.counts["disconnected while sending" if is_partial else "no connection"] += 1
            raise
        except NoResponse:
            self.counts["no response"] += 1
            raise
        if response.status >= 500 or response.status == 429:
            response = response._replace(body=self.record_error(method, path, response))
        return response

    def record_error(self, method, path, response):
        code = problem_code(response.body)
        self.errors[response.status, code] += 1
        is_unknown_outcome = code == "outcome-unknown" and response.status in (503, 504) and method != "GET"
        if (response.status, code) not in RETRYABLE_ERRORS and not is_unknown_outcome:
            self.ledger.report_violation(UNEXPECTED, f"{method} {path} returned {response.status} {code}")
        elif response.status in (429, 503) and not is_unknown_outcome and "retry-after" not in response.headers:
            self.ledger.report_violation(UNEXPECTED, f"{method} {path} returned {response.status} without Retry-After")
        return code

    def label(self, instance, method, path):
        return f"client {self.number} {method} {path} at {instance.number}"

    # Reads.

    def any_id(self):
        if self.last_written and self.random.random() < 0.4:
            return self.last_written
        if self.random.random() < 0.1:
            return self.random.choice(self.shared_ids)
        ids = list(self.ledger.active)
        return self.random.choice(ids) if ids else self.shared_ids[0]

    async def read(self, id, instance=None):
        """Reads a place by id. Returns its token or ABSENT, with the entity tag; None if there was no response."""
        instance = instance or self.instance()
        known = self.tags.get(id)
        headers = {"If-None-Match": known[1]} if known and self.random.random() < 0.4 else {}
        sent = self.ledger.now()
        try:
            response = await self.request(instance, "GET", f"/locations/{id}", headers)
        except (NotSent, NoResponse):
            return None
        label = f"{self.label(instance, 'GET', 'by id')}: {response.status}"
        if response.status == 304:
            self.ledger.read(id, known[0], sent, f"{label} by {known[1]}")
            return known
        if response.status == 404:
            self.ledger.read(id, ABSENT, sent, label)
            return ABSENT, None
        if response.status != 200:
            return None
        item = json.loads(response.body)
        token = self.ledger.identify(item, label)
        if token is None:
            return None
        tag = response.headers["etag"]
        self.ledger.place(id).record_version(version_of(response), token, label)
        self.ledger.read(id, token, sent, label)
        self.remember_tag(id, token, tag)
        return token, tag

    def remember_tag(self, id, token, tag):
        if len(self.tags) > 500:
            self.tags.clear()
        self.tags[id] = token, tag

    def region(self, limits):
        """Returns a random list: its region, its path, and True if it is ordered by distance."""
        categories, query = None, []
        if self.random.random() < 0.3:
            categories = self.random.sample(CATEGORIES[:-1], self.random.randrange(1, 3))
            query.append("category=" + ",".join(categories))
        box = centre = None
        radius = float("inf")
        draw = self.random.random()
        if draw < 0.4:
            south, west = self.random.randrange(40, 43), self.random.randrange(10, 15)
            box = west, south, west + self.random.randrange(1, 4), south + self.random.randrange(1, 3)
            query.append("bbox=" + ",".join(map(str, box)))
        elif draw < 0.85:
            centre = self.random.randrange(400, 440) / 10, self.random.randrange(100, 160) / 10
            query.append(f"lat={centre[0]}&long={centre[1]}")
            if draw < 0.6:
                radius = self.random.randrange(30_000, 200_000)
                query.append(f"radius={radius}")
        if self.random.random() < 0.5:
            query.append("fields=*")
        query.append(f"limit={self.random.choice(limits)}")
        path = "/locations?" + "&".join(query)
        return Region(self.ledger, path, box, centre, radius, categories), path, centre is not None

    async def list(self):
        if self.lists and self.random.random() < 0.3:
            # A conditional request, which returns 304 for an unchanged list.
            region, path, is_by_distance, tag, items = self.random.choice(self.lists)
            await self.page(copy.copy(region), path, is_by_distance, self.instance(), tag, items)
            return
        region, path, is_by_distance = self.region((5, 20, 200, 1000))
        await self.page(region, path, is_by_distance, self.instance())

    async def check(self):
        """Requests the nearest place within a radius, which is recorded as a list of one."""
        centre = self.random.randrange(400, 440) / 10, self.random.randrange(100, 160) / 10
        radius = self.random.randrange(1_000, 50_000)
        path = f"/locations/check?lat={centre[0]}&long={centre[1]}&radius={radius}"
        instance = self.instance()
        sent = self.ledger.now()
        try:
            response = await self.request(instance, "GET", path)
        except (NotSent, NoResponse):
            return
        if response.status != 200:
            return
        found = json.loads(response.body)
        region = Region(self.ledger, path, centre=centre, radius=radius)
        items = [found["location"]] if found["isPointOfInterest"] else []
        if items:
            region.last_metres = items[0]["distance"]
        self.ledger.list(region, items, sent, self.label(instance, "GET", "a check"))

    async def featured(self):
        """Requests the featured place; there may be none."""
        instance = self.instance()
        try:
            response = await self.request(instance, "GET", "/locations/featured")
        except (NotSent, NoResponse):
            return
        if response.status < 500 and response.status not in (200, 404, 429):
            self.ledger.report_violation(UNEXPECTED, f"GET /locations/featured returned {response.status}")

    async def walk(self):
        """Reads all pages of a list, each from any instance."""
        region, path, is_by_distance = self.region((10, 30))
        tries = 0
        while path and tries < 5:
            next_path, last = await self.page(region, path, is_by_distance, self.instance())
            if last is None and next_path == path:
                tries += 1
                continue
            if next_path and last is None:
                self.ledger.report_violation(UNEXPECTED, f"{path} returned no place and a next page")
                return
            path = next_path
            if path:
                following = copy.copy(region)
                if is_by_distance:
                    following.after_metres = last["distance"]
                else:
                    following.after_id = last["id"]
                region = following

    async def page(self, region, path, is_by_distance, instance, tag=None, items=None):
        """Requests and records one page, conditionally if a tag is given. Returns the path of the next page and the
        last place of this one; the same path if there was no response."""
        sent = self.ledger.now()
        try:
            response = await self.request(instance, "GET", path, {"If-None-Match": tag} if tag else None)
        except (NotSent, NoResponse):
            return path, None
        if response.status == 304:
            self.counts["unchanged lists"] += 1
            self.ledger.list(region, items, sent, self.label(instance, "GET", f"a list: 304 by {tag}"))
            return None, None
        if response.status != 200:
            return path, None
        region.last_id, region.last_metres = "~", float("inf")
        items = json.loads(response.body)
        link = re.match(r'<(?:https?://[^/]*)?([^>]*)>; rel="next"', response.headers.get("link", ""))
        if items and is_by_distance and "distance" not in items[-1]:
            self.ledger.report_violation(UNEXPECTED, f"{path} returned no distances")
            return None, None
        if link and items:
            if is_by_distance:
                region.last_metres = items[-1]["distance"]
            else:
                region.last_id = items[-1]["id"]
        # Equal distances are ordered by id, but responses contain rounded distances.
        order = [item["distance" if is_by_distance else "id"] for item in items]
        if order != sorted(order) or not is_by_distance and items and items[0]["id"] <= region.after_id:
            self.ledger.report_violation(UNEXPECTED, f"{path} returned places out of order: {order}")
        self.ledger.list(region, items, sent, self.label(instance, "GET", "a list"))
        if "etag" in response.headers:
            self.lists.append((region, path, is_by_distance, response.headers["etag"], items))
        return link and link[1], items[-1] if items else None

    async def search(self, instance=None):
        """Searches for all places by the word that their names begin with. Returns True if they were found."""
        instance = instance or self.instance()
        path = f"/locations?q={PREFIX.strip()}&limit=1000"
        sent = self.ledger.now()
        try:
            response = await self.request(instance, "GET", path)
        except (NotSent, NoResponse):
            return False
        if response.status != 200:
            return False
        items = json.loads(response.body)
        label = self.label(instance, "GET", "a search by name")
        if "link" in response.headers:
            self.ledger.report_violation(UNEXPECTED, f"{path} found more than 1000 places")
            return True
        self.ledger.list(Region(self.ledger, path), items, sent, label)
        self.counts["searches"] += 1
        return True

    async def tile(self, instance=None):
        """Requests a tile of the region of all places. Returns True if there was one."""
        instance = instance or self.instance()
        # The tile with 45° N to 66° N and the places' longitudes is empty, and the one south of it has them all.
        path = f"/tiles/3/4/{self.random.choice((2, 3))}.mvt"
        try:
            response = await self.request(instance, "GET", path)
        except (NotSent, NoResponse):
            return False
        if response.status in (200, 204):
            self.counts["tiles"] += 1
            return True
        if response.status < 500 and response.status != 429:
            self.ledger.report_violation(UNEXPECTED, f"GET {path} returned {response.status}")
        return False

    async def count(self):
        instance = self.instance()
        sent = self.ledger.now()
        try:
            response = await self.request(instance, "GET", "/categories")
        except (NotSent, NoResponse):
            return
        if response.status == 200:
            counts = {item["category"]: item["count"] for item in json.loads(response.body)}
            self.ledger.counts(counts, sent, self.label(instance, "GET", "/categories"))

    async def export(self):
        instance = self.instance()
        sent = self.ledger.now()
        try:
            response = await self.request(instance, "GET", "/locations/export?f=ndjson")
        except (NotSent, NoResponse):
            return
        if response.status == 200:
            items = [json.loads(line) for line in response.body.splitlines()]
            region = Region(self.ledger, "the export")
            self.ledger.list(region, items, sent, self.label(instance, "GET", "/locations/export"))
