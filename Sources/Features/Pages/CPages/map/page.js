// The map page: what is in view, the filters, the list, the address of the view. The map itself is view.js.

import { Problem, access, askForKey, byId, element, json, locale, text } from "../pages/common.js";
import { areaName, draw, moveShape, showArea, showShape, startDrawing } from "./draw.js";
import { Live } from "./live.js";
import {
  closePopup, createPlace, explanation, followChange, mayLeave, movePopup, openChoice, openPopup, shownId, startPopup,
} from "./place.js";
import { showText, startSearch } from "./search.js";
import { setListOpen, startSheet } from "./sheet.js";
import { labelOf, loadCategories, symbolOf } from "./symbols.js";
import * as view from "./view.js";

const maximumListed = 60;
const maximumShown = 10000;
const retryMilliseconds = 4000;
/** The time for which a moved view rests before its stream begins. */
const streamDelay = 500;
/** The shortest time between readings of changed places, and their greatest part of the time. */
const updateMilliseconds = 300;
const updateShare = 0.2;
const filters = { category: "", q: "", open: "", in: "", within: "", route: "", radius: "" };
let features = [];
let sources = [];
let loading;
let retry = 0;
/** The ids of changes that the view does not show yet, and the timer of its next reading. */
let changed = new Set();
let update = 0;
let loadMilliseconds = 0;
/** Modules, once they were needed. */
let areas, review;

view.startMap({
  report,
  onShowAll: showAll,
  onMove: () => {
    movePopup();
    moveShape();
    areas?.moveAreas();
    review?.movePins();
  },
  onLayOut: (isFree, take) => areas?.layOutAreas(isFree, take),
  onSettle: () => {
    writeAddress();
    load();
    live.open(streamDelay);
  },
  onOpen: open,
});
startPopup({
  sources: () => sources,
  linkTo: (place) => hashOf(place, place.id),
  report,
  onClose: writeAddress,
  onChange: (told) => {
    load(told);
    showCategories();
  },
});

function report(text = "") {
  if (!text && byId("message").dataset.failed) return;
  byId("message").hidden = !text;
  byId("message").textContent = text;
}

/** Reports a problem, and asks for a key where that helps. Returns whether one was entered. */
async function recover(problem) {
  if (problem.name === "AbortError") return false;
  if (!(problem instanceof Problem)) throw problem;
  report(explanation(problem));
  if (problem.status !== 401 || byId("key-dialog")) return false;
  const isEntered = await askForKey(text(access.key ? "common.keyInvalid" : "map.keyReading"));
  if (isEntered) start();
  return isEntered;
}

const query = () => ({ bbox: view.box().map((value) => value.toFixed(6)).join(","), ...filters });

/** Returns what is in view: groups and places, matches of a text, or without an index places. */
async function loadFeatures(options) {
  // A cell is a sixteenth of a tile wide: here 16 pixels, less than a symbol.
  for (let zoom = Math.max(0, Math.round(view.zoom)); zoom >= 0 && !filters.q && !filters.route; zoom -= 1) {
    try {
      const { features } = await json("locations/clusters", { ...query(), zoom }, options);
      if (features.length <= maximumShown || zoom === 0) {
        return features.map(({ id, geometry: { coordinates: [long, lat] }, properties }) =>
          ({ id, lat, long, ...properties }));
      }
    } catch (problem) {
      if (problem.status === 501) break;
      // More than the server returns at once: larger groups.
      if (zoom === 0 || !problem.errors?.some(({ parameter }) => parameter === "zoom")) throw problem;
    }
  }
  return (await json("locations", { ...query(), limit: 1000 }, options)).map((place) => ({ ...place, count: 1 }));
}

async function load(told = "") {
  clearTimeout(retry);
  const [begin, fresh] = [performance.now(), changed];
  changed = new Set();
  loading?.abort();
  const { signal } = loading = new AbortController();
  try {
    const loaded = await loadFeatures({ signal });
    if (signal.aborted) return fresh.forEach((id) => changed.add(id));
    features = loaded.map((feature) => ({ ...feature, name: feature.name || "", symbol: symbolOf(feature.category) }));
  } catch (problem) {
    if (signal.aborted) return;
    await recover(problem);
    if ([0, 429, 503, 504].includes(problem.status)) retry = setTimeout(load, retryMilliseconds);
    return;
  }
  report();
  loadMilliseconds = performance.now() - begin;
  view.show(features, fresh);
  showList(told);
  showAreas();
}

async function showAreas() {
  if (!areas && !view.isDeep()) return;
  areas ??= await import("./areas.js");
  areas.showAreas(view.isDeep() ? query().bbox : undefined);
}

// MARK: Changes

const live = new Live({
  // Matches of a text and open places among the changes are read again.
  query: () => ({ bbox: query().bbox, category: filters.category }),
  onChange: (change) => {
    if (change) changed.add(change.id);
    if (change) followChange(change).catch(recover);
    // Places that change all the time are read as often as the server bears.
    update ||= setTimeout(async () => {
      await load();
      update = 0;
      if (changed.size) live.onChange();
    }, Math.max(updateMilliseconds, loadMilliseconds / updateShare));
  },
  onState: (state) => {
    byId("live").dataset.state = state;
    byId("live").textContent = state === "off" ? "" : text(state === "live" ? "map.live" : "map.lost");
  },
});

/** Follows the changes of another view, of other filters or with another key. */
function reload() {
  load();
  live.open();
}

// MARK: The list

/** Shows the list: matches by rank, or places by distance and groups by size. */
function showList(told) {
  const entries = features.filter(view.isVisible).map((feature, rank) => {
    const { x, y } = view.placeOf(feature);
    const distance = filters.q ? rank : Math.hypot(x - view.width / 2, y - view.height / 2);
    return { feature, order: feature.count > 1 ? 1e12 - feature.count : distance };
  }).sort((a, b) => a.order - b.order);
  const groups = entries.filter(({ feature }) => feature.count > 1).length;
  const total = entries.reduce((sum, { feature }) => sum + feature.count, 0);
  const summary = [told, total ? text("map.inView", { count: total }) : text("map.nothingInView"),
    filters.q && text("map.matching", { q: filters.q }), filters.open && text("map.openNow"),
    areaName() ? text("map.inNamedArea", { name: areaName() }) : (filters.in || filters.within) && text("map.inArea"),
    filters.route && text("map.alongRoute"),
    groups && text(groups < entries.length ? "map.someInGroups" : "map.allInGroups", { count: groups }),
  ].filter(Boolean).join(" · ");
  // Screen readers say what is set anew.
  if (byId("summary").textContent !== summary) byId("summary").textContent = summary;
  byId("toggle-list").firstElementChild.textContent = total ? text("map.places", { count: total }) : text("map.noPlaces");
  const focused = document.activeElement.closest("#list button")?.dataset.id;
  const more = entries.length - maximumListed;
  byId("list").replaceChildren(...entries.slice(0, maximumListed).map(itemOf), ...(more > 0
    ? [element("li", { class: "note" }, text("map.more", { count: more }))]
    : []));
  if (focused) [...byId("list").querySelectorAll("button")].find(({ dataset }) => dataset.id === focused)?.focus({ preventScroll: true });
}

function itemOf({ feature }) {
  const isGroup = feature.count > 1;
  const dot = element("span", { class: isGroup ? "dot group" : "dot" });
  dot.style.setProperty("--colour", feature.symbol.colour);
  if (!isGroup && feature.symbol.drawing) dot.append(view.glyph(feature.symbol));
  return element("li", {}, element("button", { type: "button", "data-id": feature.id,
    "data-testid": isGroup ? "group-item" : "place-item", onclick: () => open(feature) }, dot,
  element("span", { class: "name", dir: "auto" }, isGroup ? text("map.places", { count: feature.count }) : feature.name),
  element("small", {}, isGroup ? text("map.around", { name: feature.name }) : labelOf(feature.category))));
}

function open(feature) {
  if (feature.count === 1) return show(feature.id);
  if (!view.open(feature)) return openChoice(feature, show);
  byId("list").focus({ preventScroll: true });
}

async function show(id) {
  if (!mayLeave()) return writeAddress();
  setListOpen(false);
  try {
    const place = await openPopup(id);
    report();
    if (!view.isVisible(place)) view.fly(place, Math.max(view.zoom, 14));
    writeAddress();
  } catch (problem) {
    if (await recover(problem)) show(id);
  }
}

async function showCategories() {
  const categories = (await loadCategories().catch(() => [])).slice(0, 300);
  byId("categories").replaceChildren(...categories.map(({ category }) =>
    element("option", { value: category }, labelOf(category))));
  byId("category").replaceChildren(element("option", { value: "" }, text("map.allCategories")), ...categories.map(
    ({ category, count, depth }) => element("option", { value: category },
      `${"\u2003".repeat(depth)}${labelOf(category)} (${count.toLocaleString(locale)})`)));
  showCategory();
  if (features.length) showList("");
}

function showCategory() {
  const select = byId("category");
  select.value = filters.category;
  if (select.selectedIndex >= 0) return;
  select.append(element("option", { value: filters.category, selected: true }, labelOf(filters.category)));
}

function setCategory(category) {
  filters.category = category;
  showCategory();
  writeAddress();
  reload();
}

/** Shows only the places in a named area, with its outline. */
async function setArea(id) {
  setShape("in", id);
  try {
    view.fit(await showArea(id));
  } catch (problem) {
    await recover(problem);
  }
}

/** Returns the area of a name, but for case and accents, if there is one. */
async function areaNamed(q) {
  const isEqual = (name) => !name.localeCompare(q, locale, { sensitivity: "base" });
  const areas = q ? await json("areas", { q, limit: 10 }).catch(() => []) : [];
  return areas.find(({ name, names = {} }) => [name, ...Object.values(names)].some(isEqual));
}

async function searchFor(q) {
  if (q === filters.q) return;
  const area = await areaNamed(q);
  if (area) {
    showText("");
    return setArea(area.id);
  }
  filters.q = q;
  writeAddress();
  try {
    const { lat, long } = view.coordinate();
    const near = filters.route ? {} : { lat: lat.toFixed(4), long: long.toFixed(4) };
    const places = q ? await json("locations", { ...filters, ...near, limit: 50, fields: "lat,long" }) : [];
    if (filters.q !== q) return;
    if (places.length && !places.some((place) => view.isVisible(place))) view.fly(places[0], 9);
  } catch (problem) {
    await recover(problem);
  }
  load();
}

/** Shows only the places in an area or along a route, or all again. */
function setShape(kind, shape) {
  Object.assign(filters, { in: "", within: "", route: "", radius: "" });
  if (kind) filters[kind] = shape;
  if (kind === "route") filters.radius = byId("radius").value;
  writeAddress();
  reload();
}

/** Returns the fragment of a view: `#map=8.50/48.2100/16.3700&category=cafe`. */
function hashOf({ lat, long }, place) {
  const others = new URLSearchParams(Object.entries({ ...filters, place, review: review?.isOpen() }).filter(([, value]) => value));
  return `#map=${view.zoom.toFixed(2)}/${lat.toFixed(5)}/${long.toFixed(5)}${others.size ? "&" + others : ""}`;
}

async function openReview() {
  review ??= await import("./review.js");
  review.open({ report, onChange: load, onToggle: writeAddress });
}

function writeAddress() { history.replaceState(null, "", hashOf(view.coordinate(), shownId())); }

function readAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const [zoom, lat, long] = (parameters.get("map") || "").split("/").map(Number);
  for (const name of ["category", "q", "in"]) filters[name] = parameters.get(name) || "";
  filters.open = parameters.get("open") === "now" ? "now" : "";
  byId("open").checked = filters.open;
  filters.within = filters.in ? "" : parameters.get("within") || "";
  filters.route = filters.in || filters.within ? "" : parameters.get("route") || "";
  filters.radius = filters.route && (parameters.get("radius") || "250");
  byId("radius").value = filters.radius || "250";
  showShape(filters.route ? "route" : "within", filters.route || filters.within);
  if (filters.in) showArea(filters.in).then(() => showList(""), recover);
  showText(filters.q);
  showCategory();
  const place = parameters.get("place");
  if (isFinite(zoom + lat + long)) view.jump({ lat, long }, zoom);
  else if (!place && !parameters.has("review")) showAll();
  if (place) show(place);
  if (parameters.has("review")) openReview();
  else review?.close();
}

async function showAll() {
  const { bounds } = await json("tiles.json").catch(() => ({}));
  view.fit(bounds || [-180, -60, 180, 80]);
}

const controls = {
  "new-place": () => {
    setListOpen(false);
    const { lat, long } = view.coordinate();
    createPlace({ lat: Number(lat.toFixed(6)), long: Number(long.toFixed(6)) });
  },
  "set-key": async () => {
    if (await askForKey(text("map.keyReason"))) start();
  },
  "review-open": openReview,
  "draw-area": () => draw("within"),
  "draw-route": () => draw("route"),
  "curl": async () => (await import("./request.js")).openRequest({ query, report }),
};
for (const [id, action] of Object.entries(controls)) byId(id).addEventListener("click", action);
byId("category").addEventListener("change", (event) => setCategory(event.target.value));
byId("open").addEventListener("change", ({ target }) => {
  filters.open = target.checked ? "now" : "";
  writeAddress();
  load();
});
byId("map").addEventListener("keydown", ({ key }) => {
  if (key === "Escape") closePopup();
});
addEventListener("hashchange", () => {
  readAddress();
  reload();
});

function start() {
  reload();
  view.loadBaseMap().then((found) => { sources = found; }, recover);
  showCategories();
}

startSheet();
startDrawing({ onDone: setShape });
startSearch({ centre: view.coordinate, onPlace: show, onCategory: setCategory, onArea: setArea, onText: searchFor });
readAddress();
start();
