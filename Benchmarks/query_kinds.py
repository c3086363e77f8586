"""The kinds of queries of the benchmark of queries, and how they are drawn from places.

The method of a kind draws a query with the places that are right: all that satisfy it equally, by the names, addresses,
categories and positions of the data alone. It returns None if what it draws has no fair result.
"""

import math
import random
import re
import zlib
from collections import Counter, defaultdict
from typing import NamedTuple

from query_places import CYRILLIC, folded, script

HALVES = ("tuning", "held-back")
# Of each kind and half. Kinds of which the data have fewer end with what they have.
COUNT = 64
ATTEMPTS = 60_000
# The number of positions at which a text is asked in a half.
MOST_USES = 4
# A query with more right places than this says too little.
MOST = 12


class Query(NamedTuple):
    kind: str
    text: str
    # Latitude and longitude with a comma between, or empty.
    position: str
    places: list

    @property
    def half(self):
        """The half that it belongs to, by the hash of its text and position."""
        return HALVES[zlib.crc32(f"{folded(self.text)} {self.position}".encode()) // 7 % 2]


# Words

# Words of names by language: those of streets, and their abbreviations.
STREETS = {
    "de": {"straße": ["str.", "str"], "strasse": ["str.", "str"], "platz": ["pl."]},
    "fr": {"rue": ["r."], "avenue": ["av.", "av", "ave"], "boulevard": ["bd", "blvd", "bd."], "place": ["pl."],
           "allée": ["all."], "impasse": ["imp."]},
    "es": {"calle": ["c/", "c."], "avenida": ["avda.", "av.", "avda"], "plaza": ["pza.", "plza."], "paseo": ["pº", "po."],
           "carretera": ["ctra.", "crta."]},
    "pt": {"rua": ["r."], "avenida": ["av.", "av"], "travessa": ["tv.", "trav."]},
    "it": {"via": ["v."], "viale": ["v.le", "vle"], "piazza": ["p.za", "p.zza", "pza"], "corso": ["c.so"]},
    "nl": {"straat": ["str.", "str"], "laan": ["ln"], "plein": ["pln"]},
    "sv": {"gatan": ["g.", "g"], "vägen": ["v."]},
    "fi": {"katu": ["k.", "k"], "tie": ["t."]},
    "ru": {"улица": ["ул.", "ул"], "проспект": ["пр.", "пр-т", "просп."], "переулок": ["пер.", "пер"]},
    "el": {"λεωφόρος": ["λεωφ.", "λ."]},
    "en": {"street": ["st", "st."], "avenue": ["ave", "ave.", "av"], "boulevard": ["blvd", "blvd."], "road": ["rd", "rd."],
           "drive": ["dr"], "lane": ["ln"], "north": ["n"], "south": ["s"], "east": ["e", "e."], "west": ["w", "w."]},
}
# A word that people put before a street, which the data leave out.
PREFIXES = {"pl": ["ul.", "ulica", "ul"], "el": ["οδός"]}
SPOKEN = {
    "Helsinki": "fi", "Monaco": "fr", "Paris": "fr", "Baltimore": "en", "Harrisburg": "en", "New York": "en",
    "Singapore": "en", "Liechtenstein": "de", "Krems": "de", "Berlin": "de", "Rome": "it", "Moscow": "ru",
    "Andorra": "es", "Iceland": "is", "DE": "de", "AT": "de", "CH": "de", "FR": "fr", "ES": "es", "MX": "es", "AR": "es",
    "CL": "es", "CO": "es", "PE": "es", "IT": "it", "NL": "nl", "FI": "fi", "SE": "sv", "PT": "pt", "BR": "pt", "PL": "pl",
}
EQUIVALENTS = [
    ("saint", "st"), ("saint", "st."), ("sankt", "st."), ("sankt", "st"), ("sint", "st."), ("sainte", "ste"), ("mount", "mt"),
    ("mount", "mt."), ("fort", "ft"), ("fort", "ft."), ("doctor", "dr"), ("doctor", "dr."), ("santa", "sta."), ("santo", "sto."),
]
AND = {"de": "und", "fr": "et", "es": "y", "it": "e", "fi": "ja", "sv": "och", "nl": "en", "en": "and"}
# The words for numbers from one on.
NUMBERS = {
    "en": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
          "nineteen twenty",
    "de": "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf", "nl": "een twee drie vier vijf zes zeven acht negen tien",
    "fr": "un deux trois quatre cinq six sept huit neuf dix onze douze", "it": "uno due tre quattro cinque sei sette otto nove dieci",
    "es": "uno dos tres cuatro cinco seis siete ocho nueve diez", "pt": "um dois três quatro cinco seis sete oito nove dez",
    "fi": "yksi kaksi kolme neljä viisi kuusi seitsemän kahdeksan yhdeksän kymmenen",
    "sv": "ett två tre fyra fem sex sju åtta nio tio", "pl": "jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć",
}
SMALL = {
    "the", "of", "a", "an", "at", "in", "on", "de", "du", "des", "la", "le", "les", "l", "d", "el", "los", "las", "del", "do",
    "da", "dos", "das", "di", "della", "dei", "delle", "il", "lo", "der", "die", "das", "den", "dem", "am", "im", "zum", "zur",
    "van", "het", "op", "aan", "bij", "för", "på", "i", "v", "na", "и", "в", "на",
}
ARTICLES = {"en": ["the"], "fr": ["le", "la"], "de": ["der", "die", "das", "zum"], "es": ["el", "la"], "it": ["il", "la"]}
# The words for kinds of places by language; the first is the usual one.
CATEGORIES = {
    "cafe": {"en": ["cafe", "coffee shop"], "de": ["café"], "fr": ["café"], "it": ["caffè", "bar caffè"], "fi": ["kahvila"],
             "sv": ["kafé"], "ru": ["кафе"], "es": ["cafetería"], "ja": ["カフェ"], "ko": ["카페"], "pl": ["kawiarnia"]},
    "restaurant": {"en": ["restaurant"], "de": ["restaurant", "gasthaus"], "fr": ["restaurant"], "it": ["ristorante"],
                   "fi": ["ravintola"], "sv": ["restaurang"], "ru": ["ресторан"], "es": ["restaurante"],
                   "ja": ["レストラン"], "ko": ["레스토랑"], "pl": ["restauracja"]},
    "pharmacy": {"en": ["pharmacy", "drugstore"], "de": ["apotheke"], "fr": ["pharmacie"], "it": ["farmacia"], "fi": ["apteekki"],
                 "sv": ["apotek"], "ru": ["аптека"], "es": ["farmacia"], "ja": ["薬局"], "ko": ["약국"], "pl": ["apteka"]},
    "hotel": {"en": ["hotel"], "de": ["hotel"], "fr": ["hôtel"], "it": ["albergo", "hotel"], "fi": ["hotelli"], "sv": ["hotell"],
              "ru": ["гостиница", "отель"], "es": ["hotel"], "ja": ["ホテル"], "ko": ["호텔"], "pl": ["hotel"]},
    "bank": {"en": ["bank"], "de": ["bank"], "fr": ["banque"], "it": ["banca"], "fi": ["pankki"], "ru": ["банк"],
             "es": ["banco"], "ja": ["銀行"], "ko": ["은행"], "pl": ["bank"]},
    "supermarket": {"en": ["supermarket"], "de": ["supermarkt"], "fr": ["supermarché"], "it": ["supermercato"],
                    "fi": ["supermarketti"], "ru": ["супермаркет"], "es": ["supermercado"], "ja": ["スーパーマーケット"],
                    "ko": ["슈퍼마켓"], "pl": ["supermarket"]},
    "bakery": {"en": ["bakery"], "de": ["bäckerei"], "fr": ["boulangerie"], "it": ["panetteria"], "fi": ["leipomo"],
               "sv": ["bageri"], "ru": ["пекарня"], "es": ["panadería"], "ja": ["パン屋"], "ko": ["빵집"], "pl": ["piekarnia"]},
    "school": {"en": ["school"], "de": ["schule"], "fr": ["école"], "it": ["scuola"], "fi": ["koulu"], "ru": ["школа"],
               "es": ["escuela"], "ja": ["学校"], "ko": ["학교"], "pl": ["szkoła"]},
    "museum": {"en": ["museum"], "de": ["museum"], "fr": ["musée"], "it": ["museo"], "fi": ["museo"], "ru": ["музей"],
               "es": ["museo"], "ja": ["博物館"], "ko": ["박물관"], "pl": ["muzeum"]},
    "library": {"en": ["library"], "de": ["bücherei", "bibliothek"], "fr": ["bibliothèque"], "it": ["biblioteca"],
                "fi": ["kirjasto"], "ru": ["библиотека"], "es": ["biblioteca"], "ja": ["図書館"], "ko": ["도서관"]},
    "hairdresser": {"en": ["hairdresser"], "de": ["friseur"], "fr": ["coiffeur"], "it": ["parrucchiere"], "fi": ["kampaamo"],
                    "ru": ["парикмахерская"], "es": ["peluquería"], "ja": ["美容院"], "ko": ["미용실"], "pl": ["fryzjer"]},
    "highway:bus_stop": {"en": ["bus stop"], "de": ["bushaltestelle"], "fr": ["arrêt de bus"], "it": ["fermata dell'autobus"],
                         "fi": ["bussipysäkki"], "ru": ["автобусная остановка"], "es": ["parada de autobús"],
                         "ja": ["バス停"], "ko": ["버스 정류장"]},
    "fast_food": {"en": ["fast food"], "ja": ["ファストフード"], "ko": ["패스트푸드"]},
    "post_office": {"en": ["post office"], "de": ["postamt"], "fr": ["bureau de poste"], "it": ["ufficio postale"],
                    "fi": ["posti"], "ru": ["почта"], "es": ["oficina de correos"], "ja": ["郵便局"], "ko": ["우체국"]},
    "pub": {"en": ["pub"]}, "bar": {"en": ["bar"], "de": ["bar"], "fr": ["bar"], "fi": ["baari"], "ru": ["бар"]},
    "cinema": {"en": ["cinema", "movie theater"], "de": ["kino"], "fr": ["cinéma"], "it": ["cinema"], "fi": ["elokuvateatteri"],
               "ru": ["кинотеатр"], "es": ["cine"], "ja": ["映画館"], "ko": ["영화관"]},
    "parking": {"en": ["parking", "car park"], "de": ["parkplatz"], "fr": ["parking"], "it": ["parcheggio"], "fi": ["pysäköinti"],
                "ru": ["парковка"], "es": ["aparcamiento"], "ja": ["駐車場"], "ko": ["주차장"]},
    "fuel": {"en": ["gas station", "petrol station"], "de": ["tankstelle"], "fr": ["station-service"], "it": ["distributore"],
             "ru": ["заправка"], "es": ["gasolinera"], "ja": ["ガソリンスタンド"], "ko": ["주유소"]},
    "fire_station": {"en": ["fire station"], "de": ["feuerwehr"], "ja": ["消防署"], "ko": ["소방서"]},
    "clothes": {"en": ["clothes shop", "clothing store"], "de": ["kleidung"]},
    "subway_entrance": {"en": ["subway entrance"]},
    "bicycle_rental": {"en": ["bicycle rental", "bike rental"], "de": ["fahrradverleih"]},
    "tram_stop": {"en": ["tram stop"], "de": ["straßenbahnhaltestelle"], "fi": ["raitiovaunupysäkki"]},
    "convenience": {"en": ["convenience store"]},
    "toilets": {"en": ["public toilets"], "ko": ["공중화장실"]}, "atm": {"en": ["cash machine"], "ko": ["현금인출기"]},
}
# Other spacings of the same words.
SPACINGS = {
    "supermarket": ["super market", "super-market", "super markt", "super marché", "super mercado", "슈퍼 마켓"],
    "highway:bus_stop": ["busstop", "bus-stop", "버스정류장", "bus haltestelle", "bussi pysäkki"],
    "fast_food": ["fastfood", "fast-food", "패스트 푸드"], "post_office": ["postoffice", "post-office", "post amt", "우체 국"],
    "parking": ["carpark", "car-park", "park platz", "주차 장"], "pharmacy": ["drug store", "drug-store"],
    "cafe": ["coffeeshop", "coffee-shop"], "fuel": ["gasstation", "petrolstation", "tank stelle", "station service"],
    "fire_station": ["firestation", "fire-station"], "subway_entrance": ["subwayentrance"],
    "bicycle_rental": ["bikerental", "bike-rental", "fahrrad verleih"], "tram_stop": ["tramstop", "tram-stop"],
    "cinema": ["movietheater", "movie-theater", "elokuva teatteri", "кино театр"], "hairdresser": ["hair dresser", "hair-dresser"],
    "toilets": ["공중 화장실"], "atm": ["cashmachine", "현금 인출기"], "clothes": ["clothingstore", "clothesshop"],
    "convenience": ["conveniencestore", "convenience-store"],
}
NEAR = {
    "en": ["{} near {}", "{} close to {}", "{} by {}"], "de": ["{} bei {}", "{} nähe {}", "{} in der nähe von {}"],
    "fr": ["{} près de {}", "{} proche de {}"], "it": ["{} vicino a {}"], "es": ["{} cerca de {}"], "fi": ["{} lähellä {}"],
    "sv": ["{} nära {}"], "ru": ["{} рядом с {}", "{} около {}"], "pl": ["{} blisko {}", "{} koło {}"],
    "ja": ["{1}の近くの{0}", "{1} 付近 {0}"], "ko": ["{1} 근처 {0}"],
}
AIRPORTS = ("{} airport", "airport {}", "{} airport", "flughafen {}", "aéroport {}", "aeropuerto {}", "{} international airport")
GERMAN, SWEDISH, DANISH = {"ä": "ae", "ö": "oe", "ü": "ue"}, {"ä": "ae", "ö": "oe", "å": "aa"}, {"æ": "ae", "ø": "oe", "å": "aa"}
UMLAUTS = dict.fromkeys(("DE", "AT", "CH", "Liechtenstein", "Krems", "Berlin", "de"), GERMAN)
UMLAUTS |= {"SE": SWEDISH, "FI": SWEDISH, "sv": SWEDISH, "DK": DANISH, "NO": DANISH, "Iceland": {"þ": "th", "ð": "d", "æ": "ae"}}
KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
NEIGHBOURS = defaultdict(str)
for row, below in zip(KEYBOARD, (*KEYBOARD[1:], "")):
    for index, letter in enumerate(row):
        NEIGHBOURS[letter] += row[max(index - 1, 0):index] + row[index + 1:index + 2] + below[max(index - 1, 0):index + 1]
ELISION = re.compile(r"(?i)^(l|d|dell|all|dall|sant|nell|sull|qu|o|m|n)['’](\w{3,})")


def metres(first, second):
    """Returns the distance of two positions along the great circle."""
    (latitude, longitude), (other_latitude, other_longitude) = first, second
    half = (
        math.sin(math.radians(other_latitude - latitude) / 2) ** 2
        + math.cos(math.radians(latitude)) * math.cos(math.radians(other_latitude))
        * math.sin(math.radians(other_longitude - longitude) / 2) ** 2)
    return 2 * 6_371_000 * math.asin(min(1, math.sqrt(half)))


def at(place):
    return place.latitude, place.longitude


class Corpus:
    """The places, by the words of their names and by their addresses."""

    def __init__(self, places):
        self.places = places
        self.by_word, self.by_name, self.by_address = defaultdict(set), defaultdict(set), defaultdict(set)
        self.by_street, self.by_category, self.by_city = defaultdict(set), defaultdict(list), defaultdict(set)
        self.own_names = []
        for index, place in enumerate(places):
            names = list(dict.fromkeys(folded(name) for name in place.names))
            self.own_names.append(names)
            for name in names:
                self.by_name[name].add(index)
                for word in name.split():
                    self.by_word[word].add(index)
            if place.street:
                self.by_street[folded(place.street)].add(index)
                if place.number:
                    self.by_address[folded(place.street), folded(place.number)].add(index)
            self.by_category[place.category].append(index)
            if place.category == "airport" and place.city:
                self.by_city[folded(place.city)].add(index)
        self.main_names = [names[0] for names in self.own_names]
        self.all_names = list(self.by_name)
        everything = range(len(places))
        kinds = "".join(place.key[0] for place in places)
        # Objects of extracts, without platforms and the like.
        mapped = [index for index in everything if kinds[index] in "nw"]
        stops = ("platform", "stop_position", "subway_entrance", "")
        self.shops = [index for index in mapped if places[index].category not in stops]
        self.addressed = [index for index in mapped if places[index].street and places[index].number]
        self.addressed += [index for index in everything if kinds[index] == "i" and places[index].number][::4]
        self.composed = [index for index in everything if kinds[index] == "x"]
        self.towns = [index for index in everything if kinds[index] == "c"]
        self.airports = list(self.by_category["airport"])
        self.iceland = [index for index in everything if places[index].key.startswith("in")]
        self.capitals = [index for index in self.towns if places[index].population >= 100_000]
        self.town_weights = None

    def keys(self, indices):
        return [self.places[index].key for index in sorted(indices)]

    def named(self, text):
        """Returns the places of a name; of towns only those not much smaller than the largest.

        A place with it as its first name is not behind those that have it as one of many."""
        name = folded(text)
        found = self.by_name.get(name, ())
        return self.important(found) | self.important([index for index in found if self.main_names[index] == name])

    def important(self, indices):
        towns = [index for index in indices if self.places[index].population]
        if not towns:
            return set(indices)
        largest = max(self.places[index].population for index in towns)
        return {index for index in indices if self.places[index].population * 2 >= largest}

    def containing(self, words):
        """Returns the places of which one name has all the words."""
        words = set(words)
        sets = sorted((self.by_word.get(word, set()) for word in words), key=len)
        if not sets or len(sets[0]) > 5000:
            return set()
        found = set.intersection(*sets)
        return {index for index in found if any(words <= set(name.split()) for name in self.own_names[index])}

    def near(self, position, category, radius, least):
        """Returns the places of a category within a radius, or the nearest ones if there are fewer."""
        found = sorted((metres(at(self.places[index]), position), index) for index in self.by_category.get(category, ()))
        return {index for rank, (distance, index) in enumerate(found) if distance <= radius or rank < least and distance < 5_000}


class Generator:
    def __init__(self, corpus, kind):
        self.corpus = corpus
        self.places = corpus.places
        self.random = random.Random(f"queries {kind}")
        self.pools = {}

    # Places

    def choice(self, *pools):
        """Returns a place and its index, each pool as often as others."""
        index = self.random.choice(self.random.choice(pools))
        return self.places[index], index

    def town(self):
        """Returns a town, larger ones more often."""
        if self.corpus.town_weights is None:
            self.corpus.town_weights = [math.sqrt(self.places[index].population + 1) for index in self.corpus.towns]
        index = self.random.choices(self.corpus.towns, self.corpus.town_weights)[0]
        return self.places[index], index

    def shop(self):
        return self.choice(self.corpus.shops, self.corpus.shops, self.corpus.composed)

    def any(self):
        return self.random.choice((self.shop, self.shop, self.town, lambda: self.choice(self.corpus.airports)))()

    def matching(self, pattern):
        """Returns a place whose name matches a pattern."""
        if pattern not in self.pools:
            corpus = self.corpus
            pools = (corpus.shops, corpus.composed, corpus.towns, corpus.airports, corpus.by_category["aerodrome"])
            matches = re.compile(pattern, re.IGNORECASE).search
            self.pools[pattern] = [[index for index in pool if matches(self.places[index].name)] for pool in pools]
        return self.choice(*filter(None, self.pools[pattern]))

    def around(self, place, kilometres=2.0):
        angle, distance = self.random.uniform(0, 2 * math.pi), self.random.uniform(0.1, kilometres) / 111
        latitude = place.latitude + distance * math.sin(angle)
        longitude = place.longitude + distance * math.cos(angle) / math.cos(math.radians(place.latitude))
        return round(latitude, 4), round(longitude, 4)

    def language(self, place):
        spoken = SPOKEN.get(place.region, place.region)
        return spoken if spoken.islower() else "en"

    def query(self, text, indices, position=None, most=MOST):
        if not indices or len(indices) > most or not folded(text):
            return None
        return text, "{},{}".format(*position) if position else "", self.corpus.keys(indices)

    def by_name(self, text, place):
        """Returns a query for a place by another form of its name. Places of the very words of the text are right too."""
        return self.query(text, self.corpus.named(place.name) | self.corpus.containing(folded(text).split()))

    # Names

    def name(self):
        place, _ = self.any()
        return self.query(place.name.lower(), self.corpus.named(place.name))

    def name_nearby(self):
        place, index = self.choice(self.corpus.shops)
        position = self.around(place)
        own = metres(at(place), position)
        right = [other for other in self.corpus.by_name[folded(place.name)] if metres(at(self.places[other]), position) <= own + 100]
        return self.query(place.name.lower(), right, position)

    def name_with_its_city(self):
        place, index = self.choice(self.corpus.shops)
        city = place.city or place.region
        if not city or folded(city) in folded(place.name):
            return None
        # Without a tag for the city, the data do not tell these places from others of the name.
        same = self.corpus.by_name[folded(place.name)]
        right = {other for other in same if folded(self.places[other].city) == folded(city)} or same
        return self.query(self.random.choice(("{} {}", "{}, {}")).format(place.name, city).lower(), right)

    def punctuation(self):
        place, _ = self.any()
        if not re.search(r"[^\w\s'’]", place.name) or len(folded(place.name).split()) < 2:
            return None
        return self.query(place.name, self.corpus.named(place.name))

    # Addresses

    def address(self):
        place, _ = self.choice(self.corpus.addressed)
        return self.query(
            f"{place.street} {place.number}".lower() if self.random.random() < 0.5 else f"{place.street} {place.number}",
            self.at_address(place), most=40)

    def at_address(self, place):
        """Returns the places of an address, and those that it is the name of."""
        key = folded(place.street), folded(place.number)
        return self.corpus.by_address[key] | self.corpus.by_name.get(" ".join(key), set())

    def address_and_city(self):
        place, _ = self.choice(self.corpus.addressed, self.corpus.composed)
        if not place.city or not place.number:
            return None
        right = {index for index in self.at_address(place) if folded(self.places[index].city) == folded(place.city)}
        first = self.language(place) in ("en", "fr")
        street = f"{place.number} {place.street}" if first else f"{place.street} {place.number}"
        return self.query(self.random.choice(("{} {}", "{}, {}")).format(street, place.city).lower(), right, most=40)

    def number_before_street(self):
        place, _ = self.choice(self.corpus.addressed, self.corpus.composed)
        if self.language(place) not in ("en", "fr") or not place.number:
            return None
        return self.query(f"{place.number} {place.street}".lower(), self.at_address(place), most=40)

    def name_and_street(self):
        place, _ = self.choice(self.corpus.addressed, self.corpus.composed)
        if folded(place.street) in folded(place.name):
            return None
        right = self.corpus.by_name[folded(place.name)] & self.corpus.by_street[folded(place.street)]
        return self.query(f"{place.name} {place.street}".lower(), right)

    def street(self):
        place, _ = self.choice(self.corpus.addressed, self.corpus.composed)
        key = folded(place.street)
        right = self.corpus.by_street[key] | self.corpus.containing(key.split())
        return self.query(place.street.lower(), right, most=120)

    def house_number_form(self):
        place, _ = self.choice(self.corpus.addressed, self.corpus.composed)
        number = place.number
        if parts := re.fullmatch(r"(\d+)([^\W\d])", number):
            form = self.random.choice(("{} {}", "{}{}")).format(parts[1], parts[2].swapcase())
            right = self.at_address(place) | self.same_street(place, {f"{parts[1]} {folded(parts[2])}"})
        elif parts := re.fullmatch(r"(\d+) ?(bis|ter)", number):
            form = self.random.choice(("{}{}", "{} {}")).format(parts[1], parts[2])
            if form == number:
                return None
            right = self.at_address(place) | self.same_street(place, {"".join(parts.groups()), " ".join(parts.groups())})
        elif parts := re.fullmatch(r"(\d+) ?[-–] ?(\d+)", number):
            low, high = int(parts[1]), int(parts[2])
            if not low < high <= low + 20:
                return None
            chosen = self.random.randrange(low, high + 1, 2)
            form = str(chosen)
            right = self.at_address(place) | self.same_street(place, {form}) | {
                index for index in self.corpus.by_street[folded(place.street)]
                if (other := re.fullmatch(r"(\d+) ?[-–] ?(\d+)", self.places[index].number))
                and int(other[1]) <= chosen <= int(other[2])}
        else:
            return None
        return self.query(f"{place.street} {form}".lower() if form.islower() else f"{place.street} {form}", right, most=40)

    def same_street(self, place, numbers):
        return set().union(*(self.corpus.by_address.get((folded(place.street), number), set()) for number in numbers))

    def street_abbreviation(self):
        place, _ = self.choice(self.corpus.composed, self.corpus.composed, self.corpus.addressed)
        if not place.number:
            return None
        language, short = self.language(place), place.street.lower()
        table = STREETS.get(language, {})
        for word, forms in table.items():
            whole = rf"(?<!\w){word}(?!\w)" if language not in ("de", "nl", "sv", "fi") else rf"{word}(?!\w)"
            short = re.sub(whole, lambda _: self.random.choice(forms), short)
        if language in PREFIXES and not short.startswith(("λ", "ul")):
            short = f"{self.random.choice(PREFIXES[language])} {short}"
        if short == place.street.lower():
            return None
        first = language in ("en", "fr")
        return self.query(f"{place.number} {short}" if first else f"{short} {place.number}", self.at_address(place), most=40)

    def street_joined_or_apart(self):
        place, _ = self.choice(self.corpus.composed, self.corpus.addressed)
        street = place.street.lower()
        ending = re.search(r"[ -]?(straße|strasse|platz|gasse|weg|straat|laan|plein|gatan|vägen|katu|tie)$", street)
        if not ending or not place.number or ending.start() < 4:
            return None
        apart = ending[0][0] in " -"
        stem, word = street[:ending.start()], ending[1]
        if word.startswith("stra") and self.random.random() < 0.5:
            word = "str" if self.random.random() < 0.5 else "str."
        return self.query(f"{stem}{'' if apart else ' '}{word} {place.number}", self.at_address(place), most=40)

    def typo_in_address(self):
        place, _ = self.choice(self.corpus.addressed, self.corpus.composed)
        words = folded(place.street).split()
        longest = max(words, key=len)
        if len(longest) < 6 or not place.number:
            return None
        text = " ".join(self.edited(longest) if word == longest else word for word in words)
        if text in self.corpus.by_street or self.ambiguous(text, folded(place.street), list(self.corpus.by_street)):
            return None
        return self.query(f"{text} {place.number}".lower(), self.at_address(place), most=40)

    # Words

    def equivalent(self):
        place, _ = self.matching(r"\b(" + "|".join(sorted({re.escape(word.rstrip('.')) for pair in EQUIVALENTS for word in pair})) + r")\b")
        words = place.name.lower().split()
        for index, word in enumerate(re.split(r"[ -]", place.name.lower())):
            pairs = [(long, short) for long, short in EQUIVALENTS if word in (long, short)]
            if pairs:
                break
        else:
            return None
        long, short = self.random.choice(pairs)
        if word in ("st", "st."):
            long = "sankt" if self.language(place) == "de" or place.region in ("DE", "AT", "CH") else "saint"
            if place.category == "airport" and " st" in place.name.lower()[-4:]:
                return None
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", long if word == short else short, place.name.lower(), count=1)
        if folded(text) in self.corpus.by_name or text == place.name.lower() or len(words) < 2 and "-" not in place.name:
            return None
        return self.by_name(text.replace("-", " "), place)

    def and_sign(self):
        place, _ = self.matching(r"[&+]| (" + "|".join(sorted(AND.values())) + ") ")
        name, language = place.name.lower(), self.language(place)
        word = AND.get(language, "and")
        if "&" in name or " + " in name:
            text = re.sub(r"\s*[&+]\s*", f" {word} ", name)
        elif f" {word} " in name:
            text = name.replace(f" {word} ", self.random.choice((" & ", " + ", "&")), 1)
        else:
            return None
        return self.by_name(text, place)

    def number_word(self):
        place, _ = self.matching(r"\b([1-9]|1\d|20|" + "|".join(sorted({word for words in NUMBERS.values() for word in words.split()})) + r")\b")
        words, numbers = place.name.lower().split(), NUMBERS.get(self.language(place), "").split()
        for index, word in enumerate(words):
            if word in numbers:
                words[index] = str(numbers.index(word) + 1)
                break
            if word.isdecimal() and word.isascii() and 0 < int(word) <= len(numbers) and word[0] != "0":
                words[index] = numbers[int(word) - 1]
                break
        else:
            return None
        return self.by_name(" ".join(words), place) if len(words) > 1 else None

    def small_word_dropped(self):
        place, _ = self.any()
        words = folded(place.name.replace("'", " ").replace("’", " ")).split()
        left = [word for word in words if word not in SMALL]
        if len(left) == len(words) or len(left) < 2:
            return None
        return self.by_name(" ".join(left), place)

    def small_word_added(self):
        place, _ = self.any()
        words = folded(place.name).split()
        if len(words) > 3 or words[0] in SMALL or any(word.isdigit() for word in words):
            return None
        article = self.random.choice(ARTICLES.get(self.language(place), ["the"]))
        text = f"{self.random.choice(('city of', 'town of')) if place.key[0] == 'c' else article} {place.name}".lower()
        return self.by_name(text, place)

    def category_word_added(self):
        place, _ = self.choice(self.corpus.shops)
        words = CATEGORIES.get(place.category)
        language = self.language(place)
        if not words or language not in words:
            return None
        word = words[language][0]
        if folded(word) in folded(place.name) or len(folded(place.name)) < 4:
            return None
        right = {index for index in self.corpus.by_name[folded(place.name)] if self.places[index].category == place.category}
        text = self.random.choice(("{0} {1}", "{1} {0}")).format(word, place.name).lower()
        return self.query(text, right | self.corpus.containing(folded(text).split()))

    def missing_words(self):
        place, _ = self.any()
        words = folded(place.name).split()
        if len(words) < 3:
            return None
        left = sorted(self.random.sample(range(len(words)), self.random.randint(2, len(words) - 1)))
        left = [words[index] for index in left]
        return self.query(" ".join(left), self.corpus.containing(left))

    def rare_word(self):
        place, _ = self.any()
        words = folded(place.name).split()
        if len(words) < 2:
            return None
        word = min(words, key=lambda word: (len(self.corpus.by_word[word]), word))
        if len(word) < 4 or word.isdigit():
            return None
        return self.query(word, self.corpus.containing([word]), most=6)

    def unknown_word_added(self):
        """A name with a word that the data do not have: a street, a branch, a boss."""
        place, index = self.choice(self.corpus.shops)
        stranger, _ = self.choice(self.corpus.composed)
        if stranger.region not in ("fr", "es", "it", "nl", "pl", "pt"):
            return None
        other = folded(stranger.name).split()[-1]
        words = folded(place.name).split()
        if len(words) > 3 or len(folded(place.name)) < 5 or other in words or self.corpus.containing([*words, other]):
            return None
        if any(len(self.corpus.by_word[word]) > 200 for word in words):
            return None
        return self.query(f"{place.name} {other}".lower(), self.corpus.named(place.name))

    def word_order(self):
        place, _ = self.any()
        words = folded(place.name).split()
        if len(words) < 2:
            return None
        text = words[1:] + words[:1] if self.random.random() < 0.5 else words[::-1]
        if text == words:
            return None
        return self.query(" ".join(text), self.corpus.containing(words))

    # Typing errors

    def edited(self, word, start=1):
        index = self.random.randrange(start, len(word))
        letter = self.random.choice(NEIGHBOURS.get(word[index]) or word.replace(" ", ""))
        match self.random.randrange(5):
            case 0:
                return word[:index] + letter + word[index:]
            case 1:
                return word[:index] + word[index + 1:]
            case 2:
                return word[:index] + letter + word[index + 1:]
            case 3:
                return word[:index] + word[index] + word[index:]
            case _:
                return word[:index - 1] + word[index] + word[index - 1] + word[index + 1:] if index > 1 else word

    def ambiguous(self, text, name, names):
        """Says whether another name is as near to the text."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        distance = OSA.distance(text, name)
        if distance == 0:
            return True
        near = process.extract(text, names, scorer=OSA.distance, score_cutoff=distance, limit=4, processor=None)
        return any(other != name for other, *_ in near)

    def typos(self, place, count):
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        name = folded(place.name)
        text = name
        for _ in range(count):
            text = self.edited(text)
        if text == name or text in self.corpus.by_name:
            return None
        # Names as near to the text are right as well.
        near = process.extract(
            text, self.corpus.all_names, scorer=OSA.distance, score_cutoff=OSA.distance(text, name), limit=MOST, processor=None)
        return self.query(text, set().union(*(self.corpus.named(other) for other, *_ in near))) if len(near) < MOST else None

    def one_typo(self):
        place, _ = self.any()
        return self.typos(place, 1) if len(folded(place.name)) >= 7 else None

    def one_typo_short_word(self):
        place, _ = self.random.choice((self.shop, self.town, self.town))()
        return self.typos(place, 1) if 4 <= len(folded(place.name)) <= 6 else None

    def two_typos(self):
        place, _ = self.any()
        return self.typos(place, 2) if len(folded(place.name)) >= 9 else None

    # Forms of words

    def elision(self):
        pools = (self.corpus.towns, self.corpus.shops, self.corpus.airports)
        place, _ = self.choice(*pools)
        words = place.name.lower().split()
        for index, word in enumerate(words):
            if parts := ELISION.match(word):
                rest = word[parts.end(1) + 1:]
                words[index] = self.random.choice((rest, rest, f"{parts[1]} {rest}", f"{parts[1]}{rest}", f"{parts[1]}’{rest}"))
                break
        else:
            return None
        return self.by_name(" ".join(words), place)

    def possessive(self):
        place, _ = self.matching(r"['’]s\b")
        name = place.name.lower()
        if not re.search(r"['’]s\b", name):
            return None
        text = re.sub(r"['’]s\b", lambda _: self.random.choice(("s", " s", "")), name)
        return self.by_name(text, place)

    def umlaut(self):
        towns = [index for index in self.corpus.towns if self.places[index].region in UMLAUTS]
        place, _ = self.random.choice((self.shop, lambda: self.choice(towns), lambda: self.choice(self.corpus.iceland)))()
        name, letters = place.name.lower(), UMLAUTS.get(place.region, {})
        if not any(letter in name for letter in letters):
            return None
        text = folded("".join(letters.get(letter, letter) for letter in name))
        if text in self.corpus.by_name or not text.isascii():
            return None
        return self.by_name(text, place)

    def joined(self):
        place, _ = self.any()
        words = folded(place.name).split()
        if len(words) < 2 or any(len(word) < 3 for word in words[:2]) or len(words) > 3:
            return None
        text = " ".join(["".join(words[:2]), *words[2:]])
        return self.by_name(text, place)

    def split(self):
        place, _ = self.any()
        words = folded(place.name).split()
        if len(words) > 2 or not words[0].isascii() or len(words[0]) < 8:
            return None
        # At a place where both parts are words of other names.
        places = [
            index for index in range(3, len(words[0]) - 2)
            if words[0][:index] in self.corpus.by_word and words[0][index:] in self.corpus.by_word]
        if not places:
            return None
        index = self.random.choice(places)
        return self.by_name(" ".join([words[0][:index], words[0][index:], *words[1:]]), place)

    def hyphen_or_initials(self):
        place, _ = self.any()
        name = place.name.lower()
        if re.search(r"\b\w\.(\w\.)+", name):
            text = re.sub(r"\b\w\.(\w\.)+", lambda found: found[0].replace(".", ""), name)
        elif re.search(r"\b\w&\w\b", name):
            text = re.sub(r"\b(\w)&(\w)\b", lambda found: self.random.choice(("{}{}", "{} {}", "{} & {}")).format(*found.groups()), name)
        elif re.search(r"\w-\w", name) and place.key[0] != "c":
            text = name.replace("-", "", 1)
        else:
            return None
        return self.by_name(text, place)

    # Scripts

    def cyrillic_in_latin_letters(self):
        place, _ = self.town()
        return self.in_latin_letters(place) if place.region in CYRILLIC else None

    def greek_in_latin_letters(self):
        place, _ = self.choice([index for index in self.corpus.towns if self.places[index].region in ("GR", "CY")])
        return self.in_latin_letters(place)

    def in_latin_letters(self, place):
        if not place.latin:
            return None
        text = place.latin.lower() if self.random.random() < 0.5 else folded(place.latin)
        right = {index for index in self.corpus.by_name[folded(place.name)] if self.places[index].latin}
        return None if folded(text) in self.corpus.by_name else self.query(text, self.corpus.important(right))

    def other_script(self):
        place, _ = self.town()
        names = [name for name in place.others if script(name) not in ("LATIN", "")]
        if not names or place.population < 100_000:
            return None
        name = self.random.choice(names)
        return self.query(name, self.corpus.named(name)) if len(folded(name)) > 1 else None

    # Importance

    def town_of_many(self):
        """The name of a large town that other places have too, or have as a part of theirs."""
        place, index = self.town()
        name = folded(place.name)
        others = self.corpus.containing(name.split()) - {index}
        if place.population < 50_000 or len(others) < 3:
            return None
        return self.query(name, self.corpus.named(name))

    def airport_of_a_city(self):
        town, _ = self.choice(self.corpus.capitals)
        name = folded(town.latin or town.name)
        served = self.corpus.by_city.get(name, set())
        if not any(metres(at(self.places[index]), at(town)) < 80_000 for index in served):
            return None
        right = served | {index for index in self.corpus.containing(name.split()) if self.places[index].category == "airport"}
        return self.query(self.random.choice(AIRPORTS).format((town.latin or town.name).lower()), right)

    def code(self):
        place, _ = self.choice(self.corpus.airports)
        code = self.random.choice((place.tags["iata"], place.tags["iata"], place.tags.get("icao") or place.tags["iata"]))
        return self.query(code, {index for index in self.corpus.airports if code in self.places[index].tags.values()})

    # Near a place, categories

    def category_place(self):
        """Returns a place of an extract whose category has words, and a language to say them in."""
        place, _ = self.choice(self.corpus.shops)
        words = CATEGORIES.get(place.category)
        if not words or not place.region:
            return None, None
        language = self.language(place)
        if language not in words or self.random.random() < 0.4:
            language = self.random.choice(sorted(words))
        return place, language

    def near_a_landmark(self):
        place, language = self.category_place()
        if not place or language not in NEAR:
            return None
        landmarks = [
            index for index in self.corpus.shops
            if self.places[index].category in ("station", "museum", "theatre", "hotel", "school", "library", "park", "place_of_worship",
                                               "tram_stop", "cinema", "attraction", "hospital", "university", "highway:bus_stop")
            and self.places[index].region == place.region and 30 < metres(at(self.places[index]), at(place)) < 400]
        if not landmarks:
            return None
        landmark = self.places[self.random.choice(landmarks)]
        name = folded(landmark.name)
        same = self.corpus.by_name[name]
        if len(name) < 5 or landmark.category == place.category or any(metres(at(self.places[i]), at(landmark)) > 500 for i in same):
            return None
        right = self.corpus.near(at(landmark), place.category, 600, 2)
        word = self.random.choice(CATEGORIES[place.category][language])
        return self.query(self.random.choice(NEAR[language]).format(word, landmark.name.lower()), right, most=80)

    def nearby(self, place, text):
        position = self.around(place, 1.0)
        right = self.corpus.near(position, place.category, 2000, 3)
        words = folded(text).split()
        right |= {index for index in self.corpus.containing(words) if metres(at(self.places[index]), position) <= 2000}
        return self.query(text, right, position, most=200)

    def category(self):
        place, language = self.category_place()
        return self.nearby(place, self.random.choice(CATEGORIES[place.category][language])) if place else None

    def category_spacing(self):
        place, _ = self.category_place()
        return self.nearby(place, self.random.choice(SPACINGS[place.category])) if place and place.category in SPACINGS else None

    def category_typo(self):
        place, language = self.category_place()
        if not place:
            return None
        word = self.random.choice(CATEGORIES[place.category][language])
        if len(word) < 6 or script(word.replace(" ", "")) not in ("LATIN", "CYRILLIC"):
            return None
        text = self.edited(folded(word))
        known = {folded(word) for words in CATEGORIES.values() for values in words.values() for word in values}
        return None if text in known or text in self.corpus.by_word else self.nearby(place, text)

    # Prefixes

    def prefix(self):
        """The beginning of a large town's name; right are towns of at least half its people with that beginning."""
        town, index = self.choice(self.corpus.capitals)
        if town.population < 300_000:
            return None
        name = folded(town.name)
        if len(name) < 6:
            return None
        text = name[:self.random.randint(4, len(name) - 1)].strip()
        return self.query(text, self.beginning(lambda name: name.startswith(text)))

    def beginning(self, matches):
        """Returns the important towns of which a name matches, and those of which the first name does."""
        names = self.corpus.own_names
        rivals = [index for index in self.corpus.capitals if any(map(matches, names[index]))]
        return self.corpus.important(rivals) | self.corpus.important([index for index in rivals if matches(names[index][0])])

    def prefix_nearby(self):
        place, index = self.choice(self.corpus.shops)
        name = folded(place.name)
        if len(name) < 6:
            return None
        text = name[:self.random.randint(4, len(name) - 1)].strip()
        position = self.around(place)
        own = metres(at(place), position)
        right = {
            other for other in range(len(self.places))
            if abs(self.places[other].latitude - place.latitude) < 0.1 and metres(at(self.places[other]), position) <= own + 300
            and any(name.startswith(text) for name in self.corpus.own_names[other])}
        return self.query(text, right, position)

    def prefix_of_address(self):
        place, _ = self.choice(self.corpus.addressed, self.corpus.composed)
        name = folded(place.street)
        if len(name) < 8:
            return None
        text = name[:self.random.randint(6, len(name) - 1)].strip()
        right = {index for street, indices in self.corpus.by_street.items() if street.startswith(text) for index in indices}
        right |= {index for name, indices in self.corpus.by_name.items() if name.startswith(text) for index in indices}
        return self.query(text, right, most=60)

    def prefix_with_typo(self):
        town, _ = self.choice(self.corpus.capitals)
        name = folded(town.name)
        if len(name) < 8 or town.population < 300_000 or " " in name:
            return None
        beginning = name[:self.random.randint(6, len(name) - 1)]
        text = self.edited(beginning)
        if text == beginning or any(name.startswith(text) for name in self.corpus.by_name):
            return None
        from rapidfuzz.distance import OSA

        lengths = range(len(text) - 1, len(text) + 2)
        return self.query(text, self.beginning(
            lambda name: any(OSA.distance(text, name[:length], score_cutoff=1) <= 1 for length in lengths)))


# The kinds in their order. Those of TYPED are asked while the last word is being typed.
KINDS = (
    "name", "name nearby", "name with its city", "punctuation", "address", "address and city", "number before street",
    "name and street", "street", "house number form", "street abbreviation", "street joined or apart", "typo in address",
    "equivalent", "and sign", "number word", "small word dropped", "small word added", "category word added", "missing words",
    "rare word", "unknown word added", "word order", "one typo", "one typo short word", "two typos", "elision", "possessive",
    "umlaut", "joined", "split", "hyphen or initials", "cyrillic in latin letters", "greek in latin letters", "other script",
    "town of many", "airport of a city", "code", "near a landmark", "category", "category spacing", "category typo", "prefix",
    "prefix nearby", "prefix of address", "prefix with typo")
TYPED = ("prefix", "prefix nearby", "prefix of address", "prefix with typo")


def draw(corpus, kind):
    """Returns the queries of a kind, as many of each half."""
    generator = Generator(corpus, kind)
    method = getattr(generator, kind.replace(" ", "_"))
    found = {name: {} for name in HALVES}
    uses = Counter()
    for _ in range(ATTEMPTS):
        drawn = method()
        if drawn:
            query = Query(kind, " ".join(drawn[0].split()), *drawn[1:])
            own, use = found[query.half], (query.half, folded(query.text))
            if len(own) < COUNT and uses[use] < (MOST_USES if query.position else 1):
                own[query.text, query.position] = query
                uses[use] += 1
        if all(len(own) == COUNT for own in found.values()):
            break
    return [query for own in found.values() for query in own.values()]
