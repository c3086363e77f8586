"""Imports of a data set of whose places some were edited, compared with imports of the same rows without edits.
scripts/bench edits runs this.

Two servers of each store have the same places, and one of them edits. In each round each server imports the same file, in
which the data set has changed the name of every tenth place; the order of the servers alternates. Times are those of the
processors, of the server and its database, which depend little on other work of the machine.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import statistics
import sys

import http_clients
from measure import say
from servers import children, deployment, processor_seconds

SOURCE = "register"
SEED = 7
BATCH = 1000


def rows(count, round_number):
    """Returns the file of a round."""
    numbers = random.Random(SEED)
    lines = ["name,category,lat,long,source,sourceId,phone,website"]
    for number in range(count):
        version = f" {round_number}" if number % 10 == round_number % 10 else ""
        lat, long = numbers.uniform(-60, 60), numbers.uniform(-180, 180)
        lines.append(
            f"Place {number}{version},cafe,{lat:.6f},{long:.6f},{SOURCE},{number},+1 555 {number:07},"
            f"https://example.org/{number}")
    return "\n".join(lines).encode() + b"\n"


class Imports:
    """The imports into one server."""

    def __init__(self, server, database):
        self.server, self.database = server, database
        server.start()
        server.wait_until_ready()

    def processor_seconds(self):
        total = processor_seconds(self.server.process.pid)
        if self.database:
            postmaster = int((self.database.data / "postmaster.pid").read_text().split()[0])
            # Of processes that have ended, the parent knows the time.
            total += children_seconds(postmaster) + sum(processor_seconds(child) for child in children(postmaster))
        return total

    def load(self, file):
        """Imports a file, and returns the report."""
        client = http_clients.Client(self.server.port, timeout=600)
        status, _, body = client.send(
            "POST", f"/locations/import?replaceSource={SOURCE}", file, Content_Type="text/csv")
        if status != 200:
            sys.exit(f"import: {status}: {body[:300]!r}")
        return json.loads(body)

    def timed(self, file):
        """Returns the processor time of an import, and the report."""
        start = self.processor_seconds()
        report = self.load(file)
        return self.processor_seconds() - start, report

    def edit(self, count):
        """Edits the telephone numbers of a number of places."""
        client = http_clients.Client(self.server.port, timeout=600)
        ids, target = [], f"/locations?source={SOURCE}&limit={BATCH}&fields=id"
        while len(ids) < count:
            status, fields, body = client.send("GET", target)
            if status != 200:
                sys.exit(f"{target}: {status}: {body[:300]!r}")
            ids += [place["id"] for place in json.loads(body)]
            target = fields["link"].split(";")[0].strip("<>")
        for start in range(0, count, BATCH):
            operations = [
                {"op": "patch", "id": place, "patch": {"tags": {"phone": "+1 555 0100"}}}
                for place in ids[start:min(start + BATCH, count)]]
            status, _, body = client.send("POST", "/locations/batch", {"operations": operations})
            results = json.loads(body).get("results", []) if status == 200 else []
            if len(results) != len(operations) or any(result["status"] != 200 for result in results):
                sys.exit(f"batch: {status}: {body[:300]!r}")


def children_seconds(pid):
    """Returns the processor time of the children of a process that have ended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench edits", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waymark", required=True, help="path of the program")
    parser.add_argument("--stores", nargs="+", choices=["memory", "postgres"], default=["memory", "postgres"])
    parser.add_argument("--places", type=int, default=100_000)
    parser.add_argument("--edits", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    print("| store | without edits | with edits | speed with edits |")
    print("| --- | ---: | ---: | ---: |")
    for store in options.stores:
        with contextlib.ExitStack() as stack:
            imports = []
            for _ in range(2):
                _, server, database = stack.enter_context(deployment(options.waymark, store, "waymark-edits."))
                imports.append(Imports(server, database))
            say(f"{store}: loading {options.places:,} places twice")
            for each in imports:
                each.load(rows(options.places, 0))
            imports[1].edit(options.edits)
            times = ([], [])
            for number in range(1, options.rounds + 1):
                file = rows(options.places, number)
                for index in ((0, 1), (1, 0))[number % 2]:
                    seconds, report = imports[index].timed(file)
                    kept = report.get("keptEdits", 0)
                    if kept != (options.edits if index else 0):
                        sys.exit(f"{kept} places kept edits")
                    times[index].append(seconds)
            without, with_edits = (statistics.median(part) for part in times)
            ratio = statistics.median(left / right for left, right in zip(*times))
            print(f"| {store} | {without:.2f} s | {with_edits:.2f} s | {ratio:.3f} |", flush=True)


if __name__ == "__main__":
    main()
