"""Compares random vector tiles, decoded by two programs, with those of ST_AsMVT.

The programs are mapbox-vector-tile and GDAL; clusters are compared with counts by SQL. Checks the same tiles as OGC API
Tiles, TileJSON, clusters as GeoJSON, facets, and the requests of a page of another origin. Installs PostgreSQL with
PostGIS, GDAL, and mapbox-vector-tile from PyPI.

  scripts/conformance tiles                            # 500 tiles of 20,000 places
  scripts/conformance tiles --tiles 2000 --seed 4
"""

import argparse
import gzip
import json
import math
import random
import sys
import urllib.parse

import mapbox_vector_tile
from osgeo import gdal

from http_clients import Client
from servers import Postgres, Waymark, temporary_folder

gdal.UseExceptions()

CATEGORIES = ["cafe", "bar", "museum", "école", "place of \"worship\"", None]
CUISINES = ["thai", "käse", "\"hot\"", None]
LIMIT = 85.0511287798066
LAST_CLUSTERED_ZOOM = 13
EARTH = 20037508.342789244

# The position in fractions of the map's side, and the columns of a place in a tile.
X = "least((long + 180) / 360, 1 - 1e-12)"
Y = "greatest(least(0.5 - ln(tan(radians(clamped)) + 1 / cos(radians(clamped))) / (2 * pi()), 1 - 1e-12), 0)"
ROWS = f"""
  SELECT id::text, name, category, tags->>'cuisine' AS cuisine, tags->>'empty' AS empty, lat, long,
    clamped, {X} AS x, {Y} AS y
  FROM (SELECT *, greatest(least(lat, {LIMIT}), -{LIMIT}) AS clamped FROM points) AS p
"""


class Differences:
    """The differences that were found."""

    def __init__(self):
        self.found = []

    def require(self, condition, text):
        if not condition:
            self.found.append(text)


def make_places(count, random):
    towns = [(random.uniform(-80, 80), random.uniform(-180, 180), 10 ** random.uniform(-3, 0.5)) for _ in range(40)]
    for number in range(count):
        latitude, longitude, radius = random.choice(towns)
        latitude = max(-90, min(90, latitude + random.gauss(0, radius)))
        longitude = (longitude + random.gauss(0, radius) + 540) % 360 - 180
        draw = random.random()
        if draw < 0.01:
            latitude = random.choice([90, -90, 86, -88.5])
        elif draw < 0.02:
            longitude = random.choice([180, -180])
        elif draw < 0.05:
            latitude, longitude = 48.5, 9.25
        tags = {"cuisine": random.choice(CUISINES), "empty": ""}
        yield {
            "name": random.choice(["Café", "東京", "Bar", "O'Neill's"]) + f" {number % 700}",
            "category": random.choice(CATEGORIES), "lat": latitude, "long": longitude,
            "tags": {key: value for key, value in tags.items() if value is not None},
            "source": "check", "sourceId": str(number),
        }


class Server:
    """A client of the server, which asks for gzip as browsers do."""

    def __init__(self, port):
        self.client = Client(port)

    def get(self, target, status=200, method="GET", body=None, **headers):
        found, fields, body = self.client.send(method, target, body, **{"Accept-Encoding": "gzip"} | headers)
        if found != status:
            sys.exit(f"{method} {target} was {found}: {body[:500]}")
        if fields["content-encoding"] == "gzip":
            body = gzip.decompress(body)
        return body, fields


def decoded(body):
    """Returns the features of a tile by layer, with positions from the north-west."""
    if not body:
        return {}
    layers = mapbox_vector_tile.decode(body, default_options={"y_coord_down": True})
    features = {}
    for name, layer in layers.items():
        assert layer["extent"] == 4096 and layer["version"] == 2, layer
        features[name] = [(tuple(feature["geometry"]["coordinates"]), feature["properties"]) for feature in layer["features"]]
    return features


def decoded_by_gdal(body, zoom, column, row):
    """Returns the same features as GDAL reads them, which projects the positions."""
    if not body:
        return {}
    gdal.FileFromMemBuffer("/vsimem/tile.mvt", body)
    options = [f"Z={zoom}", f"X={column}", f"Y={row}", "CLIP=NO"]
    data = gdal.OpenEx("/vsimem/tile.mvt", gdal.OF_VECTOR, ["MVT"], open_options=options)
    side = 2 * EARTH / 2**zoom
    features = {}
    for index in range(data.GetLayerCount()):
        layer = data.GetLayer(index)
        found = []
        for feature in layer:
            geometry = feature.GetGeometryRef()
            x = ((geometry.GetX() + EARTH) / side - column) * 4096
            y = ((EARTH - geometry.GetY()) / side - row) * 4096
            attributes = {name: value for name, value in feature.items().items() if value is not None and name != "mvt_id"}
            found.append(((round(x), round(y)), attributes))
        features[layer.GetName()] = found
    data = None
    gdal.Unlink("/vsimem/tile.mvt")
    return features


class Comparison:
    def __init__(self, database, server, differences):
        self.database = database
        self.server = server
        self.differences = differences

    def read_tileset(self):
        """Follows the links of OGC API Tiles from a collection to the template of its tiles."""
        def follow(document, relation):
            target = next(link["href"] for link in document["links"] if link["rel"].endswith(relation))
            return urllib.parse.urlsplit(target).path

        collection = json.loads(self.server.get("/ogc/collections/places")[0])
        tilesets = json.loads(self.server.get(follow(collection, "/tilesets-vector"))[0])["tilesets"]
        tileset = json.loads(self.server.get(follow(tilesets[0], "self"))[0])
        scheme = json.loads(self.server.get(follow(tileset, "/tiling-scheme"))[0])
        self.template = follow(tileset, "item")
        self.differences.require(
            scheme["uri"] == tileset["tileMatrixSetURI"] and len(tileset["tileMatrixSetLimits"]) == 23
            and tileset["crs"] == scheme["crs"], f"tileset: {tileset}, {scheme}")

    def rows(self, sql):
        text = self.database.query(f"SELECT coalesce(json_agg(r), '[]') FROM ({sql}) AS r")
        return json.loads(text)

    def reference(self, zoom, column, row, condition):
        """Returns the places of a tile by ST_AsMVT."""
        sql = f"""
          SELECT encode(ST_AsMVT(t, 'places', 4096, 'geom'), 'hex') FROM (
            SELECT id, name, category, cuisine, empty, ST_AsMVTGeom(
              ST_Transform(ST_SetSRID(ST_MakePoint(long, clamped), 4326), 3857),
              ST_TileEnvelope({zoom}, {column}, {row}), 4096, 0, false) AS geom
            FROM ({ROWS}) AS r
            WHERE floor(x * 2 ^ {zoom}) = {column} AND floor(y * 2 ^ {zoom}) = {row} AND {condition}
          ) AS t
        """
        features = decoded(bytes.fromhex(self.database.query(sql)))
        return {attributes["id"]: (position, attributes) for position, attributes in features.get("places", [])}

    def cells(self, zoom, column, row, condition):
        """Returns the cells of a tile with the sums over their places."""
        level = zoom + 4
        sql = f"""
          SELECT cell, sum(count)::int AS count, sum(x) / sum(count) AS x, sum(y) / sum(count) AS y,
            (array_agg(category ORDER BY count DESC, category COLLATE "C") FILTER (WHERE category IS NOT NULL))[1] AS category
          FROM (
            SELECT '{level}/' || floor(x * 2 ^ {level}) || '/' || floor(y * 2 ^ {level}) AS cell, category,
              count(*) AS count, sum(x) AS x, sum(y) AS y
            FROM ({ROWS}) AS r
            WHERE floor(x * 2 ^ {zoom}) = {column} AND floor(y * 2 ^ {zoom}) = {row} AND {condition}
            GROUP BY cell, category
          ) AS c GROUP BY cell
        """
        return {cell["cell"]: cell for cell in self.rows(sql)}

    def compare_tile(self, zoom, column, row, query, condition):
        name = f"tile {zoom}/{column}/{row}?{query}"
        body, _ = self.server.get(f"/tiles/{zoom}/{column}/{row}.mvt?{query}")
        address = self.template.format(tileMatrix=zoom, tileRow=row, tileCol=column)
        self.differences.require(
            self.server.get(f"{address}?{query}")[0] == body, f"{name}: the tile of OGC API Tiles is another one")
        ours = decoded(body)
        gdals = decoded_by_gdal(body, zoom, column, row)
        key = lambda feature: (feature[0], json.dumps(feature[1], sort_keys=True, ensure_ascii=False))
        for layer in ours.keys() | gdals.keys():
            theirs = sorted(map(key, gdals.get(layer, [])))
            # GDAL has one type for each attribute of a layer, and reads counts as integers.
            same = sorted(map(key, ours.get(layer, [])))
            self.differences.require(same == theirs, f"{name}, {layer}: GDAL reads {theirs[:2]}, not {same[:2]}")
        expected = self.reference(zoom, column, row, condition)
        places = ours.get("places", [])
        if zoom > LAST_CLUSTERED_ZOOM:
            self.differences.require(
                {attributes["id"] for _, attributes in places} == expected.keys() and "clusters" not in ours,
                f"{name}: {len(places)} places, not {len(expected)}")
        else:
            self.compare_clusters(name, zoom, column, row, ours, condition)
        for (x, y), attributes in places:
            place = expected.get(attributes["id"])
            near = place and abs(place[0][0] - x) <= 1 and abs(place[0][1] - y) <= 1
            self.differences.require(
                near and place[1] == attributes, f"{name}: {attributes} at ({x}, {y}) is {place} by ST_AsMVT")
        return len(places), sum(attributes["count"] for _, attributes in ours.get("clusters", []))

    def compare_clusters(self, name, zoom, column, row, ours, condition):
        cells = self.cells(zoom, column, row, condition)
        singles = sum(cell["count"] == 1 for cell in cells.values())
        clusters = ours.get("clusters", [])
        self.differences.require(
            {attributes["cell"]: attributes["count"] for _, attributes in clusters}
            == {cell: sums["count"] for cell, sums in cells.items() if sums["count"] > 1}
            and len(ours.get("places", [])) == singles,
            f"{name}: {[attributes for _, attributes in clusters][:3]}, not {list(cells.values())[:3]}")
        for (x, y), attributes in clusters:
            cell = cells.get(attributes["cell"])
            if cell is None:
                continue
            expected = ((cell["x"] * 2**zoom - column) * 4096, (cell["y"] * 2**zoom - row) * 4096)
            self.differences.require(
                abs(expected[0] - x - 0.5) <= 1 and abs(expected[1] - y - 0.5) <= 1
                and attributes.get("category") == cell["category"],
                f"{name}: {attributes} at ({x}, {y}), not {cell} at {expected}")

    def compare_tile_set(self):
        body, headers = self.server.get("/tiles.json?tags=cuisine", Origin="https://maps.example")
        document = json.loads(body)
        bounds = self.rows("SELECT min(long) AS west, min(lat) AS south, max(long) AS east, max(lat) AS north FROM points")[0]
        self.differences.require(document["tilejson"] == "3.0.0" and len(document["tiles"]) == 1, f"TileJSON: {document}")
        self.differences.require(document["bounds"] == list(bounds.values()), f"bounds: {document['bounds']}, not {bounds}")
        layers = {layer["id"]: layer["fields"] for layer in document["vector_layers"]}
        self.differences.require(
            layers.keys() == {"places", "clusters"} and layers["places"].keys() == {"id", "name", "category", "cuisine"},
            f"layers: {layers}")
        address = urllib.parse.urlsplit(document["tiles"][0].format(z=0, x=0, y=0))
        self.server.get(f"{address.path}?{address.query}")
        self.differences.require(document["attribution"] == "© Check &lt;1&gt;", f"attribution: {document['attribution']}")
        self.differences.require(headers["access-control-allow-origin"] == "*", f"CORS of TileJSON: {headers}")

    def compare_other_origin(self):
        """Sends the requests of MapLibre in a page of another origin."""
        origin = {"Origin": "https://maps.example", "Accept": "*/*", "Accept_Encoding": "gzip, deflate, br"}
        _, headers = self.server.get("/tiles/0/0/0.mvt", **origin)
        self.differences.require(
            headers["access-control-allow-origin"] == "*" and headers["access-control-expose-headers"] == "*"
            and headers["content-type"] == "application/vnd.mapbox-vector-tile" and headers["content-encoding"] == "gzip",
            f"fields of a tile: {headers.items()}")
        body, again = self.server.get("/tiles/0/0/0.mvt", status=304, If_None_Match=headers["etag"], **origin)
        self.differences.require(
            body == b"" and again["etag"] == headers["etag"] and again["access-control-allow-origin"] == "*",
            f"fields of a 304: {again.items()}")
        _, preflight = self.server.get(
            "/tiles/0/0/0.mvt", status=204, method="OPTIONS", Access_Control_Request_Method="GET",
            Access_Control_Request_Headers="if-none-match,authorization", Origin="https://maps.example")
        allowed = preflight["access-control-allow-headers"].lower()
        self.differences.require("if-none-match" in allowed and "authorization" in allowed, f"preflight: {preflight.items()}")

    def compare_geojson(self, random, count):
        for _ in range(count):
            zoom = random.randint(0, 12)
            west, east = sorted(random.uniform(-180, 180) for _ in range(2))
            south, north = sorted(random.uniform(-85, 85) for _ in range(2))
            target = f"/locations/clusters?zoom={zoom}&bbox={west},{south},{east},{north}"
            features = json.loads(self.server.get(target)[0])["features"]
            level = zoom + 4

            def cell(longitude, latitude):
                y = 0.5 - math.log(math.tan(math.radians(latitude)) + 1 / math.cos(math.radians(latitude))) / (2 * math.pi)
                return math.floor((longitude + 180) / 360 * 2**level), math.floor(y * 2**level)

            (first, top), (last, bottom) = cell(west, north), cell(east, south)
            sql = f"""
              SELECT '{level}/' || floor(x * 2 ^ {level}) || '/' || floor(y * 2 ^ {level}) AS cell, count(*), min(id) AS id
              FROM ({ROWS}) AS r WHERE floor(x * 2 ^ {level}) BETWEEN {first} AND {last}
                AND floor(y * 2 ^ {level}) BETWEEN {top} AND {bottom} GROUP BY cell
            """
            expected = {row["cell"] if row["count"] > 1 else row["id"]: row["count"] for row in self.rows(sql)}
            found = {feature["id"]: feature["properties"]["count"] for feature in features}
            self.differences.require(
                found == expected, f"{target}: {len(found)} features, not {len(expected)}: {found.items() ^ expected.items()}")

    def compare_facets(self):
        found = json.loads(self.server.get("/locations/facets?by=category,tag.cuisine&bbox=-90,-40,120,60&limit=3")[0])
        box = f"({ROWS}) AS r WHERE long BETWEEN -90 AND 120 AND lat BETWEEN -40 AND 60"
        for facet, column in (("category", "category"), ("tag.cuisine", "cuisine")):
            rows = self.rows(
                f"SELECT {column} AS value, count(*) FROM {box} AND {column} IS NOT NULL GROUP BY 1"
                f" ORDER BY count(*) DESC, {column} COLLATE \"C\" LIMIT 3")
            missing = self.rows(f"SELECT count(*) FROM {box} AND {column} IS NULL")[0]["count"]
            self.differences.require(
                found["facets"][facet] == rows and found["missing"][facet] == missing, f"facets: {found}, not {rows}, {missing}")


def random_tile(place, random):
    zoom = random.randint(0, 22)
    latitude = math.radians(max(-LIMIT, min(LIMIT, place["lat"])))
    x = min((place["long"] + 180) / 360, 1 - 1e-12)
    y = max(0, min(0.5 - math.log(math.tan(latitude) + 1 / math.cos(latitude)) / (2 * math.pi), 1 - 1e-12))
    return zoom, math.floor(x * 2**zoom), math.floor(y * 2**zoom)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--tiles", type=int, default=500)
    parser.add_argument("--places", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    places = list(make_places(arguments.places, generator))
    differences = Differences()
    with temporary_folder("waymark-tiles.") as folder:
        database = Postgres(folder)
        database.create()
        database.start()
        waymark = Waymark(arguments.waymark, {
            "POINT_STORE": "postgres", "DATABASE_URL": database.url, "POINT_INDEX": "on", "READ_CONSISTENCY": "strict",
            "FILTER_TIMEOUT_MS": "60000"})
        try:
            waymark.command("migrate")
            database.query("CREATE EXTENSION IF NOT EXISTS postgis")
            waymark.start()
            waymark.wait_until_ready()
            server = Server(waymark.port)
            lines = "".join(json.dumps(place) + "\n" for place in places)
            server.get("/locations/import?source=check&attribution=" + urllib.parse.quote("© Check <1>"), method="POST",
                       body=lines.encode(), Content_Type="application/x-ndjson")
            waymark.wait_until_ready("/tiles/0/0/0.mvt")
            comparison = Comparison(database, server, differences)
            filters = [("", "true"), ("", "true"), ("category=cafe,%C3%A9cole", "category IN ('cafe', 'école')"),
                       ("tag.cuisine=thai", "cuisine = 'thai'"), ("source=check", "true"),
                       ("filter=name%20LIKE%20%27Bar%25%27", "name LIKE 'Bar%'")]
            comparison.read_tileset()
            drawn = [0, 0]
            for _ in range(arguments.tiles):
                query, condition = generator.choice(filters)
                zoom, column, row = random_tile(generator.choice(places), generator)
                query = f"{query}&tags=cuisine,empty"
                counts = comparison.compare_tile(zoom, column, row, query.lstrip("&"), condition)
                drawn = [total + count for total, count in zip(drawn, counts)]
            print(f"{arguments.tiles} tiles with {drawn[0]:,} places and {drawn[1]:,} more in clusters")
            comparison.compare_tile_set()
            comparison.compare_other_origin()
            comparison.compare_geojson(generator, 30)
            comparison.compare_facets()
        finally:
            waymark.kill()
            database.stop()
    print(f"{len(differences.found)} differences from mapbox-vector-tile, GDAL, ST_AsMVT and SQL")
    for difference in differences.found[:10]:
        print(difference[:1000])
    sys.exit(1 if differences.found else 0)


if __name__ == "__main__":
    main()
