// Messages and answers of turns, as a conversation.

import { html, nothing, repeat } from "../vendor/lit.js";
import { isWritten, quotation } from "../chat/message.js";
import { t } from "../texts/texts.js";
import { approvalNote, approvalTitle, choiceLabel, ownWords } from "../ui/approval.js";
import { duration, initials, marked, time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { choiceButtons, cost, stateBadge, tokens } from "./states.js";
import "../ui/markdown.js";

const STEP = { failed: "bad", active: "info", pending: "" };

function message(one) {
  const name = one.name || t(one.sender === "owner" ? "role.owner" : "turn.someone");
  return html`<div class="said mine"><p class="who"><span class="avatar" aria-hidden="true">${initials(name)}</span><strong class="words">${name}</strong><span class="quiet small">${time(one.sent_at)}</span></p>
    ${one.text ? html`<p class="words pre">${one.text}</p>` : nothing}
    ${(one.quotations || []).map(quotation)}${one.files.map(({ filename }) => html`<p class="small quiet words">${icon("paperclip")} ${filename}</p>`)}</div>`;
}

/** What an approval is asked for. */
export const requestView = (approval) => html`<div class="request-text"><p><strong>${approvalTitle(approval)}</strong></p><roe-markdown .source=${approval.request}></roe-markdown></div>`;

function part(turn, one, changed) {
  const request = one.own === null ? null : turn.approval;
  return html`${one.kind === "text"
      ? html`<roe-markdown .source=${ownWords(one)}></roe-markdown>`
      : html`<p><a href="${one.url}?download=true" download=${one.filename}>${icon("paperclip")} ${one.filename}</a></p>`}
    ${request ? requestView(request) : nothing}
    ${choiceButtons(turn.id, one.index, one.choices, t("turn.decide"), changed, request ? choiceLabel : undefined)}${request ? approvalNote(request, one.choices) : nothing}`;
}

/** The tool calls of a turn, folded. */
function steps(turn) {
  if (!turn.steps.length) return nothing;
  const code = (text) => (text ? html`<pre class="code" tabindex="0">${text}</pre>` : nothing);
  return html`<details class="tool-steps"><summary class="small fold">${t("turn.steps", { count: turn.steps.length })}</summary>
    ${turn.steps.map((step) => html`<div class="tool-step"><p class="row"><span class="mono">${step.tool || step.title}</span>
      ${step.state in STEP ? html`<span class="badge ${STEP[step.state]}">${t(`span.${step.state}`)}</span>` : nothing}<span class="quiet small">${duration(step.seconds)}</span></p>
      ${code(step.arguments)}${code(step.result)}</div>`)}</details>`;
}

/** One turn: what was asked and answered, without a failure (`known`) that is shown above. */
export function exchange(turn, changed, known = "") {
  const failure = turn.failure || (turn.parts.length ? "" : turn.error);
  const answered = turn.parts.length || turn.steps.length || turn.error;
  return html`${turn.messages.filter(isWritten).map(message)}
    ${answered ? html`<div class="said"><p class="who"><img src="/static/icon.svg" alt="" class="avatar" /><strong>${t("app.name")}</strong>
        <a class="state" data-go href="#/turns/${turn.id}" aria-label="${t("turn.trace")}: ${t("turn.number", { id: turn.id })}">${stateBadge(turn)}</a><span class="quiet small">${[tokens(turn.usage), cost(turn.usage)].filter(Boolean).join(" · ")}</span></p>
      ${steps(turn)}${turn.parts.map((one) => part(turn, one, changed))}${failure && failure !== known ? html`<p class="problem words">${marked(failure)}</p>` : nothing}</div>` : nothing}`;
}

/** A transcript of turns, oldest first. */
export const transcript = (turns, changed) =>
  html`<ol class="transcript" aria-label=${t("talk.transcript")}>${repeat(turns, ({ id }) => id, (turn) => html`<li>${exchange(turn, changed)}</li>`)}</ol>`;
