// What the person may want to say next, by a model: asked for with a button, since each time costs tokens.

import { html, nothing } from "../vendor/lit.js";
import { post } from "../api/client.js";
import { t } from "../texts/texts.js";
import { icon } from "../ui/icon.js";

/** Return suggestions after a turn. */
export async function loadFollowUps(turn, model) {
  const path = `/api/threads/${encodeURIComponent(turn.thread_id)}/suggestions`;
  // A thread that was deleted meanwhile has none.
  const none = (error) => (error.status === 404 ? { suggestions: [] } : Promise.reject(error));
  const { suggestions } = await post(path, { n: 3, ...(model ? { model_name: model } : {}) }).catch(none);
  return suggestions;
}

/**
 * The suggestions below the last answer, or the button that asks for them.
 * @param {import("./conversation.js").Conversation} talk
 * @param {{turn: number, texts: string[] | null} | null} shown
 * @param {{load: (turn: any) => void, take: (text: string) => void}} actions
 */
export function followUpsView(talk, shown, { load, take }) {
  const last = talk.last;
  if (!last || talk.busy || last.state !== "done" || last.asks || !last.thread_id || !talk.info?.own || !talk.writable) return nothing;
  if (!shown) {
    return html`<div class="follow-ups"><button class="tag" type="button" id="suggest" @click=${() => load(last)}>${icon("sparkles")}${t("chat.suggest")}</button></div>`;
  }
  if (!shown.texts) return html`<div class="follow-ups" role="status"><span class="tag quiet pulse">${t("chat.suggesting")}</span></div>`;
  if (!shown.texts.length) return html`<div class="follow-ups" role="status"><span class="tag quiet">${t("chat.noSuggestions")}</span></div>`;
  return html`<div class="follow-ups" role="group" aria-label=${t("chat.suggestions")}>
    ${shown.texts.map((text) => html`<button class="tag" type="button" @click=${() => take(text)}>${text}</button>`)}
  </div>`;
}
