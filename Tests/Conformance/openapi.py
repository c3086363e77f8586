"""Checks the OpenAPI documents of a server, on each store, with three programs that read them.

openapi-spec-validator validates both versions, openapi-python-client generates clients, not of too many files, that
create, find and delete a place, and schemathesis sends generated requests, valid and invalid, to every call and compares
each response with the document, with all of its checks. Installs PostgreSQL with PostGIS, and these programs from PyPI.

  scripts/conformance openapi                                  # up to 100 cases of each call on both stores
  scripts/conformance openapi --cases 1000 --store memory
  scripts/conformance openapi --cases 0                        # without schemathesis
"""

import json
import os
import pathlib
import subprocess
import sys
import urllib.request

from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

from http_clients import get
from servers import argument_parser, deployment, exit_after_each_store

FOLDER = pathlib.Path(__file__).resolve().parent
PROGRAMS = pathlib.Path(sys.executable).parent
DOCUMENTS = {"/openapi.json": OpenAPIV31SpecValidator, "/openapi-3.0.json": OpenAPIV30SpecValidator}

# 304, 409 and 412 depend on the state of the places, as 404 does. Invalid values may make a target or a body too long.
CONFIGURATION = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "304", "401", "403", "404", "409", "412"]

[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "412", "413", "414", "415", "422", "428", "429", "5xx"]
"""

# The files of a generated client for each call: its own, and those of the types, which several calls share.
MAXIMUM_FILES = 2.8

# Calls of a generated client: it creates a place, finds it by position, id, category and box, and deletes it.
CLIENT = """
import sys
from waymark_client import AuthenticatedClient
from waymark_client.api.maps import get_facets
from waymark_client.api.ogc_api_features import get_items
from waymark_client.api.search import get_location, list_locations, search_locations
from waymark_client.api.write import create_location, delete_location
from waymark_client.models import ListLocationsFieldsItem, PlaceDraft, Search

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
draft = PlaceDraft.from_dict({"name": "Here", "lat": 1.0, "long": 2.0, "category": "cafe", "tags": {"a": "b"}})

def expect(found, wanted):
    if found != wanted:
        sys.exit(f"found {found!r}, expected {wanted!r}")

created = create_location.sync_detailed(client=client, body=draft)
expect(created.status_code, 201)
place = created.parsed
expect((place.name, place.lat, place.long, place.tags.to_dict()), ("Here", 1.0, 2.0, {"a": "b"}))
nearest = list_locations.sync(client=client, lat=1.0, long=2.0, limit=3)
expect((nearest[0].id, nearest[0].distance), (place.id, 0))
expect(get_location.sync(place.id, client=client).to_dict(), place.to_dict())
items = get_items.sync("places", client=client, category="cafe")
expect([feature.id for feature in items.features], [place.id])
box = [1.5, 0.5, 2.5, 1.5]
fields = [ListLocationsFieldsItem.ID, ListLocationsFieldsItem.NAME]
listed = list_locations.sync(client=client, bbox=box, fields=fields, lang=["ko", "en"])
expect([found.to_dict() for found in listed], [{"id": str(place.id), "name": "Here"}])
searched = search_locations.sync(client=client, body=Search.from_dict({"bbox": box, "lang": ["ko", "en"]}))
expect([found.id for found in searched], [place.id])
items = get_items.sync("places", client=client, bbox=box)
expect([feature.id for feature in items.features], [place.id])
expect(get_facets.sync(client=client, by=["category", "tag.a"], bbox=box).count, 1)
expect(delete_location.sync_detailed(place.id, client=client).status_code, 204)
missing = get_location.sync_detailed(place.id, client=client)
expect((missing.status_code, missing.parsed.code), (404, "not-found"))
print("created, found and deleted a place")
"""


def validate_documents(port, folder):
    for path, validator in DOCUMENTS.items():
        document = json.loads(get(port, path)[0])
        validator(document).validate()
        (folder / path[1:]).write_text(json.dumps(document))
        calls = sum(len(methods) for methods in document["paths"].values())
        print(f"{path}: valid OpenAPI {document['openapi']}, {calls} calls", flush=True)


def generate_client(port, folder):
    """Generates a client in Python from each document, and creates, finds and deletes a place with it."""
    key = (folder / "authorization").read_text().removeprefix("Bearer ")
    for path in DOCUMENTS:
        client = folder / f"client{path.replace('/', '-')}"
        result = subprocess.run(
            [PROGRAMS / "openapi-python-client", "generate", "--path", folder / path[1:], "--output-path", client,
             "--meta", "none", "--overwrite", "--config", folder / "client.json"],
            capture_output=True, text=True)
        problems = [line for line in (result.stdout + result.stderr).splitlines() if "WARNING" in line or "ERROR" in line]
        if result.returncode != 0:
            sys.exit(f"openapi-python-client failed:\n{result.stdout}{result.stderr}")
        files = sum(path.is_file() for path in client.rglob("*.py"))
        calls = sum(path.is_file() for path in (client / "api").rglob("[a-z]*.py"))
        print(f"the client generated from {path} has {files} files for {calls} calls")
        if files > MAXIMUM_FILES * calls:
            sys.exit(f"that is more than {MAXIMUM_FILES} a call")
        package = folder / f"packages{path.replace('/', '-')}"
        package.mkdir()
        client.rename(package / "waymark_client")
        found = subprocess.run(
            [sys.executable, "-c", CLIENT, f"http://127.0.0.1:{port}", key], env=os.environ | {"PYTHONPATH": str(package)},
            capture_output=True, text=True)
        if found.returncode != 0:
            sys.exit(f"the client generated from {path} failed:\n{found.stdout}{found.stderr}")
        print(f"{path}: the generated client of {files} files {found.stdout.strip()}; {len(problems)} warnings", flush=True)


def run_schemathesis(port, folder, store, options):
    (folder / "schemathesis.toml").write_text(CONFIGURATION)
    command = [
        PROGRAMS / "schemathesis", "--config-file", folder / "schemathesis.toml", "run",
        f"http://127.0.0.1:{port}/{options.document}", "--url", f"http://127.0.0.1:{port}",
        "-H", f"Authorization: {(folder / 'authorization').read_text()}", "--max-examples", str(options.cases),
        "--seed", str(options.seed), "--continue-on-failure", "--checks", "all", "--generation-database", "none",
        "--suppress-health-check", "all", "--output-sanitize", "true", "--no-color", "--warnings", "off"]
    # A call that this store does not have, 501.
    if store == "postgres":
        command += ["--exclude-operation-id", "backUp"]
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/changes", headers={"Authorization": (folder / "authorization").read_text()})
    with urllib.request.urlopen(request) as response:
        position = json.load(response)["position"]
    environment = os.environ | {
        "SCHEMATHESIS_HOOKS": "openapi_hooks", "PYTHONPATH": str(FOLDER), "CHANGES_POSITION": position}
    return subprocess.run(command, env=environment, cwd=folder).returncode == 0


def check(store, options):
    print(f"Store {store}, seed {options.seed}", flush=True)
    with deployment(options.waymark, store, "waymark-openapi-") as (folder, server, _):
        created = subprocess.run(
            [options.waymark, "keys", "create", "check", "--scope", "admin"], env=server.environment, check=True,
            capture_output=True, text=True)
        (folder / "keys.txt").write_text(created.stdout)
        key = next(word for word in created.stderr.split() if word.startswith("wm_"))
        (folder / "authorization").write_text(f"Bearer {key}")
        (folder / "client.json").write_text(json.dumps({"post_hooks": []}))
        server.environment["API_KEYS_FILE"] = str(folder / "keys.txt")
        server.environment["WEBHOOK_ALLOWED_NETWORKS"] = "127.0.0.0/8"
        server.start()
        server.wait_until_ready()
        validate_documents(server.port, folder)
        generate_client(server.port, folder)
        return options.cases == 0 or run_schemathesis(server.port, folder, store, options)


def main():
    parser = argument_parser(__doc__)
    parser.add_argument("--cases", type=int, default=100, help="maximum number of generated cases of each call, or 0")
    parser.add_argument("--document", default="openapi.json", help="the document for schemathesis")
    exit_after_each_store(check, parser.parse_args())


main()
