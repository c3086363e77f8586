// A place: the popup with its fields, and the form that changes it.

import { Problem, access, askForKey, byId, button, call, element, json, linked, locale, text } from "../pages/common.js";
import { labelOf, symbolOf } from "./symbols.js";
import * as view from "./view.js";

const popup = byId("popup");
const narrow = matchMedia("(max-width: 44rem)");
const field = (name, label, attributes) => element("p", { class: "field" },
  element("label", { for: "edit-" + name }, label),
  element("input", { id: "edit-" + name, autocomplete: "off", ...attributes }));
const pathOf = (id) => "locations/" + encodeURIComponent(id);

export function explanation({ status, message, errors }) {
  if (status === 0) return message;
  if (status === 401) return text("common.needsKey");
  const detail = errors.map((error) => `${error.pointer || error.parameter} ${error.detail}`).join("; ") || message;
  return detail.charAt(0).toUpperCase() + detail.slice(1) + ".";
}

let actions;
/** The place that is shown or edited; none while a new one is written. */
let current;
let hours;
let tag;
let anchor;
let opener;
let request;
let attempted;
/** A Boolean value that indicates whether the popup is shown anew: it keeps the focus and the view as they are. */
let isFollowing = false;
/** The draft of the form as it was opened. */
let initial;

/** Starts the popup of places: `sources` are the data sets, `onChange(told)` follows a change. */
export function startPopup(actionsOfPage) {
  actions = actionsOfPage;
  popup.onkeydown = ({ key }) => {
    if (key === "Escape" && mayLeave()) back();
  };
}

export const shownId = () => (popup.hidden ? undefined : current?.id);

export async function openPopup(id) {
  if (popup.hidden) opener = document.activeElement;
  request?.abort();
  request = new AbortController();
  take(await read(await call(pathOf(id), {}, { signal: request.signal })));
  showPlace();
  return current;
}

async function read(response) {
  const place = await response.json();
  const hours = place.tags?.opening_hours ? await readHours(place.id).catch(() => ({})) : {};
  return { place, hours, tag: response.headers.get("etag") };
}

function take(state) { ({ place: current, hours, tag } = state); }

async function readHours(id) {
  const { fieldsOf } = await import("./hours.js");
  return fieldsOf(await json(pathOf(id) + "/hours"));
}

/** Shows the change of the open place. A form keeps what was written: saving it tells what has changed meanwhile. */
export async function followChange({ id, version, deleted }) {
  const isOld = () => shownId() === id && version > current.version && !byId("edit-form");
  if (!isOld()) return;
  const state = deleted ? undefined : await read(await call(pathOf(id)));
  if (!isOld()) return;
  const [top, hadFocus] = [popup.scrollTop, popup.contains(document.activeElement)];
  isFollowing = true;
  if (state) {
    take(state);
    showPlace();
  } else {
    view.select();
    show(current.name, current, element("p", { id: "gone", role: "status" }, text("map.wasDeleted")));
  }
  isFollowing = false;
  popup.scrollTop = top;
  if (hadFocus) popup.focus({ preventScroll: true });
}

export const mayLeave = () => popup.hidden || !byId("edit-form")
  || !Object.keys(changes()).length || confirm(text("map.discard"));

const back = () => (current && byId("edit-form") ? showPlace() : closePopup());

export function closePopup() {
  if (popup.hidden) return;
  popup.hidden = true;
  view.setHandle();
  view.select();
  actions.onClose();
  (opener?.isConnected && opener !== document.body ? opener : byId("map")).focus();
}

/** Puts the popup beside its place. On narrow screens it is at the bottom, by its style. */
export function movePopup() {
  if (popup.hidden || narrow.matches) return;
  const at = view.placeOf(anchor);
  const { width: mostX, height: mostY } = view;
  const { offsetWidth: width, offsetHeight: height } = popup;
  const gap = 22;
  let [x, y] = [at.x - width / 2, at.y - height - gap];
  if (y < 8) y = at.y + gap;
  if (y + height > mostY - 40) {
    [x, y] = [at.x + gap + (at.x + gap + width < mostX ? 0 : -width - 2 * gap), at.y - height / 2];
  }
  const inside = (value, most) => Math.round(Math.min(Math.max(value, 8), Math.max(8, most - 8)));
  popup.style.setProperty("--x", inside(x, mostX - width) + "px");
  popup.style.setProperty("--y", inside(y, mostY - 40 - height) + "px");
}

/** Moves the map so that a place is in the part of it that the popup leaves free. */
function keepInView(coordinate) {
  const { x, y } = view.placeOf(coordinate);
  const free = { x: view.width, y: narrow.matches ? view.height - popup.offsetHeight : view.height };
  const edge = 36;
  const beyond = (value, size, top = edge) => (value < top ? value - top : Math.max(0, value - size + edge));
  const [dx, dy] = [beyond(x, free.x), beyond(y, free.y, narrow.matches ? 150 : edge)];
  const isNear = Math.abs(dx) < view.width && Math.abs(dy) < view.height;
  if (isNear && (dx || dy)) view.pan(dx, dy);
}

function show(title, coordinate, ...children) {
  anchor = coordinate;
  popup.replaceChildren(element("div", { class: "heading" }, element("h2", { id: "popup-title", dir: "auto" }, title),
    button("popup-close", "✕", () => mayLeave() && closePopup(), { class: "close", "aria-label": text("common.close") })), ...children);
  popup.hidden = false;
  movePopup();
  if (isFollowing) return;
  popup.scrollTop = 0;
  keepInView(coordinate);
}

/** The tags that the popup shows in fields of their own, by the field. */
const known = {
  address: ["addr:full", "addr:street", "addr:housenumber", "addr:postcode", "addr:city"],
  hours: ["opening_hours"], phone: ["phone", "contact:phone"], website: ["website", "contact:website", "url"],
  photo: ["image"],
};
/** Tags that few people ask for: names in other languages, and references to other data sets. */
const minorTags =
  /^(name|alt_name|old_name|official_name|ref|source|check_date|survey|wiki|brand:|operator:wiki)|wiki(data|pedia)$/;
const isMinor = (key) => minorTags.test(key);

function addressOf(tags) {
  const joined = (...keys) => keys.map((key) => tags["addr:" + key]).filter(Boolean).join(" ");
  return tags["addr:full"] || [joined("street", "housenumber"), joined("postcode", "city")].filter(Boolean).join(", ");
}

/** Returns the nodes of a value: addresses of HTTP and telephone numbers are links, lines are below each other. */
function valueOf(field, value) {
  if (Array.isArray(value)) return value.map((line) => element("span", { class: "line" }, line, " "));
  if (field === "phone" && /^\+?[\d\s()/.-]{3,}$/.test(value)) {
    return [element("a", { href: "tel:" + value.replace(/[^+\d]/g, "") }, value)];
  }
  // A photo of another server is loaded by a click alone, in a tab of its own.
  if (["website", "photo"].includes(field) && /^https?:/.test(value) && URL.canParse(value)) {
    const short = value.replace(/^https?:\/\/(www\.)?/, "").replace(/\/$/, "");
    return [element("a", { href: value, rel: "noopener noreferrer", referrerpolicy: "no-referrer", target: "_blank" }, short)];
  }
  return linked(value);
}

function rowsOf(rows) {
  return element("dl", {}, ...rows.filter(([, value]) => value?.length).map(([name, value, field]) =>
    element("div", {}, element("dt", { dir: "auto" }, name), element("dd", { dir: "auto" }, ...valueOf(field, value)))));
}

function showPlace() {
  const place = current;
  const tags = place.tags || {};
  const source = actions.sources().find(({ name }) => name === place.source);
  const time = (text) => new Date(text).toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });
  const first = (field) => known[field].map((key) => tags[key]).find(Boolean);
  // Tags that the category is made of would repeat it.
  const others = Object.entries(tags).filter(([key, value]) => !Object.values(known).flat().includes(key)
    && ![value, `${key}:${value}`].includes(place.category));
  const symbol = symbolOf(place.category);
  const badge = element("span", { class: "dot large" }, symbol.drawing && view.glyph(symbol));
  badge.style.setProperty("--colour", symbol.colour);
  view.setHandle();
  view.select(place);
  show(place.name, place,
    element("p", { class: "kind" }, badge, element("span", { id: "popup-category" }, labelOf(place.category) || text("map.noCategory"))),
    element("div", { id: "fields" },
      rowsOf([[text("map.openState"), hours.state], [text("map.address"), addressOf(tags)],
        [text("map.today"), hours.today], [text("map.week"), hours.week],
        [text("map.hours"), hours.state ? undefined : first("hours")], [text("map.phone"), first("phone"), "phone"],
        [text("map.website"), first("website"), "website"], [text("map.photo"), first("photo"), "photo"],
        ...others.filter(([key]) => !isMinor(key))]),
      element("details", {}, element("summary", {}, text("map.moreFields")),
        rowsOf([[text("map.position"), `${place.lat.toFixed(6)}, ${place.long.toFixed(6)}`],
          ...others.filter(([key]) => isMinor(key)), [text("map.source"), place.source],
          [text("map.sourceId"), place.sourceId], [text("map.attribution"), source?.attribution],
          [text("map.changed"), time(place.updatedAt)], [text("map.created"), time(place.createdAt)],
          [text("map.version"), String(place.version)], [text("map.id"), place.id]]))),
    element("p", { class: "actions" }, button("edit", text("map.edit"), edit, { class: "main" }),
      element("a", { class: "button", id: "place-link", href: actions.linkTo(place) }, text("map.link")),
      element("a", { class: "button", href: pathOf(place.id) }, "JSON")));
  if (!isFollowing) popup.focus({ preventScroll: true });
}

/** Lets the user choose one of the places of a group that no zoom takes apart. */
export function openChoice({ members, ...coordinate }, onPlace) {
  if (!mayLeave()) return;
  if (popup.hidden) opener = document.activeElement;
  current = undefined;
  view.setHandle();
  view.select();
  show(text("map.placesHere", { count: members.length }), coordinate, element("ul", { class: "choice" },
    ...members.slice(0, 200).map(({ id, name, category }) => element("li", {},
      element("button", { type: "button", onclick: () => onPlace(id) },
        element("span", { class: "name", dir: "auto" }, name || text("map.unnamed")), element("small", {}, labelOf(category)))))));
  popup.focus({ preventScroll: true });
}

async function edit() {
  if (await mayWrite()) showForm(current);
}

export async function createPlace(coordinate) {
  if (!mayLeave()) return;
  opener = document.activeElement;
  if (!await mayWrite()) return;
  current = undefined;
  view.select();
  showForm({ name: "", ...coordinate });
}

/** Returns whether the caller may write: a dry run of an empty import changes nothing. Asks for a key if not. */
async function mayWrite() {
  for (;;) {
    try {
      await call("locations/import", { dryRun: "true" },
        { method: "POST", body: "", headers: { "Content-Type": "application/x-ndjson" } });
      return true;
    } catch (problem) {
      if (![401, 403].includes(problem.status)) return actions.report(explanation(problem));
      if (!await askForKey(text(access.key ? "map.keyNoChanges" : "map.keyChanges"))) return false;
    }
  }
}

function tagRow([key, value]) {
  const row = element("div", { class: "tag" },
    element("input", { "aria-label": text("map.tagKey"), value: key, maxlength: 200 }),
    element("input", { "aria-label": text("map.tagValue", { key }), value, maxlength: 2000 }),
    button(undefined, "✕", () => {
      byId("add-tag").focus();
      row.remove();
    }, { "aria-label": text("map.removeTag", { key }) }));
  return row;
}

function showForm(place) {
  const isNew = !current;
  const tags = element("div", {}, ...Object.entries(place.tags || {}).map(tagRow));
  const problem = element("div", { role: "alert", class: "failed", id: "edit-problem" });
  const form = element("form", { id: "edit-form", onsubmit: (event) => {
    event.preventDefault();
    save(problem);
  } },
  field("name", text("map.nameField"), { value: place.name, required: true, maxlength: 500 }),
  field("category", text("map.category"), { value: place.category, maxlength: 100, list: "categories" }),
  element("div", { class: "pair" },
    field("lat", text("map.latitude"), { value: place.lat, inputmode: "decimal", required: true }),
    field("long", text("map.longitude"), { value: place.long, inputmode: "decimal", required: true })),
  element("p", { class: "note" }, text("map.dragNote")),
  element("fieldset", {}, element("legend", {}, text("map.tags")), tags, button("add-tag", text("map.addTag"), () => {
    tags.append(tagRow(["", ""]));
    tags.lastChild.firstChild.focus();
  })),
  problem,
  element("p", { class: "actions" }, element("button", { class: "main", id: "save" }, text(isNew ? "map.create" : "map.save")),
    button("cancel", text("common.cancel"), back),
    isNew ? undefined : button("delete", text("map.delete"), (event) => remove(event.target, problem), { class: "danger" })));
  show(isNew ? text("map.newPlace") : text("map.editPlace", place), place, form);
  initial = draftOf();
  const [lat, long] = [byId("edit-lat"), byId("edit-long")];
  view.setHandle(place, text("map.positionOf", { name: place.name || text("map.theNewPlace") }), (coordinate) => {
    lat.value = coordinate.lat.toFixed(6);
    long.value = coordinate.long.toFixed(6);
  });
  lat.onchange = long.onchange = () => {
    const coordinate = { lat: Number(lat.value), long: Number(long.value) };
    if (isFinite(coordinate.lat + coordinate.long)) view.moveHandle(coordinate);
  };
  byId("edit-name").focus();
}

/** Returns the place of the form; numbers that are none stay texts, which the server explains. */
function draftOf() {
  const value = (name) => byId("edit-" + name).value.trim();
  const number = (name) => (value(name) && isFinite(value(name)) ? Number(value(name)) : value(name));
  const tags = [...popup.querySelectorAll(".tag")].map((row) => [...row.querySelectorAll("input")]);
  return {
    name: value("name"), category: value("category") || null, lat: number("lat"), long: number("long"),
    tags: Object.fromEntries(tags.map(([key, value]) => [key.value.trim(), value.value]).filter(([key]) => key)),
  };
}

/** Returns the members of the draft that were changed, as a merge patch (RFC 7396). */
function changes() {
  const between = (before, after) => Object.fromEntries([...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((key) => (before[key] ?? null) !== (after[key] ?? null)).map((key) => [key, after[key] ?? null]));
  const draft = draftOf();
  const tags = between(initial.tags, draft.tags);
  const others = between({ ...initial, tags }, { ...draft, tags });
  return Object.keys(tags).length ? { ...others, tags } : others;
}

function save(problem) {
  const isNew = !current;
  const body = JSON.stringify(isNew ? draftOf() : changes());
  if (body === "{}") return showPlace();
  // A repeated attempt creates no second place.
  if (attempted?.body !== body) attempted = { body, key: `map-${Date.now()}-${Math.random()}` };
  attempt(byId("save"), problem, async () => {
    take(await read(await (isNew
      ? call("locations", {}, { method: "POST", body,
        headers: { "Content-Type": "application/json", "Idempotency-Key": attempted.key } })
      : call(pathOf(current.id), {}, { method: "PATCH", body,
        headers: { "Content-Type": "application/merge-patch+json", "If-Match": tag } }))));
    attempted = undefined;
    showPlace();
    actions.onChange(text(isNew ? "map.placeCreated" : "map.placeSaved"));
  });
}

function remove(node, problem) {
  if (!node.dataset.isSure) {
    node.dataset.isSure = true;
    node.textContent = text("map.deleteForGood");
    return;
  }
  attempt(node, problem, async () => {
    await call(pathOf(current.id), {}, { method: "DELETE", headers: { "If-Match": tag } });
    closePopup();
    actions.onChange(text("map.placeDeleted"));
  });
}

async function attempt(node, problem, action) {
  node.disabled = true;
  problem.replaceChildren();
  try {
    await action();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.status === 412) await explainConflict(problem);
    else problem.textContent = explanation(error);
    if ([401, 403].includes(error.status)) askForKey(explanation(error));
    movePopup();
  } finally {
    node.disabled = false;
  }
}

async function explainConflict(problem) {
  const before = current;
  let response;
  try {
    response = await call(pathOf(before.id));
  } catch (error) {
    problem.textContent = error.status === 404
      ? text("map.deletedMeanwhile") : explanation(error);
    return;
  }
  const theirs = await response.clone().json();
  const value = (place, name) => JSON.stringify(place[name] ?? null);
  const names = ["name", "category", "lat", "long", "tags"].filter((name) => value(theirs, name) !== value(before, name));
  problem.append(
    element("p", {}, text("map.changedMeanwhile")),
    element("ul", {}, ...names.map((name) => element("li", {}, text("map.isNow", { name, value: value(theirs, name) })))),
    element("p", { class: "actions" },
      button("apply-anyway", text("map.applyAnyway"), () => {
        tag = response.headers.get("etag");
        byId("edit-form").requestSubmit();
      }),
      button("show-theirs", text("map.showTheirs"), async () => {
        take(await read(response));
        showPlace();
        actions.onChange(text("map.currentShown"));
      })));
}
