// The operator's page: what the metrics of the server say, as charts of the last hour.

import { Problem, access, askForKey, byId, call, drawing, element, json, locale, text } from "../pages/common.js";

const intervalMilliseconds = 2000;
const reportMilliseconds = 60000;
const minute = 60000;
/** The shortest and the longest time that the charts show. */
const [shortestWindow, longestWindow] = [2 * minute, 60 * minute];
/** The age of samples from which on those are left out that came within the server's interval of 10 seconds. */
const detailed = minute;
const historyInterval = 9000;
/** The time between samples from which on a line is interrupted. */
const gap = 45000;
/** The time without samples after which the server's are read: the page was hidden, or is new. */
const absence = 15000;
const maximumErrors = 15;
/** The routes that this page and probes call, which are left out of the charts. */
const ownRoutes = ["/metrics", "/status/history.json", "/health/ready", "/health/live"];
/** The samples of the last hour: the time, and values by name. */
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

const number = (value) => (value === undefined ? "–" : value.toLocaleString(locale,
  { maximumFractionDigits: value >= 100 ? 0 : value >= 10 ? 1 : 2 }));
const perSecond = (value) => `${number(value)}/s`;
const milliseconds = (value) => (value === undefined ? "–" : `${number(value)} ms`);
const megabytes = (value) => (value === undefined ? "–" : `${number(value)} MiB`);
const percent = (value) => `${number(value)} %`;

/** The charts: the title, the number that is read from afar, and the lines by name. */
const charts = [
  ["status.requests", perSecond, "total", { "2xx, 3xx": "success", "4xx": "clientErrors", "5xx": "serverErrors" }],
  ["status.latency", milliseconds, "p95", { p50: "p50", p95: "p95", p99: "p99" }],
  ["status.storeLatency", milliseconds, "store99", { p50: "store50", p99: "store99" }],
  ["status.connections", number, "connections",
    { [text("status.openConnections")]: "connections", [text("status.currentRequests")]: "inFlight" }],
  ["status.processor", percent, "processor", { [text("status.ofOneCore")]: "processor" }],
  ["status.memory", megabytes, "memory", { [text("status.resident")]: "memory" }],
];

/** Returns the least of 1, 2, 5, 10 and so on that is no less than a value. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 5, 10].map((factor) => factor * power).find((most) => most >= value);
}

/** The names of quantiles beside the large numbers. */
const quantileNames = { p95: "p95", store99: "p99" };

/** The figures of the charts, which are made once so that the focus stays. */
const figures = charts.map(([title]) => {
  const parts = Object.fromEntries(["value", "legend", "chart"].map((name) => [name, element("div", { class: name })]));
  const node = element("figure", { "data-testid": "chart" }, element("figcaption", {}, tipOf(title)),
    ...Object.values(parts));
  return { node, ...parts };
});

function showChart([title, format, headline, series], { value, legend, chart }) {
  const names = Object.entries(series);
  const values = samples.flatMap((sample) => names.map(([, key]) => sample[key])).filter(Number.isFinite);
  const most = ceiling(Math.max(...values, 0));
  const last = samples.at(-1) || {};
  const shownTime = last.time ? Math.min(Math.max(last.time - samples[0].time, shortestWindow), longestWindow) : shortestWindow;
  const paths = names.flatMap(([, key], index) => {
    let [path, area, former] = ["", "", undefined];
    for (const { time, [key]: y } of samples) {
      if (!Number.isFinite(y)) continue;
      const [x, height] = [(300 - (last.time - time) * 300 / shownTime).toFixed(1), (99 - 98 * y / most).toFixed(1)];
      const isOpen = former && time - former.time < gap;
      path += `${isOpen ? "L" : "M"}${x} ${height}`;
      area += isOpen ? `L${x} ${height}` : `${former ? `V100H${former.start}Z` : ""}M${x} 100V${height}`;
      former = { time, start: isOpen ? former.start : x };
    }
    const line = drawing("path", { class: "line", d: path });
    return [index === 0 && path ? drawing("path", { class: "area", d: `${area}V100Z` }) : undefined, line]
      .filter(Boolean).map((node) => {
        node.style.setProperty("--series", `var(--s${index})`);
        return node;
      });
  });
  value.replaceChildren(format(last[headline]), headline in quantileNames
    ? element("small", {}, quantileNames[headline]) : "");
  legend.replaceChildren(...names.map(([name, key], index) => {
    const entry = element("span", {}, name + " ", element("b", {}, format(last[key])));
    entry.style.setProperty("--series", `var(--s${index})`);
    return entry;
  }));
  const span = text("status.minutes", { count: Math.round(shownTime / minute) });
  const label = text("status.chart", { title: text(title), span,
    values: names.map(([name, key]) => `${name} ${format(last[key])}`).join(", "),
    most: format(values.length ? Math.max(...values) : undefined) });
  chart.replaceChildren(element("span", { class: "most", "aria-hidden": "true" }, format(most)),
    drawing("svg", { viewBox: "0 0 300 100", preserveAspectRatio: "none", role: "img", "aria-label": label },
      [1, 50, 99].map((y) => drawing("path", { class: "grid", d: `M0 ${y}H300` })), paths),
    element("div", { class: "times", "aria-hidden": "true" }, element("span", {}, text("status.ago", { time: span })), element("span", {}, text("status.now"))));
}

// MARK: Tips

/** Returns the name of a figure, which explains it when it is pressed. */
function tipOf(name) {
  return element("button", { type: "button", class: "tip", "aria-describedby": "tip",
    onclick: ({ currentTarget }) => showTip(currentTarget, text(name + "Tip")) }, text(name));
}

function showTip(button, explanation) {
  const tip = byId("tip");
  tip.textContent = explanation;
  tip.showPopover();
  const { left, bottom, top } = button.getBoundingClientRect();
  const isBelow = bottom + tip.offsetHeight + 8 < innerHeight;
  tip.style.setProperty("--x", `${Math.max(8, Math.min(left, innerWidth - tip.offsetWidth - 8))}px`);
  tip.style.setProperty("--y", `${isBelow ? bottom + 4 : Math.max(8, top - tip.offsetHeight - 4)}px`);
}

// MARK: Tables

/** Shows a card of names and values; one without values is hidden. Nodes stay, and with them the focus. */
function showList(id, entries) {
  const list = byId(id);
  const known = entries.filter(([, value]) => value !== undefined);
  const names = known.map(([name]) => name).join();
  if (list.dataset.names !== names) {
    list.dataset.names = names;
    list.replaceChildren(...known.map(([name]) =>
      element("div", {}, element("dt", {}, tipOf(name)), element("dd", { dir: "auto" }))));
  }
  known.forEach(([, value], index) => {
    const node = list.children[index].lastChild;
    if (node.textContent !== value) node.textContent = value;
  });
  list.closest("section").hidden = known.length === 0;
}

function table(headings, lines) {
  const cell = (name, content) => element(name, { class: typeof content === "number" ? "number" : undefined, dir: "auto",
    scope: name === "th" ? "col" : undefined }, typeof content === "number" ? content.toLocaleString(locale) : content);
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": headings.join(", ") },
    element("table", {}, element("thead", {}, element("tr", {}, headings.map((heading) => cell("th", heading)))),
      element("tbody", {}, lines.map((line) => element("tr", {}, line.map((content) => cell("td", content)))))));
}

function duration(seconds) {
  const [days, hours, minutes] = [seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60].map(Math.floor);
  return text(days ? "status.longDays" : hours ? "status.longHours" : "status.longMinutes",
    { days, hours, minutes, seconds: Math.floor(seconds % 60) });
}

const count = (value) => value?.toLocaleString(locale);

function showStore(now) {
  const places = sum(now, "memory_store_places");
  showList("store", [
    ["status.kind", places === undefined ? "PostgreSQL" : text("status.inMemory")],
    ["status.placeCount", count(places ?? sum(now, "point_index_places"))],
    ["status.lastImport", imports(now)],
  ]);
}

function imports(now) {
  const [last] = rows(now, "source_last_import_timestamp_seconds").sort((a, b) => b.value - a.value);
  return last && `${last.labels.source}, ${text("status.ago", { time: duration(Date.now() / 1000 - last.value) })}`;
}

function showIndex(now) {
  const phase = rows(now, "point_index_phase").find(({ value }) => value === 1)?.labels.phase.replace("_", " ");
  const reads = (source) => sum(now, "point_index_reads_total", ({ labels }) => labels.source === source);
  const age = sum(now, "point_index_age_seconds");
  const late = sum(now, "point_index_not_ready_seconds");
  showList("index", [
    ["status.phase", phase], ["status.indexPlaces", count(sum(now, "point_index_places"))],
    ["status.behind", age === undefined ? undefined : `${age.toFixed(3)} s`],
    ["status.notReadyFor", late ? duration(late) : undefined],
    ["status.applied", count(sum(now, "point_index_changes_total"))],
    ["status.indexReads", count(reads("index"))], ["status.databaseReads", count(reads("database"))],
  ]);
  showList("snapshots", phase === undefined ? [] : [
    ["status.loads", count(sum(now, "point_index_loads_total"))],
    ["status.builds", count(sum(now, "point_index_builds_total"))],
  ]);
}

function showFollowers(now) {
  const [events, lag] = ["change_stream_events_total", "change_stream_lag_seconds_total"].map((name) => sum(now, name));
  const bytes = sum(now, "change_stream_bytes_total");
  showList("followers", [
    ["status.streams", count(sum(now, "change_streams_open"))], ["status.sentChanges", count(events)],
    ["status.streamBytes", bytes === undefined ? undefined : megabytes(bytes / 1048576)],
    ["status.delay", events ? milliseconds(1000 * lag / events) : undefined],
    ["status.interruptions", count(sum(now, "change_stream_interruptions_total"))],
    ["status.resets", count(sum(now, "change_stream_resets_total"))],
  ]);
}

function showPool(now) {
  const state = (name) => count(sum(now, "database_pool_connections", ({ labels }) => labels.state === name));
  const bulk = (kind) => {
    const of = (name) => sum(now, name, ({ labels }) => labels.kind === kind);
    const used = of("database_bulk_connections");
    return used === undefined ? undefined : text("status.ofLimitWaiting",
      { used, limit: of("database_bulk_connections_limit"), waiting: of("database_bulk_waiting_calls") || 0 });
  };
  showList("pool", [
    ["status.busy", state("busy")], ["status.idle", state("idle")], ["status.connecting", state("connecting")],
    ["status.limit", count(sum(now, "database_pool_connections_limit"))],
    ["status.waitingCalls", count(sum(now, "database_pool_waiting_calls"))],
    ["status.exports", bulk("export")], ["status.imports", bulk("import")],
  ]);
}

function showProcess(now) {
  const start = sum(now, "process_start_time_seconds");
  const [open, most] = [sum(now, "process_open_fds"), sum(now, "process_max_fds")];
  showList("process", [
    ["status.runningFor", start === undefined ? undefined : duration(Date.now() / 1000 - start)],
    ["status.allRequests", count(sum(now, "http_requests_total"))],
    ["status.sent", megabytes((sum(now, "http_response_body_bytes_total") || 0) / 1048576)],
    ["status.incomplete", count(sum(now, "http_responses_incomplete_total") || 0)],
    ["status.computations", count(sum(now, "computations", ({ labels }) => labels.state === "waiting"))],
    ["status.descriptors", open === undefined ? undefined : text("status.ofLimit", { used: open, limit: most })],
    ["status.dropped", count(sum(now, "analytics_dropped_searches_total") || undefined)],
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
  byId("errors").replaceChildren(errors.length === 0 ? element("p", { class: "note" }, text("status.noErrors"))
    : table([text("status.statusColumn"), text("status.requestColumn"), text("status.countColumn"),
      text("status.seenColumn")], errors.slice(0, maximumErrors).map(
      ({ status, method, route, value, seen }) => [status,
        `${method} ${route === "none" ? text("status.withoutRoute") : route}`, value,
        seen ? new Date(seen).toLocaleTimeString(locale) : "–"])));
}

// MARK: Searches

async function showSearches() {
  byId("searches").closest("section").hidden = !settings.hasSearches;
  if (!settings.hasSearches) return;
  if (!mayCall("admin")) return explainSearches(text("status.needsAdmin"));
  let report;
  try {
    report = await counting("analytics/searches", json, { since: "PT24H", limit: 10 });
  } catch (problem) {
    if (problem.status !== 401 && problem.status !== 403) return explainSearches(text("status.noReport", problem));
    // Another request with this key would be another error.
    nextReport = Infinity;
    return explainSearches(text("status.needsAdmin"));
  }
  const nothing = [text("status.searchCount"), text("status.foundNothing")];
  const parts = [
    ["status.textsFoundNothing", "status.textColumn", report.textsFoundNothing, ({ text }) => text],
    ["status.areasFoundNothing", "status.aroundColumn", report.cellsFoundNothing, ({ lat, long }) =>
      element("a", { href: `map#map=12/${lat}/${long}` }, `${lat}, ${long}`)],
    ["status.categories", "status.categoryColumn", report.categories, ({ category }) => category],
  ].filter(([, , entries]) => entries?.length);
  byId("searches").replaceChildren(
    element("p", {}, text("status.report", { searches: report.searches, nothing: report.foundNothing,
      p50: milliseconds(report.durationMs.p50 ?? undefined), p99: milliseconds(report.durationMs.p99 ?? undefined) })),
    element("div", { class: "columns" }, parts.map(([title, heading, entries, name]) => element("div", {},
      element("h3", {}, text(title)), table([text(heading), ...nothing],
        entries.map((entry) => [name(entry), entry.searches, entry.foundNothing]))))));
}

function explainSearches(explanation) {
  byId("searches").replaceChildren(element("p", { class: "note" }, explanation));
}

// MARK: Running

/** Returns whether a call of a scope may succeed with the caller's key. Other calls would be errors of this page's own. */
const mayCall = (scope) => (access.key ? access.key !== rejectedKey : settings.openScopes.includes(scope));

/** Asks for another key, once for each that is no longer valid. */
async function askForAnotherKey() {
  if (questionedKey === access.key || byId("key-dialog")) return;
  questionedKey = access.key;
  await askForKey(text(access.key ? "common.keyInvalid" : "status.keyMetrics"));
}

function setState(state, told) {
  if (byId("state").textContent === told) return;
  byId("state").dataset.state = state;
  byId("state").textContent = told;
}

async function readState() {
  try {
    const { index, writes } = await counting("health/ready", json);
    if (writes) return setState("warn", text("status.readsOnly", { message: writes.reason }));
    const isBehind = index && index.phase !== "following";
    setState(isBehind ? "warn" : "good",
      isBehind ? text("status.readyIndex", { phase: index.phase.replace("_", " ") }) : text("status.ready"));
  } catch (problem) {
    setState("bad", problem.status ? text("status.notReady", problem) : text("status.notReachable"));
  }
}

/** Adds the sample of metrics; the first ones only begin the rates. */
function addSample(now) {
  const seconds = before && (now.time - before.time) / 1000;
  // Rates of a moment say little.
  if (seconds < 1) return;
  if (before) {
    const responses = (digit) => rate(now, "http_requests_total", seconds,
      (row) => isForeign(row) && digit.includes(row.labels.status?.[0]));
    const [p50, p95, p99] = quantiles(now, "http_request_duration_seconds", [0.5, 0.95, 0.99], isForeign);
    const [store50, store99] = quantiles(now, "store_call_duration_seconds", [0.5, 0.99]);
    const [success, clientErrors, serverErrors] = ["123", "4", "5"].map(responses);
    samples.push({
      time: now.time, total: success + clientErrors + serverErrors, success, clientErrors, serverErrors, p50, p95, p99,
      store50, store99, inFlight: sum(now, "http_requests_in_flight"), connections: sum(now, "http_connections_open"),
      processor: 100 * rate(now, "process_cpu_seconds_total", seconds),
      memory: sum(now, "process_resident_memory_bytes") / 1048576,
    });
  }
  before = now;
}

/** Leaves out samples of more than an hour ago, and those that are closer together than the server's. */
function thinSamples(time) {
  let last = -Infinity;
  samples = samples.filter((sample) => {
    const isKept = time - sample.time < longestWindow
      && (time - sample.time < detailed || sample.time - last >= historyInterval);
    if (isKept) last = sample.time;
    return isKept;
  });
}

/** Reads the samples that the server has kept. */
async function readHistory() {
  const history = await counting("status/history.json", json);
  const time = performance.now();
  samples = [];
  before = undefined;
  for (const { age, values } of history.samples) {
    const lines = history.series.map((name, index) => (values[index] === null ? "" : `${name} ${values[index]}`));
    addSample(Object.assign(parse(lines.join("\n")), { time: time - 1000 * age }));
  }
}

async function readMetrics() {
  if (!before || performance.now() - before.time > absence) await readHistory();
  const now = parse(await (await counting("metrics", call)).text());
  now.time = performance.now();
  addSample(now);
  thinSamples(now.time);
  byId("version").textContent = rows(now, "waymark_build_info")[0]?.labels.version || "";
  charts.forEach((chart, index) => showChart(chart, figures[index]));
  byId("charts").hidden = false;
  for (const show of [showStore, showIndex, showFollowers, showPool, showProcess, showErrors]) show(now);
  byId("errors").closest("section").hidden = false;
  if (now.time >= nextReport) {
    nextReport = now.time + reportMilliseconds;
    await showSearches();
  }
}

function report(told) {
  byId("message").hidden = false;
  byId("message").textContent = told;
}

async function update() {
  clearTimeout(timer);
  if (isPaused || document.hidden) return;
  await readState();
  try {
    settings ??= await counting("status/settings.json", json);
    if (!mayCall("read")) throw new Problem(401);
    await readMetrics();
    byId("message").hidden = !byId("message").dataset.failed;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    const needed = text(access.key ? "common.keyInvalid" : "status.keyRead");
    report(problem.status === 0 ? problem.message
      : text("status.noMetrics", { message: problem.status === 401 ? needed : problem.message }));
    if (problem.status === 401) {
      rejectedKey = access.key;
      await askForAnotherKey();
    }
  }
  clearTimeout(timer);
  timer = setTimeout(update, intervalMilliseconds);
}

byId("charts").append(...figures.map(({ node }) => node));
byId("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  byId("pause").setAttribute("aria-pressed", String(isPaused));
  update();
});
byId("set-key").addEventListener("click", async () => {
  if (!await askForKey(text("status.keyReason"))) return;
  nextReport = 0;
  rejectedKey = questionedKey = undefined;
  update();
});
document.addEventListener("visibilitychange", update);
update();
