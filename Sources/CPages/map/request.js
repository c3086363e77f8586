// The request for what is in view, in four languages, and its response as a file.

import { access, address, byId, call } from "../pages/common.js";

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

/** Starts the dialog: `query()` returns the parameters, and `report` shows what fails. */
export function startRequest({ query, report, explanation }) {
  const show = () => {
    const { href } = address("locations", { ...query(), limit: 100 });
    // The key itself is not shown.
    byId("curl-text").textContent = programs[byId("language").value](href.replaceAll("'", "%27"), Boolean(access.key));
    byId("curl-status").textContent = "";
  };
  const save = async (format) => {
    byId("curl-status").textContent = "Loading.";
    const { q, open, ...others } = query();
    // An export has neither a text nor a time: those are at most a page.
    const [path, parameters] = q || open ? ["locations", { q, open, ...others, limit: 1000 }] : ["locations/export", others];
    try {
      const file = await (await call(path, { ...parameters, f: format })).blob();
      const link = document.createElement("a");
      link.href = URL.createObjectURL(file);
      link.download = `places.${format}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
      byId("curl-status").textContent = "Saved.";
    } catch (problem) {
      byId("curl-status").textContent = "";
      byId("curl-dialog").close();
      report(explanation(problem));
    }
  };
  const buttons = {
    "curl": () => {
      show();
      byId("curl-dialog").showModal();
    },
    "curl-close": () => byId("curl-dialog").close(),
    // Pages of plain HTTP may not write to the clipboard.
    "curl-copy": () => {
      getSelection().selectAllChildren(byId("curl-text"));
      byId("curl-status").textContent = document.execCommand("copy") ? "Copied." : "Selected.";
    },
    "export-geojson": () => save("geojson"),
    "export-csv": () => save("csv"),
  };
  for (const [id, action] of Object.entries(buttons)) byId(id).addEventListener("click", action);
  byId("language").addEventListener("change", show);
}
