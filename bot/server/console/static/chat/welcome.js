// The empty chat: a greeting and things to begin with.

import { html } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { icon } from "../ui/icon.js";

/** Starter prompts, by the key of their texts; most use a bundled skill. */
const STARTERS = [
  ["team", "sparkles"],
  ["remind", "clock"],
  ["csv", "chart-no-axes-column"],
  ["meeting", "list-todo"],
  ["document", "book-open"],
  ["release", "scroll-text"],
];

/** The template of the empty chat; `take(text)` puts a prompt into the message field. */
export const welcomeView = (take) => html`<section class="welcome" id="welcome">
  <img src="/static/icon.svg" alt="" width="48" height="48" />
  <h2>${t("chat.welcome")}</h2>
  <p class="quiet">${t("chat.welcomeHint")}</p>
  <ul class="starters">
    ${STARTERS.map(([key, glyph]) => html`<li><button class="starter card" type="button" @click=${() => take(t(`chat.start.${key}.text`))}>
      ${icon(glyph)}<span><strong>${t(`chat.start.${key}`)}</strong><small class="quiet">${t(`chat.start.${key}.text`)}</small></span>
    </button></li>`)}
  </ul>
</section>`;
