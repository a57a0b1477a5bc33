// Token usage: total, by day and by person.

import { get } from "../api.js";
import { barChart } from "../chart.js";
import { el } from "../dom.js";
import { cost, number } from "../format.js";
import { isAdmin } from "../current-user.js";
import { choice, facts, field, link, tableOrEmpty, fetchPages, section, table, toolbar } from "../components.js";

const SPANS = [7, 30, 90, 365];
const HEADS = ["Answers", "Input tokens", "Cached tokens", "Output tokens", "Total tokens", "Cost"];

export async function draw(view) {
  const days = Number(view.settings.get("days")) || 30;
  const person = view.settings.get("person") || "";
  const ahead = -new Date().getTimezoneOffset();
  const asked = `days=${days}&person=${encodeURIComponent(person)}`;
  const [people, total, found] = await Promise.all([
    fetchPages(view, `/api/usage?${asked}`, "people"),
    get(`/api/usage?${asked}&limit=1`),
    get(`/api/usage/days?${asked}&ahead=${ahead}`),
  ]);
  return [
    toolbar(spans(days, person), person ? link(`#/usage?days=${days}`, "Everyone") : null),
    section(person ? `Tokens used by ${person}` : isAdmin ? "Tokens used by everyone" : "Tokens used by you", sums(total.total)),
    found.days.length ? section("By day", ...byDay(found.days, days)) : null,
    section("By person", byPerson(people.found, days), people.more),
  ];
}

function spans(days, person) {
  const options = SPANS.map((count) => [count, `Last ${count} days`]);
  const select = choice(options, days, { id: "days" });
  select.addEventListener("change", () => {
    const settings = new URLSearchParams({ days: select.value, ...(person ? { person } : {}) });
    location.hash = `#/usage?${settings}`;
  });
  return field("Period", select);
}

const cells = (spent) => [
  ...[spent.turns, spent.input_tokens, spent.cached_tokens, spent.output_tokens, spent.total_tokens].map(number),
  cost(spent),
];

function sums(total) {
  return facts(cells(total).map((value, place) => [HEADS[place], value]));
}

function byDay(found, count) {
  const known = new Map(found.map((day) => [day.day, day.total_tokens]));
  const pairs = lastDays(count).map((day) => [day, known.get(day) || 0]);
  const label = `Tokens per day for the last ${count} days. The table below shows the same data.`;
  const rows = [...found].reverse().map((day) => [day.day, ...cells(day)]);
  const shown = el("details", { id: "as-table" }, el("summary", {}, "Show as table"));
  shown.append(table("Tokens by day", ["Day", ...HEADS], rows));
  return [barChart(label, pairs), shown];
}

/** Return the last `count` days up to today, as `2026-03-01`. */
function lastDays(count) {
  const today = new Date();
  return Array.from({ length: count }, (_, place) => {
    const day = new Date(today.getFullYear(), today.getMonth(), today.getDate() - count + 1 + place);
    const two = (value) => String(value).padStart(2, "0");
    return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
  });
}

function byPerson(people, days) {
  const rows = people.map((one) => [
    link(`#/usage?days=${days}&person=${encodeURIComponent(one.person)}`, one.name || one.person),
    one.person,
    ...cells(one),
  ]);
  return tableOrEmpty("Tokens by person", ["Name", "Person", ...HEADS], rows, "No usage in this period.");
}
