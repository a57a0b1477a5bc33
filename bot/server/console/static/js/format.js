// Formatting of times, durations, numbers and long text.

import { el } from "./dom.js";

export const NOTHING = "–";
const numbers = new Intl.NumberFormat();

/** Format a timestamp (seconds since the epoch, 0 for never) in a time zone, by default the reader's. */
export function time(seconds, zone) {
  if (!seconds) return NOTHING;
  const at = new Date(seconds * 1000);
  return el("time", { dateTime: at.toISOString() }, written(at, zone));
}

/** Format a timestamp in a time zone, with the name of the zone. */
export function zoned(seconds, zone) {
  if (!seconds) return NOTHING;
  const shown = knownZone(zone);
  return el("span", {}, time(seconds, shown), ` ${shown}`);
}

/** Return the zone, or the reader's if the browser does not know it. */
export function knownZone(zone) {
  try {
    if (zone && new Intl.DateTimeFormat(undefined, { timeZone: zone })) return zone;
  } catch {
    // Fall back to the reader's zone.
  }
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

/** Format an ISO 8601 timestamp ("" for never). */
export const isoTime = (text) => time(text ? Date.parse(text) / 1000 : 0);

function written(at, zone) {
  const timeZone = knownZone(zone);
  return new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short", timeZone }).format(at);
}

/** Format the time between two timestamps (`to` is 0 while running). */
export function elapsed(from, to) {
  return to ? duration(Math.max(0, to - from)) : NOTHING;
}

/** Format a duration in seconds; null if it was not measured. */
export function duration(seconds) {
  if (seconds === null) return NOTHING;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

export const number = (value) => numbers.format(value);

/** Format a cost with its currency; small amounts have four decimal places. */
export function cost(usage) {
  if (!usage.cost) return NOTHING;
  return `${usage.cost.toFixed(usage.cost >= 0.1 ? 2 : 4)} ${usage.currency}`;
}

/** Return the beginning of a text on one line. */
export function excerpt(text, most = 80) {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
