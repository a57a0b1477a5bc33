// How times, durations, numbers and long texts are written.

import { el } from "./dom.js";

export const NOTHING = "–";
const numbers = new Intl.NumberFormat();

/** An instant (seconds since the epoch, 0 for never) in the reader's time zone or another one. */
export function time(seconds, zone) {
  if (!seconds) return NOTHING;
  const at = new Date(seconds * 1000);
  return el("time", { dateTime: at.toISOString() }, written(at, zone));
}

/** An instant in a time zone, with the zone's name. */
export function zoned(seconds, zone) {
  if (!seconds) return NOTHING;
  const shown = knownZone(zone);
  return el("span", {}, time(seconds, shown), ` ${shown}`);
}

/** This zone, or the reader's where the browser does not know it. */
export function knownZone(zone) {
  try {
    if (zone && new Intl.DateTimeFormat(undefined, { timeZone: zone })) return zone;
  } catch {
    // The reader's own.
  }
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

/** An instant as the agent writes it (ISO 8601, "" for never). */
export const isoTime = (text) => time(text ? Date.parse(text) / 1000 : 0);

function written(at, zone) {
  const timeZone = knownZone(zone);
  return new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short", timeZone }).format(at);
}

/** How long something took, from one instant to another (0: it has not ended). */
export function elapsed(from, to) {
  return to ? duration(Math.max(0, to - from)) : NOTHING;
}

/** So many seconds; null where nobody measured them. */
export function duration(seconds) {
  if (seconds === null) return NOTHING;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

export const number = (value) => numbers.format(value);

/** The beginning of a text, on one line. */
export function excerpt(text, most = 80) {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
