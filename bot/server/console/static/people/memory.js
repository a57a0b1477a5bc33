// What the agent remembers about a person or a group: show, add, edit, export, delete.

import { html, nothing } from "../vendor/lit.js";
import { get, patch, post, remove, withQuery } from "../api/client.js";
import { isAdmin } from "../app/session.js";
import { t } from "../texts/texts.js";
import { attempt, confirmDialog, formDialog, toast } from "../ui/dialog.js";
import { initials, number, time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { menuButton } from "../ui/menu.js";
import { knownPeople, nameOf } from "../ui/names.js";
import { explain, Page } from "../ui/page.js";
import { findPeople } from "../ui/sources.js";
import "../ui/picker.js";
import "./texts.js";

const CATEGORIES = ["context", "preference", "knowledge", "behavior", "goal"];
const SUMMARIES = [["user", "workContext"], ["user", "personalContext"], ["user", "topOfMind"], ["history", "recentMonths"], ["history", "earlierContext"], ["history", "longTermBackground"]];
const isoTime = (text) => time(text ? Date.parse(text) / 1000 : 0);

/** People and groups whose memory can be read, as `person:ACCOUNT:PLATFORM:ID` and `group:ACCOUNT:CHAT`. */
async function findScopes(q) {
  const [people, { chats }] = await Promise.all([findPeople(q), get(withQuery("/api/names", { kind: "chat", q }))]);
  const groups = new Map(chats.filter(({ kind }) => kind === "group").map((one) => [`group:${one.account}:${one.chat}`, one]));
  return [
    ...people.map((one) => ({ ...one, value: `person:${one.account}:${one.value}` })),
    ...[...groups].map(([value, one]) => ({ value, text: one.name, hint: t("memory.group"), mark: initials(one.name) })),
  ];
}

const typedScope = (typed) => (/^(person:[^:]*:[^:]+:.|group:[^:]*:.)/.test(typed) ? { value: typed, text: typed, hint: t("picker.useId") } : null);

class Memory extends Page {
  get scope() {
    return this.query.get("scope") || "";
  }

  api(path = "") {
    return withQuery(`/api/memory${path}`, { scope: this.scope });
  }

  actions() {
    if (!this.data || this.data.failure) return nothing;
    return html`<button class="button primary" aria-label=${t("memory.add")} @click=${() => this.edit()}>${icon("plus")}<span class="wide">${t("memory.add")}</span></button>
      ${menuButton(t("app.more"), "ellipsis", [
        { text: t("erase.export"), icon: "download", run: () => Object.assign(document.createElement("a"), { href: this.api(), download: "memory.json" }).click() },
        { text: t("memory.reload"), icon: "refresh-cw", run: () => this.act(() => post(this.api("/reload")), t("memory.reloaded")) },
        { text: t("memory.forget"), icon: "trash-2", danger: true, run: () => this.forget() },
      ])}`;
  }

  async load() {
    const [, first, ...id] = this.scope.split(":");
    const names = this.scope.startsWith("person:") ? await knownPeople() : new Map();
    const chats = this.scope.startsWith("group:") ? (await get("/api/names?kind=chat&limit=200").catch(() => ({ chats: [] }))).chats : [];
    const name = this.scope && (names.get(id.join(":")) || chats.find((one) => one.account === first && one.chat === id.join(":"))?.name || nameOf("", id.join(":")));
    try {
      const [memory, status] = await Promise.all([get(this.api()), get(this.api("/status"))]);
      return { memory, status, name };
    } catch (failure) {
      if (!failure.status) throw failure;
      return { failure, name };
    }
  }

  view({ memory, status, failure, name }) {
    return html`
      ${isAdmin ? html`<div class="filters"><roe-picker label=${t("memory.owner")} .source=${findScopes} .free=${typedScope} placeholder=${t("privacy.you")}
        .chosen=${this.scope ? { value: this.scope, text: name } : null} @change=${(event) => this.setQuery({ scope: event.detail?.value }, { push: true })}></roe-picker></div>` : nothing}
      ${failure ? html`<p class="problem" role="alert">${explain(failure)}</p>` : html`
        <p class="quiet small">${status.enabled ? t("memory.on") : t("memory.off")} ${status.facts ? html`${t("memory.count", { count: status.facts })} · ${t("memory.changed")} ${isoTime(status.last_updated)}` : t("memory.none")}
          ${status.updates_waiting ? html` · ${t("memory.waiting", { count: number(status.updates_waiting) })}` : nothing}</p>
        ${this.summaries(memory)}
        <section class="stack"><h2>${t("memory.facts")}</h2>
          ${memory.facts.length ? html`<ul class="things" aria-label=${t("memory.facts")}>${memory.facts.map((fact) => this.fact(fact))}</ul>` : html`<p class="quiet">${t("memory.none")}</p>`}</section>`}`;
  }

  summaries(memory) {
    const found = SUMMARIES.map(([part, key]) => [key, memory[part]?.[key]?.summary]).filter(([, text]) => text);
    return found.length ? html`<section class="card padded stack"><h2>${t("memory.summary")}</h2>
      ${found.map(([key, text]) => html`<div><h3 class="quiet">${t(`memory.${key}`)}</h3><p class="words">${text}</p></div>`)}</section>` : nothing;
  }

  fact(fact) {
    return html`<li class="thing"><div class="grow"><p class="words">${fact.content}</p>
        <p class="quiet small">${CATEGORIES.includes(fact.category) ? t(`memory.category.${fact.category}`) : fact.category} · ${t("memory.confidence", { percent: Math.round(fact.confidence * 100) })} · ${isoTime(fact.createdAt)}</p></div>
      <div class="row"><button class="button ghost icon tiny" aria-label="${t("app.edit")}: ${fact.content}" title=${t("app.edit")} @click=${() => this.edit(fact)}>${icon("pencil")}</button>
        <button class="button ghost icon tiny" aria-label="${t("app.delete")}: ${fact.content}" title=${t("app.delete")} @click=${() => this.drop(fact)}>${icon("trash-2")}</button></div></li>`;
  }

  async act(work, done = "") {
    const answer = await attempt(work, done);
    if (answer === undefined) return;
    if (!done && answer?.message) toast(answer.message);
    await this.refresh();
  }

  async forget() {
    if (await confirmDialog(t("memory.forgetAsk"), t("memory.forgetText"), t("memory.forget"), { danger: true })) await this.act(() => remove(this.api()));
  }

  async drop(fact) {
    if (!(await confirmDialog(t("memory.dropAsk"), fact.content, t("app.delete"), { danger: true }))) return;
    await this.act(() => remove(this.api(`/facts/${encodeURIComponent(fact.id)}`)));
  }

  async edit(fact = null) {
    const fields = () => html`<div class="field"><label for="fact">${t("memory.fact")}</label><textarea class="input" id="fact" name="content" required>${fact?.content || ""}</textarea></div>
      <div class="field"><label for="category">${t("memory.category")}</label><select class="input" id="category" name="category">
        ${CATEGORIES.map((name) => html`<option value=${name} ?selected=${name === (fact?.category || "context")}>${t(`memory.category.${name}`)}</option>`)}</select></div>
      <div class="field"><label for="confidence">${t("memory.confidenceField")}</label><input class="input" id="confidence" name="confidence" type="number" min="0" max="1" step="any" required value=${fact?.confidence ?? 1} /></div>`;
    const send = (data) => {
      const body = { content: data.get("content"), category: data.get("category"), confidence: Number(data.get("confidence")) };
      return fact ? patch(this.api(`/facts/${encodeURIComponent(fact.id)}`), body) : post(this.api("/facts"), body);
    };
    if (!(await formDialog(t(fact ? "memory.edit" : "memory.add"), fields, t("app.save"), send))) return;
    toast(t("memory.saved"));
    await this.refresh();
  }
}

customElements.define("roe-memory", Memory);
