"""Natural Earth's countries and states, from Debian's package r-cran-rnaturalearthdata."""

import gzip
import lzma
import subprocess

import rdata

PACKAGE = "r-cran-rnaturalearthdata"
# Codes that Natural Earth does not have.
CODES = {"KOS": "XK"}


def unpack_packages(folder, *names):
    """Unpacks packages of Debian. They are not installed, which would install R too."""
    # Not the error output: a warning that another user cannot write to the folder.
    subprocess.run(["apt-get", "download", "-qq", *names], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)


def read(folder, name):
    """Returns a data set of the unpacked package: rows of attributes, each with its rings in degrees."""
    base = folder / "usr/lib/R/site-library/rnaturalearthdata/data"
    index = rdata.conversion.convert(rdata.parser.parse_data(gzip.decompress((base / "Rdata.rdx").read_bytes())))
    start, length = index["variables"][name]
    chunk = (base / "Rdata.rdb").read_bytes()[start:start + length]
    # Four bytes of length, and one of the compression, here LZMA without a header.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6}]
    value = rdata.conversion.convert(
        rdata.parser.parse_data(lzma.decompress(chunk[5:], format=lzma.FORMAT_RAW, filters=filters)))
    # Neighbours have the same points at their borders, but for the last digits.
    return [(row, [polygon.coords.round(5) for polygon in shape.Polygons])
            for row, shape in zip(value.data.to_dict("records"), value.polygons)]


def country_code(row):
    """Returns the code of ISO 3166 of a country, or None."""
    return row["iso_a2"] and str(row["iso_a2"]) or CODES.get(str(row["adm0_a3"]))
