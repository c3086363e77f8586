"""Page objects of the service's web pages for scripts that drive a browser.

A check says what a user does; which elements that needs is known here alone, so that a change of layout touches one
place. Elements are found by stable identifiers: their `id`, and for repeated ones `data-testid`.
"""

import contextlib
import re
import shutil
import urllib.parse

from playwright.sync_api import TimeoutError as Timeout
from playwright.sync_api import sync_playwright

HOSTILE = '<img src=x onerror="document.title=\'owned\'">'
WIDE = (1280, 800)
NARROW = (390, 780)


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


class Browser:
    """A headless Chromium. It records what pages write to the console and which other hosts they call."""

    def __init__(self, playwright, url):
        self.url = url
        self.host = urllib.parse.urlsplit(url).netloc
        self.allowed_hosts = {self.host}
        # Chromium's own sandbox needs privileges that containers lack; the pages are those of the server under test.
        self.browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        self.console = []
        self.foreign_requests = []
        self.requests = []
        self.pending = set()
        # The answers to the next questions of pages, and the questions that were answered.
        self.answers = []
        self.questions = []

    @contextlib.contextmanager
    def tab(self, size=WIDE, scheme="light", calm=True, touch=False, locale="en-GB"):
        context = self.browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, has_touch=touch, locale=locale,
            reduced_motion="reduce" if calm else "no-preference")
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: self.console.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.console.append(f"error: {error}"))
        page.on("dialog", self.answer)
        page.on("request", self.record)
        page.on("requestfinished", lambda request: self.pending.discard(request))
        page.on("requestfailed", lambda request: self.pending.discard(request))
        try:
            yield page
        finally:
            context.close()
            self.pending.clear()

    def answer(self, dialog):
        if dialog.type == "confirm" and self.answers:
            self.questions.append(dialog.message)
            (dialog.accept if self.answers.pop(0) else dialog.dismiss)()
        else:
            self.console.append(f"dialog: {dialog.message}")
            dialog.dismiss()

    def record(self, request):
        self.requests.append(request)
        self.pending.add(request)
        parts = urllib.parse.urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc not in self.allowed_hosts:
            self.foreign_requests.append(request.url)

    def pending_requests(self):
        """Returns the requests without a response, other than streams, which have no end."""
        return {request for request in self.pending if urllib.parse.urlsplit(request.url).path != "/changes"}

    def last_request(self, method):
        return next(request for request in reversed(self.requests) if request.method == method)


@contextlib.contextmanager
def browsing(url):
    """Starts a browser for the pages of a server."""
    with sync_playwright() as playwright:
        browser = Browser(playwright, url)
        try:
            yield browser
        finally:
            browser.browser.close()


class Screen:
    """A page with its elements by identifier."""

    path = "/"

    def __init__(self, browser, page):
        self.browser = browser
        self.page = page

    def element(self, identifier):
        return self.page.locator(f"#{identifier}")

    def elements(self, identifier):
        return self.page.locator(f"[data-testid={identifier}]")

    def open(self, fragment=""):
        self.response = self.page.goto(self.browser.url + self.path + fragment)
        return self

    def wait_until(self, condition, what, seconds=10):
        """Waits until a function of the page object returns a value that is true, and returns it."""
        for _ in range(int(seconds * 20)):
            value = condition()
            if value:
                return value
            self.page.wait_for_timeout(50)
        raise AssertionError(f"not within {seconds} s: {what}")

    def first_paint_milliseconds(self):
        return self.wait_until(
            lambda: self.page.evaluate(
                "() => performance.getEntriesByName('first-contentful-paint').map((entry) => entry.startTime)[0]"),
            "first paint")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def enter_key(self, key):
        self.element("key").fill(key)
        self.element("key-save").click()

    def asks_for_key(self):
        return self.element("key-dialog").is_visible()

    def focused(self):
        """Returns the identifier of the focused element, or else its `data-testid` or its tag."""
        return self.page.evaluate(
            "() => { const node = document.activeElement;"
            " return node.id || node.dataset.testid || node.tagName.toLowerCase(); }")

    def scroll_width(self):
        return self.page.evaluate("() => document.documentElement.scrollWidth")


class MapScreen(Screen):
    """The map page."""

    path = "/map"

    # The view

    def open(self, fragment=""):
        super().open(fragment)
        self.settle()
        return self

    def view(self):
        """Returns zoom, latitude and longitude of the view, from its address."""
        match = re.search(r"#map=([-\d.]+)/([-\d.]+)/([-\d.]+)", self.page.url)
        return tuple(float(text) for text in match.groups()) if match else None

    def settle(self):
        """Waits until the view has come to rest and its places are there."""
        last = None
        for _ in range(200):
            self.page.wait_for_timeout(200)
            now = (self.page.url, self.summary())
            if now == last and not self.browser.pending_requests() and "Loading" not in now[1]:
                return
            last = now
        raise AssertionError("the map did not come to rest")

    def summary(self):
        return self.element("summary").inner_text()

    def total(self):
        """Returns the number of places in view that the summary states."""
        match = re.search(r"([\d,]+) places? in view", self.summary())
        return int(match[1].replace(",", "")) if match else 0

    def live_state(self):
        """Returns whether changes are followed: `live`, `lost` or `off`."""
        return self.element("live").get_attribute("data-state")

    def wait_for_changes(self):
        self.wait_until(lambda: self.live_state() == "live", "the stream of changes", seconds=30)
        self.settle()
        return self

    def message(self):
        node = self.element("message")
        return node.inner_text() if node.is_visible() else ""

    def middle(self):
        box = self.element("map").bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    # Moving and zooming

    def drag(self, right, down):
        x, y = self.middle()
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        for part in range(1, 6):
            mouse.move(x + right * part / 5, y + down * part / 5)
        mouse.up()
        self.settle()

    def wheel(self, pixels):
        self.page.mouse.move(*self.middle())
        self.page.mouse.wheel(0, pixels)
        self.settle()

    def double_click(self):
        x, y = self.middle()
        # Away from the places in the middle.
        self.page.mouse.dblclick(x - 200, y + 200)
        self.settle()

    def touch(self, *paths):
        """Moves fingers along paths of points relative to the middle, all at the same time."""
        session = self.page.context.new_cdp_session(self.page)
        x, y = self.middle()
        points = [[{"x": x + a, "y": y + b, "id": index} for a, b in path] for index, path in enumerate(paths)]
        steps = list(zip(*points))
        for index, step in enumerate(steps):
            kind = "touchStart" if index == 0 else "touchMove"
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(step)})
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        self.settle()

    def keys(self, *keys):
        self.element("map").focus()
        self.press(*keys)
        self.settle()

    def click(self, identifier):
        self.element(identifier).click()
        self.settle()

    # Markers and the list

    def clusters(self):
        return self.elements("cluster")

    def markers(self):
        return self.elements("marker")

    def open_cluster(self):
        """Opens the cluster that no other covers."""
        self.clusters().last.click()
        self.settle()

    def names(self):
        """Returns the names of the places in the list."""
        return self.elements("place-item").locator(".name").all_inner_texts()

    def item(self, name):
        return self.elements("place-item").filter(has=self.page.get_by_text(name, exact=True)).first

    def open_from_list(self, name):
        self.item(name).click()
        return self.popup()

    def show_list(self):
        self.element("toggle-list").click()

    def pull_sheet(self, up):
        """Pulls the sheet of the list by its handle with the mouse."""
        box = self.element("toggle-list").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        for part in range(1, 6):
            mouse.move(x, y - up * part / 5)
        mouse.up()
        self.page.wait_for_timeout(400)

    def has_list(self):
        return self.elements("place-item").first.is_visible() and self.element("places").bounding_box()["height"] > 200

    def overlaps(self, with_areas=False):
        """Returns pairs of symbols and names, and of names of areas, that overlap by more than two pixels."""
        return self.page.evaluate("""(areas) => {
          const drawn = "#map .symbol, #map .circle, #map .labelled span" + areas;
          const boxes = [...document.querySelectorAll(drawn)].map((node) =>
            ({ text: node.textContent, box: node.getBoundingClientRect(), marker: node.closest(".marker") ?? node }));
          const depth = (name, a, b) => Math.min(a.box[name[1]], b.box[name[1]]) - Math.max(a.box[name[0]], b.box[name[0]]);
          const apart = (a, b) => Math.hypot(a.box.x - b.box.x + (a.box.width - b.box.width) / 2,
            a.box.y - b.box.y + (a.box.height - b.box.height) / 2);
          const isRound = ({ marker, box }) => marker.matches(".marker") && box.width === marker.getBoundingClientRect().width;
          const isOver = (a, b) => a.marker !== b.marker && depth(["left", "right"], a, b) > 2
            && depth(["top", "bottom"], a, b) > 2
            && !(isRound(a) && isRound(b) && apart(a, b) > (a.box.width + b.box.width) / 2 - 2);
          return boxes.flatMap((a, index) => boxes.slice(index + 1).filter((b) => isOver(a, b)).map((b) => [a.text, b.text]));
        }""", ", #map .areas text" if with_areas else "")

    def covered_suggestions(self):
        """Returns the suggestions that something else covers, at one of five points of each."""
        return self.page.evaluate("""() => {
          // Also by what lets clicks through.
          const style = new CSSStyleSheet();
          style.insertRule("* { pointer-events: auto !important }");
          document.adoptedStyleSheets.push(style);
          const points = [[.5, .5], [.05, .2], [.95, .2], [.05, .8], [.95, .8]];
          const covered = [...document.querySelectorAll("#suggestions li")].filter((node) => {
            const { left, top, width, height } = node.getBoundingClientRect();
            return !points.every(([right, down]) =>
              node.contains(document.elementFromPoint(left + right * width, top + down * height)));
          });
          document.adoptedStyleSheets.pop();
          return covered.map((node) => node.textContent);
        }""")

    def names_on_map(self):
        return self.page.locator("#map .labelled span").all_inner_texts()

    def ground(self, right, down):
        """Returns the most frequent colour of the built-in map around a point relative to the middle, as red, green, blue."""
        return self.page.evaluate("""([right, down]) => {
          const canvas = document.querySelector("#map canvas");
          const x = canvas.width / 2 + right * canvas.width / canvas.clientWidth;
          const y = canvas.height / 2 + down * canvas.height / canvas.clientHeight;
          const copy = new OffscreenCanvas(24, 24).getContext("2d", { willReadFrequently: true });
          copy.drawImage(canvas, 12 - x, 12 - y);
          const pixels = copy.getImageData(0, 0, 24, 24).data;
          const counts = new Map();
          for (let index = 0; index < pixels.length; index += 4) {
            const colour = pixels.slice(index, index + 3).join();
            counts.set(colour, (counts.get(colour) || 0) + 1);
          }
          return [...counts].sort((a, b) => b[1] - a[1])[0][0].split(",").map(Number);
        }""", [right, down])

    def frame_times(self, action):
        """Returns the times between frames in milliseconds, in their order of length, while an action takes place."""
        self.page.evaluate("""() => {
          window.frameTimes = [];
          let last = performance.now();
          const next = (now) => {
            window.frameTimes.push(now - last);
            last = now;
            window.frameRequest = requestAnimationFrame(next);
          };
          window.frameRequest = requestAnimationFrame(next);
        }""")
        action()
        return sorted(self.page.evaluate("() => { cancelAnimationFrame(frameRequest); return frameTimes.slice(1); }"))

    def small_targets(self):
        """Returns the controls that are visible and less than 44 pixels high or wide, with their sizes."""
        return self.page.evaluate("""() => [...document.querySelectorAll("button, select, summary, a.button, #search, .field:has([type=checkbox])")]
          .filter((node) => node.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !node.closest("[inert]"))
          .map((node) => [node.id || node.className || node.textContent, node.getBoundingClientRect()])
          .filter(([, box]) => box.right > 0 && (box.width < 43.5 || box.height < 43.5))
          .map(([name, box]) => `${name}: ${Math.round(box.width)} × ${Math.round(box.height)}`)""")

    # Searching and filtering

    def search_box(self):
        return self.element("search")

    def type_search(self, text):
        self.search_box().fill("")
        self.search_box().press_sequentially(text)
        self.element("suggestions").wait_for(state="visible")
        return self.suggestions()

    def suggestions(self):
        return self.element("suggestions").locator("[role=option] span").all_inner_texts()

    def suggested_details(self):
        """Returns the addresses and the distances below the names of the suggestions."""
        return self.element("suggestions").locator("[role=option] .details").all_inner_texts()

    def active_suggestion(self):
        identifier = self.search_box().get_attribute("aria-activedescendant")
        return self.element(identifier).locator("span").inner_text() if identifier else None

    def submit_search(self, text):
        self.search_box().fill(text)
        self.press("Enter")
        self.settle()

    def choose_category(self, category):
        self.element("category").select_option(category)
        self.settle()

    # The popup

    def popup(self):
        popup = Popup(self)
        popup.node.wait_for(state="visible")
        return popup

    def has_popup(self):
        return self.element("popup").is_visible()

    def new_place(self):
        self.element("new-place").click()
        return self.popup()

    def draw(self, kind, *points):
        """Draws an area or a route of points relative to the middle of the map."""
        self.element(f"draw-{kind}").click()
        x, y = self.middle()
        for right, down in points:
            self.page.mouse.click(x + right, y + down)
        self.element("draw-done").click()
        self.settle()

    def shape_text(self):
        return self.element("draw-text").inner_text() if self.element("draw").is_visible() else ""

    def program(self, language):
        self.element("curl").click()
        self.element("language").select_option(language)
        text = self.element("curl-text").inner_text()
        self.element("curl-close").click()
        return text

    def save(self, kind):
        """Saves the places in view, and returns the file's text."""
        self.element("curl").click()
        with self.page.expect_download() as download:
            self.element(f"export-{kind}").click()
        with open(download.value.path()) as file:
            text = file.read()
        self.element("curl-close").click()
        return text

    def curl(self):
        self.element("curl").click()
        # The dialog's script is loaded when it is asked for.
        self.element("curl-dialog").wait_for()
        text = self.element("curl-text").inner_text()
        self.element("curl-close").click()
        return text


class Popup:
    """The popup of a place, and its form."""

    def __init__(self, screen):
        self.screen = screen
        self.node = screen.element("popup")

    def title(self):
        return self.screen.element("popup-title").inner_text()

    def fields(self):
        """Returns all fields by name, also those below "More"."""
        self.screen.page.evaluate("() => document.querySelectorAll('#fields details').forEach((node) => { node.open = true; })")
        rows = self.screen.element("fields").locator("div")
        fields = dict(zip(rows.locator("dt").all_inner_texts(), rows.locator("dd").all_inner_texts()))
        return {"Category": self.screen.element("popup-category").inner_text(), **fields}

    def names_of_fields(self):
        """Returns the names of the fields that are visible, in their order."""
        return [name for name in self.node.locator("dt").all_inner_texts() if name]

    def link(self):
        return self.screen.element("place-link").get_attribute("href")

    def box(self):
        return self.node.bounding_box()

    def close(self):
        self.screen.element("popup-close").click()

    def edit(self):
        self.screen.element("edit").click()
        self.screen.element("edit-form").wait_for(state="visible")
        return self

    def is_form(self):
        return self.screen.element("edit-form").is_visible()

    def write(self, **values):
        for name, value in values.items():
            self.screen.element(f"edit-{name}").fill(str(value))
            self.screen.press("Tab")
        return self

    def value(self, name):
        return self.screen.element(f"edit-{name}").input_value()

    def add_tag(self, key, value):
        self.screen.element("add-tag").click()
        inputs = self.node.locator(".tag").last.locator("input")
        inputs.nth(0).fill(key)
        inputs.nth(1).fill(value)
        return self

    def drag_handle(self, right, down):
        box = self.screen.element("handle").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        mouse = self.screen.page.mouse
        mouse.move(x, y)
        mouse.down()
        for part in range(1, 6):
            mouse.move(x + right * part / 5, y + down * part / 5)
        mouse.up()
        return self

    def save(self):
        """Sends the form, and waits for the fields of the place or for a problem."""
        self.screen.element("save").click()
        self.screen.wait_until(
            lambda: not self.is_form() or self.problem(), "the response to the form")
        return self

    def problem(self):
        # Does not wait for the element, which may go at any time.
        return "".join(self.screen.element("edit-problem").all_inner_texts())

    def apply_anyway(self):
        self.screen.element("apply-anyway").click()
        self.screen.element("fields").wait_for(state="visible")
        return self

    def delete(self):
        self.screen.element("delete").click()
        self.screen.element("delete").click()
        self.node.wait_for(state="hidden")


class StatusScreen(Screen):
    """The operator's page."""

    path = "/status"

    def wait_for_samples(self, count=2):
        """Waits until the charts have this number of samples."""
        def has_samples():
            path = self.page.locator("[data-testid=chart] .line").last
            return path.count() and len(re.findall("[ML]", path.get_attribute("d") or "")) >= count
        self.wait_until(has_samples, f"{count} samples in the charts", seconds=30 + 3 * count)
        return self

    def state(self):
        return self.element("state").inner_text()

    def charts(self):
        """Returns the descriptions of the charts for screen readers."""
        nodes = self.page.locator("[data-testid=chart] svg")
        return [nodes.nth(index).get_attribute("aria-label") for index in range(nodes.count())]

    def facts(self, identifier):
        rows = self.element(identifier).locator("div")
        return dict(zip(rows.locator("dt").all_inner_texts(), rows.locator("dd").all_inner_texts()))

    def searches(self):
        return self.element("searches").inner_text()

    def errors(self):
        return self.element("errors").inner_text()


__all__ = ["Browser", "HOSTILE", "MapScreen", "NARROW", "Popup", "StatusScreen", "Timeout", "WIDE", "browsing", "expect"]
