// The runs of a month, each on the day and time of its schedule's zone.

import { get } from "../api.js";
import { el } from "../dom.js";
import { excerpt, knownZone } from "../format.js";
import { link, toolbar } from "../components.js";

const SHOWN = 3;
// Months start up to this many seconds earlier or later in other time zones.
const APART = 26 * 3600;
const MONTHS = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric" });
const WEEKDAYS = new Intl.DateTimeFormat(undefined, { weekday: "short" });

export async function calendar(view) {
  const first = month(view.settings.get("month"));
  const after = moved(first, 1);
  const [begin, end] = [first / 1000 - APART, after / 1000 + APART];
  const found = await get(`/api/schedules/calendar?begin=${begin}&end=${end}`);
  const days = byDay(found);
  const title = MONTHS.format(first);
  return [
    toolbar(
      link("#/schedules", "All schedules"),
      link(address(moved(first, -1)), "Previous", `Previous: ${MONTHS.format(moved(first, -1))}`),
      link(address(after), "Next", `Next: ${MONTHS.format(after)}`),
    ),
    el("h2", {}, title),
    grid(title, first, days),
    found.whole ? null : el("p", { className: "none" }, "Not all runs are shown."),
  ];
}

/** Group runs by day in their schedule's zone, with the text and zone of the schedule. */
function byDay({ schedules, firings }) {
  const known = new Map(schedules.map(({ id, text, zone }) => [id, { text, zone: knownZone(zone) }]));
  const days = new Map();
  for (const firing of firings) {
    const { text, zone } = known.get(firing.schedule) || { text: `Schedule ${firing.schedule}`, zone: knownZone() };
    const key = dayOf(firing.at * 1000, zone);
    if (!days.has(key)) days.set(key, []);
    days.get(key).push({ ...firing, text, zone });
  }
  return days;
}

/** Return the day of a timestamp as `2026-3-1`, in the reader's zone or another one. */
function dayOf(at, timeZone) {
  const how = { timeZone, year: "numeric", month: "numeric", day: "numeric" };
  const parts = new Intl.DateTimeFormat("en", how).formatToParts(at);
  return ["year", "month", "day"].map((name) => parts.find(({ type }) => type === name).value).join("-");
}

/** Return the first day of a month such as `2026-03`, by default the current month. */
function month(written) {
  const [, year, number] = /^(\d{4})-(\d{2})$/.exec(written || "") || [];
  const now = new Date();
  return year ? new Date(Number(year), Number(number) - 1) : new Date(now.getFullYear(), now.getMonth());
}

function moved(first, months) {
  return new Date(first.getFullYear(), first.getMonth() + months);
}

function address(first) {
  return `#/schedules/calendar?month=${first.getFullYear()}-${String(first.getMonth() + 1).padStart(2, "0")}`;
}

function grid(title, first, days) {
  const monday = new Date(first);
  monday.setDate(1 - ((first.getDay() + 6) % 7));
  const weeks = [];
  for (const at = monday; at < moved(first, 1); ) {
    const cells = [];
    for (let day = 0; day < 7; day += 1, at.setDate(at.getDate() + 1)) cells.push(cell(at, first, days));
    weeks.push(el("tr", {}, ...cells));
  }
  const names = Array.from({ length: 7 }, (_, day) => WEEKDAYS.format(new Date(2024, 0, 1 + day)));
  const head = el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name)));
  const made = el("table", { className: "calendar", "aria-label": title }, el("thead", {}, head), el("tbody", {}, ...weeks));
  return el("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": `Runs, ${title}` }, made);
}

function cell(at, first, days) {
  const key = dayOf(at);
  const away = at.getMonth() !== first.getMonth();
  const made = el("td", {}, el("span", { className: "day" }, String(at.getDate())));
  made.classList.toggle("away", away);
  made.classList.toggle("today", key === dayOf(new Date()));
  const found = (away ? [] : days.get(key) || []).map((firing) => el("li", {}, entry(firing)));
  const shown = found.length === SHOWN + 1 ? found.length : SHOWN;
  if (found.length) made.append(el("ul", {}, ...found.slice(0, shown)));
  if (found.length > shown) {
    const rest = el("ul", {}, ...found.slice(shown));
    made.append(el("details", { id: `day-${at.getDate()}` }, el("summary", {}, `${found.length - shown} more`), rest));
  }
  return made;
}

function entry(firing) {
  const mark = firing.skipped ? " (skipped)" : firing.past && !firing.delivered ? " (not delivered)" : "";
  const how = { hour: "2-digit", minute: "2-digit", timeZone: firing.zone };
  const hour = new Intl.DateTimeFormat(undefined, how).format(firing.at * 1000);
  const made = link(`#/schedules/${firing.schedule}`, `${hour} ${excerpt(firing.text, 30)}${mark} `);
  made.append(el("small", {}, firing.zone));
  return made;
}
