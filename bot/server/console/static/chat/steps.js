// What the agent did for an answer, folded: tool calls, to-dos and subagents.

import { html, nothing, repeat } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { duration } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { isOpen } from "./conversation.js";

const GLYPHS = { pending: "circle-dot", active: "loader-circle", done: "circle-check", failed: "circle-x" };

const glyph = (state) => html`<span class="step-state ${state}" role="img" aria-label=${t(`chat.step.${state}`)}>${icon(GLYPHS[state] || "circle-dot")}</span>`;

/** The template of a turn's steps, nothing if there are none. */
export function stepsView(turn) {
  const { steps } = turn;
  if (!steps.length) return nothing;
  const todos = steps.filter((step) => step.kind === "todo");
  const calls = steps.filter((step) => step.kind !== "todo");
  return html`<details class="work-steps">
    <summary>${icon("chevron-right")}<span class="grow cut">${summary(turn, calls, todos)}</span></summary>
    ${todos.length
      ? html`<ul class="todos" aria-label=${t("chat.todos")}>
          ${todos.map((todo) => html`<li class=${todo.state}>${glyph(todo.state)}<span class="words">${todo.title}</span></li>`)}
        </ul>`
      : nothing}
    ${calls.length ? html`<ol class="calls">${repeat(calls, (_, place) => place, call)}</ol>` : nothing}
  </details>`;
}

function summary(turn, calls, todos) {
  const running = calls.findLast((step) => step.state === "active");
  if (isOpen(turn) && running) return html`<span class="pulse">${t("chat.using", { tool: running.title || running.tool })}</span>`;
  const failed = calls.filter((step) => step.state === "failed").length;
  const done = todos.filter((step) => step.state === "done").length;
  const pieces = [
    calls.length && t("chat.usedTools", { count: calls.length }),
    todos.length && t("chat.doneTodos", { done, all: todos.length }),
    failed && t("chat.failedTools", { count: failed }),
    turn.finished_at && duration(turn.finished_at - turn.created_at),
  ];
  return pieces.filter(Boolean).join(" · ");
}

function call(step) {
  return html`<li>
    <div class="row">
      ${glyph(step.state)}
      ${step.kind === "subagent" ? html`<span class="badge info">${t("chat.subagent")}</span>` : nothing}
      <span class="mono words">${step.tool}</span>
      ${step.seconds === null ? nothing : html`<span class="quiet small number">${duration(step.seconds)}</span>`}
    </div>
    ${step.title ? html`<p class="words">${step.title}</p>` : nothing}
    ${step.arguments ? html`<p class="call-text"><span class="quiet">${t("chat.arguments")}</span> <code class="words">${step.arguments}</code></p>` : nothing}
    ${step.result ? html`<p class="call-text"><span class="quiet">${t("chat.result")}</span> <span class="words">${step.result}</span></p>` : nothing}
    ${!step.result && step.state === "active" ? html`<p class="quiet small">${t("chat.noResultYet")}</p>` : nothing}
  </li>`;
}
