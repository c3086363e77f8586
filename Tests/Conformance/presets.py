"""Compares the tree of categories with the presets of the editor iD."""

import collections
import json
import pathlib
import re
import subprocess
import unicodedata
import urllib.parse
from typing import NamedTuple
from xml.sax import saxutils

import yaml

import http_clients
from servers import Waymark

TREE = pathlib.Path(__file__).resolve().parents[2] / "Sources/Core/CBuiltInCategories/categories.yaml"
TARGET = 0.95
# Keys of OpenStreetMap that say what a point of interest is.
KEYS = set("""aerialway aeroway amenity attraction barrier club craft emergency healthcare highway historic leisure man_made
    military natural office power public_transport railway shop tourism waterway""".split())
# A name with no word of a category.
NAME = "Qzxvw"


class Preset(NamedTuple):
    tags: dict
    name: str
    terms: set


def normalized(term):
    plain = "".join(c for c in unicodedata.normalize("NFKD", term.casefold()) if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", plain))


def presets(folder):
    """Returns the presets of points and areas with one of the keys, whose values are no wildcards."""
    files = sorted((folder / "data" / "presets").rglob("*.json"))
    read = {path.relative_to(folder / "data" / "presets").with_suffix(""): json.loads(path.read_text()) for path in files}
    # A name in braces is that of another preset; that of a file may begin with "_".
    by_name = {str(path.with_name(path.name.removeprefix("_"))): preset for path, preset in read.items()}
    found = []
    for preset in read.values():
        tags = preset.get("tags", {})
        main = KEYS & tags.keys()
        if len(main) != 1 or "*" in tags.values() or not {"point", "area"} & set(preset["geometry"]):
            continue
        named = preset
        while (name := named.get("name", "")).startswith("{"):
            named = by_name[name.strip("{}")]
        terms = {normalized(term) for term in [name, *named.get("aliases", []), *named.get("terms", [])]}
        found.append(Preset(tags, name, terms))
    return found


class PresetServer(Waymark):
    """A server of named nodes with the tags of presets."""

    def __init__(self, program, found, folder):
        empty, self.file = folder / "empty.ndjson", folder / "presets.osm"
        empty.write_text("")
        with self.file.open("w") as output:
            output.write('<osm version="0.6">\n')
            for number, preset in enumerate(found, 1):
                output.write(f'<node id="{number}" version="1" lat="{number / 100:.2f}" lon="10">')
                for key, value in {"name": NAME, **preset.tags}.items():
                    output.write(f"<tag k={saxutils.quoteattr(key)} v={saxutils.quoteattr(value)}/>")
                output.write("</node>\n")
            output.write("</osm>\n")
        super().__init__(program, {"POINT_STORE": "memory", "DATA_FILE": str(empty)})

    def __enter__(self):
        super().__enter__()
        command = [self.program, "import", "--url", self.url, str(self.file)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return self

    def read(self, path):
        return http_clients.get(self.port, path)[0].decode()

    def categories(self):
        """Returns the categories of the nodes that became places, by the index of the preset."""
        places = map(json.loads, self.read("/locations/export?f=ndjson").splitlines())
        return {index(place): place.get("category") for place in places}

    def other_categories(self):
        """Returns the categories that are in no part of the tree."""
        return {node["category"] for node in json.loads(self.read("/categories?tree=true&lang=en")) if "label" not in node}

    def finds(self, text, number):
        query = urllib.parse.urlencode({"q": text, "fields": "sourceId", "limit": 1000})
        return number in map(index, json.loads(self.read(f"/locations?{query}")))


def index(place):
    return int(place["sourceId"].removeprefix("node/")) - 1


def check(program, checkout, folder):
    """Prints the shares of presets in the tree and with its terms, and returns whether enough are in the tree."""
    found = presets(checkout)
    tree = yaml.safe_load(TREE.read_text())["categories"]
    nodes = {name: node for node, content in tree.items() for name in [node, *content.get("also", [])]}
    missing, unnamed = [], collections.defaultdict(list)
    counts = collections.Counter()
    with PresetServer(program, found, folder) as server:
        categories, others = server.categories(), server.other_categories()
        for number, category in categories.items():
            preset = found[number]
            kind = "one tag" if len(preset.tags) == 1 else "further tags"
            counts[kind, "places"] += 1
            if category is None or category in others:
                missing.append(f"{preset.name} ({category})")
                continue
            counts[kind, "tree"] += 1
            is_found = server.finds(preset.name, number)
            counts[kind, "found"] += is_found
            ours = tree[nodes[category]]["names"]["en"]
            if {normalized(term) for term in ([ours] if isinstance(ours, str) else ours)} & preset.terms:
                counts[kind, "term"] += 1
            elif kind == "one tag":
                unnamed[nodes[category]].append(preset.name + ("" if is_found else "*"))
    print(f"{len(found):,} presets, of which {len(categories):,} become places")
    enough = True
    for kind in ("one tag", "further tags"):
        places, inside = counts[kind, "places"], counts[kind, "tree"]
        share = inside / places if places else 0
        enough = enough and share >= TARGET
        print(f"{kind}: {places:,} places, {inside:,} ({share:.2%}) with a category in the tree; of these {counts[kind, 'term']:,} "
              f"have a name or term that the tree has, {counts[kind, 'found']:,} are found by their name")
    print(f"in no part of the tree: {', '.join(missing) or 'none'}")
    print("with one tag, without a common term, by category of the tree; those with * are not found by their name:")
    for node, names in sorted(unnamed.items()):
        print(f"  {node}: {', '.join(sorted(names))}")
    return enough
