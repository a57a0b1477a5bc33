// Settings: access and roles, limits, approvals, event sources, and the versions of the file.

import { html, keyed, nothing } from "../vendor/lit.js";
import { get } from "../api/client.js";
import { t } from "../texts/texts.js";
import { attempt, toast } from "../ui/dialog.js";
import { dateTime, time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { Page } from "../ui/page.js";
import { isOwner } from "../app/session.js";
import { badge, intro } from "./parts.js";
import { difference, fileProblems, getSettings, restoreVersion, reviewChanges } from "./settings.js";
import { eventsView } from "./event-sources.js";
import "./entries-field.js";

const TABS = ["access", "limits", "approvals", "events", "versions"];
const LISTS = ["owners", "admins", "members", "groups", "blocked"];
const DEFAULTS = ["pair", "closed", "allow"];
const SCOPES = ["person", "chat", "account"];
/** What was entered but not saved, by section, so that it stays while the person looks elsewhere. @type {Map<string, {base: any, values: Record<string, any>}>} */
const drafts = new Map();

class Settings extends Page {
  constructor() {
    super();
    this.interval = 10_000;
    /** Forms begin anew once this changes. */
    this.saved = 0;
    /** The settings that the open form began with. @type {any} */
    this.base = null;
    this.began = "";
  }

  get tab() {
    const [name] = this.rest.split("/");
    return TABS.includes(name) ? name : "access";
  }

  actions() {
    if (!isOwner || !this.data?.settings.exists) return nothing;
    return html`<button class="button" @click=${() => this.undo()}>${icon("undo-2")}<span>${t("settings.undo")}</span></button>`;
  }

  async load() {
    const [settings, versions, sources] = await Promise.all([
      getSettings(),
      this.tab === "versions" ? get("/api/settings/versions") : null,
      this.tab === "events" ? get("/api/events/sources") : null,
    ]);
    return { settings, versions, sources };
  }

  /** Show what was saved; a form that is opened before that is loaded begins with the new version, too. */
  async took(applied) {
    if (!applied) return;
    this.data.settings.version = applied.version;
    await this.refresh();
    this.saved += 1;
    this.requestUpdate();
  }

  /** A form for keys of a section; only what was changed is saved, an empty value is the default. */
  form(section, values, fields, yes = "") {
    const began = `${section} ${this.saved}`;
    const draft = drafts.get(section);
    if (began !== this.began) Object.assign(this, { began, base: draft?.base || { version: this.data.settings.version, values } });
    const { base } = this;
    const prefix = section.startsWith("channels.") ? "access." : "";
    const keep = ({ target }) => {
      drafts.set(section, { base, values: target.values });
      this.requestUpdate();
    };
    const discard = () => {
      drafts.delete(section);
      this.saved += 1;
      this.requestUpdate();
    };
    const stored = (key) => key.split(".").reduce((found, part) => found?.[part], base.values);
    const send = async (typed) => {
      const changed = {};
      for (const { key, type } of fields) {
        const value = normal(typed[key], type);
        if (JSON.stringify(value) !== JSON.stringify(normal(stored(key), type))) changed[key] = value;
      }
      if (!Object.keys(changed).length) return toast(t("settings.unchanged"));
      const change = { kind: "settings", section, values: Object.fromEntries(Object.entries(changed).map(([key, value]) => [prefix + key, value])) };
      const applied = await reviewChanges([change], base.version);
      if (applied) drafts.delete(section);
      return this.took(applied);
    };
    const filled = fields.map((field) => ({ ...field, value: stored(field.key) ?? field.value ?? "", place: `${section}.${prefix}${field.key}` }));
    return keyed(began, html`<section class="card padded narrow ${section}"><roe-form .fields=${filled} .values=${draft?.values ?? {}} .send=${send} .yes=${yes || t("settings.review")} @changed=${keep}
      .more=${draft ? html`<button class="button" type="button" @click=${discard}>${t("settings.discard")}</button>` : nothing}></roe-form></section>`);
  }

  accessView(settings) {
    const account = this.query.get("account") || "";
    const own = settings.accounts.find(({ name }) => name === account);
    const inherits = own ? [["", t("settings.asForAll")]] : [];
    const choose = (event) => this.setQuery({ account: event.target.value }, { push: true });
    const fields = [
      { key: "default", label: t("settings.default"), type: "choice", value: own ? "" : "pair", choices: [...inherits, ...DEFAULTS.map((name) => [name, t(`settings.${name}`)])] },
      ...LISTS.filter((name) => name !== "owners" || isOwner).map((name) => ({
        key: name,
        label: t(`settings.${name}`),
        hint: `${t(`settings.${name}Hint`)}${own && name !== "blocked" ? ` ${t("settings.emptyAsForAll")}` : ""}`,
        type: "entries",
        platforms: own ? [own.platform] : [...new Set(settings.accounts.map(({ platform }) => platform))],
      })),
      own
        ? { key: "guests", label: t("settings.guestsShort"), type: "choice", value: "", choices: [...inherits, ["true", t("setup.on")], ["false", t("setup.off")]] }
        : { key: "guests", label: t("settings.guests"), type: "check" },
    ];
    return html`<label class="row small">${t("settings.appliesTo")} <select class="input short" @change=${choose}>
        <option value="" ?selected=${!own}>${t("settings.allAccounts")}</option>
        ${settings.accounts.map(({ name }) => html`<option value=${name} ?selected=${name === account}>${name}</option>`)}</select></label>
      ${own ? this.form(`channels.${account}`, own.values.access || {}, fields) : this.form("access", settings.access, fields)}`;
  }

  limitsView(settings) {
    const fields = SCOPES.flatMap((scope) => [
      { key: `${scope}.messages_per_hour`, label: t(`settings.${scope}Messages`), type: "number", placeholder: t("settings.noLimit") },
      { key: `${scope}.tokens_per_day`, label: t(`settings.${scope}Tokens`), type: "number", placeholder: t("settings.noLimit") },
    ]);
    return this.form("budgets", settings.budgets, fields);
  }

  approvalsView(settings) {
    if (!isOwner) return html`<p class="card empty">${t("settings.ownersOnly")}</p>`;
    const choices = (key, names) => names.map((name) => [name, t(`settings.${key}.${name}`)]);
    return this.form("approvals", settings.approvals, [
      { key: "by", label: t("settings.by"), type: "choice", required: true, value: "requester", choices: choices("by", ["requester", "admins", "others"]) },
      { key: "here", label: t("settings.here"), type: "choice", required: true, value: "anyone", choices: choices("here", ["anyone", "admins"]) },
      { key: "here_days", label: t("settings.hereDays"), type: "number", placeholder: "7" },
    ]);
  }

  async restore(version, shown = html`<p>${t("settings.restoreText")}</p>`, words = {}) {
    const done = await attempt(() => restoreVersion(version.number, this.data.settings.version, shown, words));
    await this.took(done);
  }

  /** Restore the version before the present one; the difference shows what is undone. */
  async undo() {
    const found = await attempt(() => get("/api/settings/versions"));
    if (!found) return;
    const at = found.versions.findIndex((one) => one.current);
    const [last, before] = found.versions.slice(at, at + 2);
    if (at < 0 || !before) return toast(t("settings.nothingToUndo"));
    const shown = html`<p>${t("settings.undoText")}</p><p><strong class="words">${sentence(last)}</strong> <span class="quiet">${time(last.at)} · ${dateTime(last.at)}</span></p>${difference(last.difference)}`;
    await this.restore(before, shown, { title: t("settings.undoTitle"), yes: t("settings.undoNow") });
  }

  versionsView(versions) {
    if (!versions.length) return html`<p class="card empty">${t("settings.noVersions")}</p>`;
    return html`<ul class="card entries" aria-label=${t("settings.versions")}>${versions.map(
      (one) => html`<li class="entry">
        <span class="entry-icon">${icon("history")}</span>
        <div class="entry-text">
          <div class="row"><strong>${t("skills.number", { number: one.number })}</strong>${one.current ? badge(t("setup.current"), "good") : nothing}</div>
          <p class="small quiet words">${time(one.at)} · ${sentence(one)}</p>
        </div>
        <div class="entry-actions">${isOwner && !one.current
          ? html`<button class="button" aria-label=${t("skills.restoreNumber", { number: one.number })} @click=${() => this.restore(one)}>${icon("undo-2")}${t("setup.restore")}</button>`
          : nothing}</div>
        <details class="entry-more" id="version-${one.number}"><summary>${t("setup.difference")}</summary>${difference(one.difference)}</details>
      </li>`,
    )}</ul>`;
  }

  view({ settings, versions, sources }) {
    const views = {
      access: () => this.accessView(settings),
      limits: () => this.limitsView(settings),
      approvals: () => this.approvalsView(settings),
      events: () => (sources ? eventsView(this, settings, sources.sources) : nothing),
      versions: () => (versions ? this.versionsView(versions.versions) : nothing),
    };
    return html`<nav class="tabs" aria-label=${t("page.settings")}>${TABS.map((name) => html`<a data-go href="#/settings/${name}"
        aria-current=${name === this.tab ? "page" : nothing}>${t(`settings.${name}`)}</a>`)}</nav>
      ${intro(t(`settings.${this.tab}Intro`, { file: settings.file }), { access: "howto/manage-people-and-roles", limits: "howto/set-usage-limits", approvals: "howto/approve-tool-calls", events: "howto/connect-event-sources", versions: "howto/edit-the-configuration" }[this.tab])}
      ${fileProblems(settings)}
      ${views[this.tab]()}`;
  }
}

/** What a version changed, as the audit log has it. */
function sentence({ by, keys }) {
  const [, number] = /^version (\d+)$/.exec(keys.join(", ")) || [];
  const text = number ? t("settings.didRestore", { number }) : keys.length ? t("settings.didChange", { keys: keys.join(", ") }) : t("settings.inEditor");
  return by ? t("settings.byPerson", { by, text }) : text[0].toUpperCase() + text.slice(1);
}

/** A value as it is saved; null is the default. */
function normal(value, type) {
  if (value === undefined || value === null || value === "" || (Array.isArray(value) && !value.length)) return null;
  if (type === "number") return Number(value);
  if (type === "check") return Boolean(value) || null;
  return value === "true" ? true : value === "false" ? false : value;
}

customElements.define("roe-settings", Settings);
