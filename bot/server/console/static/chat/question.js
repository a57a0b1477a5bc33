// Questions and approvals of the agent as cards with buttons.

import { html } from "../vendor/lit.js";
import { choiceLabel } from "../ui/approval.js";
import { t } from "../texts/texts.js";
import { icon } from "../ui/icon.js";

/**
 * The buttons of an open question, or of an approval.
 * @param {any} part
 * @param {any} approval null for a question
 * @param {boolean} waits while an answer is on its way
 * @param {(choice: string) => void} choose
 */
export function choicesView(part, approval, waits, choose) {
  return html`<div class="choices" role="group" aria-label=${t("chat.choices")}>
    ${part.choices.map((choice, place) => {
      const kind = !approval ? "" : choice === approval.rejection ? "danger" : place === 0 ? "primary" : "";
      return html`<button class="button choice ${kind}" type="button" aria-disabled=${waits} data-choice=${choice}
        @click=${() => !waits && choose(choice)}>${kind ? icon(kind === "danger" ? "x" : "check") : ""}${approval ? choiceLabel(choice) : choice}</button>`;
    })}
  </div>`;
}
