// MCP servers: list with tools and switches, add one after a look at its tools, edit, remove.

import { html, nothing } from "../vendor/lit.js";
import { ApiError, get, patch, post, put, remove } from "../api/client.js";
import { t } from "../texts/texts.js";
import { attempt, toast } from "../ui/dialog.js";
import { proposedName, words } from "./mcp-names.js";
import { icon } from "../ui/icon.js";
import { menuButton } from "../ui/menu.js";
import { Page } from "../ui/page.js";
import { go } from "../app/router.js";
import { isOwner } from "../app/session.js";
import { badge, confirmed, entries, entry, formIn, intro, toggle } from "./parts.js";

const KINDS = { ready: "good", starting: "warn", idle: "info", unavailable: "bad" };
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const SIGN_IN = /sign[ _-]?in/i;
const at = (name) => `/api/mcp/servers/${encodeURIComponent(name)}`;

class McpServers extends Page {
  constructor() {
    super();
    this.interval = 15_000;
    /** What the server to be added has. @type {any} */
    this.found = null;
    /** Its tools that are on, unless all are: none at first, since a server may have tools that do harm. @type {Set<string>} */
    this.chosen = new Set();
    /** The server whose tools are chosen, and the name that was proposed for it. */
    this.server = "";
    this.proposed = "";
    this.all = false;
    this.missing = false;
    /** Tools of servers that were added just now and start with the next run. @type {Map<string, any[]>} */
    this.known = new Map();
    /** Servers that were added although their check failed, with its reason. @type {Map<string, string>} */
    this.unchecked = new Map();
  }

  get heading() {
    return this.rest === "add" ? t("mcp.add") : "";
  }

  actions() {
    if (!isOwner || this.rest) return nothing;
    return html`<a class="button primary" id="add" data-go href="#/mcp/add">${icon("plus")}<span>${t("mcp.add")}</span></a>`;
  }

  async load() {
    const [{ servers }, config] = await Promise.all([get("/api/mcp/servers"), isOwner ? get("/api/mcp/config") : null]);
    const stored = config?.mcp_servers || {};
    return { servers: servers.map((server) => this.withTools(server, stored[server.name])), config: stored };
  }

  withTools(server, config) {
    const known = this.known.get(server.name);
    if (server.tools.length || !known) return server;
    return { ...server, tools: known.map((tool) => ({ ...tool, enabled: !config?.tools || config.tools.includes(tool.name) })) };
  }

  async change(work, done) {
    await work();
    toast(done);
    await this.refresh();
  }

  /** Switch a tool; an answer with all tools on means all, also those that the server adds later. */
  switchTool(server, tool, on) {
    const names = server.tools.filter((one) => (one.name === tool.name ? on : one.enabled !== false)).map((one) => one.name);
    const tools = names.length === server.tools.length ? null : names;
    return this.change(() => put(at(server.name), { tools }), t(on ? "setup.isOn" : "setup.isOff", { name: tool.name }));
  }

  tools(server) {
    if (!server.tools.length) return nothing;
    const on = server.tools.filter((tool) => tool.enabled !== false).length;
    return html`<details class="entry-more" id="tools-${server.name}">
      <summary>${t("mcp.tools", { on, count: server.tools.length })}</summary>
      <ul class="lines">${server.tools.map(
        (tool) => html`<li class="row spread"><span class="grow words"><strong>${tool.name}</strong>
            ${tool.description ? html`<br /><span class="small quiet">${tool.description}</span>` : nothing}</span>
          ${tool.enabled === undefined ? nothing : toggle(tool.name, tool.enabled, (enabled) => this.switchTool(server, tool, enabled))}</li>`,
      )}</ul>
    </details>`;
  }

  async edit(server) {
    const before = this.data.config[server.name] || {};
    const fields = [{ key: "json", label: t("mcp.json"), type: "code", value: JSON.stringify(before, null, 2), required: true, hint: t("mcp.secretHint") }];
    const send = async ({ json }) => {
      const after = parsed(json);
      const gone = Object.fromEntries(Object.keys(before).filter((key) => !(key in after)).map((key) => [key, null]));
      await patch(at(server.name), { server: { ...after, ...gone } });
    };
    if (!(await formIn(t("mcp.editOf", { name: server.name }), { fields, send, wide: true }))) return;
    toast(t("mcp.saved", { name: server.name }));
    await this.refresh();
  }

  async removeServer(name) {
    const done = await confirmed(t("setup.removeOf", { name }), t("mcp.removeText"), t("setup.remove"), () => remove(at(name)), t("setup.removed", { name }));
    if (done) await this.refresh();
  }

  row(server) {
    const off = server.state === "off";
    const { url, command, args } = this.data.config[server.name] || {};
    const change = (enabled) => this.change(() => put(at(server.name), { enabled }), t(enabled ? "setup.isOn" : "setup.isOff", { name: server.name }));
    return entry({
      glyph: "wrench",
      name: server.name,
      badges: badge(t(`mcp.${server.state}`), KINDS[server.state]),
      lines: [
        server.description,
        url || command ? html`<span class="mono">${url || [command, ...(args || [])].join(" ")}</span>` : nothing,
        server.detail && html`<span class=${server.state === "unavailable" ? "problem" : ""}>${server.detail}</span>`,
        this.unchecked.has(server.name) && !["ready", "unavailable"].includes(server.state) && html`<span class="problem">${t("mcp.checkFailed", { detail: this.unchecked.get(server.name) })}</span>`,
        SIGN_IN.test(server.detail || "") && t("mcp.signIn", { name: server.name }),
      ],
      actions: html`${isOwner
        ? menuButton(t("setup.actionsOf", { name: server.name }), "ellipsis", [
            { text: t("app.edit"), icon: "pencil", run: () => this.edit(server) },
            "-",
            { text: t("setup.remove"), icon: "trash-2", danger: true, run: () => this.removeServer(server.name) },
          ])
        : nothing}
      ${toggle(server.name, !off, change)}`,
      below: this.tools(server),
    });
  }

  view({ servers }) {
    if (this.rest === "add" && isOwner) return this.addView();
    return html`${intro(t("mcp.intro"), "howto/connect-mcp-servers")}
      ${entries(t("page.mcp"), servers.map((server) => this.row(server)), t("mcp.none"))}`;
  }

  // Adding a server

  fields(values) {
    const check = (_, now) => this.look(now);
    const remote = (values.kind || "url") === "url";
    const wrong = this.wrongName(values.name);
    return [
      { key: "kind", label: t("mcp.kind"), type: "choice", choices: [["url", t("mcp.kindUrl")], ["command", t("mcp.kindCommand")]], value: "url", required: true },
      remote && { key: "url", label: t("mcp.url"), type: "url", required: true, placeholder: "https://example.com/mcp", pattern: "https?://.+", wrong: t("models.wrongAddress"), check },
      remote && { key: "token", label: t("mcp.token"), type: "secret", hint: t("mcp.tokenHint"), check },
      !remote && { key: "command", label: t("mcp.command"), required: true, placeholder: "npx -y @example/server", hint: t("mcp.commandHint") },
      !remote && { key: "env", label: t("mcp.env"), type: "area", placeholder: "TOKEN=…", hint: t("mcp.envHint") },
      { key: "name", label: t("mcp.name"), required: true, pattern: wrong && "(?!)", wrong, hint: wrong ? html`<span class="problem">${icon("circle-alert")} ${wrong}</span>` : t("mcp.nameHint") },
      { key: "description", label: t("mcp.description"), hint: t("mcp.descriptionHint"), extra: this.found ? this.foundView(this.found) : nothing },
    ].filter(Boolean);
  }

  get names() {
    return new Set([...this.data.servers.map(({ name }) => name), ...Object.keys(this.data.config)]);
  }

  wrongName(name) {
    if (!name) return "";
    return this.names.has(name) ? t("mcp.taken") : NAME.test(name) ? "" : t("mcp.wrongName");
  }

  /** Forget the tools of what is no longer meant, and propose a name until the person enters one. */
  changed({ target: form, detail: key }) {
    if (key === "name" || key === "description") return;
    this.listed = "";
    this.found = null;
    const { name, ...values } = form.values;
    if (!name || name === this.proposed) form.values = { ...form.values, name: (this.proposed = proposedName(values, this.names)) };
    this.requestUpdate();
  }

  /** Ask the server for its tools. */
  async list(values) {
    const server = JSON.stringify({ ...serverOf(values), description: "" });
    this.found = null;
    this.listed = server;
    const found = await post("/api/mcp/servers/check", { name: NAME.test(values.name) ? values.name : "server", server: serverOf(values) });
    // Meanwhile, the form may describe another server.
    if (this.listed !== server) return found;
    this.found = found;
    if (server !== this.server) Object.assign(this, { server, chosen: new Set(), all: false });
    this.missing = false;
    this.requestUpdate();
    return found;
  }

  /** Ask a remote server once its address is complete. A program is started by the button only. */
  async look(values) {
    if (!isComplete(values)) return null;
    const found = await this.list(values);
    return { ok: this.works(found) || null, text: found.tools.length ? t("mcp.chooseBelow") : "" };
  }

  async check(values) {
    await this.list(values);
    await this.updateComplete;
    const title = /** @type {HTMLElement | null} */ (this.querySelector("#found"));
    title?.scrollIntoView({ block: "start" });
    title?.focus({ preventScroll: true });
  }

  async add(values) {
    const { tools, detail } = this.found;
    // The tools of a server that could not be reached are not known yet.
    const all = this.all || !tools.length;
    this.missing = !all && !this.chosen.size;
    this.requestUpdate();
    if (this.missing) return;
    const { name } = values;
    await post("/api/mcp/servers", { name, server: { ...serverOf(values), ...(all ? {} : { tools: [...this.chosen] }) } });
    toast(t("mcp.added", { name }));
    this.known.set(name, tools);
    if (this.works(this.found)) this.unchecked.delete(name);
    else this.unchecked.set(name, detail || t("mcp.notReached"));
    Object.assign(this, { found: null, server: "", proposed: "" });
    go("#/mcp");
    await this.refresh();
  }

  flip(name, on) {
    if (on) this.chosen.add(name);
    else this.chosen.delete(name);
    this.missing = false;
    this.requestUpdate();
  }

  addView() {
    const works = this.found && this.works(this.found);
    const more = html`<a class="button" data-go href="#/mcp">${t("app.cancel")}</a>
      ${this.found && !works ? html`<button class="button" type="button" @click=${(event) => attempt(() => this.add(event.target.closest("roe-form").values))}>${t("mcp.addAnyway")}</button>` : nothing}`;
    return html`${intro(t("mcp.addIntro"), "howto/connect-mcp-servers")}
      <section class="card padded narrow"><roe-form .fields=${(values) => this.fields(values)} .yes=${works ? t("mcp.addNow") : t("mcp.check")}
        .send=${(values) => (works ? this.add(values) : this.check(values))} .more=${more} @changed=${this.changed}></roe-form></section>`;
  }

  works({ state, tools }) {
    return state === "ready" || state === "idle" || tools.length > 0;
  }

  foundView({ state, detail, tools }) {
    const works = this.works({ state, tools });
    const allowAll = (event) => {
      Object.assign(this, { all: event.target.checked, missing: false });
      this.requestUpdate();
    };
    return html`<section class="stack" aria-labelledby="found">
      <h2 id="found" tabindex="-1">${works ? t("mcp.found", { count: tools.length }) : t("mcp.notReached")}</h2>
      ${detail ? html`<p class=${works ? "quiet" : "problem"}>${detail}</p>` : nothing}
      ${tools.length ? html`<p class="small quiet">${t("mcp.choose")}</p>
        <label class="row"><input class="switch" type="checkbox" role="switch" .checked=${this.all} @change=${allowAll} /><span class="words">${t("mcp.allowAll")}</span></label>` : nothing}
      <ul class="lines">${tools.map((tool) => html`<li><label class="check"><input type="checkbox" .checked=${this.all || this.chosen.has(tool.name)} ?disabled=${this.all}
        @change=${(event) => this.flip(tool.name, event.target.checked)} /><span class="words"><strong>${tool.name}</strong>
        ${tool.description ? html`<br /><span class="small quiet">${tool.description}</span>` : nothing}</span></label></li>`)}</ul>
      ${this.missing ? html`<p class="problem" role="alert">${t("mcp.noneChosen")}</p>` : nothing}
    </section>`;
  }
}

/** A server's configuration from the values of the form. */
function serverOf({ kind, url, token, command, env, description }) {
  const about = description ? { description } : {};
  if (kind === "url") return { type: "http", url, ...(token ? { headers: { Authorization: token.includes(" ") ? token : `Bearer ${token}` } } : {}), ...about };
  const [program, ...args] = words(command);
  const lines = (env || "").split("\n").filter((line) => line.includes("="));
  const pairs = lines.map((line) => [line.slice(0, line.indexOf("=")).trim(), line.slice(line.indexOf("=") + 1).trim()]);
  return { type: "stdio", command: program, args, ...(pairs.length ? { env: Object.fromEntries(pairs) } : {}), ...about };
}

/** True if an address can be asked while it is typed: the host is whole, above all if a token would be sent there. */
function isComplete({ url = "", token }) {
  const address = /^https?:/.test(url) && URL.canParse(url) ? new URL(url) : null;
  return Boolean(address && (address.pathname.length > 1 || (!token && /\.[a-z]{2,}$/.test(address.hostname))));
}

function parsed(written) {
  try {
    return JSON.parse(written);
  } catch (error) {
    throw new ApiError(422, t("mcp.invalidJson", { detail: error.message }));
  }
}

customElements.define("roe-mcp", McpServers);
