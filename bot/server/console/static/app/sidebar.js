// The sidebar: new chat, search, pages in groups, chats, and the account menu.

import { html, nothing } from "../vendor/lit.js";
import { get, put, remove } from "../api/client.js";
import { language, LANGUAGES, t } from "../texts/texts.js";
import { Element } from "../ui/element.js";
import { initials } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { menuAt } from "../ui/menu.js";
import { attempt } from "../ui/dialog.js";
import { findPage, FIRST, GROUPS } from "./pages.js";
import { chatAddress } from "./router.js";
import { current } from "./session.js";
import { openPalette, showShortcuts } from "./keys.js";
import { setTheme, theme } from "./themes.js";
import "../chat/chat-list.js";

const POLL = 15_000;
const CLOSED = "roebot.closed-groups";
/** Groups that are closed until the person opens them: none where there is room. */
const CLOSED_AT_FIRST = matchMedia("(max-width: 860px)").matches ? "people,setup,records" : "";

const chooseLanguage = (name) => attempt(() => put("/api/session/language", { language: name }).then(() => location.reload()));

/** Numbers beside pages, from those of the overview. */
const countsOf = ({ problems, approvals, running, failed, requests, incidents }) => ({
  overview: { count: problems + approvals + requests + incidents, kind: problems || incidents ? "bad" : "warn" },
  turns: failed && !running ? { count: failed, kind: "bad" } : { count: running },
  people: { count: requests, kind: "warn" },
});

class Sidebar extends Element {
  static properties = { route: { attribute: false }, counts: { state: true } };

  constructor() {
    super();
    /** @type {import("./router.js").Route | null} */
    this.route = null;
    /** Numbers beside pages: `{overview: {count, kind}}`. @type {Record<string, {count: number, kind?: string}>} */
    this.counts = {};
    this.closed = new Set((localStorage.getItem(CLOSED) ?? CLOSED_AT_FIRST).split(","));
    this.loads = 0;
    addEventListener("counts", (event) => {
      this.loads += 1;
      this.counts = countsOf(/** @type {CustomEvent} */ (event).detail);
    });
    for (const event of ["changed", "focus"]) addEventListener(event, () => this.load());
    // The overview tells its own numbers.
    setInterval(() => !document.hidden && this.route?.name !== "overview" && this.load(), POLL);
    this.load();
  }

  /** Count again: at intervals, and after each change that is made here. */
  async load() {
    const turn = (this.loads += 1);
    const found = await get("/api/overview/counts").catch(() => null);
    if (found && turn === this.loads) this.counts = countsOf(found);
  }

  /** Keep what the person chose; a group also opens by itself for the page that is shown. */
  chosen(group, event) {
    if (event.currentTarget.parentElement.open) this.closed.add(group);
    else this.closed.delete(group);
    localStorage.setItem(CLOSED, [...this.closed].join(","));
  }

  accountMenu(event) {
    const themes = /** @type {const} */ (["system", "light", "dark"]);
    menuAt(event.currentTarget, [
      { title: t("app.theme") },
      ...themes.map((name) => ({
        text: t(`app.theme${name[0].toUpperCase()}${name.slice(1)}`),
        icon: { system: "monitor", light: "sun", dark: "moon" }[name],
        checked: theme() === name,
        run: () => setTheme(name),
      })),
      { title: t("app.language") },
      ...Object.entries(LANGUAGES).map(([name, text]) => ({ text, icon: "languages", checked: language === name, run: () => chooseLanguage(name) })),
      "-",
      { text: t("app.shortcuts"), icon: "command", hint: "?", run: showShortcuts },
      { text: t("app.signOut"), icon: "log-out", run: () => attempt(() => remove("/api/session").then(() => location.reload())) },
      { title: t("app.version", { version: current.version }) },
    ]);
  }

  item(page) {
    const count = this.counts[page.name];
    return html`<a class="nav-item" data-go href="#/${page.name}" aria-current=${this.route?.name === page.name ? "page" : nothing}>
      ${icon(page.icon)}<span class="grow cut">${t(`page.${page.name}`)}</span>
      ${count?.count ? html`<span class="count ${count.kind || ""}">${count.count}</span>` : nothing}
    </a>`;
  }

  render() {
    const overview = findPage("overview");
    return html`
      <div class="side-head">
        <a class="grow" data-go href=${FIRST ? `#/${FIRST}` : chatAddress(null)}><img src="/static/icon.svg" alt="" /><span>${t("app.name")}</span></a>
        <button class="button ghost icon only-small close-side" aria-label=${t("app.closeSidebar")}
          @click=${() => this.dispatchEvent(new CustomEvent("close-side"))}>${icon("x")}</button>
      </div>
      <div class="side-do">
        <a class="nav-item" id="new" data-go href=${chatAddress(null)}>${icon("square-pen")}<span>${t("app.newChat")}</span></a>
        <button class="nav-item" id="search" @click=${openPalette}>${icon("search")}<span>${t("app.search")}</span><kbd>Ctrl K</kbd></button>
        ${overview ? this.item(overview) : nothing}
      </div>
      <div class="side-scroll">
        <nav aria-label=${t("app.name")}>
          ${GROUPS.map(
            ({ group, pages }) => html`<details class="nav-group" ?open=${!this.closed.has(group) || pages.some(({ name }) => name === this.route?.name)}>
              <summary @click=${(event) => this.chosen(group, event)}>${icon("chevron-right")}${t(`group.${group}`)}</summary>
              ${pages.map((page) => this.item(page))}
            </details>`,
          )}
        </nav>
        <roe-chat-list .current=${this.route?.name === "chat" ? this.route.conversation : null}></roe-chat-list>
      </div>
      <div class="side-foot">
        <button class="nav-item" id="account" aria-haspopup="menu" aria-expanded="false" aria-label=${t("app.account")} @click=${this.accountMenu}>
          <span class="avatar" aria-hidden="true">${initials(current.name || t("role.owner"))}</span>
          <span class="grow cut">${current.name || t(`role.${current.role}`)}</span>${icon("chevron-up")}
        </button>
      </div>`;
  }
}

customElements.define("roe-sidebar", Sidebar);
