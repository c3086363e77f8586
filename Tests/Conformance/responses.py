"""Sends several hundred varied requests to two builds, and compares the complete responses.

On each store: status, header fields and body, with times, versions and generated ids masked. For changes that must keep
the HTTP behaviour. Installs PostgreSQL with PostGIS.

  scripts/conformance responses --before /path/waymark                   # compare with this release build
  scripts/conformance responses --before /path/waymark --ignore-details  # ignore the wording of problems
"""

import argparse
import difflib
import gzip
import itertools
import json
import os
import random
import re
import socket
import sys

from servers import deployment

PLACES = 400
CATEGORIES = ["cafe", "bar", "museum", "natural:peak", "a,b", None]
NAMES = ["Café", "Bär & Co", 'The "Quoted" Inn', "東京駅", "Ünïcode ✓", "Plain", "back\\slash", "comma, semi;"]


def place_id(number):
    """Returns the id of a place, which is the same for both builds."""
    return f"0199a1b2-0000-7000-8000-{number:012x}"


def places():
    """Yields places around the world, at the poles and at the antimeridian, the same in each run."""
    generator = random.Random(1)
    for number in range(PLACES):
        lat, long = [(generator.uniform(-90, 90), generator.uniform(-180, 180)), (37.33, -121.89), (90, 0), (0, 180)][
            0 if number % 10 else number // 10 % 4]
        place = {"id": place_id(number), "name": f"{NAMES[number % 8]} {number}", "lat": lat, "long": long}
        if CATEGORIES[number % 6]:
            place["category"] = CATEGORIES[number % 6]
        if number % 3 == 0:
            place["tags"] = {"website": f"https://example.org/{number}", "note": "é\n\"x\""}
        if number % 4 == 0:
            place |= {"source": "test", "sourceId": f"node/{number}"}
        yield place


def request(method, target, headers=(), body=b"", version="HTTP/1.1"):
    """Returns the bytes of a request."""
    if isinstance(body, str):
        body = body.encode()
    head = [f"{method} {target} {version}", "Host: localhost", "Connection: close", *headers]
    if body:
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def reads():
    """Yields requests that do not change places."""
    centers = ["lat=37.3293&long=-121.8893", "lat=90&long=0", "lat=0&lon=179.9999", "lat=-12.5&lng=33"]
    filters = ["", "&radius=1500", "&radius=2000000", "&category=cafe", "&category=cafe%2Cbar", "&category=a%2Cb",
               "&limit=3", "&limit=1000", "&fields=name,lat", "&fields=*", "&bbox=-130,-60,140,60", "&bbox=170,-90,-170,90"]
    for center, condition in itertools.product(centers, filters):
        yield request("GET", f"/locations?{center}{condition}")
    formats = ["json", "geojson", "geojsonseq", "csv"]
    for format, rest in itertools.product(formats, ["limit=5", "limit=5&lat=1&long=2", "limit=4&fields=*", "category=none"]):
        yield request("GET", f"/locations?f={format}&{rest}")
    accepts = ["application/json", "application/geo+json", "text/csv;q=0.5, application/geo+json-seq", "*/*", "image/png",
               "text/*", "application/json;q=0", ""]
    for accept in accepts:
        yield request("GET", "/locations?limit=2", [f"Accept: {accept}"])
        yield request("GET", f"/locations/{place_id(3)}", [f"Accept: {accept}"])
    invalid = ["lat=north&long=1", "lat=1", "long=1", "lat=91&long=0", "lat=1&long=181", "radius=5", "lat=1&lat=2&long=3",
             "lat=1&long=2&radius=-1", "lat=1&long=2&radius=x", "limit=0", "limit=1001", "limit=ten", "bbox=1,2,3",
             "bbox=0,10,1,5", "bbox=a,b,c,d", "cursor=nonsense", "fields=what", "f=xml", "what=1", "lat=%zz&long=1",
             "category=", "lat=1&long=2&lon=3", "limit=5&limit=6", "lat=NaN&long=1", "lat=1e400&long=0", "%ff=1"]
    for query in invalid:
        yield request("GET", f"/locations?{query}")
    for target in ["/", "/health/live", "/health/ready", "/categories", "/locations/check?lat=37.33&long=-121.89",
                   "/locations/check?lat=10&long=10&radius=1", "/locations/check", "/nothing", "/locations/",
                   "/locations/no-uuid", f"/locations/{place_id(9999)}", "/locations/%2e%2e", "/searches", "/docs",
                   "//locations", "/LOCATIONS", "/locations?", "/%6cocations?limit=1"]:
        for method in ["GET", "HEAD", "OPTIONS"]:
            yield request(method, target)
    for method in ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "get"]:
        yield request(method, "/categories")
        yield request(method, "/health/live")
    for number in range(0, 24, 3):
        yield request("GET", f"/locations/{place_id(number)}")
        yield request("GET", f"/locations/{place_id(number)}?fields=name,version")
        yield request("GET", f"/locations/{place_id(number)}", ["Accept: application/geo+json"])
    for format, coding in itertools.product(formats + ["ndjson", "xml"], ["identity", "gzip"]):
        yield request("GET", f"/locations/export?f={format}", [f"Accept-Encoding: {coding}"])
    yield request("GET", "/locations/export?category=cafe&f=ndjson")
    yield request("GET", "/locations/export?limit=1")
    yield request("GET", "/locations?limit=100", ["Accept-Encoding: gzip"])
    yield request("GET", "/locations?limit=100", ["Accept-Encoding: br;q=1, gzip;q=0"])
    for headers in [["Origin: https://app.example.org"], ["X-Request-Id: a-1"], ["X-Request-Id: not allowed!"],
                    ["If-None-Match: *"], ['If-None-Match: "nothing"'], ["Expect: wonders"],
                    ["Authorization: Bearer wrong"], ["X-API-Key: wrong"], ["Range: bytes=0-1"],
                    ["traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]]:
        yield request("GET", "/locations?limit=1", headers)
    yield request("OPTIONS", "/locations", ["Origin: https://a.example", "Access-Control-Request-Method: POST"])
    yield request("OPTIONS", "*")
    yield request("GET", "/locations?limit=1", version="HTTP/1.0")
    yield request("GET", "/locations?limit=1", version="HTTP/2.5")
    yield b"nonsense\r\n\r\n"
    yield b"GET /locations HTTP/1.1\r\n\r\n"
    yield request("GET", "/locations?category=" + "a" * 9000)
    yield request("GET", "/", ["X-Long: " + "a" * 20000])


def writes():
    """Yields requests that change places, in order."""
    json_type = ["Content-Type: application/json"]
    valid = {"name": "New", "lat": 1.25, "long": 2.5, "category": "cafe", "tags": {"b": "2", "a": "1"}}
    yield request("POST", "/locations", json_type, json.dumps(valid))
    bodies = ["", "{", "[]", "null", "{}", '{"name":"x"}', '{"name":"","lat":0,"long":0}', '{"name":"x","lat":"1","long":2}',
              '{"name":"x","lat":91,"long":2}', '{"name":"x","lat":1,"long":2,"what":3}', '{"name":"x","lat":1,"long":2,"tags":[]}',
              '{"name":"x","lat":1,"long":2,"tags":{"a":1}}', '{"name":"x","name":"y","lat":1,"long":2}', '{"name":"\\u0007","lat":1,"long":2}',
              '{"name":"x","lat":1,"long":2,"source":"a"}', '{"name":"x","lat":1,"long":2,"source":"test","sourceId":"node/4"}',
              '{"name":"' + "x" * 501 + '","lat":1,"long":2}', '{"name":"x","lat":1e999,"long":2}']
    for body in bodies:
        yield request("POST", "/locations", json_type, body)
        yield request("PUT", f"/locations/{place_id(5000)}", json_type, body)
    yield request("POST", "/locations", ["Content-Type: text/plain"], json.dumps(valid))
    yield request("POST", "/locations", [], json.dumps(valid))
    yield request("POST", "/locations", json_type + ["Idempotency-Key: one"], json.dumps(valid))
    yield request("POST", "/locations", json_type + ["Idempotency-Key: one"], json.dumps(valid))
    yield request("POST", "/locations", json_type + ["Idempotency-Key: one"], json.dumps(valid | {"name": "Other"}))
    yield request("POST", "/locations", json_type + ["Idempotency-Key: " + "k" * 300], json.dumps(valid))
    path = f"/locations/{place_id(6000)}"
    yield request("PUT", path, json_type + ["If-None-Match: *"], json.dumps(valid))
    yield request("PUT", path, json_type + ["If-None-Match: *"], json.dumps(valid))
    yield request("PUT", path, json_type, json.dumps(valid | {"name": "Changed"}))
    yield request("PUT", path, json_type, json.dumps(valid | {"id": place_id(1)}))
    yield request("PUT", path, json_type + ['If-Match: "1"'], json.dumps(valid))
    yield request("PUT", "/locations/no-uuid", json_type, json.dumps(valid))
    patch_type = ["Content-Type: application/merge-patch+json"]
    for body in ['{"name":"Patched"}', '{"tags":{"a":null,"c":"3"}}', '{"category":null}', '{"lat":100}', '{"what":1}', "[]", "{"]:
        yield request("PATCH", path, patch_type, body)
    yield request("PATCH", path, json_type, '{"name":"x"}')
    yield request("PATCH", f"/locations/{place_id(7000)}", patch_type, '{"name":"x"}')
    yield request("GET", path)
    yield request("DELETE", path, ['If-Match: "1"'])
    yield request("DELETE", path)
    yield request("DELETE", path)
    yield request("GET", path)
    rows = '{"name":"A","lat":1,"long":1,"source":"i","sourceId":"1"}\n{"name":"","lat":1,"long":1}\nnonsense\n'
    csv = "name,lat,long,source,sourceId\nB,2,2,i,2\nC,x,2,i,3\n"
    feature = {"type": "Feature", "geometry": {"type": "Point", "coordinates": [3, 4]}, "properties": {"name": "D"}}
    collection = json.dumps({"type": "FeatureCollection", "features": [feature]})
    imports = [("application/x-ndjson", rows), ("text/csv", csv), ("application/geo+json", collection),
               ("application/geo+json-seq", "\x1e" + json.dumps(feature) + "\n"), ("text/plain", rows), ("text/csv", "")]
    for (media, body), query in itertools.product(imports, ["?dryRun=true", "?mode=atomic", "", "?mode=what"]):
        yield request("POST", "/locations/import" + query, [f"Content-Type: {media}"], body)
    yield request("GET", "/locations?limit=1000")
    yield request("GET", "/categories")


MASKS = [
    (re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), b"<time>"),
    (re.compile(rb"(?i)(date|expires): [^\r\n]+"), rb"\1: <time>"),
    (re.compile(rb"\b\d{16}\b"), b"<version>"),
    (re.compile(rb"(?i)(waymark-position: )[^\r\n]+"), rb"\1<position>"),
    (re.compile(rb"(?i)(x-request-id: )[0-9a-z]{10,}"), rb"\1<id>"),
    (re.compile(rb"(?!0199a1b2)[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), b"<id>"),
    (re.compile(rb'(?i)(etag: )[^\r\n]+'), rb"\1<tag>"),
    (re.compile(rb"(?i)(content-length: )\d{3,}"), rb"\1<length>"),
    (re.compile(rb"(?i)(waymark/)[0-9][^\s\"]*"), rb"\1<program>"),
    (re.compile(rb'"version":"[^"]+"'), b'"version":"<program>"'),
]


def read_response(port, request_bytes):
    """Returns all bytes that the server sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request_bytes)
        received = b""
        try:
            while data := connection.recv(65536):
                received += data
        except ConnectionResetError:
            received += b"<reset>"
    return received


def dechunked(body):
    """Returns a body without chunked framing, because chunk sizes may vary."""
    joined = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        joined += rest[:length]
        body = rest[length + 2:] if length else b""
    return joined


def normalized(response, ignores_details):
    """Returns the response with the values masked that differ between runs."""
    head, separator, body = response.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in head.lower():
        body = dechunked(body)
    if b"content-encoding: gzip" in head.lower() and body:
        body = gzip.decompress(body)
    text = head + separator + body
    for pattern, replacement in MASKS:
        text = pattern.sub(replacement, text)
    if ignores_details:
        text = re.sub(rb'"(detail|title)":"(?:[^"\\]|\\.)*"', rb'"\1":"<text>"', text)
    return text.decode("utf-8", "backslashreplace")


def responses(program, store, requests, ignores_details):
    """Returns the normalized responses of a build to the requests, in order, on a store with the same places."""
    with deployment(program, store, "waymark-compare.") as (_, server, _):
        server.start()
        server.wait_until_ready()
        for place in places():
            body = json.dumps({key: value for key, value in place.items() if key != "id"})
            put = request("PUT", f"/locations/{place['id']}", ["Content-Type: application/json"], body)
            response = read_response(server.port, put)
            if not response.startswith(b"HTTP/1.1 201 "):
                sys.exit(f"{program} did not create a place: {response!r}")
        return [normalized(read_response(server.port, data), ignores_details) for data in requests]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", required=True, help="path of the build to compare with")
    parser.add_argument("--waymark", required=True, help="path of the compared build")
    parser.add_argument("--ignore-details", action="store_true", help="ignore the wording of problem titles and details")
    options = parser.parse_args()
    requests = [*reads(), *writes()]
    count = 0
    for store in ["memory", "postgres"]:
        before, after = (
            responses(os.path.abspath(program), store, requests, options.ignore_details)
            for program in (options.before, options.waymark))
        differences = [index for index, pair in enumerate(zip(before, after)) if pair[0] != pair[1]]
        for index in differences[:20]:
            print(f"--- {store}: {requests[index][:200]!r}")
            sides = [side[index].replace("},{", "},\n{").splitlines() for side in (before, after)]
            difference = list(difflib.unified_diff(*sides, "before", "after", lineterm="", n=0))[2:22]
            print("\n".join(line[:300] for line in difference))
        statuses = {text.split(" ", 2)[1] for text in after if text.count(" ") > 1}
        print(f"{store}: {len(requests)} requests with {len(statuses)} statuses, {len(differences)} responses differ", flush=True)
        count += len(differences)
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
