"""Calls a server with the geocoders Photon and Nominatim of geopy, and compares the results with its places.

By name, near a coordinate, in a box, in another language, by tags, by the parts of an address, and in reverse, with every
parameter of both classes. Requests of other clients are sent as these send them. Installs geopy from PyPI.

  scripts/conformance photon
"""

import argparse
import json
import sys
import urllib.error
import urllib.request

from geopy.exc import GeocoderQueryError
from geopy.geocoders import Nominatim, Photon
from geopy.point import Point

from servers import Waymark, temporary_folder

PLACES = [
    ("way/123", "Rathaus", "townhall", 53.0758, 8.8072, {
        "amenity": "townhall", "name:en": "Town Hall", "addr:street": "Am Markt", "addr:housenumber": "21",
        "addr:postcode": "28195", "addr:city": "Bremen", "addr:state": "Bremen", "addr:country": "DE"}),
    ("node/5", "Rathaus Apotheke", "pharmacy", 53.0770, 8.8080, {"amenity": "pharmacy", "addr:city": "Bremen"}),
    ("node/6", "Rathaus", "townhall", 48.1374, 11.5755, {"amenity": "townhall", "addr:city": "München"}),
    ("node/7", "서울역", "station", 37.5547, 126.9707, {"railway": "station", "name:en": "Seoul Station"}),
    ("relation/8", "Winchester Mystery House", "museum", 37.3184, -121.9511, {"tourism": "museum"}),
    ("node/9", "Madrid", "place:city", 40.4168, -3.7038, {"place": "city", "addr:country": "ES"}),
]

AREA = {
    "name": "Oldenburg", "kind": "city", "importance": 0.5, "source": "osm", "sourceId": "relation/62409",
    "geometry": {"type": "Polygon", "coordinates": [[[8, 53], [8.5, 53], [8.5, 53.3], [8, 53.3], [8, 53]]]}}

# What leaflet-control-geocoder, leaflet.photon, the sample of maplibre-gl-geocoder and Home Assistant's places send.
CLIENTS = [
    "/api/?q=rathaus", "/reverse/?lat=53.0758&lon=8.8073", "/api/?q=rathaus&limit=5&lat=53.07&lon=8.8",
    "/reverse/?limit=1&lat=53.0758&lon=8.8073",
    "/nominatim/search?q=rathaus&limit=5&format=json&addressdetails=1",
    "/nominatim/reverse?lat=53.0758&lon=8.8073&zoom=19&addressdetails=1&format=json",
    "/nominatim/search?q=rathaus&format=geojson&polygon_geojson=1&addressdetails=1",
    "/nominatim/reverse?format=json&lat=53.0758&lon=8.8073&accept-language=&addressdetails=1&namedetails=1&zoom=18&limit=1"
    "&email=",
    "/nominatim/lookup?osm_ids=W123&format=json&addressdetails=1&extratags=1&namedetails=1&email=&accept-language=",
    "/nominatim/search.php?q=rathaus&format=jsonv2", "/nominatim/status.php?format=json",
]


def feature(place):
    source_id, name, category, latitude, longitude, tags = place
    return {
        "type": "Feature", "geometry": {"type": "Point", "coordinates": [longitude, latitude]},
        "properties": {"name": name, "category": category, "tags": tags, "source": "osm", "sourceId": source_id}}


def server(program, folder, **settings):
    """Returns a server of the places."""
    file = folder / "places.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": [feature(place) for place in PLACES]}))
    return Waymark(program, {"POINT_STORE": "memory", "DATA_FILE": str(file)} | settings)


failures = 0


def expect(what, found, wanted):
    global failures
    if found == wanted:
        print(f"ok      {what}: {found}")
    else:
        failures += 1
        print(f"DIFFERS {what}: {found}, expected {wanted}")


def ids(locations):
    return [location.raw["properties"]["osm_id"] for location in locations or []]


def check(domain):
    photon = Photon(scheme="http", domain=domain, timeout=10)
    house = photon.geocode("winchester mystery house")
    expect("a place by its name", (house.address, house.latitude, house.longitude),
           ("Winchester Mystery House", 37.3184, -121.9511))
    expect("its object", {key: house.raw["properties"][key] for key in ("osm_type", "osm_id", "osm_key", "osm_value")},
           {"osm_type": "R", "osm_id": 8, "osm_key": "tourism", "osm_value": "museum"})
    expect("the beginning of a name", ids(photon.geocode("winch myst", exactly_one=False)), [8])
    expect("a bias to Munich", ids([photon.geocode("rathaus", location_bias=(48.1, 11.6))]), [6])
    expect("a bias to Bremen", ids([photon.geocode("rathaus", location_bias=Point(53.07, 8.80))]), [123])
    expect("a bias hides nothing", sorted(ids(photon.geocode(
        "rathaus", exactly_one=False, location_bias=(48.1, 11.6)))), [5, 6, 123])
    expect("a limit", len(photon.geocode("rathaus", exactly_one=False, limit=2)), 2)
    expect("a box", ids(photon.geocode(
        "rathaus", exactly_one=False, bbox=[Point(47, 11), Point(49, 12)])), [6])
    expect("another language", photon.geocode("서울역", language="en").address, "Seoul Station")
    expect("a name in another language", photon.geocode("seoul station").address, "서울역")
    expect("a tag", ids(photon.geocode("rathaus", exactly_one=False, osm_tag="amenity:pharmacy")), [5])
    expect("a value", ids(photon.geocode("rathaus", exactly_one=False, osm_tag=":pharmacy")), [5])
    expect("an excluded value", sorted(ids(photon.geocode(
        "rathaus", exactly_one=False, osm_tag=["amenity", ":!pharmacy"]))), [6, 123])
    expect("an excluded key", photon.geocode("rathaus", exactly_one=False, osm_tag="!amenity"), None)
    expect("nothing", photon.geocode("xyzzy quux"), None)

    hall = photon.reverse((53.0758, 8.8073), language="en")
    expect("the nearest place", hall.address,
           "Town Hall, 21, Am Markt, 28195, Am Markt, Bremen, Bremen, Germany")
    expect("the nearest places", ids(photon.reverse((53.0758, 8.8073), exactly_one=False, limit=5)), [123, 5])
    expect("nothing within a kilometre", photon.reverse((0, 0)), None)
    try:
        photon.geocode("")
        expect("an empty text", "a result", "GeocoderQueryError")
    except GeocoderQueryError:
        expect("an empty text", "GeocoderQueryError", "GeocoderQueryError")


def osm_ids(locations):
    return [location.raw["osm_id"] for location in locations or []]


def check_nominatim(domain):
    nominatim = Nominatim(scheme="http", domain=domain + "/nominatim", user_agent="conformance", timeout=10)
    house = nominatim.geocode("winchester mystery house", addressdetails=True, namedetails=True, extratags=True)
    expect("nominatim: a place by its name", (house.address, house.latitude, house.longitude),
           ("Winchester Mystery House", 37.3184, -121.9511))
    expect("nominatim: its object", {key: house.raw[key] for key in ("osm_type", "osm_id", "class", "type")},
           {"osm_type": "relation", "osm_id": 8, "class": "tourism", "type": "museum"})
    expect("nominatim: its details", (house.raw["address"], house.raw["namedetails"], house.raw["extratags"]),
           ({"tourism": "Winchester Mystery House"}, {"name": "Winchester Mystery House"}, {"tourism": "museum"}))
    munich = (Point(48, 11), Point(49, 12))
    expect("nominatim: a preferred box", osm_ids([nominatim.geocode("rathaus", viewbox=munich)]), [6])
    expect("nominatim: a box", osm_ids(nominatim.geocode(
        "rathaus", exactly_one=False, viewbox=munich, bounded=True)), [6])
    expect("nominatim: a limit", len(nominatim.geocode("rathaus", exactly_one=False, limit=2)), 2)
    expect("nominatim: a country", osm_ids(nominatim.geocode(
        "rathaus", exactly_one=False, country_codes=["de", "at"])), [123])
    expect("nominatim: another language", nominatim.geocode("서울역", language="en").address, "Seoul Station")
    expect("nominatim: nothing", nominatim.geocode("xyzzy quux"), None)
    hall = nominatim.reverse((53.0758, 8.8073), language="en")
    expect("nominatim: the nearest place", (hall.address, hall.raw["address"]["road"], hall.raw["address"]["country_code"]),
           ("Town Hall, Am Markt 21, 28195 Bremen, Germany", "Am Markt", "de"))
    expect("nominatim: nothing within a kilometre", nominatim.reverse((0, 0)), None)
    expect("nominatim: an address", osm_ids(nominatim.geocode(
        {"street": "21 Am Markt", "city": "Bremen", "postalcode": "28195", "country": "Germany"}, exactly_one=False)), [123])
    expect("nominatim: a city", osm_ids([nominatim.geocode({"city": "Madrid", "country": "España"})]), [9])
    expect("nominatim: an address elsewhere", nominatim.geocode({"city": "Madrid", "country": "France"}), None)
    expect("nominatim: a position", osm_ids([nominatim.geocode("53.0758, 8.8072")]), [123])
    expect("nominatim: a kind", osm_ids([nominatim.geocode("madrid", featuretype="city")]), [9])
    for geometry in ("wkt", "svg", "kml", "geojson"):
        expect(f"nominatim: an area with {geometry}", osm_ids([nominatim.geocode("oldenburg", geometry=geometry)]), [62409])
    outline = nominatim.geocode("oldenburg", geometry="geojson").raw
    expect("nominatim: its outline", (outline["geojson"]["type"], outline["importance"]), ("Polygon", 0.5))
    expect("nominatim: a reverse without an address", nominatim.reverse(
        (53.0758, 8.8073), addressdetails=False, zoom=18, namedetails=True).raw.get("address"), None)
    expect("nominatim: an area at a position", osm_ids([nominatim.reverse((53.1, 8.2), zoom=10)]), [62409])
    try:
        nominatim.reverse((0, 0), zoom="x")
        expect("nominatim: an invalid zoom", "a result", "GeocoderQueryError")
    except GeocoderQueryError:
        expect("nominatim: an invalid zoom", "GeocoderQueryError", "GeocoderQueryError")


def check_clients(url):
    for target in CLIENTS:
        try:
            with urllib.request.urlopen(url + target, timeout=10) as response:
                found = json.load(response)
        except urllib.error.HTTPError as error:
            found = {"error": error.code}
        places = found.get("features", found) if isinstance(found, dict) else found
        expect(target, len(places) > 0 and "error" not in places, True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--waymark", required=True)
    options = parser.parse_args()
    with temporary_folder("waymark-photon.") as folder:
        with server(options.waymark, folder) as waymark:
            check(f"127.0.0.1:{waymark.port}")
            request = urllib.request.Request(
                f"http://127.0.0.1:{waymark.port}/areas", json.dumps(AREA).encode(), {"Content-Type": "application/json"})
            urllib.request.urlopen(request, timeout=10).close()
            check_nominatim(f"127.0.0.1:{waymark.port}")
            check_clients(f"http://127.0.0.1:{waymark.port}")
    sys.exit(1 if failures else 0)


main()
