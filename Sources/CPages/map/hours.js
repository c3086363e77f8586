// The opening hours of a place, as the popup shows them. Loaded with the first place that has some.

const dayLength = 86_400_000;
const noon = dayLength / 2;

/** Returns a time as the clock of its place shows it, as if that were in UTC. */
const local = (text) => Date.parse(text.slice(0, 19) + "Z");
const format = (time, options) => new Date(time).toLocaleString(undefined, { timeZone: "UTC", ...options });
const clock = (time) => format(time, { timeStyle: "short" });

/** Returns the text of a time, with its weekday if it is not today. */
function text(time, today) {
  const isToday = time >= today && time <= today + dayLength;
  return isToday ? clock(time) : `${format(time, { weekday: "short" })} ${clock(time)}`;
}

/** Returns the state now: "Open until 18:00". */
function stateOf({ openState, openUntil, opensAt, error }, today) {
  if (openState === "open") return openUntil ? `Open until ${text(local(openUntil), today)}` : "Open";
  const opening = opensAt ? `, opens ${text(local(opensAt), today)}` : "";
  if (openState === "closed") return `Closed${opening}`;
  return error ? "Hours cannot be read" : `Perhaps open${opening}`;
}

/** Returns the times of a day that begins at a time; hours after midnight belong to the day before. */
function timesOf(day, intervals) {
  const end = day + dayLength;
  const times = intervals.filter(({ state }) => state !== "closed").map((interval) => {
    const [from, to] = [local(interval.start), local(interval.end)];
    const isOfDayBefore = from < day && from >= day - dayLength && to <= day + noon;
    if (from >= end || to <= day || isOfDayBefore) return undefined;
    const [start, stop] = [Math.max(from, day), to <= end + noon && from >= day ? to : Math.min(to, end)];
    const span = stop - start >= dayLength ? "all day" : `${clock(start)} – ${clock(stop)}`;
    return span + (interval.state === "unknown" ? " (perhaps)" : "") + (interval.comment ? ` “${interval.comment}”` : "");
  }).filter(Boolean);
  return times.join(", ") || "closed";
}

/** Returns the fields of a popup, as names and texts: the state, and the times of today and of the week. */
export function fieldsOf(hours) {
  const today = Date.parse(hours.from);
  const days = hours.intervals.length ? Array.from({ length: hours.days }, (_, index) => today + index * dayLength) : [];
  const week = days.map((day) => `${format(day, { weekday: "short" })} ${timesOf(day, hours.intervals)}`);
  return [["Open", stateOf(hours, today)], ["Today", days.length && timesOf(today, hours.intervals)],
    ["Week", week.join("; ")]];
}
