"""Imports generated files by the built-in mappings, and compares every place with the expected one.

The files are Overture's places of both schemas and divisions, written by the writers of the command-line program overturemaps
and as GeoParquet, which the command of docs/import.md converts, and conversions by ogr2ogr of OpenStreetMap, Shapefile and GPX. Of files that can't be read, the command is run that the error says, and
its result imported. Installs gdal-bin, unzip, xz-utils and zstd, and geopandas, osmium, overturemaps and xlwt from PyPI.

  scripts/conformance imports                  # 2,000 places of each schema
  scripts/conformance imports --places 20000
"""

import argparse
import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import urllib.request
import uuid
import zipfile

import geopandas
import osmium
import pyarrow as pa
import pyarrow.parquet
import shapely
import xlwt
from overturemaps import writers

from servers import Waymark, temporary_folder

CLOSED = {"permanently_closed", "temporarily_closed"}
# The categories of the generated places that the mapping renames.
RENAMED = {"coffee_shop": "cafe", "gas_station": "fuel", "bookstore": "books"}

NAMES = pa.struct([
    ("primary", pa.string()),
    ("common", pa.map_(pa.string(), pa.string())),
    ("rules", pa.list_(pa.struct([(name, pa.string()) for name in ("variant", "language", "value")]))),
])
ADDRESSES = pa.list_(pa.struct([(name, pa.string()) for name in ("freeform", "locality", "postcode", "region", "country")]))
SOURCES = pa.list_(pa.struct([(name, pa.string()) for name in ("property", "dataset", "record_id")]))
TEXTS = pa.list_(pa.string())

CURRENT = pa.schema([
    ("id", pa.string()), ("geometry", pa.binary()), ("version", pa.int32()), ("names", NAMES),
    ("basic_category", pa.string()),
    ("taxonomy", pa.struct([("primary", pa.string()), ("hierarchy", TEXTS), ("alternates", TEXTS)])),
    ("confidence", pa.float64()), ("operating_status", pa.string()),
    ("brand", pa.struct([("wikidata", pa.string()), ("names", NAMES)])), ("addresses", ADDRESSES),
    ("websites", TEXTS), ("socials", TEXTS), ("emails", TEXTS), ("phones", TEXTS), ("sources", SOURCES),
])
EARLIER = pa.schema([
    ("id", pa.string()), ("geometry", pa.binary()), ("version", pa.int32()), ("names", NAMES),
    ("categories", pa.struct([("primary", pa.string()), ("alternate", TEXTS)])), ("confidence", pa.float64()),
    ("brand", pa.struct([("wikidata", pa.string()), ("names", NAMES)])), ("addresses", ADDRESSES),
    ("websites", TEXTS), ("socials", TEXTS), ("emails", TEXTS), ("phones", TEXTS), ("sources", SOURCES),
])


class Generator:
    """Generates rows of Overture's schemas."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def maybe(self, value):
        return value if self.random.random() < 0.7 else None

    def names(self, text):
        return {
            "primary": text,
            "common": self.maybe([("en", f"{text} en"), ("ja", f"{text} 日本")]),
            "rules": self.maybe([
                {"variant": "alternate", "language": None, "value": f"{text}, also"},
                {"variant": "official", "language": "de", "value": f"{text} GmbH"},
                {"variant": "short", "language": None, "value": "S"},
            ]),
        }

    def row(self, number, is_current):
        point = shapely.Point(self.random.uniform(-180, 180), self.random.uniform(-85, 85))
        texts = lambda name: self.maybe([f"https://{name}.example/{number}?a=1;b=2", f"{name}-2"])
        row = {
            "id": str(uuid.UUID(int=self.random.getrandbits(128))),
            "geometry": shapely.to_wkb(point),
            "version": 1,
            "names": self.names(f'Ort "{number}" \\ é 東京'),
            "confidence": round(self.random.uniform(0.01, 0.99), 3),
            "brand": self.maybe({"wikidata": self.maybe("Q7"), "names": self.names("Marke")}),
            "addresses": self.maybe([
                {"freeform": f"Straße {number}", "locality": "Stadt", "postcode": "01234", "region": self.maybe("BE"),
                 "country": "DE"},
                {"freeform": "second", "locality": None, "postcode": None, "region": "second", "country": None},
            ]),
            "websites": texts("w"), "socials": texts("s"), "emails": texts("e"), "phones": texts("p"),
            "sources": [
                {"property": "", "dataset": "meta", "record_id": str(number)},
                {"property": "/x", "dataset": "msft", "record_id": f"m{number}"},
            ],
        }
        if is_current:
            row["basic_category"] = self.maybe(self.random.choice(["coffee_shop", "gas_station", "restaurant"]))
            row["taxonomy"] = self.maybe({
                "primary": self.random.choice(["bookstore", "hotel"]), "hierarchy": ["a", "b"],
                "alternates": self.maybe(["c", "d"]),
            })
            row["operating_status"] = self.random.choice(["open", "open", "open", "temporarily_closed", None, "permanently_closed"])
        else:
            row["categories"] = self.maybe({"primary": "coffee_shop", "alternate": self.maybe(["bar", "pub"])})
        return row


def expected_place(row):
    """Returns the place that a row should become; None for one that is skipped."""
    if row.get("operating_status") in CLOSED:
        return None
    tags = {}

    def put(key, value):
        if isinstance(value, list):
            unique = list(dict.fromkeys(element for element in value if element is not None))
            value = ";".join(unique) if unique else None
        if value is not None:
            tags[key] = value if isinstance(value, str) else json.dumps(value)

    taxonomy, categories = row.get("taxonomy") or {}, row.get("categories") or {}
    brand = row["brand"] or {}
    # The first address that has a field.
    address = {}
    for candidate in row["addresses"] or []:
        address = {key: value for key, value in candidate.items() if value is not None} | address
    put("basic_category", row.get("basic_category"))
    put("taxonomy", taxonomy.get("primary"))
    put("taxonomy:hierarchy", taxonomy.get("hierarchy"))
    put("taxonomy:alternates", taxonomy.get("alternates"))
    put("categories", categories.get("primary"))
    put("categories:alternate", categories.get("alternate"))
    put("confidence", row["confidence"])
    put("operating_status", row.get("operating_status"))
    put("brand", (brand.get("names") or {}).get("primary"))
    put("brand:wikidata", brand.get("wikidata"))
    for language, name in (brand.get("names") or {}).get("common") or []:
        put(f"brand:{language}", name)
    for key, field in [("full", "freeform"), ("city", "locality"), ("postcode", "postcode"), ("state", "region"),
                       ("country", "country")]:
        put(f"addr:{key}", address.get(field))
    for key, field in [("website", "websites"), ("social", "socials"), ("email", "emails"), ("phone", "phones")]:
        put(key, row[field])
    put("overture:sources", [source["dataset"] for source in row["sources"]])
    put("overture:records", [source["record_id"] for source in row["sources"]])
    for language, name in row["names"]["common"] or []:
        put(f"name:{language}", name)
    for rule in row["names"]["rules"] or []:
        key = {"alternate": "alt_name", "official": "official_name", "short": "short_name"}[rule["variant"]]
        put(key + (f":{rule['language']}" if rule["language"] else ""), rule["value"])
    category = row.get("basic_category") or taxonomy.get("primary") or categories.get("primary")
    point = shapely.from_wkb(row["geometry"])
    return {
        "name": row["names"]["primary"], "category": RENAMED.get(category, category), "lat": point.y, "long": point.x,
        "tags": tags, "source": "overture", "sourceId": row["id"],
    }


class Server(Waymark):
    """A server with an empty memory store."""

    def __init__(self, program, folder):
        empty = folder / "empty.ndjson"
        empty.write_text("")
        super().__init__(program, {"POINT_STORE": "memory", "DATA_FILE": str(empty)})

    def imported(self, *arguments):
        run = subprocess.run([self.program, "import", "--url", self.url, *map(str, arguments)], capture_output=True, text=True)
        if run.returncode != 0 or " 0 rejected" not in run.stdout.splitlines()[0]:
            sys.exit(f"import {' '.join(map(str, arguments))} failed:\n{run.stdout}{run.stderr}")
        return run.stdout

    def places(self):
        fields = ("name", "category", "lat", "long", "tags", "source", "sourceId")
        with urllib.request.urlopen(self.url + "/locations/export?f=ndjson") as response:
            return {
                place.get("sourceId", place["name"]): {field: place.get(field) for field in fields}
                for place in map(json.loads, response.read().decode().split("\n")[:-1])
            }


def difference(expected, found):
    """Returns the first difference as text; None where there is none."""
    if expected.keys() != found.keys():
        missing, more = expected.keys() - found.keys(), found.keys() - expected.keys()
        return f"{len(missing)} places are missing, such as {list(missing)[:1]}; {len(more)} are more, such as {list(more)[:1]}"
    for key, place in expected.items():
        other = found[key]
        for field, value in place.items():
            near = field in ("lat", "long") and abs(value - other[field]) < 1e-9
            if value != other[field] and not near:
                return f"{key}: {field} is {other[field]!r}, expected {value!r}"
    return None


def overture(waymark, folder, count):
    for schema, is_current in ((CURRENT, True), (EARLIER, False)):
        generator = Generator(11)
        rows = [generator.row(number, is_current) for number in range(count)]
        expected = {row["id"]: place for row in rows if (place := expected_place(row))}
        for suffix in ("geojson", "geojsonseq"):
            path = folder / f"{'current' if is_current else 'earlier'}.{suffix}"
            with writers.get_writer(suffix, str(path), schema) as writer:
                writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))
            with Server(waymark, folder) as server:
                server.imported("--mapping", "overture", path)
                yield f"overture {path.name}, {len(expected)} places", difference(expected, server.places())


DIVISIONS = pa.schema([
    ("id", pa.string()), ("geometry", pa.binary()), ("version", pa.int32()), ("subtype", pa.string()), ("class", pa.string()),
    ("is_land", pa.bool_()), ("country", pa.string()), ("names", NAMES), ("division_id", pa.string()),
    ("sources", SOURCES),
])
KINDS = {"country": "country", "region": "region", "county": "region", "locality": "city", "neighborhood": "district"}


def parquet(folder, name, rows, schema):
    """Returns the path of a GeoParquet file as the command of docs/import.md converts it."""
    guide = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "import.md").read_text()
    command = re.search(r"^\$ (python3 -c .*GeoJSONSeqWriter.*)$", guide, re.MULTILINE)[1]
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "places.parquet")
    environment = os.environ | {"PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(command, shell=True, check=True, cwd=folder, env=environment, capture_output=True)
    return (folder / "places.geojsonseq").rename(folder / name)


def geoparquet(waymark, folder):
    generator = Generator(12)
    rows = [generator.row(number, True) for number in range(500)]
    expected = {row["id"]: place for row in rows if (place := expected_place(row))}
    with Server(waymark, folder) as server:
        server.imported("--mapping", "overture", parquet(folder, "release.geojsonseq", rows, CURRENT))
        yield "Overture's places in GeoParquet", difference(expected, server.places())
        divisions = [
            {"id": f"gers-{number}", "geometry": shapely.to_wkb(shapely.box(number, 0, number + 0.5, 1)), "version": 1, "subtype": subtype,
             "class": "land", "is_land": True, "country": "AT", "division_id": f"d{number}",
             "names": {"primary": f"Ort {number}", "common": [("en", f"Place {number}")], "rules": None},
             "sources": [{"property": "", "dataset": "OpenStreetMap", "record_id": f"r{number}"}]}
            for number, subtype in enumerate(KINDS)]
        file = parquet(folder, "divisions.geojsonseq", divisions, DIVISIONS)
        server.imported("--areas", "--source", "overture-divisions", file)
        with urllib.request.urlopen(server.url + "/areas/export?f=ndjson") as response:
            areas = {area["sourceId"]: area for area in map(json.loads, response.read().decode().split("\n")[:-1])}
        wanted = {
            f"gers-{number}": {"name": f"Ort {number}", "names": {"en": f"Place {number}"}, "kind": KINDS[subtype]}
            for number, subtype in enumerate(KINDS)}
        found = {key: {field: area[field] for field in ("name", "names", "kind")} for key, area in areas.items()}
        yield "Overture's divisions in GeoParquet", difference(wanted, found)


OSM = """<?xml version="1.0"?><osm version="0.6">
<node id="1" lat="52.5" lon="13.4" version="1"><tag k="name" v="Eins &amp; &quot;Co&quot;"/><tag k="amenity" v="cafe"/><tag k="cuisine" v="a;b"/></node>
<node id="2" lat="-33.9" lon="151.2" version="1"><tag k="shop" v="bakery"/><tag k="name" v="Zwei"/></node>
<node id="3" lat="1" lon="2" version="1"><tag k="highway" v="crossing"/></node>
</osm>
"""
GPX = """<?xml version="1.0"?><gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1">
<wpt lat="52.5" lon="13.4"><name>Eins</name><sym>Summit</sym></wpt><wpt lat="-1" lon="-2"><name>Zwei</name></wpt></gpx>
"""


def conversions(waymark, folder):
    """The commands are those of docs/import.md."""
    def run(*arguments):
        subprocess.run(["ogr2ogr", *map(str, arguments)], check=True, capture_output=True)

    (folder / "town.osm").write_text(OSM)
    (folder / "track.gpx").write_text(GPX)
    run("-f", "GeoJSONSeq", folder / "town.geojsonseq", folder / "town.osm", "points")
    run("-f", "ESRI Shapefile", folder / "shape", folder / "track.gpx", "waypoints")
    run("-f", "CSV", "-lco", "GEOMETRY=AS_WKT", folder / "shape.csv", folder / "shape")
    run("-f", "GeoJSONSeq", folder / "waypoints.geojsonseq", folder / "track.gpx", "waypoints")

    def cut(places, *fields):
        return {key: {field: place[field] for field in fields} for key, place in places.items()}

    cases = [
        ("OpenStreetMap to GeoJSONSeq", ["--mapping", "osm", folder / "town.geojsonseq"], {
            "node/1": {"name": 'Eins & "Co"', "category": "cafe", "lat": 52.5, "long": 13.4,
                       "tags": {"amenity": "cafe", "cuisine": "a;b"}},
            "node/2": {"name": "Zwei", "category": "bakery", "lat": -33.9, "long": 151.2, "tags": {"shop": "bakery"}},
        }, ("name", "category", "lat", "long", "tags")),
        ("Shapefile to CSV with WKT", ["--mapping", "columns", folder / "shape.csv"], {
            "Eins": {"name": "Eins", "lat": 52.5, "long": 13.4}, "Zwei": {"name": "Zwei", "lat": -1, "long": -2},
        }, ("name", "lat", "long")),
        ("GPX to GeoJSONSeq", ["--mapping", "columns", folder / "waypoints.geojsonseq"], {
            "Eins": {"name": "Eins", "category": "Summit", "lat": 52.5, "long": 13.4},
            "Zwei": {"name": "Zwei", "category": None, "lat": -1, "long": -2},
        }, ("name", "category", "lat", "long")),
    ]
    for name, arguments, expected, fields in cases:
        with Server(waymark, folder) as server:
            server.imported(*arguments)
            yield name, difference(expected, cut(server.places(), *fields))


FOREIGN = {"Eins": {"name": "Eins", "lat": 52.5, "long": 13.4}, "Zwei": {"name": "Zwei", "lat": -1, "long": -2}}


def foreign_files(folder):
    """Writes a file of the two places in each format that is not read, and yields their paths."""
    def write(name, *arguments):
        subprocess.run(["ogr2ogr", *arguments, str(folder / name), str(folder / "track.gpx"), "waypoints"], check=True, capture_output=True)
        return folder / name

    yield folder / "track.gpx"
    for name, driver in (("a.kml", "KML"), ("b.kmz", "LIBKML"), ("c.shp", "ESRI Shapefile"), ("d.gml", "GML"),
                         ("e.gpkg", "GPKG"), ("f.fgb", "FlatGeobuf")):
        yield write(name, "-f", driver)
    with zipfile.ZipFile(folder / "g.zip", "w") as archive:
        for part in folder.glob("c.*"):
            archive.write(part, part.name)
    yield folder / "g.zip"
    table = folder / "table.csv"
    table.write_text("name,lat,long\n" + "".join(f"{place['name']},{place['lat']},{place['long']}\n" for place in FOREIGN.values()))
    for name, driver in (("h.xlsx", "XLSX"), ("i.ods", "ODS")):
        subprocess.run(["ogr2ogr", "-f", driver, str(folder / name), str(table)], check=True, capture_output=True)
        yield folder / name
    book = xlwt.Workbook()
    sheet = book.add_sheet("places")
    for line, row in enumerate([("name", "lat", "long"), *(tuple(place.values()) for place in FOREIGN.values())]):
        for column, value in enumerate(row):
            sheet.write(line, column, value)
    book.save(str(folder / "j.xls"))
    yield folder / "j.xls"
    points = [shapely.Point(place["long"], place["lat"]) for place in FOREIGN.values()]
    frame = geopandas.GeoDataFrame({"name": list(FOREIGN)}, geometry=points, crs=4326)
    frame.to_parquet(folder / "k.parquet")
    yield folder / "k.parquet"
    # Twice as many letters of the other script as of ASCII.
    (folder / "l.csv").write_bytes(("name,lat,long,note\nEins,52.5,13.4,서울특별시 중구\nZwei,-1,-2,부산광역시\n").encode("cp949"))
    yield folder / "l.csv"
    for program, name in (("bzip2", "m.csv"), ("xz", "n.csv"), ("zstd", "o.csv")):
        (folder / name).write_bytes(table.read_bytes())
        subprocess.run([program, "-q", str(folder / name)], check=True)
        (folder / name).unlink(missing_ok=True)
        yield next(folder.glob(f"{name}.*"))
    (folder / "p.csv.gz").write_bytes(gzip.compress(gzip.compress(table.read_bytes())))
    yield folder / "p.csv.gz"
    with zipfile.ZipFile(folder / "q.zip", "w") as archive:
        archive.write(table, "q.txt")
    yield folder / "q.zip"
    for suffix in ("osm", "osm.pbf"):
        whole = folder / f"whole.{suffix}"
        with osmium.SimpleWriter(str(whole)) as writer:
            for number, place in enumerate(FOREIGN.values(), 1):
                tags = {"name": place["name"], "amenity": "cafe"}
                writer.add_node(osmium.osm.mutable.Node(id=number, version=1, location=(place["long"], place["lat"]), tags=tags))
        yield whole.rename(folder / f"r-{suffix[-3:]}")


def commands(waymark, folder):
    """Runs the command that the error of each file says, and imports its result."""
    environment = os.environ | {"PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    for path in list(foreign_files(folder)):
        with Server(waymark, folder) as server:
            run = subprocess.run([waymark, "import", "--url", server.url, str(path)], capture_output=True, text=True)
            reason = run.stderr.strip().removesuffix("; nothing was imported")
            if run.returncode != 65 or " first" not in reason:
                yield path.name, f"exit {run.returncode}: {reason}"
                continue
            command = reason.split(" first", 1)[1].split(": ", 1)[1]
            before = set(folder.iterdir())
            converted = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
            results = set(folder.iterdir()) - before
            if converted.returncode != 0 or len(results) != 1:
                yield path.name, f"{command}: exit {converted.returncode}, {len(results)} files: {converted.stderr}"
                continue
            result = results.pop()
            server.imported(result)
            found = {place["name"]: {field: place[field] for field in ("name", "lat", "long")} for place in server.places().values()}
            yield f"{path.name}: {command}", difference(FOREIGN, found)
            result.unlink()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--places", type=int, default=2000)
    options = parser.parse_args()
    failed = False
    with temporary_folder("waymark-imports.") as folder:
        for cases in (overture(options.waymark, folder, options.places), geoparquet(options.waymark, folder), conversions(options.waymark, folder),
                      commands(options.waymark, folder)):
            for case, problem in cases:
                print(f"{'differs' if problem else 'equal'}: {case}" + (f": {problem}" if problem else ""), flush=True)
                failed = failed or problem is not None
    sys.exit(1 if failed else 0)


main()
