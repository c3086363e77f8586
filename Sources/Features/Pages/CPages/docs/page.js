// The page of the API: it shows the OpenAPI document of the server that it is from, and sends calls to it.

import { access, address, askForKey, base, byId, button, copy, element, json, text } from "../pages/common.js";

const maximumShownBytes = 256 * 1024;
/** The time for which a stream without end is read. */
const streamMilliseconds = 5000;
let api;
/** The ids for `{id}` by the path of the list: one that there is, and one that this page has created. */
const [known, created] = [{}, {}];

// MARK: The description

/** Returns the value that a reference leads to. */
function resolve(value) {
  while (value?.$ref) {
    value = value.$ref.slice(2).split("/").reduce(
      (node, part) => node?.[part.replaceAll("~1", "/").replaceAll("~0", "~")], api);
  }
  return value || {};
}

/** Returns text in which `code` stands between back quotes as nodes. */
const prose = (text = "") => text.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));

/** Returns a short description of a schema. */
function typeOf(schema) {
  const name = schema?.$ref?.split("/").pop();
  schema = resolve(schema);
  if (name && !schema.enum) return name;
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.allOf) return typeOf(schema.allOf[0]);
  const type = [schema.type || "any"].flat().join(" or ");
  if (type.startsWith("array")) return "list of " + typeOf(schema.items);
  const limits = { minimum: "from ", maximum: "to ", maxLength: "up to ", default: "default " };
  return [schema.format ? `${type} (${schema.format})` : type, ...Object.entries(limits)
    .filter(([name]) => schema[name] !== undefined).map(([name, word]) => word + schema[name])].join(", ");
}

/** Returns a value of a schema: its example, or one that is made of those of its parts. */
function sampleOf(schema) {
  schema = resolve(schema);
  const given = [schema.examples?.[0], schema.const, schema.default, schema.enum?.[0]].find((value) => value !== undefined);
  if (given !== undefined) return given;
  if (schema.anyOf) return sampleOf(schema.anyOf[0]);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(sampleOf));
  switch ([schema.type].flat()[0]) {
    case "object": return Object.fromEntries(
      Object.entries(schema.properties || {}).map(([name, value]) => [name, sampleOf(value)]));
    case "array": return [sampleOf(schema.items)];
    case "integer": case "number": return schema.minimum ?? 1;
    case "boolean": return true;
    default: return { uuid: "0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b", "date-time": "2026-11-20T10:15:00Z",
      uri: "https://example.com/" }[schema.format] ?? "…";
  }
}

/** Returns the example of a medium as text; an empty one where there is none. */
function exampleOf(type, { example, schema } = {}) {
  example ??= /[/+]json/.test(type) ? sampleOf(schema) : resolve(schema).examples?.[0];
  return typeof example === "object" ? JSON.stringify(example, null, 2) : String(example ?? "");
}

const requestMedia = (operation) => Object.entries(operation.requestBody?.content || {});

/** Returns the first successful response: its status and media. */
function successOf({ responses }) {
  const [status, response] = Object.entries(responses).find(([status]) => status.startsWith("2"));
  return { status, media: Object.entries(resolve(response).content || {}) };
}

// MARK: The form

/** Returns an input with its label and description: a choice where the values are known. */
function fieldOf(parameter, id) {
  const { name, required } = parameter;
  const schema = resolve(parameter.schema);
  const choices = schema.type === "boolean" ? ["true", "false"] : schema.enum;
  const common = { id, "data-in": parameter.in, "data-name": name, required, "aria-describedby": id + "-note" };
  const example = [parameter.example ?? schema.examples?.[0] ?? ""].flat().join(",");
  const input = choices ? element("select", common, required ? undefined : element("option", { value: "" }),
    choices.map((value) => element("option", {}, String(value))))
    : element("input", { ...common, autocomplete: "off", spellcheck: "false", placeholder: example });
  // With what is required or has an example of its own the call works; what changes something needs a choice, and an
  // id one that exists.
  if ((required || "example" in parameter) && !choices && name !== "id") input.value = example || (schema.minimum ?? "");
  return element("div", { class: "field" },
    element("label", { for: id }, element("code", {}, name), required ? ` ${text("docs.required")}` : ""), input,
    element("p", { class: "note", id: id + "-note", lang: "en" },
      element("span", { class: "type" }, typeOf(parameter.schema)), " · ", prose(parameter.description)));
}

/** Fills in an id: for reading, one that there is; for changes, one that this page has created. */
async function fillId(form, method, path) {
  const input = form.querySelector("[data-name=id]");
  if (!input) return;
  const list = path.slice(0, path.indexOf("/{id}"));
  if (method === "get") {
    const hasLimit = api.paths[list]?.get?.parameters?.some((parameter) => resolve(parameter).name === "limit");
    known[list] ??= json(list.slice(1).replace("{collection}", "places"), { limit: hasLimit && 1 })
      .then((found) => (found.features || found)[0]?.id).catch(() => undefined);
    input.value ||= await known[list] ?? "";
  } else {
    input.value ||= created[list] ?? "";
  }
  form.dispatchEvent(new Event("input"));
}

/** Returns text as one word for a shell. */
function quoted(text) {
  if (/[\u0000-\u0008\u000b-\u001f]/.test(text)) {
    return "$'" + text.replace(/[\\']/g, "\\$&").replace(/[\u0000-\u001f]/g,
      (character) => "\\x" + character.charCodeAt(0).toString(16).padStart(2, "0")) + "'";
  }
  return "'" + text.replaceAll("'", "'\\''") + "'";
}

/** Returns the request of a form, also as a command. */
function requestOf(form, method, path) {
  const [query, headers] = [[], {}];
  for (const { dataset: { in: place, name }, value } of form.querySelectorAll("[data-in]")) {
    if (place === "path") path = path.replace(`{${name}}`, value ? encodeURIComponent(value) : `{${name}}`);
    else if (value !== "" && place === "query") query.push([name, value]);
    else if (value !== "") headers[name] = value;
  }
  const body = form.querySelector("textarea")?.value;
  const url = address(path.slice(1), Object.fromEntries(query));
  const command = ["curl -i" + (method === "get" ? "" : ` -X ${method.toUpperCase()}`), quoted(url.href),
    ...Object.entries(headers).map(([name, value]) => "-H " + quoted(`${name}: ${value}`)),
    // The key itself is not shown.
    ...(access.key ? ['-H "Authorization: Bearer $KEY"'] : []),
    ...(body === undefined ? [] : ["--data-binary " + quoted(body)])];
  if (access.key) headers.Authorization = "Bearer " + access.key;
  return { url, command: command.join(" \\\n  "),
    options: { method: method.toUpperCase(), headers, body, credentials: "omit", cache: "no-store" } };
}

// MARK: The response

/** Reads the beginning of a body. A stream without end is read for some time. */
async function beginningOf(response) {
  const [reader, chunks] = [response.body?.getReader(), []];
  let [count, isWhole] = [0, true];
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  const timer = isStream && setTimeout(() => {
    isWhole = false;
    reader.cancel();
  }, streamMilliseconds);
  for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
    chunks.push(part.value);
    count += part.value.length;
    if (count <= maximumShownBytes) continue;
    isWhole = false;
    await reader.cancel();
    break;
  }
  clearTimeout(timer);
  return { body: await new Blob(chunks).slice(0, maximumShownBytes).text(), count, isWhole };
}

/** Returns the nodes of a response. */
async function shownOf(response, began, list) {
  const { body, count, isWhole } = await beginningOf(response);
  const type = (response.headers.get("content-type") || "").split(";")[0];
  let shown = body;
  if (isWhole && type.endsWith("json")) {
    try {
      const value = JSON.parse(body);
      shown = JSON.stringify(value, null, 2);
      if (response.status === 201 && value.id) created[list] = value.id;
    } catch { /* It is shown as it is. */ }
  }
  const isText = /^text|json|csv|xml|javascript/.test(type);
  const fields = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  return [
    element("p", { role: "status", class: response.ok ? "ok" : "failed" }, text("docs.took",
      { status: `${response.status} ${response.statusText}`.trim(), time: Math.round(performance.now() - began) })),
    element("details", { class: "more" }, element("summary", {}, text("docs.headers")),
      element("pre", { tabindex: "0", "aria-label": text("docs.headers") }, fields)),
    body && element("pre", { tabindex: "0", "aria-label": text("docs.body"), dir: "auto" },
      isText ? shown : text("docs.binary", { count })),
    isWhole ? "" : element("p", { class: "note" }, text("docs.beginning"))];
}

async function send(form, output, method, path) {
  const { url, options } = requestOf(form, method, path);
  const show = (...nodes) => output.replaceChildren(element("h3", {}, text("docs.response")), ...nodes);
  show(element("p", { role: "status" }, text("docs.waiting")));
  try {
    const began = performance.now();
    show(...await shownOf(await fetch(url, options), began, path));
  } catch (error) {
    show(element("p", { role: "alert", class: "failed" }, text("docs.requestFailed", { message: error.message })));
  }
}

// MARK: Calls

/** Returns the content of a call: what it takes, the request for that, and an example of its response. */
function detailsOf(operation, method, path) {
  const prefix = "call-" + operation.operationId;
  const fields = (operation.parameters || []).map(resolve)
    .map((parameter, index) => [parameter.required, fieldOf(parameter, `${prefix}-${index}`)]);
  const optional = fields.filter(([isRequired]) => !isRequired).map(([, field]) => field);
  const choice = (id, name, options) => element("div", { class: "field" },
    element("label", { for: id }, element("code", {}, name)),
    element("select", { id, "data-in": "header", "data-name": name }, options));
  const typed = ([type]) => element("option", {}, type);
  const media = requestMedia(operation);
  const { status, media: results } = successOf(operation);
  const [command, example] = ["docs.request", "docs.example"].map((name) =>
    element("pre", { tabindex: "0", "aria-label": text(name) }));
  const output = element("div");
  const form = element("form", {
    oninput: () => {
      command.textContent = requestOf(form, method, path).command;
      const [type, medium] = results.find(([type]) => type === byId(prefix + "-accept")?.value) || results[0] || [];
      example.textContent = `${status} ${type || ""}\n\n${exampleOf(type, medium)}`.trim();
    },
    onsubmit: (event) => {
      event.preventDefault();
      send(form, output, method, path);
    },
  }, fields.filter(([isRequired]) => isRequired).map(([, field]) => field));
  if (media.length) {
    const body = element("textarea", { id: prefix + "-body", spellcheck: "false" });
    const type = choice(prefix + "-type", "Content-Type", media.map(typed));
    const fill = () => { body.value = exampleOf(...media[type.lastChild.selectedIndex]); };
    type.addEventListener("input", fill);
    form.append(type, element("label", { for: body.id }, text("docs.body")), body,
      element("p", { class: "note", lang: "en" }, prose(operation.requestBody.description)));
    fill();
  }
  if (results.length > 1) {
    form.append(choice(prefix + "-accept", "Accept", results.map(([type], index) =>
      element("option", { value: index ? type : "" }, type))));
  }
  if (optional.length) {
    form.append(element("details", { class: "more" },
      element("summary", {}, text("docs.optional", { count: optional.length })), optional));
  }
  form.append(element("p", { class: "actions" }, element("button", { class: "main" }, text("docs.send")),
    button(undefined, text("common.copy"), ({ currentTarget }) => { currentTarget.textContent = copy(command); })));
  queueMicrotask(() => form.dispatchEvent(new Event("input")));
  fillId(form, method, path);
  return [element("p", { lang: "en" }, prose(operation.description)), element("div", { class: "halves" }, form,
    element("div", {}, element("h3", {}, text("docs.request")), command, output,
      element("h3", {}, text("docs.example")), example,
      element("details", { class: "more" }, element("summary", {}, text("docs.responses")),
        element("dl", { lang: "en" }, Object.entries(operation.responses).flatMap(([status, response]) =>
          [element("dt", {}, status), element("dd", {}, prose(resolve(response).description))])))))];
}

function callOf({ operation, method, path }) {
  const content = element("div");
  const node = element("details", { class: "call", id: operation.operationId,
    "data-text": `${method} ${path} ${operation.summary}`.toLowerCase(),
    ontoggle: () => node.open && !content.hasChildNodes() && content.append(...detailsOf(operation, method, path)) },
  element("summary", {}, element("span", { class: "method " + method }, method.toUpperCase()),
    element("code", { class: "path" }, path), element("span", { lang: "en" }, operation.summary)), content);
  return node;
}

function show() {
  byId("version").textContent = api.info.version;
  byId("description").replaceChildren(...prose(api.info.description));
  byId("state").textContent = "";
  // The files that pages load are no calls that programs make.
  const operations = Object.entries(api.paths).filter(([path]) => !/\.(css|js)$/.test(path)).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })));
  const groups = api.tags.map((tag, index) => ({ ...tag, id: "group-" + index,
    calls: operations.filter(({ operation }) => operation.tags.includes(tag.name)) }));
  byId("calls").replaceChildren(...groups.map(({ name, description, id, calls }) =>
    element("section", { "aria-labelledby": id, lang: "en" }, element("h2", { id }, name),
      element("p", { class: "note" }, prose(description)), calls.map(callOf))));
  byId("groups").replaceChildren(element("ul", { lang: "en" }, groups.map(({ name, id, calls }) =>
    element("li", {}, element("a", { href: "#" + id }, name, element("small", { class: "note" }, String(calls.length)))))));
  openTarget();
}

/** Opens the call that the address names. */
function openTarget() {
  const node = byId(location.hash.slice(1));
  if (!node?.classList.contains("call")) return;
  node.open = true;
  node.scrollIntoView();
}

byId("filter").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  const calls = [...document.querySelectorAll(".call")];
  for (const node of calls) node.hidden = !words.every((word) => node.dataset.text.includes(word));
  for (const section of byId("calls").children) section.hidden = !section.querySelector(".call:not([hidden])");
  byId("state").textContent = calls.every(({ hidden }) => hidden) ? text("docs.none") : "";
});
byId("set-key").addEventListener("click", async () => {
  if (!await askForKey(text("docs.keyReason"))) return;
  for (const form of document.forms) form.dispatchEvent(new Event("input"));
});
addEventListener("hashchange", openTarget);
try {
  api = await json("openapi.json");
  show();
} catch (error) {
  byId("state").textContent = text("docs.failed", { message: error.message });
  byId("state").className = "failed";
}
