// Schedules: the list, one with its runs, and the calendar.

import { html, nothing } from "../vendor/lit.js";
import { get, post, remove, withQuery } from "../api/client.js";
import { go } from "../app/router.js";
import { t } from "../texts/texts.js";
import { attempt, confirmDialog } from "../ui/dialog.js";
import { excerpt, number, time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { ListPage, table } from "../ui/list.js";
import { menuButton } from "../ui/menu.js";
import { copyId, cut } from "../ui/names.js";
import { tabs } from "../ui/tabs.js";
import { calendarView, loadCalendar, spanOf } from "./calendar.js";
import { editSchedule, zoned } from "./schedule-form.js";

const KINDS = { active: "", paused: "warn", done: "", draft: "info" };
const state = (one) => html`<span class=${KINDS[one.state] ? `badge ${KINDS[one.state]}` : "small quiet"}>${t(`plan.state.${one.state}`)}</span>`;
const title = (one) => excerpt(one.text, 90) || t(`plan.kind.${one.kind}`);

class Schedules extends ListPage {
  constructor() {
    super();
    this.items = "schedules";
    this.interval = 15_000;
    this.runsWanted = 1;
  }

  get calendar() {
    return this.rest === "calendar";
  }

  path() {
    return "/api/schedules";
  }

  actions() {
    return html`<button class="button primary" aria-label=${t("plan.new")} @click=${() => this.edit()}>${icon("plus")}<span class="wide">${t("plan.new")}</span></button>`;
  }

  async load() {
    return this.calendar ? { calendar: await loadCalendar(spanOf(this.query)) } : super.load();
  }

  close() {
    return this.calendar ? Promise.resolve() : super.close();
  }

  updated() {
    if (!this.calendar) super.updated();
  }

  view(data) {
    const switches = tabs(t("page.schedules"), [
      { href: "#/schedules", text: t("plan.list"), current: !this.calendar },
      { href: "#/schedules/calendar", text: t("plan.calendar"), current: this.calendar },
    ]);
    if (this.calendar) return data.calendar ? html`${switches}${calendarView(data.calendar)}` : nothing;
    return data.rows ? html`${switches}${super.view(data)}` : nothing;
  }

  listView(schedules) {
    const [q, wanted] = [(this.query.get("q") || "").toLowerCase(), this.query.get("state")];
    const rows = schedules.filter((one) => (!wanted || one.state === wanted) && `${one.text} ${one.place} ${one.name} ${one.when}`.toLowerCase().includes(q));
    const columns = [
      { head: t("plan.what"), cell: (one) => html`<span class="two-lines" title=${title(one)}>${title(one)}</span>` },
      { head: t("turn.state"), cell: state, place: "at-end fit" },
      { head: t("plan.when"), cell: (one) => html`${one.when} <small class="quiet">${one.zone}</small>` },
      { head: t("turn.chat"), cell: (one) => cut(one.place), place: "name" },
      { head: t("plan.nextRun"), cell: (one) => (one.next_at && one.state === "active" ? time(one.next_at) : ""), place: "fit" },
      { head: "", cell: (one) => html`<button class="button ghost icon tiny" aria-label=${t("plan.editOf", { name: title(one) })} title=${t("app.edit")} @click=${() => this.edit(one.id)}>${icon("pencil")}</button>`, place: "at-end" },
      { head: t("plan.failures"), cell: (one) => (one.failures ? html`<span class="badge bad">${number(one.failures)}</span>` : ""), number: true },
    ];
    return html`<div class="filters" role="search">${this.search(t("plan.search"))}
        ${this.choice(t("turn.state"), "state", [["", t("app.all")], ...["active", "paused", "done"].map((name) => /** @type {[string, string]} */ ([name, t(`plan.state.${name}`)]))])}</div>
      ${rows.length ? table({ label: t("page.schedules"), columns, rows, key: ({ id }) => String(id), href: ({ id }) => this.address(id), current: this.rest })
        : html`<p class="empty">${q || wanted ? t("app.noMatches") : t("plan.none")}</p>`}`;
  }

  async loadDetail(id) {
    const path = `/api/schedules/${id}`;
    const schedule = await get(path);
    const runs = [];
    let next = "";
    for (let page = 0; page < this.runsWanted && next !== null; page += 1) {
      const found = await get(withQuery(`${path}/runs`, { cursor: next, limit: 20 }));
      runs.push(...found.runs);
      next = found.next;
    }
    return { schedule, runs, next };
  }

  detailView({ schedule, runs, next }) {
    const path = `/api/schedules/${schedule.id}`;
    const act = async (work, done) => (await attempt(work, done)) !== undefined && this.refresh();
    const facts = [
      [t("plan.rule"), schedule.words || schedule.when],
      [t("plan.zone"), schedule.zone],
      [t("plan.kind"), t(`plan.kind.${schedule.kind}`)],
      [t("turn.chat"), schedule.place],
      [t("plan.by"), schedule.name],
      [t("plan.created"), time(schedule.made_at)],
      [t("plan.failures"), schedule.failures ? number(schedule.failures) : ""],
    ].filter(([, value]) => value);
    return {
      title: html`${title(schedule)} ${state(schedule)}`,
      actions: html`<button class="button" @click=${() => this.edit(schedule.id)}>${icon("pencil")}${t("app.edit")}</button>
        ${menuButton(t("app.more"), "ellipsis", [
          { text: t("plan.run"), icon: "play", run: () => this.run(schedule, path) },
          ...(schedule.state === "active" ? [{ text: t("plan.pause"), icon: "pause", run: () => act(() => post(`${path}/pause`), t("plan.paused")) }] : []),
          ...(schedule.state === "paused" ? [{ text: t("plan.resume"), icon: "play", run: () => act(() => post(`${path}/resume`), t("plan.resumed")) }] : []),
          copyId(schedule.id), "-", { text: t("app.delete"), icon: "trash-2", danger: true, run: () => this.drop(schedule, path) },
        ], "ghost icon")}`,
      body: html`<p class="words pre">${schedule.text}</p>
        <dl class="facts tight">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
        <section><h3>${t("plan.next")}</h3>${schedule.firings.length ? html`<ol class="next-runs">${schedule.firings.map((at) => html`<li>${zoned(at, schedule.zone)} <span class="quiet small">${time(at)}</span></li>`)}</ol>` : html`<p class="quiet">${t("over.schedules.none")}</p>`}</section>
        <section><h3>${t("plan.past")}</h3>${runs.length ? html`<ul class="things" aria-label=${t("plan.past")}>${runs.map((run) => this.pastRun(run, schedule.zone))}</ul>` : html`<p class="quiet">${t("plan.noRuns")}</p>`}
          ${next ? html`<button class="button more" @click=${() => { this.runsWanted += 1; this.refresh(); }}>${t("app.showMore")}</button>` : nothing}</section>`,
    };
  }

  pastRun(run, zone) {
    const result = run.skipped ? html`<span class="badge warn">${t("plan.skipped")}: ${run.skipped}</span>`
      : run.delivered ? html`<span class="small quiet">${t("plan.delivered")}</span>` : html`<span class="badge ${run.problem ? "bad" : "warn"}">${t("plan.notDelivered")}</span>`;
    return html`<li class="thing"><div class="grow"><span>${zoned(run.due_at, zone)}</span>
        <span class="quiet small as-block words">${[run.attempt > 1 ? t("span.tries", { count: run.attempt }) : "", run.problem, run.missed ? t("plan.missed", { count: run.missed }) : ""].filter(Boolean).join(" · ")}</span></div>
      ${result}${run.turn ? html`<a class="button ghost tiny" data-go href="#/turns/${run.turn}" aria-label="${t("turn.trace")}: ${zoned(run.due_at, zone)}">${t("turn.trace")}</a>` : nothing}</li>`;
  }

  async edit(id = 0) {
    const saved = await attempt(() => editSchedule(id));
    if (saved) await this.refresh();
  }

  async run(schedule, path) {
    if (!(await confirmDialog(t("plan.runAsk"), t("plan.runText", { text: title(schedule), place: schedule.place }), t("plan.run")))) return;
    if ((await attempt(() => post(`${path}/trigger`), t("plan.started"))) !== undefined) await this.refresh();
  }

  async drop(schedule, path) {
    if (!(await confirmDialog(t("plan.dropAsk"), t("plan.dropText", { text: title(schedule) }), t("app.delete"), { danger: true }))) return;
    if ((await attempt(() => remove(path), t("plan.dropped"))) !== undefined) go("#/schedules");
  }
}

customElements.define("roe-schedules", Schedules);
