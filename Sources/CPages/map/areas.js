// The named areas of the service, where the built-in base map ends. Loaded with the first view that is so deep.

import { drawing, json } from "../pages/common.js";
import { nameOf, pathOf, placed, ringsOf } from "./draw.js";
import * as view from "./view.js";

const maximumAreas = 12;
/** The number of points of an outline up to which all are drawn. */
const maximumPoints = 5000;
/** The least width and height of the visible part of an area that has its name in it, in pixels. */
const leastSide = 60;
const layer = drawing("svg", { class: "shape areas", "aria-hidden": "true" });
document.querySelector("#map .markers").before(layer);
const outlines = new Map();
/** The box whose areas are shown or loaded. */
let box;
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

/** Draws the areas of a box, or none. */
export async function showAreas(bbox) {
  if (box === bbox) return;
  box = bbox;
  let areas = [];
  try {
    areas = bbox ? await Promise.all((await json("areas", { bbox, limit: maximumAreas })).map(outlineOf)) : [];
  } catch { /* The map shows no areas to callers who may not read them. */ }
  if (box !== bbox) return;
  drawn = areas.length ? { zoom: view.zoom, at: areas[0].rings[0][0], ...view.placeOf(areas[0].rings[0][0]) } : undefined;
  layer.style.transform = "";
  layer.style.visibility = "";
  layer.replaceChildren(...areas.flatMap(({ rings, name }) => {
    const places = placed(rings);
    return [drawing("path", { d: pathOf(places, "Z") }), labelOf(name, places.flat())];
  }).filter(Boolean));
}

/** Returns the name of an area, at the top of its part in the view. */
function labelOf(name, places) {
  const limits = (axis, size) => [places.reduce((least, place) => Math.min(least, place[axis]), size),
    places.reduce((most, place) => Math.max(most, place[axis]), 0)].map((value) => Math.min(Math.max(value, 0), size));
  const [[left, right], [top, bottom]] = [limits("x", view.width), limits("y", view.height)];
  if (right - left < leastSide || bottom - top < leastSide) return undefined;
  return drawing("text", { x: (left + right) / 2, y: top + 20 }, name);
}

/** Moves the areas with the view, and leaves them out while it zooms. */
export function moveAreas() {
  if (!drawn) return;
  const { x, y } = view.placeOf(drawn.at);
  layer.style.transform = `translate(${x - drawn.x}px, ${y - drawn.y}px)`;
  layer.style.visibility = drawn.zoom === view.zoom ? "" : "hidden";
}
