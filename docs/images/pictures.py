"""Makes the pictures of the documentation. See docs/images/make."""

import argparse
import http.client
import io
import pathlib
import random
import sys
import threading
import time

from PIL import Image

from map_pages import MapScreen, StatusScreen, browsing
from servers import Waymark

FOLDER = pathlib.Path(__file__).resolve().parent
MAXIMUM_BYTES = 200_000
MAP_SIZE = (1200, 720)
STATUS_SIZE = (1200, 960)
STATUS_SAMPLES = 40


def save(page, name):
    """Saves what is visible with a palette, which keeps the file small."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    file = io.BytesIO()
    image.quantize(256, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    if file.tell() > MAXIMUM_BYTES:
        sys.exit(f"{name} has {file.tell()} bytes, the maximum is {MAXIMUM_BYTES}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / name).write_bytes(file.getvalue())
    print(f"{name}: {image.width} × {image.height}, {file.tell():,} bytes")


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


def take(browser, port):
    with browser.tab(size=MAP_SIZE) as page:
        screen = MapScreen(browser, page).open()
        screen.settle()
        save(page, "map-light.png")
    with browser.tab(size=MAP_SIZE, scheme="dark") as page:
        screen = MapScreen(browser, page).open("#map=5.00/47.6/9.5")
        screen.elements("place-item").first.click()
        screen.popup()
        screen.settle()
        save(page, "map-dark.png")
    is_done = threading.Event()
    clients = [threading.Thread(target=search, args=(port, is_done)) for _ in range(3)]
    for client in clients:
        client.start()
    try:
        time.sleep(1)
        with browser.tab(size=STATUS_SIZE) as page:
            StatusScreen(browser, page).open().wait_for_samples(STATUS_SAMPLES)
            save(page, "status.png")
    finally:
        is_done.set()
        for client in clients:
            client.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waymark", required=True, help="the program")
    parser.add_argument("--data", help="files of places, with commas between; by default the bundled sample")
    options = parser.parse_args()
    server = Waymark(options.waymark, {"DATA_FILE": options.data} if options.data else {})
    server.start()
    try:
        server.wait_until_ready()
        with browsing(f"http://127.0.0.1:{server.port}") as browser:
            take(browser, server.port)
    finally:
        server.kill()


if __name__ == "__main__":
    main()
