// Shows the OpenAPI document of the server that the page is from, and sends calls to it. All texts are set as text, so
// nothing in the document or in a response is taken for HTML.

import { base, byId, element } from "../pages/common.js";

const maximumShownBytes = 256 * 1024;
let api;

/** Returns the value that a reference leads to. */
function resolve(value) {
  while (value && value.$ref) {
    value = value.$ref.slice(2).split("/").reduce(
      (node, part) => node && node[part.replaceAll("~1", "/").replaceAll("~0", "~")], api);
  }
  return value || {};
}

/** Returns text in which `code` stands between back quotes as nodes. */
function prose(text) {
  return (text || "").split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));
}

/** Returns a short description of a schema. */
function typeOf(schema) {
  const name = schema && schema.$ref && schema.$ref.split("/").pop();
  schema = resolve(schema);
  if (name && !schema.enum) return name;
  if (schema.enum) return schema.enum.map(String).join(" | ");
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.allOf) return schema.allOf.map(typeOf)[0];
  const type = [schema.type || "any"].flat().join(" or ");
  if (type.startsWith("array")) return "list of " + typeOf(schema.items);
  const parts = [schema.format ? `${type} (${schema.format})` : type];
  if (schema.minimum !== undefined) parts.push("from " + schema.minimum);
  if (schema.maximum !== undefined) parts.push("to " + schema.maximum);
  if (schema.maxLength !== undefined) parts.push(`up to ${schema.maxLength} characters`);
  if (schema.default !== undefined) parts.push("default " + schema.default);
  return parts.join(", ");
}

/** Returns the example of a medium as text. */
function exampleOf(media) {
  const schema = resolve(media.schema);
  const example = media.example !== undefined ? media.example : (schema.examples || [])[0];
  if (example === undefined) return "";
  return typeof example === "string" ? example : JSON.stringify(example, null, 2);
}

function table(headings, rows) {
  return element("div", { class: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, ...headings.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell) =>
      element("td", {}, ...[cell].flat())))))));
}

function parametersOf(operation) {
  return (operation.parameters || []).map(resolve);
}

/** Returns the input of a parameter: a choice where the values are known. */
function inputOf(parameter, id) {
  const schema = resolve(parameter.schema);
  const choices = schema.type === "boolean" ? ["true", "false"] : schema.enum;
  const common = { id, "data-in": parameter.in, "data-name": parameter.name, required: parameter.required };
  if (choices) {
    return element("select", common, element("option", { value: "" }, ""),
      ...choices.map((value) => element("option", { value }, String(value))));
  }
  const example = (schema.examples || [])[0];
  return element("input", { ...common, autocomplete: "off", spellcheck: "false",
    placeholder: example === undefined ? undefined : [example].flat().join(",") });
}

/** Returns text as one word for a shell. */
function quoted(text) {
  if (/[\u0000-\u0008\u000b-\u001f]/.test(text)) {
    return "$'" + text.replace(/[\\']/g, "\\$&").replace(/[\u0000-\u001f]/g,
      (character) => "\\x" + character.charCodeAt(0).toString(16).padStart(2, "0")) + "'";
  }
  return "'" + text.replaceAll("'", "'\\''") + "'";
}

/** Returns the request of a form. */
function requestOf(form, method, path) {
  const query = new URLSearchParams();
  const headers = {};
  for (const input of form.querySelectorAll("[data-in]")) {
    const { in: place, name } = input.dataset;
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(input.value));
    else if (input.value === "") continue;
    else if (place === "query") query.append(name, input.value);
    else headers[name] = input.value;
  }
  const text = query.toString().replaceAll("%2C", ",");
  const url = new URL(path.slice(1) + (text ? "?" + text : ""), base);
  const body = form.querySelector("textarea");
  if (body) headers["Content-Type"] = form.querySelector("[data-media]").value;
  const accept = form.querySelector("[data-accept]");
  if (accept && accept.value) headers.Accept = accept.value;
  const upper = method.toUpperCase();
  const curl = ["curl -i" + (upper === "GET" ? "" : " -X " + upper), quoted(url.href)];
  for (const [name, value] of Object.entries(headers)) curl.push("-H " + quoted(`${name}: ${value}`));
  const key = byId("key").value;
  if (key) {
    headers.Authorization = "Bearer " + key;
    // The key itself is not shown.
    curl.push('-H "Authorization: Bearer $KEY"');
  }
  if (body) curl.push("--data-binary " + quoted(body.value));
  return { url, curl: curl.join(" \\\n  "), options: { method: upper, headers, body: body ? body.value : undefined,
    credentials: "omit", cache: "no-store" } };
}

/** Reads the beginning of a response's body. */
async function beginningOf(response) {
  if (!response.body) return { text: await response.text(), isWhole: true };
  const reader = response.body.getReader();
  const chunks = [];
  let count = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    count += value.length;
    if (count > maximumShownBytes) {
      await reader.cancel();
      return { text: await new Blob(chunks).slice(0, maximumShownBytes).text(), isWhole: false };
    }
  }
  return { text: await new Blob(chunks).text(), isWhole: true };
}

async function send(event, form, output, method, path) {
  event.preventDefault();
  const request = requestOf(form, method, path);
  output.replaceChildren(element("h4", {}, "Request"), element("pre", {}, request.curl),
    element("p", { role: "status" }, "Waiting for the response."));
  const shown = [element("h4", {}, "Request"), element("pre", {}, request.curl)];
  try {
    const start = performance.now();
    const response = await fetch(request.url, request.options);
    const { text, isWhole } = await beginningOf(response);
    const milliseconds = Math.round(performance.now() - start);
    const fields = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    let body = text;
    if (isWhole && /json$/.test((response.headers.get("content-type") || "").split(";")[0])) {
      try { body = JSON.stringify(JSON.parse(text), null, 2); } catch { /* It is shown as it is. */ }
    }
    shown.push(element("h4", {}, "Response"),
      element("p", { role: "status", class: response.ok ? undefined : "failed" },
        `${response.status} ${response.statusText}, ${milliseconds} ms`),
      element("pre", { tabindex: "0", "aria-label": "Header fields" }, fields));
    if (body) shown.push(element("pre", { tabindex: "0", "aria-label": "Body" }, body));
    if (!isWhole) shown.push(element("p", { class: "note" }, "Only the beginning of the body is shown."));
  } catch (error) {
    shown.push(element("p", { role: "alert", class: "failed" }, "The request failed: " + error.message));
  }
  output.replaceChildren(...shown);
}

/** Returns the form that sends a call. */
function formOf(operation, method, path, prefix) {
  const fields = parametersOf(operation).map((parameter, index) => {
    const id = `${prefix}-${index}`;
    return element("div", { class: "field" },
      element("label", { for: id }, parameter.name + (parameter.required ? " *" : "")), inputOf(parameter, id));
  });
  const media = Object.entries((operation.requestBody || {}).content || {});
  if (media.length) {
    const text = element("textarea", { id: prefix + "-body", spellcheck: "false" });
    text.value = exampleOf(media[0][1]);
    const select = element("select", { id: prefix + "-type", "data-media": true,
      onchange: () => { text.value = exampleOf(media[select.selectedIndex][1]); } },
      ...media.map(([type]) => element("option", {}, type)));
    fields.push(
      element("div", { class: "field" }, element("label", { for: prefix + "-type" }, "Content-Type"), select),
      element("label", { for: prefix + "-body" }, "Body"), text);
  }
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith("2"));
  const types = success ? Object.keys(resolve(success[1]).content || {}) : [];
  if (types.length > 1) {
    fields.push(element("div", { class: "field" }, element("label", { for: prefix + "-accept" }, "Accept"),
      element("select", { id: prefix + "-accept", "data-accept": true }, element("option", { value: "" }, ""),
        ...types.map((type) => element("option", {}, type)))));
  }
  const output = element("div", { "aria-live": "polite" });
  const form = element("form", { onsubmit: (event) => send(event, form, output, method, path) },
    ...fields, element("p", {}, element("button", {}, "Send")));
  return [form, output];
}

function detailsOf(operation, method, path, prefix) {
  const parts = [];
  if (operation.description) parts.push(element("p", {}, ...prose(operation.description)));
  const parameters = parametersOf(operation);
  if (parameters.length) {
    parts.push(element("h3", {}, "Parameters"), table(["Name", "In", "Type", "Description"],
      parameters.map((parameter) => [
        [element("code", {}, parameter.name), parameter.required ? " (required)" : ""], parameter.in,
        element("span", { class: "type" }, typeOf(parameter.schema)), prose(parameter.description)])));
  }
  const media = Object.entries((operation.requestBody || {}).content || {});
  if (media.length) {
    parts.push(element("h3", {}, "Body"), element("p", {}, ...prose(operation.requestBody.description)),
      table(["Media type", "Type"], media.map(([type, medium]) => [element("code", {}, type), typeOf(medium.schema)])));
  }
  parts.push(element("h3", {}, "Responses"), table(["Status", "Description", "Media types"],
    Object.entries(operation.responses).map(([status, value]) => {
      const response = resolve(value);
      const types = Object.entries(response.content || {});
      return [status, prose(response.description), types.map(([type, medium]) => element("div", {},
        element("code", {}, type), " ", element("span", { class: "type" }, typeOf(medium.schema))))];
    })));
  parts.push(element("h3", {}, "Try it"), ...formOf(operation, method, path, prefix));
  return parts;
}

function callOf(operation, method, path) {
  const content = element("div", {});
  const node = element("details", { class: "call", id: operation.operationId,
    "data-text": `${method} ${path} ${operation.summary}`.toLowerCase() },
    element("summary", {}, element("span", { class: "method " + method }, method.toUpperCase()),
      element("code", {}, path), " ", operation.summary), content);
  node.addEventListener("toggle", () => {
    if (node.open && !content.hasChildNodes()) {
      content.append(...detailsOf(operation, method, path, "call-" + operation.operationId));
    }
  });
  return node;
}

function show() {
  byId("version").textContent = api.info.version;
  byId("description").replaceChildren(...prose(api.info.description));
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })));
  const sections = api.tags.map((tag, index) => element("section", { "aria-labelledby": "group-" + index },
    element("h2", { id: "group-" + index }, tag.name), element("p", { class: "note" }, ...prose(tag.description)),
    ...operations.filter(({ operation }) => operation.tags.includes(tag.name))
      .map(({ operation, method, path }) => callOf(operation, method, path))));
  byId("calls").replaceChildren(...sections);
  byId("groups").replaceChildren(element("ul", {}, ...api.tags.map((tag, index) =>
    element("li", {}, element("a", { href: "#group-" + index }, tag.name)))));
  openTarget();
}

/** Opens the call that the address names. */
function openTarget() {
  const node = byId(decodeURIComponent(location.hash.slice(1)));
  if (!node || !node.classList.contains("call")) return;
  node.open = true;
  node.scrollIntoView();
}

byId("filter").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const node of document.querySelectorAll("details.call")) {
    node.hidden = !words.every((word) => node.dataset.text.includes(word));
  }
});
window.addEventListener("hashchange", openTarget);

fetch(new URL("openapi.json", base), { headers: { Accept: "application/json" } })
  .then((response) => {
    if (!response.ok) throw new Error("status " + response.status);
    return response.json();
  })
  .then((document) => {
    api = document;
    show();
  })
  .catch((error) => {
    byId("calls").replaceChildren(element("p", { role: "alert", class: "failed" },
      "The description could not be loaded: " + error.message));
  });
