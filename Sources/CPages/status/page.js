// The operator's page: what the metrics of the server say, as charts of the last minutes.

import { Problem, access, askForKey, byId, call, drawing, element, json } from "../pages/common.js";

const intervalMilliseconds = 2000;
const reportMilliseconds = 60000;
const maximumSamples = 150;
/** The number of samples from which on the charts become denser. */
const minimumSamples = 45;
const maximumErrors = 15;
/** The routes that this page and probes call, which are left out of the charts. */
const ownRoutes = ["/metrics", "/health/ready", "/health/live"];
/** The samples of the last minutes: the time, and values by name. */
let samples = [];
let before;
let isPaused = false;
let timer;
let nextReport = 0;
/** The server's settings of access; `undefined` until they are known. */
let settings;
/** The key that the server rejected, and the one in whose place another was asked for. */
let rejectedKey;
let questionedKey;
const lastSeen = new Map();
/** The numbers of this page's failed calls, by their counter. */
const ownErrors = new Map();

// MARK: Metrics

/** Parses the text format of Prometheus into lists of labels and values by name. */
function parse(text) {
  const metrics = new Map();
  for (const line of text.split("\n")) {
    const match = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!match) continue;
    const labels = {};
    for (const [, name, value] of (match[2] || "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      labels[name] = value.replace(/\\(.)/g, (_, character) => (character === "n" ? "\n" : character));
    }
    if (!metrics.has(match[1])) metrics.set(match[1], []);
    metrics.get(match[1]).push({ labels, value: Number(match[3].replace("Inf", "Infinity")) });
  }
  return metrics;
}

const rows = (metrics, name) => metrics?.get(name) || [];
const isForeign = ({ labels }) => !ownRoutes.includes(labels.route);

/** Returns the sum of the values of a metric whose labels match; `undefined` where there are none. */
function sum(metrics, name, matches = () => true) {
  const values = rows(metrics, name).filter(matches);
  return values.length ? values.reduce((total, { value }) => total + value, 0) : undefined;
}

/** Returns by how much a counter has grown per second; one that was reset counts from 0. */
function rate(now, name, seconds, matches) {
  const [last, first] = [sum(now, name, matches) ?? 0, sum(before, name, matches) ?? 0];
  return (last < first ? last : last - first) / seconds;
}

/** Returns quantiles of a histogram since the last sample, in milliseconds; `undefined` where nothing was counted. */
function quantiles(now, name, parts, matches = () => true) {
  const counts = (metrics) => {
    const totals = new Map();
    for (const { labels, value } of rows(metrics, name + "_bucket").filter(matches)) {
      const bound = labels.le === "+Inf" ? Infinity : Number(labels.le);
      totals.set(bound, (totals.get(bound) || 0) + value);
    }
    return totals;
  };
  const [last, first] = [counts(now), counts(before)];
  const buckets = [...last].map(([bound, count]) => [bound, Math.max(0, count - (first.get(bound) || 0))])
    .sort(([a], [b]) => a - b);
  const total = buckets.at(-1)?.[1];
  return parts.map((part) => {
    if (!total) return undefined;
    const rank = part * total;
    const index = buckets.findIndex(([, count]) => count >= rank);
    const [low, below] = index > 0 ? buckets[index - 1] : [0, 0];
    const [high, upTo] = buckets[index];
    return 1000 * (high === Infinity ? low : low + (high - low) * (rank - below) / Math.max(upTo - below, 1));
  });
}

const counterKey = ({ status, method, route }) => `${status} ${method} ${route}`;

/** Makes a call of this page, and counts a failure. */
const counting = (path, ask, parameters) => ask(path, parameters).catch((problem) => {
  const key = counterKey({ ...problem, method: "GET", route: "/" + path });
  ownErrors.set(key, (ownErrors.get(key) || 0) + 1);
  throw problem;
});

// MARK: Charts

const number = (value) => (value === undefined ? "–" : value.toLocaleString(undefined,
  { maximumFractionDigits: value >= 100 ? 0 : value >= 10 ? 1 : 2 }));
const perSecond = (value) => `${number(value)}/s`;
const milliseconds = (value) => (value === undefined ? "–" : `${number(value)} ms`);
const megabytes = (value) => (value === undefined ? "–" : `${number(value)} MiB`);
const percent = (value) => `${number(value)} %`;

const charts = [
  ["Requests", perSecond, { "2xx, 3xx": "success", "4xx": "clientErrors", "5xx": "serverErrors" }],
  ["Latency of requests", milliseconds, { p50: "p50", p95: "p95", p99: "p99" }],
  ["Latency of the store", milliseconds, { p50: "store50", p99: "store99" }],
  ["Current requests and connections", number, { requests: "inFlight", connections: "connections" }],
  ["Processor", percent, { "of one core": "processor" }],
  ["Memory", megabytes, { resident: "memory" }],
];

/** Returns the least of 1, 2, 5, 10 and so on that is no less than a value. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 5, 10].map((factor) => factor * power).find((most) => most >= value);
}

function chartOf([title, format, series]) {
  const names = Object.entries(series);
  const values = samples.flatMap((sample) => names.map(([, key]) => sample[key])).filter(Number.isFinite);
  const most = ceiling(Math.max(...values, 0));
  const last = samples.at(-1) || {};
  const paths = names.flatMap(([, key], index) => {
    let path = "";
    let isOpen = false;
    let first;
    samples.forEach((sample, position) => {
      const value = sample[key];
      const x = 300 - (samples.length - 1 - position) * 300 / (Math.max(samples.length, minimumSamples) - 1);
      if (Number.isFinite(value)) path += `${isOpen ? "L" : "M"}${x.toFixed(1)} ${(99 - 98 * value / most).toFixed(1)}`;
      isOpen = Number.isFinite(value);
      first ??= isOpen ? x : undefined;
    });
    const line = drawing("path", { class: "line", d: path });
    const area = index === 0 && path && !/.M/.test(path)
      ? drawing("path", { class: "area", d: `${path}V100H${first.toFixed(1)}Z` }) : undefined;
    return [area, line].filter(Boolean).map((node) => {
      node.style.setProperty("--series", `var(--s${index})`);
      return node;
    });
  });
  const legend = names.map(([name, key], index) => {
    const entry = element("span", {}, name + " ", element("b", {}, format(last[key])));
    entry.style.setProperty("--series", `var(--s${index})`);
    return entry;
  });
  const label = `${title}: ${names.map(([name, key]) => `${name} ${format(last[key])}`).join(", ")}; `
    + `at most ${format(values.length ? Math.max(...values) : undefined)} in the last five minutes`;
  return element("figure", { "data-testid": "chart" }, element("figcaption", {}, title),
    element("div", { class: "legend" }, legend),
    element("div", { class: "chart" }, element("span", { class: "most", "aria-hidden": "true" }, format(most)),
      drawing("svg", { viewBox: "0 0 300 100", preserveAspectRatio: "none", role: "img", "aria-label": label },
        [1, 50, 99].map((y) => drawing("path", { class: "grid", d: `M0 ${y}H300` })), paths)));
}

// MARK: Tables

function showList(id, entries) {
  const known = entries.filter(([, value]) => value !== undefined);
  byId(id).replaceChildren(...known.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  return known.length > 0;
}

function table(headings, lines) {
  const cell = (name, text) => element(name, { class: typeof text === "number" ? "number" : undefined,
    scope: name === "th" ? "col" : undefined }, typeof text === "number" ? text.toLocaleString() : text);
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": headings.join(", ") },
    element("table", {}, element("thead", {}, element("tr", {}, headings.map((text) => cell("th", text)))),
      element("tbody", {}, lines.map((line) => element("tr", {}, line.map((text) => cell("td", text)))))));
}

function duration(seconds) {
  const [days, hours, minutes] = [seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60].map(Math.floor);
  if (days) return `${days} d ${hours} h`;
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${Math.floor(seconds % 60)} s`;
}

function showStore(now) {
  const phase = rows(now, "point_index_phase").find(({ value }) => value === 1)?.labels.phase.replace("_", " ");
  const reads = (source) => sum(now, "point_index_reads_total", ({ labels }) => labels.source === source);
  const count = (value) => value?.toLocaleString();
  const places = sum(now, "memory_store_places");
  showList("store", [
    ["Kind", places === undefined ? "PostgreSQL" : "memory"], ["Places in memory", count(places)],
    ["Index", phase], ["Places in the index", count(sum(now, "point_index_places"))],
    ["Age of the index", sum(now, "point_index_age_seconds")?.toFixed(3).concat(" s")],
    ["Builds", count(sum(now, "point_index_builds_total"))],
    ["Changes applied", count(sum(now, "point_index_changes_total"))],
    ["Reads from the index", count(reads("index"))], ["Reads from the database", count(reads("database"))],
  ]);
}

function showPool(now) {
  const state = (name) => sum(now, "database_pool_connections", ({ labels }) => labels.state === name);
  const bulk = (kind) => {
    const of = (name) => sum(now, name, ({ labels }) => labels.kind === kind);
    const used = of("database_bulk_connections");
    return used === undefined ? undefined
      : `${used} of ${of("database_bulk_connections_limit")}, ${of("database_bulk_waiting_calls") || 0} waiting`;
  };
  const hasPool = showList("pool", [
    ["Busy", state("busy")?.toString()], ["Idle", state("idle")?.toString()],
    ["Connecting", state("connecting")?.toString()], ["Limit", sum(now, "database_pool_connections_limit")?.toString()],
    ["Waiting calls", sum(now, "database_pool_waiting_calls")?.toString()], ["Exports", bulk("export")],
    ["Imports", bulk("import")],
  ]);
  if (!hasPool) showList("pool", [["Database", "none: the places are in memory"]]);
}

function showProcess(now) {
  const start = sum(now, "process_start_time_seconds");
  const [open, most] = [sum(now, "process_open_fds"), sum(now, "process_max_fds")];
  showList("process", [
    ["Running for", start === undefined ? undefined : duration(Date.now() / 1000 - start)],
    ["Requests", sum(now, "http_requests_total")?.toLocaleString()],
    ["Sent", megabytes((sum(now, "http_response_body_bytes_total") || 0) / 1048576)],
    ["Incomplete responses", (sum(now, "http_responses_incomplete_total") || 0).toLocaleString()],
    ["File descriptors", open === undefined ? undefined : `${open.toLocaleString()} of ${most?.toLocaleString()}`],
    ["Searches dropped from analytics", sum(now, "analytics_dropped_searches_total")?.toLocaleString()],
  ]);
}

/** The numbers of errors of others that the page showed last. */
let shown;

/** Shows the responses of 400 and above to others: those that came last first. */
function showErrors(now) {
  const time = Date.now();
  const counts = {};
  const errors = rows(now, "http_requests_total").filter(({ labels }) => Number(labels.status) >= 400)
    .map(({ labels, value }) => {
      const key = counterKey(labels);
      // A server that was restarted counts from 0.
      const own = Math.min(ownErrors.get(key) || 0, value);
      ownErrors.set(key, own);
      counts[key] = value - own;
      if (shown && counts[key] !== (shown[key] || 0)) lastSeen.set(key, time);
      return { ...labels, value: counts[key], seen: lastSeen.get(key) || 0 };
    }).filter((error) => error.value).sort((a, b) => b.seen - a.seen || Number(b.status) - Number(a.status) || b.value - a.value);
  shown = counts;
  const state = JSON.stringify(errors);
  // The table keeps its focus as long as nothing changes.
  if (byId("errors").dataset.state === state) return;
  byId("errors").dataset.state = state;
  byId("errors").replaceChildren(errors.length === 0 ? element("p", { class: "note" }, "None since the server started.")
    : table(["Status", "Request", "Since the start", "Last seen by this page"], errors.slice(0, maximumErrors).map(
      ({ status, method, route, value, seen }) => [status,
        `${method} ${route === "none" ? "without a route" : route}`, value,
        seen ? new Date(seen).toLocaleTimeString() : "–"])));
}

// MARK: Searches

async function showSearches() {
  if (!settings.hasSearches) return explainSearches();
  if (!mayCall("admin")) return explainSearches("The report needs a key of scope admin.");
  let report;
  try {
    report = await counting("analytics/searches", json, { since: "PT24H", limit: 10 });
  } catch (problem) {
    if (problem.status !== 401 && problem.status !== 403) return explainSearches(`There is no report: ${problem.message}.`);
    // Another request with this key would be another error.
    nextReport = Infinity;
    return explainSearches("The report needs a key of scope admin.");
  }
  const nothing = ["Searches", "Found nothing"];
  const parts = [
    ["Texts that found nothing", ["Text"], report.textsFoundNothing, ({ text }) => text],
    ["Areas where nothing was found", ["Around"], report.cellsFoundNothing, ({ lat, long }) =>
      element("a", { href: `map#map=12/${lat}/${long}` }, `${lat}, ${long}`)],
    ["Categories", ["Category"], report.categories, ({ category }) => category],
  ].filter(([, , entries]) => entries?.length);
  byId("searches").replaceChildren(
    element("p", {}, `${report.searches.toLocaleString()} searches, of which ${report.foundNothing.toLocaleString()} `
      + `found nothing; the store took ${milliseconds(report.durationMs.p50 ?? undefined)} (p50) and `
      + `${milliseconds(report.durationMs.p99 ?? undefined)} (p99).`),
    element("div", { class: "columns" }, parts.map(([title, headings, entries, name]) => element("div", {},
      element("h3", {}, title), table([...headings, ...nothing],
        entries.map((entry) => [name(entry), entry.searches, entry.foundNothing]))))));
}

function explainSearches(text = "Searches are not recorded: that takes PostgreSQL and the setting ANALYTICS=postgres.") {
  byId("searches").replaceChildren(element("p", { class: "note" }, text));
}

// MARK: Running

/** Returns whether a call of a scope may succeed with the caller's key. Other calls would be errors of this page's own. */
const mayCall = (scope) => (access.key ? access.key !== rejectedKey : settings.openScopes.includes(scope));

/** Asks for another key, once for each that is no longer valid. */
async function askForAnotherKey() {
  if (questionedKey === access.key || byId("key-dialog").open) return;
  questionedKey = access.key;
  await askForKey(access.key ? "This key is not valid." : "This server needs a key for its metrics.");
}

function setState(state, text) {
  if (byId("state").textContent === text) return;
  byId("state").dataset.state = state;
  byId("state").textContent = text;
}

async function readState() {
  try {
    const { index, writes } = await counting("health/ready", json);
    if (writes) return setState("warn", `Reads only: ${writes.reason}`);
    const isBehind = index && index.phase !== "following";
    setState(isBehind ? "warn" : "good", isBehind ? `Ready, index ${index.phase.replace("_", " ")}` : "Ready");
  } catch (problem) {
    setState("bad", problem.status ? `Not ready: ${problem.message}` : "Not reachable");
  }
}

async function readMetrics() {
  const now = parse(await (await counting("metrics", call)).text());
  const time = performance.now();
  if (before) {
    const seconds = (time - before.time) / 1000;
    const responses = (digit) => rate(now, "http_requests_total", seconds,
      (row) => isForeign(row) && digit.includes(row.labels.status?.[0]));
    const [p50, p95, p99] = quantiles(now, "http_request_duration_seconds", [0.5, 0.95, 0.99], isForeign);
    const [store50, store99] = quantiles(now, "store_call_duration_seconds", [0.5, 0.99]);
    samples = [...samples, {
      success: responses("123"), clientErrors: responses("4"), serverErrors: responses("5"), p50, p95, p99, store50,
      store99, inFlight: sum(now, "http_requests_in_flight"), connections: sum(now, "http_connections_open"),
      processor: 100 * rate(now, "process_cpu_seconds_total", seconds),
      memory: sum(now, "process_resident_memory_bytes") / 1048576,
    }].slice(-maximumSamples);
  }
  byId("version").textContent = rows(now, "waymark_build_info")[0]?.labels.version || "";
  byId("charts").replaceChildren(...charts.map(chartOf));
  showStore(now);
  showPool(now);
  showProcess(now);
  showErrors(now);
  before = Object.assign(now, { time });
  if (time >= nextReport) {
    nextReport = time + reportMilliseconds;
    await showSearches();
  }
}

async function update() {
  clearTimeout(timer);
  if (isPaused || document.hidden) return;
  await readState();
  try {
    settings ??= await counting("status/settings.json", json);
    if (!mayCall("read")) throw new Problem(401);
    await readMetrics();
    byId("message").hidden = true;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    byId("message").hidden = false;
    const needed = access.key ? "this key is not valid" : "they need a key of scope read";
    byId("message").textContent = problem.status === 0 ? "The server cannot be reached."
      : `There are no metrics: ${problem.status === 401 ? needed : problem.message}.`;
    if (problem.status === 401) {
      rejectedKey = access.key;
      await askForAnotherKey();
    }
  }
  clearTimeout(timer);
  timer = setTimeout(update, intervalMilliseconds);
}

byId("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  byId("pause").setAttribute("aria-pressed", String(isPaused));
  update();
});
byId("set-key").addEventListener("click", async () => {
  if (!await askForKey("The report on searches needs a key of scope admin, the metrics may need one.")) return;
  nextReport = 0;
  rejectedKey = questionedKey = undefined;
  update();
});
document.addEventListener("visibilitychange", update);
update();
