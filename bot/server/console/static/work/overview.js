// The overview: what needs somebody, what is going on, and what comes next.

import { html, nothing, repeat } from "../vendor/lit.js";
import { get } from "../api/client.js";
import { t } from "../texts/texts.js";
import { approvalNote, choiceLabel } from "../ui/approval.js";
import { excerpt, initials, moment, money, number, time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { knownAccounts, named } from "../ui/names.js";
import { Page } from "../ui/page.js";
import { requestList } from "../people/requests.js";
import { choiceButtons, stopRun } from "./states.js";
import { requestView } from "./transcript.js";
import "./texts.js";

const POLL = 5000;
const SHOWN = 6;
const REQUESTS = 3;
/** How long a decided request stays, in milliseconds. */
const STAYS = 4000;
const keyOf = ({ turn, part }) => `${turn}.${part}`;

class Overview extends Page {
  constructor() {
    super();
    this.interval = POLL;
    this.all = new Set();
    /** Requests that were decided just now, each with its place and the choice. @type {Map<string, {one: any, at: number, choice: string}>} */
    this.decided = new Map();
    /** Turns that were stopped just now. @type {Set<number>} */
    this.stopped = new Set();
  }

  async load() {
    const [found, accounts] = await Promise.all([get(`/api/overview?ahead=${-new Date().getTimezoneOffset()}`), knownAccounts()]);
    dispatchEvent(new CustomEvent("counts", { detail: found.counts }));
    return { ...found, platforms: accounts.map(({ platform }) => platform) };
  }

  stop({ conversation, turn }) {
    stopRun(conversation, (done) => {
      if (done) this.stopped.add(turn);
      this.refresh();
    });
  }

  view(found) {
    const refresh = () => this.refresh();
    const { problems, requests, incidents, schedules, spend, platforms } = found;
    const approvals = this.withDecided(found.approvals);
    const running = found.running.filter(({ turn }) => !this.stopped.has(turn));
    const counts = { ...found.counts, running: found.counts.running - found.running.length + running.length };
    const calm = !problems.length && !counts.approvals && !this.decided.size && !requests.length && !incidents.length;
    return html`
      ${this.figures(counts, spend)}
      ${calm ? html`<p class="calm">${icon("circle-check")}${t("over.calm")}</p>` : nothing}
      ${this.block("problems", problems, (one) => html`<li class="thing"><span class="state-dot ${one.severity}" aria-hidden="true"></span><div class="grow words">${one.text}</div>
          <a class="button tiny" data-go href=${one.remedy.link}>${one.remedy.text}</a></li>`)}
      ${this.block("approvals", approvals, (one) => html`<li class="thing" id="approval-${one.turn}-${one.part}" tabindex="-1"><div class="grow">${named(one.asker || one.place, html`${[one.asker && one.place, one.title].filter(Boolean).map((text) => `${text} · `)}${time(one.at)} · ${moment(one.at)}`)}
          ${requestView(one)}${this.decided.has(keyOf(one))
            ? html`<p class="accepted">${icon("circle-check")} ${t("turn.answered", { choice: choiceLabel(this.decided.get(keyOf(one)).choice) })}</p>`
            : html`${choiceButtons(one.turn, one.part, one.choices, `${t("over.decide")}: ${one.asker || one.place}, ${moment(one.at)}`, (choice) => this.decide(one, approvals, choice), choiceLabel)}${approvalNote(one, one.choices)}`}</div>
          <a class="button ghost tiny" data-go href="#/turns/${one.turn}">${t("over.details")}</a></li>`, { count: approvals.length - this.decided.size })}
      ${this.block("running", running, (one) => html`<li class="thing"><span class="avatar" aria-hidden="true">${initials(one.asker || one.place)}</span>
          <div class="grow"><a class="plain words" data-go href="#/turns/${one.turn}">${one.excerpt || one.place}</a>
            <span class="quiet small as-block">${[one.asker, one.place === one.asker ? "" : one.place].filter(Boolean).join(" · ")} · ${time(one.since)}${one.step ? ` · ${one.step}` : ""}</span></div>
          <button class="button tiny" aria-label="${t("turn.stop")}: ${one.excerpt || one.place}" @click=${() => this.stop(one)}>${icon("square")}${t("turn.stop")}</button></li>`, { always: true })}
      ${requests.length ? html`<section class="stack"><h2>${t("over.requests")} <span class="quiet">${requests.length}</span></h2>${requestList(this.shown("requests", requests, REQUESTS), refresh, platforms)}${this.rest_("requests", requests, REQUESTS)}</section>` : nothing}
      ${this.block("incidents", incidents, (one) => html`<li class="thing"><span class="state-dot bad" aria-hidden="true"></span><div class="grow"><span class="words">${one.title}</span>
          <span class="quiet small as-block">${[one.severity, one.status, one.account].filter(Boolean).join(" · ")} · ${time(one.at)}</span></div>
          ${one.conversation ? html`<a class="button tiny" data-go href="#/conversations/${one.conversation}">${t("over.details")}</a>` : nothing}</li>`)}
      ${this.block("schedules", schedules, (one) => html`<li class="thing"><div class="grow"><a class="plain words" data-go href="#/schedules/${one.id}">${excerpt(one.text, 80) || t("over.digest")}</a>
            <span class="quiet small as-block">${one.place}</span></div><span class="small quiet">${time(one.at)}</span></li>`, { always: true })}`;
  }

  /** Open requests, with those that were decided just now in their places. */
  withDecided(open) {
    const list = open.filter((one) => !this.decided.has(keyOf(one)));
    for (const { one, at } of [...this.decided.values()].sort((a, b) => a.at - b.at)) list.splice(at, 0, one);
    return list;
  }

  /** Keep a decided request in its place for a while, so that no other one moves under the pointer. */
  async decide(one, shown, choice) {
    this.decided.set(keyOf(one), { one, at: shown.indexOf(one), choice });
    this.requestUpdate();
    await this.updateComplete;
    const card = this.querySelector(`#approval-${one.turn}-${one.part}`);
    /** @type {HTMLElement | null} */ (card)?.focus();
    this.refresh();
    setTimeout(async () => {
      const held = document.activeElement === card;
      this.decided.delete(keyOf(one));
      this.requestUpdate();
      await this.updateComplete;
      if (held) /** @type {HTMLElement | null} */ (this.querySelector("[id^=approval-]") || document.querySelector("h1"))?.focus();
    }, STAYS);
  }

  figures(counts, spend) {
    const figure = (href, value, text, kind = "") => html`<a class="figure card" data-go href=${href}><span class="figure-value ${value && value !== "0" ? kind : ""}">${value}</span><span class="quiet small">${text}</span></a>`;
    return html`<div class="row-of-figures">
      ${figure("#/turns?state=waiting", number(counts.approvals), t("over.waiting", { count: counts.approvals }), "warn")}
      ${figure("#/turns?state=running", number(counts.running), t("over.running"), "info")}
      ${figure("#/turns?state=failed&since=day", number(counts.failed), t("over.failed"), "bad")}
      ${figure("#/usage?days=1", spend.currency ? money(spend.cost, spend.currency) : number(spend.total_tokens), t(spend.currency ? "over.spend" : "over.tokens"))}
    </div>`;
  }

  shown(key, list, most = SHOWN) {
    return this.all.has(key) ? list : list.slice(0, most);
  }

  rest_(key, list, most = SHOWN) {
    if (list.length <= most || this.all.has(key)) return nothing;
    const more = () => {
      this.all.add(key);
      this.requestUpdate();
    };
    return html`<button class="button ghost more" @click=${more}>${t("over.all", { count: list.length })}</button>`;
  }

  block(key, list, draw, { always = false, count = list.length } = {}) {
    if (!list.length && !always) return nothing;
    return html`<section class="stack"><h2>${t(`over.${key}`)} <span class="quiet">${count || ""}</span></h2>
      ${list.length ? html`<ul class="things" aria-label=${t(`over.${key}`)}>${repeat(this.shown(key, list), (one, at) => (one.part === undefined ? at : keyOf(one)), draw)}</ul>${this.rest_(key, list)}` : html`<p class="quiet small">${t(`over.${key}.none`)}</p>`}</section>`;
  }
}

customElements.define("roe-overview", Overview);
