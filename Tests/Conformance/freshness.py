"""Writes to two instances, and checks that no vector tile of either is stale; restarts one with other settings, and checks
that it confirms no response that they change.

The tiles are decoded with mapbox-vector-tile from PyPI. Installs PostgreSQL with PostGIS.

  scripts/conformance freshness                  # 100,000 writes, each read on two instances
  scripts/conformance freshness --probes 5000
"""

import argparse
import collections
import itertools
import math
import random
import sys
import time
import uuid

import mapbox_vector_tile

from http_clients import Client
from servers import Postgres, Waymark, temporary_folder

ZOOMS = [0, 3, 6, 9, 12, 14, 16, 19, 22]
PLACES = 3000
LAST_CLUSTERED_ZOOM = 13


def tile_of(latitude, longitude, zoom):
    angle = math.radians(latitude)
    y = 0.5 - math.log(math.tan(angle) + 1 / math.cos(angle)) / (2 * math.pi)
    return zoom, math.floor((longitude + 180) / 360 * 2**zoom), math.floor(y * 2**zoom)


class Instance(Waymark):
    def __init__(self, program, environment):
        super().__init__(program, environment)
        self.start()
        self.wait_until_ready()
        self.send = Client(self.port).send


class Probes:
    """Places and the tiles that show them, changed by one writer."""

    def __init__(self, instances, random):
        self.instances = instances
        self.random = random
        self.places = {}
        # The names of the places of each tile. A name has the number of its write, and never comes back.
        self.contents = collections.defaultdict(set)
        self.revision = 0
        # The last entity tag of each tile, which both instances gave, with the names that it stands for.
        self.tags = {}
        self.violations = []
        self.not_modified = self.modified = 0

    def require(self, condition, text):
        if not condition:
            self.violations.append(text)

    def position(self):
        town = self.random.randrange(8)
        return round(town * 13 - 45 + self.random.gauss(0, 0.05), 6), round(town * 40 - 150 + self.random.gauss(0, 0.05), 6)

    def write(self):
        """Changes a place on one of the instances. Returns its former and its present position, where it has them."""
        writer = self.random.choice(self.instances)
        draw = self.random.random()
        self.revision += 1
        if len(self.places) < PLACES and (draw < 0.5 or not self.places):
            id, former = str(uuid.UUID(int=self.random.getrandbits(128), version=4)), None
        else:
            id = self.random.choice(list(self.places))
            former = self.places.pop(id)
            for zoom in ZOOMS:
                self.contents[tile_of(*former[:2], zoom)].discard(former[2])
            if draw > 0.85:
                status, _, body = writer.send("DELETE", f"/locations/{id}")
                self.require(status == 204, f"DELETE was {status} {body}")
                return [former[:2]]
        position = former[:2] if former and draw < 0.7 else self.position()
        name = f"revision {self.revision}"
        status, _, body = writer.send("PUT", f"/locations/{id}", {"name": name, "lat": position[0], "long": position[1]})
        self.require(status in (200, 201), f"PUT was {status} {body}")
        self.places[id] = (*position, name)
        for zoom in ZOOMS:
            self.contents[tile_of(*position, zoom)].add(name)
        return [position] + ([former[:2]] if former else [])

    def probe(self):
        zoom = self.random.choice(ZOOMS)
        tiles = {tile_of(*position, zoom) for position in self.write()}
        if self.tags:
            tiles.add(self.random.choice(self.recent()))
        for tile in tiles:
            self.check(tile)

    def recent(self):
        """Returns some of the tiles that were read last."""
        return list(itertools.islice(reversed(self.tags), 50))

    def check(self, tile):
        """Reads a tile of both instances, in random order, on condition of the last known entity tag."""
        known, content = self.tags.pop(tile, (None, None))
        present = frozenset(self.contents[tile])
        tags = []
        for instance in self.random.sample(self.instances, 2):
            headers = {"If_None_Match": known} if known else {}
            status, fields, body = instance.send("GET", "/tiles/{}/{}/{}.mvt".format(*tile), **headers)
            tags.append(fields["etag"])
            self.require(
                status == (304 if content == present else 200), f"{tile} was {status} after revision {self.revision}")
            if status == 304:
                self.not_modified += 1
            else:
                self.modified += 1
                self.check_content(tile, body, present)
        self.require(tags[0] == tags[1], f"{tile} has the tags {tags}")
        self.tags[tile] = tags[0], present

    def check_content(self, tile, body, present):
        layers = mapbox_vector_tile.decode(body) if body else {}
        single = [feature["properties"]["name"] for feature in layers.get("places", {"features": []})["features"]]
        counts = [feature["properties"]["count"] for feature in layers.get("clusters", {"features": []})["features"]]
        self.require(
            len(single) + sum(counts) == len(present) and present.issuperset(single),
            f"{tile} has {len(single)} + {sum(counts)} places, not {len(present)}, after revision {self.revision}")
        if tile[0] > LAST_CLUSTERED_ZOOM:
            self.require(present == set(single), f"{tile} has former names after revision {self.revision}")


# Settings that change responses, and targets whose responses depend on one of them or on none.
SETTINGS = [
    {"OGC_COLLECTIONS": "food=cafe"}, {"QUERYABLES": "queryables.json"},
    {"PUBLIC_URL": "https://places.example.org/poi"},
]
QUERYABLES = '{"population": {"type": "integer"}}'
TARGETS = [
    "/locations?limit=2", "/locations?limit=2&f=geojson", "/locations/{id}", "/categories", "/locations/check?lat=1&long=1&radius=5",
    "/locations/clusters?bbox=-180,-85,180,85&zoom=3", "/locations/facets?by=category", "/locations?q=revision&limit=2",
    "/locations/suggest?q=rev", "/tiles/3/4/4.mvt", "/tiles.json", "/ogc", "/ogc/collections", "/ogc/collections/places",
    "/ogc/collections/places/items?limit=2", "/ogc/collections/places/items/{id}", "/ogc/collections/places/queryables",
    "/ogc/collections/places/schema",
]


def check_settings(program, environment, folder):
    """Reads with the entity tags of a server under other settings, and returns the violations: a 304 although the body
    or the link to the next page differs. Returns the number of tags too."""
    id = str(uuid.UUID(int=1, version=4))
    targets = [target.format(id=id) for target in TARGETS]
    (folder / "queryables.json").write_text(QUERYABLES)
    violations = []

    def read(settings, known=None):
        """Returns the tag, the body and the link of each target. Compares those that are confirmed with the known ones."""
        instance = Instance(program, environment | {
            name: str(folder / value) if name == "QUERYABLES" else value for name, value in settings.items()})
        place = {"name": "Typed", "lat": 1, "long": 1, "category": "cafe", "tags": {"population": "5"}}
        found = {}
        try:
            # It is there already with other settings, and stays as it is.
            instance.send("PUT", f"/locations/{id}", place, **({"If_None_Match": "*"} if known else {}))
            for target in targets:
                status, fields, body = instance.send("GET", target)
                if status not in (200, 204):
                    violations.append(f"{target} was {status} with {settings}")
                found[target] = fields.get("etag"), body, fields.get("link")
                tag, *former = (known or {}).get(target, (None,))
                if tag and instance.send("GET", target, If_None_Match=tag)[0] == 304 and former != [body, fields.get("link")]:
                    violations.append(f"{target} confirmed with {settings} what it was without")
        finally:
            instance.kill()
        return found

    former = read({})
    tags = sum(1 for tag, _, _ in former.values() if tag)
    for settings in SETTINGS:
        read(settings, former)
    return violations, tags


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--probes", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with temporary_folder("waymark-freshness.") as folder:
        database = Postgres(folder)
        database.create()
        database.start()
        environment = {
            "POINT_STORE": "postgres", "DATABASE_URL": database.url, "POINT_INDEX": "on", "READ_CONSISTENCY": "strict"}
        instances = []
        try:
            Waymark(arguments.waymark, environment).command("migrate")
            for _ in range(2):
                instances.append(Instance(arguments.waymark, environment))
            for instance in instances:
                instance.wait_until_ready("/tiles/0/0/0.mvt")
            probes = Probes(instances, random.Random(arguments.seed))
            start = time.monotonic()
            for _ in range(arguments.probes):
                probes.probe()
            seconds = time.monotonic() - start
            stale, tags = check_settings(arguments.waymark, environment, folder)
            probes.violations += stale
        finally:
            for instance in instances:
                instance.kill()
            database.stop()
    print(f"{arguments.probes:,} writes, {probes.modified:,} tiles read and {probes.not_modified:,} confirmed in {seconds:.0f} s;"
          f" {tags} tags under {len(SETTINGS)} other settings; {len(probes.violations)} violations")
    for violation in probes.violations[:10]:
        print(violation)
    sys.exit(1 if probes.violations else 0)


if __name__ == "__main__":
    main()
