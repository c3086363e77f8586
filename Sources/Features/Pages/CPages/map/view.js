// The map itself in Web Mercator: moving, zooming, base map, graticule, scale, markers. A point `{ x, y }` is in the
// square of the world, from 0 to 1, or in the view, in pixels.

import { base, button, byId, drawing, element, json, linked, locale, text } from "../pages/common.js";
import { grouped } from "./groups.js";
import { Land } from "./land.js";
import { symbolOf } from "./symbols.js";

const tileSize = 256;
const maximumZoom = 20;
const maximumTileZoom = 19;
/** The number of places from which on a dot has their number in it. */
const countedDot = 5;
/** The number of symbols up to which those that leave a group move. */
const maximumMoving = 400;
/** The zoom level above which the built-in base map has a graticule. */
const graticuleZoom = 8.5;
const equatorMetres = 40075016.686;
const steps = [45, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005];
const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const short = new Intl.NumberFormat(locale, { notation: "compact" });
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const between = (value, least, most) => Math.min(Math.max(value, least), Math.max(least, most));
const shortest = (x) => x - Math.round(x);

function projected({ lat, long }) {
  const sine = Math.sin(between(lat, -85.0511, 85.0511) * Math.PI / 180);
  return { x: long / 360 + 0.5, y: 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI) };
}

const unprojected = ({ x, y }) => ({
  lat: Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180 / Math.PI, long: (x - Math.floor(x) - 0.5) * 360,
});

function degrees(value, step, letters) {
  const rounded = Math.abs(value).toFixed(step >= 1 ? 0 : Math.ceil(-Math.log10(step)));
  return rounded + "°" + (Number(rounded) ? letters[value < 0 ? 1 : 0] : "");
}

const node = byId("map");
const tileLayer = element("div", { class: "tiles", "aria-hidden": "true" });
const lines = drawing("svg", { class: "graticule", "aria-hidden": "true" });
const markerLayer = element("div", { class: "markers", "aria-hidden": "true" });
const images = new Map();
const pointers = new Map();
/** The features, and the places and groups that are drawn of them. */
let features = [];
let shown = new Map();
let groupedZoom;
export let width = 1;
export let height = 1;
let centre = { x: 0.5, y: 0.45 };
export let zoom = 0;
let page;
let path = 0;
let pressed;
let isCountPressed = false;
let frame = 0;
let flight = 0;
let settling = 0;
let laidOut;
let isMoving = false;
let tiles;
let land;
let isJudged = false;
/** The areas of symbols and their names, when they were laid out. */
let taken = [];
let handle;
/** Takes the coordinates of clicks while a shape is drawn. */
let drawingAction;
/** The place whose popup is open; it is drawn whatever the features are. */
let selected;
const ruler = document.createElement("canvas").getContext("2d");
const lengths = new Map();

/**
 * Starts the map with its controls: `onOpen` is called for a feature that is chosen, `onShowAll` for a view of
 * everything, `onSettle` when the view rests, `onMove` with each frame, `onLayOut` between symbols and names (see
 * `layOutAreas`), and `report` with what fails.
 */
export function startMap(callbacks) {
  page = { onMove() {}, onSettle() {}, onLayOut() {}, ...callbacks };
  node.append(tileLayer, lines, markerLayer);
  const control = (id, name, sign, action) => button(id, sign, action, { "aria-label": text(name) });
  node.after(element("div", { class: "zoom", role: "group", "aria-label": text("map.zoom") },
    control("zoom-in", "map.zoomIn", "+", () => zoomBy(1)), control("zoom-out", "map.zoomOut", "−", () => zoomBy(-1)),
    control("zoom-all", "map.zoomAll", "⤢", page.onShowAll),
    // Browsers tell their location to pages of TLS or of their own machine alone.
    navigator.geolocation && isSecureContext ? control("locate", "map.locate", "◎", locate) : undefined),
  element("p", { id: "map-help", hidden: true }, text("map.help")));
  node.setAttribute("aria-describedby", "map-help");
  node.parentNode.append(element("p", { id: "scale" }, element("span", { id: "scale-text" }), element("span", { id: "scale-bar" })),
    element("p", { id: "hint", hidden: true }, text("map.hint")), element("footer", { id: "attribution" }));
  measure();
  new ResizeObserver(measure).observe(node);
  listen();
}

function locate() {
  navigator.geolocation.getCurrentPosition(
    ({ coords }) => fly({ lat: coords.latitude, long: coords.longitude }, Math.max(zoom, 15)),
    ({ message }) => page.report(text("map.noLocation", { message })), { timeout: 10000, maximumAge: 60000 });
}

function measure() {
  width = node.clientWidth || 1;
  height = node.clientHeight || 1;
  laidOut = undefined;
  set(centre, zoom);
}

const scale = () => tileSize * 2 ** zoom;

/** Returns a zoom in the range: at the smallest, the world fills the view. */
const limited = (to) => between(to, Math.log2(Math.max(width, height) / tileSize), maximumZoom);

/** The box of the view: west, south, east, north. A west greater than east crosses the antimeridian. */
export function box() {
  const [a, b] = [pointAt({ x: 0, y: 0 }), pointAt({ x: width, y: height })];
  const [{ lat: north, long: west }, { lat: south, long: east }] = [unprojected(a), unprojected(b)];
  return b.x - a.x > 0.9999 ? [-180, south, 180, north] : [west, south, east, north];
}

export const coordinate = () => unprojected(centre);

/** Returns whether the view is deeper than the base map knows. */
export const isDeep = () => zoom > graticuleZoom && !hasImages();

function pointAt({ x, y }) {
  return { x: centre.x + (x - width / 2) / scale(), y: centre.y + (y - height / 2) / scale() };
}

export function placeOf(coordinate) {
  const { x, y } = projected(coordinate);
  return { x: width / 2 + shortest(x - centre.x) * scale(), y: height / 2 + (y - centre.y) * scale() };
}

export function isVisible(coordinate) {
  const { x, y } = placeOf(coordinate);
  return x >= 0 && y >= 0 && x <= width && y <= height;
}

export const jump = (coordinate, to) => set(projected(coordinate), to);

/** Moves to a coordinate, with motion where it is near and the user allows it. */
export const fly = (coordinate, to) => flyTo(projected(coordinate), limited(to));

export function fit([west, south, east, north]) {
  const [a, b] = [projected({ lat: north, long: west }), projected({ lat: south, long: east })];
  if (b.x < a.x) b.x += 1;
  const level = (extent, size) => Math.log2(extent * 0.84 / tileSize / Math.max(size, 1e-9));
  fly(unprojected({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 }),
    Math.min(level(width, b.x - a.x), level(height, b.y - a.y), 15));
}

/** Shows features apart, as far as the greatest zoom can. Returns whether it does. */
export function open(group) {
  if (zoom > maximumZoom - 0.5) return false;
  const points = (group.members || [group]).map((member) => projected(member));
  const extent = (name) => Math.max(...points.map((point) => point[name])) - Math.min(...points.map((point) => point[name]));
  const size = Math.max(extent("x") / width, extent("y") / height);
  const least = zoom + (group.members?.every(({ count }) => count === 1) ? 1 : 2);
  flyTo(projected(group), limited(Math.max(least, Math.min(Math.log2(0.6 / tileSize / Math.max(size, 1e-9)), 19))));
  return true;
}

export const pan = (x, y) => set(pointAt({ x: width / 2 + x, y: height / 2 + y }), zoom);

export const zoomBy = (levels, point) => set(...zoomed(levels, point));

/** Returns the view after a change of the zoom level, in which a point stays: by default the selected place. */
function zoomed(levels, point = selected && isVisible(selected) ? placeOf(selected) : { x: width / 2, y: height / 2 }) {
  const to = limited(zoom + levels);
  const share = 1 - 2 ** (zoom - to);
  const { x, y } = pointAt(point);
  return [{ x: centre.x + (x - centre.x) * share, y: centre.y + (y - centre.y) * share }, to];
}

function flyTo(target, to) {
  cancelAnimationFrame(flight);
  const [from, { x, y }] = [zoom, centre];
  const [across, along] = [shortest(target.x - x), target.y - y];
  const isFar = Math.hypot(across, along) * scale() > 3 * width || Math.abs(to - from) > 6;
  if (calm.matches || isFar) return set(target, to);
  const begin = performance.now();
  const step = (now) => {
    const part = 1 - (1 - between((now - begin) / 350, 0, 1)) ** 3;
    const level = from + (to - from) * part;
    // The target comes straight towards the centre on the screen.
    const share = Math.abs(to - from) < 0.01 ? part : (2 ** (from - level) - 1) / (2 ** (from - to) - 1);
    move({ x: x + across * share, y: y + along * share }, level);
    if (part < 1) flight = requestAnimationFrame(step);
  };
  flight = requestAnimationFrame(step);
}

function set(point, to) {
  cancelAnimationFrame(flight);
  move(point, to);
}

function move({ x, y }, to) {
  zoom = limited(to);
  const half = height / scale() / 2;
  centre = { x: x - Math.floor(x), y: between(y, half, 1 - half) };
  frame ||= requestAnimationFrame(draw);
  isMoving = true;
  clearTimeout(settling);
  // Under a finger or a pressed mouse, the map waits longer before it groups places anew.
  settling = setTimeout(() => {
    isMoving = false;
    if (groupedZoom === zoom) frame ||= requestAnimationFrame(draw);
    else regroup();
    page.onSettle();
  }, pointers.size ? 400 : 120);
}

function draw() {
  frame = 0;
  if (tiles) drawTiles();
  drawMarkers();
  land?.show({ width, height, centre, zoom, scale: scale() }, !isMoving, taken);
  node.classList.toggle("deep", isDeep());
  if (isDeep() || !(land || tiles)) drawGraticule();
  else lines.replaceChildren();
  if (handle) put(handle, placeOf(handle.coordinate));
  const metresPerPixel = equatorMetres * Math.cos(coordinate().lat * Math.PI / 180) / scale();
  const power = 10 ** Math.floor(Math.log10(metresPerPixel * 100));
  const metres = power * [5, 2, 1].find((factor) => factor * power <= metresPerPixel * 100);
  byId("scale-bar").style.width = `${Math.round(metres / metresPerPixel)}px`;
  byId("scale-text").textContent = metres >= 1000 ? `${(metres / 1000).toLocaleString(locale)} km` : `${metres} m`;
  page.onMove();
}

function put(node, { x, y }) { node.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`; }

function drawGraticule() {
  const step = steps.findLast((step) => step * scale() / 360 >= 110) || 45;
  const west = (pointAt({ x: 0, y: 0 }).x - 0.5) * 360;
  const [, south, , north] = box();
  const [paths, texts] = [{ line: "", axis: "" }, []];
  const line = (degree, path, x, y, letters) => {
    paths[Math.abs(degree) < 1e-9 ? "axis" : "line"] += path;
    texts.push(drawing("text", { x, y }, degrees(degree, step, letters)));
  };
  for (let index = Math.ceil(west / step); (index * step - west) / 360 * scale() < width; index += 1) {
    const x = Math.round((index * step - west) / 360 * scale());
    line(shortest(index * step / 360) * 360, `M${x} 0V${height}`, x + 4, height - 8, "EW");
  }
  for (let index = Math.ceil(south / step); index * step <= north; index += 1) {
    const y = Math.round(placeOf({ lat: index * step, long: 0 }).y);
    line(index * step, `M0 ${y}H${width}`, 8, y - 5, "NS");
  }
  lines.replaceChildren(
    ...Object.entries(paths).map(([name, d]) => drawing("path", { d, class: name })), ...texts);
}

/**
 * Loads the base map, the built-in vector tiles, images in tiles, or both, and shows its attribution and that of the
 * places. Returns the data sets of the places.
 */
export async function loadBaseMap() {
  const { layers } = await json("map/settings.json");
  setLayers(layers.map(({ tiles, ...others }) =>
    ({ tiles: new URL(tiles, base).href.replace(/%7B(\w)%7D/g, "{$1}"), ...others })));
  const sources = await json("sources").catch(() => []);
  const texts = [...new Set([...layers, ...sources].map(({ attribution }) => attribution).filter(Boolean))];
  const isRepeated = (text) => texts.some((other) => other !== text && other.startsWith(text));
  byId("attribution").replaceChildren(...texts.filter((text) => !isRepeated(text)).map(attributionOf));
  return sources;
}

/** Returns an attribution. A text that ends with its only address is a link. */
function attributionOf(text) {
  const [, name, href] = text.match(/^([^]*[^\s:,])\s+(https?:\/\/\S+)$/) || [];
  const isLink = name && URL.canParse(href) && !name.includes("://");
  return element("span", { dir: "auto" },
    ...(isLink ? [element("a", { href, rel: "noopener noreferrer", target: "_blank" }, name)] : linked(text)));
}

function setLayers(layers) {
  const [vector, image] = ["vector", "image"].map((format) => layers.find((layer) => layer.format === format));
  if (vector && !land) {
    const canvas = element("canvas", { class: "land", "aria-hidden": "true" });
    tileLayer.prepend(canvas);
    land = new Land(canvas, vector.tiles, vector.maximumZoom, () => (frame ||= requestAnimationFrame(draw)));
  }
  tiles = image;
  byId("hint").hidden = Boolean(image);
  draw();
}

/** Notes whether a map is light, and inverted in dark appearance. Images of other servers do not tell. */
function judgeGround({ target }) {
  if (isJudged || new URL(target.src).origin !== location.origin) return;
  ruler.canvas.width = ruler.canvas.height = 8;
  ruler.drawImage(target, 0, 0, 8, 8);
  const pixels = ruler.getImageData(0, 0, 8, 8).data;
  const sum = pixels.reduce((sum, value) => sum + value, 0) / pixels.length;
  isJudged = true;
  tileLayer.classList.toggle("paper", sum > 210);
}

/** Returns whether images are known to cover a coordinate: that of the middle of the view, at its zoom level, by default. */
export function hasImages(at) {
  if (!tiles || (!at && zoom < (tiles.minimumZoom ?? 0) - 0.5)) return false;
  const { lat, long } = at || coordinate();
  const [west, south, east, north] = tiles.bounds || [-180, -90, 180, 90];
  return lat >= south && lat <= north && (west <= east ? long >= west && long <= east : long >= west || long <= east);
}

function isInBounds({ x, y }, count) {
  if (!tiles.bounds) return true;
  const [west, south, east, north] = tiles.bounds;
  const [a, b] = [projected({ lat: north, long: west }), projected({ lat: south, long: east })];
  const [left, right] = [x / count, (x + 1) / count];
  const isAcross = a.x <= b.x ? left <= b.x && right >= a.x : left <= b.x || right >= a.x;
  return isAcross && y / count <= b.y && (y + 1) / count >= a.y;
}

function drawTiles() {
  const z = between(Math.round(zoom), tiles.minimumZoom ?? 0, tiles.maximumZoom ?? maximumTileZoom);
  const count = 2 ** z;
  const [a, b] = [pointAt({ x: 0, y: 0 }), pointAt({ x: width, y: height })];
  const wanted = new Set();
  const isWanted = zoom > (tiles.minimumZoom ?? 0) - 1.5;
  for (let y = Math.max(0, Math.floor(a.y * count)); isWanted && y < Math.min(count, b.y * count); y += 1) {
    for (let column = Math.floor(a.x * count); column < b.x * count; column += 1) {
      const names = { z, x: ((column % count) + count) % count, y };
      if (!isInBounds(names, count)) continue;
      const address = tiles.tiles.replace(/\{([zxy])\}/g, (_, name) => names[name]);
      wanted.add(address);
      if (images.has(address)) continue;
      const image = element("img", { alt: "", draggable: "false", onload: judgeGround, src: address,
        onerror: ({ target }) => { target.hidden = true; } });
      images.set(address, { image, ...names });
      tileLayer.append(image);
    }
  }
  // Tiles of the last level stay below until those of this one are there.
  const isComplete = [...wanted].every((address) => images.get(address).image.complete);
  for (const [address, { image, z: level, x, y }] of images) {
    if (!wanted.has(address) && (level === z || isComplete)) {
      image.remove();
      images.delete(address);
    }
    const size = scale() / 2 ** level;
    image.style.width = `${Math.ceil(size)}px`;
    put(image, {
      x: width / 2 + shortest((x + 0.5) / 2 ** level - centre.x) * scale() - size / 2,
      y: height / 2 + (y / 2 ** level - centre.y) * scale(),
    });
  }
}

/** Shows features; those with ids of `fresh` have changed, which is seen. */
export function show(loaded, fresh) {
  features = loaded;
  regroup(fresh);
}

export function select(place) {
  selected = place && { ...place, count: 1, symbol: symbolOf(place.category) };
  regroup();
}

/** The zoom level from which symbols tell the number of places without room. */
const tellingZoom = 18;

/** Groups the features at the present zoom, and shows the groups. */
function regroup(fresh = new Set()) {
  const all = selected ? [...features.filter(({ id }) => id !== selected.id), selected] : features;
  const before = shown;
  const circles = [...before.values()].filter(({ count }) => count > 1).map((item) => placeOf(item));
  shown = new Map();
  groupedZoom = zoom;
  for (const item of grouped(all, placeOf, ({ id }) => id === selected?.id)) {
    item.hidden = !item.shape && item.count > 1 && zoom >= tellingZoom ? item.count - 1 : 0;
    const key = `${item.id} ${item.count} ${item.shape} ${item.hidden}`;
    const former = before.get(key);
    item.marker = former?.symbol === item.symbol && former.name === item.name ? former.marker : markerOf(key, item);
    item.marker.classList.toggle("selected", item.id === selected?.id);
    shown.set(key, item);
    if (!former && circles.length && !calm.matches && shown.size < maximumMoving) leaveGroup(item, circles);
    if (fresh.has(item.id)) markChange(item, former);
  }
  for (const [key, { marker }] of before) if (shown.get(key)?.marker !== marker) marker.remove();
  for (const { marker } of shown.values()) if (!marker.parentNode) markerLayer.append(marker);
  layOut();
}

/** Lays out symbols and names again. */
export function layOut() {
  laidOut = undefined;
  frame ||= requestAnimationFrame(draw);
}

function markerOf(key, { count, name, symbol, shape, radius, hidden }) {
  const isCounted = shape === "circle" || count >= countedDot;
  const children = shape ? [isCounted ? short.format(count) : undefined]
    : [glyph(symbol), hidden ? element("b", {}, "+" + short.format(hidden)) : undefined];
  const marker = element("div", { "data-id": key, "data-testid": count > 1 && shape ? "cluster" : "marker",
    class: `marker ${shape || "symbol"}${isCounted && shape === "dot" ? " counted" : ""}` }, ...children,
  count > 1 && shape ? undefined : element("span", { dir: "auto" }, name));
  marker.style.setProperty("--size", `${Math.round(2 * radius)}px`);
  marker.style.setProperty("--colour", symbol.colour);
  return marker;
}

/** Returns the drawing of a symbol. */
export const glyph = (symbol) => drawing("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" },
  drawing("path", { d: symbol.drawing, "fill-rule": "evenodd" }));

/** Moves a marker from where its place was, with a ring. */
function markChange({ at, marker }, former) {
  if (calm.matches) return;
  marker.animate([{ boxShadow: "0 0 0 0 var(--colour)" }, { boxShadow: "0 0 0 1.25rem transparent" }], 1500);
  const from = former ? placeOf(former) : at;
  const isNear = Math.hypot(from.x - at.x, from.y - at.y) < width;
  if (!former) marker.animate([{ scale: 0 }, { scale: 1 }], { duration: 250, easing: "ease-out" });
  else if (isNear) marker.animate([{ translate: `${from.x - at.x}px ${from.y - at.y}px` }, { translate: "0 0" }],
    { duration: 400, easing: "ease-in-out" });
}

/** Has a marker come from the group that it was in. */
function leaveGroup({ at, marker }, circles) {
  let [nearest, least] = [undefined, 90];
  for (const from of circles) {
    const distance = Math.hypot(from.x - at.x, from.y - at.y);
    if (distance < least) [nearest, least] = [from, distance];
  }
  if (!nearest) return;
  const start = { translate: `${nearest.x - at.x}px ${nearest.y - at.y}px`, opacity: 0.2 };
  marker.animate([start, { translate: "0 0", opacity: 1 }], { duration: 220, easing: "ease-out" });
}

function drawMarkers() {
  const last = laidOut;
  const across = last ? shortest(last.x - centre.x) * scale() : Infinity;
  if (last?.zoom === zoom && Math.abs(across) < width / 2) {
    return put(markerLayer, { x: across, y: (last.y - centre.y) * scale() });
  }
  laidOut = { ...centre, zoom };
  markerLayer.style.transform = "";
  for (const item of shown.values()) {
    item.at = placeOf(item);
    put(item.marker, item.at);
  }
  // While the zoom changes, names stay with their places.
  if (!isMoving || !last) layOutNames();
}

/** Writes names where there is room: right of a symbol, left of it, below or above. */
function layOutNames() {
  const cells = new Map();
  const side = 80;
  const each = function* ([left, top, right, bottom]) {
    for (let x = Math.floor(left / side); x <= right / side; x += 1) {
      for (let y = Math.floor(top / side); y <= bottom / side; y += 1) yield x * 4096 + y;
    }
  };
  const take = (box) => {
    taken.push(box);
    for (const cell of each(box)) cells.set(cell, [...cells.get(cell) || [], box]);
  };
  const isFree = (a) => ![...each(a)].some((cell) => cells.get(cell)?.some((b) =>
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]));
  taken = [];
  const dots = [];
  for (const { at: { x, y }, radius, shape, marker } of shown.values()) {
    const box = [x - radius, y - radius, x + radius, y + radius];
    if (shape === "dot") dots.push([marker, box]);
    else take(box);
  }
  page.onLayOut(isFree, take);
  const isNear = ({ at }) => at.x > -200 && at.y > -50 && at.x < width + 200 && at.y < height + 50;
  const named = [...shown.values()].filter((item) => !item.shape && item.name && isNear(item));
  const weight = ({ id, symbol }) => (id === selected?.id ? 9 : symbol.weight);
  for (const { name, at: { x, y }, radius, marker } of named.sort((a, b) => weight(b) - weight(a))) {
    const half = lengthOf(name) / 2;
    const gap = radius + 3;
    const centres = {
      right: [x + gap + half, y], left: [x - gap - half, y], below: [x, y + gap + 9], above: [x, y - gap - 8],
    };
    // The popup of the selected place is above it.
    const sides = marker.classList.contains("selected") ? ["below", "right", "left"] : Object.keys(centres);
    const where = sides.find((side) => {
      const [a, b] = centres[side];
      return isFree([a - half - 2, b - 8, a + half + 2, b + 8]);
    });
    for (const each of Object.keys(centres)) marker.classList.toggle(each, each === where);
    marker.classList.toggle("labelled", Boolean(where));
    if (!where) continue;
    const [a, b] = centres[where];
    take([a - half - 2, b - 8, a + half + 2, b + 8]);
  }
  for (const [marker, box] of dots) {
    marker.classList.toggle("covered", !isFree(box));
    taken.push(box);
  }
}

/** Returns the length of a name as the style writes it, in pixels. */
function lengthOf(name) {
  if (!lengths.has(name)) {
    if (lengths.size > 5000) lengths.clear();
    ruler.font = "500 13px system-ui, sans-serif";
    lengths.set(name, Math.min(ruler.measureText(name).width + 2, 152));
  }
  return lengths.get(name);
}

/** Shows a handle that is dragged, or moved with arrow keys; without a coordinate, none. */
export function setHandle(coordinate, label, onChange) {
  handle?.remove();
  handle = undefined;
  if (!coordinate) return;
  handle = element("button", { id: "handle", type: "button", "aria-label": label });
  const moveBy = (x, y) => {
    const place = placeOf(handle.coordinate);
    moveHandle(unprojected(pointAt({ x: place.x + x, y: place.y + y })));
    onChange(handle.coordinate);
  };
  handle.onpointerdown = (event) => {
    event.stopPropagation();
    handle.setPointerCapture(event.pointerId);
  };
  handle.onpointermove = (event) => {
    if (handle.hasPointerCapture(event.pointerId)) moveBy(event.movementX, event.movementY);
  };
  handle.onkeydown = (event) => {
    const step = arrows[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    moveBy(...step.map((value) => value * (event.shiftKey ? 20 : 2)));
  };
  node.append(handle);
  moveHandle(coordinate);
}

/** Has a function take the coordinates of clicks; without one, clicks open places again. */
export function setDrawing(action) {
  drawingAction = action;
  node.classList.toggle("drawing", Boolean(action));
}

/** The width of the world in pixels. */
export const worldWidth = scale;

export function moveHandle(coordinate) {
  handle.coordinate = coordinate;
  put(handle, placeOf(coordinate));
}

function listen() {
  const local = (event) => {
    const { left, top } = node.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  node.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    cancelAnimationFrame(flight);
    if (!pointers.size) {
      [pressed, path] = [event.target.closest(".marker"), 0];
      isCountPressed = event.target.matches("b");
    }
    pointers.set(event.pointerId, local(event));
  });
  node.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = local(event);
    const [x, y] = [before.x - now.x, before.y - now.y];
    // A hand that is not quite still clicks all the same.
    path = Math.max(path, Math.hypot(x, y));
    if (path < 4) return;
    node.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, now);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (!other) return pan(x, y);
    const apart = (point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
    pan(x / 2, y / 2);
    zoomBy(Math.log2(apart(now) / apart(before)), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
  });
  for (const name of ["pointerup", "pointercancel"]) {
    node.addEventListener(name, (event) => {
      const feature = shown.get(pressed?.dataset.id);
      const isClick = pointers.delete(event.pointerId) && name === "pointerup" && path < 4;
      if (isClick && drawingAction) {
        drawingAction(unprojected(pointAt(local(event))));
      } else if (isClick && feature) {
        // A symbol is its place; the number beside it, those that have no room.
        page.onOpen(feature.shape || isCountPressed ? feature : { ...feature, count: 1 });
      }
    });
  }
  node.addEventListener("wheel", (event) => {
    event.preventDefault();
    const unit = (event.deltaMode === 1 ? 30 : 1) / (event.ctrlKey ? 100 : 300);
    zoomBy(between(-event.deltaY * unit, -1, 1), local(event));
  }, { passive: false });
  node.addEventListener("dblclick", (event) => {
    if (!drawingAction && !event.target.closest(".marker, #handle")) flyTo(...zoomed(event.shiftKey ? -1 : 1, local(event)));
  });
  node.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = arrows[event.key];
    if (step) pan(...step.map((value) => value * (event.shiftKey ? 300 : 80)));
    else if (event.key === "Home") page.onShowAll();
    else if ("+=".includes(event.key)) zoomBy(1);
    else if ("-_".includes(event.key)) zoomBy(-1);
    else return;
    event.preventDefault();
  });
}
