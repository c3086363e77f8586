"""Writes the regions with public holidays of their own by position, in the format of the time zones.

The borders are those of Natural Earth's first-order divisions, 1:10m, as Apache Superset's package has them with codes of
ISO 3166-2. A code that is a division of a region, such as that of a province of Spain, is part of the region.
"""

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict

import numpy as np
import pycountry
from shapely import STRtree, difference, get_parts, intersection, make_valid, points, union, union_all
from shapely.geometry import MultiPolygon, box, shape

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "CTimeZones"))
import make as grid

# The name that positions without such a region have.
NONE = "-"

# The regions of these countries have the days of a town only, the patron saint's of its capital, which are not holidays
# in the rest of it, but for some.
OF_TOWNS = {"IT": {"IT-BZ"}, "PT": {"PT-20", "PT-30"}}

# Codes that Natural Earth has and ISO 3166-2 has not, or no longer.
FORMER = {
    "GB-BMH": "GB-ENG", "GB-NTH": "GB-ENG", "GB-POL": "GB-ENG", "IN-CT": "IN-CG", "IN-OR": "IN-OD", "IN-UT": "IN-UK",
} | {
    f"GB-{code}": "GB-NIR"
    for code in (
        "ANT ARD ARM BLA BLY BNB CGV CKF CKT CLR CSR DGN DOW DRY FER LMV LRN LSB MFT MYL NDN NTA NYM OMH STB".split()
    )
}

# Regions that the divisions have elsewhere, as insets of a map. Boxes are exact: nothing else of the country is in them.
BOXES = {
    "ES-CN": [box(-18.5, 27.3, -13.2, 29.6)],
    "PT-20": [box(-31.6, 36.6, -24.5, 40.1)],
    "PT-30": [box(-17.5, 29.8, -15.5, 33.3)],
    "US-AK": [box(-180, 51, -129.9, 72), box(172, 51, 180, 54)],
    "US-HI": [box(-179, 18, -154, 29)],
}

# The grid of all points in degrees, that of the file, so that overlays leave no slivers.
GRID = 1 / grid.UNITS

# The distances in degrees to which regions are extended over what is in none, so that piers and small islands have one.
EXTENSIONS = (0.01, 0.02, 0.04, 0.08)

WORLD = box(-180, -90, 180, 90)


def holiday_codes(path):
    """Returns the codes of the regions in holidays.bin."""
    with open(path, "rb") as file:
        data = file.read()
    codes, position = [], 0

    def number():
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(data):
        length = number()
        codes.append(data[position : position + length].decode())
        position += length
        for _ in range(number()):
            number()
    return [code for code in codes if len(code) > 2]


def region(code, regions):
    """Returns the region that a division is or belongs to."""
    code = FORMER.get(code, code)
    while code and code not in regions:
        division = pycountry.subdivisions.get(code=code)
        code = division.parent_code if division else None
    return code


def divisions():
    """Yields the codes and the shapes of the divisions; of some countries, those of two levels."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "apache-superset==6.1.0"],
            check=True,
        )
        [name] = os.listdir(folder)
        with zipfile.ZipFile(os.path.join(folder, name)) as wheel:
            for entry in sorted(name for name in wheel.namelist() if name.endswith(".geojson")):
                for feature in json.loads(wheel.read(entry))["features"]:
                    yield feature["properties"].get("ISO") or "", shape(feature["geometry"])


def areal(geometry):
    """Returns the polygons of a geometry, without the lines and points that overlays leave."""
    return MultiPolygon([part for part in get_parts(geometry) if part.geom_type == "Polygon"])


def extended(shapes, others):
    """Returns the shapes with what surrounds them, and is in none and not in the other shape, to the nearest."""
    for distance in EXTENSIONS:
        taken = areal(union_all([others, *shapes.values()], grid_size=GRID))
        for code, polygon in shapes.items():
            grown = areal(intersection(polygon.buffer(distance, quad_segs=2), WORLD))
            grown = areal(difference(grown, taken, grid_size=GRID))
            shapes[code] = areal(union(polygon, grown, grid_size=GRID))
            taken = areal(union(taken, grown, grid_size=GRID))
    return shapes


class Finder:
    """The regions, as the writer of time zones expects them."""

    def __init__(self, shapes):
        self.timezone_names = [NONE] + sorted(shapes)
        self.shapes = [shapes[name] for name in self.timezone_names[1:]]
        self.tree = STRtree(self.shapes)
        self.polygons = [
            (number, polygon)
            for number, whole in enumerate(self.shapes, 1)
            for polygon in whole.geoms
        ]
        self.nr_of_polygons = len(self.polygons)

    def zone_id_of(self, polygon):
        return self.polygons[polygon][0]

    @staticmethod
    def units(ring):
        # Without the last point, which is the first.
        return np.rint(np.asarray(ring.coords)[:-1, :2].T * 1e7).astype(np.int64)

    def coords_of(self, polygon):
        return self.units(self.polygons[polygon][1].exterior)

    def _holes_of_poly(self, polygon):
        return [self.units(ring) for ring in self.polygons[polygon][1].interiors]

    def timezone_at(self, lng, lat):
        found = self.tree.query(points(lng, lat), predicate="intersects")
        return self.timezone_names[1 + min(found)] if len(found) else NONE


def main(calendars, path):
    regions = {
        code for code in holiday_codes(calendars) if code[:2] not in OF_TOWNS or code in OF_TOWNS[code[:2]]
    }
    countries = {code[:2] for code in regions}
    parts, others = defaultdict(list), []
    for code, polygon in divisions():
        name = region(code, regions)
        if name and name not in BOXES:
            parts[name].append(areal(make_valid(polygon)))
        elif not name and code[:2] in countries:
            others.append(areal(make_valid(polygon)))
    parts |= BOXES
    print("without borders:", *sorted(regions - set(parts)), file=sys.stderr)
    shapes = {name: areal(union_all(parts[name], grid_size=GRID)) for name in sorted(parts)}
    # Of some countries there are divisions of two levels, of which the larger contain regions.
    regional = areal(union_all(list(shapes.values()), grid_size=GRID))
    others = areal(difference(areal(union_all(others, grid_size=GRID)), regional, grid_size=GRID))
    grid.write(path, Finder(extended(shapes, others)))


main(sys.argv[1], sys.argv[2])
