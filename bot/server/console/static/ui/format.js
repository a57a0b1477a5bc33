// Times, durations, numbers, money and names.

import { html } from "../vendor/lit.js";
import { language, t } from "../texts/texts.js";

const locale = language === "zh" ? "zh-Hans" : navigator.languages.find((name) => name.startsWith("en")) || "en";
const numbers = new Intl.NumberFormat(locale);
const compact = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
const full = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "medium" });
const UNITS = /** @type {const} */ ([["hour", 3600], ["minute", 60]]);
/** When the day of a time began, by the reader's zone. */
const midnight = (seconds) => new Date(seconds * 1000).setHours(0, 0, 0, 0) / 1000;

export const NOTHING = "–";
export const number = (value) => numbers.format(value);
export const short = (value) => compact.format(value);

/** How long ago, or in how long (seconds since the epoch). */
export function ago(seconds) {
  const off = seconds - Date.now() / 1000;
  if (Math.abs(off) > 30 * 86400) return date(seconds);
  if (Math.abs(off) >= 86400) return relative.format(Math.round((midnight(seconds) - midnight(Date.now() / 1000)) / 86400), "day");
  for (const [unit, size] of UNITS) if (Math.abs(off) >= size) return relative.format(Math.trunc(off / size), unit);
  return t("time.now");
}

/** A date without a time. */
export const date = (seconds) => new Intl.DateTimeFormat(locale, { dateStyle: "medium" }).format(seconds * 1000);

/** Date and time, in a zone if one is given. */
export function dateTime(seconds, zone) {
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short", timeZone: knownZone(zone) }).format(seconds * 1000);
}

/** A date and a time to the second, which tells apart what happened in the same minute. */
export const moment = (seconds) => new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" }).format(seconds * 1000);

/** A relative time, with the exact one on hover; 0 is never. */
export function time(seconds) {
  if (!seconds) return NOTHING;
  const at = new Date(seconds * 1000);
  return html`<time datetime=${at.toISOString()} title=${full.format(at)}>${ago(seconds)}</time>`;
}

/** The zone, or the reader's if the browser does not know it. */
export function knownZone(zone) {
  try {
    if (zone && new Intl.DateTimeFormat(undefined, { timeZone: zone })) return zone;
  } catch {
    // Fall back to the reader's zone.
  }
  return ownZone();
}

/** The reader's time zone. */
export const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** A duration in seconds; null if it was not measured. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NOTHING;
  const write = (value, unit, digits = 0) =>
    new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: digits }).format(value);
  if (seconds < 1) return write(Math.round(seconds * 1000), "millisecond");
  if (seconds < 120) return write(seconds, "second", seconds < 10 ? 1 : 0).replace(/\s?secs?$/, " s");
  return seconds < 7200 ? write(seconds / 60, "minute") : write(seconds / 3600, "hour", 1);
}

/** Decimal places of costs that are shown together: four if one of them is small. */
export const decimals = (amounts) => (amounts.some((amount) => amount > 0 && amount < 0.1) ? 4 : 2);

/** A cost in its currency; small amounts have four decimal places. */
export function money(amount, currency, digits = decimals([amount])) {
  if (!currency) return NOTHING;
  try {
    return new Intl.NumberFormat(locale, { style: "currency", currency, minimumFractionDigits: digits, maximumFractionDigits: digits }).format(amount);
  } catch {
    return `${amount.toFixed(digits)} ${currency}`;
  }
}

/** The initials of a name, for a picture of a person. */
export function initials(name) {
  const words = name.trim().split(/[\s._-]+/).filter(Boolean);
  if (/[\u3040-\u9fff\uac00-\ud7af]/.test(name)) return name.trim()[0];
  return (words.length > 1 ? words[0][0] + words.at(-1)[0] : (words[0] || "?").slice(0, 2)).toUpperCase();
}

/** A text of the service, with what stands between backticks as code. */
export const marked = (text) => text.split(/`([^`\n]+)`/).map((part, at) => (at % 2 ? html`<code>${part}</code>` : part));

/** The beginning of a text on one line. */
export function excerpt(text, most = 80) {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
