"""Checks of the pages beside the map, those of the API and of features, and of what all pages share: languages, budgets,
and what happens where scripts fail or storage is denied."""

import json
import subprocess

from map_accessibility import low_contrast, unnamed, violations
from map_pages import HOSTILE, NARROW, MapScreen, Screen, expect

ITEMS = "/ogc/collections/places/items"
# Each page with a word that is in it, once its scripts have run, by language.
PAGES = {
    "/map": {"en": "Open now", "ko": "영업 중", "de": "Jetzt geöffnet"},
    "/status": {"en": "Running for", "ko": "실행 시간", "de": "Läuft seit"},
    "/docs": {"en": "Find a call", "ko": "호출 찾기", "de": "Aufruf suchen"},
    f"{ITEMS}?f=html": {"en": "Next page", "ko": "다음 페이지", "de": "Nächste Seite"},
}
# The calls whose example can't be tried on a server of the check: nothing of the kind exists, or the server has none.
WITHOUT_RESULT = {"getArea", "getWebhook", "listWebhooks", "getImageTile", "getSearchReport"}
# Media without an example: what they have is not read by people, or is a page.
WITHOUT_EXAMPLE = {"application/vnd.mapbox-vector-tile", "application/vnd.sqlite3", "image/png", "text/html"}
ARABIC, HEBREW = "مقهى فيشاوي", "תיאטרון הבימה"
# Requests, bytes, milliseconds to the first paint and of the main thread, which other programs on the machine slow down.
BUDGETS = {"/map": (60, 900_000), "/status": (25, 300_000), "/docs": (15, 400_000), f"{ITEMS}?f=html": (45, 900_000)}
PAINT_LIMIT_MS = 1000


class DocumentationScreen(Screen):
    """The page of the API."""

    path = "/docs"

    def open(self, fragment=""):
        super().open(fragment)
        self.calls().first.wait_for()
        return self

    def calls(self):
        return self.page.locator(".call")

    def call(self, operation):
        """Opens a call, and returns its element."""
        node = self.element(operation)
        if node.get_attribute("open") is None:
            node.locator("summary").first.click()
        node.locator("form").wait_for()
        self.wait_until(lambda: not self.browser.pending_requests(), "the ids")
        return node

    @staticmethod
    def request(node):
        return node.locator("pre").first.inner_text()

    @staticmethod
    def example(node):
        return node.locator("h3 + pre").last.inner_text()

    def send(self, node):
        """Sends the request of a call, and returns the status of the response."""
        node.get_by_role("button", name="Send").click()
        status = node.locator("[role=status].ok, [role=status].failed, [role=alert]")
        status.wait_for()
        return status.inner_text()


# The page of the API


def the_page_of_the_api_groups_calls_in_light_and_dark(pages):
    tags = [tag["name"] for tag in pages.call("/openapi.json")["tags"]]
    grounds = set()
    for scheme in ("light", "dark"):
        for size in ((1200, 800), NARROW):
            with pages.browser.tab(scheme=scheme, size=size) as page:
                screen = DocumentationScreen(pages.browser, page).open()
                expect(page.locator("#calls h2").all_inner_texts() == tags, "the groups are others")
                screen.call("listLocations")
                screen.call("createLocation")
                expect(not low_contrast(page), f"{scheme}: {low_contrast(page)[:5]}")
                expect(unnamed(page) == [], f"without a name: {unnamed(page)}")
                expect(screen.scroll_width() <= size[0], f"the page is {screen.scroll_width()} wide")
                grounds.add(page.evaluate("() => getComputedStyle(document.body).backgroundColor"))
                screen.element("filter").fill("cluster")
                expect(screen.element("listLocations").is_hidden(), "a call is shown that does not match")
                expect(screen.element("getClusters").is_visible(), "the call that matches is not shown")
                screen.element("filter").fill("nothing like that")
                expect(screen.element("state").inner_text() == "No call matches.", "there is no explanation")
    expect(len(grounds) == 2, f"the backgrounds are {grounds}")


def every_call_has_an_example_and_reading_works_as_it_is(pages):
    # Those of the calls without a result.
    pages.expect_statuses(404, 501)
    document = pages.call("/openapi.json")
    count = 0
    with pages.browser.tab() as page:
        screen = DocumentationScreen(pages.browser, page).open()
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                name = operation["operationId"]
                if path.endswith((".css", ".js")):
                    continue
                node = screen.call(name)
                success = next(status for status in operation["responses"] if status.startswith("2"))
                media = operation["responses"][success].get("content", {})
                example = screen.example(node)
                expect(example.startswith(success), f"{name} has the example {example!r}")
                kind = next(iter(media), "").split(";")[0]
                if kind.endswith(("/json", "+json")):
                    json.loads(example.split("\n", 1)[1])
                expect(not media or "\n" in example or kind in WITHOUT_EXAMPLE, f"{name} has no example")
                expect(path.split("{")[0] in screen.request(node), f"{name} has the request {screen.request(node)}")
                if method == "get" and name not in WITHOUT_RESULT:
                    status = screen.send(node)
                    expect(status[:1] == "2", f"{name} returned {status}")
                    count += 1
                node.locator("summary").first.click()
    return f"{count} calls"


def a_place_is_created_changed_and_deleted_as_the_page_suggests(pages):
    with pages.browser.tab() as page:
        screen = DocumentationScreen(pages.browser, page).open()
        for operation, status in (("createLocation", "201"), ("changeLocation", "200"), ("deleteLocation", "204")):
            found = screen.send(screen.call(operation))
            expect(found.startswith(status), f"{operation} returned {found}")


def curl_has_what_was_filled_in(pages):
    with pages.browser.tab() as page:
        screen = DocumentationScreen(pages.browser, page).open()
        node = screen.call("listLocations")
        node.locator("details.more summary").first.click()
        node.locator("[data-name=q]").fill("Natural's \"History\" Museum")
        node.locator("[data-name=limit]").fill("3")
        command = screen.request(node)
        output = subprocess.run(["bash", "-c", command.replace("curl -i", "curl -s")], capture_output=True, text=True)
        found = json.loads(output.stdout)
        expect(found and found[0]["name"] == "Natural History Museum", f"{command} returned {found}")
        expect(screen.send(node).startswith("200"), "the request failed")
        expect("Natural History Museum" in node.inner_text(), "the response is not shown")
        node.locator("[data-name=q]").fill(HOSTILE)
        screen.send(node)
        node.locator("[data-name=q]").fill("")
        node.locator("[data-name=bbox]").fill("16,48.25,16.2,48.35")
        screen.send(node)
        screen.wait_until(lambda: HOSTILE.split("'")[0] in node.inner_text().replace('\\"', '"'), "the hostile place")
        expect(page.title() != "owned", "a script of a name has run")


# The pages of features


def the_pages_of_features_have_a_map_in_light_and_dark(pages):
    grounds = set()
    place = pages.place("hostile")
    for scheme in ("light", "dark"):
        for size in ((1200, 800), NARROW):
            with pages.browser.tab(scheme=scheme, size=size) as page:
                screen = Screen(pages.browser, page)
                for path in ("/ogc", "/ogc/collections/places", ITEMS, f"{ITEMS}/{place['id']}"):
                    page.goto(pages.browser.url + path + "?f=html")
                    page.wait_for_load_state("networkidle")
                    if path.startswith(ITEMS):
                        expect(page.locator("#map .marker").count() >= 1, f"{path} has no markers")
                        expect("Natural Earth" in screen.element("attribution").inner_text(), "there is no attribution")
                    expect(not low_contrast(page), f"{scheme} {path}: {low_contrast(page)}")
                    expect(unnamed(page) == [], f"without a name: {unnamed(page)}")
                    expect(screen.scroll_width() <= size[0], f"{path} is {screen.scroll_width()} wide")
                expect(page.title() != "owned" and HOSTILE in page.locator("h1").inner_text(), "the name is not a text")
                grounds.add(page.evaluate("() => getComputedStyle(document.body).backgroundColor"))
    expect(len(grounds) == 2, f"the backgrounds are {grounds}")
    with pages.browser.tab() as page:
        page.goto(f"{pages.browser.url}{ITEMS}?f=html&category=museum")
        page.locator("#map .marker.symbol").click()
        page.wait_for_url(lambda url: pages.place("museum")["id"] in url)
        expect(page.locator("h1").inner_text() == "Natural History Museum", "the page of the place is not shown")


# All pages


def all_pages_are_in_english_korean_and_german(pages):
    for language in ("en-GB", "ko-KR", "de-AT", "fr-FR"):
        short = {"fr": "en"}.get(language[:2], language[:2])
        for path, words in PAGES.items():
            for size in ((1200, 800), NARROW):
                with pages.browser.tab(size=size, locale=language) as page:
                    screen = Screen(pages.browser, page)
                    page.goto(pages.browser.url + path)
                    word = words[short]
                    screen.wait_until(lambda: word in page.locator("body").inner_text(), f"{word} in {path}")
                    expect(page.evaluate("() => document.documentElement.lang") == short, f"{path} is in another language")
                    expect(screen.scroll_width() <= size[0], f"{path} in {language} is {screen.scroll_width()} wide")
                    expect(unnamed(page) == [], f"{path} has without a name: {unnamed(page)}")
    with pages.tab("#map=15/48.2052/16.3599", locale="de-AT") as screen:
        popup = screen.open_from_list("Natural History Museum")
        expect({"Position", "Geändert", "Namensnennung"} & set(popup.fields()), f"{popup.fields()}")
        popup.edit().write(name="")
        screen.browser.answers.append(True)
        popup.close()
        expect(screen.browser.questions[-1] == "Änderungen verwerfen?", f"{screen.browser.questions}")


def axe_finds_no_violation(pages):
    count = 0

    def check(what):
        nonlocal count
        found, passed = violations(page)
        expect(not found, f"{what}: {found}")
        expect(passed > 10, f"{what}: only {passed} rules apply")
        count += passed

    for scheme in ("light", "dark"):
        for size in ((1200, 800), NARROW):
            with pages.browser.tab(scheme=scheme, size=size) as page:
                for path in PAGES:
                    page.goto(pages.browser.url + path)
                    page.wait_for_load_state("load")
                    page.wait_for_timeout(500)
                    check(f"{scheme} {size} {path}")
                screen = DocumentationScreen(pages.browser, page).open()
                screen.send(screen.call("listLocations"))
                check(f"{scheme} {size} a call")
                screen.element("set-key").click()
                check(f"{scheme} {size} the question for the key")
            with pages.tab("#map=15/48.2052/16.3599", scheme=scheme, size=size) as screen:
                page = screen.page
                if size == NARROW:
                    screen.show_list()
                popup = screen.open_from_list("Natural History Museum")
                check(f"{scheme} {size} the popup")
                popup.edit()
                check(f"{scheme} {size} the form")
                popup.close()
                screen.type_search("caf")
                check(f"{scheme} {size} suggestions")
    return f"{count} rules passed"


def names_from_right_to_left_are_written_so(pages):
    directions = "(nodes) => nodes.map((node) => [node.textContent, getComputedStyle(node).direction])"
    with pages.tab("#map=13/30.04/31.24") as screen:
        expect(set(screen.names()) == {ARABIC, HEBREW}, f"the list is {screen.names()}")
        for nodes in ("#list .name", "#map .marker span"):
            found = dict(screen.page.eval_on_selector_all(nodes, directions))
            expect(found == {ARABIC: "rtl", HEBREW: "rtl"}, f"{nodes} has {found}")
        screen.open_from_list(ARABIC)
        found = screen.page.eval_on_selector_all("#popup-title, #popup dd", directions)
        expect([ARABIC, "rtl"] in found and ["شارع المعز", "rtl"] in found, f"the popup has {found}")
        screen.type_search("مقهى")
        found = screen.page.eval_on_selector_all("#suggestions [dir]", directions)
        expect([ARABIC, "rtl"] in found, f"the suggestions are {found}")
    with pages.browser.tab() as page:
        page.goto(f"{pages.browser.url}{ITEMS}?f=html&name={ARABIC}")
        found = page.eval_on_selector_all("main a[data-lat]", directions)
        expect([ARABIC, "rtl"] in found, f"the list of features is {found}")


def pages_work_where_storage_is_denied(pages):
    denied = """for (const name of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });
    }"""
    for path, words in PAGES.items():
        with pages.browser.tab() as page:
            page.add_init_script(denied)
            screen = Screen(pages.browser, page)
            page.goto(pages.browser.url + path)
            screen.wait_until(lambda: words["en"] in page.locator("body").inner_text(), f"{words['en']} in {path}")
            expect(not screen.element("message").is_visible(), f"{path} shows {screen.element('message').inner_text()}")
            if screen.element("set-key").count():
                screen.element("set-key").click()
                expect("the key is lost" in screen.element("key-note").inner_text(), "there is no explanation")
                with page.expect_request(lambda request: request.headers.get("authorization") == "Bearer abc"):
                    screen.enter_key("abc")
                    if path == "/docs":
                        DocumentationScreen(pages.browser, page).call("getIndex").get_by_role("button", name="Send").click()


def failures_of_scripts_are_shown(pages):
    before = len(pages.browser.console)
    for path, script in (("/map", "map/live.js"), ("/status", "pages/common.js"), ("/docs", "docs/page.js"),
                         (f"{ITEMS}?f=html", "map/symbols.js"), ("/map", "pages/texts.json")):
        for body in (None, "this is no script(", "throw new Error('out of ink')"):
            with pages.browser.tab() as page:
                page.route(f"**/{script}", lambda route: route.abort() if body is None else route.fulfill(
                    body=body, content_type="text/javascript"))
                page.goto(pages.browser.url + path)
                message = page.locator("#message")
                message.wait_for(state="visible")
                expect("has failed" in message.inner_text(), f"{path} without {script} shows {message.inner_text()!r}")
    del pages.browser.console[before:]


def all_pages_keep_their_budgets(pages):
    figures = []
    for path, (most_requests, most_bytes) in BUDGETS.items():
        with pages.browser.tab() as page:
            # Each tab has an empty cache.
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable")
            session.send("Network.enable")
            sizes = []
            session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
            screen = Screen(pages.browser, page)
            page.goto(pages.browser.url + path)
            page.wait_for_timeout(3000)
            paint = screen.first_paint_milliseconds()
            metrics = {entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]}
            work, script = metrics["TaskDuration"] * 1000, metrics["ScriptDuration"] * 1000
            figures.append(f"{path}: {len(sizes)} requests, {sum(sizes):,.0f} bytes, first paint {paint:.0f} ms, "
                           f"main thread {work:.0f} ms of which scripts {script:.0f} ms")
            expect(len(sizes) <= most_requests and sum(sizes) <= most_bytes, figures[-1])
            expect(paint < PAINT_LIMIT_MS, figures[-1])
    return "\n          ".join(["", *figures])


CHECKS = [
    the_page_of_the_api_groups_calls_in_light_and_dark, every_call_has_an_example_and_reading_works_as_it_is,
    a_place_is_created_changed_and_deleted_as_the_page_suggests, curl_has_what_was_filled_in,
    the_pages_of_features_have_a_map_in_light_and_dark, all_pages_are_in_english_korean_and_german,
    axe_finds_no_violation, names_from_right_to_left_are_written_so, pages_work_where_storage_is_denied,
    failures_of_scripts_are_shown,
]
BUDGET_CHECKS = [all_pages_keep_their_budgets]
