// The opening hours of a place, as the popup shows them. Loaded with the first place that has some.

import { locale, text } from "../pages/common.js";

const dayLength = 86_400_000;
const noon = dayLength / 2;

/** Returns a time as the clock of its place shows it, as if that were in UTC. */
const local = (text) => Date.parse(text.slice(0, 19) + "Z");
const format = (time, options) => new Date(time).toLocaleString(locale, { timeZone: "UTC", ...options });
const clock = (time) => format(time, { timeStyle: "short" });

/** Returns a time as text, with its weekday if it is not today. */
function timeOf(time, today) {
  const isToday = time >= today && time <= today + dayLength;
  return isToday ? clock(time) : `${format(time, { weekday: "short" })} ${clock(time)}`;
}

/** Returns the state now: "Open until 18:00". */
function stateOf({ openState, openUntil, opensAt, error }, today) {
  const at = openState === "open" ? openUntil : opensAt;
  const names = { open: ["map.isOpen", "map.openUntil"], closed: ["map.isClosed", "map.opensAt"] }[openState]
    || (error ? ["map.hoursUnreadable", "map.hoursUnreadable"] : ["map.perhapsOpen", "map.perhapsOpensAt"]);
  return text(names[at ? 1 : 0], { time: at && timeOf(local(at), today) });
}

/** Returns the times of a day that begins at a time; hours after midnight belong to the day before. */
function timesOf(day, intervals) {
  const end = day + dayLength;
  const times = intervals.filter(({ state }) => state !== "closed").map((interval) => {
    const [from, to] = [local(interval.start), local(interval.end)];
    const isOfDayBefore = from < day && from >= day - dayLength && to <= day + noon;
    if (from >= end || to <= day || isOfDayBefore) return undefined;
    const [start, stop] = [Math.max(from, day), to <= end + noon && from >= day ? to : Math.min(to, end)];
    const span = stop - start >= dayLength ? text("map.allDay") : `${clock(start)} – ${clock(stop)}`;
    const times = interval.state === "unknown" ? text("map.perhaps", { times: span }) : span;
    return times + (interval.comment ? ` “${interval.comment}”` : "");
  }).filter(Boolean);
  return times.join(", ") || text("map.closedDay");
}

/** Returns the texts of the fields of a popup: the state, and the times of today and of the days of the week. */
export function fieldsOf(hours) {
  const today = Date.parse(hours.from);
  const days = hours.intervals.length ? Array.from({ length: hours.days }, (_, index) => today + index * dayLength) : [];
  const week = days.map((day) => `${format(day, { weekday: "short" })} ${timesOf(day, hours.intervals)}`);
  return { state: stateOf(hours, today), today: days.length && timesOf(today, hours.intervals), week };
}
