// Connects an account in steps: create the app, enter its keys with live checks, invite it, find the owner.

import { html, nothing } from "../vendor/lit.js";
import { get, post } from "../api/client.js";
import { t } from "../texts/texts.js";
import { attempt, copyText } from "../ui/dialog.js";
import { Element } from "../ui/element.js";
import { FieldProblems } from "../ui/form.js";
import { icon } from "../ui/icon.js";
import { explain } from "../ui/page.js";
import { isOwner } from "../app/session.js";
import { checkChange, getOptions, reviewChanges } from "./settings.js";

const POLL = 2_000;
const LINK = /(https?:\/\/[^\s，。）]+[^\s，。）.,;:)])/;

class ConnectAccount extends Element {
  static properties = {
    platform: {},
    settings: { attribute: false },
    account: {},
    option: { state: true },
    channel: { state: true },
    waiting: { state: true },
    owner: { state: true },
    failed: { state: true },
    invite: { state: true },
    ownAddress: { state: true },
  };

  constructor() {
    super();
    this.platform = "";
    /** @type {any} */
    this.settings = null;
    /** Name of the account once it is connected. */
    this.account = "";
    /** @type {any} */
    this.option = null;
    /** State of the connected account. @type {any} */
    this.channel = null;
    /** Access requests of its people. @type {any[]} */
    this.waiting = [];
    /** The person whose access was approved. */
    this.owner = "";
    this.failed = "";
    this.invite = "";
    /** True if the API of a proxy or of a server of their own is used. */
    this.ownAddress = false;
    /** Keys of fields whose last value the service refused. @type {Set<string>} */
    this.refused = new Set();
  }

  get form() {
    return /** @type {import("../ui/form.js").Form | null} */ (this.querySelector("roe-form"));
  }

  connectedCallback() {
    super.connectedCallback();
    this.timer = setInterval(() => this.account && !document.hidden && this.look(), POLL);
    this.start();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.timer);
  }

  async start() {
    try {
      const { platforms } = await getOptions();
      this.option = platforms.find(({ name }) => name === this.platform) || null;
      if (!this.option) this.failed = t("app.notFound");
    } catch (error) {
      this.failed = explain(error);
    }
    if (this.account) await this.look();
  }

  /** Look how the account does, and who has written to it. */
  async look() {
    try {
      const [{ channels }, access] = await Promise.all([get("/api/channels?limit=200"), get("/api/access")]);
      this.channel = channels.find(({ account }) => account === this.account) || null;
      this.waiting = access.waiting.filter(({ account }) => account === this.account);
    } catch {
      // The header says that the service can't be reached; the next look may succeed.
    }
  }

  /** A name for the account that is free: the platform's, or with a number. */
  get freeName() {
    const taken = this.settings.accounts.map(({ name }) => name);
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? this.platform : `${this.platform}-${number}`;
      if (!taken.includes(name)) return name;
    }
  }

  /** True if nobody is offered access by a first message, so that the owner's id has to be entered. */
  get isClosed() {
    return this.settings.access.default === "closed";
  }

  /** True if the platform is a server of the person's own, whose address is one of its keys. */
  get hasAddress() {
    return this.option.fields.some(({ key }) => key === "base_url");
  }

  change({ owner, ...values }) {
    const given = Object.entries(values).filter(([key, value]) => value && (key === "base_url" || this.option.fields.some((one) => one.key === key)));
    return { kind: "account", name: this.freeName, platform: this.platform, settings: Object.fromEntries(given), ...(owner ? { owner } : {}) };
  }

  /** Try what was entered so far; problems of keys that are still empty don't matter yet. */
  async check(key, values) {
    const found = await checkChange(this.change(values));
    this.invite = found.invite_link || this.invite;
    this.refused.delete(key);
    if (found.problems.some((one) => one.key.endsWith(`.${key}`))) this.refused.add(key);
    if (found.ok) return { ok: true, text: accepted(found) };
    const own = found.problems.filter((one) => one.key.endsWith(`.${key}`) || (found.ok === false && !this.option.fields.some((field) => one.key.endsWith(`.${field.key}`))));
    if (own.length) return { ok: false, text: own.map(({ text }) => text).join(" ") };
    return { ok: null };
  }

  /** The fields up to the first one that is empty: one question at a time. */
  fields(values) {
    const all = this.option.fields.map((field) => ({
      key: field.key,
      label: field.label,
      type: field.choices.length ? "choice" : field.secret ? "secret" : field.key === "base_url" ? "url" : "text",
      choices: field.choices.map((one) => [one, one]),
      value: field.default || field.choices[0] || "",
      required: true,
      place: `channels.${this.freeName}.${field.key}`,
      check: (_, now) => this.check(field.key, now),
    }));
    if (this.isClosed && isOwner) {
      all.push({ key: "owner", label: t("accounts.ownerId"), type: "text", choices: [], value: "", required: true, place: "access.owners",
        check: async () => null, hint: this.option.person, pattern: this.option.person_pattern, wrong: this.option.person });
    }
    const address = this.ownAddress
      ? [{ key: "base_url", label: t("accounts.address"), type: "url", value: "", required: true, place: `channels.${this.freeName}.base_url`,
          check: async () => null, hint: t("accounts.addressHint"), pattern: "https?://.+", wrong: t("models.wrongAddress") }]
      : [];
    const checks = this.form?.checks || {};
    const isOpen = (key) => !("text" in (checks[key] || {})) || this.refused.has(key);
    const first = all.findIndex(({ key, value, type }, at) => {
      const next = all[at + 1]?.key;
      return !(values[key] ?? value) || (type === "secret" && next && !values[next] && isOpen(key));
    });
    return [...address, ...(first < 0 ? all : all.slice(0, first + 1))];
  }

  async connect(values) {
    if (this.option.fields.some(({ key, required }) => required && !values[key])) {
      throw new FieldProblems([{ key: "", text: t("accounts.fillAll") }]);
    }
    const change = this.change(values);
    const found = await checkChange(change);
    if (found.ok === false || (found.ok === null && found.problems.some(({ key }) => key.split(".").length > 2))) throw new FieldProblems(found.problems);
    this.invite = found.invite_link || this.invite;
    if (!(await reviewChanges([change], this.settings.version, { title: t("accounts.reviewOf", { account: change.name }) }))) return;
    this.account = change.name;
    this.owner = values.owner ? t("accounts.you") : "";
    this.dispatchEvent(new CustomEvent("connected", { detail: change.name }));
    await this.look();
    await this.updateComplete;
    /** @type {HTMLElement | null} */ (this.querySelector("#step-live"))?.focus();
  }

  async approve(request) {
    const role = isOwner ? "owner" : "admin";
    const done = await attempt(() => post(`/api/access/waiting/${encodeURIComponent(request.entry)}`, { role }));
    if (done) this.owner = request.name || t("accounts.you");
    await this.updateComplete;
    /** @type {HTMLElement | null} */ (this.querySelector("#step-owner"))?.focus();
  }

  step(number, id, title, state, body) {
    return html`<li class="step ${state}" aria-current=${state === "now" ? "step" : nothing}>
      <span class="step-mark" aria-hidden="true">${state === "done" ? icon("check") : number}</span>
      <div class="stack"><h2 id="step-${id}" tabindex="-1">${title}</h2>${state === "later" ? nothing : body}</div>
    </li>`;
  }

  createStep() {
    const { link, manifest, steps, title } = this.option;
    return html`
      <ol class="numbered">${steps.map((one) => html`<li>${linked(link ? one.replaceAll(link, "").trim() : one)}</li>`)}</ol>
      ${link ? html`<p><a class="button primary" href=${link} target="_blank" rel="noreferrer">${icon("external-link")}${t("accounts.createApp", { platform: title })}</a></p>` : nothing}
      ${manifest ? html`<details><summary>${t("accounts.manifest")}</summary><div class="row"><button class="button tiny" @click=${() => copyText(manifest)}>
        ${icon("copy")}${t("accounts.copy")}</button></div><pre class="difference" tabindex="0">${manifest}</pre></details>` : nothing}`;
  }

  liveStep() {
    const { state = "connecting", reason = "", identity = "" } = this.channel || {};
    const { invite_step, later_steps } = this.option;
    return html`<p role="status">${state === "live"
        ? html`<span class="accepted">${icon("circle-check")} ${t("accounts.isLive", { identity })}</span> ${reason}`
        : html`<span class=${state === "failed" ? "problem" : ""}>${icon(state === "failed" ? "circle-alert" : "loader-circle")} ${t(`accounts.${state}`)} ${reason}</span>`}</p>
      ${invite_step ? html`<p class="words">${linked(invite_step.replace("{link}", this.invite))}</p>` : nothing}
      ${later_steps.length ? html`<ol class="numbered">${later_steps.map((one) => html`<li>${linked(one)}</li>`)}</ol>` : nothing}`;
  }

  ownerStep() {
    if (this.owner) return html`<p class="accepted" role="status">${icon("circle-check")} ${t("accounts.ownerFound", { name: this.owner })}</p>`;
    return html`<p class="words">${this.option.write_to_it}</p>
      <div role="status" class="stack">${this.waiting.length
        ? this.waiting.map((one) => html`<div class="banner"><span class="grow words">${t("accounts.isThisYou", { name: one.name || t("accounts.someone") })}</span>
            <button class="button primary" @click=${() => this.approve(one)}>${t("accounts.thatIsMe")}</button></div>`)
        : html`<p class="quiet">${icon("loader-circle")} ${t("accounts.waiting")}</p>`}</div>`;
  }

  render() {
    if (!this.option) return html`<p class="empty ${this.failed ? "problem" : ""}" role="status">${this.failed || t("app.loading")}</p>`;
    const connected = Boolean(this.account);
    const live = this.channel?.state === "live";
    const { title } = this.option;
    const keys = html`<roe-form .fields=${(values) => this.fields(values)} .yes=${t("accounts.connectNow")} .send=${(values) => this.connect(values)}
      .more=${html`${isOwner && !this.ownAddress && !this.hasAddress ? html`<button class="text-button small" type="button" @click=${() => (this.ownAddress = true)}>${t("accounts.ownAddress")}</button><span class="grow"></span>` : nothing}
        <a class="button" data-go href="#/accounts">${t("app.cancel")}</a>`}></roe-form>`;
    return html`<ol class="steps card padded narrow">
      ${this.step(1, "create", t("accounts.stepCreate", { platform: title }), connected ? "done" : "now", connected ? nothing : this.createStep())}
      ${this.step(2, "keys", t("accounts.stepKeys"), connected ? "done" : "now", connected ? nothing : keys)}
      ${this.step(3, "live", t("accounts.stepLive"), connected ? (live ? "done" : "now") : "later", this.liveStep())}
      ${this.isClosed ? nothing : this.step(4, "owner", t("accounts.stepOwner"), this.owner ? "done" : live ? "now" : "later", this.ownerStep())}
    </ol>
    ${live && (this.owner || this.isClosed) ? html`<p class="banner narrow" role="status"><span class="grow">${t("accounts.ready", { platform: title })}</span>
      <a class="button" data-go href="#/accounts">${t("page.accounts")}</a></p>` : nothing}`;
  }
}

/** What a platform says of an account that it accepts, with what the app lacks. */
export const accepted = ({ identity, problems }) => [t("accounts.accepted", { identity }), ...problems.map(({ text }) => text)].join(" · ");

/** A text with its addresses as links. */
const linked = (text) => text.split(LINK).map((part, at) => (at % 2 ? html`<a href=${part} target="_blank" rel="noreferrer">${part}</a>` : part));

customElements.define("roe-connect-account", ConnectAccount);
