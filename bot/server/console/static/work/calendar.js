// The runs of a month or a week, each on its day in the viewer's zone.

import { html, nothing } from "../vendor/lit.js";
import { get } from "../api/client.js";
import { language, t } from "../texts/texts.js";
import { excerpt, ownZone } from "../ui/format.js";
import { icon } from "../ui/icon.js";

const SHOWN = 3;
const locale = language === "zh" ? "zh-Hans" : navigator.languages.find((name) => name.startsWith("en")) || "en";
const format = (options) => new Intl.DateTimeFormat(locale, options);
const MONTH = format({ month: "long", year: "numeric" });
const WEEKDAY = format({ weekday: "short" });
const CLOCK = format({ hour: "2-digit", minute: "2-digit" });
const DAY = format({ weekday: "long", day: "numeric", month: "long" });
const two = (value) => String(value).padStart(2, "0");
const keyOf = (day) => `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
const shifted = (day, count) => new Date(day.getFullYear(), day.getMonth(), day.getDate() + count);
const monday = (day) => shifted(day, -((day.getDay() + 6) % 7));

/** The span that the address names: `?month=2026-03` or `?week=2026-03-02`, else the present month. */
export function spanOf(query) {
  const [, year, month, day] = /^(\d{4})-(\d{2})(?:-(\d{2}))?$/.exec(query.get("week") || query.get("month") || "") || [];
  const at = year ? new Date(Number(year), Number(month) - 1, Number(day || 1)) : new Date();
  if (query.has("week")) {
    const first = monday(at);
    return { week: true, first, begin: first, end: shifted(first, 7), before: shifted(first, -7), after: shifted(first, 7) };
  }
  const first = new Date(at.getFullYear(), at.getMonth(), 1);
  const after = new Date(at.getFullYear(), at.getMonth() + 1, 1);
  const begin = monday(first);
  return { week: false, first, begin, end: shifted(monday(shifted(after, -1)), 7), before: new Date(at.getFullYear(), at.getMonth() - 1, 1), after };
}

/** Load the runs of a span, by day. */
export async function loadCalendar(span) {
  const found = await get(`/api/schedules/calendar?begin=${span.begin / 1000}&end=${span.end / 1000}`);
  const known = new Map(found.schedules.map((one) => [one.id, one]));
  const days = new Map();
  for (const run of found.firings) {
    const key = keyOf(new Date(run.at * 1000));
    days.set(key, [...(days.get(key) || []), { ...run, of: known.get(run.schedule) }]);
  }
  return { span, days, whole: found.whole };
}

const address = (span, first, week = span.week) => `#/schedules/calendar?${week ? `week=${keyOf(first)}` : `month=${keyOf(first).slice(0, 7)}`}`;

function entry(run) {
  const [key, kind] = run.skipped ? ["plan.skipped", "warn"] : run.past && !run.delivered ? ["plan.notDelivered", "bad"] : ["", ""];
  const text = excerpt(run.of?.text || t("over.digest"), 60);
  const place = run.of?.place || "";
  return html`<li><a class="run ${kind} ${run.past ? "past" : ""}" data-go href="#/schedules/${run.schedule}" title="${CLOCK.format(run.at * 1000)} ${text} · ${place}${key ? ` · ${t(key)}` : ""}">
    <span class="number">${CLOCK.format(run.at * 1000)}</span> <span class="run-text">${text}</span>${key ? html`<span class="sr">, ${t(key)}</span>` : nothing}</a></li>`;
}

function cell(day, { span, days }) {
  const runs = days.get(keyOf(day)) || [];
  const shown = span.week || runs.length === SHOWN + 1 ? runs.length : SHOWN;
  const away = !span.week && day.getMonth() !== span.first.getMonth();
  return html`<li class="cal-day ${away ? "away" : ""} ${keyOf(day) === keyOf(new Date()) ? "today" : ""} ${runs.length ? "" : "free"}">
    <h3 class="cal-name"><span class="sr">${DAY.format(day)}</span><span aria-hidden="true"><span class="weekday">${WEEKDAY.format(day)}</span> ${day.getDate()}</span></h3>
    <ul>${runs.slice(0, shown).map(entry)}</ul>
    ${runs.length > shown ? html`<details><summary class="small">${t("plan.more", { count: runs.length - shown })}</summary><ul>${runs.slice(shown).map(entry)}</ul></details>` : nothing}</li>`;
}

/** The calendar with its buttons. */
export function calendarView(data) {
  const { span, whole } = data;
  const count = Math.round((span.end - span.begin) / 86_400_000);
  const title = span.week ? format({ dateStyle: "medium" }).formatRange(span.first, shifted(span.first, 6)) : MONTH.format(span.first);
  return html`<div class="row cal-head">
      <a class="button icon" data-go href=${address(span, span.before)} aria-label=${t("plan.previous")} title=${t("plan.previous")}>${icon("chevron-left")}</a>
      <a class="button icon" data-go href=${address(span, span.after)} aria-label=${t("plan.nextSpan")} title=${t("plan.nextSpan")}>${icon("chevron-right")}</a>
      <a class="button" data-go href=${address(span, new Date())}>${t("plan.today")}</a>
      <h2 class="grow">${title}</h2>
      <a class="button ${span.week ? "" : "chosen"}" data-go aria-current=${span.week ? nothing : "true"} href=${address(span, span.first, false)}>${t("plan.month")}</a>
      <a class="button ${span.week ? "chosen" : ""}" data-go aria-current=${span.week ? "true" : nothing} href=${address(span, span.week ? span.first : keyOf(new Date()).startsWith(keyOf(span.first).slice(0, 7)) ? new Date() : span.first, true)}>${t("plan.week")}</a>
    </div>
    <ol class="cal-days ${span.week ? "is-week" : ""}" aria-label=${title}>${Array.from({ length: count }, (_, at) => cell(shifted(span.begin, at), data))}</ol>
    <p class="empty cal-empty">${t("over.schedules.none")}</p>
    <p class="hint">${t("plan.inZone", { zone: ownZone() })} ${whole ? "" : t("plan.notAll")}</p>`;
}
