"""Makes the pictures of the documentation. See docs/images/make."""

import argparse
import contextlib
import http.client
import io
import pathlib
import random
import subprocess
import sys
import threading
import time

from PIL import Image

import streets
from extract import sample
from map_pages import MapScreen, StatusScreen, browsing
from servers import Waymark, temporary_folder

FOLDER = pathlib.Path(__file__).resolve().parent
MAXIMUM_BYTES = 360_000
SIZES = {"": (1200, 800), "-phone": (390, 844)}
SCHEMES = ("light", "dark")
STATUS_SAMPLES = 40
HELSINKI = {"": "#map=15.85/60.1697/24.9440", "-phone": "#map=15.70/60.1694/24.9420"}


def save(page, name):
    """Saves what is visible with a palette, which keeps the file small."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    file = io.BytesIO()
    image.quantize(200, kmeans=2, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    if file.tell() > MAXIMUM_BYTES:
        sys.exit(f"{name} has {file.tell()} bytes, the maximum is {MAXIMUM_BYTES}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / name).write_bytes(file.getvalue())
    print(f"{name}: {image.width} × {image.height}, {file.tell():,} bytes", flush=True)


def search(port, is_done):
    """Sends searches around the world until told to stop, so that the charts show something."""
    chance = random.Random(1)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while not is_done.wait(chance.uniform(0.005, 0.1)):
        latitude, longitude = chance.uniform(-60, 70), chance.uniform(-180, 180)
        target = f"/locations?lat={latitude:.3f}&long={longitude:.3f}&limit={chance.choice((1, 10, 100))}"
        if chance.random() < 0.03:
            target = "/locations?lat=north&long=0"
        connection.request("GET", target)
        connection.getresponse().read()


@contextlib.contextmanager
def searching(port):
    is_done = threading.Event()
    clients = [threading.Thread(target=search, args=(port, is_done)) for _ in range(3)]
    for client in clients:
        client.start()
    try:
        time.sleep(1)
        yield
    finally:
        is_done.set()
        for client in clients:
            client.join()


def variants():
    for suffix, size in SIZES.items():
        for scheme in SCHEMES:
            yield suffix, size, scheme


def take_world(browser):
    """The pages of a server with the bundled sample."""
    for suffix, size, scheme in variants():
        with browser.tab(size=size, scheme=scheme) as page:
            MapScreen(browser, page).open()
            save(page, f"map-world{suffix}-{scheme}.png")
        with browser.tab(size=size, scheme=scheme) as page:
            screen = MapScreen(browser, page).open("#map=4.60/47.5/9.5")
            if suffix:
                screen.show_list()
            screen.item("Neuschwanstein Castle").click()
            screen.popup()
            screen.settle()
            save(page, f"map-place{suffix}-{scheme}.png")
        for name, path in (("docs", "/docs#getLocation"), ("ogc", "/ogc/collections/places/items?f=html")):
            with browser.tab(size=size, scheme=scheme) as page:
                page.goto(browser.url + path)
                page.wait_for_load_state("networkidle")
                save(page, f"{name}{suffix}-{scheme}.png")


def take_city(browser):
    """The map of a server with the places of a city and a file of its streets."""
    for suffix, size, scheme in variants():
        with browser.tab(size=size, scheme=scheme) as page:
            MapScreen(browser, page).open(HELSINKI[suffix])
            page.wait_for_function("[...document.querySelectorAll('#map img')].every((image) => image.complete)")
            save(page, f"map-city{suffix}-{scheme}.png")


def take_status(browser, port):
    with searching(port), contextlib.ExitStack() as stack:
        screens = []
        for suffix, size, scheme in variants():
            page = stack.enter_context(browser.tab(size=size, scheme=scheme))
            screens.append((f"status{suffix}-{scheme}.png", StatusScreen(browser, page).open()))
        for name, screen in screens:
            screen.wait_for_samples(STATUS_SAMPLES)
            save(screen.page, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True, help="the program")
    parser.add_argument("--only", default="", help="the pictures of the world, the city or the status alone")
    options = parser.parse_args()
    with temporary_folder("waymark-pictures.") as folder:
        if options.only in ("", "city"):
            extract = sample(folder)
            streets.write(extract, folder / "city.mbtiles")
            empty = folder / "empty.ndjson"
            empty.write_text("")
            environment = {"DATA_FILE": str(empty), "MAP_TILES_FILE": str(folder / "city.mbtiles"),}
            with Waymark(options.waymark, environment) as server:
                subprocess.run([options.waymark, "import", "--url", server.url, str(extract)], check=True,
                               stdout=subprocess.DEVNULL)
                with browsing(server.url) as browser:
                    take_city(browser)
        if options.only in ("", "world", "status"):
            with Waymark(options.waymark, {}) as server, browsing(server.url) as browser:
                if options.only != "status":
                    take_world(browser)
                if options.only != "world":
                    take_status(browser, server.port)


if __name__ == "__main__":
    main()
