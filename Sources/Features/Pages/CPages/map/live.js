// The changes of the places in view: a stream of server-sent events, which is read by `fetch`, since `EventSource` sends
// no key and ends for good after an error. A hidden tab has none: browsers open six connections to a host.

import { Problem, call, json } from "../pages/common.js";

const firstDelay = 1000;
const longestDelay = 30000;
/** The server sends something every 15 seconds; a connection that is silent for longer is lost. */
const longestSilence = 40000;
/** Problems that another attempt does not mend: the stream begins anew with another key or another view. */
const lasting = [400, 401, 403, 404, 405, 501];

/** Returns the events of a response as they come, and a call of `onSign` for each sign of life. */
async function* eventsOf(response, onSign) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (true) {
    const { value, done } = await reader.read();
    if (done) return;
    onSign();
    const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { name: "message", data: "" };
      for (const line of block.split("\n")) {
        const [, field, text] = line.match(/^(\w+): ?(.*)$/) || [];
        if (field === "event") event.name = text;
        else if (field === "data") event.data += text;
        else if (field === "id") event.id = text;
        else if (field === "retry") event.retry = Number(text);
      }
      yield event;
    }
  }
}

/**
 * The stream of the places that match the parameters of `query()`. `onChange` is called with the changed ids, or with
 * none where anything may have changed; `onState` with `live`, `lost`, or `off` where the server has no stream.
 */
export class Live {
  constructor({ query, onChange, onState }) {
    Object.assign(this, { query, onChange, onState, failures: 0, state: "off" });
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()));
    addEventListener("online", () => this.open());
  }

  /** Begins, or begins anew with other parameters, where the last stream ended. */
  open(delay = 0) {
    this.close();
    if (!document.hidden) this.timer = setTimeout(() => this.run(), delay);
  }

  close() {
    clearTimeout(this.timer);
    clearTimeout(this.watch);
    this.request?.abort();
  }

  tell(state) {
    if (this.state === state) return;
    this.state = state;
    this.onState(state);
  }

  async run() {
    const request = this.request = new AbortController();
    let [wait, isLost] = [firstDelay, false];
    const watch = () => {
      clearTimeout(this.watch);
      this.watch = setTimeout(() => {
        isLost = true;
        request.abort();
      }, longestSilence);
    };
    watch();
    try {
      const response = await call("changes", { ...this.query(), since: this.position },
        { signal: request.signal, headers: { Accept: "text/event-stream" } });
      for await (const event of eventsOf(response, watch)) {
        if (request.signal.aborted) return;
        if (event.retry) wait = event.retry;
        else this.take(event);
      }
    } catch (problem) {
      if (request.signal.aborted && !isLost) return;
      if (problem.code === "position-expired") this.position = undefined;
      else if (lasting.includes(problem.status)) return this.tell("off");
      else this.failures += 1;
      if (problem.retryAfter) wait = problem.retryAfter * 1000;
    }
    if (this.request !== request) return;
    // One that ended as servers do at a restart is not lost before the next attempt fails.
    if (this.failures) this.tell("lost");
    this.open(Math.min(wait * 2 ** Math.max(this.failures - 1, 0), longestDelay) * (0.5 + Math.random() / 2));
  }

  take({ name, id, data }) {
    if (name === "end") return this.tell("off");
    const isFirst = !this.position || name === "reset";
    if (id) this.position = id;
    if (!["change", "position", "reset"].includes(name)) return;
    this.failures = 0;
    this.tell("live");
    // What changed between the loading of the places and the first position is not known.
    if (isFirst) this.onChange();
    else if (name === "change") this.onChange(JSON.parse(data));
  }
}
