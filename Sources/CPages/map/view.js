// The map itself in Web Mercator: moving, zooming, base map, graticule, scale, markers. A point `{ x, y }` is in the
// square of the world, from 0 to 1, or in the view, in pixels.

import { byId, drawing, element } from "../pages/common.js";

const tileSize = 256;
const maximumZoom = 20;
const maximumTileZoom = 19;
const equatorMetres = 40075016.686;
const steps = [45, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005];
const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const short = new Intl.NumberFormat("en", { notation: "compact" });
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
const markerLayer = element("div", { "aria-hidden": "true" });
const images = new Map();
const pointers = new Map();
let features = new Map();
let markers = new Map();
export let width = 1;
export let height = 1;
let centre = { x: 0.5, y: 0.45 };
export let zoom = 0;
let page;
let path = 0;
let pressed;
let frame = 0;
let flight = 0;
let settling = 0;
let laidOut;
let tiles;
let handle;
let selected;

export function startMap(callbacks) {
  page = callbacks;
  node.append(tileLayer, lines, markerLayer);
  measure();
  new ResizeObserver(measure).observe(node);
  listen();
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

export const pan = (x, y) => set(pointAt({ x: width / 2 + x, y: height / 2 + y }), zoom);

export const zoomBy = (levels, point) => set(...zoomed(levels, point));

function zoomed(levels, point = { x: width / 2, y: height / 2 }) {
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
  clearTimeout(settling);
  settling = setTimeout(page.onSettle, 120);
}

function draw() {
  frame = 0;
  if (tiles) drawTiles();
  else drawGraticule();
  drawMarkers();
  if (handle) put(handle, placeOf(handle.coordinate));
  const metresPerPixel = equatorMetres * Math.cos(coordinate().lat * Math.PI / 180) / scale();
  const power = 10 ** Math.floor(Math.log10(metresPerPixel * 100));
  const metres = power * [5, 2, 1].find((factor) => factor * power <= metresPerPixel * 100);
  byId("scale-bar").style.width = `${Math.round(metres / metresPerPixel)}px`;
  byId("scale-text").textContent = metres >= 1000 ? `${metres / 1000} km` : `${metres} m`;
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

export function setTiles(template) {
  tiles = template;
  lines.replaceChildren();
  draw();
}

function drawTiles() {
  const z = between(Math.round(zoom), 0, maximumTileZoom);
  const count = 2 ** z;
  const [a, b] = [pointAt({ x: 0, y: 0 }), pointAt({ x: width, y: height })];
  const wanted = new Set();
  for (let y = Math.max(0, Math.floor(a.y * count)); y < Math.min(count, b.y * count); y += 1) {
    for (let column = Math.floor(a.x * count); column < b.x * count; column += 1) {
      const names = { z, x: ((column % count) + count) % count, y };
      const address = tiles.replace(/\{([zxy])\}/g, (_, name) => names[name]);
      wanted.add(address);
      if (images.has(address)) continue;
      const image = element("img", { alt: "", draggable: "false", src: address });
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

export function show(shown) {
  features = new Map(shown.map((feature) => [feature.id, feature]));
  markers = new Map(shown.map(({ id, count, name, colour }) => {
    const isCluster = count > 1;
    const marker = element("div", { "data-id": id, "data-testid": isCluster ? "cluster" : "marker",
      class: isCluster ? "marker cluster" : "marker" }, isCluster ? short.format(count) : element("span", {}, name));
    marker.style.setProperty("--size", `${Math.round(24 + 8 * Math.log10(count))}px`);
    marker.style.setProperty("--colour", colour);
    return [id, marker];
  }));
  markerLayer.replaceChildren(...markers.values());
  select(selected);
  laidOut = undefined;
  drawMarkers();
}

export function select(id) {
  markers.get(selected)?.classList.remove("selected");
  selected = id;
  markers.get(id)?.classList.add("selected");
}

function drawMarkers() {
  const last = laidOut;
  const across = last ? shortest(last.x - centre.x) * scale() : Infinity;
  if (last?.zoom === zoom && Math.abs(across) < width / 2) {
    return put(markerLayer, { x: across, y: (last.y - centre.y) * scale() });
  }
  laidOut = { ...centre, zoom };
  markerLayer.style.transform = "";
  const taken = [];
  const places = [];
  for (const [id, feature] of features) {
    const { x, y } = placeOf(feature);
    const marker = markers.get(id);
    put(marker, { x, y });
    const reach = feature.count > 1 ? 13 + 4 * Math.log10(feature.count) : 8;
    taken.push([x - reach, y - reach, x + reach, y + reach]);
    if (feature.count > 1) continue;
    places.push([marker, [x + 10, y - 9, x + 16 + Math.min(feature.name.length * 7, 150), y + 9]]);
  }
  // Names where there is room for them.
  for (const [marker, a] of places.slice(0, 400)) {
    const hasRoom = !taken.some((b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]);
    if (hasRoom) taken.push(a);
    marker.classList.toggle("labelled", hasRoom);
  }
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
    if (!pointers.size) [pressed, path] = [event.target.closest(".marker"), 0];
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
      const feature = features.get(pressed?.dataset.id);
      if (pointers.delete(event.pointerId) && name === "pointerup" && path < 4 && feature) {
        page.onOpen(feature);
      }
    });
  }
  node.addEventListener("wheel", (event) => {
    event.preventDefault();
    const unit = (event.deltaMode === 1 ? 30 : 1) / (event.ctrlKey ? 100 : 300);
    zoomBy(between(-event.deltaY * unit, -1, 1), local(event));
  }, { passive: false });
  node.addEventListener("dblclick", (event) => {
    if (!event.target.closest(".marker, #handle")) flyTo(...zoomed(event.shiftKey ? -1 : 1, local(event)));
  });
  node.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = arrows[event.key];
    if (step) pan(...step.map((value) => value * (event.shiftKey ? 300 : 80)));
    else if ("+=".includes(event.key)) zoomBy(1);
    else if ("-_".includes(event.key)) zoomBy(-1);
    else return;
    event.preventDefault();
  });
}
