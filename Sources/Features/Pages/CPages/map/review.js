// The review of suggested edits, and of edits in conflict with a data set: a panel over the map with one at a time.
// Loaded when it is asked for.

import { access, askForKey, button, byId, call, element, json, locale, Problem, text } from "../pages/common.js";
import { closePopup, explanation, mayLeave } from "./place.js";
import { setListOpen } from "./sheet.js";
import { labelOf } from "./symbols.js";
import * as view from "./view.js";

const maximumLoaded = 100;
/** The names of fields that have a text, by their pointers. */
const fieldNames = {
  "/name": "map.nameField", "/category": "map.category", "/lat": "map.latitude", "/long": "map.longitude",
  "/source": "map.source", "/sourceId": "map.sourceId",
};
const previous = button("review-previous", text("map.previous"), () => move(-1), { "aria-keyshortcuts": "k" });
const next = button("review-next", text("map.next"), () => move(1), { "aria-keyshortcuts": "j" });
const status = element("span", { id: "review-status", role: "status" });
const content = element("div", { id: "review-content" });
const panel = element("section", { id: "review", tabindex: -1, hidden: true, "aria-labelledby": "review-title", onkeydown: press },
  element("div", { class: "heading" }, element("h2", { id: "review-title" }, text("map.reviewTitle")),
    button("review-close", "✕", close, { class: "close", "aria-label": text("common.close") })),
  element("p", { class: "actions" }, previous, next, status), content, element("p", { class: "note" }, text("map.reviewKeys")));
const pins = element("div", { class: "pins", "aria-hidden": "true" });
const style = element("link", { rel: "stylesheet", href: "map/review.css" });
document.head.append(style);
// The panel is shown with its style, or without it where that can't be loaded.
await new Promise((resolve) => { style.onload = style.onerror = resolve; });
byId("map").after(pins, panel);

let actions;
/**
 * The open suggestions, the oldest first, then the places with conflicts, which have `edits`; whether there are more, and
 * the index of the shown one.
 */
let suggestions = [];
let hasMore = false;
let index = 0;
/** The place that the shown suggestion is for, as it is now; none for a new place. */
let place;
/** The positions before and after, if the suggestion has both or is a new place, or else the one that it keeps. */
let positions = {};
let opener;
/** Grows with each suggestion that is shown, so that a response for a former one is not. */
let turn = 0;
let isBusy = false;

const current = () => suggestions[index];

/** Opens the panel: `onChange(told)` follows a change of a place, `onToggle()` the opening and the end. */
export async function open(actionsOfPage) {
  if (isOpen() || !mayLeave()) return;
  closePopup();
  setListOpen(false);
  actions = actionsOfPage;
  opener = document.activeElement;
  if (!await load()) return;
  panel.hidden = false;
  panel.focus({ preventScroll: true });
  actions.onToggle();
  await show();
}

export const isOpen = () => !panel.hidden;

export function close() {
  if (panel.hidden) return;
  panel.hidden = true;
  turn += 1;
  pins.replaceChildren();
  actions.onToggle();
  (opener?.isConnected && opener !== document.body ? opener : byId("map")).focus();
}

/**
 * Loads the open suggestions and the conflicts. Asks for a key where it needs another one; returns whether it succeeded.
 */
async function load() {
  for (;;) {
    try {
      const responses = [await call("suggestions", { state: "open", limit: maximumLoaded })];
      try {
        responses.push(await call("edits", { conflict: true, limit: maximumLoaded }));
      } catch (problem) {
        // A server without the calls of edits, or without an index where it needs one.
        if (![404, 501].includes(problem.status)) throw problem;
      }
      suggestions = (await Promise.all(responses.map((response) => response.json()))).flat();
      hasMore = responses.some((response) => response.headers.has("link"));
      index = 0;
      return true;
    } catch (problem) {
      if (![401, 403].includes(problem.status)) {
        actions.report(explanation(problem));
        return false;
      }
      if (!await askForKey(text(access.key ? "map.reviewKeyRefused" : "map.reviewKey"))) return false;
    }
  }
}

function press(event) {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  // A key that is held down decides nothing twice.
  if (ctrlKey || metaKey || altKey || event.repeat) return;
  if (key === "Escape") {
    if (byId("review-reason")) show();
    else close();
    return;
  }
  if (target.matches("input")) return;
  const keys = {
    j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1),
    a: () => byId("review-accept")?.click(), r: () => byId("review-reject")?.click(),
  };
  if (!keys[key]) return;
  event.preventDefault();
  keys[key]();
}

function move(by) {
  if (isBusy || !suggestions[index + by]) return;
  index += by;
  show();
}

// MARK: The panel

const valueOf = (value, field) => {
  if (value === null) return element("span", { class: "note" }, text("map.noValue"));
  return String(field === "/category" ? labelOf(value) || value : value);
};

const nameOf = (field) => (fieldNames[field] ? text(fieldNames[field])
  : field.replace(/^\/tags\//, "").replaceAll("~1", "/").replaceAll("~0", "~"));

/** Returns the present value of a field of the place. */
function presentValue(field) {
  const name = field.slice(1);
  if (!name.startsWith("tags/")) return place[name] ?? null;
  return place.tags?.[name.slice(5).replaceAll("~1", "/").replaceAll("~0", "~")] ?? null;
}

/** Shows the suggestion at the index, and on the map where it is. */
async function show(told = "") {
  turn += 1;
  const shown = turn;
  place = undefined;
  const suggestion = current();
  if (!suggestion) return showEmpty(told);
  if (suggestion.edits) return showConflict(suggestion, shown, told);
  const loaded = suggestion.place
    ? await json("locations/" + encodeURIComponent(suggestion.place)).catch(() => undefined) : undefined;
  if (shown !== turn) return;
  place = loaded;
  const isStale = Boolean(place && place.version !== suggestion.version);
  fill(told,
    element("h3", { dir: "auto" }, suggestion.draft?.name || place?.name || text("map.wasDeleted")),
    element("p", { class: "note" }, [text(suggestion.draft ? "map.suggestedPlace" : "map.suggestedChange"),
      new Date(suggestion.createdAt).toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" })].join(" · ")),
    isStale ? element("p", { class: "failed" }, text("map.suggestionStale")) : undefined,
    tableOf(suggestion, isStale),
    suggestion.comment ? element("p", { class: "comment", dir: "auto" }, suggestion.comment) : undefined,
    suggestion.contact ? element("p", { class: "note", dir: "auto" }, text("map.contact", { contact: suggestion.contact }))
      : undefined,
    element("div", { role: "alert", class: "failed", id: "review-problem" }),
    element("p", { class: "actions" },
      button("review-accept", text(isStale ? "map.acceptAnyway" : "map.accept"), () => decide(suggestion, shown, "accept", "", isStale),
        { class: "main", "aria-keyshortcuts": "a" }),
      button("review-reject", text("map.reject"), () => askForReason(suggestion, shown), { "aria-keyshortcuts": "r" })));
  showPositions(suggestion);
}

/** Shows a place with the fields that were edited and have another value in its data set by now. */
function showConflict(edited, shown, told) {
  place = edited;
  const conflicts = edited.edits.filter(({ conflict }) => conflict);
  const settling = (isTaken) => () => settle(edited, shown, conflicts, isTaken);
  fill(told,
    element("h3", { dir: "auto" }, edited.name || text("map.wasDeleted")),
    element("p", { class: "note", dir: "auto" }, text("map.conflict", { source: edited.source })),
    conflictTable(conflicts),
    element("div", { role: "alert", class: "failed", id: "review-problem" }),
    element("p", { class: "actions" },
      // As of a suggestion: one key takes the new values, the other keeps those of the place.
      button("review-accept", text("map.takeSource"), settling(true), { class: "main", "aria-keyshortcuts": "a" }),
      button("review-reject", text("map.keepEdit"), settling(false), { "aria-keyshortcuts": "r" })));
  showPositions({ difference: [] });
}

function conflictTable(conflicts) {
  const heading = (name) => element("th", { scope: "col" }, text(name));
  const shownValue = (value, field) => (value?.lat === undefined ? valueOf(value ?? null, field) : `${value.lat}, ${value.long}`);
  return element("table", {},
    element("thead", {}, element("tr", {}, heading("map.field"), heading("map.source"), heading("map.now"))),
    element("tbody", {}, ...conflicts.map(({ field, source }) => {
      const pointer = pointerOf(field);
      const present = field === "position" ? { lat: place.lat, long: place.long } : presentValue(pointer);
      return element("tr", {},
        element("th", { scope: "row", dir: "auto" }, field === "position" ? text("map.position") : nameOf(pointer)),
        ...[source, present].map((value) => element("td", { dir: "auto" }, shownValue(value, pointer))));
    })));
}

/** Returns the pointer of a field of an edit. */
const pointerOf = (field) => (field.startsWith("tags.")
  ? "/tags/" + field.slice(5).replaceAll("~", "~0").replaceAll("/", "~1") : "/" + field);

/** Returns the merge patch that gives fields the values of the data set. */
function patchOf(conflicts) {
  const patch = {};
  for (const { field, source } of conflicts) {
    if (field === "position") Object.assign(patch, source);
    else if (field.startsWith("tags.")) patch.tags = { ...patch.tags, [field.slice(5)]: source };
    else patch[field] = source;
  }
  return patch;
}

function showEmpty(told) {
  positions = {};
  movePins();
  fill(told, element("p", {}, text("map.noSuggestions")));
}

function fill(told, ...children) {
  const hadFocus = panel.contains(document.activeElement);
  const count = suggestions.length;
  const total = hasMore ? `${count}+` : count;
  previous.disabled = index === 0;
  next.disabled = index >= count - 1;
  status.textContent = [told, count ? text("map.suggestionOf", { index: index + 1, total }) : ""].filter(Boolean).join(" · ");
  content.replaceChildren(...children.filter(Boolean));
  panel.scrollTop = 0;
  // What had the focus may be gone.
  if (hadFocus) panel.focus({ preventScroll: true });
}

function tableOf({ difference, omittedDifferences }, isStale) {
  const heading = (name) => element("th", { scope: "col" }, text(name));
  const cell = (value, field) => element("td", { dir: "auto" }, valueOf(value, field));
  return element("table", {},
    element("thead", {}, element("tr", {}, heading("map.field"), heading("map.before"),
      isStale ? heading("map.now") : undefined, heading("map.after"))),
    element("tbody", {}, ...difference.map(({ field, before, after }) => element("tr", {},
      element("th", { scope: "row", dir: "auto" }, nameOf(field)), cell(before, field),
      isStale ? cell(presentValue(field), field) : undefined, cell(after, field))),
      omittedDifferences ? element("tr", {}, element("th", { scope: "row" }, `… +${omittedDifferences}`)) : undefined));
}

// MARK: The map

function showPositions({ draft, difference }) {
  const changed = (field, side) => difference.find((one) => one.field === field)?.[side];
  const at = (side) => {
    const [lat, long] = ["lat", "long"].map((name) => changed("/" + name, side) ?? draft?.[name] ?? place?.[name]);
    return isFinite(lat) && isFinite(long) ? { lat, long } : undefined;
  };
  positions = { before: draft ? undefined : at("before"), after: at("after") };
  const { before, after } = positions;
  const isMoved = before && after && (before.lat !== after.lat || before.long !== after.long);
  if (!isMoved && before) positions = { kept: before };
  const target = positions.after || positions.kept;
  if (!target) return movePins();
  if (isMoved) {
    // Some room beside the places, and not across the antimeridian.
    const [west, east] = [Math.min(before.long, after.long), Math.max(before.long, after.long)];
    const [south, north] = [Math.min(before.lat, after.lat), Math.max(before.lat, after.lat)];
    if (east - west < 180) view.fit([west, south, east, north]);
    else view.fly(after, 4);
  } else if (!view.isVisible(target) || view.zoom < 13) view.fly(target, Math.max(view.zoom, 15));
  movePins();
}

/** Puts the pins where the view has their positions. */
export function movePins() {
  if (panel.hidden) return pins.replaceChildren();
  pins.replaceChildren(...Object.entries(positions).filter(([, position]) => position).map(([side, position]) => {
    const { x, y } = view.placeOf(position);
    const label = side === "kept" ? undefined : element("span", {}, text("map." + side));
    const pin = element("span", { class: `pin ${side}` }, label);
    pin.style.setProperty("--x", `${x}px`);
    pin.style.setProperty("--y", `${y}px`);
    return pin;
  }));
}

// MARK: Decisions

/**
 * Ends the conflicts of a place by a patch, which changes nothing where the edits are kept. An import may have changed the
 * values of the source since they were shown, without a new version of the place.
 */
async function settle(edited, shown, conflicts, isTaken) {
  if (isBusy || shown !== turn) return;
  isBusy = true;
  const path = "locations/" + encodeURIComponent(edited.id);
  const values = (edits) => JSON.stringify(edits.filter(({ conflict }) => conflict).map(({ field, source }) => [field, source]));
  try {
    const { edits = [] } = await json(path, { view: "details" }, { cache: "no-store" });
    if (values(edits) !== values(conflicts)) throw new Problem(412, { detail: text("map.sourceChanged") });
    await call(path, {}, { method: "PATCH", body: JSON.stringify(isTaken ? patchOf(conflicts) : {}),
      headers: { "Content-Type": "application/merge-patch+json", "If-Match": `"${edited.version}"` } });
    await showNext(text(isTaken ? "map.sourceTaken" : "map.editKept"), isTaken);
  } catch (problem) {
    await explain(problem, edited.id);
  }
}

/** Removes the shown element after a decision, and shows the next one. */
async function showNext(told, hasChanged) {
  suggestions.splice(index, 1);
  if (!suggestions.length && hasMore) await load();
  index = Math.max(0, Math.min(index, suggestions.length - 1));
  isBusy = false;
  await show(told);
  if (hasChanged) actions.onChange(told);
}

/** Shows the problem of a decision, beside the present state if that has changed. */
async function explain(problem, id) {
  isBusy = false;
  if (problem.status === undefined) throw problem;
  // The place has changed by now, or what was shown is decided.
  if ([404, 409, 412].includes(problem.status) && await load()) {
    index = Math.max(0, suggestions.findIndex((suggestion) => suggestion.id === id));
    await show();
  }
  const explained = byId("review-problem");
  if (explained) explained.textContent = explanation(problem);
  if (problem.status === 401) askForKey(explanation(problem));
}

function askForReason(suggestion, shown) {
  if (shown !== turn) return;
  const input = element("input", { id: "review-reason", maxlength: 1000, autocomplete: "off" });
  const form = element("form", { onsubmit: (event) => {
    event.preventDefault();
    decide(suggestion, shown, "reject", input.value.trim());
  } },
  element("label", { for: "review-reason" }, text("map.reason")), input,
  element("p", { class: "actions" }, element("button", { class: "main", id: "review-confirm" }, text("map.reject")),
    button("review-cancel", text("common.cancel"), () => show())));
  byId("review-accept").parentElement.replaceWith(form);
  input.focus();
}

/**
 * Accepts or rejects a suggestion, which was shown in that turn: while the next one is loaded, the buttons are still those
 * of the former. `isForced` applies it to the place as it is shown.
 */
async function decide(suggestion, shown, decision, reason, isForced) {
  if (isBusy || shown !== turn) return;
  isBusy = true;
  const { id } = suggestion;
  const headers = { "Content-Type": "application/json" };
  if (isForced) headers["If-Match"] = `"${place.version}"`;
  try {
    await call(`suggestions/${id}/${decision}`, {}, { method: "POST", headers, body: JSON.stringify(reason ? { reason } : {}) });
    await showNext(text(decision === "accept" ? "map.accepted" : "map.rejected"), decision === "accept");
  } catch (problem) {
    await explain(problem, id);
  }
}
