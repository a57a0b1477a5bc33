// The last answer of a conversation can be given again.

import { post } from "./api.js";
import { actionButton } from "./components.js";

const REPEATABLE = new Set(["done", "failed", "cancelled"]);

/** Of a conversation's turns, newest first, the one that can be answered again; null for none. */
export function findRetryable(turns) {
  const last = turns.find((turn) => turn.kind === "chat");
  return last && REPEATABLE.has(last.state) ? last : null;
}

/** The button for it. */
export function retryButton(view, turn) {
  return actionButton(view, "Answer again", {
    id: "retry",
    about: `turn ${turn.id}`,
    ask: "The last answer in the chat is replaced by a new one.",
    work: () => post(`/api/turns/${turn.id}/retry`),
    done: "Answering again.",
  });
}
