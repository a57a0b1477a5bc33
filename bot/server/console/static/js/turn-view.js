// Turns as rows of a table and as a transcript; what people said is put in as text.

import { post } from "./api.js";
import { el } from "./dom.js";
import { excerpt, elapsed, NOTHING, number, time } from "./format.js";
import { copyButtons, render } from "./markdown.js";
import { badge, actionButton, link, toolbar } from "./components.js";
import { steps, tokens } from "./tool-calls.js";

const KINDS = { done: "good", failed: "bad", expired: "bad", cancelled: "warn", waiting: "warn" };
export const HEADS = ["Turn", "Message", "Type", "State", "Accepted", "Duration", "Delivery", "Tokens"];

/** The cells of a turn under HEADS. */
export function row(turn) {
  return [
    link(`#/turns/${turn.id}`, `Turn ${turn.id}`),
    excerpt(turn.messages.map((message) => message.text).join(" "), 60) || NOTHING,
    turn.kind,
    state(turn),
    time(turn.created_at),
    elapsed(turn.created_at, turn.finished_at),
    delivery(turn),
    turn.usage ? number(turn.usage.total_tokens) : NOTHING,
  ];
}

export function state(turn) {
  const text = turn.replaced ? `${turn.state}, replaced` : turn.state;
  return badge(text, KINDS[turn.state]);
}

/** How much of the reply has reached the chat. */
export function delivery(turn) {
  const states = turn.parts.map((part) => part.state);
  if (!states.length) return NOTHING;
  if (states.includes("undelivered")) return badge("not delivered", "bad");
  const final = states.filter((one) => one === "final").length;
  const text = final === states.length ? "delivered" : `${final} of ${states.length} parts delivered`;
  const repeated = turn.parts.some((part) => part.repeated) ? ", possibly repeated" : "";
  return badge(text + repeated, final === states.length && !repeated ? "good" : "warn");
}

/** What was said in turns, oldest first. */
export function transcript(view, turns) {
  const items = turns.map((turn) => said(view, turn));
  const made = el("ol", { className: "turn-list", "aria-label": "Transcript" }, ...items);
  copyButtons(made);
  return made;
}

function said(view, turn) {
  const asked = turn.messages.flatMap((message) => [
    el("p", { className: "by" }, message.name || message.sender, ", ", time(message.sent_at)),
    el("p", { className: "words" }, message.text || "(no text)"),
    ...message.files.map((file) => el("p", { className: "by" }, `File: ${file.filename}`)),
  ]);
  const answered = turn.parts.map((part) =>
    part.kind === "file"
      ? el("p", {}, el("a", { href: `${part.url}?download=true`, download: part.filename }, part.filename))
      : answer(part),
  );
  const head = el("h3", {}, `Turn ${turn.id} `, state(turn), " ", delivery(turn));
  const called = toolCalls(turn);
  const box = el("li", {}, head, ...asked);
  if (called) box.append(called);
  if (answered.length) box.append(el("p", { className: "by" }, "Answer"), ...answered);
  for (const part of turn.parts) if (part.choices.length) box.append(offer(view, turn, part));
  if (turn.usage) box.append(el("p", { className: "by" }, `Tokens: ${tokens(turn.usage)}`));
  if (turn.error) box.append(el("p", { className: "problem" }, turn.error));
  return box;
}

/** Part of an answer, as the chat shows it. */
function answer(part) {
  const box = el("div", { className: "markdown" });
  render(box, part.html);
  return box;
}

/** The buttons of a question. */
function offer(view, turn, part) {
  const path = `/api/turns/${turn.id}/parts/${part.index}/choice`;
  const made = part.choices.map((choice, place) =>
    actionButton(view, choice, {
      id: `choice-${turn.id}-${part.index}-${place}`,
      about: `turn ${turn.id}`,
      work: () => post(path, { choice }),
      done: "Answer sent.",
    }),
  );
  return toolbar(...made);
}
