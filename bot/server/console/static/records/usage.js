// Token usage and cost: by day as a chart, and by day, model, person, account or chat as a table.

import { html, nothing } from "../vendor/lit.js";
import { get, withQuery } from "../api/client.js";
import { isAdmin } from "../app/session.js";
import { t } from "../texts/texts.js";
import { barChart } from "../ui/chart.js";
import { decimals, money, number, short } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { ListPage, table } from "../ui/list.js";
import { knownPeople, named, nameOf } from "../ui/names.js";
import { findPeople } from "../ui/sources.js";
import { tabs } from "../ui/tabs.js";
import "../ui/picker.js";
import "./texts.js";

const KEYS = ["day", "model", "person", "account", "chat"];
const SPANS = [1, 7, 30, 90, 365];

/** The last `count` days up to today, as `2026-03-01`. */
function lastDays(count) {
  const today = new Date();
  const two = (value) => String(value).padStart(2, "0");
  return Array.from({ length: count }, (_, place) => {
    const day = new Date(today.getFullYear(), today.getMonth(), today.getDate() - count + 1 + place);
    return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
  });
}

class Usage extends ListPage {
  get days() {
    return Number(this.query.get("days")) || 30;
  }

  get by() {
    const by = this.query.get("by") || "";
    return KEYS.includes(by) ? by : isAdmin && !this.query.get("person") ? "person" : "model";
  }

  path(by = this.by, format = "") {
    return withQuery("/api/usage/breakdown", { by, days: this.days, person: this.query.get("person"), ahead: -new Date().getTimezoneOffset(), format });
  }

  async load() {
    const person = this.query.get("person") || "";
    const [days, found, names] = await Promise.all([get(this.path("day")), this.by === "day" ? null : get(this.path()), person ? knownPeople() : new Map()]);
    return { days: days.rows, rows: found ? found.rows : days.rows.toReversed(), name: person && nameOf(names.get(person), person), person };
  }

  actions() {
    return html`<a class="button" href=${this.path(this.by, "csv")} download="usage-by-${this.by}.csv">${icon("download")}${t("usage.csv")}</a>`;
  }

  view({ days, rows, name, person }) {
    const sum = (key) => days.reduce((total, one) => total + one[key], 0);
    const currency = days.find((one) => one.currency)?.currency || "";
    const facts = [
      [t("usage.cost"), currency ? money(sum("cost"), currency) : ""],
      [t("usage.total"), number(sum("total_tokens"))],
      [t("usage.input"), number(sum("input_tokens"))],
      [t("usage.cached"), number(sum("cached_tokens"))],
      [t("usage.output"), number(sum("output_tokens"))],
      [t("usage.turns"), number(sum("turns"))],
    ].filter(([, value]) => value);
    const address = (by) => {
      const query = new URLSearchParams(this.query);
      query.set("by", by);
      return `#/usage?${query}`;
    };
    return html`
      <div class="filters">${this.choice(t("usage.period"), "days", SPANS.map((count) => /** @type {[string, string]} */ ([String(count), t("usage.days", { count })])), "30")}
        ${isAdmin ? html`<roe-picker label=${t("usage.person")} bare placeholder=${t("usage.everyone")} .source=${findPeople} .chosen=${person ? { value: person, text: name } : null}
          @change=${(event) => this.setQuery({ person: event.detail?.value }, { push: true })}></roe-picker>` : nothing}</div>
      <section class="card figures-card stack">
        <dl class="facts tight">${facts.map(([label, value], at) => html`<div class=${at ? "" : "main-figure"}><dt>${label}</dt><dd class="number">${value}</dd></div>`)}</dl>
        ${this.chart(days, currency)}
      </section>
      ${tabs(t("usage.by"), KEYS.map((by) => ({ href: address(by), text: t(`usage.by.${by}`), current: by === this.by })))}
      <div class="split-list">${rows.length ? this.table(rows) : html`<p class="empty">${t("usage.none")}</p>`}</div>`;
  }

  chart(days, currency) {
    const key = currency ? "cost" : "total_tokens";
    const known = new Map(days.map((day) => [day.key, day]));
    const named_ = new Map(days.map((day) => [day.name, day]));
    const bars = lastDays(this.days).map((day) => ({ name: day, values: [(known.get(day) || named_.get(day))?.[key] || 0] }));
    const format = (value) => (currency ? money(value, currency) : short(value));
    return barChart({ label: t(currency ? "usage.costChart" : "usage.tokenChart", { count: this.days }), series: [currency ? t("usage.cost") : t("usage.total")], bars, format, heading: t("usage.by.day") });
  }

  table(rows) {
    const { by } = this;
    // The bars show the cost if there is one.
    const measure = rows.some((one) => one.currency && one.cost) ? "cost" : "total_tokens";
    const most = Math.max(...rows.map((one) => one[measure])) || 1;
    const digits = decimals(rows.map((one) => one.cost));
    const bar = (one, key) => (key === measure ? html`<meter min="0" max=${most} value=${one[key]} aria-label=${t(key === "cost" ? "usage.cost" : "usage.total")}></meter> ` : nothing);
    const title = (one) => (by === "person" || by === "chat" ? named(one.name, nothing, one.key) : one.name || one.key || t("usage.unknown"));
    const link = { person: (one) => `#/usage?${new URLSearchParams({ days: String(this.days), person: one.key, by: "model" })}` }[by];
    const columns = [
      { head: t(`usage.by.${by}`), cell: title },
      { head: t("usage.cost"), cell: (one) => html`${bar(one, "cost")}<span class="after-meter">${one.currency ? money(one.cost, one.currency, digits) : "–"}</span>`, number: true, place: "at-end" },
      { head: t("usage.total"), cell: (one) => html`${bar(one, "total_tokens")}<span class="after-meter">${number(one.total_tokens)}</span>`, number: true, unit: t("usage.total") },
      { head: t("usage.input"), cell: (one) => number(one.input_tokens), number: true, place: "wide-only" },
      { head: t("usage.cached"), cell: (one) => number(one.cached_tokens), number: true, place: "wide-only" },
      { head: t("usage.output"), cell: (one) => number(one.output_tokens), number: true, place: "wide-only" },
      { head: t("usage.turns"), cell: (one) => number(one.turns), number: true, unit: t("usage.turns") },
    ];
    return table({ label: t(`usage.by.${by}`), columns, rows, key: (one) => one.key, href: isAdmin ? link : undefined });
  }
}

customElements.define("roe-usage", Usage);
