// People: access requests, roles, everyone who has used the bot, and one person with what can be done about them.

import { html, nothing } from "../vendor/lit.js";
import { get, post, put, remove, withQuery } from "../api/client.js";
import { go } from "../app/router.js";
import { t } from "../texts/texts.js";
import { attempt, confirmDialog, formDialog, toast } from "../ui/dialog.js";
import { initials, time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { ListPage, table } from "../ui/list.js";
import { menuAt, menuButton } from "../ui/menu.js";
import { copyId, knownPeople, named, nameOf, platformName } from "../ui/names.js";
import { findPeople } from "../ui/sources.js";
import { applyChanges, configures, getSettings } from "../setup/settings.js";
import { tabs } from "../ui/tabs.js";
import "../ui/picker.js";
import { dataPath, eraseData, exportLink } from "./erasure.js";
import { requestList, ROLES } from "./requests.js";
import "./texts.js";

const KINDS = { owner: "info", admin: "info", blocked: "bad" };
/** Number of access requests that are shown at first. */
const REQUESTS = 4;
/** Lists of people in the configuration, by role. */
const LISTS = { owner: "owners", admin: "admins", member: "members", blocked: "blocked" };
const path = (entry) => `/api/access/${encodeURIComponent(entry)}`;
const badge = (role) => html`<span class="badge ${KINDS[role] || ""}">${t(`role.${role}`)}</span>`;

const LOCAL = ["web", "terminal"];
const key = ({ entry, account = "" }) => `${entry} ${account}`;
/** The id in an entry, without the account or platform before it. */
const idOf = (entry) => entry.split(":").slice(1).join(":");

/** An entry that somebody typed, as an option of the picker. */
const typedId = (typed) => (/^[^:\s]+:\S+$/.test(typed) ? { value: typed, text: typed, hint: t("picker.useId") } : null);

async function allPages(address, key) {
  const first = await get(`${address}?limit=200`);
  let { next } = first;
  while (next !== null) {
    const more = await get(withQuery(address, { limit: 200, cursor: next }));
    first[key].push(...more[key]);
    next = more.next;
  }
  return first;
}

class People extends ListPage {
  constructor() {
    super();
    this.interval = 20_000;
    /** @type {Promise<void> | null} */
    this.accounts = null;
    this.everyRequest = false;
    /** Platforms by account. @type {Map<string, string>} */
    this.platforms = new Map();
  }

  get all() {
    return this.query.get("show") === "all";
  }

  actions() {
    return html`<button class="button primary" aria-label=${t("people.grant")} @click=${() => this.grant()}>${icon("user-plus")}<span class="wide">${t("people.grant")}</span></button>
      ${menuButton(t("app.more"), "ellipsis", [{ text: t("people.pair"), icon: "hash", run: () => this.pair() }])}`;
  }

  loadPlatforms() {
    this.accounts ??= get("/api/channels?limit=200").then(({ channels }) => void (this.platforms = new Map(channels.map(({ account, platform }) => [account, platform]))));
    return this.accounts;
  }

  async loadRows() {
    const q = this.query.get("q");
    // A search also finds those without a role.
    const wantsNames = this.all || (q && !this.query.get("role"));
    const [access, names] = await Promise.all([
      allPages("/api/access", "given"),
      wantsNames ? get(withQuery("/api/names", { kind: "person", limit: 200, q })) : { people: [] },
      this.loadPlatforms(),
    ]);
    const roles = [...access.given.map((one) => ({ ...one, given: true })), ...access.configured.map((one) => ({ ...one, given: false }))];
    const people = names.people.map((one) => ({ entry: one.person, ...one, ...this.roleOf(one.person, roles) }));
    const rows = this.all ? people : [...roles.filter((one) => this.isWanted(one)), ...people.filter(({ role }) => !role)];
    return { rows, answer: { ...access, roles, next: null } };
  }

  /** The role of a person, on whichever account. */
  roleOf(person, roles) {
    const { role = "", given, changeable } = roles.find(({ entry }) => this.personOf(entry) === person) || {};
    return { role, given, changeable };
  }

  isWanted({ name, entry, role }) {
    const [q, wanted] = [this.query.get("q") || "", this.query.get("role")];
    return (!wanted || wanted === role || role === undefined) && `${nameOf(name, entry)} ${entry}`.toLowerCase().includes(q.toLowerCase());
  }

  /** Where a role counts, in words. */
  where(one) {
    const scope = one.entry.split(":")[0];
    if (one.account) return one.account;
    if (one.not_on?.length) return t("people.except", { accounts: one.not_on.join(", ") });
    return this.platforms.has(scope) && this.platforms.get(scope) !== scope ? scope : t("people.everyAccount", { platform: platformName(scope) });
  }

  listView(rows, { waiting, roles, defaults, default: fallback }) {
    const columns = [
      { head: t("people.person"), cell: (one) => named(one.name, nothing, one.entry) },
      { head: t("people.role"), cell: (one) => this.roleCell(one), place: "at-end" },
      this.all ? { head: t("people.account"), cell: (one) => one.account } : { head: t("people.where"), cell: (one) => this.where(one) },
      ...(this.all ? [] : [{ head: t("people.since"), cell: (one) => (one.given ? time(one.at) : one.given === false ? t("people.inFile") : "") }]),
    ];
    const rule = (name) => t(`people.default.${name}`);
    const asking = waiting.filter((one) => this.isWanted(one));
    const open = rows.find(({ entry }) => entry === this.rest);
    return html`
      ${asking.length ? html`<section class="stack"><h2>${t("people.requests")}</h2>${requestList(this.everyRequest ? asking : asking.slice(0, REQUESTS), () => this.refresh(), [...this.platforms.values()])}
        ${asking.length > REQUESTS && !this.everyRequest ? html`<button class="button ghost more" @click=${() => { this.everyRequest = true; this.requestUpdate(); }}>${t("people.everyRequest", { count: asking.length })}</button>` : nothing}</section>` : nothing}
      ${tabs(t("page.people"), [
        { href: "#/people", text: t("people.roles"), count: roles.length, current: !this.all },
        { href: "#/people?show=all", text: t("people.all"), current: this.all },
      ])}
      <div class="filters">${this.search(t("people.search"))}
        ${this.all ? nothing : this.choice(t("people.role"), "role", [["", t("people.anyRole")], ...ROLES.map((role) => /** @type {[string, string]} */ ([role, t(`role.${role}`)]))])}</div>
      ${rows.length
        ? table({ label: t("page.people"), columns, rows, key, href: (one) => this.address(one.entry), current: open && key(open) })
        : html`<p class="empty">${this.query.get("q") || this.query.get("role") ? t("app.noMatches") : t("people.none")}</p>`}
      <p class="hint">${rule(fallback)} ${defaults.map((one) => `${t("people.onAccount", { account: one.account })} ${rule(one.default)}`).join(" ")}</p>`;
  }

  /** The role in a row, as a menu where it can be changed. */
  roleCell(one) {
    const shown = one.role ? badge(one.role) : html`<span class="quiet">${t("people.byDefault")}</span>`;
    const person = this.personOf(one.entry);
    if (one.given === false && !configures) return html`<span title=${t("people.fromFile")}>${shown}</span>`;
    // Who uses an account of the service itself is an owner.
    if ((one.given && !one.changeable) || LOCAL.includes(person.split(":")[0])) return shown;
    const name = nameOf(one.name, one.entry);
    return this.roleMenu({ value: person, text: name, account: one.name ? "" : undefined, inFile: one.given === false }, html`${shown}${icon("chevron-down")}`, "ghost tiny role",
      t("people.roleOf", { name, role: one.role ? t(`role.${one.role}`) : t("people.byDefault") }));
  }

  /** A button whose menu gives a person a role at a place at once. */
  roleMenu(who, text, className = "", label = "") {
    return html`<button class="button ${className}" type="button" aria-haspopup="menu" aria-expanded="false" aria-label=${label || nothing}
      @click=${(event) => menuAt(event.currentTarget, this.choices(who))}>${text}</button>`;
  }

  accountsOn(platform) {
    return [...this.platforms].filter(([, of]) => of === platform).map(([account]) => account);
  }

  /** Roles and places that somebody can have, to choose from; those that they were given are marked. */
  choices(who) {
    const platform = who.value.split(":")[0];
    const names = this.accountsOn(platform);
    const isGroup = idOf(who.value).includes(":");
    const at = (role, account) => {
      const text = account ? t("people.roleOn", { role: t(`role.${role}`), account }) : t("people.roleEverywhere", { role: t(`role.${role}`), platform: platformName(platform) });
      const entry = `${account || platform}:${idOf(who.value)}`;
      // An account that is named like its platform has a list in the file.
      const inFile = account === platform;
      const checked = !inFile && this.data.answer.roles.some((one) => one.given && one.entry === entry && one.role === role);
      return { text, checked, run: () => (inFile ? this.giveInFile(who.text, entry, role, text) : this.give(who.text, entry, role, text)) };
    };
    if (who.inFile) return [{ title: t("people.fromFile") }, { text: t("page.settings"), icon: "settings", run: () => go("#/settings") }];
    return [
      ...(isGroup ? ["member", "blocked"] : ROLES).map((role) => at(role, "")),
      ...names.filter((account) => account !== platform || (names.length > 1 && who.account !== undefined))
        .flatMap((account) => ["-", ...(isGroup ? ["member"] : ["member", "admin"]).map((role) => at(role, account))]),
    ];
  }

  /** Give a role; the message at the bottom takes it back. */
  async give(name, entry, role, choice) {
    if (role === "owner" && !(await confirmDialog(t("people.ownerAsk", { name }), t("people.ownerText"), t("people.grant")))) return;
    const before = this.data.answer.roles.find((one) => one.given && one.entry === entry)?.role;
    const undo = () => attempt(() => (before ? put(path(entry), { role: before }) : remove(path(entry)))).then(() => this.refresh());
    if ((await attempt(() => put(path(entry), { role }))) !== undefined) await this.done(t("people.roleSaved", { name, choice }), entry, { text: t("people.undo"), run: undo });
  }

  /** Give a role on an account that is named like its platform. */
  async giveInFile(name, entry, role, choice) {
    const saved = await attempt(async () => grantInList(await getSettings(), entry.split(":")[0], entry, role));
    if (saved !== undefined) await this.done(t("people.roleSaved", { name, choice }), entry);
  }

  async loadDetail(entry) {
    const [access, names] = await Promise.all([allPages("/api/access", "given"), knownPeople(), this.loadPlatforms()]);
    const same = (one) => one.entry === entry || idOf(one.entry) === idOf(entry);
    const given = access.given.filter(same);
    const configured = access.configured.filter(same);
    const name = names.get(entry) || [...given, ...configured].find((one) => one.name)?.name || "";
    const person = given.find((one) => one.erasable)?.erasable || this.personOf(entry);
    const erasable = given.length ? given.some((one) => one.erasable) : await get(dataPath(person, "erasure")).then(() => true, () => false);
    return { entry, person, erasable, name: name || names.get(person) || "", given, configured, names };
  }

  /** `platform:id` of an entry that may name an account. */
  personOf(entry) {
    const [scope] = entry.split(":");
    return `${this.platforms.get(scope) || scope}:${idOf(entry)}`;
  }

  detailView(one) {
    const { entry, person, given, configured, names } = one;
    const name = nameOf(one.name, entry);
    const group = person.split(":").length > 2;
    const who = { value: person, text: name, account: one.name && !group ? "" : undefined };
    const go = (address, glyph, text) => html`<a class="button" data-go href=${address}>${icon(glyph)}${text}</a>`;
    return {
      title: html`<span class="named"><span class="avatar" aria-hidden="true">${initials(name)}</span><span class="words">${name}</span></span>`,
      actions: menuButton(t("app.more"), "ellipsis", [copyId(person)], "ghost icon"),
      body: html`
        <section><h3>${t("people.roles")}</h3>
          ${[...given.map((role) => this.roleLine(role, who, true, names)), ...configured.map((role) => this.roleLine(role, who, false, names))]}
          ${given.length || configured.length ? nothing : html`<p class="quiet">${t("people.noRole")}</p>`}
          ${LOCAL.includes(person.split(":")[0]) ? nothing : html`<div class="row">${this.roleMenu(who, html`${icon("shield")}${t("people.changeRole")}${icon("chevron-down")}`)}</div>`}
        </section>
        ${group ? nothing : html`<section><h3>${t("people.more")}</h3><div class="row">
            ${go(`#/turns?person=${encodeURIComponent(person)}`, "activity", t("page.turns"))}
            ${go(`#/usage?person=${encodeURIComponent(person)}`, "chart-no-axes-column", t("page.usage"))}
            ${go(`#/audit?person=${encodeURIComponent(person)}`, "scroll-text", t("page.audit"))}
          </div></section>
          ${one.erasable ? html`<section><h3>${t("people.data")}</h3><div class="row">${exportLink(person)}
            ${go(`#/privacy?person=${encodeURIComponent(person)}`, "lock", t("page.privacy"))}
            <button class="button danger" @click=${() => eraseData(person, name, () => this.refresh())}>${icon("trash-2")}${t("erase.button")}</button></div></section>` : nothing}`}`,
    };
  }

  roleLine(role, who, given, names) {
    const name = who.text;
    const by = role.by && names.get(role.by);
    return html`<div class="thing"><div class="grow">${badge(role.role)} <span class="small">${this.where(role)}</span>
        <span class="quiet small as-block">${given ? html`${by ? t("people.by", { name: by }) : ""} ${time(role.at)}` : t("people.inFile")}</span></div>
      ${given && role.changeable ? html`<div class="row">
          <button class="button tiny" aria-label=${t("people.changeName", { name })} @click=${() => this.grant(who, role)}>${t("people.change")}</button>
          <button class="button tiny danger" aria-label=${t("people.revokeName", { name })} @click=${() => this.revoke(role, name)}>${t("people.revoke")}</button></div>` : nothing}
    </div>`;
  }

  roleField(value = "member") {
    return html`<div class="field"><label for="role">${t("people.role")}</label><select class="input" id="role" name="role">
      ${ROLES.map((role) => html`<option value=${role} ?selected=${role === value}>${t(`role.${role}`)}</option>`)}</select>
      <small>${t("people.roleHint")}</small></div>`;
  }

  /** Say what was done, and go to the row of the entry. */
  async done(said, entry = "", action = null) {
    toast(said, action);
    await this.refresh();
    await this.updateComplete;
    const row = !this.rest && [...this.querySelectorAll(".row-link")].find((one) => one.getAttribute("href") === this.address(entry));
    if (row) /** @type {HTMLElement} */ (row).focus();
  }

  /** Ask for a role and its place: of anybody, of a person, or another one instead of a given role. */
  async grant(who = null, given = null, first = { role: given?.role, where: given?.entry.split(":")[0] }) {
    const settings = await getSettings().catch(() => null);
    let chosen = who;
    let where = this.platforms.has(first.where) && (first.where !== who?.value.split(":")[0] || !given) ? first.where : "";
    const fields = (redraw) => {
      const platform = chosen?.value.split(":")[0] || "";
      const names = this.accountsOn(platform);
      // An entry with the name of the platform counts on all of its accounts, also if one has that name: on that one
      // alone, a person can have a role by its own list in the file.
      const inList = settings?.writable && names.length > 1 && chosen?.account !== undefined;
      const own = names.filter((account) => account !== platform || inList);
      const all = t("people.everyAccount", { platform: platformName(platform) });
      return html`${given ? nothing : html`<roe-picker label=${t("people.person")} required .source=${findPeople} .free=${typedId} .chosen=${chosen} hint=${t("people.entryHint")}
          @change=${(event) => { chosen = event.detail; redraw(); }}></roe-picker>`}
        ${this.roleField(first.role)}
        <div class="field"><label for="where">${t("people.where")}</label><select class="input" id="where" name="where" aria-describedby="where-about" @change=${(event) => { where = event.target.value; redraw(); }}>
          <option value="">${!platform ? t("people.everywhere") : names.length ? `${all}: ${names.join(", ")}` : all}</option>
          ${own.map((account) => html`<option value=${account} ?selected=${account === where}>${t("people.onlyOn", { account })}</option>`)}</select>
          <small id="where-about" aria-live="polite">${inList && platform && where === platform ? t("people.inOwnList", { file: settings.file, account: where }) : nothing}</small></div>`;
    };
    let entry = "";
    const send = async (data) => {
      const [scope] = chosen.value.split(":");
      const [role, inFile] = [data.get("role"), data.get("where") === scope];
      entry = `${data.get("where") || scope}:${idOf(chosen.value)}`;
      await (inFile ? grantInList(settings, scope, entry, role) : put(path(entry), { role }));
      if (given && (inFile || entry !== given.entry)) await remove(path(given.entry));
    };
    const title = given ? t("people.changeName", { name: who.text }) : t("people.grant");
    if (await formDialog(title, fields, t("app.save"), send)) await this.done(t("people.granted"), entry);
  }

  async revoke(role, name) {
    if (!(await confirmDialog(t("people.revokeName", { name }), t("people.revokeText", { role: t(`role.${role.role}`), name }), t("people.revoke"), { danger: true }))) return;
    if ((await attempt(() => remove(path(role.entry)), t("people.revoked", { name }))) !== undefined) await this.refresh();
  }

  async pair() {
    const fields = () => html`<div class="field"><label for="code">${t("people.code")}</label>
        <input class="input" id="code" name="code" required maxlength="40" autocomplete="off" spellcheck="false" /><small>${t("people.codeHint")}</small></div>${this.roleField()}`;
    const send = (data) => post("/api/access/pair", { code: data.get("code"), role: data.get("role") });
    if (await formDialog(t("people.pair"), fields, t("people.allow"), send)) await this.done(t("people.approved"));
  }
}

/** Give a person a role on an account that is named like its platform: in the account's own list, which replaces the one for all. */
function grantInList(settings, account, entry, role) {
  const list = LISTS[role];
  const own = settings.accounts.find(({ name }) => name === account)?.values.access?.[list];
  const before = [own ?? (role === "blocked" ? [] : settings.access[list] ?? [])].flat();
  const values = { [`access.${list}`]: [...new Set([...before, entry])] };
  return applyChanges([{ kind: "settings", section: `channels.${account}`, values }], settings.version, { said: "" });
}

customElements.define("roe-people", People);
