// Base of pages: loads data, shows progress and failure, refreshes, and keeps filters in the address.

import { html, nothing } from "../vendor/lit.js";
import { ApiError } from "../api/client.js";
import { t } from "../texts/texts.js";
import { Element } from "./element.js";
import { icon } from "./icon.js";

const FRESH = 1000;

/** Return what to tell a person about an error. */
export function explain(error) {
  if (!(error instanceof ApiError)) console.error(error);
  if (error.status === 0) return t("app.unreachable");
  return error.message || t("app.error", { status: error.status ?? "" });
}

/**
 * A page of the console. A subclass sets `title`, and has `load()` (returns data) and `view(data)` (returns a
 * template). `rest` is the path below the page, `query` the parameters of its address.
 */
export class Page extends Element {
  static properties = { data: { state: true }, failure: { state: true }, rest: {}, query: { attribute: false } };

  constructor() {
    super();
    this.data = undefined;
    /** @type {Error | null} */
    this.failure = null;
    this.rest = "";
    this.query = new URLSearchParams();
    /** Milliseconds between refreshes, 0 for none. */
    this.interval = 0;
    this.loads = 0;
    this.loadedAt = 0;
    this.onFocus = () => Date.now() - this.loadedAt > FRESH && this.refresh();
  }

  /** Title in the header and of the tab; "" for the name of the page. */
  get heading() {
    return "";
  }

  /** Template of buttons in the header. @returns {unknown} */
  actions() {
    return nothing;
  }

  /** @returns {Promise<any>} */
  async load() {
    return null;
  }

  /** @param {any} _data @returns {unknown} */
  view(_data) {
    return nothing;
  }

  connectedCallback() {
    super.connectedCallback();
    this.classList.add("page");
    addEventListener("focus", this.onFocus);
    if (this.interval) this.timer = setInterval(() => !document.hidden && this.refresh(), this.interval);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener("focus", this.onFocus);
    clearInterval(this.timer);
    this.loads += 1;
  }

  willUpdate(changed) {
    if (changed.has("rest") || changed.has("query")) this.refresh();
  }

  updated() {
    this.dispatchEvent(new CustomEvent("page-title", { bubbles: true }));
  }

  /** Load again. If several loads run at once, the last one wins. */
  async refresh() {
    const turn = (this.loads += 1);
    try {
      const data = await this.load();
      if (turn !== this.loads) return;
      this.data = data;
      this.failure = null;
    } catch (error) {
      if (turn !== this.loads) return;
      // What is on screen stays during a short outage.
      if (this.data === undefined || error.status) this.failure = error;
    }
    this.loadedAt = Date.now();
  }

  /** Change parameters of the address, such as filters; values that are empty are left out. */
  setQuery(changes, { push = false } = {}) {
    const query = new URLSearchParams(this.query);
    for (const [key, value] of Object.entries(changes)) {
      if (value === "" || value === null || value === undefined) query.delete(key);
      else query.set(key, String(value));
    }
    const [path] = location.hash.split("?");
    const address = query.size ? `${path}?${query}` : path;
    if (address === location.hash) return;
    history[push ? "pushState" : "replaceState"](null, "", address);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }

  render() {
    if (this.failure) {
      return html`<div class="empty" role="alert">
        <strong>${t("app.failed")}</strong>
        <p class="words">${explain(this.failure)}</p>
        <button class="button" @click=${() => this.refresh()}>${icon("refresh-cw")}${t("app.retry")}</button>
      </div>`;
    }
    if (this.data === undefined) return html`<p class="empty" role="status">${t("app.loading")}</p>`;
    return this.view(this.data);
  }
}
