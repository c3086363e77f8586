// What is drawn of the features in view, so that no symbols overlap. Positions are in pixels.
//
// Groups of the server are joined where their circles overlap. Then places follow, those of the most interest first: each
// is a symbol where there is room, or else a dot. Where there is no room for a dot, it joins what it would overlap: dots
// grow with their places, and large ones have their number.

const dotRadius = 4;
/** The room around a symbol that others leave, so that there is some for names. */
const symbolRoom = 7;
const circleRadius = (count) => 13 + 3.5 * Math.log10(count);

/** Items in cells of a side that is no less than two items need. There may be thousands, which are looked up often. */
class Cells {
  constructor(side) { Object.assign(this, { side, items: new Map() }); }

  cellOf({ x, y }, right = 0, down = 0) {
    return (Math.floor(x / this.side) + right) * 65536 + Math.floor(y / this.side) + down;
  }

  insert(item) {
    const cell = this.cellOf(item.at);
    if (!this.items.has(cell)) this.items.set(cell, new Set());
    this.items.get(cell).add(item);
  }

  remove(item) { this.items.get(this.cellOf(item.at)).delete(item); }

  /** Returns the item that overlaps most with a circle; `undefined` where the circle is free. */
  overlapping(at, radius) {
    let [found, least] = [undefined, 0];
    for (let near = 0; near < 9; near += 1) {
      for (const item of this.items.get(this.cellOf(at, near % 3 - 1, Math.floor(near / 3) - 1)) || []) {
        const reach = item.room + radius;
        const [x, y] = [item.at.x - at.x, item.at.y - at.y];
        if (x > reach || x < -reach || y > reach || y < -reach) continue;
        const gap = Math.sqrt(x * x + y * y) - reach;
        if (gap < least) [found, least] = [item, gap];
      }
    }
    return found;
  }

  all() { return [...this.items.values()].flatMap((cell) => [...cell]); }
}

/**
 * Returns what is drawn: features, each with its position `at`, its `radius`, and the `members` that it stands for.
 * Those that are not a symbol have a `shape`, "circle" or "dot". A feature that is `first` is a symbol in any case.
 */
export function grouped(features, placeOf, isFirst) {
  const [circles, places] = [new Cells(80), new Cells(40)];
  const overlapping = (at, radius) => circles.overlapping(at, radius) || places.overlapping(at, radius);
  const items = features.map((feature) => ({ ...feature, at: placeOf(feature), members: [feature] }));
  for (let item of items.filter(({ count }) => count > 1).sort((a, b) => b.count - a.count)) {
    Object.assign(item, { shape: "circle", radius: circleRadius(item.count), room: circleRadius(item.count) });
    for (;;) {
      const other = circles.overlapping(item.at, item.radius);
      if (!other) break;
      circles.remove(other);
      item = joined(other, item);
    }
    circles.insert(item);
  }
  const interest = (item) => (isFirst(item) ? 9 : item.symbol.weight);
  for (const item of items.filter(({ count }) => count === 1).sort((a, b) => interest(b) - interest(a))) {
    const other = !item.symbol.isMinor && overlapping(item.at, 12 + symbolRoom);
    if (isFirst(item) || (!item.symbol.isMinor && !other)) {
      places.insert(Object.assign(item, { radius: 12, room: 12 + symbolRoom }));
      continue;
    }
    const overlapped = overlapping(item.at, dotRadius - symbolRoom + 2);
    if (!overlapped) {
      places.insert(Object.assign(item, { shape: "dot", radius: dotRadius, room: dotRadius + 1.5 }));
      continue;
    }
    overlapped.count += 1;
    overlapped.members.push(...item.members);
    if (overlapped.shape === "dot") overlapped.radius = dotRadius + Math.min(1.5 * Math.log2(overlapped.count), 5);
  }
  return [...circles.all(), ...places.all()];
}

function joined(a, b) {
  const count = a.count + b.count;
  const share = b.count / count;
  // Longitudes of neighbours in the view differ by less than half a turn, or by a whole one.
  const turn = Math.round((a.long - b.long) / 360) * 360;
  return {
    ...(a.count >= b.count ? a : b), count, lat: a.lat + (b.lat - a.lat) * share,
    long: a.long + (b.long + turn - a.long) * share, members: [...a.members, ...b.members],
    at: { x: a.at.x + (b.at.x - a.at.x) * share, y: a.at.y + (b.at.y - a.at.y) * share },
    radius: circleRadius(count), room: circleRadius(count),
  };
}
