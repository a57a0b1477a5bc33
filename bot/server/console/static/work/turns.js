// Activity: the turns of all chats with filters, and one turn as a trace.

import { html, nothing } from "../vendor/lit.js";
import { get, withQuery } from "../api/client.js";
import { chatAddress, go } from "../app/router.js";
import { isAdmin } from "../app/session.js";
import { t } from "../texts/texts.js";
import { duration, excerpt, marked, short, time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { ListPage, table } from "../ui/list.js";
import { menuButton } from "../ui/menu.js";
import { copyId, cut, knownAccounts, knownPeople, nameOf } from "../ui/names.js";
import { remedyOf } from "../ui/remedy.js";
import { findPeople } from "../ui/sources.js";
import { tabs } from "../ui/tabs.js";
import "../ui/picker.js";
import { asked, author, cost, isOpen, messagesOf, repeatable, retry, stateBadge, stateOf, stopRun, tokens } from "./states.js";
import { cause, waterfall } from "./trace.js";
import { exchange } from "./transcript.js";

const STATES = ["", "running", "waiting", "failed", "done", "cancelled"];
// The newest agent turn is among this many of its conversation.
const LATEST = 20;
const FILTERS = ["q", "state", "account", "person", "conversation"];

class Turns extends ListPage {
  constructor() {
    super();
    this.interval = 8000;
    this.items = "turns";
  }

  path() {
    const hours = this.query.get("since") === "day" ? 24 : "";
    return withQuery("/api/turns", { ...Object.fromEntries(FILTERS.map((name) => [name, this.query.get(name)])), hours });
  }

  async loadRows() {
    const [found, accounts, names] = await Promise.all([super.loadRows(), knownAccounts(), this.query.get("person") ? knownPeople() : new Map()]);
    return { rows: found.rows, answer: { ...found.answer, accounts, names } };
  }

  listView(turns, { accounts, names }) {
    const person = this.query.get("person");
    const state = this.query.get("state") || "";
    const columns = [
      { head: t("turn.message"), cell: (turn) => html`<span class="two-lines" title=${asked(turn)}>${asked(turn)}</span>${turn.failure ? html`<small class="cut" title=${turn.failure}>${excerpt(turn.failure, 120)}</small>` : nothing}` },
      { head: t("turn.state"), cell: stateBadge, place: "at-end fit" },
      ...(turns.some((turn) => turn.failure) ? [{ head: "", cell: (turn) => (turn.failure && !turn.replaced ? remedyOf(turn).link : ""), place: "fit wide-only" }] : []),
      { head: t("turn.person"), cell: (turn) => cut(author(turn)), place: "name" },
      { head: t("turn.chat"), cell: (turn) => (turn.place === author(turn) ? html`<span class="wide-only">${cut(turn.place)}</span>` : cut(turn.place)), place: "name" },
      { head: t("turn.model"), cell: (turn) => turn.model, place: "fit wide-only" },
      { head: t("turn.duration"), cell: (turn) => (turn.finished_at ? duration(turn.finished_at - turn.created_at) : ""), number: true, place: "wide-only" },
      { head: t("turn.tokensHead"), cell: (turn) => (turn.usage ? short(turn.usage.total_tokens) : ""), number: true, place: "wide-only" },
      { head: t("turn.when"), cell: (turn) => time(turn.created_at), place: "fit" },
    ];
    const link = (key) => {
      const query = new URLSearchParams(this.query);
      query.delete("state");
      if (key) query.set("state", key);
      return `#/turns${query.size ? `?${query}` : ""}`;
    };
    const filtered = [...FILTERS, "since"].some((name) => this.query.get(name));
    return html`
      ${tabs(t("turn.state"), STATES.map((key) => ({ href: link(key), text: key ? t(`turn.${key}`) : t("app.all"), current: key === state })))}
      <div class="filters" role="search">${this.search(t("turn.search"))}
        ${accounts.length > 1 ? this.choice(t("turn.account"), "account", [["", t("turn.everyAccount")], ...accounts.map(({ account }) => /** @type {[string, string]} */ ([account, account]))]) : nothing}
        ${this.choice(t("turn.period"), "since", [["", t("turn.anyTime")], ["day", t("turn.lastDay")]])}
        ${isAdmin ? html`<roe-picker label=${t("turn.person")} bare placeholder=${t("turn.anyone")} .source=${findPeople}
          .chosen=${person ? { value: person, text: nameOf(names.get(person), person) } : null} @change=${(event) => this.setQuery({ person: event.detail?.value }, { push: true })}></roe-picker>` : nothing}
        ${filtered ? html`<a class="button ghost" data-go href="#/turns">${icon("x")}${t("list.clear")}</a>` : nothing}</div>
      ${turns.length
        ? table({ label: t("page.turns"), columns, rows: turns, key: ({ id }) => String(id), href: ({ id }) => this.address(id), current: this.rest })
        : html`<p class="empty">${filtered ? t("app.noMatches") : t("turn.none")}</p>`}`;
  }

  async loadDetail(id) {
    const [turn, trace] = await Promise.all([get(`/api/turns/${id}`), get(`/api/turns/${id}/trace`).catch((error) => (error.status === 404 ? null : Promise.reject(error)))]);
    const { turns } = await get(`/api/turns?conversation=${turn.conversation}&limit=${LATEST}`);
    return { turn, trace, again: repeatable(turns)?.id === turn.id };
  }

  detailView({ turn, trace, again }) {
    const refresh = () => this.refresh();
    const failed = stateOf(turn)[1] === "bad";
    const facts = [
      [t("turn.chat"), html`<a data-go href="#/conversations/${turn.conversation}">${turn.place}</a>`],
      [t("turn.when"), time(turn.created_at)],
      [t("turn.duration"), turn.finished_at ? duration(turn.finished_at - turn.created_at) : ""],
      [t("turn.model"), turn.model],
      [t("turn.tokensHead"), tokens(turn.usage)],
      [t("turn.cost"), cost(turn.usage)],
      [t("turn.retryOf"), turn.repeats ? html`<a data-go href=${this.address(turn.repeats)}>${t("turn.earlier")}</a>` : ""],
    ].filter(([, value]) => value);
    return {
      title: html`${excerpt(asked(turn), 90)} ${stateBadge(turn)}`,
      actions: html`
        ${isOpen(turn) ? html`<button class="button" @click=${() => stopRun(turn.conversation, refresh)}>${icon("square")}${t("turn.stop")}</button>` : nothing}
        ${again ? html`<button class="button ${failed ? "primary" : ""}" @click=${() => retry(turn, refresh)}>${icon("rotate-ccw")}${t("turn.retry")}</button>` : nothing}
        ${menuButton(t("app.more"), "ellipsis", [
          { text: t("turn.openTalk"), icon: "message-square", run: () => go(`#/conversations/${turn.conversation}`) },
          ...(turn.platform === "web" ? [{ text: t("turn.openChat"), icon: "external-link", run: () => go(chatAddress(turn.conversation)) }] : []),
          "-", copyId(turn.id), ...(turn.run_id ? [{ ...copyId(turn.run_id), text: t("turn.copyRun") }] : []), ...(turn.thread_id ? [{ ...copyId(turn.thread_id), text: t("turn.copyThread") }] : []),
        ], "ghost icon")}`,
      body: html`
        ${failed ? this.failed(turn, trace) : nothing}
        <dl class="facts tight">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
        ${trace?.spans.length ? html`<section><h3>${t("turn.trace")}</h3>${waterfall(trace, turn.failure)}</section>` : nothing}
        <section><h3>${t("turn.exchange")}</h3><div class="transcript">${exchange({ ...turn, messages: messagesOf(turn) }, refresh, turn.failure)}</div></section>`,
    };
  }

  /** What went wrong, and its remedy. */
  failed(turn, trace) {
    const main = trace && cause(trace);
    const [state] = stateOf(turn);
    const titles = { expired: "turn.expiredText", undelivered: "turn.undeliveredText" };
    const isStep = !(state in titles) && main && main.kind !== "run";
    const title = isStep ? t("turn.failedAt", { step: `${t(`span.kind.${main.kind}`)} ${main.name}`.trim() }) : t(titles[state] || "turn.failedText");
    const reason = turn.failure || (state === "failed" ? main?.detail.error || "" : "");
    const { link, note } = remedyOf(turn);
    return html`<div class="banner bad" role="note">${icon("circle-alert")}<div class="grow"><strong>${title}</strong>
      ${reason ? html`<p class="words pre">${marked(excerpt(reason, 400))}</p>` : nothing}${note}</div>${link}</div>`;
  }
}

customElements.define("roe-turns", Turns);
