// The last answer of a conversation can be given again.

import { post } from "./api.js";
import { deed } from "./pieces.js";

const REPEATABLE = new Set(["done", "failed", "cancelled"]);

/** Of a conversation's turns, newest first, the one that can be answered again; null for none. */
export function repeatable(turns) {
  const last = turns.find((turn) => turn.kind === "chat");
  return last && REPEATABLE.has(last.state) ? last : null;
}

/** The button for it. */
export function retry(view, turn) {
  return deed(view, "Answer again", {
    id: "retry",
    about: `turn ${turn.id}`,
    ask: "The last answer is replaced by a new one, in the chat in which it was given.",
    work: () => post(`/api/turns/${turn.id}/retry`),
    done: "It is answered again.",
  });
}
