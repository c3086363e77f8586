"""Compares the countries that airports are in, by Natural Earth's boundaries as areas, with two judges of others."""

import collections
import json
import random
import subprocess
import urllib.parse
import uuid
import warnings

import airportsdata
import natural_earth
import reverse_geocoder
import shapely
import shapely.ops
from geographiclib.geodesic import Geodesic

from http_clients import Client
from servers import Waymark

AIRPORTS = 10_000
# The least share of the airports in some area that both judges place in one country.
TARGET = 0.99
# The longest edges in degrees: a border along a parallel is no geodesic.
EDGE = 0.25
# The greatest distance of a geodesic of that length from the line of the plane map, metres.
DEPARTURE = 100
# The distance from the border within which the boundaries of 1:50,000,000 do not tell the side, metres.
NEAR = 5_000
# Parts of countries that have codes of their own, but are no countries in Natural Earth.
CONTAINING = {"BQ": "NL", "GF": "FR", "GP": "FR", "MQ": "FR", "RE": "FR", "YT": "FR", "SJ": "NO", "TK": "NZ", "UM": "US",
              "CC": "Indian Ocean Ter.", "CX": "Indian Ocean Ter."}


def polygons(rings):
    """Returns the area of rings: an odd number of them is around each of its points."""
    area = shapely.Polygon()
    for ring in sorted(map(shapely.Polygon, rings), key=lambda ring: -ring.area):
        area = area.symmetric_difference(ring if ring.is_valid else ring.buffer(0))
    parts = getattr(area, "geoms", [area])
    return shapely.segmentize(shapely.MultiPolygon([part for part in parts if part.geom_type == "Polygon"]), EDGE)


def countries(folder):
    """Returns the areas of countries by their codes, or their names if they have none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        natural_earth.unpack_packages(folder, natural_earth.PACKAGE)
        rows = natural_earth.read(folder, "countries50")
    return {natural_earth.country_code(row) or str(row["name"]): polygons(rings) for row, rings in rows}


class CountryServer(Waymark):
    """A server of places and countries, with a connection to it."""

    def __init__(self, program, places, folder):
        file = folder / "places.csv"
        self.ids = [str(uuid.UUID(int=number + 1)) for number in range(len(places))]
        rows = (f"{id},Place,{latitude!r},{longitude!r}\n" for id, (latitude, longitude) in zip(self.ids, places))
        file.write_text("id,name,lat,long\n" + "".join(rows))
        super().__init__(program, {"POINT_STORE": "memory", "DATA_FILE": str(file)})
        self.client = Client(self.port, timeout=120)

    def import_areas(self, areas, folder):
        features = [
            {"type": "Feature", "id": name, "properties": {"name": name, "kind": "country"},
             "geometry": shapely.geometry.mapping(area)} for name, area in areas.items()]
        file = folder / "countries.geojson"
        file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
        command = [self.program, "import", "--areas", "--strict", "--source", "countries", "--url", self.url, str(file)]
        subprocess.run(command, check=True)

    def read(self, path):
        status, _, body = self.client.send("GET", path)
        if status != 200:
            raise ValueError(f"{status} for {path}: {body[:500]}")
        return body.decode()

    def areas_of_places(self):
        """Returns the names of the areas that each place is in."""
        return [[area["name"] for area in json.loads(self.read(f"/locations/{id}/areas"))] for id in self.ids]

    def places_in(self, name):
        """Returns the numbers of the places in an area."""
        query = urllib.parse.urlencode({"f": "ndjson", "in": name})
        return {uuid.UUID(json.loads(line)["id"]).int - 1 for line in self.read(f"/locations/export?{query}").splitlines()}


def metres_to_border(area, latitude, longitude):
    nearest = shapely.ops.nearest_points(area.boundary, shapely.Point(longitude, latitude))[0]
    return Geodesic.WGS84.Inverse(latitude, longitude, nearest.y, nearest.x)["s12"]


def check(program, seed, folder):
    """Prints the shares of airports whose area the judges confirm, and returns whether they are enough."""
    areas = countries(folder)
    airports = random.Random(seed).sample(sorted(airportsdata.load("ICAO").items()), AIRPORTS)
    places = [(airport["lat"], airport["lon"]) for _, airport in airports]
    with CountryServer(program, places, folder) as server:
        server.import_areas(areas, folder)
        found = server.areas_of_places()
        by_area = {name: server.places_in(name) for name in areas}
    failures = []
    for name, numbers in by_area.items():
        expected = {number for number, names in enumerate(found) if name in names}
        if numbers != expected:
            failures.append(f"in={name} finds {len(numbers)} places, of which {len(numbers & expected)} are in it")
    plane = shapely.STRtree(list(areas.values()))
    names = list(areas)
    numbers, indices = plane.query([shapely.Point(longitude, latitude) for latitude, longitude in places], "intersects")
    in_plane = collections.defaultdict(set)
    for number, index in zip(numbers.tolist(), indices.tolist()):
        in_plane[number].add(names[index])
    for number, ours in enumerate(found):
        for name in in_plane[number] ^ set(ours):
            metres = metres_to_border(areas[name], *places[number])
            if metres > DEPARTURE:
                failures.append(f"{airports[number][0]} is {metres:,.0f} m from the border of {name}: only one has it there")
    geocoder = reverse_geocoder.RGeocoder(mode=1, verbose=False)
    nearest = [CONTAINING.get(city["cc"], city["cc"]) for city in geocoder.query(places)]
    stated = [CONTAINING.get(airport["country"], airport["country"]) for _, airport in airports]
    counts = collections.Counter()
    differing = collections.defaultdict(list)
    for number, (ours, city, own) in enumerate(zip(found, nearest, stated)):
        if not ours:
            counts["none"] += 1
            continue
        counts["several"] += len(ours) > 1
        counts[(city in ours, own in ours)] += 1
        if city == own:
            counts["agreed"] += 1
            if city not in ours:
                if len(ours[0]) > 2:
                    kind = "areas without a code"
                elif min(metres_to_border(areas[name], *places[number]) for name in ours) <= NEAR:
                    kind = f"within {NEAR / 1000:g} km of the border"
                else:
                    kind = "others"
                differing[kind].append((ours[0], city, airports[number][0]))
    in_area = len(places) - counts["none"]
    print(f"{len(places):,} airports in {len(areas):,} countries: {in_area:,} in an area, {counts['several']} of them in "
          f"several; {counts['none']:,} in none")
    print(f"of those in an area: {counts[True, True]:,} as both judges say, {counts[True, False]:,} as the nearest city only, "
          f"{counts[False, True]:,} as the airport's own country only, {counts[False, False]:,} as neither")
    share = 1 - sum(map(len, differing.values())) / counts["agreed"]
    print(f"both judges name one country for {counts['agreed']:,}: {share:.2%} are in its area")
    for kind, rows in sorted(differing.items()):
        pairs = collections.defaultdict(list)
        for ours, judged, name in rows:
            pairs[ours, judged].append(name)
        listed = ", ".join(f"{ours} rather than {judged}: {' '.join(codes)}" for (ours, judged), codes in sorted(pairs.items()))
        print(f"  {kind}: {len(rows)} ({listed})")
    for failure in failures[:10]:
        print(failure)
    return share >= TARGET and not failures
