// The operator's page: what the metrics of the server say, as charts of the last hour.

import { Problem, access, askForKey, byId, call, drawing, element, json, showFailures } from "../pages/common.js";

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

const number = (value) => (value === undefined ? "–" : value.toLocaleString(undefined,
  { maximumFractionDigits: value >= 100 ? 0 : value >= 10 ? 1 : 2 }));
const perSecond = (value) => `${number(value)}/s`;
const milliseconds = (value) => (value === undefined ? "–" : `${number(value)} ms`);
const megabytes = (value) => (value === undefined ? "–" : `${number(value)} MiB`);
const percent = (value) => `${number(value)} %`;

/** The charts: the title, the number that is read from afar, the lines by name, and the explanation. */
const charts = [
  ["Requests", perSecond, "total", { "2xx, 3xx": "success", "4xx": "clientErrors", "5xx": "serverErrors" },
    "Responses per second. 4xx are errors of clients, such as an unknown parameter; 5xx are errors of the server."],
  ["Latency of requests", milliseconds, "p95", { p50: "p50", p95: "p95", p99: "p99" },
    "Time from the head of a request to the end of its response. 95 of 100 requests took no longer than the large number."],
  ["Latency of the store", milliseconds, "store99", { p50: "store50", p99: "store99" },
    "Time that calls of the store take: memory, the index or PostgreSQL. The large number is that of 99 of 100 calls."],
  ["Connections", number, "connections", { connections: "connections", "current requests": "inFlight" },
    "Open connections of clients, and requests that are being processed now. A stream of changes is a connection."],
  ["Processor", percent, "processor", { "of one core": "processor" },
    "Processor time of the process. 100 % is one core; a server with four cores may use 400 %."],
  ["Memory", megabytes, "memory", { resident: "memory" },
    "Memory of the process that is in use. Files of the index that are mapped count where they have been read."],
];

/** Returns the least of 1, 2, 5, 10 and so on that is no less than a value. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 5, 10].map((factor) => factor * power).find((most) => most >= value);
}

/** The names of quantiles beside the large numbers. */
const quantileNames = { p95: "p95", store99: "p99" };

/** The figures of the charts, which are made once so that the focus stays. */
const figures = charts.map(([title, , , , tip]) => {
  const parts = Object.fromEntries(["value", "legend", "chart"].map((name) => [name, element("div", { class: name })]));
  const node = element("figure", { "data-testid": "chart" }, element("figcaption", {}, tipOf(title, tip)),
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
  const span = `${Math.round(shownTime / minute)} min`;
  const label = `${title}: ${names.map(([name, key]) => `${name} ${format(last[key])}`).join(", ")}; `
    + `at most ${format(values.length ? Math.max(...values) : undefined)} in the last ${span}`;
  chart.replaceChildren(element("span", { class: "most", "aria-hidden": "true" }, format(most)),
    drawing("svg", { viewBox: "0 0 300 100", preserveAspectRatio: "none", role: "img", "aria-label": label },
      [1, 50, 99].map((y) => drawing("path", { class: "grid", d: `M0 ${y}H300` })), paths),
    element("div", { class: "times", "aria-hidden": "true" }, element("span", {}, `${span} ago`), element("span", {}, "now")));
}

// MARK: Tips

/** Returns the name of a figure, which explains it when it is pressed. */
function tipOf(name, text) {
  return element("button", { type: "button", class: "tip", "aria-describedby": "tip",
    onclick: ({ currentTarget }) => showTip(currentTarget, text) }, name);
}

function showTip(button, text) {
  const tip = byId("tip");
  tip.textContent = text;
  tip.showPopover();
  const { left, bottom, top } = button.getBoundingClientRect();
  const isBelow = bottom + tip.offsetHeight + 8 < innerHeight;
  tip.style.setProperty("--x", `${Math.max(8, Math.min(left, innerWidth - tip.offsetWidth - 8))}px`);
  tip.style.setProperty("--y", `${isBelow ? bottom + 4 : Math.max(8, top - tip.offsetHeight - 4)}px`);
}

// MARK: Tables

/** Shows a card of names, values and explanations; one without values is hidden. Nodes stay, and with them the focus. */
function showList(id, entries) {
  const list = byId(id);
  const known = entries.filter(([, value]) => value !== undefined);
  const names = known.map(([name]) => name).join();
  if (list.dataset.names !== names) {
    list.dataset.names = names;
    list.replaceChildren(...known.map(([name, , tip]) =>
      element("div", {}, element("dt", {}, tip ? tipOf(name, tip) : name), element("dd"))));
  }
  known.forEach(([, value], index) => {
    const node = list.children[index].lastChild;
    if (node.textContent !== value) node.textContent = value;
  });
  list.closest("section").hidden = known.length === 0;
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

const count = (value) => value?.toLocaleString();

function showStore(now) {
  const places = sum(now, "memory_store_places");
  showList("store", [
    ["Kind", places === undefined ? "PostgreSQL" : "memory",
      "Where places are kept: in PostgreSQL, or in the memory of this process, with a file if MEMORY_STORE_PATH is set."],
    ["Places", count(places ?? sum(now, "point_index_places")), "Places that searches find on this server."],
    ["Last import", imports(now), "The data set that was imported last, and when."],
  ]);
}

function imports(now) {
  const [last] = rows(now, "source_last_import_timestamp_seconds").sort((a, b) => b.value - a.value);
  return last && `${last.labels.source}, ${duration(Date.now() / 1000 - last.value)} ago`;
}

function showIndex(now) {
  const phase = rows(now, "point_index_phase").find(({ value }) => value === 1)?.labels.phase.replace("_", " ");
  const reads = (source) => sum(now, "point_index_reads_total", ({ labels }) => labels.source === source);
  const age = sum(now, "point_index_age_seconds");
  const late = sum(now, "point_index_not_ready_seconds");
  showList("index", [
    ["Phase", phase, "Following: the index has every change of the database within moments. In other phases it is built or "
      + "catches up, and the database is read instead."],
    ["Places in the index", count(sum(now, "point_index_places")), "Places that the index has, or has copied so far."],
    ["Behind by", age === undefined ? undefined : `${age.toFixed(3)} s`,
      "Time since the index was known to have every committed write."],
    ["Not ready for", late ? duration(late) : undefined, "Time for which the index has been built or has caught up."],
    ["Changes applied", count(sum(now, "point_index_changes_total")), "Changed places since the start of the process."],
    ["Reads from the index", count(reads("index")), "Searches that the index answered since the start."],
    ["Reads from the database", count(reads("database")),
      "Searches that went to the database: the index was not ready, or a setting asks for it."],
  ]);
  showList("snapshots", phase === undefined ? [] : [
    ["Starts from a snapshot", count(sum(now, "point_index_loads_total")),
      "Times that the index continued from its files (INDEX_PATH), which takes seconds."],
    ["Starts without one", count(sum(now, "point_index_builds_total")),
      "Times that the index was built by reading every place from the database."],
  ]);
}

function showFollowers(now) {
  const [events, lag] = ["change_stream_events_total", "change_stream_lag_seconds_total"].map((name) => sum(now, name));
  const bytes = sum(now, "change_stream_bytes_total");
  showList("followers", [
    ["Streams", count(sum(now, "change_streams_open")),
      "Clients that follow changes now (GET /changes), open maps among them."],
    ["Changes sent", count(events), "Changes that were sent on streams since the start."],
    ["Sent", bytes === undefined ? undefined : megabytes(bytes / 1048576), "Bytes that were sent on streams."],
    ["Mean delay", events ? milliseconds(1000 * lag / events) : undefined,
      "Time from when this server saw a change to its sending, on average since the start."],
    ["Interruptions", count(sum(now, "change_stream_interruptions_total")),
      "Times that a client was slower than the changes, and its stream read the change log."],
    ["Resets", count(sum(now, "change_stream_resets_total")),
      "Clients that came with a position that is no longer known, and had to begin again."],
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
  showList("pool", [
    ["Busy", state("busy")?.toString(), "Connections that run a statement now."],
    ["Idle", state("idle")?.toString(), "Connections that are open and free."],
    ["Connecting", state("connecting")?.toString(), "Connections that are being made."],
    ["Limit", sum(now, "database_pool_connections_limit")?.toString(), "The setting DATABASE_POOL_SIZE."],
    ["Waiting calls", sum(now, "database_pool_waiting_calls")?.toString(),
      "Requests that wait for a connection. More than a few for long: the database is slow, or the limit is low."],
    ["Exports", bulk("export"), "Connections of exports, which have a limit of their own."],
    ["Imports", bulk("import"), "Connections of imports, which have a limit of their own."],
  ]);
}

function showProcess(now) {
  const start = sum(now, "process_start_time_seconds");
  const [open, most] = [sum(now, "process_open_fds"), sum(now, "process_max_fds")];
  const waiting = sum(now, "computations", ({ labels }) => labels.state === "waiting");
  showList("process", [
    ["Running for", start === undefined ? undefined : duration(Date.now() / 1000 - start), "Time since the start."],
    ["Requests", count(sum(now, "http_requests_total")), "All requests since the start, those of this page too."],
    ["Sent", megabytes((sum(now, "http_response_body_bytes_total") || 0) / 1048576), "Bodies of responses since the start."],
    ["Incomplete responses", count(sum(now, "http_responses_incomplete_total") || 0),
      "Responses that were cut short: the client disconnected, or the server failed. Streams that clients end count too."],
    ["Waiting computations", count(waiting), "Long filters, texts and tiles that wait for a thread."],
    ["File descriptors", open === undefined ? undefined : `${count(open)} of ${count(most)}`,
      "Open files and sockets, and the most that the system allows."],
    ["Searches dropped from analytics", count(sum(now, "analytics_dropped_searches_total") || undefined),
      "Searches that were not recorded since there was no room."],
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
  byId("searches").closest("section").hidden = !settings.hasSearches;
  if (!settings.hasSearches) return;
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

function explainSearches(text) {
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

function report(text) {
  byId("message").hidden = false;
  byId("message").textContent = text;
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
    const needed = access.key ? "this key is not valid" : "they need a key of scope read";
    report(problem.status === 0 ? "The server cannot be reached."
      : `There are no metrics: ${problem.status === 401 ? needed : problem.message}.`);
    if (problem.status === 401) {
      rejectedKey = access.key;
      await askForAnotherKey();
    }
  }
  clearTimeout(timer);
  timer = setTimeout(update, intervalMilliseconds);
}

showFailures(report);
byId("charts").append(...figures.map(({ node }) => node));
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
