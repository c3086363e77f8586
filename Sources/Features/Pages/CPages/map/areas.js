// The named areas of the service, where the built-in base map ends. Loaded with the first view that is so deep.

import { byId, drawing, json } from "../pages/common.js";
import { nameOf, pathOf, placed, ringsOf } from "./draw.js";
import * as view from "./view.js";

const maximumAreas = 12;
/** The number of points of an outline up to which all are drawn. */
const maximumPoints = 5000;
/** The least width and height of the visible part of an area that has its name in it, in pixels. */
const leastSide = 60;
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

/** Draws the areas, and writes their names where boxes are free of symbols, or else of other names. */
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
    const boxes = spots(places.flat(), half).map(([x, y]) => [x - half, y - 14, x + half, y + 4]);
    const box = boxes.find(isFree) ?? boxes.find(isApart);
    if (!box) {
      label.remove();
      continue;
    }
    take(box);
    named.push(box);
    label.setAttribute("x", box[0] + half);
    label.setAttribute("y", box[1] + 14);
  }
}

/** Returns the positions for a name in the visible part of its area, from the top down. */
function spots(places, half) {
  const limits = (axis, least, most) => [Math.min, Math.max].map((choose) =>
    places.map((place) => Math.min(Math.max(place[axis], least), most)).reduce((a, b) => choose(a, b)));
  // On a narrow screen the controls are on the map.
  const [map, panel] = [byId("map"), byId("panel")].map((node) => node.getBoundingClientRect());
  const covered = panel.right > map.left + 1 ? panel.bottom - map.top : 0;
  const [[left, right], [top, bottom]] = [limits("x", 0, view.width), limits("y", covered, view.height)];
  if (right - left < leastSide || bottom - top < leastSide) return [];
  const middle = (left + right) / 2;
  const columns = [middle, ...[(left + middle) / 2, (middle + right) / 2].filter((x) => x - half > left && x + half < right)];
  // Lines of 18 pixels.
  return Array.from({ length: Math.floor((bottom - top) / 18) - 1 }, (_, line) => top + 20 + line * 18)
    .flatMap((y) => columns.map((x) => [x, y]));
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
