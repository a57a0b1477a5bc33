// Agents of one's own.

import { get } from "../api.js";
import { el } from "../dom.js";
import { badge, listing } from "../pieces.js";

const HEADS = ["Agent", "What it is for", "Model", "Groups of tools", "State"];
const HOW =
  "An agent is a folder below agents/ in the home, with config.yaml and SOUL.md." +
  " A conversation's agent is chosen in it, by /agent NAME.";

export async function draw() {
  const { agents } = await get("/api/agents");
  const rows = agents.map((agent) => [
    agent.name,
    agent.description,
    agent.model || "the usual one",
    agent.tool_groups ? agent.tool_groups.join(", ") || "none" : "all",
    agent.problem ? el("span", {}, badge("can't be used", "bad"), ` ${agent.problem}`) : badge("ready", "good"),
  ]);
  return [listing("Agents", HEADS, rows, "There are no agents of your own."), el("p", { className: "none" }, HOW)];
}
