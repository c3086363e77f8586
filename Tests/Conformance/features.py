"""Opens a server as OGC API Features with GDAL, pyogrio, OWSLib and QGIS, on each store.

GDAL lists, counts, filters and copies all places, and the copy equals the export; OWSLib walks the resources, and creates,
replaces and deletes a feature; QGIS adds the layer, reads its extent, filters and pages. The newer GDAL in pyogrio's wheel
does what Debian's does. Installs GDAL, QGIS (790 MB), PostgreSQL with PostGIS, and OWSLib and pyogrio from PyPI.

  scripts/conformance features                             # with the release build, on both stores
  scripts/conformance features --store memory --no-qgis
  scripts/conformance features --places 1000000            # measures the copy of many places, too
"""

import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import time
import urllib.parse
import urllib.request

import pyogrio
from openapi_spec_validator import OpenAPIV30SpecValidator
from owslib.ogcapi.features import Features

from servers import argument_parser, deployment, exit_after_each_store

FOLDER = pathlib.Path(__file__).resolve().parent
CATEGORIES = ["cafe", "restaurant", "museum", "natural:peak", None]
NAMES = ["It's a place", "Café Zürich", "서울역", "100 % & \"more\"", "a=b?c#d", "<b>", "50% off_"]
FIELDS = ("name", "category", "source", "sourceId", "version", "createdAt", "updatedAt", "population")

failures = 0


def expect(what, found, wanted):
    global failures
    if found == wanted:
        print(f"ok      {what}: {str(found)[:100]}", flush=True)
    else:
        failures += 1
        print(f"DIFFERS {what}: {str(found)[:300]}, expected {str(wanted)[:300]}", flush=True)


def places(count, seed):
    """Returns places all over the earth, with names and tags that need escapes."""
    chance = random.Random(seed)
    for number in range(count):
        place = {
            "name": NAMES[number % len(NAMES)] if number < 70 else f"p{number}",
            "lat": round(chance.uniform(-90, 90), 6), "long": round(chance.uniform(-180, 180), 6), "tags": {}}
        category = CATEGORIES[number % len(CATEGORIES)]
        if category:
            place["category"] = category
        # Few, and not on the first page: programs must take the fields from the schema.
        if number % 50 == 47:
            place["tags"]["population"] = str(number * 100_000)
        if number % 3 == 0:
            place["tags"]["note"] = f"\"{number}\"; 100 % ü"
        if number % 4 == 0:
            place |= {"source": "check", "sourceId": str(number)}
        yield place


def request(port, path, method="GET", body=None, headers=None):
    call = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", method=method, data=body, headers=headers or {})
    with urllib.request.urlopen(call, timeout=600) as response:
        return response.read()


def get(port, path, **query):
    return json.loads(request(port, path + ("?" + urllib.parse.urlencode(query) if query else "")))


# GDAL


def gdal(*arguments):
    result = subprocess.run(
        arguments, capture_output=True, text=True, timeout=1800,
        env=os.environ | {"CPL_DEBUG": "HTTP", "GDAL_HTTP_TIMEOUT": "60", "TZ": "UTC"})
    if result.returncode != 0 or "ERROR" in result.stderr:
        raise RuntimeError(f"{' '.join(map(str, arguments))}: {result.stdout}{result.stderr}")
    return result.stdout, result.stderr


def feature_count(layer, *arguments):
    """Returns the number of features that ogrinfo counts, and the queries that it sends."""
    text, log = gdal("ogrinfo", "-so", layer, "places", *arguments)
    return int(re.search(r"Feature Count: (\d+)", text).group(1)), text, log


def extent(port):
    """Returns the edges of all places, which are on both sides of the prime meridian."""
    features = json.loads(request(port, "/locations/export?f=geojson"))["features"]
    longitudes, latitudes = zip(*(feature["geometry"]["coordinates"] for feature in features))
    return [min(longitudes), min(latitudes), max(longitudes), max(latitudes)]


CONDITIONS = [
    ("category = 'cafe'", {"category": "cafe"}),
    ("source = 'check'", {"source": "check"}),
    ("name = 'It''s a place'", {"name": "It's a place"}),
    ("name = '100 % & \"more\"'", {"name": "100 % & \"more\""}),
    ("name LIKE 'p1%'", {"filter": "name LIKE 'p1%'"}),
    ("population > 1000000", {"filter": "population > 1000000"}),
    ("category = 'cafe' OR category IS NULL", {"filter": "category = 'cafe' OR category IS NULL"}),
    ("NOT (category = 'cafe') AND population >= 0.5",
     {"filter": "NOT (category = 'cafe') AND population >= 0.5"}),
    ("updatedAt > '2020-01-01T00:00:00Z'", {"datetime": "2020-01-01T00:00:00Z/.."}),
]
BOXES = ([-10, 30, 40, 60], [170, -20, 180, 20], [0, 0, 0.001, 0.001])


def matched(port, **query):
    return get(port, "/ogc/collections/places/items", limit=1, **query)["numberMatched"]


def check_gdal(port, folder):
    layer = f"OAPIF:http://127.0.0.1:{port}/ogc"
    total = get(port, "/ogc/collections/places/items", limit=1)["numberMatched"]
    listed, _ = gdal("ogrinfo", "-so", layer)
    expect("GDAL lists the layers", re.findall(r"^\d+: (\S+)", listed, re.M), ["places", "food"])
    count, text, _ = feature_count(layer)
    expect("GDAL counts all places", count, total)
    west, south, east, north = extent(port)
    expect("GDAL reads the extent", re.search(r"Extent: (.*)", text).group(1),
           f"({west:.6f}, {south:.6f}) - ({east:.6f}, {north:.6f})")
    expect("GDAL finds the fields", [name for name in FIELDS if not re.search(rf"^{name}: ", text, re.M)], [])

    for condition, query in CONDITIONS:
        count, _, log = feature_count(layer, "-where", condition)
        wanted = matched(port, **query)
        expect(f"GDAL counts where {condition}", (count, wanted > 0), (wanted, True))
        expect("GDAL sends the condition", "filter=" in log, True)
    for box in BOXES:
        count, _, log = feature_count(layer, "-spat", *map(str, box))
        expect(f"GDAL counts in the box {box}", count, matched(port, bbox=",".join(map(str, box))))
        expect("GDAL sends the box", "bbox=" in log, True)

    start = time.monotonic()
    copy = folder / "copy.geojson"
    gdal("ogr2ogr", "-f", "GeoJSON", "-oo", "PAGE_SIZE=10000", "-lco", "COORDINATE_PRECISION=15",
         copy, layer, "places")
    print(f"        GDAL copied {total} places in {time.monotonic() - start:.1f} s", flush=True)
    compare_copy(port, json.loads(copy.read_text()))


def compare_copy(port, copy):
    export = json.loads(request(port, "/locations/export?f=geojson"))
    wanted = {}
    for feature in export["features"]:
        properties = dict(feature["properties"])
        tags = dict(properties.pop("tags", {}))
        if "population" in tags:
            properties["population"] = int(tags.pop("population"))
        wanted[feature["id"]] = (feature["geometry"]["coordinates"], tags, times(properties))
    found = {}
    for feature in copy["features"]:
        properties = {name: value for name, value in feature["properties"].items() if value is not None}
        tags = properties.pop("tags", {})
        identifier = properties.pop("id", feature.get("id"))
        if isinstance(tags, str):
            tags = json.loads(tags)
        found[identifier] = (feature["geometry"]["coordinates"], tags, times(properties))
    differing = [identifier for identifier in wanted if found.get(identifier) != wanted[identifier]]
    expect("the copy has the places of the export", len(found), len(wanted))
    expect("the copy equals the export", [(found.get(key), wanted[key]) for key in differing[:2]], [])


def check_pyogrio(port):
    """Reads the places with the GDAL in pyogrio's wheel, which is newer than Debian's."""
    name = f"GDAL {'.'.join(map(str, pyogrio.__gdal_version__))}"
    if "OAPIF" not in pyogrio.list_drivers():
        expect(f"{name} has the driver", False, True)
        return
    layer = f"OAPIF:http://127.0.0.1:{port}/ogc"
    expect(f"{name} lists the layers", [row[0] for row in pyogrio.list_layers(layer)], ["places", "food"])
    information = pyogrio.read_info(layer, layer="places", force_feature_count=True, force_total_bounds=True)
    expect(f"{name} counts all places", information["features"], matched(port))
    expect(f"{name} reads the extent", list(information["total_bounds"]), extent(port))
    expect(f"{name} finds the fields", [name for name in FIELDS if name not in information["fields"]], [])

    def read(**arguments):
        """Returns the positions, and the values of columns by name."""
        read, identifiers, geometries, columns = pyogrio.raw.read(layer, layer="places", **arguments)
        positions = [struct.unpack("<dd", geometry[5:21]) for geometry in geometries]
        return positions, dict(zip(read["fields"], columns))

    for condition, query in CONDITIONS:
        expect(f"{name} reads where {condition}", len(read(where=condition, columns=["name"])[0]), matched(port, **query))
    for box in BOXES:
        expect(f"{name} reads the box {box}", len(read(bbox=tuple(box), columns=["name"])[0]),
               matched(port, bbox=",".join(map(str, box))))
    start = time.monotonic()
    positions, columns = read()
    print(f"        {name} read {len(positions)} places in {time.monotonic() - start:.1f} s", flush=True)
    export = json.loads(request(port, "/locations/export?f=geojson"))["features"]
    wanted = sorted(
        (feature["id"], *feature["geometry"]["coordinates"], feature["properties"]["name"],
         feature["properties"].get("category")) for feature in export)
    found = sorted(
        (identifier, *position, name, category)
        for identifier, position, name, category in zip(columns["id"], positions, columns["name"], columns["category"]))
    expect(f"{name} reads the places of the export", [pair for pair in zip(found, wanted) if pair[0] != pair[1]][:2], [])
    expect(f"{name} reads all places", len(found), len(wanted))


def times(properties):
    """Returns properties with times to the millisecond, which GDAL's times have."""
    for name in ("createdAt", "updatedAt"):
        digits = re.findall(r"\d+", properties[name].split("+")[0])
        properties[name] = [int(part) for part in digits[:6]] + [round(float("0." + (digits[6] if len(digits) > 6 else "0")), 3)]
        properties[name][6] = int(properties[name][6] * 1000)
    if "population" in properties:
        properties["population"] = int(properties["population"])
    return properties


# OWSLib


def check_owslib(port):
    service = Features(f"http://127.0.0.1:{port}/ogc")
    OpenAPIV30SpecValidator(service.api()).validate()
    expect("OWSLib reads the API", service.api()["openapi"], "3.0.3")
    expect("OWSLib reads the conformance classes",
           "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core" in service.conformance()["conformsTo"], True)
    expect("OWSLib lists the collections",
           [collection["id"] for collection in service.collections()["collections"]], ["places", "food"])
    expect("OWSLib finds collections of features", service.feature_collections(), ["places", "food"])
    expect("OWSLib reads a collection", service.collection("places")["storageCrs"],
           "http://www.opengis.net/def/crs/OGC/1.3/CRS84")
    expect("OWSLib reads the queryables", service.collection_queryables("places")["properties"]["population"]["type"],
           "integer")
    page = service.collection_items("places", limit=3)
    expect("OWSLib reads a page", (len(page["features"]), page["numberReturned"]), (3, 3))
    box = service.collection_items("places", bbox=[-10, 30, 40, 60], limit=10000)
    expect("OWSLib reads a box", len(box["features"]), box["numberMatched"])
    filtered = service.collection_items("places", filter="category = 'cafe'", limit=10)
    expect("OWSLib filters", {feature["properties"]["category"] for feature in filtered["features"]}, {"cafe"})
    feature = page["features"][0]
    expect("OWSLib reads a feature", service.collection_item("places", feature["id"])["properties"],
           feature["properties"])

    created = {"type": "Feature", "geometry": {"type": "Point", "coordinates": [16.37, 48.2]},
               "properties": {"name": "Created by OWSLib", "population": 7}}
    service.collection_item_create("places", created)
    location = service.response_headers["Location"]
    found = service.collection_items("places", bbox=[16.369, 48.199, 16.371, 48.201])["features"]
    made = [feature for feature in found if feature["properties"]["name"] == "Created by OWSLib"]
    expect("OWSLib creates a feature", (len(made), made[0]["properties"]["population"]), (1, 7))
    identifier = made[0]["id"]
    expect("its address", location, f"http://127.0.0.1:{port}/ogc/collections/places/items/{identifier}")
    created["properties"] = {"name": "Replaced by OWSLib"}
    service.collection_item_update("places", identifier, created)
    expect("OWSLib replaces it", service.collection_item("places", identifier)["properties"]["name"],
           "Replaced by OWSLib")
    service.collection_item_delete("places", identifier)
    try:
        service.collection_item("places", identifier)
        expect("OWSLib deletes it", "found", "an error")
    except RuntimeError as error:
        expect("OWSLib deletes it", "not-found" in str(error), True)


# QGIS


def check_qgis(port):
    """Runs QGIS in Debian's Python, which has its modules."""
    total = get(port, "/ogc/collections/places/items", limit=1)["numberMatched"]
    cafes = get(port, "/ogc/collections/places/items", limit=1, category="cafe")["numberMatched"]
    result = subprocess.run(
        [shutil.which("python3", path="/usr/bin:/bin"), FOLDER / "features_qgis.py",
         f"http://127.0.0.1:{port}/ogc"],
        capture_output=True, text=True, timeout=600,
        env={name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}
        | {"QT_QPA_PLATFORM": "offscreen"})
    lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
    if not lines:
        expect("QGIS runs", result.stdout[-500:] + result.stderr[-1500:], "a report")
        return
    report = json.loads(lines[-1])
    expect("QGIS adds the layer", report["valid"], True)
    expect("QGIS reads the extent", report["extent"], extent(port))
    expect("QGIS reads all pages", (report["features"], report["ids"]), (total, total))
    # It takes them from the first features.
    first = get(port, "/ogc/collections/places/items", limit=10)["features"]
    names = {name for feature in first for name in feature["properties"]}
    expect("QGIS finds the fields of the first features", sorted(names - set(report["fields"])), [])
    expect("QGIS filters by an expression", report["cafes"], cafes)
    expect("QGIS reads a box", report["box"],
           get(port, "/ogc/collections/places/items", limit=1, bbox="-10,30,40,60")["numberMatched"])


def check(store, options):
    print(f"Store {store}, seed {options.seed}, {options.places} places", flush=True)
    before = failures
    with deployment(options.waymark, store, "waymark-features-") as (folder, server, _):
        folder = pathlib.Path(folder)
        (folder / "queryables.json").write_text(json.dumps({"population": {"type": "integer"}}))
        server.environment |= {
            "QUERYABLES": str(folder / "queryables.json"), "OGC_COLLECTIONS": "food=cafe,restaurant"}
        server.start()
        server.wait_until_ready()
        rows = "\n".join(json.dumps(place) for place in places(options.places, options.seed))
        report = json.loads(request(
            server.port, "/locations/import", "POST", rows.encode(), {"Content-Type": "application/x-ndjson"}))
        expect("all places are imported", (report["created"], report["rejected"]), (options.places, 0))
        classes = get(server.port, "/ogc/conformance")["conformsTo"]
        has_filters = "http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/filter" in classes
        expect("the server has filters", has_filters, True)
        check_gdal(server.port, folder)
        check_pyogrio(server.port)
        check_owslib(server.port)
        if not options.no_qgis:
            check_qgis(server.port)
    return failures == before


def main():
    parser = argument_parser(__doc__)
    parser.add_argument("--places", type=int, default=25_000, help="number of places")
    parser.add_argument("--no-qgis", action="store_true", help="leave out QGIS")
    exit_after_each_store(check, parser.parse_args())


main()
