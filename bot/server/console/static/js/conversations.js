// The list of conversations.

import { get } from "./api.js";
import { $, el, show } from "./dom.js";

const DAY = 86_400_000;

export class Conversations {
  constructor(open) {
    this.open = open;
    this.known = new Map();
    this.next = null;
    this.current = null;
    $("more-conversations").addEventListener("click", () => this.load(this.next));
  }

  /** Load the newest page, or the one at `cursor`. */
  async load(cursor = "") {
    const page = await get(`/api/conversations?mine=true&limit=50&cursor=${encodeURIComponent(cursor)}`);
    for (const conversation of page.conversations) this.known.set(conversation.id, conversation);
    if (cursor || this.next === null) this.next = page.next;
    this.draw();
  }

  select(id) {
    this.current = id;
    this.draw();
  }

  draw() {
    const shown = [...this.known.values()].sort((a, b) => b.active_at - a.active_at);
    const items = [];
    let last = "";
    for (const conversation of shown) {
      const day = age(conversation.active_at * 1000);
      if (day !== last) items.push(el("li", { className: "day" }, day));
      last = day;
      items.push(this.item(conversation));
    }
    const focused = document.activeElement?.dataset?.conversation;
    $("conversations").replaceChildren(...items);
    if (focused) $("conversations").querySelector(`[data-conversation="${focused}"]`)?.focus();
    show($("no-conversations"), !items.length);
    show($("more-conversations"), Boolean(this.next));
  }

  item(conversation) {
    const title = conversation.title || "Untitled";
    const button = el("button", { type: "button", className: "conversation", title }, title);
    button.dataset.conversation = conversation.id;
    if (conversation.id === this.current) button.setAttribute("aria-current", "page");
    button.addEventListener("click", () => this.open(conversation.id));
    return el("li", {}, button);
  }
}

function age(time) {
  const today = new Date().setHours(0, 0, 0, 0);
  if (time >= today) return "Today";
  if (time >= today - DAY) return "Yesterday";
  return time >= today - 7 * DAY ? "This week" : "Earlier";
}
