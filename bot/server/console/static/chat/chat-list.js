// The person's chats in the sidebar, by day; each can be renamed, exported and deleted.

import { html, nothing, repeat } from "../vendor/lit.js";
import { get, withQuery } from "../api/client.js";
import { chatAddress } from "../app/router.js";
import { t } from "../texts/texts.js";
import { attempt } from "../ui/dialog.js";
import { Element } from "../ui/element.js";
import { menuButton } from "../ui/menu.js";
import { chatActions, renameChat } from "./chat-actions.js";
import "./texts.js";

const POLL = 15_000;
const PAGE = 50;
const DAY = 86_400_000;

function dayOf(time) {
  const today = new Date().setHours(0, 0, 0, 0);
  if (time >= today) return "today";
  if (time >= today - DAY) return "yesterday";
  if (time >= today - 7 * DAY) return "week";
  return time >= today - 30 * DAY ? "month" : "earlier";
}

class ChatList extends Element {
  static properties = { current: { attribute: false }, chats: { state: true }, next: { state: true }, renaming: { state: true } };

  constructor() {
    super();
    /** @type {number | null} */
    this.current = null;
    /** @type {any[] | null} */
    this.chats = null;
    /** @type {string | null} */
    this.next = null;
    /** The chat whose title is edited. */
    this.renaming = 0;
    this.pages = 1;
    this.onChange = () => this.load();
  }

  connectedCallback() {
    super.connectedCallback();
    this.load();
    this.timer = setInterval(() => !document.hidden && this.load(), POLL);
    addEventListener("chats-changed", this.onChange);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.timer);
    removeEventListener("chats-changed", this.onChange);
  }

  /** Load as many pages as are shown. */
  async load() {
    const loads = (this.loads = (this.loads || 0) + 1);
    const found = [];
    let next = "";
    for (let page = 0; page < this.pages && next !== null; page += 1) {
      const answer = await get(withQuery("/api/conversations", { mine: "true", limit: PAGE, cursor: next })).catch(() => null);
      if (!answer || loads !== this.loads) return;
      found.push(...answer.conversations);
      next = answer.next;
    }
    this.chats = found.sort((one, other) => other.active_at - one.active_at);
    this.next = next;
  }

  showMore() {
    this.pages += 1;
    this.load();
  }

  startRename(chat) {
    this.renaming = chat.id;
    this.updateComplete.then(() => {
      const field = /** @type {HTMLInputElement} */ (this.querySelector(".rename"));
      field.focus();
      field.select();
    });
  }

  async endRename(chat, title) {
    if (this.renaming !== chat.id) return;
    this.renaming = 0;
    if (title && title !== chat.title) await attempt(() => renameChat(chat, title));
    await this.updateComplete;
    /** @type {HTMLElement | null} */ (this.querySelector(`[data-conversation="${chat.id}"]`))?.focus();
  }

  renameKey(event, chat) {
    if (event.isComposing) return;
    if (event.key === "Enter") this.endRename(chat, event.target.value.trim());
    if (event.key === "Escape") {
      event.stopPropagation();
      this.endRename(chat, "");
    }
  }

  item(chat) {
    if (chat.id === this.renaming) {
      return html`<input class="input rename" aria-label=${t("chat.title")} maxlength="200" .value=${chat.title}
        @keydown=${(event) => this.renameKey(event, chat)} @blur=${(event) => this.endRename(chat, event.target.value.trim())} />`;
    }
    const title = chat.title || t("chat.untitled");
    return html`<div class="chat-item">
      <a class="nav-item conversation" data-go data-conversation=${chat.id} href=${chatAddress(chat.id)} title=${title}
        aria-current=${chat.id === this.current ? "page" : nothing}><span class="grow cut">${title}</span></a>
      ${menuButton(t("chat.actionsOf", { title }), "ellipsis", () => chatActions(chat, () => this.startRename(chat)), "ghost icon tiny")}
    </div>`;
  }

  render() {
    const { chats } = this;
    if (!chats) return nothing;
    if (!chats.length) return html`<p class="small quiet no-chats" id="no-conversations">${t("chat.noChats")}</p>`;
    let day = "";
    const rows = chats.flatMap((chat) => {
      const own = dayOf(chat.active_at * 1000);
      const head = own === day ? [] : [{ key: own, view: html`<h3 class="day">${t(`chat.day.${own}`)}</h3>` }];
      day = own;
      return [...head, { key: chat.id, view: this.item(chat) }];
    });
    return html`<nav id="conversations" aria-label=${t("app.chats")}>
      ${repeat(rows, ({ key }) => key, ({ view }) => view)}
      ${this.next ? html`<button class="nav-item quiet" type="button" @click=${this.showMore}>${t("app.showMore")}</button>` : nothing}
    </nav>`;
  }
}

customElements.define("roe-chat-list", ChatList);
