"""Times the reader of OpenStreetMap files and `osmium tags-filter` on a large generated extract, in alternation."""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import time

import osmium

# The filters of OSMTagFilter.places.
FILTERS = """nwr/name nwr/amenity nwr/shop nwr/tourism nwr/leisure nwr/historic nwr/office nwr/craft nwr/healthcare
nwr/public_transport nwr/place nwr/emergency nwr/railway=station,halt,tram_stop,subway_entrance
nwr/aeroway=aerodrome,heliport,helipad,terminal,gate nwr/highway=bus_stop,rest_area,services
nwr/natural=peak,volcano,spring,beach,cave_entrance,hot_spring,geyser
nwr/man_made=lighthouse,tower,windmill,watermill,observatory,obelisk""".split()

NODES_OF_A_WAY = 10
AMENITIES = ["cafe", "bank", "school", "pharmacy", "restaurant", "fuel", "library", "post_office"]


def generate(path, ways, places, seed=17, changes=0):
    """Writes an extract whose nodes all belong to ways. Of the places two thirds are nodes, the others ways and
    multipolygons of two ways.

    With `changes`, so many of its places differ from those of the extract without them: eight tenths have other opening
    hours, one tenth is missing, and one tenth is new.
    """
    random.seed(seed)
    header = osmium.io.Header()
    header.set("generator", "waymark-bench")
    path.unlink(missing_ok=True)
    writer = osmium.SimpleWriter(str(path), 1 << 22, header)
    Node, Way, Relation = osmium.osm.mutable.Node, osmium.osm.mutable.Way, osmium.osm.mutable.Relation
    place_nodes = places * 2 // 3
    relations = places // 60
    place_ways = places - place_nodes - relations
    count = ways * NODES_OF_A_WAY
    tagged = set(random.sample(range(count), place_nodes))
    choice = random.Random(seed + 1)
    changed = choice.sample(sorted(tagged), changes - changes // 10)
    tagged -= set(changed[:changes // 10])
    other_hours = set(changed[changes // 10:])
    while len(tagged) < place_nodes:
        number = choice.randrange(count)
        if number not in changed:
            tagged.add(number)

    def tags(number, is_node=False):
        kind = AMENITIES[number % len(AMENITIES)]
        return {"amenity": kind, "name": f"{kind} {number}", "addr:street": f"Street {number % 5000}",
                "addr:housenumber": str(number % 200), "opening_hours": "24/7" if is_node and number in other_hours else "Mo-Fr 08:00-18:00"}

    for number in range(count):
        way, corner = divmod(number, NODES_OF_A_WAY)
        row, column = divmod(way, 1000)
        # A way is half a circle of nodes, with noise so that the coordinates compress as real ones do.
        x = (corner % 5) * 0.0001 + random.random() * 0.00005
        y = (0.0004 if corner >= 5 else 0) + random.random() * 0.00005
        x = 0.0004 - x if corner >= 5 else x
        node_tags = tags(number, is_node=True) if number in tagged else {"highway": "crossing"} if number % 50 == 0 else {}
        writer.add_node(Node(id=number + 1, version=1 + number % 3, timestamp="2026-01-01T00:00:00Z",
                             changeset=1 + number // 1000, location=(5 + column * 0.001 + x, 45 + row * 0.001 + y),
                             tags=node_tags))
    for way in range(ways):
        first = way * NODES_OF_A_WAY + 1
        refs = list(range(first, first + NODES_OF_A_WAY))
        if way < place_ways:
            writer.add_way(Way(id=way + 1, version=2, timestamp="2026-01-01T00:00:00Z", changeset=7,
                               nodes=refs + [first], tags={**tags(way), "building": "yes"}))
        elif way < place_ways + 2 * relations:
            # Two ways of a ring: the second goes back from the end of the first.
            pair = (way - place_ways) % 2
            start = first - pair * NODES_OF_A_WAY
            ring = list(range(start, start + NODES_OF_A_WAY))
            writer.add_way(Way(id=way + 1, version=2, timestamp="2026-01-01T00:00:00Z", changeset=7,
                               nodes=ring[:6] if pair == 0 else ring[5:] + [start], tags={}))
        else:
            way_tags = {"highway": "residential", "surface": "asphalt"} if way % 2 else {"building": "yes"}
            writer.add_way(Way(id=way + 1, version=2, timestamp="2026-01-01T00:00:00Z", changeset=7, nodes=refs,
                               tags=way_tags))
    for relation in range(relations):
        first = place_ways + 2 * relation + 1
        writer.add_relation(Relation(id=relation + 1, version=1, timestamp="2026-01-01T00:00:00Z", changeset=7,
                                     members=[("w", first, "outer"), ("w", first + 1, "outer")],
                                     tags={**tags(relation), "type": "multipolygon"}))
    writer.close()


def run(*command):
    """Runs a command, and returns its seconds and the peak memory in MiB."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    start = time.monotonic()
    message = process.stderr.read().decode().strip()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    if status != 0:
        sys.exit(f"{command[0]}: {message}")
    return seconds, usage.ru_maxrss / 1024, message


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--osm-places", required=True, help="the program that prints what the reader yields")
    parser.add_argument("--folder", default=".build/osm-bench", type=pathlib.Path)
    parser.add_argument("--ways", type=int, default=1_000_000, help="ways; there are ten nodes for each")
    parser.add_argument("--places", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    file = arguments.folder / f"{arguments.ways}-{arguments.places}.osm.pbf"
    if not file.exists():
        partial = file.with_name("partial.osm.pbf")
        generate(partial, arguments.ways, arguments.places)
        partial.rename(file)
    filtered = arguments.folder / "filtered.osm.pbf"
    tool = ["osmium", "tags-filter", "-O", "--no-progress", "-o"]
    programs = {
        "Waymark's reader": [arguments.osm_places, str(file)],
        "osmium tags-filter": [*tool, str(filtered), str(file), *FILTERS],
        "osmium tags-filter -R": [*tool, str(filtered), "-R", str(file), *FILTERS],
    }
    results = {name: [] for name in programs}
    for _ in range(arguments.rounds):
        for name, command in programs.items():
            results[name].append(run(*command))
    print(f"{file.stat().st_size / 1e6:.0f} MB, {arguments.ways * NODES_OF_A_WAY:,} nodes, {arguments.ways:,} ways, "
          f"{arguments.places:,} places; {os.cpu_count()} processors; median of {arguments.rounds} runs")
    print(results["Waymark's reader"][0][2])
    print("| program | seconds | ratio | peak memory, MiB |\n| --- | ---: | ---: | ---: |")

    def median(name):
        return sorted(seconds for seconds, _, _ in results[name])[arguments.rounds // 2]

    for name in programs:
        ratio = median("Waymark's reader") / median(name)
        print(f"| {name} | {median(name):.2f} | {ratio:.2f} | {max(memory for _, memory, _ in results[name]):.0f} |")
    ratio = median("Waymark's reader") / median("osmium tags-filter")
    memory = max(memory for _, memory, _ in results["Waymark's reader"])
    if ratio > 2 or memory > 1024:
        sys.exit("over the limit: at most 2 times the time of osmium tags-filter, and 1024 MiB")


if __name__ == "__main__":
    main()
