// Areas and routes that the user draws: points are added by clicks on the map, or at its centre with the keyboard.

import { byId, drawing, json, locale, text } from "../pages/common.js";
import * as view from "./view.js";

/** The least number of points by the kind of a shape. */
const least = { within: 3, route: 2 };
const layer = drawing("svg", { class: "shape", "aria-hidden": "true" });
let actions;
/** The shape: its kind is the name of the parameter, `in` for a named area, which has rings of points. */
let kind;
let points = [];
let rings = [];
let name = "";
let isDrawing = false;
/** The view for which the shape was drawn. */
let drawn;

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
export function showShape(kindOfShape, shape) {
  clear(false);
  points = [...shape.matchAll(/(-?[\d.]+) (-?[\d.]+)/g)].map(([, long, lat]) => ({ lat: Number(lat), long: Number(long) }))
    .filter(({ lat, long }) => Math.abs(lat) <= 90 && Math.abs(long) <= 180);
  if (kindOfShape === "within") points.pop();
  kind = shape ? kindOfShape : undefined;
  show();
}

/** Shows the outline of a named area. Returns its box. */
export async function showArea(id) {
  clear(false);
  kind = "in";
  show();
  const area = await json("areas/" + encodeURIComponent(id));
  if (kind !== "in") return;
  rings = ringsOf(area.geometry);
  name = nameOf(area);
  show();
  const [lats, longs] = ["lat", "long"].map((axis) => rings.flat().map((point) => point[axis]));
  const most = (values, choose) => values.reduce((a, b) => choose(a, b));
  return [most(longs, Math.min), most(lats, Math.min), most(longs, Math.max), most(lats, Math.max)];
}

export const areaName = () => name;

/** Returns the name of an area in the language of the page, or else its own. */
export const nameOf = (area) => area.names?.[locale.split("-")[0]] || area.name;

/** Returns the rings of an area's geometry as coordinates. */
export const ringsOf = ({ type, coordinates }) => (type === "Polygon" ? [coordinates] : coordinates).flat()
  .map((ring) => ring.map(([long, lat]) => ({ lat, long })));

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
  const shape = (kind === "within" ? [...points, points[0]] : points).map(({ lat, long }) => `${long} ${lat}`).join(", ");
  actions.onDone(kind, kind === "within" ? `POLYGON((${shape}))` : `LINESTRING(${shape})`);
}

function clear(isTold) {
  [points, rings, name, isDrawing, kind] = [[], [], "", false, undefined];
  view.setDrawing();
  show();
  if (!isTold) return;
  actions.onDone();
  byId("map").focus();
}

function show() {
  byId("draw").hidden = !kind;
  byId("draw").classList.toggle("drawing", isDrawing);
  const names = kind === "in" ? [name ? "map.onlyInNamedArea" : "map.onlyInArea"]
    : kind === "route" ? ["map.onlyAlongRoute", "map.clickRoute", "map.pointsOfRoute"]
      : ["map.onlyInArea", "map.clickArea", "map.pointsOfArea"];
  const step = !isDrawing ? 0 : points.length < least[kind] ? 1 : 2;
  byId("draw-text").textContent = text(names[step], { count: points.length, name });
  byId("radius-field").hidden = kind !== "route";
  byId("draw-done").disabled = points.length < least[kind];
  byId("draw-undo").disabled = !points.length;
  byId("draw-clear").textContent = text(isDrawing ? "common.cancel" : "map.clearShape");
  drawn = undefined;
  moveShape();
}

/** Draws the shape where the view has it. Where only the centre has moved, the drawing moves. */
export function moveShape() {
  const shapes = kind === "in" ? rings : points.length ? [points] : [];
  if (!shapes.length) return layer.replaceChildren();
  const origin = view.placeOf(shapes[0][0]);
  if (drawn?.zoom === view.zoom) {
    layer.style.transform = `translate(${origin.x - drawn.x}px, ${origin.y - drawn.y}px)`;
    return;
  }
  drawn = { zoom: view.zoom, ...origin };
  layer.style.transform = "";
  const places = placed(shapes);
  const isRoute = kind === "route";
  layer.replaceChildren(
    drawing("path", { d: pathOf(places, isRoute ? "" : "Z"), class: isRoute ? "route" : "within", "fill-rule": "evenodd" }),
    ...(isDrawing ? places[0].map(({ x, y }) => drawing("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 5 })) : []));
}

/** Returns where the view has the points of shapes. */
export function placed(shapes) {
  const [turn, origin] = [view.worldWidth(), view.placeOf(shapes[0][0])];
  return shapes.map((shape) => {
    let last = origin;
    // Neighbours are less than half a turn apart, also across the antimeridian.
    return shape.map(view.placeOf).map(({ x, y }) => (last = { x: x - Math.round((x - last.x) / turn) * turn, y }));
  });
}

/** Returns the path of shapes in the view, each with an end, such as `Z`. */
export const pathOf = (places, end) => places.map((shape) =>
  `M${visible(shape).map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}${end}`).join("");

/** Returns the points that are at least a pixel from the one before, and the last one. */
function visible(shape) {
  let last = { x: Infinity, y: 0 };
  return shape.filter((point, index) => {
    const isKept = index === shape.length - 1 || Math.abs(point.x - last.x) + Math.abs(point.y - last.y) > 1;
    if (isKept) last = point;
    return isKept;
  });
}
