// Details of an answer: time, model, tokens and cost.

import { html, nothing } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { openDialog } from "../ui/dialog.js";
import { dateTime, duration, money, number } from "../ui/format.js";
import { icon } from "../ui/icon.js";

/** Show the details of a turn. */
export function showDetails(turn) {
  const { usage } = turn;
  const facts = [
    [t("chat.details.sent"), dateTime(turn.created_at)],
    [t("chat.details.duration"), turn.finished_at ? duration(turn.finished_at - turn.created_at) : t("chat.details.running")],
    [t("chat.details.model"), turn.model || t("chat.details.unknown")],
    usage && [t("chat.details.input"), number(usage.input_tokens)],
    usage?.cached_tokens && [t("chat.details.cached"), number(usage.cached_tokens)],
    usage && [t("chat.details.output"), number(usage.output_tokens)],
    usage?.currency && [t("chat.details.cost"), money(usage.cost, usage.currency)],
    turn.error && [t("chat.details.error"), turn.error],
  ].filter(Boolean);
  openDialog(
    t("chat.details"),
    (close) => html`<dl class="facts">
        ${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
      </dl>
      ${usage ? nothing : html`<p class="quiet small">${t("chat.details.notCounted")}</p>`}
      <div class="answers">
        <a class="button" href="#/turns/${turn.id}" @click=${() => close()}>${icon("activity")}${t("chat.trace")}</a>
        <button class="button primary" autofocus @click=${() => close()}>${t("app.close")}</button>
      </div>`,
  );
}
