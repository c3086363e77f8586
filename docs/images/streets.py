"""Draws streets of an OpenStreetMap extract as raster tiles in an MBTiles file, for the pictures of the documentation."""

import io
import math
import sqlite3

import osmium
from PIL import Image, ImageDraw

ZOOMS = range(13, 18)
TILE = 256
# Shapes are drawn twice as large, which smooths their edges.
SCALE = 2
GROUND, WATER, GREEN, BUILDING, CASING = "#f6f4ee", "#cfe2ea", "#dfe9d0", "#e6e0d8", "#d9d2c8"
# Widths of streets in metres and their colours, the important ones last.
STREETS = [
    ({"footway", "path", "steps", "pedestrian", "cycleway"}, 2.5, "#efe9e0"),
    ({"service", "living_street", "track"}, 4, "#ffffff"),
    ({"residential", "unclassified", "road"}, 7, "#ffffff"),
    ({"tertiary", "tertiary_link"}, 9, "#ffffff"),
    ({"secondary", "secondary_link"}, 11, "#fdf3d3"),
    ({"primary", "primary_link", "trunk", "motorway"}, 13, "#fbe7ae"),
]
ATTRIBUTION = '<a href="https://www.openstreetmap.org/copyright">© OpenStreetMap contributors</a>'


def projected(longitude, latitude):
    """Returns a position in the square of the world, from 0 to 1."""
    sine = math.sin(math.radians(latitude))
    return longitude / 360 + 0.5, 0.5 - math.log((1 + sine) / (1 - sine)) / (4 * math.pi)


class Shapes(osmium.SimpleHandler):
    """Areas by colour and streets by class, in the square of the world."""

    def __init__(self):
        super().__init__()
        self.areas = {WATER: [], GREEN: [], BUILDING: []}
        self.streets = [[] for _ in STREETS]
        self.rails = []

    def way(self, way):
        kind = way.tags.get("highway")
        for (kinds, _, _), lines in zip(STREETS, self.streets):
            if kind in kinds and way.tags.get("area") != "yes":
                lines.append(self.points(way.nodes))
        if way.tags.get("railway") in ("rail", "tram"):
            self.rails.append(self.points(way.nodes))

    def area(self, area):
        tags = area.tags
        if "building" in tags:
            colour = BUILDING
        elif tags.get("natural") in ("water", "bay") or "waterway" in tags:
            colour = WATER
        elif tags.get("leisure") in ("park", "garden", "pitch", "playground") or tags.get("landuse") in (
                "grass", "forest", "recreation_ground", "cemetery"):
            colour = GREEN
        else:
            return
        for outer in area.outer_rings():
            self.areas[colour].append((self.points(outer), [self.points(ring) for ring in area.inner_rings(outer)]))

    @staticmethod
    def points(nodes):
        return [projected(node.location.lon, node.location.lat) for node in nodes if node.location.valid()]


def draw(shapes, zoom, column, row):
    """Returns the image of a tile."""
    side = TILE * SCALE
    size = side << zoom
    # Lines of adjacent tiles reach into this one.
    image = Image.new("RGB", (side, side), GROUND)
    canvas = ImageDraw.Draw(image)

    def local(points):
        return [(x * size - column * side, y * size - row * side) for x, y in points]

    def is_near(points):
        return points and (min(x for x, _ in points) < side + 60 and max(x for x, _ in points) > -60
                           and min(y for _, y in points) < side + 60 and max(y for _, y in points) > -60)

    for colour in (GREEN, WATER, BUILDING):
        for outer, inner in shapes.areas[colour]:
            points = local(outer)
            if len(points) > 2 and is_near(points):
                canvas.polygon(points, fill=colour, outline=CASING if colour == BUILDING else None)
                for ring in map(local, inner):
                    if len(ring) > 2:
                        canvas.polygon(ring, fill=GROUND)
    pixels_per_metre = size / (40_075_016 * math.cos(math.radians(60.17)))
    for is_casing in (True, False):
        for (_, metres, colour), lines in zip(STREETS, shapes.streets):
            width = max(metres * pixels_per_metre, 1.5) + (2 * SCALE if is_casing else 0)
            if is_casing and metres < 3:
                continue
            for points in map(local, lines):
                if len(points) > 1 and is_near(points):
                    line(canvas, points, CASING if is_casing else colour, width)
    for points in map(local, shapes.rails):
        if len(points) > 1 and is_near(points):
            line(canvas, points, "#c9bfc4", 1.2 * SCALE)
    return image.resize((TILE, TILE), Image.Resampling.LANCZOS)


def line(canvas, points, colour, width):
    canvas.line(points, fill=colour, width=max(1, round(width)), joint="curve")
    if width > 3:
        for x, y in (points[0], points[-1]):
            canvas.ellipse((x - width / 2, y - width / 2, x + width / 2, y + width / 2), fill=colour)


def write(extract, path):
    """Writes the tiles of an extract to an MBTiles file."""
    shapes = Shapes()
    shapes.apply_file(str(extract), locations=True)
    positions = [point for lines in shapes.streets for points in lines for point in points]
    west, east = min(x for x, _ in positions), max(x for x, _ in positions)
    north, south = min(y for _, y in positions), max(y for _, y in positions)
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE metadata (name TEXT, value TEXT);"
        "CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);"
        "CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);")
    degrees = [(west - 0.5) * 360, math.degrees(math.atan(math.sinh(math.pi * (1 - 2 * south)))),
               (east - 0.5) * 360, math.degrees(math.atan(math.sinh(math.pi * (1 - 2 * north))))]
    metadata = {"name": "Streets", "format": "png", "minzoom": ZOOMS[0], "maxzoom": ZOOMS[-1], "attribution": ATTRIBUTION,
                "bounds": ",".join(f"{value:.5f}" for value in degrees)}
    database.executemany("INSERT INTO metadata VALUES (?, ?)", [(name, str(value)) for name, value in metadata.items()])
    for zoom in ZOOMS:
        count = 1 << zoom
        for column in range(int(west * count), int(east * count) + 1):
            for row in range(int(north * count), int(south * count) + 1):
                file = io.BytesIO()
                draw(shapes, zoom, column, row).quantize(64).save(file, "PNG", optimize=True)
                database.execute("INSERT INTO tiles VALUES (?, ?, ?, ?)", (zoom, column, count - 1 - row, file.getvalue()))
    database.commit()
    database.close()
