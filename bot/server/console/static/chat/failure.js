// A failed answer as a card: what happened, and the remedy for those who may use it.

import { html, nothing } from "../vendor/lit.js";
import { isAdmin } from "../app/session.js";
import { t } from "../texts/texts.js";
import { icon } from "../ui/icon.js";
import { remedyOf } from "../ui/remedy.js";
import { textView } from "./part.js";

/**
 * The template of a failure with its remedies.
 * @param {any} turn
 * @param {(() => void) | null} retry null if the turn can't be retried
 */
export function failureView(turn, retry) {
  const { link, note } = remedyOf(turn);
  return html`<div class="failure" role="group" aria-label=${t("chat.failed")}>
    <p class="row fail-head">${icon("circle-alert")}<strong>${t("chat.failed")}</strong></p>
    ${turn.failure ? textView(turn.failure) : nothing}
    ${note}
    <div class="row" ?hidden=${turn.replaced}>
      ${link}
      ${retry && turn.remedy?.kind !== "none" ? html`<button class="button tiny" type="button" @click=${retry}>${icon("refresh-cw")}${t("app.retry")}</button>` : nothing}
      ${isAdmin ? html`<a class="button tiny ghost" href="#/turns/${turn.id}">${icon("activity")}${t("chat.trace")}</a>` : nothing}
    </div>
  </div>`;
}
