// Areas and routes that the user draws: points are added by clicks on the map, or at its centre with the keyboard.

import { byId, drawing } from "../pages/common.js";
import * as view from "./view.js";

/** The least number of points by the kind of a shape. */
const least = { within: 3, route: 2 };
const layer = drawing("svg", { class: "shape", "aria-hidden": "true" });
let actions;
/** The shape: its kind is the name of the parameter. */
let kind;
let points = [];
let isDrawing = false;

/** Starts the drawing of shapes: `onDone(kind, text)` takes a shape in WKT, or none. */
export function startDrawing(actionsOfPage) {
  actions = actionsOfPage;
  byId("map").append(layer);
  const buttons = {
    "draw-add": () => add(view.coordinate()), "draw-undo": undo, "draw-done": finish, "draw-clear": () => clear(true),
  };
  for (const [id, action] of Object.entries(buttons)) byId(id).addEventListener("click", action);
  byId("radius").addEventListener("change", () => isDrawing || finish());
  byId("map").addEventListener("keydown", (event) => {
    const action = { Enter: finish, Backspace: undo, Escape: () => clear(true), " ": buttons["draw-add"] }[event.key];
    if (!isDrawing || !action) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    action();
  }, true);
}

/** Begins a shape of a kind. */
export function draw(kindOfShape) {
  clear(false);
  kind = kindOfShape;
  isDrawing = true;
  view.setDrawing(add);
  show();
  byId("map").focus();
}

/** Shows the shape of a text in WKT. The server explains one that cannot be read, and it can be cleared. */
export function showShape(kindOfShape, text) {
  clear(false);
  points = [...text.matchAll(/(-?[\d.]+) (-?[\d.]+)/g)].map(([, long, lat]) => ({ lat: Number(lat), long: Number(long) }))
    .filter(({ lat, long }) => Math.abs(lat) <= 90 && Math.abs(long) <= 180);
  if (kindOfShape === "within") points.pop();
  kind = text ? kindOfShape : undefined;
  show();
}

function add({ lat, long }) {
  points.push({ lat: Number(lat.toFixed(6)), long: Number(long.toFixed(6)) });
  show();
}

function undo() {
  points.pop();
  show();
}

function finish() {
  if (points.length < least[kind]) return;
  isDrawing = false;
  view.setDrawing();
  show();
  const text = (kind === "within" ? [...points, points[0]] : points).map(({ lat, long }) => `${long} ${lat}`).join(", ");
  actions.onDone(kind, kind === "within" ? `POLYGON((${text}))` : `LINESTRING(${text})`);
}

function clear(isTold) {
  [points, isDrawing, kind] = [[], false, undefined];
  view.setDrawing();
  show();
  if (!isTold) return;
  actions.onDone();
  byId("map").focus();
}

function show() {
  byId("draw").hidden = !kind;
  byId("draw").classList.toggle("drawing", isDrawing);
  const name = kind === "within" ? "the area" : "the route";
  byId("draw-text").textContent = !isDrawing ? `Only places ${kind === "within" ? "in the area" : "along the route"}`
    : points.length < least[kind] ? `Click on the map for the points of ${name}` : `${points.length} points of ${name}`;
  byId("radius-field").hidden = kind !== "route";
  byId("draw-done").disabled = points.length < least[kind];
  byId("draw-undo").disabled = !points.length;
  byId("draw-clear").textContent = isDrawing ? "Cancel" : "Clear";
  moveShape();
}

/** Draws the shape where the view has it. */
export function moveShape() {
  if (!points.length) return layer.replaceChildren();
  const [first, ...others] = points.map(view.placeOf);
  // Neighbours are less than half a turn apart, also across the antimeridian.
  const turn = view.worldWidth();
  let last = first;
  const places = [first, ...others.map(({ x, y }) => (last = { x: x - Math.round((x - last.x) / turn) * turn, y }))];
  const path = "M" + places.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
  layer.replaceChildren(drawing("path", { d: path + (kind === "within" ? "Z" : ""), class: kind }),
    ...(isDrawing ? places.map(({ x, y }) => drawing("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 5 })) : []));
}
