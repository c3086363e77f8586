"""Writes the borders of the time zones, simplified and divided into the cells of a grid.

The borders between two zones are simplified as lines that both share, so that neither gaps nor overlaps arise. A cell
that borders cross has the lines that touch it, each with the zones on both of its sides, and the zone of a point.
"""

import math
import struct
import sys
from collections import defaultdict

import numpy as np

# The greatest distance of a simplified border from the original, before its points are rounded to units.
TOLERANCE_METRES = 50
# Units of a degree; a cell has CELL units.
UNITS = 10_000
CELL = UNITS // 2
COLUMNS, ROWS = 720, 360
# The candidates for the point of a cell whose zone is known, in units from its corner: off the lattice of the borders,
# whose points are at whole units.
CANDIDATES = [(CELL * x / 8 + 0.37, CELL * y / 8 + 0.41) for y in (4, 1, 7, 2, 6, 3, 5) for x in (4, 1, 7, 2, 6, 3, 5)]
# The distance from the borders from which on the zone of such a point is that of the original borders.
CLEAR_METRES = 150
DEGREE_METRES = 111_320
# The distance from an edge at which the zones beside it are looked up, in units of 1e-7 degrees.
BESIDE = 20


def area(ring):
    x, y = ring
    return float(np.sum(x.astype(float) * np.roll(y, -1) - np.roll(x, -1).astype(float) * y))


def rings(finder):
    """Yields each ring with its zone, which is on the left of its edges."""
    for polygon in range(finder.nr_of_polygons):
        zone = finder.zone_id_of(polygon)
        ring = np.asarray(finder.coords_of(polygon))
        yield zone, ring if area(ring) > 0 else ring[:, ::-1]
        for hole in finder._holes_of_poly(polygon):
            hole = np.asarray(hole)
            yield zone, hole if area(hole) < 0 else hole[:, ::-1]


def edges(finder):
    """Returns the points, and the edges between different zones: two points and the zones left and right of them."""
    starts, ends, zones = [], [], []
    for zone, ring in rings(finder):
        # Units of 1e-7 degrees.
        x, y = ring.astype(np.int64)
        keys = (x + 1_800_000_000) << 31 | (y + 900_000_000)
        starts.append(keys)
        ends.append(np.roll(keys, -1))
        zones.append(np.full(len(keys), zone, np.int32))
    starts, ends, zones = map(np.concatenate, (starts, ends, zones))
    different = starts != ends
    starts, ends, zones = starts[different], ends[different], zones[different]
    points, numbers = np.unique(np.concatenate([starts, ends]), return_inverse=True)
    starts, ends = numbers[: len(starts)], numbers[len(starts) :]
    forward = starts < ends
    keys = np.where(forward, starts, ends) * len(points) + np.where(forward, ends, starts)
    unique, index = np.unique(keys, return_inverse=True)
    left = np.full(len(unique), -1, np.int32)
    right = np.full(len(unique), -1, np.int32)
    left[index[forward]] = zones[forward]
    right[index[~forward]] = zones[~forward]
    first, second = unique // len(points), unique % len(points)
    x, y = (points >> 31) - 1_800_000_000, (points & 0x7FFFFFFF) - 900_000_000
    # Polygons that overlap, and neighbours with different points on their border: the zones beside the edge decide.
    doubtful = (left < 0) | (right < 0)
    for directed in (index[forward], index[~forward]):
        doubtful[np.bincount(directed, minlength=len(unique)) > 1] = True
    # Edges along the antimeridian and at the poles have one side.
    outer = (abs(x[first]) > 1_799_999_000) & (abs(x[second]) > 1_799_999_000)
    outer |= (abs(y[first]) > 899_999_000) & (abs(y[second]) > 899_999_000)
    names = {name: number for number, name in enumerate(finder.timezone_names)}
    for edge in np.flatnonzero(doubtful & ~outer).tolist():
        (x0, y0), (x1, y1) = [(int(x[point]), int(y[point])) for point in (first[edge], second[edge])]
        length = math.hypot(x1 - x0, y1 - y0)
        beside = []
        for side in (1, -1):
            lng = ((x0 + x1) / 2 - side * (y1 - y0) / length * BESIDE) / 1e7
            lat = ((y0 + y1) / 2 + side * (x1 - x0) / length * BESIDE) / 1e7
            beside.append(names[finder.timezone_at(lng=min(max(lng, -180), 180), lat=min(max(lat, -90), 90))])
        left[edge], right[edge] = beside
    print(f"{len(unique):,} edges, {np.sum(doubtful & ~outer):,} of them doubtful", file=sys.stderr)
    kept = (left != right) & ~(outer & doubtful)
    return np.stack([x, y]), first[kept], second[kept], left[kept], right[kept]


def chains(first, second, left, right):
    """Yields the lines that two zones share, each as long as possible."""
    at = defaultdict(list)
    for edge, (start, end) in enumerate(zip(first.tolist(), second.tolist())):
        at[start].append(edge)
        at[end].append(edge)
    first, second, left, right = first.tolist(), second.tolist(), left.tolist(), right.tolist()
    used = bytearray(len(first))

    def sides(edge, start):
        return (left[edge], right[edge]) if first[edge] == start else (right[edge], left[edge])

    def follow(start, edge):
        pair = sides(edge, start)
        line = [start]
        while True:
            used[edge] = 1
            start = second[edge] if first[edge] == start else first[edge]
            line.append(start)
            following = [other for other in at[start] if not used[other]]
            if len(at[start]) != 2 or not following or sides(following[0], start) != pair:
                return pair, line
            edge = following[0]

    def is_end(point):
        around = at[point]
        if len(around) != 2:
            return True
        one, other = sides(around[0], point), sides(around[1], point)
        return one != other[::-1]

    for point in list(at):
        if is_end(point):
            for edge in at[point]:
                if not used[edge]:
                    yield follow(point, edge)
    # What is left are closed lines.
    for edge in range(len(first)):
        if not used[edge]:
            yield follow(first[edge], edge)


def simplified(x, y):
    """Returns the indices of the points of a line that are kept (D. Douglas, T. Peucker 1973)."""
    latitude = np.radians(y / 1e7)
    metres = DEGREE_METRES / 1e7
    u, v = x * np.cos(latitude) * metres, y * metres
    last = len(x) - 1
    kept = np.zeros(len(x), bool)
    kept[0] = kept[last] = True
    if x[0] == x[last] and y[0] == y[last]:
        middle = int(np.argmax((u - u[0]) ** 2 + (v - v[0]) ** 2))
        kept[middle] = True
        stack = [(0, middle), (middle, last)]
    else:
        stack = [(0, last)]
    while stack:
        start, end = stack.pop()
        if end - start < 2:
            continue
        # Of a long line, the projection has to be that of its own latitude.
        du, dv = u[end] - u[start], v[end] - v[start]
        length = du * du + dv * dv
        pu, pv = u[start + 1 : end] - u[start], v[start + 1 : end] - v[start]
        along = np.clip((pu * du + pv * dv) / length, 0, 1) if length > 0 else 0
        distances = (pu - along * du) ** 2 + (pv - along * dv) ** 2
        farthest = int(np.argmax(distances))
        if distances[farthest] > TOLERANCE_METRES**2:
            middle = start + 1 + farthest
            kept[middle] = True
            stack += [(start, middle), (middle, end)]
    return np.flatnonzero(kept)


def cells_of(x0, y0, x1, y1):
    """Yields the cells that a segment touches, by columns."""
    low, high = sorted((x0, x1))
    for column in range(max(low // CELL, 0), min(high // CELL, COLUMNS - 1) + 1):
        if x0 == x1:
            ys = (y0, y1)
        else:
            left, right = max(low, column * CELL), min(high, (column + 1) * CELL)
            ys = tuple(y0 + (y1 - y0) * (x - x0) / (x1 - x0) for x in (left, right))
        bottom, top = math.floor(min(ys) - 1) // CELL, math.floor(max(ys) + 1) // CELL
        for row in range(max(bottom, 0), min(top, ROWS - 1) + 1):
            yield row * COLUMNS + column


def number(value):
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return encoded


def signed(value):
    return number(value << 1 if value >= 0 else (-value << 1) - 1)


def distance(px, py, lines, latitude):
    """Returns the distance in units of latitude from a point to lines."""
    scale = math.cos(math.radians(latitude))
    best = math.inf
    for _, points in lines:
        for (x0, y0), (x1, y1) in zip(points, points[1:]):
            dx, dy, ax, ay = (x1 - x0) * scale, y1 - y0, (px - x0) * scale, py - y0
            length = dx * dx + dy * dy
            along = min(max((ax * dx + ay * dy) / length, 0), 1) if length else 0
            best = min(best, (ax - along * dx) ** 2 + (ay - along * dy) ** 2)
    return math.sqrt(best)


def write(path, finder):
    """Writes the areas of a finder, which has the properties of a TimezoneFinder that are used here."""
    points, *rest = edges(finder)
    cells = defaultdict(list)
    count = lines = 0
    for pair, line in chains(*rest):
        x, y = points[0][line], points[1][line]
        kept = simplified(x, y)
        units = 10_000_000 // UNITS
        xs = np.rint((x[kept] + 1_800_000_000) / units).astype(int).tolist()
        ys = np.rint((y[kept] + 900_000_000) / units).astype(int).tolist()
        reduced = [(xs[0], ys[0])]
        for point in zip(xs, ys):
            if point != reduced[-1]:
                reduced.append(point)
        if len(reduced) < 2:
            continue
        lines += 1
        count += len(reduced)
        # The parts of the line in each cell.
        latest = {}
        for index, (start, end) in enumerate(zip(reduced, reduced[1:])):
            for cell in cells_of(*start, *end):
                if latest.get(cell) == index - 1:
                    cells[cell][-1][1].append(end)
                else:
                    cells[cell].append((pair, [start, end]))
                latest[cell] = index
    print(f"{lines:,} lines with {count:,} points, in {len(cells):,} cells", file=sys.stderr)

    index, data = [], bytearray()
    names = finder.timezone_names
    for row in range(ROWS):
        for column in range(COLUMNS):
            parts = cells.get(row * COLUMNS + column)
            left, bottom = column * CELL, row * CELL
            if parts is None:
                zone = finder.timezone_at(lng=(left + CELL / 2) / UNITS - 180, lat=(bottom + CELL / 2) / UNITS - 90)
                index.append(1 << 31 | names.index(zone))
                continue
            latitude = (bottom + CELL / 2) / UNITS - 90
            clear = CLEAR_METRES / DEGREE_METRES * UNITS
            best = None
            for candidate, (x, y) in enumerate(CANDIDATES):
                far = distance(left + x, bottom + y, parts, latitude)
                if best is None or far > best[0]:
                    best = (far, candidate)
                if far > 8 * clear:
                    break
            if best[0] < clear:
                print(f"the point of cell {column} {row} is {best[0] / UNITS * DEGREE_METRES:.0f} m from a border")
            x, y = CANDIDATES[best[1]]
            zone = finder.timezone_at(lng=(left + x) / UNITS - 180, lat=(bottom + y) / UNITS - 90)
            index.append(len(data))
            data += number(best[1]) + number(names.index(zone)) + number(len(parts))
            for (one, other), line in parts:
                data += number(one) + number(other) + number(len(line))
                px, py = left, bottom
                for x, y in line:
                    data += signed(x - px) + signed(y - py)
                    px, py = x, y
    text = "\n".join(names).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<II", len(text), len(index)) + text)
        file.write(b"\0" * (-len(text) % 4))
        file.write(np.array(index, "<u4").tobytes())
        file.write(data)
    print(f"{len(names)} zones, {file_size(path):,} bytes, of which borders {len(data):,}", file=sys.stderr)


def file_size(path):
    with open(path, "rb") as file:
        return file.seek(0, 2)


if __name__ == "__main__":
    from timezonefinder import TimezoneFinder

    write(sys.argv[1], TimezoneFinder(in_memory=True))
