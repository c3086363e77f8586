"""Benchmarks of searches by name: Waymark over HTTP, PostgreSQL with pg_trgm, and tantivy as a library."""

import argparse
import csv
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time
import urllib.parse
import uuid

from programs import READ_SETTINGS, Database, Server, load

KINDS = {
    "name": ("1 to 4 words of a name, biased", "≥ 5000"),
    "autocomplete": ("autocomplete at 3 letters", "≥ 8000"),
    "typo": ("a name with one edit, biased", ""),
    "box": ("a word in a box", ""),
}
WORST = ["a", "hotel", "x" * 200, "aaaaaaaa", "qzvx jqxy wvzk " * 13]


class SearchBench:
    """The measurements over one set of places and texts."""

    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.places = work / "places.csv"
        with open(self.places, "wb") as file:
            subprocess.run([options.generator, "places", "--content", "names", str(options.places)], stdout=file, check=True)
        output = subprocess.run([options.generator, "texts", str(options.places), "--texts", "2000"], stdout=subprocess.PIPE, check=True)
        self.texts = {}
        for line in output.stdout.decode().splitlines():
            kind, text, latitude, longitude = line.split("\t")
            self.texts.setdefault(kind, []).append((text, float(latitude), float(longitude)))

    # --- Waymark

    def start_waymark(self):
        start = time.monotonic()
        self.server = Server(self.options.waymark, POINT_STORE="memory", DATA_FILE=str(self.places))
        print(f"Waymark is ready after {time.monotonic() - start:.1f} s")

    def target(self, kind, text, latitude, longitude):
        query = {"q": text}
        if kind == "box":
            query["bbox"] = f"{max(-180, longitude - 0.1)},{max(-90, latitude - 0.1)},{min(180, longitude + 0.1)},{min(90, latitude + 0.1)}"
        elif kind == "autocomplete":
            query |= {"autocomplete": "true", "limit": "10"}
        else:
            query |= {"lat": latitude, "long": longitude}
        return f"GET /locations?{urllib.parse.urlencode(query)}"

    def load(self, kind):
        file = self.work / f"{kind}.targets"
        file.write_text("".join(self.target(kind, *text) + "\n" for text in self.texts[kind]))
        return load(self.options.load, self.server.port, file, self.options.seconds)

    def worst(self):
        for words in ["0", "60"]:
            subprocess.run(
                [self.options.generator, "worst-text", str(self.options.places), "--words", words, "--seconds", "60", "--at-most", "30"],
                check=True)
        for text in WORST:
            path = self.target("autocomplete", text.strip()[:200], 0, 0).removeprefix("GET ")
            durations = []
            for _ in range(20):
                start = time.perf_counter()
                self.server.get(path)
                durations.append(time.perf_counter() - start)
            print(f"worst case, {text[:12]!r}: {1000 * statistics.median(durations):.1f} ms (target ≤ 30)")

    # --- Another build

    def compare_builds(self):
        """Compares the time until a build is ready, and its rate of changes of places, with those of another build."""
        with open(self.places, newline="", encoding="utf-8") as file:
            rows = random.Random(2).sample(list(csv.DictReader(file)), 5000)
        targets = self.work / "writes.targets"

        def write_targets(round):
            """Writes requests of which each changes its place: others would write nothing."""
            targets.write_text("".join(
                f"PUT /locations/{uuid.UUID(int=number + 1)} "
                + json.dumps({
                    "name": row["name"], "lat": float(row["lat"]), "long": float(row["long"]), "category": row["category"],
                    "tags": {"turn": f"{round}, {turn}"}}) + "\n"
                for turn in range(2) for number, row in enumerate(rows)))

        servers = {}
        try:
            for name, program in {"this build": self.options.waymark, "the former": self.options.former}.items():
                start = time.monotonic()
                servers[name] = Server(program, POINT_STORE="memory", DATA_FILE=str(self.places))
                print(f"{name} is ready after {time.monotonic() - start:.1f} s")
            rates = {name: [] for name in servers}
            # The first round creates the places, the others replace them.
            for round in range(1 + self.options.rounds):
                write_targets(round)
                for name, server in servers.items():
                    rates[name].append(load(self.options.load, server.port, targets, self.options.seconds)[0])
        finally:
            for server in servers.values():
                server.stop()
        own, former = (statistics.median(values[1:]) for values in rates.values())
        print(f"writes: {own:,.0f}/s, {former:,.0f}/s by the former build: {own / former:.2f} (target ≥ 0.8)")

    # --- PostgreSQL

    def start_postgres(self):
        self.database = Database(self.work, *READ_SETTINGS)
        self.database.sql("CREATE EXTENSION pg_trgm")
        self.database.sql("CREATE TABLE places (id bigserial, names text, category text, lat float8, long float8)")
        rows = self.work / "rows.csv"
        with open(self.places, newline="", encoding="utf-8") as source, open(rows, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            for row in csv.DictReader(source):
                names = f"{row['name']} {row['name:en']}".strip().lower()
                writer.writerow([names, row["category"], row["lat"], row["long"]])
        self.database.sql(f"\\copy places (names, category, lat, long) FROM '{rows}' CSV")
        for index in ["gin (names gin_trgm_ops)", "gist (names gist_trgm_ops(siglen=64))"]:
            start = time.monotonic()
            self.database.sql(f"CREATE INDEX ON places USING {index}")
            print(f"pg_trgm, {index.split()[0]}: built in {time.monotonic() - start:.0f} s")
        self.database.sql("VACUUM ANALYZE places")
        for kind, texts in self.texts.items():
            self.database.sql(f"CREATE TABLE {kind}_texts (id serial PRIMARY KEY, text text)")
            file = self.work / f"{kind}.texts"
            with open(file, "w", newline="", encoding="utf-8") as output:
                csv.writer(output).writerows([text.lower()] for text, _, _ in texts)
            self.database.sql(f"\\copy {kind}_texts (text) FROM '{file}' CSV")

    STATEMENTS = {
        "GIN %": "SELECT id, similarity(names, t.text) AS rank FROM places WHERE names % t.text ORDER BY rank DESC LIMIT 20",
        "GiST <->": "SELECT id, names <-> t.text AS rank FROM places ORDER BY names <-> t.text LIMIT 20",
        "GIN ILIKE": "SELECT id, 0 AS rank FROM places WHERE names ILIKE t.text || '%' LIMIT 10",
    }

    def pgbench(self, kind, statement):
        return self.database.pgbench(
            [f"\\set n random(1, {len(self.texts[kind])})\n"
             f"SELECT p.id FROM {kind}_texts t CROSS JOIN LATERAL ({self.STATEMENTS[statement]}) p WHERE t.id = :n"],
            self.options.seconds)

    # --- tantivy

    def start_tantivy(self):
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_text_field("names", stored=False)
        builder.add_integer_field("id", stored=True)
        index = tantivy.Index(builder.build())
        start = time.monotonic()
        writer = index.writer(heap_size=500_000_000, num_threads=2)
        with open(self.places, newline="", encoding="utf-8") as source:
            for number, row in enumerate(csv.DictReader(source)):
                writer.add_document(tantivy.Document(names=f"{row['name']} {row['name:en']}", id=number))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        print(f"tantivy: built in {time.monotonic() - start:.0f} s")
        self.tantivy = (tantivy, index, index.searcher())

    def tantivy_rate(self, kind):
        tantivy, index, searcher = self.tantivy
        schema = index.schema
        queries = []
        for text, _, _ in self.texts[kind]:
            words = [word for word in "".join(c if c.isalnum() else " " for c in text.lower()).split() if word]
            if kind == "autocomplete":
                parts = [tantivy.Query.regex_query(schema, "names", word + ".*") for word in words]
            elif kind == "typo":
                parts = [tantivy.Query.fuzzy_term_query(schema, "names", word, distance=1 if len(word) > 3 else 0) for word in words]
            else:
                parts = [tantivy.Query.term_query(schema, "names", word) for word in words]
            if parts:
                queries.append(tantivy.Query.boolean_query([(tantivy.Occur.Must, part) for part in parts]))
        start = time.perf_counter()
        count = 0
        while time.perf_counter() - start < self.options.seconds:
            searcher.search(queries[count % len(queries)], 20)
            count += 1
        return count / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--places", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--former", help="only compare starts and writes with this build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        bench = SearchBench(options, pathlib.Path(folder))
        if options.former:
            bench.compare_builds()
            return
        bench.start_postgres()
        try:
            bench.start_tantivy()
            bench.start_waymark()
            results = {}
            for _ in range(options.rounds):
                for kind in KINDS:
                    results.setdefault((kind, "waymark"), []).append(bench.load(kind))
                for kind, statement in [("name", "GIN %"), ("name", "GiST <->"), ("typo", "GIN %"), ("typo", "GiST <->"), ("autocomplete", "GIN ILIKE")]:
                    results.setdefault((kind, f"pg_trgm {statement}"), []).append([bench.pgbench(kind, statement)])
                for kind in ["name", "typo", "autocomplete"]:
                    results.setdefault((kind, "tantivy, one thread, no HTTP"), []).append([bench.tantivy_rate(kind)])
            print("| text | program | rate | p50 | p99 | Waymark's ratio | target |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |")
            for (kind, program), rounds in results.items():
                medians = [statistics.median(column) for column in zip(*rounds)]
                own = statistics.median(round[0] for round in results[kind, "waymark"])
                latencies = [f"{figure:,.0f}" for figure in medians[1:3]] or ["", ""]
                ratio = "" if program == "waymark" else f"{own / medians[0]:.1f}"
                target = KINDS[kind][1] if program == "waymark" else "≥ 20" if "trgm" in program else ""
                print(f"| {KINDS[kind][0]} | {program} | {medians[0]:,.0f} | {latencies[0]} | {latencies[1]} | {ratio} | {target} |")
            bench.worst()
        finally:
            bench.database.stop()
            if hasattr(bench, "server"):
                bench.server.stop()


if __name__ == "__main__":
    main()
