// Search over pages, people, chats and messages (Ctrl+K).

import { html, nothing } from "../vendor/lit.js";
import { get, withQuery } from "../api/client.js";
import { t } from "../texts/texts.js";
import { openDialog } from "../ui/dialog.js";
import { Element } from "../ui/element.js";
import { time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { findPeople } from "../ui/sources.js";
import { findPage, PAGES } from "./pages.js";
import { chatAddress, go } from "./router.js";
import { marked } from "./marks.js";

/** Milliseconds after the last key until the service is asked. */
const WAIT = 150;
const RECENT = 6;
const ENOUGH = 8;
const PEOPLE = 5;
const PAGES_READ = 5;

/** @typedef {{group: string, icon: string, text: string, excerpt?: string, at?: number, address: string}} Entry */

const NEW = { group: "go", icon: "square-pen", text: t("app.newChat"), address: chatAddress(null) };

/** @returns {Entry[]} */
function matchingPages(typed) {
  const all = [NEW, ...PAGES.map(({ name, icon: glyph }) => ({ group: "go", icon: glyph, text: t(`page.${name}`), address: `#/${name}` }))];
  return all.filter(({ text }) => text.toLowerCase().includes(typed.toLowerCase())).slice(0, typed ? 5 : 4);
}

/** @returns {Promise<Entry[]>} */
async function findChats(typed, signal) {
  if (!typed) {
    const { conversations } = await get(withQuery("/api/conversations", { mine: "true", limit: RECENT }), { signal });
    return conversations.map((chat) => ({ group: "recent", icon: "message-square", text: chat.title || t("palette.untitled"), at: chat.active_at, address: chatAddress(chat.id) }));
  }
  const hits = [];
  // A page may have few hits although there are more.
  for (let cursor = "", page = 0; cursor !== null && hits.length < ENOUGH && page < PAGES_READ; page += 1) {
    const found = await get(withQuery("/api/search", { q: typed, limit: 20, cursor }), { signal });
    hits.push(...found.hits);
    cursor = found.next;
  }
  return hits.map((hit) => ({
    group: hit.in === "title" ? "chats" : "messages",
    icon: hit.in === "answer" ? "bot" : "message-square",
    text: hit.title || t("palette.untitled"),
    excerpt: hit.in === "title" ? "" : hit.excerpt,
    at: hit.at,
    address: chatAddress(hit.conversation) + (hit.turn ? `#turn-${hit.turn}` : ""),
  }));
}

/** People by name, whose details open. @returns {Promise<Entry[]>} */
async function findPersons(typed) {
  if (!typed || !findPage("people")) return [];
  const found = await findPeople(typed);
  return found.slice(0, PEOPLE).map(({ value, text, hint }) => ({ group: "people", icon: "users", text, excerpt: hint, address: `#/people/${encodeURIComponent(value)}` }));
}

class Palette extends Element {
  static properties = { close: { attribute: false }, typed: { state: true }, chats: { state: true }, selected: { state: true }, waits: { state: true } };

  constructor() {
    super();
    /** @type {(value?: string) => void} */
    this.close = () => {};
    this.typed = "";
    /** @type {Entry[]} */
    this.chats = [];
    this.selected = 0;
    this.waits = false;
    this.asking = new AbortController();
    this.ask("", 0);
  }

  /** @returns {Entry[]} */
  get entries() {
    const pages = matchingPages(this.typed);
    const order = ["people", "chats", "messages"].flatMap((group) => this.chats.filter((one) => one.group === group));
    return this.typed ? [...pages, ...order] : [...this.chats, ...pages];
  }

  ask(typed, wait) {
    clearTimeout(this.timer);
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    this.waits = true;
    this.timer = setTimeout(async () => {
      const found = (await Promise.all([findPersons(typed), findChats(typed, signal)].map((one) => one.catch(() => [])))).flat();
      if (signal.aborted) return;
      Object.assign(this, { chats: found, waits: false, selected: 0 });
    }, wait);
  }

  changed(event) {
    this.typed = event.target.value.trim();
    this.selected = 0;
    this.ask(this.typed, WAIT);
  }

  pick(entry) {
    this.close();
    go(entry.address);
  }

  key(event) {
    if (event.isComposing) return;
    const { entries } = this;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && entries.length) this.selected = (this.selected + step + entries.length) % entries.length;
    else if (event.key === "Enter" && entries[this.selected]) this.pick(entries[this.selected]);
    else return;
    event.preventDefault();
  }

  // The dialog is shown before its content is drawn.
  firstUpdated() {
    this.querySelector("input").focus();
  }

  updated() {
    this.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }

  render() {
    const { entries, typed } = this;
    let group = "";
    const row = (entry, place) => {
      const head = entry.group === group ? nothing : html`<p class="group" role="presentation">${t(`palette.${entry.group}`)}</p>`;
      group = entry.group;
      return html`${head}<div class="found" id="entry-${place}" role="option" aria-selected=${place === this.selected}
        @mousemove=${() => (this.selected = place)} @click=${() => this.pick(entry)}>
        ${icon(entry.icon)}<span class="grow"><span class="words">${marked(entry.text, typed)}</span>
        ${entry.excerpt ? html`<small class="quiet">${marked(entry.excerpt, typed)}</small>` : nothing}</span>
        ${entry.at ? html`<small class="quiet">${time(entry.at)}</small>` : nothing}</div>`;
    };
    return html`<input class="input" type="search" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list"
        aria-label=${t("app.search")} placeholder=${t(findPage("people") ? "palette.placeholderPeople" : "palette.placeholder")} aria-activedescendant=${entries.length ? `entry-${this.selected}` : nothing}
        @input=${this.changed} @keydown=${this.key} />
      <div class="entries" id="palette-list" role="listbox" aria-label=${t("palette.results")} aria-busy=${this.waits}>${entries.map(row)}</div>
      ${entries.length || this.waits ? nothing : html`<p class="quiet none" role="status">${t("app.noMatches")}</p>`}`;
  }
}

customElements.define("roe-palette", Palette);

/** Open the palette. */
export function open() {
  if (document.querySelector("dialog[open]")) return;
  openDialog(t("app.search"), (close) => html`<roe-palette .close=${close}></roe-palette>`).classList.add("palette");
}
