"""Compares generated CQL2 filters with the parser cql2, and the rows they select with PostGIS.

The encoding in JSON must be that of cql2 from PyPI. Installs PostgreSQL with PostGIS, and cql2.

  scripts/conformance filters                            # 10,000 filters, about a minute
  scripts/conformance filters --filters 500 --seed 4
"""

import argparse
import json
import random
import subprocess
import sys

import cql2

from servers import Postgres, temporary_folder

NAMES = ["Café", "cafe", "CAFÉ", "Straße", "STRASSE", "Bar", "bar", "b_r", "100%", "Århus", "Zürich", "", "it's", "東京"]
KINDS = ["cafe", "museum", "bar", "Park", None]
LABELS = ["a", "b", "c", "d"]
QUERYABLES = {
    "id": "integer", "name": "string", "kind": "string", "population": "integer", "height": "number", "open": "boolean",
    "built": "date", "starts": "timestamp", "ends": "timestamp", "labels": "string-array", "geometry": "geometry",
}
ROWS = 400


def day(random):
    return f"20{random.randint(18, 22)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"


def moment(random):
    fraction = random.choice(["", ".5", ".123456"])
    return f"{day(random)}T{random.randint(0, 23):02}:{random.randint(0, 59):02}:{random.randint(0, 59):02}{fraction}Z"


def make_rows(random):
    def maybe(value):
        return None if random.random() < 0.15 else value

    rows = []
    for number in range(ROWS):
        first, last = sorted([moment(random), moment(random)])
        rows.append({
            "id": number, "name": random.choice(NAMES), "kind": random.choice(KINDS),
            "population": maybe(random.randint(-5, 5) * 10), "height": maybe(random.randint(-20, 20) / 4),
            "open": maybe(random.random() < 0.5), "built": maybe(day(random)), "starts": maybe(first), "ends": maybe(last),
            "labels": maybe(random.sample(LABELS, random.randint(0, 3))),
            "geometry": (random.randint(-8, 8) / 2, random.randint(-8, 8) / 2),
        })
    return rows


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def sql_string(text):
    return "(" + quoted(text) + ' COLLATE "C")'


class Generator:
    """A generator of pairs of a filter and the SQL with the same meaning; the SQL is None where there is none."""

    def __init__(self, random):
        self.random = random

    def pick(self, *choices):
        return self.random.choice(choices)()

    def case(self, word):
        return self.random.choice([word, word.lower(), word.capitalize()])

    def property(self, name, type=""):
        text = self.random.choice([name, f'"{name}"']) if name not in ("open",) else f'"{name}"'
        return text, f'"{name}"{type}'

    # Values

    def number(self, depth=2):
        value = self.random.choice([str(self.random.randint(-60, 60)), str(self.random.randint(-40, 40) / 8), "1e1", "2.50"])
        choices = [lambda: (value, f"({value})::float8"), lambda: self.property("population", "::float8"),
                   lambda: self.property("height", "::float8")]
        if depth > 0:
            choices.append(lambda: self.arithmetic(depth - 1))
        return self.pick(*choices)

    def arithmetic(self, depth):
        (left, left_sql), (right, right_sql) = self.number(depth), self.number(depth)
        operator = self.random.choice(["+", "-", "*", "/", "%", "div", "^"])
        if operator == "^":
            right, right_sql = "2", "2"
        text = f"({left}) {self.case(operator)} ({right})"
        nonzero = f"NULLIF({right_sql}, 0)"
        sql = {
            "/": f"({left_sql} / {nonzero})", "div": f"trunc({left_sql} / {nonzero})",
            "%": f"mod(exact({left_sql}), exact({nonzero}))::float8", "^": f"power({left_sql}, 2)",
        }.get(operator, f"({left_sql} {operator} {right_sql})")
        return f"({text})", sql

    def string(self, depth=1):
        value = self.random.choice(NAMES)
        choices = [lambda: (quoted(value), sql_string(value)), lambda: self.property("name", ' COLLATE "C"'),
                   lambda: self.property("kind", ' COLLATE "C"')]
        if depth > 0:
            choices.append(lambda: self.folded(depth - 1))
        return self.pick(*choices)

    def folded(self, depth):
        text, sql = self.string(depth)
        if self.random.random() < 0.3:
            return f"{self.case('ACCENTI')}({text})", None
        # lower() does not fold the sharp s.
        return f"{self.case('CASEI')}({text})", sql and f"""(replace(lower({sql} COLLATE "und-x-icu"), 'ß', 'ss') COLLATE "C")"""

    def date(self):
        value = day(self.random)
        return self.pick(lambda: (f"{self.case('DATE')}('{value}')", f"DATE '{value}'"), lambda: self.property("built"))

    def time(self):
        value = moment(self.random)
        return self.pick(lambda: (f"{self.case('TIMESTAMP')}('{value}')", f"TIMESTAMPTZ '{value}'"),
                         lambda: self.property(self.random.choice(["starts", "ends"])))

    def boolean(self):
        value = self.random.choice(["TRUE", "FALSE"])
        return self.pick(lambda: (self.case(value), value), lambda: self.property("open"))

    # Geometries

    def coordinate(self):
        return self.random.choice([str(self.random.randint(-4, 4)), str(self.random.randint(-8, 8) / 2)])

    def position(self):
        return f"{self.coordinate()} {self.coordinate()}"

    def line(self):
        while True:
            positions = [self.position() for _ in range(self.random.randint(2, 5))]
            if all(first != second for first, second in zip(positions, positions[1:])):
                return "(" + ", ".join(positions) + ")"

    def ring(self, x, y, size):
        return f"({x} {y}, {x + size} {y}, {x + size} {y + size}, {x} {y + size}, {x} {y})"

    def polygon(self):
        """Returns the rings of a square with a hole or none, or a triangle; all are valid."""
        x, y = self.random.randint(-4, 2), self.random.randint(-4, 2)
        if self.random.random() < 0.4:
            (a, b), (c, d) = self.random.sample([(1, 2), (2, -1), (-1, 2), (3, 1), (0.5, 3)], 2)
            return f"(({x} {y}, {x + a} {y + b}, {x + c} {y + d}, {x} {y}))" if a * d != b * c else self.polygon()
        size = self.random.choice([1, 2, 3, 4])
        hole = f", {self.ring(x + 0.5, y + 0.5, size / 2 - 0.25 if size > 1 else 0.25)}" if self.random.random() < 0.4 else ""
        return f"({self.ring(x, y, size)}{hole})"

    def geometry(self):
        """Returns a literal."""
        def box():
            west, east = sorted(self.random.sample(range(-5, 6), 2))
            south, north = sorted(self.random.sample(range(-5, 6), 2))
            return (f"{self.case('BBOX')}({west},{south},{east},{north})",
                    f"ST_MakeEnvelope({west}, {south}, {east}, {north})")

        def wkt(tag, content):
            return f"{self.case(tag)}{content}", f"ST_GeomFromText('{tag}{content}')"

        def squares():
            x, y = self.random.randint(-5, 0), self.random.randint(-5, 0)
            return f"(({self.ring(x, y, 1)}), ({self.ring(x + 2, y + self.random.randint(-1, 2), 2)}))"

        return self.pick(
            box, lambda: wkt("POINT", f"({self.position()})"), lambda: wkt("LINESTRING", self.line()),
            lambda: wkt("POLYGON", self.polygon()), lambda: wkt("POLYGON", self.polygon()),
            lambda: wkt("MULTIPOINT", f"(({self.position()}), ({self.position()}))"),
            lambda: wkt("MULTILINESTRING", f"({self.line()}, {self.line()})"), lambda: wkt("MULTIPOLYGON", squares()))

    def spatial(self):
        name = self.random.choice(["Intersects", "Equals", "Disjoint", "Touches", "Within", "Overlaps", "Crosses", "Contains"])
        left, right = self.property("geometry"), self.geometry()
        if self.random.random() < 0.3:
            left, right = right, left
        return f"{self.case('S_' + name.upper())}({left[0]}, {right[0]})", f"ST_{name}({left[1]}, {right[1]})"

    # Times

    def interval(self):
        def literal():
            first, last = sorted([moment(self.random), moment(self.random)])
            first_sql, last_sql = f"TIMESTAMPTZ '{first}'", f"TIMESTAMPTZ '{last}'"
            if self.random.random() < 0.2:
                first, first_sql = "..", "TIMESTAMPTZ '-infinity'"
            elif self.random.random() < 0.2:
                last, last_sql = "..", "TIMESTAMPTZ 'infinity'"
            return f"INTERVAL('{first}', '{last}')", (first_sql, last_sql)

        return self.pick(literal, lambda: (f"{self.case('INTERVAL')}(starts, \"ends\")", ('"starts"', '"ends"')))

    def temporal(self):
        simple = {
            "AFTER": "{0} > {3}", "BEFORE": "{1} < {2}", "DISJOINT": "({0} > {3} OR {1} < {2})",
            "EQUALS": "({0} = {2} AND {1} = {3})", "INTERSECTS": "NOT ({0} > {3} OR {1} < {2})",
        }
        relations = simple | {
            "CONTAINS": "({0} < {2} AND {1} > {3})", "DURING": "({0} > {2} AND {1} < {3})",
            "FINISHEDBY": "({0} < {2} AND {1} = {3})", "FINISHES": "({0} > {2} AND {1} = {3})", "MEETS": "{1} = {2}",
            "METBY": "{0} = {3}", "OVERLAPPEDBY": "({0} > {2} AND {0} < {3} AND {1} > {3})",
            "OVERLAPS": "({0} < {2} AND {1} > {2} AND {1} < {3})", "STARTEDBY": "({0} = {2} AND {1} > {3})",
            "STARTS": "({0} = {2} AND {1} < {3})",
        }
        name = self.random.choice(list(relations))
        operands = []
        for _ in range(2):
            if name in simple and self.random.random() < 0.5:
                text, sql = self.time()
                operands.append((text, (sql, sql)))
            else:
                operands.append(self.interval())
        (left, left_sql), (right, right_sql) = operands
        columns = [*left_sql, *right_sql]
        known = " AND ".join(f"{column} IS NOT NULL" for column in columns)
        return f"{self.case('T_' + name)}({left}, {right})", f"(CASE WHEN {known} THEN {relations[name].format(*columns)} END)"

    # Predicates

    def comparison(self):
        operator = self.random.choice(["=", "<>", "<", ">", "<=", ">="])
        rule = self.random.choice([self.number, self.string, self.date, self.time, self.boolean])
        (left, left_sql), (right, right_sql) = rule(), rule()
        space = self.random.choice(["", " ", "\n  "])
        sql = f"({left_sql} {operator} {right_sql})" if left_sql and right_sql else None
        return f"{left}{space}{operator}{space}{right}", sql

    def like(self):
        text, sql = self.string()
        pattern = self.random.choice(["%", "_%", "b_r", "B%", "%é", "C%", "%\\%", "b\\_r", "%a%", "", "__r", "%s%s%"])
        return self.negated(text, "LIKE", quoted(pattern), sql and f"({sql} LIKE {quoted(pattern)})")

    def negated(self, left, word, right, sql):
        if self.random.random() < 0.3:
            return f"{left} {self.case('NOT')} {self.case(word)} {right}", sql and f"(NOT {sql})"
        return f"{left} {self.case(word)} {right}", sql

    def between(self):
        (value, value_sql), (least, least_sql), (most, most_sql) = self.number(), self.number(1), self.number(1)
        known = f"{value_sql} IS NOT NULL AND {least_sql} IS NOT NULL AND {most_sql} IS NOT NULL"
        sql = f"(CASE WHEN {known} THEN {value_sql} BETWEEN {least_sql} AND {most_sql} END)"
        return self.negated(value, "BETWEEN", f"{least} {self.case('AND')} {most}", sql)

    def membership(self):
        rule = self.random.choice([self.number, self.string, self.date, self.time])
        value, value_sql = rule()
        elements = [rule() for _ in range(self.random.randint(1, 4))]
        sql = None
        if value_sql and all(element[1] for element in elements):
            sql = f"({value_sql} IN ({', '.join(element[1] for element in elements)}))"
        return self.negated(value, "IN", f"({', '.join(element[0] for element in elements)})", sql)

    def null(self):
        name = self.random.choice(["name", "kind", "population", "height", "built", "starts", "labels", "geometry"])
        text, sql = self.property(name)
        if self.random.random() < 0.5:
            return f"{text} {self.case('IS')} {self.case('NOT')} {self.case('NULL')}", f"({sql} IS NOT NULL)"
        return f"{text} {self.case('IS')} {self.case('NULL')}", f"({sql} IS NULL)"

    def array(self):
        def literal():
            elements = self.random.sample(LABELS, self.random.randint(1, 3))
            return "(" + ", ".join(map(quoted, elements)) + ")", f"ARRAY[{', '.join(map(quoted, elements))}]::text[]"

        name = self.random.choice(["CONTAINS", "CONTAINEDBY", "EQUALS", "OVERLAPS"])
        (left, left_sql), (right, right_sql) = self.property("labels"), literal()
        if self.random.random() < 0.3:
            left, left_sql, right, right_sql = right, right_sql, left, left_sql
        contains, contained = f"{left_sql} @> {right_sql}", f"{left_sql} <@ {right_sql}"
        sql = {"CONTAINS": contains, "CONTAINEDBY": contained, "EQUALS": f"({contains} AND {contained})",
               "OVERLAPS": f"{left_sql} && {right_sql}"}[name]
        return f"{self.case('A_' + name)}({left}, {right})", f"({sql})"

    def predicate(self, depth=3):
        if depth > 0 and self.random.random() < 0.55:
            kind = self.random.choice(["AND", "OR", "NOT"])
            if kind == "NOT":
                text, sql = self.predicate(depth - 1)
                return f"{self.case('NOT')} ({text})", sql and f"(NOT {sql})"
            parts = [self.predicate(depth - 1) for _ in range(self.random.randint(2, 3))]
            sql = "(" + f" {kind} ".join(part[1] for part in parts) + ")" if all(part[1] for part in parts) else None
            return f" {self.case(kind)} ".join(f"({part[0]})" for part in parts), sql
        return self.pick(self.comparison, self.like, self.between, self.membership, self.null, self.spatial, self.temporal,
                         self.array)


# The decimal number that a binary one is, since a cast to numeric rounds to 15 digits.
EXACT = """
CREATE FUNCTION exact(value float8) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN value = 0 THEN 0 ELSE
    sign(value)::numeric * mantissa * CASE WHEN exponent >= 0 THEN power(2::numeric, exponent)
      ELSE power(5::numeric, -exponent) * ('1e' || exponent)::numeric END END
  FROM (
    SELECT (bits & 4503599627370495) + CASE WHEN bits >> 52 & 2047 = 0 THEN 0 ELSE 4503599627370496 END AS mantissa,
      greatest((bits >> 52 & 2047)::int, 1) - 1075 AS exponent
    FROM (SELECT ('x' || encode(float8send(value), 'hex'))::bit(64)::bigint AS bits) AS representation
  ) AS parts
$$"""


def load(server, rows):
    server.query(
        "CREATE EXTENSION postgis",
        EXACT,
        'CREATE TABLE places (id int, name text, kind text, population int, height float8, open boolean, built date,'
        ' starts timestamptz, ends timestamptz, labels text[], geometry geometry)')
    values = []
    for row in rows:
        columns = []
        for name in QUERYABLES:
            value = row[name]
            if value is None:
                columns.append("NULL")
            elif name == "geometry":
                columns.append(f"ST_MakePoint({value[0]}, {value[1]})")
            elif name == "labels":
                columns.append(f"ARRAY[{', '.join(map(quoted, value))}]::text[]")
            elif isinstance(value, str):
                columns.append(quoted(value))
            else:
                columns.append(str(value))
        values.append(f"({', '.join(columns)})")
    server.query("SET TIME ZONE 'UTC'", f"INSERT INTO places VALUES {', '.join(values)}")


def selected_by_database(server, conditions):
    """Returns the ids of the rows of each condition."""
    statements = ["SET TIME ZONE 'UTC';\n"]
    statements += [f"SELECT coalesce(json_agg(id ORDER BY id), '[]') FROM places WHERE {sql};\n" for sql in conditions]
    run = subprocess.run(["psql", "-qtAX", "-v", "ON_ERROR_STOP=1", server.url], input="".join(statements), text=True,
                         capture_output=True)
    if run.returncode != 0:
        sys.exit(f"PostgreSQL cannot evaluate a condition: {run.stderr[:2000]}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def collection(rows):
    features = []
    for row in rows:
        properties = {name: value for name, value in row.items() if name != "geometry"}
        geometry = {"type": "Point", "coordinates": row["geometry"]}
        features.append({"type": "Feature", "id": row["id"], "properties": properties, "geometry": geometry})
    return {"type": "FeatureCollection", "queryables": QUERYABLES, "features": features}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cql2-filters", required=True)
    parser.add_argument("--filters", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generator = Generator(random.Random(arguments.seed))
    rows = make_rows(random.Random(arguments.seed))
    filters = [generator.predicate() for _ in range(arguments.filters)]
    differences = []

    with temporary_folder("waymark-filters.") as folder:
        (folder / "places.json").write_text(json.dumps(collection(rows)))
        lines = "".join(json.dumps(text) + "\n" for text, _ in filters)
        run = subprocess.run([arguments.cql2_filters, str(folder / "places.json")], input=lines, text=True,
                             capture_output=True, check=True)
        ours = [json.loads(line) for line in run.stdout.splitlines()]
        assert len(ours) == len(filters)

        for (text, _), our in zip(filters, ours):
            theirs = cql2.parse_text(text).to_json()
            if our.get("json") != theirs:
                differences.append(f"JSON of {text}\n  ours:   {json.dumps(our)}\n  theirs: {json.dumps(theirs)}")
            elif cql2.parse_text(our["text"]).to_json() != theirs:
                differences.append(f"text of {text}\n  ours:   {our['text']}")
        print(f"{len(filters):,} filters parsed by both, {len(differences)} differ")

        with Postgres(folder) as server:
            load(server, rows)
            evaluated = [(text, sql, our) for (text, sql), our in zip(filters, ours) if sql]
            wrong, empty = 0, 0
            for (text, sql, our), ids in zip(evaluated, selected_by_database(server, [sql for _, sql, _ in evaluated])):
                empty += ids in ([], list(range(ROWS)))
                if our.get("ids") != ids:
                    wrong += 1
                    found = our.get("ids")
                    detail = our.get("error") or f"only ours {sorted(set(found) - set(ids))[:5]}, only PostGIS's " \
                        f"{sorted(set(ids) - set(found))[:5]}"
                    differences.append(f"rows of {text}\n  {sql}\n  {detail}")
            print(f"{len(evaluated):,} filters evaluated by both, {wrong} differ; {empty:,} select all rows or none")

    for difference in differences[:10]:
        print(difference)
    sys.exit(1 if differences else 0)


main()
