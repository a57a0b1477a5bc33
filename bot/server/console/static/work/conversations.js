// Conversations by name, and one with its transcript.

import { html, nothing } from "../vendor/lit.js";
import { get, withQuery } from "../api/client.js";
import { chatAddress, go } from "../app/router.js";
import { t } from "../texts/texts.js";
import { money, number, time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { ListPage, table } from "../ui/list.js";
import { menuButton } from "../ui/menu.js";
import { copyId, cut, knownAccounts, named, platformName } from "../ui/names.js";
import { isOpen, repeatable, retry, stopRun } from "./states.js";
import { transcript } from "./transcript.js";

const SOON = 300;
const download = (id, format) => Object.assign(document.createElement("a"), { href: `/api/conversations/${id}/export?format=${format}`, download: "" }).click();

class Conversations extends ListPage {
  constructor() {
    super();
    this.items = "conversations";
    this.turnsWanted = 1;
    this.followed = "";
  }

  path() {
    return `/api/conversations?${new URLSearchParams({ account: this.query.get("account") || "", q: this.query.get("q") || "" })}`;
  }

  async loadRows() {
    const [found, accounts] = await Promise.all([super.loadRows(), knownAccounts()]);
    return { rows: found.rows, answer: { ...found.answer, accounts } };
  }

  listView(conversations, { accounts }) {
    const filtered = this.query.get("q") || this.query.get("account");
    const columns = [
      { head: t("talk.chat"), cell: (one) => named(one.place, one.title) },
      { head: t("talk.platform"), cell: (one) => platformName(one.platform), place: "at-end" },
      { head: t("talk.kind"), cell: (one) => t(`talk.kind.${one.chat_kind}`) },
      { head: t("turn.model"), cell: (one) => cut(one.model), place: "wide-only" },
      { head: t("talk.active"), cell: (one) => time(one.active_at), place: "fit" },
    ];
    return html`<div class="filters" role="search">${this.search(t("talk.search"))}
        ${accounts.length > 1 ? this.choice(t("turn.account"), "account", [["", t("turn.everyAccount")], ...accounts.map(({ account }) => /** @type {[string, string]} */ ([account, account]))]) : nothing}</div>
      ${conversations.length ? table({ label: t("page.conversations"), columns, rows: conversations, key: ({ id }) => String(id), href: ({ id }) => this.address(id), current: this.rest })
        : html`<p class="empty">${filtered ? t("app.noMatches") : t("talk.none")}</p>`}`;
  }

  async loadDetail(id) {
    if (id !== this.followed) this.follow(id);
    const path = `/api/conversations/${id}`;
    const [conversation, usage] = await Promise.all([get(path), get(`${path}/usage?days=30`)]);
    const turns = [];
    let next = "";
    for (let page = 0; page < this.turnsWanted && next !== null; page += 1) {
      const found = await get(withQuery(`${path}/messages`, { cursor: next, limit: 30 }));
      turns.push(...found.turns);
      next = found.next;
    }
    return { conversation, usage, turns, next };
  }

  /** Load again soon after each event of the open conversation. */
  follow(id) {
    this.unfollow();
    this.followed = id;
    this.turnsWanted = 1;
    this.events = new EventSource(`/api/conversations/${id}/events`);
    const changed = () => {
      clearTimeout(this.soon);
      this.soon = setTimeout(() => this.rest === id && this.refresh(), SOON);
    };
    for (const kind of ["turn", "steps"]) this.events.addEventListener(kind, changed);
    // Whoever may no longer read the conversation is not asked again and again.
    this.events.onerror = () => this.events?.readyState === EventSource.CLOSED && this.unfollow();
  }

  unfollow() {
    this.events?.close();
    clearTimeout(this.soon);
    this.followed = "";
  }

  updated() {
    super.updated();
    if (!this.rest) this.unfollow();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.unfollow();
  }

  detailView({ conversation, usage, turns, next }) {
    const { id } = conversation;
    const refresh = () => this.refresh();
    const again = repeatable(turns);
    const facts = [
      [t("turn.account"), `${conversation.account} · ${platformName(conversation.platform)}`],
      [t("talk.owner"), conversation.owner_name],
      [t("turn.model"), conversation.model || t("talk.default")],
      [t("talk.agent"), conversation.agent || t("talk.default")],
      [t("talk.begun"), time(conversation.created_at)],
      [t("talk.active"), time(conversation.active_at)],
      [t("talk.tokens"), number(usage.total_tokens)],
      [t("talk.cost"), usage.cost ? money(usage.cost, usage.currency) : ""],
    ].filter(([, value]) => value);
    return {
      title: html`${conversation.place}${conversation.title ? html`<span class="quiet small as-block words">${conversation.title}</span>` : nothing}`,
      actions: html`
        ${turns.some(isOpen) ? html`<button class="button" @click=${() => stopRun(id, refresh)}>${icon("square")}${t("turn.stop")}</button>` : nothing}
        ${conversation.writable ? html`<a class="button" data-go href=${chatAddress(id)}>${t("turn.openChat")}</a>` : nothing}
        ${menuButton(t("app.more"), "ellipsis", [
          ...(again ? [{ text: t("turn.retry"), icon: "rotate-ccw", run: () => retry(again, refresh) }] : []),
          { text: t("talk.activity"), icon: "activity", run: () => go(`#/turns?conversation=${id}`) },
          { text: t("talk.markdown"), icon: "download", run: () => download(id, "markdown") },
          { text: t("talk.json"), icon: "download", run: () => download(id, "json") },
          "-", copyId(id), { ...copyId([conversation.chat, conversation.topic].filter(Boolean).join(" · ")), text: t("talk.copyChat") },
          { ...copyId(conversation.thread_id), text: t("turn.copyThread") },
        ], "ghost icon")}`,
      body: html`<details class="about"><summary class="small quiet">${t("talk.about")}</summary>
          <dl class="facts tight">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></details>
        ${next ? html`<button class="button more" @click=${() => { this.turnsWanted += 1; this.refresh(); }}>${t("talk.earlier")}</button>` : nothing}
        ${turns.length ? transcript(turns.toReversed(), refresh) : html`<p class="quiet">${t("talk.empty")}</p>`}`,
    };
  }
}

customElements.define("roe-conversations", Conversations);
