// A failed answer as a card: what happened, and the remedy for those who may use it.

import { html, nothing } from "../vendor/lit.js";
import { chatAddress } from "../app/router.js";
import { allowed, isAdmin } from "../app/session.js";
import { t } from "../texts/texts.js";
import { icon } from "../ui/icon.js";

/** Pages that solve a kind of failure, and who may open them. */
const PAGES = {
  model: { link: "#/models", text: "chat.remedy.model", glyph: "sparkles", may: isAdmin },
  agent: { link: "#/agents", text: "chat.remedy.agent", glyph: "bot", may: isAdmin },
  "sign-in": { link: "#/mcp", text: "chat.remedy.signIn", glyph: "key-round", may: allowed("inspect") },
  account: { link: "#/accounts", text: "chat.remedy.account", glyph: "plug", may: allowed("accounts") },
  limit: { link: "#/usage", text: "chat.remedy.limit", glyph: "gauge", may: true },
  new: { link: chatAddress(null), text: "app.newChat", glyph: "square-pen", may: true },
};

// Texts of the service for a failure begin with this sign, in every language.
const WARNING = /^⚠\ufe0f?\s*/;
const TYPED_RETRY = /\n\n[^\n]*`\/retry`[^\n]*$/;

/** What is shown of a failure: its sign is an icon here, and a button takes the place of the command. */
export const readFailure = (text) => (WARNING.test(text) ? text.replace(WARNING, "").replace(TYPED_RETRY, "") : text);

/**
 * The template of a failed answer with its remedies.
 * @param {any} turn
 * @param {unknown} answer the template of its parts, which may be the beginning of an answer
 * @param {(() => void) | null} retry null if the turn can't be retried
 */
export function failureView(turn, answer, retry) {
  const isOnlyFailure = turn.parts.length === 1 && WARNING.test(turn.parts[0].text);
  const kind = turn.remedy?.kind || "retry";
  const page = PAGES[kind];
  return html`${isOnlyFailure ? nothing : answer}<div class="failure" role="group" aria-label=${t("chat.failed")}>
    <p class="row fail-head">${icon("circle-alert")}<strong>${t("chat.failed")}</strong></p>
    ${isOnlyFailure ? answer : nothing}
    ${page && !page.may ? html`<p class="small">${t("chat.remedy.askAdmin")}</p>` : nothing}
    <div class="row">
      ${page?.may ? html`<a class="button tiny" data-go href=${page.link}>${icon(page.glyph)}${t(page.text)}</a>` : nothing}
      ${retry && kind !== "none" ? html`<button class="button tiny" type="button" @click=${retry}>${icon("refresh-cw")}${t("app.retry")}</button>` : nothing}
      ${isAdmin ? html`<a class="button tiny ghost" href="#/turns/${turn.id}">${icon("activity")}${t("chat.trace")}</a>` : nothing}
    </div>
  </div>`;
}
