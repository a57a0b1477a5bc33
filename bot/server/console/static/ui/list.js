// Pages with a list: dense rows that become cards where there is little room, filters in the address, and the details of a row beside it.

import { html, nothing, repeat } from "../vendor/lit.js";
import { get } from "../api/client.js";
import { go } from "../app/router.js";
import { t } from "../texts/texts.js";
import "./texts.js";
import { icon } from "./icon.js";
import { explain, Page } from "./page.js";

const PAUSE = 200;

/**
 * A column: its heading, and the template of a row's cell. `place` is where a card shows it: "at-end" (of the first line), "last" (a line of its own), "wide-only", or on the line below.
 * `unit` is a word that a card shows before the value.
 * @typedef {{head: string, cell: (row: any) => unknown, place?: string, number?: boolean, unit?: string}} Column
 */

/**
 * A table whose rows link to their details; `href(row)` may be left out.
 * @param {{label: string, columns: Column[], rows: any[], key: (row: any) => unknown, href?: (row: any) => string, current?: unknown}} table
 */
export function table({ label, columns, rows, key, href, current }) {
  const cell = (row, { cell: draw, place = "", number = false, unit = "" }, first) => {
    const className = `${place} ${number ? "number" : ""}`;
    const shown = draw(row);
    if (!first) return html`<td role="cell" class=${className} data-unit=${unit || nothing}>${shown}</td>`;
    const link = href && html`<a class="row-link" data-go href=${href(row)} aria-current=${key(row) === current ? "true" : nothing}>${shown}</a>`;
    return html`<th role="rowheader" scope="row" class=${className}>${link || shown}</th>`;
  };
  return html`<table class="list" role="table" aria-label=${label} @keydown=${moveRow}>
    <thead role="rowgroup"><tr role="row">${columns.map(({ head, number, place = "" }) => html`<th role="columnheader" scope="col" class="${number ? "number" : ""} ${place.includes("wide-only") ? "wide-only" : ""}">${head}</th>`)}</tr></thead>
    <tbody role="rowgroup">${repeat(rows, key, (row) => html`<tr role="row" class=${href ? "opens" : ""}>${columns.map((column, at) => cell(row, column, !at))}</tr>`)}</tbody>
  </table>`;
}

/** Move between the links of rows by the arrow keys. */
function moveRow(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !event.target.matches(".row-link")) return;
  const links = [...event.currentTarget.querySelectorAll(".row-link")];
  const next = links[links.indexOf(event.target) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

/** A page with a list and the details of the row that the address names. */
export class ListPage extends Page {
  constructor() {
    super();
    this.wanted = 1;
    this.filteredBy = "";
    /** Name of the items in the service's answer. */
    this.items = "";
    this.addEventListener("keydown", (event) => event.key === "Escape" && this.rest && this.leave(event));
  }

  /** The path of the API that lists the items. */
  path() {
    return "";
  }

  /** @param {string} _rest @returns {Promise<any>} */
  async loadDetail(_rest) {
    return null;
  }

  /** @param {any} _detail @returns {{title: unknown, actions?: unknown, body: unknown}} */
  detailView(_detail) {
    return { title: "", body: nothing };
  }

  /** @param {any[]} _rows @param {any} _answer @returns {unknown} */
  listView(_rows, _answer) {
    return nothing;
  }

  /** @returns {Promise<any>} */
  async load() {
    const filter = String(this.query);
    if (filter !== this.filteredBy) this.wanted = 1;
    this.filteredBy = filter;
    const { rest } = this;
    const [list, detail] = await Promise.all([this.loadRows(), rest ? this.loadDetail(rest).catch((failure) => ({ failure })) : null]);
    return { ...list, rest, detail };
  }

  async loadRows() {
    const path = this.path();
    const rows = [];
    let answer = null;
    for (let page = 0, next = ""; page < this.wanted && next !== null; page += 1) {
      answer = await get(next ? `${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(next)}` : path);
      rows.push(...answer[this.items]);
      next = answer.next;
    }
    return { rows, answer };
  }

  /** The address of a row's details, with the filters. */
  address(rest = "") {
    const [base] = location.hash.slice(2).split(/[/?]/);
    return `#/${base}${rest === "" ? "" : `/${encodeURIComponent(rest)}`}${this.query.size ? `?${this.query}` : ""}`;
  }

  leave(event) {
    if (event.defaultPrevented || document.querySelector("dialog[open], .menu:popover-open") || event.target.matches("input, textarea, select")) return;
    this.close();
  }

  /** Close the details; the focus goes back to the row. */
  async close() {
    const href = this.address(this.rest);
    go(this.address());
    await this.updateComplete;
    const link = [...this.querySelectorAll(".row-link")].find((one) => one.getAttribute("href") === href);
    /** @type {HTMLElement | null} */ (link || document.querySelector("h1"))?.focus();
  }

  updated() {
    super.updated();
    const opened = this.rest && this.data?.rest === this.rest && this.rest !== this.shownRest;
    if (!this.rest || opened) this.shownRest = this.rest;
    if (!opened) return;
    const covered = !this.querySelector(".split-list")?.getClientRects().length;
    this.querySelector('.row-link[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
    // The focus follows the row that was opened; where the details cover the list, always.
    if (covered || document.activeElement?.matches(".row-link")) /** @type {HTMLElement | null} */ (this.querySelector(".panel h2"))?.focus({ preventScroll: !covered });
  }

  async more() {
    this.wanted += 1;
    await this.refresh();
  }

  /** @param {any} data @returns {unknown} */
  view({ rows, answer, detail, rest }) {
    const open = Boolean(this.rest);
    return html`<div class="split ${open ? "open" : ""}">
      <div class="split-list stack">
        ${this.listView(rows, answer)}
        ${answer?.next ? html`<button class="button more" @click=${() => this.more()}>${t("app.showMore")}</button>` : nothing}
      </div>
      ${open ? this.panel(rest === this.rest ? detail : null) : nothing}
    </div>`;
  }

  panel(detail) {
    const failed = detail?.failure;
    /** @type {{title: unknown, actions?: unknown, body: unknown}} */
    const shown = detail && !failed ? this.detailView(detail) : { title: failed ? t("app.failed") : t("app.loading"), body: nothing };
    return html`<section class="panel card" aria-labelledby="panel-title">
      <header class="panel-head">
        <button class="button ghost icon" aria-label=${t("app.close")} title=${t("app.close")} @click=${() => this.close()}>${icon("x")}</button>
        <h2 class="grow words" id="panel-title" tabindex="-1">${shown.title}</h2>
        ${shown.actions ?? nothing}
      </header>
      <div class="panel-body stack">${failed ? html`<p class="problem" role="alert">${explain(failed)}</p>` : shown.body}</div>
    </section>`;
  }

  /** Search field whose text is kept in the address. */
  search(label, name = "q") {
    const typed = (event) => {
      clearTimeout(this.pause);
      const { value } = (this.typed = event.target);
      this.pause = setTimeout(() => this.setQuery({ [name]: value.trim() }), PAUSE);
    };
    const wanted = this.query.get(name) || "";
    // The field keeps spaces that the address leaves out.
    const value = this.typed?.value.trim() === wanted ? this.typed.value : wanted;
    return html`<input class="input filter-search" type="search" placeholder=${label} aria-label=${label} .value=${value} @input=${typed} />`;
  }

  /** Select whose value is kept in the address. @param {string} label @param {string} name @param {[string, string][]} options */
  choice(label, name, options, fallback = "") {
    const value = this.query.get(name) || fallback;
    const changed = (event) => this.setQuery({ [name]: event.target.value === fallback ? "" : event.target.value }, { push: true });
    return html`<select class="input filter" aria-label=${label} @change=${changed}>
      ${options.map(([key, text]) => html`<option value=${key} ?selected=${key === value}>${text}</option>`)}
    </select>`;
  }
}
