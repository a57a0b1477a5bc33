// Questions and approvals of the agent as cards with buttons.

import { html } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { icon } from "../ui/icon.js";

// Texts of the service for a request of approval begin with this sign, in every language.
const APPROVAL = "🔐";
const DANGER = new Set(["reject", "拒绝"]);

/** Return whether a part asks for approval of a tool call. */
export const isApproval = (part) => part.kind === "text" && part.text.startsWith(APPROVAL);

/**
 * What is shown of a request: its title is that of the card, and buttons take the place of the commands in its last
 * paragraph, which also says for how many hours it stays open (0 if it does not say so).
 */
export function readApproval(text) {
  const [, request, typed = ""] = /^([\s\S]*?)(?:\n\n([^\n]*`\/reject \d+`[^\n]*))?$/.exec(text) || [, text];
  return { text: request.replace(/^🔐\s*(?:\*\*[^*]*\*\*\s*)?/u, ""), hours: Number(/`\D*(\d+)[^`]*$/.exec(typed)?.[1] || 0) };
}

/**
 * The buttons of an open question.
 * @param {any} part
 * @param {boolean} waits while an answer is on its way
 * @param {(choice: string) => void} choose
 */
export function choicesView(part, waits, choose) {
  const approval = isApproval(part);
  return html`<div class="choices" role="group" aria-label=${t("chat.choices")}>
    ${part.choices.map((choice, place) => {
      const kind = !approval ? "" : place === 0 ? "primary" : DANGER.has(choice) ? "danger" : "";
      return html`<button class="button choice ${kind}" type="button" aria-disabled=${waits} data-choice=${choice}
        @click=${() => !waits && choose(choice)}>${approval && place === 0 ? icon("check") : kind === "danger" ? icon("x") : ""}${choice}</button>`;
    })}
  </div>`;
}
