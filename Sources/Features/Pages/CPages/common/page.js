// What the service's pages share. Texts are set as text everywhere, so that nothing in a place, a document or a
// response is taken for HTML.

import texts from "./texts.json" with { type: "json" };

/** The folder of the service: pages work under any path prefix. */
export const base = new URL("..", import.meta.url);

/** The language of the page as the reader writes it, for numbers and times. */
export const locale = navigator.languages.find((tag) => tag.split("-")[0] === texts.language) || texts.language;
const plurals = new Intl.PluralRules(locale);

/** Returns a text with values in place of their names in braces. One with several forms has that of `count`. */
export function text(name, values = {}) {
  const forms = texts[name] ?? name;
  const form = forms.other ? forms[plurals.select(values.count)] ?? forms.other : forms;
  return form.replace(/\{(\w+)\}/g, (part, key) => values[key]?.toLocaleString(locale) ?? part);
}

export const byId = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return node;
}

/** Returns an element with attributes, listeners (`onclick`) and children. */
export const element = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);

export const drawing = (name, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

export const button = (id, label, onclick, attributes) =>
  element("button", { type: "button", id, onclick, ...attributes }, label);

/** The caller's API key or token, which is kept until the tab is closed, or only in this page where storage is denied. */
export const access = {
  key: "",
  isKept: true,
  set(key) {
    this.key = key;
    try { sessionStorage.setItem("waymark-key", key); } catch { this.isKept = false; }
  },
};
try { access.key = sessionStorage.getItem("waymark-key") || ""; } catch { access.isKept = false; }

/** A response that is a problem (RFC 9457), or none at all, with status 0. */
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail || body?.title || (status ? `${text("common.status")} ${status}` : text("common.unreachable")));
    Object.assign(this, { status, code: body?.code, errors: body?.errors || [] });
  }
}

/** Returns the address of a call. Parameters without a value are left out. */
export function address(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value || value === 0));
  return new URL(path + (query.size ? "?" + query.toString().replaceAll("%2C", ",") : ""), base);
}

/** Calls the service with the caller's key, and returns the response. Other responses are thrown as a `Problem`. */
export async function call(path, parameters, options = {}) {
  const headers = { ...options.headers };
  if (access.key) headers.Authorization = "Bearer " + access.key;
  let response;
  try {
    response = await fetch(address(path, parameters), { ...options, headers, credentials: "omit" });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Problem(0);
  }
  if (response.ok) return response;
  const problem = new Problem(response.status, await response.json().catch(() => undefined));
  problem.retryAfter = Number(response.headers.get("retry-after")) || undefined;
  throw problem;
}

export const json = async (...parts) => (await call(...parts)).json();

/** Asks for a key. Resolves to `true` where one was entered, or the old one was removed. */
export function askForKey(reason) {
  byId("key-dialog")?.remove();
  const input = element("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false",
    "aria-describedby": "key-note", value: access.key });
  const dialog = element("dialog", { id: "key-dialog", "aria-labelledby": "key-title" },
    element("h2", { id: "key-title" }, text("common.keyTitle")),
    element("form", { onsubmit: (event) => {
      event.preventDefault();
      access.set(input.value.trim());
      dialog.close("entered");
    } }, element("p", {}, reason), element("label", { for: "key" }, text("common.keyLabel")), input,
    element("p", { id: "key-note", class: "note" }, text(access.isKept ? "common.keyNote" : "common.keyNotKept")),
    element("p", { class: "actions" }, element("button", { id: "key-save", class: "main" }, text("common.keyUse")),
      button("key-cancel", text("common.cancel"), () => dialog.close()))));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => {
      dialog.remove();
      resolve(dialog.returnValue === "entered");
    };
  });
}

/** Copies the text of an element, or selects it where pages may not copy. Returns the text that tells that. */
export function copy(node) {
  getSelection().selectAllChildren(node);
  return text(document.execCommand("copy") ? "common.copied" : "common.selected");
}

/** Returns text in which addresses of HTTP are links. */
export const linked = (text) => text.split(/(https?:\/\/[^\s<>"']+)/).map((part, index) =>
  (index % 2 && URL.canParse(part) ? element("a", { href: part, rel: "noopener noreferrer", target: "_blank" }, part)
    : part));
