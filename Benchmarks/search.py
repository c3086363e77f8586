"""Benchmarks of searches by name: Waymark over HTTP, PostgreSQL with pg_trgm, and tantivy as a library."""

import argparse
import csv
import glob
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

AS_POSTGRES = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
KINDS = {
    "name": ("1 to 4 words of a name, biased", "≥ 5000"),
    "autocomplete": ("autocomplete at 3 letters", "≥ 8000"),
    "typo": ("a name with one edit, biased", ""),
    "box": ("a word in a box", ""),
}
WORST = ["a", "hotel", "x" * 200, "aaaaaaaa", "qzvx jqxy wvzk " * 13]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class SearchBench:
    """The measurements over one set of places and texts."""

    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.places = work / "places.csv"
        with open(self.places, "wb") as file:
            subprocess.run([options.generator, "places", "--named", str(options.places)], stdout=file, check=True)
        output = subprocess.run([options.generator, "texts", str(options.places), "--texts", "2000"], stdout=subprocess.PIPE, check=True)
        self.texts = {}
        for line in output.stdout.decode().splitlines():
            kind, text, latitude, longitude = line.split("\t")
            self.texts.setdefault(kind, []).append((text, float(latitude), float(longitude)))

    # --- Waymark

    def start_waymark(self):
        port = free_port()
        environment = {**os.environ, "POINT_STORE": "memory", "DATA_FILE": str(self.places), "HTTP_PORT": str(port), "LOG_LEVEL": "error"}
        start = time.monotonic()
        self.server = subprocess.Popen([self.options.waymark, "serve"], env=environment, stdout=subprocess.DEVNULL)
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=5).read()
                break
            except OSError:
                if time.monotonic() - start > 120 or self.server.poll() is not None:
                    raise SystemExit("the server did not become ready within 120 seconds") from None
                time.sleep(0.05)
        self.port = port
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
        command = [self.options.load, "-p", str(self.port), "-t", file, "-c", "16", "-s", str(self.options.seconds)]
        figures = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        if int(figures[4]) > 0:
            raise SystemExit(f"{figures[4]} responses to searches of the kind {kind} were errors")
        return [float(figure) for figure in figures[:4]]

    def worst(self):
        for text in WORST:
            path = self.target("autocomplete", text.strip()[:200], 0, 0).removeprefix("GET ")
            durations = []
            for _ in range(20):
                start = time.perf_counter()
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}").read()
                durations.append(time.perf_counter() - start)
            print(f"worst case, {text[:12]!r}: {1000 * statistics.median(durations):.1f} ms (target ≤ 30)")

    # --- PostgreSQL

    def start_postgres(self):
        self.pg = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.database = self.work / "database"
        self.database.mkdir()
        if AS_POSTGRES:
            shutil.chown(self.database, "postgres")
        port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "cwd": "/tmp"}
        initdb = [f"{self.pg}/initdb", "-D", self.database, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale", "C.UTF-8"]
        subprocess.run(AS_POSTGRES + initdb, **quiet)
        settings = (f"-p {port} -h 127.0.0.1 -k {self.database} -c shared_buffers=2GB -c max_wal_size=8GB -c fsync=off "
                    "-c maintenance_work_mem=1GB -c effective_cache_size=8GB -c random_page_cost=1.1")
        subprocess.run(AS_POSTGRES + [f"{self.pg}/pg_ctl", "-D", self.database, "-w", "-l", self.database / "log", "-o", settings, "start"], **quiet)
        self.sql("CREATE EXTENSION pg_trgm")
        self.sql("CREATE TABLE places (id bigserial, names text, category text, lat float8, long float8)")
        rows = self.work / "rows.csv"
        with open(self.places, newline="", encoding="utf-8") as source, open(rows, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            for row in csv.DictReader(source):
                names = f"{row['name']} {row['name:en']}".strip().lower()
                writer.writerow([names, row["category"], row["lat"], row["long"]])
        self.sql(f"\\copy places (names, category, lat, long) FROM '{rows}' CSV")
        for index in ["gin (names gin_trgm_ops)", "gist (names gist_trgm_ops(siglen=64))"]:
            start = time.monotonic()
            self.sql(f"CREATE INDEX ON places USING {index}")
            print(f"pg_trgm, {index.split()[0]}: built in {time.monotonic() - start:.0f} s")
        self.sql("VACUUM ANALYZE places")
        for kind, texts in self.texts.items():
            self.sql(f"CREATE TABLE {kind}_texts (id serial PRIMARY KEY, text text)")
            file = self.work / f"{kind}.texts"
            with open(file, "w", newline="", encoding="utf-8") as output:
                csv.writer(output).writerows([text.lower()] for text, _, _ in texts)
            self.sql(f"\\copy {kind}_texts (text) FROM '{file}' CSV")

    def sql(self, text):
        return subprocess.run(["psql", "-qtAX", "-v", "ON_ERROR_STOP=1", self.url, "-c", text], check=True, capture_output=True, text=True).stdout

    STATEMENTS = {
        "GIN %": "SELECT id, similarity(names, t.text) AS rank FROM places WHERE names % t.text ORDER BY rank DESC LIMIT 20",
        "GiST <->": "SELECT id, names <-> t.text AS rank FROM places ORDER BY names <-> t.text LIMIT 20",
        "GIN ILIKE": "SELECT id, 0 AS rank FROM places WHERE names ILIKE t.text || '%' LIMIT 10",
    }

    def pgbench(self, kind, statement):
        script = self.work / "script.sql"
        script.write_text(f"\\set n random(1, {len(self.texts[kind])})\n"
                          f"SELECT p.id FROM {kind}_texts t CROSS JOIN LATERAL ({self.STATEMENTS[statement]}) p WHERE t.id = :n;\n")
        command = [f"{self.pg}/pgbench", "-n", "-M", "prepared", "-c", "2", "-j", "1", "-T", str(self.options.seconds), "-f", script, self.url]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return next(float(line.split()[2]) for line in output.splitlines() if line.startswith("tps"))

    def stop_postgres(self):
        subprocess.run(AS_POSTGRES + [f"{self.pg}/pg_ctl", "-D", self.database, "-m", "immediate", "-w", "stop"], stdout=subprocess.DEVNULL, cwd="/tmp")

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
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        bench = SearchBench(options, pathlib.Path(folder))
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
            bench.stop_postgres()
            if hasattr(bench, "server"):
                bench.server.terminate()
                bench.server.wait()


if __name__ == "__main__":
    main()
