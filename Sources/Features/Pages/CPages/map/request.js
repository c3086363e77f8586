// The request for what is in view, in four languages, and its response as a file. Loaded when it is asked for.

import { access, address, byId, call, copy, element, text } from "../pages/common.js";
import { explanation } from "./place.js";

/** The programs by language; a query has no quotation marks or backslashes, which are percent-encoded. */
const programs = {
  curl: (href, hasKey) => `curl -i '${href}'${hasKey ? ' \\\n  -H "Authorization: Bearer $KEY"' : ""}`,
  Swift: (href, hasKey) => `import Foundation

${hasKey ? "var" : "let"} request = URLRequest(url: URL(string: "${href}")!)
${hasKey ? `request.setValue("Bearer \\(key)", forHTTPHeaderField: "Authorization")\n` : ""}`
    + `let (data, _) = try await URLSession.shared.data(for: request)
let places = try JSONSerialization.jsonObject(with: data)
print(places)`,
  JavaScript: (href, hasKey) => `const response = await fetch("${href}"${
    hasKey ? `, {\n  headers: { Authorization: \`Bearer \${key}\` },\n}` : ""});
const places = await response.json();
if (!response.ok) throw new Error(places.detail);
console.log(places);`,
  Python: (href, hasKey) => `import json, urllib.request

request = urllib.request.Request("${href}"${
    hasKey ? `,\n    headers={"Authorization": f"Bearer {key}"}` : ""})
with urllib.request.urlopen(request) as response:
    places = json.load(response)
print(places)`,
};

/** Opens the dialog: `query()` returns the parameters, and `report` shows what fails. */
export function openRequest({ query, report }) {
  const tell = (told) => { byId("curl-status").textContent = told; };
  const show = () => {
    const { href } = address("locations", { ...query(), limit: 100 });
    // The key itself is not shown.
    byId("curl-text").textContent = programs[byId("language").value](href.replaceAll("'", "%27"), Boolean(access.key));
    tell("");
  };
  const save = async (format) => {
    tell(text("map.saving"));
    const { q, open, ...others } = query();
    // An export has neither a text nor a time: those are at most a page.
    const [path, parameters] = q || open ? ["locations", { q, open, ...others, limit: 1000 }] : ["locations/export", others];
    try {
      const href = URL.createObjectURL(await (await call(path, { ...parameters, f: format })).blob());
      element("a", { href, download: `places.${format}` }).click();
      setTimeout(() => URL.revokeObjectURL(href), 60000);
      tell(text("map.saved"));
    } catch (problem) {
      byId("curl-dialog").close();
      report(explanation(problem));
    }
  };
  const buttons = {
    "curl-close": () => byId("curl-dialog").close(), "curl-copy": () => tell(copy(byId("curl-text"))),
    "export-geojson": () => save("geojson"), "export-csv": () => save("csv"),
  };
  for (const [id, action] of Object.entries(buttons)) byId(id).onclick = action;
  byId("language").onchange = show;
  show();
  byId("curl-dialog").showModal();
}
