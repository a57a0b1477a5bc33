// A person's message: text, quotations and files. Everything is inserted as text.

import { html, nothing } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { icon } from "../ui/icon.js";

/** Kinds of quotations that have a title of their own; any other content is "shared". */
const TITLED = new Set(["forward", "quote", "shared", "reply"]);

/** False for the command that the Stop button sends: its answer says enough. */
export const isWritten = ({ text, event_id }) => text !== "/stop" || !event_id.startsWith("page:");

/** The template of a message. `own` is false in a chat of several people, which names the author. */
export function messageView(message, { pending = false, own = true } = {}) {
  return html`<div class="asked ${pending ? "pending" : ""}" data-event=${message.event_id} dir="auto">
    ${own || !message.name ? nothing : html`<p class="by">${message.name}</p>`}
    ${message.text ? html`<p class="bubble" dir="auto">${message.text}</p>` : nothing}
    ${(message.quotations || []).map(quotation)}
    ${message.files?.length ? html`<p class="tags">${message.files.map((file) => html`<span class="tag">${icon("paperclip")}<span class="words">${file.filename}</span></span>`)}</p>` : nothing}
  </div>`;
}

/** The template of what a message quotes. */
export function quotation(one) {
  const title = t(`chat.quoted.${TITLED.has(one.kind) ? one.kind : "shared"}`);
  const author = one.author || one.author_id;
  return html`<blockquote class="quoted">
    <p class="by">${author ? t("chat.quoted.by", { title, author }) : title}</p>
    <p class="quoted-text" dir="auto">${one.text || one.files.join(", ") || t("chat.noText")}</p>
  </blockquote>`;
}
