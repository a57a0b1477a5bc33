// Platform accounts: state with reason and remedy, restart, a new token, switch off, remove; connect another one.

import { html, keyed, nothing } from "../vendor/lit.js";
import { get, post } from "../api/client.js";
import { t } from "../texts/texts.js";
import { attempt, confirmDialog } from "../ui/dialog.js";
import { time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { menuButton } from "../ui/menu.js";
import { Page } from "../ui/page.js";
import { current } from "../app/session.js";
import { badge, entries, entry, intro, replaceSecrets } from "./parts.js";
import { configures, fileProblems, getOptions, getSettings, reviewChanges } from "./settings.js";
import { accepted } from "./connect-account.js";

const KINDS = { live: "good", connecting: "warn", limited: "warn", failed: "bad", deaf: "bad", off: "" };
const LOCAL = ["web", "terminal"];

class Accounts extends Page {
  constructor() {
    super();
    this.interval = 5_000;
  }

  get heading() {
    const [, platform] = this.rest.split("/");
    const known = this.data?.platforms.find(({ name }) => name === platform);
    if (known) return t("accounts.connectTo", { platform: known.title });
    return this.rest.startsWith("connect") ? t("accounts.connect") : "";
  }

  actions() {
    if (!configures || this.rest) return nothing;
    return html`<a class="button primary" id="connect" data-go href="#/accounts/connect">${icon("plus")}<span>${t("accounts.connect")}</span></a>`;
  }

  async load() {
    const [{ channels, platforms }, settings] = await Promise.all([get("/api/channels?limit=200"), getSettings()]);
    return { channels, platforms, settings };
  }

  async change(changes, options) {
    const done = await attempt(() => reviewChanges(changes, this.data.settings.version, options));
    if (done) await this.refresh();
  }

  async restart(account) {
    if (!(await confirmDialog(t("accounts.restartOf", { account }), t("accounts.restartText"), t("accounts.restart")))) return;
    await attempt(() => post(`/api/channels/${encodeURIComponent(account)}/restart`), t("accounts.restarting", { account }));
    await this.refresh();
  }

  /** Replace tokens that the platform refuses; each is tried before it is saved. */
  async replaceToken(account, stored) {
    const platform = (await attempt(getOptions))?.platforms.find(({ name }) => name === stored.platform);
    if (!this.isConnected) return;
    const filled = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value));
    const changeOf = (values) => ({ kind: "credentials", account, values: filled(values) });
    const fields = stored.credentials.map(({ key, set }) => ({
      key,
      label: platform?.fields.find((one) => one.key === key)?.label || key,
      required: stored.credentials.length === 1,
      hint: set && stored.credentials.length > 1 ? t("accounts.keepsEmpty") : "",
    }));
    const { version } = this.data.settings;
    if (await replaceSecrets(t("accounts.replaceTokenOf", { account }), { fields, changeOf, version, good: accepted })) await this.refresh();
  }

  menu(channel, stored) {
    const { account } = channel;
    return menuButton(t("setup.actionsOf", { name: account }), "ellipsis", [
      { text: t("accounts.restart"), icon: "rotate-ccw", run: () => this.restart(account) },
      ...(stored && this.data.settings.writable
        ? [
            stored.credentials.length && { text: t("accounts.replaceToken"), icon: "key-round", run: () => this.replaceToken(account, stored) },
            {
              text: stored.enabled ? t("accounts.switchOff") : t("accounts.switchOn"),
              icon: stored.enabled ? "pause" : "play",
              run: () => this.change([{ kind: "settings", section: `channels.${account}`, values: { enabled: stored.enabled ? false : null } }]),
            },
            "-",
            {
              text: t("setup.remove"),
              icon: "trash-2",
              danger: true,
              run: () => this.change([{ kind: "remove", what: "account", name: account }], { title: t("setup.removeOf", { name: account }), danger: true }),
            },
          ]
        : []),
    ].filter(Boolean));
  }

  row(channel, settings) {
    const stored = settings?.accounts.find((one) => one.name === channel.account);
    const platform = current.platforms[channel.platform] || t("accounts.other");
    const broken = KINDS[channel.state] === "bad";
    return entry({
      glyph: LOCAL.includes(channel.platform) ? "monitor" : "plug",
      name: channel.account,
      badges: badge(t(`accounts.${channel.state in KINDS ? channel.state : "off"}`), KINDS[channel.state]),
      lines: [
        html`${platform}${channel.identity ? html` · ${t("accounts.identity", { name: channel.identity })}` : nothing}`,
        channel.reason && html`<span class=${broken ? "problem" : ""}>${channel.reason}</span>`,
        channel.since > 0 && html`${t("accounts.since")} ${time(channel.since)}${channel.last_event ? html` · ${t("accounts.lastEvent")} ${time(channel.last_event)}` : nothing}`,
      ],
      actions: html`${broken && stored?.credentials.length && settings.writable
        ? html`<button class="button" @click=${() => this.replaceToken(channel.account, stored)}>${icon("key-round")}${t("accounts.replaceToken")}</button>`
        : broken
          ? html`<button class="button" @click=${() => this.restart(channel.account)}>${icon("rotate-ccw")}${t("accounts.restart")}</button>`
          : nothing}
        ${this.menu(channel, stored)}`,
    });
  }

  view({ channels, platforms, settings }) {
    const [first, platform] = this.rest.split("/");
    if (first === "connect" && settings) return platform ? this.connectView(platform, settings) : this.choice(platforms);
    // Accounts that are switched off have no state.
    const off = (settings?.accounts || []).filter(({ name }) => !channels.some(({ account }) => account === name));
    const all = [...channels, ...off.map((one) => ({ ...one, account: one.name, state: "off", reason: "", since: 0, last_event: 0 }))];
    return html`${intro(t("accounts.intro"), "howto/manage-in-the-web-console")}
      ${fileProblems(settings)}
      ${entries(t("page.accounts"), all.map((channel) => this.row(channel, settings)), t("accounts.none"))}`;
  }

  choice(platforms) {
    return html`${intro(t("accounts.choose"))}
      <ul class="tiles">${platforms.map(({ name, title }) => html`<li><a class="card tile" data-go href="#/accounts/connect/${name}">
        <span class="entry-icon">${icon("plug")}</span><strong>${title}</strong></a></li>`)}</ul>`;
  }

  connectView(platform, settings) {
    return keyed(platform, html`<roe-connect-account .platform=${platform} .settings=${settings} .account=${this.query.get("account") || ""}
      @connected=${(event) => this.setQuery({ account: event.detail })}></roe-connect-account>`);
  }
}

customElements.define("roe-accounts", Accounts);
