"""Compares Tests/GeoTests/GeodesicReference.swift with the distances that GeographicLib computes.

The file has pairs of coordinates, including edge cases, from a seeded generator, so that every run yields the same. The
distances are those of GeographicLib's package for Python, which is installed from PyPI.

  scripts/conformance geodesics
  scripts/conformance geodesics --write      # write the file, after a change of the pairs
"""

import argparse
import math
import pathlib
import random
import sys

from geographiclib.geodesic import Geodesic

FILE = pathlib.Path(__file__).resolve().parents[1] / "GeoTests" / "GeodesicReference.swift"

random.seed(20130107)


def random_coordinate():
    return math.degrees(math.asin(random.uniform(-1, 1))), random.uniform(-180, 180)


def normalized(longitude):
    return (longitude + 180) % 360 - 180


def tiny():
    return random.choice((-1, 1)) * 10 ** random.uniform(-13, -3)


def any_pair(_):
    return (*random_coordinate(), *random_coordinate())


def at_distance(minimum, maximum):
    def pair(_):
        latitude, longitude = random_coordinate()
        metres = 10 ** random.uniform(math.log10(minimum), math.log10(maximum))
        end = Geodesic.WGS84.Direct(latitude, longitude, random.uniform(-180, 180), metres)
        return latitude, longitude, end["lat2"], end["lon2"]

    return pair


def antipodal(_):
    latitude, longitude = random_coordinate()
    return latitude, longitude, -latitude, normalized(longitude + 180)


def nearly_antipodal(index):
    latitude, longitude = random_coordinate()
    spread = (3, 1, 0.3, 0.01, 1e-6)[index % 5]
    return (
        latitude,
        longitude,
        max(-90, min(90, -latitude + random.uniform(-spread, spread))),
        normalized(longitude + 180 + random.uniform(-spread, spread)),
    )


def equatorial(index):
    longitude = random.uniform(-180, 180)
    east = (random.uniform(0, 179), random.uniform(179, 180), 179.39, 179.3964, 179.4, 180, 179.999999)[index % 7]
    return 0, longitude, 0, normalized(longitude + east)


def nearly_equatorial(index):
    longitude = random.uniform(-180, 180)
    east = (random.uniform(0, 180), random.uniform(179, 180), 179.3964, 179.5, 180)[index % 5]
    return tiny(), longitude, tiny(), normalized(longitude + east)


def meridional(index):
    longitude = random.uniform(-180, 180)
    turn = (0, 180)[index % 2]
    return random.uniform(-90, 90), longitude, random.uniform(-90, 90), longitude - math.copysign(turn, longitude)


def nearly_meridional(index):
    longitude = random.uniform(-90, 90)
    return random.uniform(-90, 90), longitude, random.uniform(-90, 90), normalized(longitude + (0, 180)[index % 2] + tiny())


def polar(index):
    pole = (90, -90)[index % 2]
    latitude, longitude = random_coordinate()
    return (
        (pole, random.uniform(-180, 180), latitude, longitude),
        (pole, 0, -pole, random.uniform(-180, 180)),
        (pole - math.copysign(10 ** random.uniform(-12, 0), pole), longitude, -latitude, longitude / 2),
        (
            pole - math.copysign(10 ** random.uniform(-9, -1), pole),
            longitude,
            -pole + math.copysign(10 ** random.uniform(-9, -1), pole),
            -longitude,
        ),
    )[index // 2 % 4]


def same_latitude(index):
    latitude, longitude = random_coordinate()
    sign = (1, -1)[index % 2]
    return latitude, longitude, sign * latitude, normalized(longitude + random.uniform(0, 180))


def across_antimeridian(_):
    latitude = random.uniform(-89, 89)
    return (
        latitude,
        180 - 10 ** random.uniform(-9, 0),
        latitude + random.uniform(-0.5, 0.5),
        -180 + 10 ** random.uniform(-9, 0),
    )


def coincident(index):
    latitude, longitude = random_coordinate()
    return (
        (latitude, longitude, latitude, longitude),
        (latitude, 180, latitude, -180),
        (90, longitude, 90, -longitude),
        (-90, longitude, -90, 0),
        (0, -180, 0, 180),
    )[index % 5]


KINDS = [
    ("any", any_pair, 60),
    ("millimetresToMetres", at_distance(1e-3, 10), 20),
    ("neighbourhood", at_distance(10, 1e5), 30),
    ("aroundTheShortChordsEnd", at_distance(2.8e5, 3.2e5), 30),
    ("far", at_distance(3e5, 2e7), 30),
    ("antipodal", antipodal, 30),
    ("nearlyAntipodal", nearly_antipodal, 80),
    ("equatorial", equatorial, 28),
    ("nearlyEquatorial", nearly_equatorial, 40),
    ("meridional", meridional, 24),
    ("nearlyMeridional", nearly_meridional, 24),
    ("polar", polar, 32),
    ("sameLatitude", same_latitude, 24),
    ("acrossTheAntimeridian", across_antimeridian, 16),
    ("coincident", coincident, 10),
]


def table():
    yield "// Written by scripts/conformance geodesics; not to be edited."
    yield ""
    yield "/// Pairs of coordinates with the distance that GeographicLib gives."
    yield "enum GeodesicReference {"
    yield "  /// Kind, latitude, longitude, latitude, longitude, metres; a pair on a line."
    yield '  static let table = """'
    for kind, pair, count in KINDS:
        for index in range(count):
            numbers = [float(number) for number in pair(index)]
            metres = Geodesic.WGS84.Inverse(*numbers)["s12"]
            yield " ".join(["   ", kind, *(repr(number) for number in numbers), f"{metres:.9f}"])
    yield '    """'
    yield "}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the file")
    text = "".join(line + "\n" for line in table())
    if parser.parse_args().write:
        FILE.write_text(text)
    elif FILE.read_text() != text:
        sys.exit(f"{FILE.name} differs from what GeographicLib computes")
    print(f"{sum(count for _, _, count in KINDS)} distances are those of GeographicLib")


if __name__ == "__main__":
    main()
