// Retry the last answer of a conversation.

import { post } from "./api.js";
import { actionButton } from "./components.js";

const REPEATABLE = new Set(["done", "failed", "cancelled"]);

/** Return the turn that can be retried (`turns`: newest first), null if none can. */
export function findRetryable(turns) {
  const last = turns.find((turn) => turn.kind === "chat");
  return last && REPEATABLE.has(last.state) ? last : null;
}

/** Return the retry button of a turn. */
export function retryButton(view, turn) {
  return actionButton(view, "Regenerate", {
    id: "retry",
    about: `turn ${turn.id}`,
    ask: "This replaces the last answer in the chat with a new one.",
    work: () => post(`/api/turns/${turn.id}/retry`),
    done: "Answering again…",
  });
}
