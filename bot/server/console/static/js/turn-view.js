// Turns as table rows and as a transcript. People's messages are inserted as text.

import { post } from "./api.js";
import { el } from "./dom.js";
import { excerpt, elapsed, NOTHING, number, time } from "./format.js";
import { copyButtons, render } from "./markdown.js";
import { quotations, summary } from "./quotations.js";
import { badge, actionButton, link, toolbar } from "./components.js";
import { tokens, toolCalls } from "./tool-calls.js";

const KINDS = { done: "good", failed: "bad", expired: "bad", cancelled: "warn", waiting: "warn" };
export const HEADS = ["Turn", "Message", "Type", "State", "Accepted", "Duration", "Delivery", "Tokens"];

/** Return the cells of a turn for HEADS. */
export function row(turn) {
  return [
    link(`#/turns/${turn.id}`, `Turn ${turn.id}`),
    excerpt(turn.messages.map(summary).join(" "), 60) || NOTHING,
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

/** Return how much of the reply was delivered. */
export function delivery(turn) {
  const states = turn.parts.map((part) => part.state);
  if (!states.length) return NOTHING;
  if (states.includes("undelivered")) return badge("not delivered", "bad");
  const final = states.filter((one) => one === "final").length;
  const text = final === states.length ? "delivered" : `${final} of ${states.length} parts delivered`;
  const repeated = turn.parts.some((part) => part.repeated) ? ", possible duplicate" : "";
  return badge(text + repeated, final === states.length && !repeated ? "good" : "warn");
}

/** Return the messages and answers of turns, oldest first. */
export function transcript(view, turns) {
  const items = turns.map((turn) => turnItem(view, turn));
  const made = el("ol", { className: "turn-list", "aria-label": "Transcript" }, ...items);
  copyButtons(made);
  return made;
}

function turnItem(view, turn) {
  const asked = turn.messages.flatMap((message) => [
    el("p", { className: "by" }, message.name || message.sender, ", ", time(message.sent_at)),
    ...(message.text || !message.quotations.length
      ? [el("p", { className: "words" }, message.text || "(no text)")]
      : []),
    ...quotations(message),
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
  for (const part of turn.parts) if (part.choices.length) box.append(choiceButtons(view, turn, part));
  if (turn.usage) box.append(el("p", { className: "by" }, `Tokens: ${tokens(turn.usage)}`));
  if (turn.error) box.append(el("p", { className: "problem" }, turn.error));
  return box;
}

/** Render one part of an answer like the chat does. */
function answer(part) {
  const box = el("div", { className: "markdown" });
  if (part.html) render(box, part.html);
  else box.textContent = part.text;
  return box;
}

/** Return the buttons of a question. */
function choiceButtons(view, turn, part) {
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
