"""Compares the reader of OpenStreetMap files with pyosmium and PostGIS, on generated extracts.

The extracts are in all formats that osmium-tool writes. Ids, versions and tags of every place are compared; the point of
every area is inside it, and that of every line at most 1 m off it. Installs osmium-tool and PostgreSQL with PostGIS.

  scripts/conformance openstreetmap                          # 20,000 objects of each kind, about a minute
  scripts/conformance openstreetmap --objects 2000 --seed 4
  scripts/conformance openstreetmap --sample FILE            # real places too: GeoJSON with name, category and tags
"""

import argparse
import json
import math
import pathlib
import random
import subprocess
import sys

import osmium

from servers import Postgres, temporary_folder

MAXIMUM_METRES = 1.0
# Keys of OSMTagFilter.places that the generated objects have.
KEYS = {"name", "amenity", "shop", "tourism", "leisure", "historic", "office", "craft", "healthcare",
        "public_transport", "place", "emergency"}
VALUES = {
    "railway": {"station", "halt", "tram_stop", "subway_entrance"},
    "aeroway": {"aerodrome", "heliport", "helipad", "terminal", "gate"},
    "highway": {"bus_stop", "rest_area", "services"},
    "natural": {"peak", "volcano", "spring", "beach", "cave_entrance", "hot_spring", "geyser"},
    "man_made": {"lighthouse", "tower", "windmill", "watermill", "observatory", "obelisk"},
}
NAMES = ["Café Ö", "東京駅", "O'Hara \"quoted\"", "مقهى", "a\\b & <c>", "🏰 castle", "tab\tand\nline", "x" * 240]
AREA_TAGS = [{"building": "yes"}, {"landuse": "forest"}, {"leisure": "park"}, {"amenity": "school"}, {"tourism": "zoo"}]
LINE_TAGS = [{"highway": "residential"}, {"waterway": "river"}, {"barrier": "fence"}, {"railway": "tram"}]


def is_selected(tags):
    return any((key in KEYS and value != "no") or value in VALUES.get(key, ()) for key, value in tags)


class Generator:
    """Writes an extract of nodes, lines, areas, multipolygons, boundaries and sites, some of which are selected."""

    def __init__(self, path, seed):
        self.random = random.Random(seed)
        self.nodes, self.ways, self.relations = [], [], []
        path.unlink(missing_ok=True)
        self.writer = osmium.SimpleWriter(str(path))
        # Objects whose point is known: (kind, id): (lon, lat).
        self.points = {}
        self.next = {"n": 1, "w": 1, "r": 1}

    def id(self, kind):
        self.next[kind] += self.random.choice([1, 1, 2, 50_000_000])
        return self.next[kind]

    def tags(self, base=None):
        tags = dict(base or {})
        if self.random.random() < 0.6:
            tags["name"] = self.random.choice(NAMES)
        if self.random.random() < 0.2:
            tags[self.random.choice(["shop", "craft", "amenity"])] = self.random.choice(["no", "yes", "bakery"])
        if self.random.random() < 0.5:
            tags["ref:" + self.random.choice("abc")] = str(self.random.random())
        return tags

    def node(self, lon, lat, tags=None):
        id = self.id("n")
        lon, lat = round(lon, 7), round(lat, 7)
        self.nodes.append((id, lon, lat, tags or {}))
        return id

    def way(self, refs, tags):
        id = self.id("w")
        self.ways.append((id, refs, tags))
        return id

    def relation(self, members, tags):
        id = self.id("r")
        self.relations.append((id, members, tags))
        return id

    def place(self):
        # Not at the antimeridian, where PostGIS would compare the plain coordinates.
        return self.random.uniform(-179, 179), self.random.uniform(-80, 80)

    def star(self, lon, lat, low, high):
        """Returns the nodes of a ring that does not cross itself, at distances from the centre in degrees."""
        corners = self.random.randint(5, 40)
        return [self.node(lon + r * math.cos(a), lat + r * math.sin(a))
                for a, r in ((2 * math.pi * i / corners, self.random.uniform(low, high)) for i in range(corners))]

    def comb(self, lon, lat):
        """Returns the nodes of a comb, most of which is near the edge, with the centroid outside or nearly so."""
        teeth, size = self.random.randint(2, 8), self.random.uniform(1e-5, 1e-2)
        points = [(0, 0)]
        for tooth in range(teeth):
            points += [(tooth * 3, 10), (tooth * 3 + 1, 10), (tooth * 3 + 1, 1), (tooth * 3 + 3, 1)]
        points[-1] = (points[-2][0], 0)
        del points[-2]
        points[0] = (0, 0)
        angle = self.random.uniform(0, 2 * math.pi)
        cos, sin = math.cos(angle), math.sin(angle)
        return [self.node(lon + size * (x * cos - y * sin), lat + size * (x * sin + y * cos)) for x, y in points]

    def ring(self, lon, lat):
        if self.random.random() < 0.4:
            return self.comb(lon, lat)
        size = 10 ** self.random.uniform(-5, -1)
        return self.star(lon, lat, size * self.random.uniform(0.1, 1), size)

    def split(self, ring, role):
        """Returns the members that make up the ring: several ways in random directions."""
        ring = ring + ring[:1]
        cuts = {self.random.randint(1, len(ring) - 2) for _ in range(self.random.randint(0, 4))}
        cuts = sorted({0, len(ring) - 1} | cuts)
        members = []
        for start, end in zip(cuts, cuts[1:]):
            part = ring[start:end + 1]
            members.append(("w", self.way(part if self.random.random() < 0.5 else part[::-1], {}), role))
        return members

    def generate(self, count):
        for _ in range(count):
            self.node(*self.place(), self.tags({"natural": self.random.choice(["peak", "tree"])}))
        for _ in range(count // 2):
            self.way((ring := self.ring(*self.place())) + ring[:1], self.tags(self.random.choice(AREA_TAGS)))
        for _ in range(count // 2):
            lon, lat = self.place()
            step = 10 ** self.random.uniform(-6, -2)
            refs = []
            for _ in range(self.random.randint(2, 30)):
                lon, lat = lon + self.random.uniform(-step, step), lat + self.random.uniform(-step, step)
                refs.append(self.node(lon, lat))
            self.way(refs, self.tags(self.random.choice(LINE_TAGS)))
        for _ in range(count // 4):
            self.multipolygon()
        for _ in range(count // 10):
            lon, lat = self.place()
            label = self.node(lon + 0.01, lat)
            members = [("n", self.node(lon, lat), ""), ("n", label, self.random.choice(["label", "entrance"]))]
            self.random.shuffle(members)
            relation = self.relation(members, self.tags({"type": "site"}))
            self.points["r", relation] = next((x, y) for id, x, y, _ in self.nodes[-2:] if id == label)

    def multipolygon(self):
        lon, lat = self.place()
        size = 10 ** self.random.uniform(-3, -1)
        members = []
        for part in range(self.random.randint(1, 3)):
            x = lon + part * 2.5 * size
            members += self.split(self.star(x, lat, size * 0.6, size), "outer")
            if self.random.random() < 0.6:
                # Around the centroid.
                members += self.split(self.star(x, lat, size * 0.2, size * 0.5), "inner")
        self.random.shuffle(members)
        kind = self.random.choice(["multipolygon", "boundary"])
        self.relation(members, self.tags({"type": kind} | self.random.choice(AREA_TAGS)))

    def sample(self, path):
        """Adds the real places of a file."""
        features = json.loads(path.read_text())["features"]
        for feature in features:
            properties = feature["properties"]
            key, _, value = properties["category"].partition(":")
            tags = {"name": properties["name"]} | properties["tags"] | ({key: value} if value else {})
            self.node(*feature["geometry"]["coordinates"], {k: str(v) for k, v in tags.items()})
        return len(features)

    def write(self):
        for id, lon, lat, tags in self.nodes:
            self.writer.add_node(osmium.osm.mutable.Node(id=id, version=id % 9 + 1, location=(lon, lat), tags=tags))
        for id, refs, tags in self.ways:
            self.writer.add_way(osmium.osm.mutable.Way(id=id, version=id % 9 + 1, nodes=refs, tags=tags))
        for id, members, tags in self.relations:
            self.writer.add_relation(
                osmium.osm.mutable.Relation(id=id, version=id % 9 + 1, members=members, tags=tags))
        self.writer.close()


def osmium_tool(*arguments):
    subprocess.run(["osmium", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def variants(file, folder):
    """Writes the extract in all formats, and yields their names and paths."""
    yield "dense nodes, zlib", file
    for name, output_format in [
        ("plain nodes", "pbf,pbf_dense_nodes=false"), ("raw blobs", "pbf,pbf_compression=none"),
        ("no metadata", "pbf,add_metadata=false"), ("XML", "osm"), ("XML, gzip", "osm.gz"),
    ]:
        ending = {"osm": "osm", "osm.gz": "osm.gz"}.get(output_format, "osm.pbf")
        path = folder / f"{name.replace(', ', '-').replace(' ', '-')}.{ending}"
        osmium_tool("cat", "--no-progress", "-O", "-f", output_format, "-o", path, file)
        yield name, path
    path = folder / "located.osm.pbf"
    osmium_tool("add-locations-to-ways", "--no-progress", "--keep-member-nodes", "-O", "-o", path, file)
    yield "locations on ways", path
    parts = []
    for kind in ["relation", "way", "node"]:
        parts.append(folder / f"{kind}.osm.pbf")
        osmium_tool("cat", "--no-progress", "-O", "-t", kind, "-o", parts[-1], file)
    path = folder / "unsorted.osm.pbf"
    osmium_tool("cat", "--no-progress", "-O", "-o", path, *parts)
    yield "relations, ways, nodes", path


def reference(path):
    """Returns the selected objects as pyosmium reads them: (kind, id): (version, tags)."""
    objects = {}
    kinds = {"n": "node", "w": "way", "r": "relation"}
    for entity in osmium.FileProcessor(str(path)):
        tags = sorted((tag.k, tag.v) for tag in entity.tags)
        if is_selected(tags):
            objects[kinds[entity.type_str()], entity.id] = (entity.version, tags)
    return objects


def places(program, path):
    output = subprocess.run([program, str(path)], check=True, capture_output=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def compare(name, expected, found):
    """Prints the differences, and returns their number."""
    differences = []
    seen = set()
    for place in found:
        key = place["kind"], place["id"]
        if key in seen:
            differences.append(f"{key} is there twice")
        seen.add(key)
        value = place.get("version", 0), sorted(map(tuple, place["tags"]))
        if expected.get(key) != value:
            differences.append(f"{key}: {value}, expected {expected.get(key)}")
    differences += [f"{key} is missing" for key in expected.keys() - seen]
    print(f"{name}: {len(found):,} places, {len(expected):,} expected, {len(differences)} differences")
    for difference in differences[:5]:
        print(f"  {difference}")
    return len(differences)


def shapes(path):
    """Yields (kind, id, is area, hexadecimal WKB) of areas and lines, as pyosmium assembles them."""
    factory = osmium.geom.WKBFactory()
    areas = set()
    for entity in osmium.FileProcessor(str(path)).with_areas().with_locations():
        tags = {tag.k: tag.v for tag in entity.tags}
        if not is_selected(tags.items()):
            continue
        if entity.is_area():
            kind = "way" if entity.from_way() else "relation"
            if kind == "relation" or not LINE_KEYS.intersection(tags):
                areas.add((kind, entity.orig_id()))
                yield kind, entity.orig_id(), True, factory.create_multipolygon(entity)
        elif entity.is_way() and LINE_KEYS.intersection(tags):
            yield "way", entity.id, False, factory.create_linestring(entity)


LINE_KEYS = {key for tags in LINE_TAGS for key in tags}


def compare_points(folder, file, found):
    """Checks the points with PostGIS, and returns the number of wrong ones."""
    points = {(place["kind"], place["id"]): (place["lon"], place["lat"]) for place in found}
    with Postgres(folder) as server:
        server.query("CREATE EXTENSION postgis",
                     "CREATE TABLE compared (kind text, id bigint, is_area boolean, shape geometry, point geometry)")
        rows = "".join(
            f"{kind}\t{id}\t{is_area}\t{wkb}\tPOINT({points[kind, id][0]!r} {points[kind, id][1]!r})\n"
            for kind, id, is_area, wkb in shapes(file) if (kind, id) in points)
        subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", server.url, "-c", "COPY compared FROM STDIN"],
                       check=True, input=rows.encode(), stdout=subprocess.DEVNULL)
        wrong = 0
        for title, condition in [
            ("areas of closed ways", "is_area AND kind = 'way'"),
            ("areas of relations", "is_area AND kind = 'relation'"), ("lines", "NOT is_area"),
        ]:
            valid, bad, worst, example = server.query(
                f"""SELECT count(*), count(*) FILTER (WHERE is_bad), max(distance),
                  min(kind || ' ' || id) FILTER (WHERE is_bad)
                FROM (SELECT *, CASE WHEN is_area THEN NOT ST_Contains(shape, point)
                      ELSE distance > {MAXIMUM_METRES} END AS is_bad
                  FROM (SELECT *, CASE WHEN is_area THEN 0 ELSE ST_Distance(shape::geography, point::geography) END
                      AS distance
                    FROM compared WHERE {condition} AND ST_IsValid(shape)) AS measured) AS evaluated""").split("|")
            print(f"{title}: {int(valid):,} valid, {bad} wrong" + (f" such as {example}" if example else "")
                  + (f", at most {float(worst):.3f} m off" if title == "lines" else ""))
            wrong += int(bad) + (int(valid) == 0)
        return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--osm-places", required=True)
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=pathlib.Path, help="a GeoJSON file of real places with category and tags")
    arguments = parser.parse_args()
    with temporary_folder("waymark-osm.") as folder:
        file = folder / "generated.osm.pbf"
        generator = Generator(file, arguments.seed)
        real = generator.sample(arguments.sample) if arguments.sample else 0
        generator.generate(arguments.objects)
        generator.write()
        print(f"{real:,} real places; {len(generator.nodes):,} nodes, {len(generator.ways):,} ways, "
              f"{len(generator.relations):,} relations, seed {arguments.seed}")
        differences = 0
        positions = None
        for name, path in variants(file, folder):
            found = places(arguments.osm_places, path)
            differences += compare(name, reference(path), found)
            found_positions = {(place["kind"], place["id"]): (place["lon"], place["lat"]) for place in found}
            if positions is None:
                positions = found_positions
                differences += compare_points(folder, file, found)
                for (kind, id), point in generator.points.items():
                    differences += found_positions.get(("relation", id), point) != point
            elif positions != found_positions:
                moved = [key for key, point in found_positions.items() if positions.get(key) != point]
                print(f"  {len(moved)} points differ from those of the first file, such as {moved[:3]}")
                differences += 1
        if differences:
            sys.exit("the reader differs from the other programs")
        print("no differences")


if __name__ == "__main__":
    main()
