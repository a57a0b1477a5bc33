// The frame of the console: sidebar, header, and the page of the address.

import { html, nothing, render as renderInto } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { Element } from "../ui/element.js";
import { icon } from "../ui/icon.js";
import { closeDialogs } from "../ui/dialog.js";
import { explain } from "../ui/page.js";
import { findPage, FIRST } from "./pages.js";
import { currentRoute, chatAddress, go, watchRoute } from "./router.js";
import { current } from "./session.js";
import "./sidebar.js";

class Shell extends Element {
  static properties = { route: { state: true }, sideOpen: { state: true }, online: { state: true }, problem: { state: true } };

  constructor() {
    super();
    /** @type {import("./router.js").Route} */
    this.route = currentRoute();
    this.sideOpen = false;
    this.online = true;
    this.problem = "";
    /** @type {any} */
    this.page = null;
  }

  connectedCallback() {
    super.connectedCallback();
    addEventListener("reachable", (event) => (this.online = /** @type {CustomEvent} */ (event).detail));
    addEventListener("keydown", (event) => event.key === "Escape" && this.sideOpen && this.closeSide());
    this.addEventListener("page-title", () => this.showTitle());
    this.updateComplete.then(() => watchRoute(() => this.follow()));
  }

  /** Show the page of the address. */
  async follow() {
    const route = currentRoute();
    if (route.name === "chat" && FIRST && !route.conversation && !location.hash && !this.page) return go(`#/${FIRST}`, { replace: true });
    const same = this.page?.name === route.name;
    this.route = route;
    this.sideOpen = false;
    if (!same) {
      if (this.page) closeDialogs();
      await this.open(route);
    }
    if (this.page?.element && this.page.name === route.name) {
      Object.assign(this.page.element, this.parameters);
    }
    return this.showTitle();
  }

  /** What the page gets of the address, which may have changed while it was loaded. */
  get parameters() {
    const { rest, query, conversation } = this.route;
    return { rest, query, conversation };
  }

  async open(route) {
    const opened = { name: route.name, element: null };
    this.page = opened;
    this.problem = "";
    const entry = findPage(route.name);
    let made = null;
    try {
      if (route.name === "chat") made = await import("../chat/chat.js").then(() => ({ tag: "roe-chat" }));
      else if (entry) made = await entry.load();
    } catch (error) {
      this.problem = explain(Object.assign(error, { status: 0 }));
    }
    if (this.page !== opened) return;
    const box = this.querySelector("#content");
    if (made) {
      opened.element = document.createElement(made.tag);
      for (const [key, value] of Object.entries(made)) if (key !== "tag") opened.element[key] = value;
      Object.assign(opened.element, this.parameters);
    }
    box.classList.toggle("is-chat", route.name === "chat");
    box.replaceChildren(opened.element || this.missing());
    this.requestUpdate();
    await this.updateComplete;
    if (route.name !== "chat") this.querySelector("h1").focus({ preventScroll: true });
  }

  missing() {
    const box = document.createElement("div");
    box.className = "empty";
    const text = this.problem || t("app.notFoundText");
    const content = html`<strong>${this.problem ? t("app.failed") : t("app.notFound")}</strong>
      <p>${text}</p><a class="button" data-go href=${chatAddress(null)}>${t("app.toChat")}</a>`;
    renderInto(content, box);
    return box;
  }

  get title_() {
    const heading = this.page?.element?.heading;
    if (heading) return heading;
    if (this.route.name === "chat") return t("app.newChat");
    return findPage(this.route.name) ? t(`page.${this.route.name}`) : t("app.notFound");
  }

  showTitle() {
    document.title = `${this.title_} · ${t("app.name")}`;
    this.requestUpdate();
  }

  openSide() {
    this.sideOpen = true;
    this.updateComplete.then(() => /** @type {HTMLElement} */ (this.querySelector(".side .close-side")).focus());
  }

  closeSide() {
    this.sideOpen = false;
    /** @type {HTMLElement} */ (this.querySelector(".open-side")).focus();
  }

  skip(event) {
    event.preventDefault();
    /** @type {HTMLElement} */ (this.querySelector("#text") || this.querySelector("h1")).focus();
  }

  render() {
    const { person, role, account } = current;
    return html`
      <a class="skip" href="#content" @click=${this.skip}>${t("app.skip")}</a>
      <div class="app ${this.sideOpen ? "side-open" : ""}" id="app" data-role=${role} data-person=${person} data-home=${account}
        data-platform=${person.split(":")[0]}>
        <roe-sidebar class="side" role="complementary" aria-label=${t("app.sidebar")} .route=${this.route} @close-side=${this.closeSide}></roe-sidebar>
        <div class="backdrop" @click=${this.closeSide}></div>
        <main class="main">
          <header class="head">
            <button class="button ghost icon only-small open-side" aria-label=${t("app.openSidebar")} aria-expanded=${this.sideOpen}
              @click=${this.openSide}>${icon("menu")}</button>
            <h1 id="section-title" tabindex="-1" title=${this.title_}>${this.title_}</h1>
            <div class="actions">${this.page?.element?.actions?.() ?? nothing}</div>
          </header>
          <p class="offline" role="status" ?hidden=${this.online}>${t("app.offline")}</p>
          <div class="content" id="content" tabindex="-1"></div>
        </main>
      </div>`;
  }
}

customElements.define("roe-shell", Shell);
