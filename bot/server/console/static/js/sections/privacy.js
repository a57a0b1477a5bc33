// A person's data: export and erase it, and see the last erasure.

import { ApiError, get } from "../api.js";
import { badge, button, facts, field, link, section, text, toolbar } from "../components.js";
import { isAdmin, self } from "../current-user.js";
import { el } from "../dom.js";
import { reportNodes } from "../erasure-report.js";
import { dataPath, eraseButton, explainRefusal } from "../erasure.js";
import { time } from "../format.js";

/** An erasure that is not finished continues in the background. */
export const pollInterval = 5_000;
const PERSON = "The platform and the person's id, as platform:id. Leave empty for your own data.";
const WAITS = "The service continues by itself once running answers have ended and the agent runtime responds.";

export async function draw(view) {
  const wanted = view.settings.get("person") || "";
  return [isAdmin ? personField(wanted) : null, ...(await dataBlocks(view, wanted || self))];
}

function personField(person) {
  const who = text(person, { id: "person", maxLength: 256 });
  const show = () => {
    const wanted = who.value.trim();
    location.hash = wanted ? `#/privacy?person=${encodeURIComponent(wanted)}` : "#/privacy";
  };
  who.addEventListener("keydown", (event) => event.key === "Enter" && show());
  return toolbar(field("Person", who, PERSON), button("Show", { id: "show", press: show }));
}

async function dataBlocks(view, person) {
  let state;
  try {
    state = await get(dataPath(person, "erasure"));
  } catch (error) {
    if (!(error instanceof ApiError)) console.error(error);
    return [view.failure({ message: explainRefusal(error) })];
  }
  const title = person === self ? `Your data (${person})` : `Data of ${person}`;
  return [section(title, about(), actions(view, person)), section("Last erasure", ...lastErasure(state))];
}

const about = () =>
  el("p", {}, "The export is a JSON file with messages, answers, memory, schedules, usage and audit events.");

function actions(view, person) {
  const taken = link(dataPath(person, "data"), "Export");
  taken.className = "plain";
  taken.download = "roebot-data.json";
  return toolbar(taken, eraseButton(view, person, { id: "erase" }));
}

function lastErasure(state) {
  if (!state.requested_at) return [el("p", { className: "none" }, "No erasure has been requested.")];
  const finished = state.finished_at ? time(state.finished_at) : badge("in progress", "warn");
  const times = facts([
    ["Requested", time(state.requested_at)],
    ["Finished", finished],
  ]);
  return [times, state.finished_at ? null : el("p", {}, WAITS), ...reportNodes(state)];
}
