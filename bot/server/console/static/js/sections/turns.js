// The latest turns of all conversations, and the details of one.

import { get } from "../api.js";
import { NOTHING, elapsed, time } from "../format.js";
import { facts, link, tableOrEmpty, fetchPages, section, toolbar } from "../components.js";
import { findRetryable, retryButton } from "../retry.js";
import { tokens } from "../tool-calls.js";
import { delivery, HEADS, row, state, transcript } from "../turn-view.js";

export const pollInterval = 10_000;
// The newest agent turn is among this many of its conversation.
const LATEST = 20;

export async function draw(view) {
  return view.rest ? one(view) : list(view);
}

async function list(view) {
  const { found, more } = await fetchPages(view, "/api/turns", "turns");
  const rows = found.map((turn) => [...row(turn), conversationCell(turn)]);
  return [tableOrEmpty("Turns", [...HEADS, "Chat"], rows, "No turns yet."), more];
}

/** The number alone keeps the table narrow. */
function conversationCell(turn) {
  const { conversation } = turn;
  return link(`#/conversations/${conversation}`, String(conversation), `Conversation ${conversation}`);
}

function conversationLink(turn) {
  return link(`#/conversations/${turn.conversation}`, `Conversation ${turn.conversation}`);
}

async function one(view) {
  const turn = await get(`/api/turns/${view.rest}`);
  const { turns } = await get(`/api/turns?conversation=${turn.conversation}&limit=${LATEST}`);
  const again = findRetryable(turns)?.id === turn.id ? retryButton(view, turn) : null;
  return [
    toolbar(link("#/turns", "All turns"), conversationLink(turn), again),
    section(
      `Turn ${turn.id}`,
      facts([
        ["State", state(turn)],
        ["Delivery", delivery(turn)],
        ["Accepted", time(turn.created_at)],
        ["Finished", time(turn.finished_at)],
        ["Duration", elapsed(turn.created_at, turn.finished_at)],
        ["Tokens", tokens(turn.usage)],
        ["Agent run", turn.run_id || NOTHING],
        ["Agent thread", turn.thread_id || NOTHING],
        ["Retry of", turn.repeats ? link(`#/turns/${turn.repeats}`, `Turn ${turn.repeats}`) : NOTHING],
      ]),
    ),
    section("Transcript", transcript(view, [turn])),
  ];
}
