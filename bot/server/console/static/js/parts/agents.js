// Agents of one's own: seen, made, changed, deleted.

import { call, get, post } from "../api.js";
import { form } from "../dialog.js";
import { el } from "../dom.js";
import { NOTHING } from "../format.js";
import { senior } from "../me.js";
import { badge, button, choice, deed, field, listing, text, toolbar } from "../pieces.js";
import { editing } from "../view.js";

const HEADS = ["Agent", "What it is for", "Model", "Groups of tools", "State", "Actions"];
const HOW =
  "An agent is a folder below agents/ in the home, with config.yaml and SOUL.md." +
  " A conversation's agent is chosen in it, by /agent NAME.";
const NAMES = "Lower-case letters, digits, - and _.";
const SEVERAL = "Names with commas between them; empty: all of them, -: none.";
const SOUL = "It is put into the agent's instructions.";

export async function draw(view) {
  const { agents } = await get("/api/agents");
  const rows = agents.map((agent) => [
    agent.name,
    agent.description,
    agent.model || "the usual one",
    agent.tool_groups ? agent.tool_groups.join(", ") || "none" : "all",
    agent.problem ? el("span", {}, badge("can't be used", "bad"), ` ${agent.problem}`) : badge("ready", "good"),
    senior ? actions(view, agent.name) : NOTHING,
  ]);
  return [
    senior && toolbar(button("New agent", { id: "new-agent", kind: "primary", press: (made) => edit(view, made) })),
    listing("Agents", HEADS, rows, "There are no agents of your own."),
    el("p", { className: "none" }, HOW),
  ];
}

function actions(view, name) {
  return toolbar(
    button("Edit", { id: `edit-${name}`, about: name, press: (made) => edit(view, made, name) }),
    deed(view, "Delete", {
      id: `delete-${name}`,
      about: name,
      kind: "danger",
      ask: `${name} goes with its folder. Conversations that chose it need another agent then.`,
      work: () => call("DELETE", at(name)),
      done: (answer) => answer.message,
    }),
  );
}

async function edit(view, opener, name = "") {
  await editing(view, opener, "The agent is saved.", async () => {
    const [agent, { models }] = await Promise.all([name ? get(at(name)) : null, get("/api/models")]);
    const parts = fieldsOf(agent, models);
    const send = () => (agent ? call("PUT", at(name), parts.values()) : post("/api/agents", parts.values()));
    return form(agent ? `Edit ${name}` : "New agent", parts.fields, "Save", send);
  });
}

function fieldsOf(agent, models) {
  const name = text("", { required: true, maxLength: 64, pattern: "[a-z0-9][a-z0-9_\\-]*" });
  const description = text(agent?.description || "", { maxLength: 500 });
  const offered = models.map((one) => [one.name, one.display_name]);
  if (agent?.model && !models.some((one) => one.name === agent.model)) {
    offered.push([agent.model, `${agent.model} (not there)`]);
  }
  const model = choice([["", "The usual one"], ...offered], agent?.model || "");
  const groups = text(shown(agent?.tool_groups), { maxLength: 2000 });
  const skills = text(shown(agent?.skills), { maxLength: 2000 });
  const personality = el("textarea", { rows: 8, defaultValue: agent?.personality || "" });
  const values = () => ({
    ...(agent ? {} : { name: name.value.trim() }),
    description: description.value,
    model: model.value || null,
    tool_groups: several(groups.value),
    skills: several(skills.value),
    personality: personality.value,
  });
  const fields = [
    agent?.problem && el("p", { className: "problem" }, `${agent.problem} What is saved here replaces its files.`),
    agent ? null : field("Name", name, NAMES),
    field("What it is for", description),
    field("Model", model),
    field("Groups of tools", groups, SEVERAL),
    field("Skills", skills, SEVERAL),
    field("Personality", personality, SOUL),
  ];
  return { fields: fields.filter(Boolean), values };
}

function at(name) {
  return `/api/agents/${encodeURIComponent(name)}`;
}

function shown(names) {
  return names ? names.join(", ") || "-" : "";
}

/** The names that stand in a field; null for all of them. */
function several(written) {
  const names = written.split(",").map((name) => name.trim()).filter(Boolean);
  if (!names.length) return null;
  return names.length === 1 && names[0] === "-" ? [] : names;
}
