"""Drives the pages of a server in headless Chromium: the map, the operator's page, those of the API and of features.

Moves, zooms, opens clusters, searches, opens, edits, drags, creates and deletes places, with mouse, finger and keyboard;
sends the calls of the API's page; has axe-core find no violation; checks roles, names, the order of the focus and the
contrast in light and dark, the languages, that nothing is written to the console, and that no other host is called.
Prints the time of frames, and of each page the requests, bytes, time to the first paint and work of the main thread.
Installs Chromium, and Playwright and axe-core from PyPI.

  scripts/conformance map
  scripts/conformance map --only cluster           # the checks whose names have this text
"""

import argparse
import base64
import contextlib
import hashlib
import http.server
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import traceback
import urllib.parse
import urllib.request

from map_accessibility import count_of_texts, focus_order, low_contrast, roles, unnamed
from map_documents import ARABIC, BUDGET_CHECKS, CHECKS as DOCUMENT_CHECKS, HEBREW
from map_pages import HOSTILE, NARROW, WIDE, MapScreen, StatusScreen, browsing, expect
from servers import Waymark, temporary_folder

VIENNA = "#map=12/48.2/16.37"
MUSEUM = "#map=15/48.2052/16.3599"
TOKYO = "#map=12/35.66/139.74"
ONE_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
FIRST_PAINT_LIMIT_MS = 5000
# Generous: other programs may run on the machine.
FRAME_LIMIT_MS = 50
CROWD = 10_000
KEY = "a-key-for-the-browser-test"


def places():
    """Returns the places of the server: cafés in Vienna, a hostile one, and some far away."""
    rows = [
        {"sourceId": f"cafe-{index}", "name": f"Café {index:02}", "category": "cafe",
         "lat": 48.2 + (index % 5 - 2) * 0.004, "long": 16.37 + (index // 5 - 2) * 0.006}
        for index in range(25)]
    rows += [
        {"sourceId": "hostile", "name": HOSTILE, "category": "<b>bold</b>", "lat": 48.3, "long": 16.1,
         "tags": {"<i>key</i>": "<script>document.title='owned'</script>", "website": "https://example.com/a?b=1",
                  "link": "javascript:document.title='owned'"}},
        {"sourceId": "museum", "name": "Natural History Museum", "category": "museum", "lat": 48.2052, "long": 16.3599,
         "tags": {"wheelchair": "yes"}},
        {"sourceId": "tokyo", "name": "Tokyo Tower", "category": "tower", "lat": 35.6586, "long": 139.7454,
         "tags": {"opening_hours": "24/7"}},
        {"sourceId": "sydney", "name": "Central Station", "category": "station", "lat": -33.8832, "long": 151.2066,
         "tags": {"addr:street": "Eddy Avenue", "addr:city": "Sydney"}},
        {"sourceId": "glasgow", "name": "Central Station", "category": "station", "lat": 55.8593, "long": -4.2581,
         "tags": {"addr:street": "Gordon Street", "addr:city": "Glasgow"}},
        {"sourceId": "fiji", "name": "Taveuni", "category": "island", "lat": -16.85, "long": 179.98},
        *[{"sourceId": f"twin-{index}", "name": f"Twin {index}", "category": "shop", "lat": 41.1, "long": 2.1}
          for index in range(3)],
        {"sourceId": "arabic", "name": ARABIC, "category": "cafe", "lat": 30.045, "long": 31.25,
         "tags": {"addr:full": "شارع المعز"}},
        {"sourceId": "hebrew", "name": HEBREW, "category": "theatre", "lat": 30.03, "long": 31.23},
        {"sourceId": "samoa", "name": "Wallis", "category": "island", "lat": -13.3, "long": -176.2},
    ]
    return [{"source": "check", **row} for row in rows]


class Tiles(http.server.BaseHTTPRequestHandler):
    """A server of base map tiles on another origin."""

    paths = []

    def do_GET(self):
        Tiles.paths.append((self.path, self.headers.get("referer")))
        self.send_response(200)
        self.send_header("content-type", "image/png")
        self.end_headers()
        self.wfile.write(ONE_PIXEL)

    def log_message(self, *arguments):
        pass


class Pages:
    def __init__(self, browser, port):
        self.browser = browser
        self.port = port
        self.failures = 0
        self.expected_statuses = set()

    # Requests beside the browser

    def call(self, path, method="GET", body=None, headers=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(), headers=headers or {})
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.loads(response.read() or b"null")

    def place(self, source_id):
        return self.call(f"/locations?source=check&sourceId={source_id}&fields=*")[0]

    def patch(self, place, **changes):
        return self.call(
            f"/locations/{place['id']}", "PATCH", changes, {"Content-Type": "application/merge-patch+json"})

    # Checks

    def expect_statuses(self, *statuses):
        """Has the current check accept what Chromium writes to the console for responses with these statuses."""
        self.expected_statuses.update(statuses)

    def is_complaint(self, line):
        return not line.startswith("log") and not any(
            f"responded with a status of {status} " in line for status in self.expected_statuses)

    def run(self, checks):
        for check in checks:
            name = check.__name__.replace("_", " ")
            before = len(self.browser.console)
            self.expected_statuses.clear()
            try:
                figure = check(self)
                complaints = [line for line in self.browser.console[before:] if self.is_complaint(line)]
                expect(not complaints, f"the console has {complaints}")
                expect(not self.browser.foreign_requests, f"requests to {self.browser.foreign_requests}")
                print(f"ok      {name}" + (f": {figure}" if figure else ""), flush=True)
            except Exception as error:
                self.failures += 1
                self.browser.foreign_requests.clear()
                print(f"FAILED  {name}: {error}", flush=True)
                if not isinstance(error, AssertionError):
                    traceback.print_exc()

    def tab(self, fragment=VIENNA, **options):
        return MapTab(self.browser, fragment, options)


class MapTab:
    """The map page in a tab of its own."""

    def __init__(self, browser, fragment, options):
        self.browser, self.fragment = browser, fragment
        self.context = browser.tab(**options)

    def __enter__(self):
        return MapScreen(self.browser, self.context.__enter__()).open(self.fragment)

    def __exit__(self, *details):
        return self.context.__exit__(*details)


def crowd():
    """Returns many places in a town, in rows and columns, of a few categories."""
    categories = ["restaurant", "cafe", "clothes", "museum", "bench", "platform", "hotel", "office:company"]
    return [{"source": "crowd", "sourceId": str(index), "name": f"Place {index}", "category": categories[index * 7 % 8],
             "lat": 48.19 + (index // 100) * 0.00018, "long": 16.35 + (index % 100) * 0.00042} for index in range(CROWD)]


def near(found, wanted, distance):
    return all(abs(a - b) <= distance for a, b in zip(found, wanted))


# The map


def the_page_loads_with_a_policy_and_paints_soon(pages):
    with pages.tab("") as screen:
        headers = screen.response.headers
        policy = headers["content-security-policy"]
        expect("default-src 'none'" in policy and "unsafe" not in policy, policy)
        expect(headers["content-encoding"] == "gzip", "the page is not compressed")
        expect(screen.total() == len(places()), f"the summary is {screen.summary()!r}")
        paint = screen.first_paint_milliseconds()
        expect(paint < FIRST_PAINT_LIMIT_MS, f"first paint after {paint:.0f} ms")
        return f"first paint after {paint:.0f} ms"


def the_mouse_a_finger_and_arrow_keys_move_the_map(pages):
    with pages.tab(touch=True) as screen:
        zoom, latitude, longitude = screen.view()
        screen.drag(200, 0)
        expect(screen.view()[2] < longitude - 0.01, "the mouse did not move the map")
        screen.touch([(0, 0), (-50, 0), (-200, 0)])
        expect(near(screen.view()[2:], (longitude,), 0.02), f"the finger moved the map to {screen.view()}")
        screen.keys("ArrowUp", "ArrowUp")
        expect(screen.view()[1] > latitude + 0.01, "the arrow keys did not move the map")
        screen.keys("ArrowRight")
        expect(screen.view()[2] > longitude + 0.005 and screen.view()[0] == zoom, "the arrow keys did not move the map")


def the_map_zooms_in_every_way(pages):
    with pages.tab(touch=True) as screen:
        def zooms(action, by, *arguments):
            before = screen.view()[0]
            action(*arguments)
            found = screen.view()[0] - before
            expect(by[0] <= found <= by[1], f"{action.__name__} {arguments} zoomed by {found:.2f}")
        zooms(screen.wheel, (0.5, 1.5), -300)
        zooms(screen.wheel, (-1.5, -0.5), 300)
        zooms(screen.keys, (0.99, 1.01), "+")
        zooms(screen.keys, (-1.01, -0.99), "-")
        zooms(screen.double_click, (0.99, 1.01))
        zooms(screen.click, (-1.01, -0.99), "zoom-out")
        zooms(screen.click, (0.99, 1.01), "zoom-in")
        zooms(screen.touch, (0.8, 1.2), [(-50, 0), (-75, 0), (-100, 0)], [(50, 0), (75, 0), (100, 0)])
        screen.click("zoom-all")
        expect(screen.total() == len(places()), f"the summary is {screen.summary()!r}")


def motion_ends_where_the_view_without_motion_is(pages):
    ends = []
    for calm in (True, False):
        with pages.tab(calm=calm) as screen:
            screen.click("zoom-in")
            screen.double_click()
            screen.open_from_list("Café 12")
            screen.settle()
            ends.append(screen.view())
    expect(near(ends[0], ends[1], 0.001), f"the ends are {ends}")


def clusters_open_and_their_counts_add_up(pages):
    with pages.tab("#map=8/48.2/16.37") as screen:
        expect(screen.total() == 27, f"the summary is {screen.summary()!r}")
        expect(screen.clusters().count() >= 1, "there is no cluster")
        zoom, steps = screen.view()[0], 0
        while screen.clusters().count() and steps < 6:
            screen.open_cluster()
            steps += 1
        expect(screen.view()[0] > zoom + 3, f"the view is {screen.view()}")
        expect(screen.markers().count() >= 1, "the clusters did not open")


def the_antimeridian_is_crossed(pages):
    with pages.tab("#map=5/-15.5/-179.5") as screen:
        expect(set(screen.names()) == {"Taveuni", "Wallis"}, f"the list is {screen.names()}")


def the_address_has_the_view_and_the_filters(pages):
    with pages.tab() as screen:
        screen.choose_category("museum")
        screen.open_from_list("Natural History Museum")
        address = screen.page.url
        with pages.tab(address[address.index("#"):]) as other:
            expect(other.popup().title() == "Natural History Museum", "the place is not shown")
            expect(other.view() == screen.view(), f"the view is {other.view()}")
            expect(other.names() == ["Natural History Museum"], f"the list is {other.names()}")


def the_command_for_curl_returns_the_places_in_view(pages):
    with pages.tab() as screen:
        screen.choose_category("cafe")
        command = screen.curl()
        output = subprocess.run(
            ["bash", "-c", command.replace("curl -i", "curl -s")], capture_output=True, text=True, check=True).stdout
        expect(len(json.loads(output)) == screen.total(), f"{command} returned {output[:100]}")


def an_area_and_a_route_are_drawn(pages):
    with pages.tab("#map=14/48.2/16.37") as screen:
        # Around the café in the middle and those beside it.
        screen.draw("area", (-100, -100), (100, -100), (100, 100), (-100, 100))
        area = screen.total()
        expect(0 < area < 25 and "in the area" in screen.summary(), screen.summary())
        expect("Café 12" in screen.names(), f"the list is {screen.names()}")
        expect("within=POLYGON" in screen.page.url, screen.page.url)
        found = json.loads(screen.save("geojson"))["features"]
        expect(len(found) == area, f"the file has {len(found)} places")
        screen.page.reload()
        screen.settle()
        expect(screen.total() == area and "area" in screen.shape_text(), screen.summary())
        expect(not low_contrast(screen.page), f"{low_contrast(screen.page)}")
        screen.click("draw-clear")
        expect(screen.total() == 26 and not screen.shape_text(), screen.summary())
        screen.draw("route", (-300, 0), (300, 0))
        route = screen.total()
        expect(0 < route < 25 and "along the route" in screen.summary(), screen.summary())
        screen.element("radius").fill("5000")
        screen.press("Tab")
        screen.settle()
        expect(screen.total() == 26, screen.summary())
        screen.submit_search("Museum")
        expect(screen.names() == ["Natural History Museum"], f"the list is {screen.names()}")
    with pages.tab("#map=14/48.2/16.37") as screen:
        # With the keyboard alone.
        screen.element("draw-area").focus()
        screen.press("Enter")
        for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown"):
            screen.press(key, "Space")
        screen.press("Backspace", "Enter")
        screen.settle()
        expect("area" in screen.shape_text() and screen.total() < 26, screen.summary())
        screen.element("draw-route").click()
        screen.press("Escape")
        screen.settle()
        expect(screen.total() == 26 and not screen.shape_text(), screen.summary())
    # Hostile shapes of an address.
    pages.expect_statuses(400)
    with pages.browser.tab() as page:
        screen = MapScreen(pages.browser, page)
        page.goto(pages.browser.url + "/map#map=14/48.2/16.37&within=" + urllib.parse.quote(HOSTILE))
        screen.wait_until(lambda: "within" in screen.message().lower(), "the message")
        screen.click("draw-clear")
        expect(screen.total() == 26 and page.title() != "owned", screen.summary())
    return f"{area} places in the area, {route} along the route"


def a_named_area_that_a_search_names_is_drawn(pages):
    outline = [[16.362, 48.192], [16.378, 48.192], [16.378, 48.206], [16.362, 48.206], [16.362, 48.192]]
    for name, names in (("Bezirk", {"de": "Innenbezirk"}), (HOSTILE + " Quarter", {})):
        pages.call("/areas", "POST", {"name": name, "names": names, "kind": "district",
                                      "geometry": {"type": "Polygon", "coordinates": [outline]}},
                   {"Content-Type": "application/json"})
    with pages.tab("#map=10/48.2/16.37") as screen:
        screen.type_search("bez")
        screen.press("ArrowDown")
        expect(screen.active_suggestion() == "Bezirk", f"the suggestions are {screen.suggestions()}")
        screen.press("Enter")
        screen.settle()
        count = screen.total()
        expect(0 < count < 25 and "in Bezirk" in screen.summary(), screen.summary())
        expect(screen.shape_text() == "Only places in Bezirk", screen.shape_text())
        box = screen.page.locator(".shape .within").bounding_box()
        expect(box["width"] > 300 and box["height"] > 300, f"the outline is {box}")
        expect(not low_contrast(screen.page), f"{low_contrast(screen.page)}")
        screen.drag(100, 50)
        moved = screen.page.locator(".shape .within").bounding_box()
        expect(near((moved["x"] - box["x"], moved["y"] - box["y"]), (100, 50), 1.5), f"the outline went from {box} to {moved}")
        screen.page.reload()
        screen.settle()
        expect(screen.total() == count and "in Bezirk" in screen.summary(), screen.summary())
        screen.click("draw-clear")
        expect(screen.total() > count and "in=" not in screen.page.url, screen.summary())
        # Its whole name is enough, and names are texts.
        screen.submit_search(HOSTILE + " quarter")
        screen.wait_until(lambda: HOSTILE in screen.shape_text(), "the hostile name")
        expect(screen.page.title() != "owned", "a script of a name has run")
        screen.click("draw-clear")
    with pages.tab("#map=12/48.2/16.37", locale="de") as screen:
        screen.submit_search("BEZIRK")
        screen.wait_until(lambda: screen.shape_text() == "Nur Orte in Innenbezirk", "the name in German")
    # Deeper than the base map knows, all areas in view are drawn, below the places.
    with pages.tab("#map=13/48.2/16.37") as screen:
        names = screen.page.locator(".areas text")
        screen.wait_until(lambda: set(names.all_text_contents()) == {"Bezirk", HOSTILE + " Quarter"}, "the names of areas")
        box = screen.page.locator(".areas path").first.bounding_box()
        expect(60 < box["width"] < 300, f"the outline is {box}")
        screen.drag(100, 50)
        screen.wait_until(lambda: near((screen.page.locator(".areas path").first.bounding_box()["x"],), (box["x"] + 100,), 1.5),
                          "the outline at its new place")
        expect(not low_contrast(screen.page), f"{low_contrast(screen.page)}")
        screen.wheel(3000)
        screen.wait_until(lambda: not names.count(), "the view without areas")
    # Their names are where symbols leave room.
    with pages.tab("#map=14/48.2/16.37") as screen:
        screen.wait_until(lambda: screen.page.locator(".areas text").count() == 2, "the names of areas")
        expect(not screen.overlaps(with_areas=True), f"{screen.overlaps(with_areas=True)}")
    # An area that there is no longer.
    pages.expect_statuses(400, 404)
    with pages.browser.tab() as page:
        screen = MapScreen(pages.browser, page)
        page.goto(pages.browser.url + "/map#map=14/48.2/16.37&in=0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b")
        screen.wait_until(screen.message, "the message")
        screen.click("draw-clear")
        expect(screen.total() == 26, screen.summary())
    return f"{count} places in the area"


def the_request_is_shown_in_four_languages(pages):
    with pages.tab() as screen:
        screen.choose_category("cafe")
        for language, runs in (("Python", [sys.executable, "-c"]), ("JavaScript", ["node", "--input-type=module", "-e"])):
            program = screen.program(language)
            if not shutil.which(runs[0]):
                continue
            output = subprocess.run([*runs, program], capture_output=True, text=True, timeout=60)
            expect(output.returncode == 0 and "Café 12" in output.stdout, f"{program} wrote {output.stderr[-300:]}")
        expect("URLRequest(url: URL(string: \"http" in screen.program("Swift"), screen.program("Swift"))
        rows = screen.save("csv").splitlines()
        expect(len(rows) == screen.total() + 1, f"the file has {len(rows)} lines")
        # A text and the time are not those of an export.
        screen.submit_search("Café 12")
        expect(len(screen.save("csv").splitlines()) == screen.total() + 1, "the file has other places")


def the_built_in_map_has_land_and_water(pages):
    colours = {}
    for scheme in ("light", "dark"):
        # In the plain east of the Danube, and in the Ligurian Sea.
        with pages.tab("#map=5/45.5/14", scheme=scheme) as screen:
            screen.wait_until(lambda: screen.ground(125, -50) != screen.ground(-125, 75), "land and water")
            colours[scheme] = [screen.ground(125, -50), screen.ground(-125, 75)]
            expect("Natural Earth" in screen.element("attribution").inner_text(), "there is no attribution")
    expect(all(sum(colour) < 250 for colour in colours["dark"]), f"the colours are {colours}")
    expect(all(sum(colour) > 600 for colour in colours["light"]), f"the colours are {colours}")


def the_built_in_map_ends_where_it_is_not_accurate(pages):
    with pages.tab() as screen:
        expect(screen.element("hint").is_visible(), "there is no hint")
        expect(screen.page.locator(".graticule text").count() > 2, "there are no lines of latitude and longitude")
    with pages.tab("#map=5/48.2/16.37") as screen:
        expect(not screen.element("hint").is_visible(), "there is a hint")


def an_error_of_the_page_is_shown(pages):
    with pages.tab() as screen:
        complaints = len(pages.browser.console)
        screen.page.evaluate("() => { setTimeout(() => { throw new Error('out of ink'); }); }")
        screen.wait_until(lambda: "out of ink" in screen.message(), "the message")
        del pages.browser.console[complaints:]


def symbols_and_names_do_not_overlap(pages):
    count = 0
    for fragment in ("", VIENNA, MUSEUM, "#map=14/48.2/16.37", "#map=13.4/48.2/16.37"):
        with pages.tab(fragment) as screen:
            expect(not screen.overlaps(), f"{fragment} has {screen.overlaps()[:3]}")
            count += len(screen.names_on_map())
    expect(count > 20, f"there are {count} names")
    return f"{count} names"


# Searching


def the_search_suggests_and_opens_a_place_with_the_keyboard(pages):
    with pages.tab() as screen:
        screen.press("Tab", "Tab")
        expect(screen.focused() == "search", f"the focus is on {screen.focused()}")
        expect("Tokyo Tower" in screen.type_search("tokio"), f"the suggestions are {screen.suggestions()}")
        screen.press("ArrowDown")
        expect(screen.active_suggestion() == "Tokyo Tower", f"active is {screen.active_suggestion()}")
        screen.press("Enter")
        expect(screen.popup().title() == "Tokyo Tower", "the place is not shown")
        screen.settle()
        expect(near(screen.view()[1:], (35.6586, 139.7454), 0.01), f"the view is {screen.view()}")


def suggestions_of_one_name_differ_by_address_and_distance(pages):
    with pages.tab() as screen:
        expect(screen.type_search("central st") == ["Central Station"] * 2, f"the suggestions are {screen.suggestions()}")
        details = screen.suggested_details()
        expect(
            [re.sub(r"[\d,]+ km", "… km", text) for text in details]
            == ["Gordon Street, Glasgow · … km away", "Eddy Avenue, Sydney · … km away"], f"the details are {details}")
        screen.press("ArrowDown", "ArrowDown", "Enter")
        screen.settle()
        expect(near(screen.view()[1:], (-33.8832, 151.2066), 0.01), f"the view is {screen.view()}")
    with pages.tab(MUSEUM) as screen:
        screen.type_search("natural h")
        expect(
            re.fullmatch(r"\d+ m away", screen.suggested_details()[0]), f"the details are {screen.suggested_details()}")


def escape_closes_suggestions_first_and_then_clears_the_text(pages):
    with pages.tab() as screen:
        screen.type_search("caf")
        screen.press("Escape")
        expect(not screen.element("suggestions").is_visible(), "the suggestions are still there")
        expect(screen.search_box().input_value() == "caf", "the text is gone")
        screen.press("Escape")
        expect(screen.search_box().input_value() == "", "the text is still there")


def a_category_is_suggested_and_chosen(pages):
    with pages.tab() as screen:
        expect(screen.type_search("muse")[0] == "Museum", f"the suggestions are {screen.suggestions()}")
        screen.press("ArrowDown", "Enter")
        screen.settle()
        expect(screen.element("category").input_value() == "museum", "the category is not chosen")
        expect(screen.names() == ["Natural History Museum"], f"the list is {screen.names()}")


def a_text_shows_its_matches_alone_and_moves_to_them(pages):
    with pages.tab() as screen:
        screen.submit_search("history museum")
        expect(screen.names() == ["Natural History Museum"], f"the list is {screen.names()}")
        screen.submit_search("tokyo tower")
        expect(screen.names() == ["Tokyo Tower"], f"the list is {screen.names()}")
        screen.click("clear")
        expect("matching" not in screen.summary(), f"the summary is {screen.summary()!r}")


def the_category_filters_the_map(pages):
    with pages.tab() as screen:
        screen.choose_category("museum")
        expect(screen.total() == 1, f"the summary is {screen.summary()!r}")
        screen.choose_category("")
        expect(screen.total() == 26, f"the summary is {screen.summary()!r}")


def the_list_is_limited_to_open_places(pages):
    with pages.tab() as screen:
        screen.click("open")
        screen.wait_until(lambda: "Open now" in screen.summary(), "the summary of the places that are open")
        expect(screen.total() == 0, f"the summary is {screen.summary()!r}")
        expect("open=now" in screen.page.url, f"the address is {screen.page.url}")
        screen.click("open")
        screen.wait_until(lambda: screen.total() == 26, "all places are there again")
    with pages.tab(TOKYO + "&open=now") as screen:
        expect(screen.names() == ["Tokyo Tower"], f"the list is {screen.names()}")


# Places


def the_popup_has_the_state_and_the_hours_of_the_week(pages):
    with pages.tab(TOKYO) as screen:
        fields = screen.open_from_list("Tokyo Tower").fields()
        expect(fields.get("Open") == "Open" and fields.get("Today") == "all day", f"the fields are {fields}")
        expect(fields.get("Week", "").count("all day") == 7, f"the week is {fields.get('Week')!r}")


def the_popup_has_all_fields_and_a_link(pages):
    with pages.tab(MUSEUM) as screen:
        popup = screen.open_from_list("Natural History Museum")
        place = pages.place("museum")
        fields = popup.fields()
        for name, value in {
            "Category": "Museum", "wheelchair": "yes", "Source": "check", "Source id": "museum", "Id": place["id"],
            "Version": str(place["version"]), "Position": "48.205200, 16.359900",
        }.items():
            expect(fields.get(name) == value, f"{name} is {fields.get(name)!r}, not {value!r}")
        expect("Changed" in fields and "Created" in fields, f"the fields are {list(fields)}")
        expect(place["id"] in popup.link(), f"the link is {popup.link()}")
        expect(screen.focused() == "popup", f"the focus is on {screen.focused()}")
        screen.press("Escape")
        expect(not screen.has_popup(), "the popup is still there")
        expect(screen.focused() == "place-item", f"the focus is on {screen.focused()}")


def the_popup_has_what_people_want_first(pages):
    with pages.tab(TOKYO) as screen:
        popup = screen.open_from_list("Tokyo Tower")
        names = popup.names_of_fields()
        expect(names[:1] == ["Open"] and "Id" not in names and "Version" not in names, f"the fields are {names}")
        screen.page.locator("#popup summary").click()
        expect({"Id", "Version", "Position"} <= set(popup.names_of_fields()), f"the fields are {popup.names_of_fields()}")
    with pages.tab("#map=14/-33.8832/151.2066") as screen:
        fields = screen.open_from_list("Central Station").fields()
        expect(fields.get("Address") == "Eddy Avenue, Sydney", f"the fields are {fields}")


def the_selected_place_stays_in_view(pages):
    for size in ((1280, 800), NARROW):
        with pages.tab("#map=15/48.2/16.37", size=size) as screen:
            if size == NARROW:
                screen.show_list()
            screen.open_from_list("Café 12")
            screen.settle()
            for name in ("zoom-in", "zoom-in"):
                screen.element(name).dispatch_event("click")
                screen.settle()
            box = screen.page.locator(".marker.selected").bounding_box()
            popup = screen.popup().box()
            is_covered = (popup["x"] < box["x"] + 12 < popup["x"] + popup["width"]
                          and popup["y"] < box["y"] + 12 < popup["y"] + popup["height"])
            expect(not is_covered and 0 < box["x"] < size[0] and 0 < box["y"] < size[1], f"the place is at {box}, {popup}")


def places_at_one_position_are_chosen_from_a_list(pages):
    with pages.tab("#map=20/41.1/2.1") as screen:
        screen.clusters().or_(screen.page.locator("#map b")).first.click()
        popup = screen.popup()
        expect(popup.title() == "3 places here", f"the title is {popup.title()!r}")
        popup.node.get_by_text("Twin 2").click()
        screen.wait_until(lambda: popup.title() == "Twin 2", "the place")


def a_marker_opens_the_popup(pages):
    with pages.tab(MUSEUM) as screen:
        screen.markers().filter(has_text="Natural History Museum").click()
        expect(screen.popup().title() == "Natural History Museum", "the place is not shown")


def a_hostile_place_is_shown_as_text(pages):
    with pages.tab("#map=12/48.3/16.1") as screen:
        popup = screen.open_from_list(HOSTILE)
        expect(popup.title() == HOSTILE, f"the title is {popup.title()!r}")
        fields = popup.fields()
        expect(fields["<i>key</i>"].startswith("<script>"), f"the fields are {fields}")
        popup.edit()
        expect(popup.value("name") == HOSTILE, f"the form has {popup.value('name')!r}")
        found = screen.page.evaluate(
            "() => document.querySelectorAll('#popup img, #list img, #map img, dd script, dd b, dd i').length")
        expect(found == 0, "the place has become elements")
        links = screen.page.evaluate("() => [...document.links].map((link) => link.protocol)")
        expect(set(links) <= {"http:", "https:"}, f"there are links of {set(links)}")
        expect("owned" not in screen.page.title(), "the place has run a script")


def changes_are_dropped_only_on_request(pages):
    with pages.tab("#map=15/48.203/16.362") as screen:
        browser = pages.browser
        other = next(name for name in screen.names() if name != "Natural History Museum")
        popup = screen.open_from_list("Natural History Museum").edit()
        # Nothing was changed: no question.
        screen.open_from_list(other)
        screen.wait_until(lambda: popup.title() == other, "the other place")
        popup = screen.open_from_list("Natural History Museum")
        screen.wait_until(lambda: popup.title() == "Natural History Museum", "the museum")
        popup.edit().write(name="Museum of Nature")
        browser.questions, browser.answers = [], [False]
        screen.item(other).click()
        screen.wait_until(lambda: browser.questions, "the question")
        expect(popup.is_form() and popup.value("name") == "Museum of Nature", "the changes were dropped")
        browser.answers = [True]
        screen.item(other).click()
        screen.wait_until(lambda: not popup.is_form() and popup.title() == other, "the other place")
        expect(len(browser.questions) == 2, f"the questions are {browser.questions}")
        expect(pages.place("museum")["name"].startswith("Natural History Museum"), "the changes were saved")


def a_place_is_edited_with_the_keyboard_alone(pages):
    with pages.tab(MUSEUM) as screen:
        screen.item("Natural History Museum").focus()
        screen.press("Enter")
        popup = screen.popup()
        for _ in range(4):
            screen.press("Tab")
            if screen.focused() == "edit":
                break
        screen.press("Enter")
        screen.wait_until(popup.is_form, "the form")
        expect(screen.focused() == "edit-name", f"the focus is on {screen.focused()}")
        screen.page.keyboard.press("End")
        screen.page.keyboard.type(" Vienna")
        screen.press("Enter")
        screen.wait_until(lambda: not popup.is_form(), "the saved place")
        expect(pages.place("museum")["name"] == "Natural History Museum Vienna", "the server has another name")
        headers = pages.browser.last_request("PATCH").headers
        expect(headers.get("if-match", "").startswith('"'), f"the header fields are {headers}")
        expect(json.loads(pages.browser.last_request("PATCH").post_data) == {"name": "Natural History Museum Vienna"},
               "the patch has more than the change")
        screen.settle()
        expect("Natural History Museum Vienna" in screen.names(), f"the list is {screen.names()}")
    pages.patch(pages.place("museum"), name="Natural History Museum")


def tags_are_added_and_removed(pages):
    with pages.tab(MUSEUM) as screen:
        popup = screen.open_from_list("Natural History Museum").edit()
        popup.add_tag("opening_hours", "We-Mo 09:00-18:00").save()
        expect(pages.place("museum")["tags"] == {"wheelchair": "yes", "opening_hours": "We-Mo 09:00-18:00"},
               f"the tags are {pages.place('museum')['tags']}")
        popup.edit().node.get_by_label("Remove the tag opening_hours").click()
        popup.save()
        expect(pages.place("museum")["tags"] == {"wheelchair": "yes"}, f"the tags are {pages.place('museum')['tags']}")


def a_place_is_dragged_and_moved_with_arrow_keys(pages):
    with pages.tab(MUSEUM) as screen:
        before = pages.place("museum")
        popup = screen.open_from_list("Natural History Museum").edit()
        popup.drag_handle(60, -40).save()
        after = pages.place("museum")
        # A pixel at zoom 15 is 360 / 256 / 2^15 degrees of longitude.
        pixel = 360 / 256 / 2 ** 15
        expect(abs(after["long"] - before["long"] - 60 * pixel) < 2 * pixel, f"the longitude is {after['long']}")
        expect(after["lat"] > before["lat"] + 20 * pixel, f"the latitude is {after['lat']}")
        popup.edit()
        screen.element("handle").focus()
        screen.press("ArrowLeft", "ArrowLeft")
        popup.save()
        expect(abs(pages.place("museum")["long"] - after["long"] + 4 * pixel) < pixel, "the arrow keys did not move it")
    pages.patch(pages.place("museum"), lat=before["lat"], long=before["long"])


def a_conflict_is_explained_and_the_change_applied_to_the_current_place(pages):
    with pages.tab(MUSEUM) as screen:
        popup = screen.open_from_list("Natural History Museum").edit()
        pages.patch(pages.place("museum"), category="gallery")
        pages.expect_statuses(412)
        popup.write(name="Museum of Nature").save()
        expect("Someone else has changed this place" in popup.problem() and '"gallery"' in popup.problem(),
               f"the problem is {popup.problem()!r}")
        popup.apply_anyway()
        place = pages.place("museum")
        expect((place["name"], place["category"]) == ("Museum of Nature", "gallery"), f"the place is {place}")
    pages.patch(place, name="Natural History Museum", category="museum")


def an_invalid_place_is_explained(pages):
    with pages.tab(MUSEUM) as screen:
        popup = screen.open_from_list("Natural History Museum").edit()
        pages.expect_statuses(400, 422)
        popup.write(lat="north").save()
        expect("/lat" in popup.problem(), f"the problem is {popup.problem()!r}")
        popup.write(lat="48.2052").save()
        expect(not popup.is_form(), "the form is still there")


def a_place_is_created_and_deleted(pages):
    with pages.tab("#map=14/47.0/15.4") as screen:
        popup = screen.new_place().write(name="New Kiosk", category="kiosk").save()
        expect(popup.title() == "New Kiosk", f"the title is {popup.title()!r}")
        found = pages.call("/locations?lat=47.0&long=15.4&radius=50&fields=name,category")
        expect(found == [{"name": "New Kiosk", "category": "kiosk"}], f"the server has {found}")
        screen.settle()
        expect(screen.names() == ["New Kiosk"], f"the list is {screen.names()}")
        popup.edit().delete()
        screen.settle()
        expect(pages.call("/locations?lat=47.0&long=15.4&radius=50") == [], "the server still has the place")
        expect(screen.total() == 0, f"the summary is {screen.summary()!r}")


# Accessibility


def suggested_edits_are_reviewed_with_the_keyboard_alone(pages):
    museum = pages.place("museum")
    json_body = {"Content-Type": "application/json"}
    edits = [
        pages.call(f"/locations/{museum['id']}/suggestions", "POST",
                   {"patch": {"name": name, "lat": museum["lat"] + 0.001}, "comment": "<b>The sign</b> on the door"}, json_body)
        for name in ("Museum of Nature", "Museum of Stones")]
    edits.append(pages.call(
        "/suggestions", "POST", {"draft": {"name": "Corner Café", "category": "cafe", "lat": 48.21, "long": 16.37}}, json_body))
    with pages.tab(MUSEUM + "&review=true") as screen:
        page, panel = screen.page, screen.element("review")

        def title():
            return panel.locator("h3").inner_text()

        def state(edit):
            return pages.call(f"/suggestions/{edit['id']}")["state"]

        screen.wait_until(lambda: panel.locator("h3").count() and title().startswith("Natural History"), "the first edit")
        expect(panel.evaluate("(node) => getComputedStyle(node).position") == "absolute", "the panel has no style")
        expect(page.locator(".pin").count() == 2, "the positions before and after are not on the map")
        expect(panel.locator(".comment").inner_text() == "<b>The sign</b> on the door", "the comment is not shown as text")
        expect(not low_contrast(page) and unnamed(page) == [], f"{low_contrast(page)[:3]}, {unnamed(page)}")
        # While the place of the next edit is loaded, the keys decide neither on that nor on the one before.
        held = []
        page.route(f"**/locations/{museum['id']}", lambda route: held.append(route))
        screen.press("j", "a", "r")
        screen.wait_until(lambda: held, "the request for the place")
        expect([state(edit) for edit in edits] == ["open"] * 3 and not panel.locator("input").count(), "a key had an effect")
        for route in held:
            route.continue_()
        page.unroute(f"**/locations/{museum['id']}")
        screen.wait_until(lambda: "2 of 3" in panel.inner_text() and "Museum of Stones" in panel.inner_text(), "the second edit")
        screen.press("a")
        screen.wait_until(lambda: "2 of 2" in panel.inner_text(), "the next edit")
        expect(state(edits[1]) == "accepted" and pages.place("museum")["name"] == "Museum of Stones", "it is not accepted")
        expect(title() == "Corner Café", f"the edit is {title()}")
        screen.press("r")
        page.keyboard.type("It has closed")
        screen.press("Enter")
        screen.wait_until(lambda: "1 of 1" in panel.inner_text(), "the edit that is left")
        decided = pages.call(f"/suggestions/{edits[2]['id']}")
        expect((decided["state"], decided["decision"]["reason"]) == ("rejected", "It has closed"), f"{decided}")
        # The place has changed since: what it is now is shown, and the edit applied to that.
        screen.wait_until(lambda: "Museum of Stones" in panel.locator("table").inner_text(), "the present name")
        screen.press("a")
        screen.wait_until(lambda: "nothing to review" in panel.inner_text(), "the end")
        expect(pages.place("museum")["name"] == "Museum of Nature", "the edit was not applied")
        screen.press("Escape")
        expect(not panel.is_visible() and "review" not in screen.page.url, screen.page.url)
    pages.patch(pages.place("museum"), name=museum["name"], lat=museum["lat"])


def conflicts_of_edits_with_their_source_are_decided(pages):
    museum = pages.place("museum")
    row = {name: museum[name] for name in ("category", "lat", "long", "tags", "source", "sourceId") if name in museum}

    def load(name):
        pages.call("/locations/import", "POST", [{**row, "name": name}], {"Content-Type": "application/json"})

    pages.patch(museum, name="Museum of the People")
    for key, of_source, decided in [("a", "Museum of Stones", "Museum of the People"), ("r", "Museum of Bones", "Museum of Bones")]:
        load(of_source)
        with pages.tab(MUSEUM + "&review=true") as screen:
            panel = screen.element("review")
            screen.wait_until(lambda: of_source in panel.inner_text(), "the conflict")
            expect("Museum of the People" in panel.locator("table").inner_text(), "the present name is not shown")
            expect(not low_contrast(screen.page) and unnamed(screen.page) == [], "the panel is not accessible")
            screen.press(key)
            screen.wait_until(lambda: "nothing to review" in panel.inner_text(), "the end")
        expect(pages.place("museum")["name"] == decided, f"the name is {pages.place('museum')['name']!r}")
        expect(pages.call("/edits?conflict=true") == [], "the conflict is still there")
    load(museum["name"])


def everything_is_reached_with_tab_in_the_order_of_the_page(pages):
    with pages.tab(MUSEUM) as screen:
        order = focus_order(screen.page)
        wanted = ["search", "category", "open", "new-place", "curl", "set-key", "place-item", "map", "zoom-in", "zoom-out",
                  "zoom-all"]
        positions = [order.index(name) if name in order else -1 for name in wanted]
        expect(-1 not in positions and positions == sorted(positions), f"the order is {order}")
        expect(order[0].startswith("Skip"), f"the first is {order[0]!r}")
        popup = screen.open_from_list("Natural History Museum")
        expect({"popup-close", "edit", "place-link"} <= set(focus_order(screen.page)), "the popup is not reached")
        popup.edit()
        expect({"edit-name", "edit-category", "edit-lat", "edit-long", "add-tag", "save", "cancel", "delete", "handle"}
               <= set(focus_order(screen.page)), "the form is not reached")


def roles_and_names_are_in_the_accessibility_tree(pages):
    with pages.tab(MUSEUM) as screen:
        found = roles(screen.page)
        for role, name in [
            ("application", "Map"), ("combobox", "Search for places"), ("combobox", "Category"), ("search", ""),
            ("heading", "Waymark"), ("heading", "Places in view"), ("button", "Zoom in"), ("main", ""), ("banner", ""),
        ]:
            expect((role, name) in found, f"there is no {role} {name!r}")
        expect(unnamed(screen.page) == [], f"without a name: {unnamed(screen.page)}")
        screen.type_search("muse")
        screen.press("ArrowDown")
        found = roles(screen.page)
        expect(("listbox", "Suggestions") in found, "there is no list of suggestions")
        expect(any(role == "option" and name.startswith("Museum") for role, name in found), "there is no option")
        screen.press("Escape", "Escape")
        screen.open_from_list("Natural History Museum").edit()
        expect(("dialog", "Edit Natural History Museum") in roles(screen.page), "there is no dialog")
        expect(unnamed(screen.page) == [], f"without a name: {unnamed(screen.page)}")


def texts_have_enough_contrast_in_light_and_dark(pages):
    count = 0
    for scheme in ("light", "dark"):
        for size in ((1280, 800), NARROW):
            with pages.tab(MUSEUM, scheme=scheme, size=size) as screen:
                def check(what):
                    low = low_contrast(screen.page)
                    expect(not low, f"{scheme}, {what}: {low[:5]}")
                    return count_of_texts(screen.page)
                count += check("map")
                if size == NARROW:
                    screen.show_list()
                    count += check("list")
                popup = screen.open_from_list("Natural History Museum")
                count += check("popup")
                popup.edit()
                count += check("form")
                popup.close()
                screen.type_search("caf")
                screen.press("ArrowDown")
                count += check("suggestions")
    return f"{count} texts"


def the_page_fits_a_narrow_screen(pages):
    with pages.tab(MUSEUM, size=NARROW) as screen:
        expect(screen.scroll_width() <= NARROW[0], f"the page is {screen.scroll_width()} wide")
        screen.show_list()
        popup = screen.open_from_list("Natural History Museum")
        box = popup.box()
        expect(box["x"] == 0 and abs(box["y"] + box["height"] - NARROW[1]) < 1, f"the popup is at {box}")
        screen.settle()
        expect(screen.scroll_width() <= NARROW[0], f"the page is {screen.scroll_width()} wide")


def nothing_covers_suggestions(pages):
    for size in (NARROW, WIDE):
        with pages.tab(MUSEUM, size=size) as screen:
            screen.wait_for_changes()
            count = len(screen.type_search("caf"))
            expect(count > 5, f"there are {count} suggestions")
            expect(not screen.covered_suggestions(), f"covered are {screen.covered_suggestions()}")


def the_list_is_a_sheet_on_a_narrow_screen(pages):
    with pages.tab(MUSEUM, size=NARROW) as screen:
        expect(not screen.has_list(), "the list is there")
        expect(screen.element("map").bounding_box()["height"] == NARROW[1], "the map does not fill the screen")
        screen.pull_sheet(200)
        expect(screen.has_list(), "the list was not pulled up")
        screen.pull_sheet(-200)
        expect(not screen.has_list(), "the list was not pulled down")
        screen.show_list()
        screen.page.wait_for_timeout(400)
        expect(screen.has_list(), "a tap does not open the list")


def controls_are_large_enough_for_fingers(pages):
    with pages.tab(MUSEUM, size=NARROW, touch=True) as screen:
        expect(not screen.small_targets(), f"small are {screen.small_targets()}")
        screen.show_list()
        screen.page.wait_for_timeout(400)
        expect(not screen.small_targets(), f"small are {screen.small_targets()}")
        screen.open_from_list("Natural History Museum")
        expect(not screen.small_targets(), f"small are {screen.small_targets()}")


# Many places


def moving_the_map_with_many_places_is_smooth(pages):
    # A server that has not finished with former views; the page tries again.
    pages.expect_statuses(503)
    figures = []
    for zoom in (14.2, 16):
        with pages.tab(f"#map={zoom}/48.1989/16.371", calm=False) as screen:
            total = screen.total()

            def move():
                x, y = screen.middle()
                mouse = screen.page.mouse
                mouse.move(x, y)
                mouse.down()
                for step in range(60):
                    mouse.move(x + (step % 20 - 10) * 12, y + step)
                mouse.up()
            times = screen.frame_times(move)
            middle, late = times[len(times) // 2], times[len(times) * 95 // 100]
            expect(middle < FRAME_LIMIT_MS, f"half of the frames take {middle:.1f} ms and more")
            expect(not screen.overlaps(), f"there are {screen.overlaps()[:3]}")
            figures.append(f"{total} places: {middle:.1f} ms, 95 % {late:.1f} ms")
    expect(int(figures[0].split()[0]) > 9000, f"{figures}")
    return "; ".join(figures)


# Changes of others


def post(pages, **place):
    return pages.call("/locations", "POST", {"source": "check", **place}, {"Content-Type": "application/json"})


def the_map_shows_what_others_change(pages):
    pages.expect_statuses(412)
    with pages.tab("#map=16/48.25/16.6") as screen:
        screen.wait_for_changes()
        place = post(pages, sourceId="live", name="Live Café", category="cafe", lat=48.2501, long=16.6002)
        screen.wait_until(lambda: "Live Café" in screen.names(), "the new place")
        popup = screen.open_from_list("Live Café")
        before = screen.markers().first.bounding_box()
        pages.patch(place, lat=48.2515, name=HOSTILE, tags={"phone": "+43 1 234567"})
        screen.wait_until(lambda: HOSTILE in screen.names(), "the new name")
        screen.wait_until(lambda: popup.title() == HOSTILE, "the new name in the popup")
        expect("Phone" in popup.fields(), f"the fields are {popup.fields()}")
        expect(screen.page.title() != "owned", "the script of a name was run")
        screen.wait_until(lambda: screen.markers().first.bounding_box()["y"] < before["y"] - 10, "the new position")
        # A form keeps what was written, and tells of the change when it is saved.
        popup.edit().write(name="Mine")
        pages.patch(place, category="bar")
        screen.settle()
        expect(popup.is_form() and popup.value("name") == "Mine", "the form is lost")
        popup.save()
        expect("category is now" in popup.problem(), f"the problem is {popup.problem()!r}")
        popup.apply_anyway()
        pages.call(f"/locations/{place['id']}", "DELETE")
        screen.element("gone").wait_for()
        screen.wait_until(lambda: screen.names() == [], "the end of the place")


def a_lost_connection_shows_and_recovers(pages):
    with pages.browser.tab() as page:
        screen = MapScreen(pages.browser, page)
        page.route("**/changes?*", lambda route: route.abort())
        screen.open("#map=16/48.25/16.6")
        screen.wait_until(lambda: screen.live_state() == "lost", "the message", seconds=30)
        expect("lost" in screen.element("live").inner_text(), "there is no text")
        expect(not low_contrast(page), f"{low_contrast(page)}")
        place = post(pages, sourceId="meanwhile", name="Meanwhile", lat=48.25, long=16.6)
        page.unroute_all()
        screen.wait_for_changes()
        screen.wait_until(lambda: "Meanwhile" in screen.names(), "what has changed meanwhile")
        pages.call(f"/locations/{place['id']}", "DELETE")
        # Chromium reports failed requests in the console.
        pages.browser.console[:] = [line for line in pages.browser.console if "ERR_FAILED" not in line]


def a_hidden_tab_has_no_stream(pages):
    def streams():
        return len(pages.browser.pending - pages.browser.pending_requests())
    set_hidden = """(hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    with pages.tab() as screen:
        screen.wait_for_changes()
        screen.wait_until(lambda: streams() == 1, "the only stream")
        screen.page.evaluate(set_hidden, True)
        screen.wait_until(lambda: streams() == 0, "the end of the stream")
        place = post(pages, sourceId="hidden", name="While hidden", lat=48.2, long=16.37)
        screen.page.evaluate(set_hidden, False)
        screen.wait_until(lambda: streams() == 1, "the stream")
        screen.wait_until(lambda: str(len([row for row in places() if row["sourceId"].startswith("cafe-")]) + 2)
                          in screen.summary(), "the place of the time before")
        pages.call(f"/locations/{place['id']}", "DELETE")


# The operator's page


def the_operators_page_draws_the_metrics(pages):
    for scheme in ("light", "dark"):
        with pages.browser.tab(scheme=scheme) as page:
            screen = StatusScreen(pages.browser, page).open()
            screen.wait_for_samples()
            for _ in range(20):
                pages.call("/locations?lat=48&long=16")
            expect(screen.state() == "Ready", f"the state is {screen.state()!r}")
            charts = screen.charts()
            expect(len(charts) >= 5 and charts[0].startswith("Requests: "), f"the charts are {charts}")
            screen.wait_until(lambda: not screen.charts()[0].startswith("Requests: 2xx, 3xx 0/s"), "the requests")
            expect(screen.facts("store").get("Places") == str(len(places())), f"{screen.facts('store')}")
            expect(unnamed(page) == [], f"without a name: {unnamed(page)}")
            expect(not low_contrast(page), f"{scheme}: {low_contrast(page)}")
            headers = screen.response.headers
            expect("default-src 'none'" in headers["content-security-policy"], "there is no policy")


def the_operators_page_shows_the_last_hour_after_a_reload(pages):
    def hour(route):
        history = route.fetch().json()
        with urllib.request.urlopen(f"{pages.browser.url}/metrics", timeout=30) as response:
            counts = re.findall(r"^http_requests_total\{(.*)\} (\d+)$", response.read().decode(), re.MULTILINE)
        # They end with the present number of requests of others.
        own = re.compile('route="/(metrics|status/history.json|health/.*)"')
        end = sum(int(count) for labels, count in counts if re.search('status="[23]', labels) and not own.search(labels))
        series = ['http_requests_total{status="2xx"}', "process_resident_memory_bytes", HOSTILE]
        samples = [{"age": 10 * (360 - index), "values": [end - 50 * (359 - index), 5e7, None]} for index in range(360)]
        route.fulfill(json={"series": series, "samples": samples if history["samples"] else []})

    with pages.browser.tab() as page:
        screen = StatusScreen(pages.browser, page)
        page.route("**/status/history.json", hour)
        screen.open().wait_for_samples(300)
        expect("in the last 60 min" in screen.charts()[0] and "at most 5/s" in screen.charts()[0], screen.charts()[0])
        page.unroute_all()
        # Those of the server itself.
        page.reload()
        screen.wait_for_samples(2)
        size = int(page.request.get(pages.browser.url + "/status/history.json").headers.get("content-length", 0))
        return f"{size} bytes"


def the_operators_page_has_no_empty_card_and_explains_its_figures(pages):
    for size in (WIDE, NARROW):
        with pages.browser.tab(size=size) as page:
            screen = StatusScreen(pages.browser, page).open().wait_for_samples(1)
            cards = page.locator("main > section:visible")
            texts = cards.all_inner_texts()
            expect(texts and all("\n" in text.strip() for text in texts), f"the cards are {texts}")
            # Those of the tabs before end when the server notices.
            screen.wait_until(lambda: screen.facts("followers")["Streams"] == "0", "the end of streams", seconds=60)
            expect(not screen.element("pool").is_visible() and not screen.element("index").is_visible(), "there are empty cards")
            names = page.locator("button.tip:visible")
            expect(names.count() == page.locator("dt:visible, figcaption:visible").count(), "there are figures without a tip")
            for index in (0, names.count() - 1):
                names.nth(index).click()
                screen.element("tip").wait_for(state="visible")
                box = screen.element("tip").bounding_box()
                expect(box["x"] >= 0 and box["x"] + box["width"] <= size[0], f"the tip is at {box}")
                expect(not low_contrast(page), f"{low_contrast(page)}")
                screen.press("Escape")
            # The focus stays while the figures change.
            names.last.focus()
            page.wait_for_timeout(5000)
            expect(page.evaluate("() => document.activeElement.className") == "tip", "the focus is lost")
            height = page.locator(".value").first.bounding_box()["height"]
            expect(height >= 36, f"the numbers are {height} pixels high")


def an_error_of_the_operators_page_is_shown(pages):
    with pages.browser.tab() as page:
        screen = StatusScreen(pages.browser, page).open().wait_for_samples(1)
        page.evaluate("() => void Promise.reject(new Error('a test of messages'))")
        screen.wait_until(lambda: "a test of messages" in screen.element("message").inner_text(), "the message")
    pages.browser.console[:] = [line for line in pages.browser.console if "a test of messages" not in line]


def the_operators_page_lists_errors(pages):
    with pages.browser.tab(size=NARROW) as page:
        screen = StatusScreen(pages.browser, page).open().wait_for_samples(1)
        request = urllib.request.Request(f"http://127.0.0.1:{pages.port}/locations?lat=north")
        try:
            urllib.request.urlopen(request, timeout=30)
        except urllib.error.HTTPError as error:
            expect(error.code == 400, f"the status is {error.code}")
        screen.wait_until(lambda: re.search(r"400\s+GET /locations\s+\d+\s+\d", screen.errors()), "the error")
        expect(screen.scroll_width() <= NARROW[0], f"the page is {screen.scroll_width()} wide")


DATABASE_METRICS = """
database_pool_connections{state="busy"} 3
database_pool_connections{state="idle"} 5
database_pool_connections_limit 12
database_pool_waiting_calls 2
database_bulk_connections{kind="export"} 1
database_bulk_connections_limit{kind="export"} 2
database_bulk_waiting_calls{kind="export"} 0
point_index_phase{phase="following"} 1
point_index_phase{phase="building"} 0
point_index_places 1234
point_index_age_seconds 0.01
point_index_reads_total{source="index"} 99
"""
REPORT = {
    "since": "2026-11-14T10:15:00Z", "until": "2026-11-21T10:15:00Z", "searches": 7, "foundNothing": 2,
    "durationMs": {"p50": 0.25, "p99": None}, "busiestCells": [], "categories": [],
    "cellsFoundNothing": [{"lat": 48.12, "long": 16.65, "searches": 5, "foundNothing": 1}],
    "textsFoundNothing": [{"text": HOSTILE, "searches": 6, "foundNothing": 6}], "hours": [],
}


def the_operators_page_shows_the_connections_and_searches_of_a_database(pages):
    with pages.browser.tab() as page:
        screen = StatusScreen(pages.browser, page)

        def metrics(route):
            response = route.fetch()
            lines = [line for line in response.text().splitlines() if not line.startswith("memory_store_places")]
            route.fulfill(response=response, body="\n".join(lines) + DATABASE_METRICS)
        # What PostgreSQL would say; the rest is that of the server.
        page.route("**/metrics", metrics)
        page.route("**/analytics/searches*", lambda route: route.fulfill(json=REPORT))
        page.route("**/status/settings.json", lambda route: route.fulfill(
            json={"openScopes": ["read", "suggest", "write", "admin"], "hasSearches": True}))
        screen.open().wait_for_samples(1)
        pool = screen.facts("pool")
        expect((pool["Busy"], pool["Idle"], pool["Limit"], pool["Waiting calls"]) == ("3", "5", "12", "2"), f"{pool}")
        expect(pool["Exports"] == "1 of 2, 0 waiting", f"{pool}")
        store = screen.facts("store")
        expect((store["Kind"], store["Places"]) == ("PostgreSQL", "1,234"), f"{store}")
        index = screen.facts("index")
        expect((index["Phase"], index["Behind by"]) == ("following", "0.010 s"), f"{index}")
        text = screen.searches()
        expect("7 searches, of which 2 found nothing" in text and HOSTILE in text, f"the report is {text!r}")
        link = page.get_by_role("link", name="48.12, 16.65").get_attribute("href")
        expect(link == "map#map=12/48.12/16.65", f"the link is {link}")
        page.unroute_all()


def the_operators_page_does_not_list_its_own_errors(pages):
    """Those of a key without the scope of the report, and of a server that is not ready."""
    counts = {}

    def failing(status, path):
        def respond(route):
            counts[status, path] = counts.get((status, path), 0) + 1
            route.fulfill(status=status, json={"status": status, "title": "failed"})
        return respond

    def metrics(route):
        response = route.fetch()
        # One error of another client, which is shown.
        lines = [f'http_requests_total{{status="{status}",method="GET",route="{path}"}} {count + (status == 503)}'
                 for (status, path), count in counts.items()]
        route.fulfill(response=response, body="\n".join([response.text(), *lines]) + "\n")

    pages.expect_statuses(403, 503)
    with pages.browser.tab() as page:
        screen = StatusScreen(pages.browser, page)
        page.route("**/metrics", metrics)
        page.route("**/status/settings.json", lambda route: route.fulfill(
            json={"openScopes": ["read", "admin"], "hasSearches": True}))
        page.route("**/health/ready", failing(503, "/health/ready"))
        page.route("**/analytics/searches*", failing(403, "/analytics/searches"))
        screen.open().wait_for_samples(2)
        text = screen.errors()
        expect("/analytics/searches" not in text, f"the errors are {text!r}")
        expect(re.search(r"503\s+GET /health/ready\s+1\s", text), f"the errors are {text!r}")
        expect(counts[403, "/analytics/searches"] == 1, f"the calls are {counts}")
        page.unroute_all()
        # Chromium reports these responses in the console.
        pages.browser.console[:] = [line for line in pages.browser.console if not re.search("status of (403|503)", line)]


# A server with keys and a base map


def the_operators_page_causes_no_error_of_its_own(pages):
    with pages.browser.tab() as page:
        screen = StatusScreen(pages.browser, page).open()
        screen.wait_until(screen.asks_for_key, "the question for the key")
        screen.press("Escape")
        screen.wait_until(lambda: "key" in screen.element("message").inner_text(), "the message")
        expect(not any("/metrics" in request.url for request in pages.browser.requests), "there was a call without a key")
        screen.element("set-key").click()
        screen.enter_key(KEY)
        screen.wait_for_samples(1)
        expect(screen.errors() == "None since the server started.", f"the errors are {screen.errors()!r}")


def a_key_is_asked_for_where_reading_needs_one(pages):
    pages.expect_statuses(401)
    with pages.browser.tab() as page:
        screen = MapScreen(pages.browser, page)
        page.goto(pages.browser.url + "/map" + MUSEUM)
        screen.wait_until(screen.asks_for_key, "the question for the key")
        screen.enter_key(KEY)
        screen.settle()
        expect("Café 12" in screen.names(), f"the list is {screen.names()}")
        expect(page.evaluate("() => sessionStorage.length") == 1, "the key is not in the tab's storage")
        expect(page.evaluate("() => localStorage.length") == 0, "the key is stored for longer than the tab")
        expect("$KEY" in screen.curl() and KEY not in screen.curl(), "the command shows the key")
        page.reload()
        screen.settle()
        expect("Café 12" in screen.names(), f"the list is {screen.names()}")
        popup = screen.open_from_list("Café 12").edit().write(name="Café Twelve").save()
        expect(popup.title() == "Café Twelve", f"the title is {popup.title()!r}")


def the_base_map_is_shown_with_its_attribution(pages):
    pages.expect_statuses(401)
    with pages.browser.tab() as page:
        screen = MapScreen(pages.browser, page)
        page.goto(pages.browser.url + "/map" + VIENNA)
        screen.wait_until(screen.asks_for_key, "the question for the key")
        screen.enter_key(KEY)
        screen.settle()
        expect("© The Tile Makers" in screen.element("attribution").inner_text(), "there is no attribution")
        shown = page.locator("#map img").count()
        expect(shown >= 12, f"{shown} tiles are shown")
        expect(all(re.fullmatch(r"/\d+/\d+/\d+\.png", path) for path, _ in Tiles.paths), f"{Tiles.paths[:3]}")
        expect(all(referrer == pages.browser.url + "/" for _, referrer in Tiles.paths), f"{Tiles.paths[:3]}")
    return f"{shown} tiles"


# Servers with a file of tiles


def the_images_of_a_file_are_drawn_over_the_built_in_map(pages):
    with pages.tab("#map=9/48.2/16.37") as screen:
        shown = screen.page.locator("#map img").count()
        expect(shown >= 4, f"{shown} tiles are shown")
        loaded = screen.page.evaluate("() => [...document.querySelectorAll('#map img')].every((image) => image.naturalWidth)")
        expect(loaded, "there are images that were not loaded")
        link = screen.page.get_by_role("link", name="© Makers of Tiles").get_attribute("href")
        expect(link == "https://example.com/copyright", f"the link is {link}")
        expect(screen.page.locator("#map canvas").count() == 1, "the built-in map is not below")
    # Beyond the last level its images are enlarged, and below the first there are none.
    with pages.tab("#map=12/48.2/16.37") as screen:
        expect(screen.page.locator("#map img").count() >= 1, "there are no tiles")
        expect(not screen.element("hint").is_visible(), "there is a hint")
    with pages.tab("#map=2/48.2/16.37") as screen:
        expect(screen.page.locator("#map img").count() == 0, "there are tiles")
    return f"{shown} tiles"


def a_file_of_broken_images_leaves_the_built_in_map(pages):
    with pages.tab("#map=9/48.2/16.37") as screen:
        expect(screen.page.locator("#map canvas").count() == 1, "the built-in map is not below")
        expect(not screen.message(), f"the message is {screen.message()!r}")
        expect(screen.total() > 20 and screen.clusters().count(), screen.summary())
        broken = "(nodes) => nodes.filter((node) => node.checkVisibility({ visibilityProperty: true })).length"
        shown = screen.page.eval_on_selector_all("#map img", broken)
        expect(shown == 0, f"{shown} images are shown as broken")


OPEN_CHECKS = [
    the_page_loads_with_a_policy_and_paints_soon, the_mouse_a_finger_and_arrow_keys_move_the_map,
    the_map_zooms_in_every_way, motion_ends_where_the_view_without_motion_is, clusters_open_and_their_counts_add_up,
    the_antimeridian_is_crossed, the_address_has_the_view_and_the_filters,
    the_command_for_curl_returns_the_places_in_view, an_area_and_a_route_are_drawn,
    a_named_area_that_a_search_names_is_drawn,
    the_request_is_shown_in_four_languages, the_built_in_map_has_land_and_water,
    the_built_in_map_ends_where_it_is_not_accurate, an_error_of_the_page_is_shown, symbols_and_names_do_not_overlap, the_search_suggests_and_opens_a_place_with_the_keyboard,
    suggestions_of_one_name_differ_by_address_and_distance,
    escape_closes_suggestions_first_and_then_clears_the_text, a_category_is_suggested_and_chosen,
    a_text_shows_its_matches_alone_and_moves_to_them, the_category_filters_the_map, the_list_is_limited_to_open_places,
    the_popup_has_the_state_and_the_hours_of_the_week,
    the_popup_has_all_fields_and_a_link, the_popup_has_what_people_want_first, the_selected_place_stays_in_view,
    places_at_one_position_are_chosen_from_a_list, a_marker_opens_the_popup, a_hostile_place_is_shown_as_text,
    changes_are_dropped_only_on_request, a_place_is_edited_with_the_keyboard_alone, tags_are_added_and_removed,
    a_place_is_dragged_and_moved_with_arrow_keys,
    a_conflict_is_explained_and_the_change_applied_to_the_current_place, an_invalid_place_is_explained,
    a_place_is_created_and_deleted, suggested_edits_are_reviewed_with_the_keyboard_alone,
    conflicts_of_edits_with_their_source_are_decided,
    everything_is_reached_with_tab_in_the_order_of_the_page,
    roles_and_names_are_in_the_accessibility_tree, texts_have_enough_contrast_in_light_and_dark,
    the_page_fits_a_narrow_screen, nothing_covers_suggestions, the_list_is_a_sheet_on_a_narrow_screen, controls_are_large_enough_for_fingers,
    the_map_shows_what_others_change, a_lost_connection_shows_and_recovers, a_hidden_tab_has_no_stream,
    the_operators_page_draws_the_metrics, the_operators_page_lists_errors,
    the_operators_page_shows_the_last_hour_after_a_reload,
    the_operators_page_has_no_empty_card_and_explains_its_figures, an_error_of_the_operators_page_is_shown,
    the_operators_page_shows_the_connections_and_searches_of_a_database,
    the_operators_page_does_not_list_its_own_errors,
    *DOCUMENT_CHECKS,
]
# The first one is on a server that has had no other requests.
KEY_CHECKS = [
    the_operators_page_causes_no_error_of_its_own, a_key_is_asked_for_where_reading_needs_one, the_base_map_is_shown_with_its_attribution,
]

CROWD_CHECKS = [*BUDGET_CHECKS, moving_the_map_with_many_places_is_smooth]
FILE_CHECKS = [the_images_of_a_file_are_drawn_over_the_built_in_map]
BROKEN_CHECKS = [a_file_of_broken_images_leaves_the_built_in_map]


def tiles_around_vienna():
    """Returns the addresses of tiles of zoom levels 8 to 10 around Vienna."""
    return [(zoom, x, y) for zoom in (8, 9, 10)
            for x in range(138 << zoom - 8, 141 << zoom - 8) for y in range(87 << zoom - 8, 90 << zoom - 8)]


ATTRIBUTION = '<a href="https://example.com/copyright">&copy; Makers of Tiles</a>'


def write_mbtiles(path, image=ONE_PIXEL):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE metadata (name TEXT, value TEXT)")
        database.execute(
            "CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB)")
        metadata = {"name": "check", "format": "png", "minzoom": "8", "maxzoom": "10", "attribution": ATTRIBUTION}
        database.executemany("INSERT INTO metadata VALUES (?, ?)", metadata.items())
        database.executemany("INSERT INTO tiles VALUES (?, ?, ?, ?)", [
            (zoom, x, (1 << zoom) - 1 - y, image) for zoom, x, y in tiles_around_vienna()])
        database.commit()


def write_pmtiles(path):
    """Writes a file with the writer of the format's makers."""
    from pmtiles.tile import Compression, TileType, zxy_to_tileid
    from pmtiles.writer import Writer
    with open(path, "wb") as file:
        writer = Writer(file)
        for tile in sorted(zxy_to_tileid(*address) for address in tiles_around_vienna()):
            writer.write_tile(tile, ONE_PIXEL)
        writer.finalize({
            "tile_type": TileType.PNG, "tile_compression": Compression.NONE, "min_zoom": 8, "max_zoom": 10,
            "min_lon_e7": 140000000, "min_lat_e7": 470000000, "max_lon_e7": 183000000, "max_lat_e7": 495000000,
            "center_zoom": 9, "center_lon_e7": 163700000, "center_lat_e7": 482000000,
        }, {"attribution": ATTRIBUTION})


def check_server(program, environment, checks, tiles=None):
    """Runs checks on a server of its own, and returns the number of failures."""
    server = Waymark(program, environment)
    server.start()
    try:
        server.wait_until_ready()
        with browsing(f"http://127.0.0.1:{server.port}") as browser:
            pages = Pages(browser, server.port)
            if tiles:
                browser.allowed_hosts.add(f"127.0.0.1:{tiles}")
            pages.run(checks)
            return pages.failures
    finally:
        server.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True, help="the program")
    parser.add_argument("--only", default="", help="run the checks whose names have this text")
    options = parser.parse_args()
    words = options.only.replace(" ", "_")
    selected = [[check for check in checks if words in check.__name__]
                for checks in (OPEN_CHECKS, KEY_CHECKS, CROWD_CHECKS, FILE_CHECKS, FILE_CHECKS, BROKEN_CHECKS)]
    tiles = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tiles)
    threading.Thread(target=tiles.serve_forever, daemon=True).start()
    failures = 0
    with temporary_folder("waymark-map.") as folder:
        data = folder / "places.ndjson"
        data.write_text("".join(json.dumps(place) + "\n" for place in places()))
        keys = folder / "keys"
        keys.write_text(f"check:write:{hashlib.sha256(KEY.encode()).hexdigest()}\n")
        with_keys = {
            "DATA_FILE": str(data), "API_KEYS_FILE": str(keys), "READ_REQUIRES_KEY": "true",
            "MAP_TILES_URL": f"http://127.0.0.1:{tiles.server_port}/{{z}}/{{x}}/{{y}}.png",
            "MAP_TILES_ATTRIBUTION": "© The Tile Makers https://tiles.example.com/copyright",
        }
        many = folder / "crowd.ndjson"
        many.write_text("".join(json.dumps(place) + "\n" for place in crowd()))
        write_mbtiles(folder / "check.mbtiles")
        write_mbtiles(folder / "broken.mbtiles", ONE_PIXEL[:30] + b"torn")
        write_pmtiles(folder / "check.pmtiles")
        servers = [({"DATA_FILE": str(data)}, None), (with_keys, tiles.server_port), ({"DATA_FILE": str(many)}, None)]
        for name in ("check.mbtiles", "check.pmtiles", "broken.mbtiles"):
            servers.append(({"DATA_FILE": str(data), "MAP_TILES_FILE": str(folder / name)}, None))
        for (environment, port), checks in zip(servers, selected):
            if checks:
                failures += check_server(options.waymark, environment, checks, port)
    print(f"{sum(map(len, selected)) - failures} of {sum(map(len, selected))} checks passed")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
