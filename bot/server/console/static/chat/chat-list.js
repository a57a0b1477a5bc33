// The person's chats in the sidebar, by day.

import { html, nothing, repeat } from "../vendor/lit.js";
import { get, withQuery } from "../api/client.js";
import { chatAddress } from "../app/router.js";
import { t } from "../texts/texts.js";
import { Element } from "../ui/element.js";

const POLL = 15_000;

class ChatList extends Element {
  static properties = { current: { attribute: false }, chats: { state: true }, next: { state: true } };

  constructor() {
    super();
    /** @type {number | null} */
    this.current = null;
    /** @type {any[]} */
    this.chats = [];
    /** @type {string | null} */
    this.next = null;
  }

  connectedCallback() {
    super.connectedCallback();
    this.load();
    this.timer = setInterval(() => !document.hidden && this.load(), POLL);
    addEventListener("chats-changed", () => this.load());
  }

  async load() {
    const page = await get(withQuery("/api/conversations", { mine: "true", limit: 50 })).catch(() => null);
    if (page) [this.chats, this.next] = [page.conversations, page.next];
  }

  render() {
    if (!this.chats.length) return nothing;
    return html`<nav aria-label=${t("app.chats")}>
      <p class="small quiet">${t("app.chats")}</p>
      ${repeat(this.chats, ({ id }) => id, (chat) => html`<a class="nav-item" data-go href=${chatAddress(chat.id)}
        aria-current=${chat.id === this.current ? "page" : nothing}><span class="grow cut">${chat.title || "…"}</span></a>`)}
    </nav>`;
  }
}

customElements.define("roe-chat-list", ChatList);
