"""Measures for how many names with random edits a place is found among the first five, and first.

Whether it is first counts with its location as bias. rapidfuzz, which compares a text with every name, says which of the
others are ties: places whose names are as near to the text, or nearer, than that of the place. Exits with 1 if a figure is
below its target. Installs rapidfuzz from PyPI.

  scripts/conformance search FOLDER                    # 2,000 names of the places in airports.csv, navaids.ndjson and
                                                       # osm-places.geojson
  scripts/conformance search --names 500 --seed 2 FOLDER
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import unicodedata

from rapidfuzz import process
from rapidfuzz.distance import OSA

ALTERNATIVE_NAMES = ("alt_name", "official_name", "short_name", "old_name", "loc_name", "brand", "int_name")
# Of texts with one edit and with two: the shares among the first five, and first with a bias.
TARGETS = {1: (0.97, 0.90), 2: (0.90, None)}


def places(folder):
    """Returns names, positions and alternative names of the places of all files."""
    with open(folder / "airports.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield row["name"], row["lat"], row["long"], []
    with open(folder / "navaids.ndjson", encoding="utf-8") as file:
        for line in file:
            place = json.loads(line)
            yield place["name"], place["lat"], place["long"], []
    with open(folder / "osm-places.geojson", encoding="utf-8") as file:
        for feature in json.load(file)["features"]:
            longitude, latitude = feature["geometry"]["coordinates"]
            tags = feature["properties"].get("tags", {})
            others = [value for key, value in tags.items() if key.startswith("name:") or key in ALTERNATIVE_NAMES]
            yield feature["properties"]["name"], latitude, longitude, others


def folded(text):
    """Returns a text without case, marks and punctuation, as the search compares it."""
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    kept = (c if c.isalnum() else "" if unicodedata.combining(c) or c in "'’`" else " " for c in decomposed)
    return " ".join("".join(kept).split())


def is_tie(text, name, names):
    """Says whether more than four other names are as near to the text as that of the place."""
    distance = OSA.distance(folded(text), folded(name))
    near = process.extract(folded(text), names, scorer=OSA.distance, score_cutoff=distance, limit=30, processor=None)
    return sum(1 for _, _, index in near if index is not None) > 5


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generator", required=True)
    parser.add_argument("folder", type=pathlib.Path, help="airports.csv, navaids.ndjson and osm-places.geojson")
    parser.add_argument("--names", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misses", type=int, default=0, help="the number of misses to print")
    options = parser.parse_args()
    rows = [row for row in places(options.folder) if row[0].strip()]
    lines = "".join(
        "\t".join(" ".join(str(field).split()) for field in (*row[:3], *row[3])) + "\n" for row in rows)
    output = subprocess.run(
        [options.generator, "search-recall", "--names", str(options.names), "--seed", str(options.seed)],
        input=lines, capture_output=True, text=True, check=True).stdout
    results = [line.split("\t") for line in output.splitlines()]
    names = [folded(row[0]) for row in rows]
    failed = False
    for edits, (first_five_target, first_target) in TARGETS.items():
        texts = [result for result in results if int(result[0]) == edits]
        misses = [result for result in texts if result[2] == "0"]
        ties = [result for result in misses if is_tie(result[5], result[4], names)]
        first_five = 1 - len(misses) / len(texts)
        first = sum(result[3] == "1" for result in texts) / len(texts)
        others = len(misses) - len(ties)
        print(f"{edits} edits, {len(texts)} names: among the first five {first_five:.1%} (target {first_five_target:.0%}), "
              f"without ties {1 - others / len(texts):.1%}; first with bias {first:.1%}"
              + (f" (target {first_target:.0%})" if first_target else "")
              + f"; misses {len(misses)}, of which ties {len(ties)}")
        failed |= first_five < first_five_target or (first_target is not None and first < first_target)
        for result in [result for result in misses if result not in ties][:options.misses]:
            print("  miss:", " | ".join(result[2:]))
        for result in [result for result in texts if result[3] != "1"][:options.misses]:
            print("  not first with bias:", " | ".join(result[2:]))
    sys.exit(failed)


if __name__ == "__main__":
    main()
