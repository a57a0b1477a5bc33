// The latest turns of all conversations, and one of them.

import { get } from "../api.js";
import { NOTHING, lasted, time } from "../format.js";
import { facts, link, listing, pages, section, toolbar } from "../pieces.js";
import { repeatable, retry } from "../retry.js";
import { tokens } from "../steps.js";
import { delivery, HEADS, row, state, transcript } from "../talk.js";

export const every = 10_000;
// The newest turn of the agent is among so many of its conversation.
const LATEST = 20;

export async function draw(view) {
  return view.rest ? one(view) : list(view);
}

async function list(view) {
  const { found, more } = await pages(view, "/api/turns", "turns");
  const rows = found.map((turn) => [...row(turn), where(turn)]);
  return [listing("Turns", [...HEADS, "Where"], rows, "Nothing was said yet."), more];
}

function where(turn) {
  return link(`#/conversations/${turn.conversation}`, `Conversation ${turn.conversation}`);
}

async function one(view) {
  const turn = await get(`/api/turns/${view.rest}`);
  const { turns } = await get(`/api/turns?conversation=${turn.conversation}&limit=${LATEST}`);
  const again = repeatable(turns)?.id === turn.id ? retry(view, turn) : null;
  return [
    toolbar(link("#/turns", "All turns"), where(turn), again),
    section(
      `Turn ${turn.id}`,
      facts([
        ["State", state(turn)],
        ["Delivery", delivery(turn)],
        ["Accepted", time(turn.created_at)],
        ["Ended", time(turn.finished_at)],
        ["Took", lasted(turn.created_at, turn.finished_at)],
        ["Tokens", tokens(turn.usage)],
        ["Run of the agent", turn.run_id || NOTHING],
        ["Thread of the agent", turn.thread_id || NOTHING],
        ["Answers again", turn.repeats ? link(`#/turns/${turn.repeats}`, `Turn ${turn.repeats}`) : NOTHING],
      ]),
    ),
    section("Transcript", transcript(view, [turn])),
  ];
}
