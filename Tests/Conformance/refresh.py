"""Imports a large OpenStreetMap file twice, with changes between, and checks what was written.

The second file has a hundredth of its places changed, gone or new; exactly these rows must be written. Prints the times
and the peak memory of the program, which may not be more than 1 GiB. Installs osmium-tool and PostgreSQL with PostGIS.

  scripts/conformance refresh                              # 10,000,000 nodes, 1,000,000 ways, 300,000 places
  scripts/conformance refresh --ways 20000 --places 6000
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

from servers import MIGRATIONS, Postgres, temporary_folder

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Benchmarks"))
from osm import generate  # noqa: E402

MAXIMUM_MIB = 1024


class Refresh:
    def __init__(self, waymark, postgres):
        self.waymark = waymark
        self.postgres = postgres
        self.environment = {
            **os.environ, "DATABASE_URL": postgres.url, "LOG_LEVEL": "warning",
            "MIGRATIONS_PATH": str(MIGRATIONS),
        }

    def run(self, *arguments):
        """Runs the program. Returns its last line, its seconds, and its peak memory in MiB."""
        process = subprocess.Popen([self.waymark, *arguments], stdout=subprocess.PIPE, text=True, env=self.environment)
        start = time.monotonic()
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"waymark {' '.join(arguments)} failed:\n{output}")
        return output, time.monotonic() - start, usage.ru_maxrss / 1024

    def version(self):
        return int(self.postgres.query("SELECT last_value FROM point_versions"))

    def import_file(self, file):
        """Imports the file in place of all places of OpenStreetMap. Returns the number of rows that were written."""
        before = self.version()
        output, seconds, memory = self.run("import", "--replace-source", "osm", str(file))
        summary = re.search(r"^[\d,]+ rows: .*$", output, re.MULTILINE)[0]
        print(f"{file.name}: {summary}; {seconds:.1f} s, {memory:.0f} MiB")
        if memory > MAXIMUM_MIB:
            sys.exit(f"the program took more than {MAXIMUM_MIB} MiB")
        written = int(self.postgres.query(f"SELECT count(*) FROM points WHERE version > {before}"))
        return summary, written


def number(word, summary):
    return int(re.search(rf"([\d,]+) {word}", summary)[1].replace(",", ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--ways", type=int, default=1_000_000, help="ways; there are ten nodes for each")
    parser.add_argument("--places", type=int, default=300_000)
    arguments = parser.parse_args()
    changes = arguments.places // 100
    gone = added = changes // 10
    with temporary_folder("waymark-refresh.") as folder:
        with Postgres(folder) as postgres:
            refresh = Refresh(arguments.waymark, postgres)
            refresh.run("migrate")
            first, second = folder / "first.osm.pbf", folder / "second.osm.pbf"
            generate(first, arguments.ways, arguments.places)
            generate(second, arguments.ways, arguments.places, changes=changes)
            summary, _ = refresh.import_file(first)
            created = number("created", summary)
            ids = "SELECT count(*) FROM points"
            before = int(postgres.query(ids))
            summary, written = refresh.import_file(second)
            expected = {
                "created": added, "updated": changes - gone - added, "unchanged": created - changes + added,
                "deleted": gone,
            }
            found = {word: number(word, summary) for word in expected}
            after = int(postgres.query(ids))
            if found != expected or written != changes - gone or after != before - gone + added:
                sys.exit(f"expected {expected}, {changes - gone} rows written; found {found}, {written} rows written, "
                         f"{after - before} more places")
            print(f"exactly the {changes} changed places were written")


if __name__ == "__main__":
    main()
