// The named areas of the service, where the built-in base map ends. Loaded with the first view that is so deep.

import { byId, drawing, json } from "../pages/common.js";
import { nameOf, pathOf, placed, ringsOf } from "./draw.js";
import * as view from "./view.js";

const maximumAreas = 12;
/** The number of points of an outline up to which all are drawn. */
const maximumPoints = 5000;
/** The least width and height of the visible part of an area that has its name in it, in pixels. */
const leastSide = 60;
/** The distance of the lines on which a name is tried, in pixels. */
const lineHeight = 18;
/** The outlines, below the symbols, and the names above them. */
const layers = Array.from({ length: 2 }, () => drawing("svg", { class: "shape areas", "aria-hidden": "true" }));
document.querySelector("#map .markers").before(layers[0]);
document.querySelector("#map .markers").after(layers[1]);
const outlines = new Map();
/** The box whose areas are shown or loaded. */
let box;
/** The outlines of the areas that are shown. */
let shown = [];
let drawn;

async function outlineOf({ id, version }) {
  const known = outlines.get(id);
  if (known?.version === version) return known;
  const area = await json("areas/" + id);
  const rings = ringsOf(area.geometry);
  const step = Math.ceil(rings.flat().length / maximumPoints);
  const outline = {
    version, name: nameOf(area), rings: rings.map((ring) => ring.filter((_, index) => index % step === 0)),
  };
  outlines.set(id, outline);
  return outline;
}

/** Shows the areas of a box, or none. */
export async function showAreas(bbox) {
  if (box === bbox) return;
  box = bbox;
  let loaded = [];
  try {
    loaded = bbox ? await Promise.all((await json("areas", { bbox, limit: maximumAreas })).map(outlineOf)) : [];
  } catch { /* The map shows no areas to callers who may not read them. */ }
  if (box !== bbox) return;
  shown = loaded;
  view.layOut();
}

/**
 * Draws the areas where the view has them, and writes their names, if possible where symbols leave room: `isFree` returns
 * whether a box is free, and `take` takes it.
 */
export function layOutAreas(isFree, take) {
  const first = shown[0]?.rings[0][0];
  drawn = first && { zoom: view.zoom, at: first, ...view.placeOf(first) };
  const areas = shown.map(({ rings, name }) => ({ places: placed(rings), label: drawing("text", {}, name) }));
  layers[0].replaceChildren(...areas.map(({ places }) => drawing("path", { d: pathOf(places, "Z") })));
  layers[1].replaceChildren(...areas.map(({ label }) => label));
  moveAreas();
  const named = [];
  const isApart = (a) => named.every((b) => a[0] >= b[2] || b[0] >= a[2] || a[1] >= b[3] || b[1] >= a[3]);
  for (const { places, label } of areas) {
    const half = label.getComputedTextLength() / 2 + 3;
    const boxAt = ([x, y]) => [x - half, y - 14, x + half, y + 4];
    const all = spots(places.flat(), half);
    const spot = all.find((spot) => isFree(boxAt(spot))) ?? all.find((spot) => isApart(boxAt(spot)));
    if (!spot) {
      label.remove();
      continue;
    }
    take(boxAt(spot));
    named.push(boxAt(spot));
    label.setAttribute("x", spot[0]);
    label.setAttribute("y", spot[1]);
  }
}

/** Returns the positions for the name of an area in its visible part, from the top down, as the middle of its base line. */
function spots(places, half) {
  const limits = (axis, least, most) => [places.reduce((lowest, place) => Math.min(lowest, place[axis]), most),
    places.reduce((highest, place) => Math.max(highest, place[axis]), least)]
    .map((value) => Math.min(Math.max(value, least), most));
  const [[left, right], [top, bottom]] = [limits("x", 0, view.width), limits("y", coveredHeight(), view.height)];
  if (right - left < leastSide || bottom - top < leastSide) return [];
  const middle = (left + right) / 2;
  const columns = [middle, ...[(left + middle) / 2, (middle + right) / 2].filter((x) => x - half > left && x + half < right)];
  const lines = Array.from({ length: Math.floor((bottom - top) / lineHeight) - 1 }, (_, line) => top + 20 + line * lineHeight);
  return lines.flatMap((y) => columns.map((x) => [x, y]));
}

/** Returns the height of the part of the map that the controls cover on a narrow screen, in pixels. */
function coveredHeight() {
  const [map, panel] = [byId("map"), byId("panel")].map((node) => node.getBoundingClientRect());
  return panel.right > map.left + 1 ? Math.max(panel.bottom - map.top, 0) : 0;
}

/** Moves the areas with the view, and leaves them out while it zooms. */
export function moveAreas() {
  if (!drawn) return;
  const { x, y } = view.placeOf(drawn.at);
  for (const { style } of layers) {
    style.transform = `translate(${x - drawn.x}px, ${y - drawn.y}px)`;
    style.visibility = drawn.zoom === view.zoom ? "" : "hidden";
  }
}
