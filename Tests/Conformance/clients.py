"""Runs the examples of docs/clients.md against a server, and generates the client in Python that it describes.

The examples in JavaScript, Python, Kotlin and Java must print what the page shows, from a server with the sample. Those
whose program (node, kotlinc, java) is not installed are skipped with a line that says so. openapi-spec-validator validates
/openapi.json, and the commands of the page generate a client, with which the page's example runs.

  scripts/conformance clients
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from openapi_spec_validator import OpenAPIV31SpecValidator

from http_clients import get
from servers import Waymark, argument_parser, temporary_folder

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "clients.md"
PROGRAMS = pathlib.Path(sys.executable).parent

# The heading of each example, the language of its block, its file, and the command that runs it.
EXAMPLES = [
    ("JavaScript and TypeScript", "js", "museums.mjs", "node museums.mjs"),
    ("Python", "python", "museums.py", "python3 museums.py"),
    ("Kotlin", "kotlin", "museums.kt", "kotlinc museums.kt -include-runtime -d museums.jar && java -jar museums.jar"),
    ("Java", "java", "Museums.java", "java Museums.java"),
    ("Writing", "js", "write.mjs", "node write.mjs"),
]


def sections():
    """Returns the sections of the page by their headings; the text before the first one has the empty heading."""
    parts = re.split(r"^## (.+)\n", PAGE.read_text(), flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2]))


def block(section, language):
    """Returns the first block of a language in a section."""
    found = re.search(rf"^```{language}\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit(f"docs/clients.md lacks a block of {language or 'text'}")
    return found[1]


def run(command, folder):
    # Java on Debian 12 prints in the encoding of the locale.
    environment = os.environ | {"LC_ALL": "C.UTF-8", "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
    result = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        sys.exit(f"{command} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def names_and_distances(output):
    """Returns the lines of an example, which prints either a place on each line or a page in JSON."""
    lines = []
    for line in output.splitlines():
        places = json.loads(line) if line.startswith("[") else None
        lines += [line] if places is None else [f"{place['name']} {place['distance']}" for place in places]
    return lines


def run_examples(server, folder, page, expected):
    for heading, language, file, command in EXAMPLES:
        program = command.split()[0]
        if not shutil.which(program):
            print(f"{heading}: skipped, because there is no {program}", flush=True)
            continue
        (folder / file).write_text(block(page[heading], language).replace("http://127.0.0.1:8080", server.url))
        found = names_and_distances(run(command, folder))
        if found != ([] if heading == "Writing" else expected):
            sys.exit(f"the example of {heading} printed {found}")
        print(f"{heading}: ok", flush=True)


def generate_client(server, folder, section, expected):
    document = json.loads(get(server.port, "/openapi.json")[0])
    OpenAPIV31SpecValidator(document).validate()
    for command in re.findall(r"^\$ (.+)$", block(section, "console"), flags=re.MULTILINE):
        run(command.replace("http://127.0.0.1:8080", server.url), folder)
    client = folder / "waymark-client"
    (client / "example.py").write_text(block(section, "python").replace("http://127.0.0.1:8080", server.url))
    found = names_and_distances(run("python example.py", client))
    if found != expected:
        sys.exit(f"the example of the generated client printed {found}")
    print(f"Generated clients: valid OpenAPI {document['openapi']}, and a client in Python", flush=True)


def main():
    options = argument_parser(__doc__, stores=False, seed=False).parse_args()
    page = sections()
    expected = block(page[""], "").splitlines()
    with temporary_folder("waymark-clients-") as folder:
        with Waymark(options.waymark, {"POINT_STORE": "memory"}) as server:
            run_examples(server, folder, page, expected)
            generate_client(server, folder, page["Generated clients"], expected)


main()
