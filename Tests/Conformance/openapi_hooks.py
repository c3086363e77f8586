"""Hooks of schemathesis for scripts/conformance openapi: the rules between values that an OpenAPI document cannot state.

They change valid requests alone, those that the server is expected to accept; invalid ones are sent as they are.
"""

import base64
import json
import os
import re
import urllib.request
import uuid

import schemathesis

# Valid bodies of the formats that are no JSON, and of those whose rows any JSON may be.
BODIES = {
    "text/csv": ["source;sourceId;name;lat;long\ndemo;1;North;1,5;2\n", "source,sourceId,name,lat,long\ndemo,1,North,1,2\ndemo,2,South,-91,2\n"],
    "application/x-ndjson": ['{"name":"North","lat":1,"long":2}\n', '{"name":"South","lat":-91,"long":2}\n\n'],
    "application/geo+json-seq": [
        '\x1e{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"North"}}\n'],
    "application/geo+json": [{"type": "FeatureCollection", "features": [
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [2, 1]}, "properties": {"name": "North"}}]}],
}
SQUARE = {"type": "Polygon", "coordinates": [[[16.3, 48.1], [16.5, 48.1], [16.4, 48.3], [16.3, 48.1]]]}
AREA_BODIES = {
    "application/x-ndjson": ['{"name":"Wien","geometry":' + json.dumps(SQUARE) + "}\n"],
    "application/geo+json-seq": [
        "\x1e" + json.dumps({"type": "Feature", "geometry": SQUARE, "properties": {"name": "Wien"}}) + "\n"],
    "application/geo+json": [{"type": "FeatureCollection", "features": [
        {"type": "Feature", "geometry": SQUARE, "properties": {"name": "Wien", "kind": "city"}}]}],
}
ENTITY_TAGS = re.compile(r'\*|(W/)?"[^"]*"([ \t]*,[ \t]*(W/)?"[^"]*")*')


@schemathesis.serializer("text/csv", "application/x-ndjson", "application/geo+json-seq")
def serialize_text(context, value):
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(str(value), "utf-8")


def correct_position(query):
    """A position has both coordinates, and a radius has a position."""
    longitude = "lon" if "lon" in query else "long"
    if ("lat" in query) != (longitude in query):
        query.pop("lat", None)
        query.pop(longitude, None)
    if "lat" not in query:
        query.pop("radius", None)


def correct_ids(query):
    """Named places have an order of their own."""
    if "ids" in query:
        for name in ("lat", "long", "lon", "radius", "route", "q", "autocomplete", "sort"):
            query.pop(name, None)


def correct_operations(body):
    """An operation of a batch has the members of its kind."""
    members = {"create": {"place"}, "replace": {"id", "place", "ifMatch", "ifNoneMatch"},
               "patch": {"id", "patch", "ifMatch"}, "delete": {"id", "ifMatch"}}
    for operation in body.get("operations") or []:
        for name in set(operation) - members[operation["op"]] - {"op"}:
            operation.pop(name)
        if operation["op"] != "create":
            operation.setdefault("id", str(uuid.uuid4()))
        if operation["op"] in ("create", "replace"):
            operation["place"] = {"name": "Kiosk", "lat": 1, "long": 2}
        if operation["op"] == "patch":
            operation.setdefault("patch", {"category": "kiosk"})
        if "ifMatch" in operation:
            operation["ifMatch"] = "7"
        operation.pop("ifMatch" if "ifNoneMatch" in operation else "ifNoneMatch", None)


def correct_radius(query):
    """A position of conditions has a radius."""
    if "lat" in query and "radius" not in query:
        query["radius"] = 500


def correct_box(query):
    """South is at most north, and both are latitudes."""
    box = query.get("bbox")
    if isinstance(box, str):
        box = [float(edge) for edge in box.split(",")]
    if isinstance(box, list) and len(box) == 4:
        south, north = sorted(max(-90, min(90, float(box[index]))) for index in (1, 3))
        query["bbox"] = [box[0], south, box[2], north] if isinstance(query["bbox"], list) else \
            f"{box[0]},{south},{box[2]},{north}"


def correct_search(query, path):
    """A text has a word; an order and a text being typed have a text, and a filter is one of its language."""
    text = query.get("q")
    if text is not None and not re.search("[A-Za-z0-9]", str(text)):
        query["q"] = "museum"
    if text is None:
        query.pop("autocomplete", None)
        query.pop("sort", None)
        fields = query.get("fields")
        if path == "/locations" and any(name in str(fields) for name in ("label", "score", "match")):
            query.pop("fields")
    if query.get("sort") == "distance" and "lat" not in query:
        query.pop("sort")
    if "filter" in query:
        language = query.get("filter-lang")
        query["filter"] = '{"op": "=", "args": [{"property": "category"}, "cafe"]}' if language == "cql2-json" \
            else "category = 'cafe'"
    else:
        query.pop("filter-lang", None)


def correct_features(query):
    """The first coordinates of a box are the least in each order of the axes, and times exist."""
    box = query.get("bbox")
    if box is not None and "bbox-crs" in query:
        box = [float(edge) for edge in box.split(",")] if isinstance(box, str) else box
        if len(box) == 4:
            query["bbox"] = ",".join(str(edge) for edge in (
                min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3])))
    if "datetime" in query:
        query["datetime"] = "2026-01-01T00:00:00Z/.."
    for name in ("createdAt", "updatedAt"):
        if name in query:
            query[name] = "2026-01-01T00:00:00Z"


def correct_shapes(query):
    """A shape is one, an area exists, a route is given instead of a position, and has a radius."""
    query.pop("in", None)
    if "within" in query:
        query["within"] = "POLYGON((16.3 48.1, 16.5 48.1, 16.4 48.3, 16.3 48.1))"
    if "route" in query:
        query["route"] = "LINESTRING(16.3 48.1, 16.5 48.2)"
        for name in ("lat", "long", "lon"):
            query.pop(name, None)
        query["radius"] = 500
        if query.get("sort") == "distance":
            query.pop("sort")


def correct_combinations(query, path):
    """Some parameters need others, or exclude them."""
    if path == "/categories" and "lang" in query:
        query["tree"] = "true"
    if path == "/changes":
        query.pop("wait", None)
        correct_radius(query)
    if "open" in query:
        query["open"] = "now"
    else:
        query.pop("openUnknown", None)
    if path.startswith("/locations/") and query.get("view") == "details":
        query.pop("f", None)
    if path == "/api" and not any(name in query for name in ("q", "include", "exclude")):
        query["q"] = "museum"
    if path == "/nominatim/search":
        # A text, or the parts of an address.
        for name in ("street", "city", "county", "state", "country", "postalcode", "amenity"):
            query.pop(name, None)
        query.setdefault("q", "museum")
        if "viewbox" in query:
            query["viewbox"] = "-122.5,37.7,-121.8,37.2"
    if path == "/structured":
        # Each part has a letter or a digit.
        for name in ("housenumber", "street", "district", "postcode", "county", "state"):
            if name in query:
                query[name] = "A 1"
        query["city"] = "San Jose"


def correct_conditions(body, query):
    """The body of a search has the rules of a query, and nothing that the query has."""
    for name in query:
        body.pop(name, None)
    correct_position(body)
    correct_box(body)
    correct_search(body, "/locations")
    correct_shapes(body)
    if "filter" in body:
        body.pop("filter-lang", None)
        body["filter"] = {"op": "=", "args": [{"property": "category"}, "cafe"]}
    if "source" not in body:
        body.pop("sourceId", None)
    for name in list(body):
        if name in ("cursor", "lang", "fields", "category") or name not in (
                "lat", "long", "radius", "bbox", "limit", "source", "sourceId", "filter", "within", "route", "q", "sort",
                "autocomplete", "f"):
            body.pop(name)


def correct_import(query):
    """Texts about a data set need its name, and a replacement needs rows of its source."""
    query.pop("replaceSource", None)
    query.pop("maxDeletions", None)
    query.pop("idField", None)
    query.pop("nameField", None)
    if "source" not in query:
        for name in ("licence", "attribution", "attributionUrl"):
            query.pop(name, None)
    if query.get("unknownFields") == "reject":
        query.pop("unknownFields")
    if query.get("mode") == "atomic":
        query.pop("mode")


def correct_body(body, method, path):
    """A source and an id in it are given both or neither; an id is that of the path; a latitude and a ring are ones."""
    if not isinstance(body, dict):
        return
    fields = body.get("properties", body)
    geometry = body.get("geometry")
    position = geometry.get("coordinates") if isinstance(geometry, dict) else None
    if path.startswith("/areas"):
        if geometry is not None:
            body["geometry"] = SQUARE
    elif position:
        position[1] = max(-90, min(90, position[1]))
    if body.get("type") == "Feature":
        # RFC 7946 leaves other members to applications; GeoJSON 2008 had this one.
        body.pop("crs", None)
    body.pop("id", None)
    if not isinstance(fields, dict):
        return
    if path.startswith("/areas"):
        fields.pop("id", None)
        fields.pop("names", None)
    # The pair is unique: a fixed one would be that of another place.
    if method == "PATCH" or not (str(fields.get("source") or "").strip() and str(fields.get("sourceId") or "").strip()):
        fields.pop("source", None)
        fields.pop("sourceId", None)


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if case.path == "/structured" and not case.query:
        case.query = {"city": "San Jose"}
    if case.path == "/api" and not case.query:
        case.query = {"q": "museum"}
    query = case.query
    if query:
        correct_ids(query)
        correct_position(query)
        correct_box(query)
        correct_search(query, case.path)
        if case.path.startswith("/ogc/"):
            correct_features(query)
        correct_shapes(query)
        correct_combinations(query, case.path)
        if "source" not in query:
            query.pop("sourceId", None)
        # A cursor comes from a response, and a period depends on now.
        for name in ("cursor", "since", "until"):
            query.pop(name, None)
    if case.path.endswith("/replay"):
        case.query = {"since": os.environ["CHANGES_POSITION"]}
    if case.path.startswith("/duplicates/"):
        # The ids of a pair are in their order.
        case.path_parameters["pair"] = ".".join(sorted(str(uuid.uuid4()) for _ in range(2)))
    if case.path in ("/locations/import", "/areas/import"):
        correct_import(query or {})
        bodies = (BODIES if case.path == "/locations/import" else AREA_BODIES).get(case.media_type)
        if bodies:
            case.body = bodies[len(str(case.body)) % len(bodies)]
    elif case.path == "/mcp":
        # The methods of the protocol, and the fields that must agree with them, are not part of the document.
        case.body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
        case.headers = {name: value for name, value in (case.headers or {}).items() if not name.lower().startswith("mcp-")}
    elif case.path == "/locations/batch" and isinstance(case.body, dict):
        correct_operations(case.body)
    elif case.path == "/locations/search" and isinstance(case.body, dict):
        correct_conditions(case.body, query or {})
    else:
        correct_body(case.body, case.method, case.path)
    if case.path.endswith("/suggestions") and isinstance(case.body, dict):
        correct_body(case.body.get("draft"), "POST", "/locations")
        if isinstance(case.body.get("patch"), dict):
            correct_body(case.body["patch"], "PATCH", "/locations/{id}")
            # A patch changes something.
            case.body["patch"]["name"] = f"Suggested {uuid.uuid4()}"
    if case.path.startswith("/webhooks") and isinstance(case.body, dict):
        # The receiver's name must be known; nothing listens there.
        if "url" in case.body:
            case.body["url"] = "https://127.0.0.1:9/waymark"
        if "secret" in case.body:
            case.body["secret"] = "whsec_" + base64.b64encode(bytes(32)).decode()
        if isinstance(case.body.get("filter"), dict):
            correct_conditions(case.body["filter"], {})
            correct_radius(case.body["filter"])
    if case.headers:
        # A position comes from a response, and a key stands for one request.
        case.headers.pop("Waymark-Min-Position", None)
        if "Idempotency-Key" in case.headers:
            case.headers["Idempotency-Key"] = base64.b32encode(uuid.uuid4().bytes).decode().rstrip("=")
        # The positions of generated bodies are in degrees, longitude first.
        case.headers.pop("Content-Crs", None)
        # Values that responses gave to other fields are tried in this one too.
        if not ENTITY_TAGS.fullmatch(case.headers.get("If-Match", "*")):
            case.headers.pop("If-Match")
        if case.method != "GET" and case.headers.get("If-None-Match", "*") != "*":
            case.headers.pop("If-None-Match")


@schemathesis.hook
def after_call(context, case, response):
    """Rejects a suggestion that was made: a sender may have a hundred open ones, and this check makes more."""
    if case.method.upper() != "POST" or not case.path.endswith("/suggestions") or response.status_code != 201:
        return
    sent = response.request
    server = sent.url.split(case.path.split("/")[1], 1)[0]
    request = urllib.request.Request(
        f"{server}suggestions/{response.json()['id']}/reject", data=b"{}", method="POST",
        headers={"Authorization": sent.headers["Authorization"], "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as rejected:
        rejected.read()
