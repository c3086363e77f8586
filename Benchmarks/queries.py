"""Measures how often what people type finds the right place, beside pg_trgm over names and addresses.

The places are 123,111 of all continents, of which 7,016 have an address; query_places.py names the packages that they are
from, and their licences. Of the addresses 4,400 are put together from real names of streets and towns. The queries are of
46 kinds (query_kinds.py): addresses, abbreviations, small words, typing errors, scripts and others, in 13 languages. Right
are all places that satisfy a query equally, by the data alone. The sets are in query-sets: weights are tuned on `tuning`;
`held-back`, chosen by a hash of the query, is for reports alone. Prints the shares of queries with a right place first, and
among the first five.

  scripts/bench queries                                   # with ../shared/data/osm-places.geojson
  scripts/bench queries --kind street --misses 5          # kinds that begin with a word, and what was found instead
  scripts/bench queries --former PROGRAM --no-pg-trgm     # beside another build
  scripts/bench queries --generate                        # draws the sets anew
  scripts/bench queries --self-test                       # checks the sets, without places and servers
"""

import argparse
import csv
import json
import pathlib
import sys
import time
import unittest
import urllib.parse
from collections import defaultdict

import query_kinds
import query_places
from query_kinds import HALVES, KINDS, TYPED, Query
from query_places import folded

SETS = pathlib.Path(__file__).parent / "query-sets"
NAME_TAGS = "name:*,alt_name,official_name,short_name,old_name,loc_name,brand,int_name,iata,icao"
# The kinds that are also asked by the calls that clients make while their users type.
ADDRESSES = (
    "address", "address and city", "number before street", "name and street", "street", "house number form",
    "street abbreviation", "street joined or apart", "typo in address")


# Sets


def read_sets():
    """Returns the queries of both halves."""
    found = []
    for half in HALVES:
        with open(SETS / f"{half}.tsv", encoding="utf-8") as file:
            for line in file:
                kind, text, position, places = line.rstrip("\n").split("\t")
                found.append(Query(kind, text, position, places.split(" ")))
    return found


def write_sets(places):
    corpus = query_kinds.Corpus(places)
    SETS.mkdir(exist_ok=True)
    files = {half: open(SETS / f"{half}.tsv", "w", encoding="utf-8") for half in HALVES}
    for kind in KINDS:
        drawn = query_kinds.draw(corpus, kind)
        for query in drawn:
            print(*query[:3], " ".join(query.places), sep="\t", file=files[query.half])
        print(f"{kind}: " + ", ".join(f"{sum(query.half == half for query in drawn)} {half}" for half in HALVES))
    for file in files.values():
        file.close()


# Programs


class Calls:
    """The calls of a server that find places by a text."""

    def __init__(self, server):
        # Not at the top of the file: the self-test needs no server.
        from http_clients import Client

        self.client = Client(server.port)
        lines = self.body("/locations/export?f=ndjson").splitlines()
        self.keys = {place["id"]: place["sourceId"] for place in map(json.loads, lines)}

    def body(self, path, **query):
        status, _, body = self.client.send("GET", f"{path}?{urllib.parse.urlencode(query)}" if query else path)
        if status != 200:
            raise SystemExit(f"{path} {query}: status {status}")
        return body

    @staticmethod
    def position(query, longitude):
        return dict(zip(("lat", longitude), query.position.split(","))) if query.position else {}

    def locations(self, query):
        typed = {"autocomplete": "true"} if query.kind in TYPED else {}
        found = json.loads(self.body(
            "/locations", q=query.text, limit=5, fields="id", **typed, **self.position(query, "long")))
        return [self.keys[place["id"]] for place in found]

    def suggest(self, query):
        found = json.loads(self.body("/locations/suggest", q=query.text, limit=10, **self.position(query, "long")))
        return [self.keys[element["id"]] for element in found if element["type"] == "place"][:5]

    def photon(self, query):
        found = json.loads(self.body("/api", q=query.text, limit=5, **self.position(query, "lon")))
        return [self.keys.get(feature["properties"].get("id") or feature.get("id"), "") for feature in found["features"]]


def waymark(program, places, queries, folder):
    """Returns the keys of the first five places of each query, by call."""
    from servers import Waymark

    file = folder / "places.csv"
    query_places.write_csv(places, file)
    environment = {"POINT_STORE": "memory", "DATA_FILE": str(file), "SEARCH_NAME_TAGS": NAME_TAGS}
    with Waymark(program, environment) as server:
        calls = Calls(server)
        start = time.monotonic()
        results = {"/locations?q=": [calls.locations(query) for query in queries]}
        print(f"{program}: {len(queries):,} searches in {time.monotonic() - start:.0f} s", flush=True)
        for path, call in (("/locations/suggest", calls.suggest), ("/api", calls.photon)):
            results[path] = [call(query) if query.kind in TYPED + ADDRESSES else None for query in queries]
    return results


def pg_trgm(places, queries, folder):
    """Returns the keys of the first five places of each query by the statements of queries.sql."""
    import subprocess

    from programs import READ_SETTINGS, Database

    with open(folder / "texts.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for place in places:
            texts = [*place.names, *place.codes]
            if place.street:
                texts += [f"{place.street} {place.number}", place.address, f"{place.name} {place.address}"]
            for text in dict.fromkeys(folded(text) for text in texts):
                if text:
                    writer.writerow([place.key, text, place.population, place.latitude, place.longitude])
    with open(folder / "queries.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for number, query in enumerate(queries):
            latitude, longitude = query.position.split(",") if query.position else ("", "")
            writer.writerow([number, folded(query.text), query.kind in TYPED, latitude, longitude])
    database = Database(folder, *READ_SETTINGS)
    try:
        start = time.monotonic()
        command = ["psql", "-qtAX", "-v", "ON_ERROR_STOP=1", "-v", f"texts={folder}/texts.csv", "-v", f"queries={folder}/queries.csv"]
        command += ["-f", str(pathlib.Path(__file__).parent / "queries.sql"), database.url]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        print(f"pg_trgm: indexed and {len(queries):,} queries in {time.monotonic() - start:.0f} s", flush=True)
    finally:
        database.stop()
    found = defaultdict(list)
    for line in output.splitlines():
        number, _, place = line.partition("|")
        found[int(number)].append(place)
    return [list(dict.fromkeys(found[number]))[:5] for number in range(len(queries))]


# Figures


def shares(queries, found, indices):
    """Returns the shares of queries with a right place first, and among the first five."""
    if not indices:
        return "|  |  "
    first = sum(bool(found[index]) and found[index][0] in queries[index].places for index in indices)
    five = sum(any(key in queries[index].places for key in found[index]) for index in indices)
    return f"| {first / len(indices):.3f} | {five / len(indices):.3f} "


def report(queries, results):
    """Prints a table by kind, with both halves of each program."""
    print("\n| kind | queries | " + " | ".join(
        f"{name}, {half}: first | five" for half in HALVES for name in results) + " |")
    print("| --- |" + " ---: |" * (1 + 4 * len(results)))
    kinds = [kind for kind in KINDS if any(query.kind == kind for query in queries)]
    for kind in [*kinds, None]:
        indices = [index for index, query in enumerate(queries) if kind in (None, query.kind)]
        cells = "".join(
            shares(queries, found, [index for index in indices if queries[index].half == half])
            for half in HALVES for found in results.values())
        print(f"| {kind or 'all'} | {len(indices):,} {cells}|")


def report_calls(queries, results):
    """Prints the shares of the calls for texts that are being typed, and for addresses."""
    print("\n| call | half | typed: first | five | addresses: first | five |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for call, found in results.items():
        for half in HALVES:
            cells = "".join(
                shares(queries, found, [i for i, query in enumerate(queries) if query.kind in kinds and query.half == half])
                for kinds in (TYPED, ADDRESSES))
            print(f"| {call} | {half} {cells}|")


def print_misses(queries, results, places, count, half):
    names = {place.key: ", ".join(filter(None, (place.name, place.address, place.category))) for place in places}
    left = defaultdict(lambda: count)
    for query, found in zip(queries, results):
        if query.half != half or found and found[0] in query.places or left[query.kind] == 0:
            continue
        left[query.kind] -= 1
        rank = next((rank + 1 for rank, key in enumerate(found) if key in query.places), "not found")
        print(f"  {query.kind}: {query.text!r} {query.position}, {rank}: {names[query.places[0]]!r}, "
              f"found {[names[key] for key in found[:3]]}")


# The self-test


class SetsTests(unittest.TestCase):
    queries = []

    def test_each_kind_has_more_than_fifty_queries_in_each_half(self):
        for kind in KINDS:
            for half in HALVES:
                number = sum(query.kind == kind and query.half == half for query in self.queries)
                self.assertGreater(number, 50, f"{kind}, {half}")

    def test_each_query_is_in_the_half_of_its_hash(self):
        for half in HALVES:
            for line in (SETS / f"{half}.tsv").read_text(encoding="utf-8").splitlines():
                kind, text, position, places = line.split("\t")
                self.assertEqual(Query(kind, text, position, places).half, half, text)

    def test_each_query_is_there_once_and_has_places(self):
        self.assertEqual(len({query[:3] for query in self.queries}), len(self.queries))
        for query in self.queries:
            self.assertRegex(" ".join(query.places), r"^[acinwx][^ ]*( [acinwx][^ ]*)*$", query.text)
            self.assertTrue(folded(query.text), query)

    def test_shares_count_the_first_and_the_first_five(self):
        queries = [Query("name", "a", "", ["1"]), Query("name", "b", "", ["2"]), Query("name", "c", "", ["3"])]
        self.assertEqual(shares(queries, [["1"], ["9", "2"], []], [0, 1, 2]), "| 0.333 | 0.667 ")

    def test_edits_abbreviations_and_ranges(self):
        place = query_places.Place("x1", "Bäckerei Abt", "bakery", 48, 9, {
            "addr:street": "Aachener Straße", "addr:housenumber": "5-9", "addr:city": "Köln"}, region="de")
        other = place._replace(key="x2", tags=place.tags | {"addr:housenumber": "11"})
        generator = query_kinds.Generator(query_kinds.Corpus([place, other]), "test")
        generator.corpus.addressed = generator.corpus.composed
        for _ in range(50):
            text, _, places = generator.street_abbreviation()
            self.assertIn(text.rpartition(" ")[0], ("aachener str.", "aachener str"))
            self.assertEqual(places, ["x1" if text.endswith("5-9") else "x2"])
            if form := generator.house_number_form():
                self.assertIn(form[0], ("Aachener Straße 5", "Aachener Straße 7", "Aachener Straße 9"))
                self.assertEqual(form[2], ["x1"])

    def test_texts_are_folded_and_transliterated(self):
        self.assertEqual(folded("L’Été, Straße-1"), "lete strasse 1")
        self.assertEqual(query_places.latin("Теремок"), "teremok")


def main():
    if sys.argv[-1] == "--self-test":
        SetsTests.queries = read_sets()
        unittest.main(argv=sys.argv[:1])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waymark")
    parser.add_argument("--former", help="another build, which is measured too")
    parser.add_argument("--cache", type=pathlib.Path, required=True, help="the folder that keeps the files of packages")
    parser.add_argument("--kind", default="", help="only the kinds that begin with this")
    parser.add_argument("--misses", type=int, default=0, help="the number of misses of each kind to print, of tuning")
    parser.add_argument("--no-pg-trgm", action="store_true", help="do not measure pg_trgm")
    parser.add_argument("--generate", action="store_true", help="draw the sets anew")
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default=pathlib.Path("../shared/data"))
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    if not (options.folder / "osm-places.geojson").exists():
        raise SystemExit(f"{options.folder} has no osm-places.geojson")
    places = query_places.corpus(options.folder, options.cache)
    if options.generate:
        return write_sets(places)
    queries = [query for query in read_sets() if query.kind.startswith(options.kind)]
    known = {place.key for place in places}
    missing = {key for query in queries for key in query.places if key not in known}
    if missing:
        raise SystemExit(f"{len(missing)} places of the sets are not in the packages: {sorted(missing)[:5]}")
    addressed = sum(bool(place.street) for place in places)
    print(f"{len(places):,} places, {addressed:,} with an address; {len(queries):,} queries")

    from servers import temporary_folder

    with temporary_folder("waymark-queries.") as folder:
        calls = waymark(options.waymark, places, queries, folder)
        results = {"Waymark": calls["/locations?q="]}
        if options.former:
            results["former"] = waymark(options.former, places, queries, folder)["/locations?q="]
        if not options.no_pg_trgm:
            results["pg_trgm"] = pg_trgm(places, queries, folder)
    report(queries, results)
    if any(query.kind in TYPED + ADDRESSES for query in queries):
        report_calls(queries, calls)
    if options.misses:
        print_misses(queries, results["Waymark"], places, options.misses, HALVES[0])


if __name__ == "__main__":
    main()
