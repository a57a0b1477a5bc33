// Hosts the sections that have not moved to pages yet.

import { html } from "../vendor/lit.js";
import { Page } from "../ui/page.js";

const STYLES = ["sections", "components", "transcript"];

class OldSection extends Page {
  constructor() {
    super();
    this.data = null;
    /** @type {any} */
    this.section = null;
    this.shown = "";
    /** @type {any} */
    this.View = null;
    this.closeDialogs = () => {};
  }

  async refresh() {
    this.view_?.refresh();
  }

  render() {
    return html`<p class="status" id="section-status" role="status"></p>
      <p class="status problem" id="section-problem" role="alert" hidden></p>
      <div class="section-content" id="section-content"></div>`;
  }

  updated() {
    const address = `${this.rest}?${this.query}`;
    if (!this.section || address === this.shown) return;
    this.shown = address;
    this.view_?.close();
    this.view_ = new this.View(this.section, { rest: this.rest, settings: this.query });
    clearInterval(this.poll);
    if (this.section.pollInterval) this.poll = setInterval(() => !document.hidden && this.view_.refresh(), this.section.pollInterval);
    this.view_.load();
  }

  connectedCallback() {
    super.connectedCallback();
    this.links = STYLES.map((name) => Object.assign(document.createElement("link"), { rel: "stylesheet", href: `/static/css/${name}.css` }));
    document.head.append(...this.links);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    for (const link of this.links) link.remove();
    clearInterval(this.poll);
    this.closeDialogs();
    this.view_?.close();
  }
}

customElements.define("roe-old-section", OldSection);

/** Load a section and return the tag and properties of its element. */
export async function loadSection(name) {
  const [section, { View }, { closeDialogs }] = await Promise.all(
    [`sections/${name}`, "section-view", "dialog"].map((file) => import(`../js/${file}.js`)),
  );
  return { tag: "roe-old-section", section, View, closeDialogs };
}
