// What the service's pages share. Texts are set as text everywhere, so that nothing in a place, a document or a
// response is taken for HTML.

/** The folder of the service: pages work under any path prefix. */
export const base = new URL("..", import.meta.url);

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

/** The caller's API key or token, which is kept until the tab is closed. */
export const access = {
  get key() {
    try { return sessionStorage.getItem("waymark-key") || ""; } catch { return ""; }
  },
  set key(value) {
    try { sessionStorage.setItem("waymark-key", value); } catch { /* The browser keeps nothing for this page. */ }
  },
};

/** A response that is a problem (RFC 9457), or none at all, with status 0. */
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail || body?.title || (status ? "status " + status : "the server cannot be reached"));
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
  const [dialog, input] = [byId("key-dialog"), byId("key")];
  byId("key-reason").textContent = reason;
  input.value = access.key;
  dialog.returnValue = "";
  if (!dialog.open) dialog.showModal();
  byId("key-cancel").onclick = () => dialog.close();
  byId("key-form").onsubmit = (event) => {
    event.preventDefault();
    access.key = input.value.trim();
    dialog.close("entered");
  };
  return new Promise((resolve) => {
    dialog.onclose = () => {
      input.value = "";
      resolve(dialog.returnValue === "entered");
    };
  });
}

/** Has failures of the page's own scripts shown, instead of a page that stands still in silence. */
export function showFailures(report) {
  addEventListener("error", ({ message }) => report(`The page has failed: ${message}.`));
  addEventListener("unhandledrejection", ({ reason }) => report(`The page has failed: ${reason?.message || reason}.`));
}

/** Returns text in which addresses of HTTP are links. */
export const linked = (text) => text.split(/(https?:\/\/[^\s<>"']+)/).map((part, index) =>
  (index % 2 && URL.canParse(part) ? element("a", { href: part, rel: "noopener noreferrer", target: "_blank" }, part)
    : part));
