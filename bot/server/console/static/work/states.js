// The state of a turn in words, its message in one line, and what can be done about it.

import { html, nothing } from "../vendor/lit.js";
import { post } from "../api/client.js";
import { isWritten } from "../chat/message.js";
import { t } from "../texts/texts.js";
import { attempt, confirmDialog, toast } from "../ui/dialog.js";
import { excerpt, money, number } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import "./texts.js";

const OPEN = { accepted: ["queued", ""], running: ["running", "info"], waiting: ["running", "info"], delivering: ["delivering", "info"] };
const ENDED = { failed: ["failed", "bad"], expired: ["expired", "bad"], cancelled: ["cancelled", ""], done: ["done", ""] };
const GLYPHS = { bad: "circle-x", warn: "circle-alert", info: "loader-circle" };
const REPEATABLE = new Set(["done", "failed", "cancelled"]);

export const isOpen = (turn) => turn.state in OPEN;

/** The state as `[key of its text, kind of its badge]`. */
export function stateOf(turn) {
  if (turn.asks) return [turn.approval ? "waiting" : "question", "warn"];
  if (turn.parts.some(({ state }) => state === "undelivered")) return ["undelivered", "bad"];
  if (turn.replaced && turn.state === "done") return ["replaced", ""];
  return OPEN[turn.state] || ENDED[turn.state];
}

/** A badge; what went well is quiet. */
export function stateBadge(turn) {
  const [key, kind] = stateOf(turn);
  return kind ? html`<span class="badge ${kind}">${icon(GLYPHS[kind])}${t(`turn.${key}`)}</span>` : html`<span class="small quiet">${t(`turn.${key}`)}</span>`;
}

/** The messages that a turn answers: a retry answers those of an earlier turn. */
export const messagesOf = (turn) => (turn.messages.length ? turn.messages : turn.original);

/** The message of a turn in one line: own words, or else the quoted ones, files, or the kind. */
export function asked(turn, most = 120) {
  const messages = messagesOf(turn).filter(isWritten);
  const text = messages.map((one) => one.text || (one.quotations || []).map((quoted) => `> ${quoted.text}`).join(" ")).join(" ");
  return excerpt(text, most) || messages.flatMap(({ files }) => files.map(({ filename }) => filename)).join(", ") || t(messages.length === messagesOf(turn).length ? `turn.kind.${turn.kind}` : "turn.stop");
}

export const author = (turn) => messagesOf(turn).find(({ name }) => name)?.name || "";
export const tokens = (usage) => (usage ? t("turn.tokens", { input: number(usage.input_tokens), output: number(usage.output_tokens) }) : "");
export const cost = (usage) => (usage?.cost ? money(usage.cost, usage.currency) : "");

/** Stop the run of a conversation; `done(stopped)` is called in any case. */
export async function stopRun(conversation, done) {
  const stop = () => post(`/api/conversations/${conversation}/stop`).then(() => t("turn.stopped"), (error) => (error.status === 409 ? t("turn.hadEnded") : Promise.reject(error)));
  const said = await attempt(stop);
  if (said) toast(said);
  done(Boolean(said));
}

/** Replace the last answer of a conversation by a new one. */
export async function retry(turn, done) {
  if (!(await confirmDialog(t("turn.retryAsk"), t("turn.retryText"), t("turn.retry")))) return;
  if ((await attempt(() => post(`/api/turns/${turn.id}/retry`), t("turn.retrying"))) !== undefined) done();
}

/** The turn that can be retried (`turns`: newest first), or null. */
export function repeatable(turns) {
  const last = turns.find(({ kind }) => kind === "chat");
  return last && REPEATABLE.has(last.state) ? last : null;
}

/** Buttons of a question or approval; `decided(choice)` is called after an answer. */
export function choiceButtons(turn, part, choices, about, decided, label = (choice) => choice) {
  const choose = async (choice) => {
    if ((await attempt(() => post(`/api/turns/${turn}/parts/${part}/choice`, { choice }), t("turn.answered", { choice: label(choice) }))) !== undefined) decided(choice);
  };
  return choices.length
    ? html`<div class="row" role="group" aria-label=${about}>${choices.map((choice, at) => html`<button class="button tiny ${at ? "" : "primary"}" @click=${() => choose(choice)}>${label(choice)}</button>`)}</div>`
    : nothing;
}
