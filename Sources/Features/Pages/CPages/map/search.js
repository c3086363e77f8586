// The search: a combobox with suggestions by the ARIA Authoring Practices.

import { byId, element, json, locale, text } from "../pages/common.js";
import { labelOf } from "./symbols.js";

const pauseMilliseconds = 120;
const [input, list, clear] = [byId("search"), byId("suggestions"), byId("clear")];

export function showText(q) {
  input.value = q;
  clear.hidden = q === "";
}

/** Returns the address and the distance of a place, which tell places of one name apart. */
function details({ name, label, distance = NaN }) {
  const [value, unit] = distance < 1000 ? [distance, "meter"] : [distance / 1000, "kilometer"];
  const length = value.toLocaleString(locale, { style: "unit", unit, maximumSignificantDigits: 2 });
  return [label.slice(name.length).replace(/^, /, ""), value >= 0 && text("map.away", { distance: length })].filter(Boolean).join(" · ");
}

/**
 * Starts the search. `centre` returns the coordinate near which places rank higher; the others are called with what the
 * user chose, `onText` with an empty text where the search was cleared.
 */
export function startSearch({ centre, onPlace, onCategory, onArea, onText }) {
  let [suggestions, active, timer, request] = [[], -1, 0, undefined];

  function activate(index) {
    list.children[active]?.setAttribute("aria-selected", "false");
    active = index;
    const option = list.children[active];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", option?.id || "");
  }

  function setOpen(isOpen) {
    list.hidden = !isOpen;
    input.setAttribute("aria-expanded", String(isOpen));
    activate(-1);
  }

  function close() {
    clearTimeout(timer);
    request?.abort();
    setOpen(false);
  }

  function reset() {
    showText("");
    onText("");
  }

  function choose({ type, id, name, category }) {
    close();
    if (type === "category") {
      reset();
      onCategory(category);
    } else if (type === "area") {
      reset();
      onArea(id);
    } else {
      showText(name);
      onPlace(id);
    }
  }

  async function suggest() {
    request?.abort();
    request = new AbortController();
    const q = input.value.trim();
    const { lat, long } = centre();
    try {
      // A text without a letter or digit can't be searched for.
      const options = { signal: request.signal };
      suggestions = !/[\p{L}\p{N}]/u.test(q) ? [] : (await Promise.all([
        json("areas", { q, limit: 2 }, options).then((areas) => areas.map((area) => ({ ...area, type: "area" })), () => []),
        json("locations/suggest", { q, lat: lat.toFixed(4), long: long.toFixed(4), limit: 8 }, options),
      ])).flat();
      request.signal.throwIfAborted();
    } catch (error) {
      // The search itself reports why there is none.
      return error.name === "AbortError" || close();
    }
    list.replaceChildren(...suggestions.map((suggestion, index) => {
      const { type, name, category, count } = suggestion;
      const [title, kind] = type === "area" ? [name, text("map.suggestedArea")]
        : type === "category" ? [suggestion.label ?? category, text("map.suggestedCategory", { count })]
          : [name, labelOf(category)];
      return element("li", { id: `suggestion-${index}`, role: "option", "aria-selected": "false",
        onclick: () => choose(suggestion), onpointerdown: (event) => event.preventDefault() },
      element("span", { dir: "auto" }, title), " ", element("small", {}, kind),
      type === "place" ? element("small", { class: "details", dir: "auto" }, details(suggestion)) : undefined);
    }));
    setOpen(suggestions.length > 0);
  }

  input.addEventListener("input", () => {
    clear.hidden = input.value === "";
    clearTimeout(timer);
    timer = setTimeout(suggest, pauseMilliseconds);
    if (clear.hidden) onText("");
  });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      if (list.hidden) reset();
      close();
    } else if (step) {
      // One past each end is the text itself.
      const count = suggestions.length + 1;
      if (list.hidden) suggest();
      else activate((active + 1 + step + count) % count - 1);
    } else {
      return;
    }
    event.preventDefault();
  });
  input.addEventListener("blur", close);
  clear.addEventListener("click", () => {
    reset();
    input.focus();
  });
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const suggestion = !list.hidden && suggestions[active];
    if (suggestion) return choose(suggestion);
    close();
    onText(input.value.trim());
  });
}
