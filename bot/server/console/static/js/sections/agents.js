// Custom agents: list, create, edit, delete.

import { call, get, post } from "../api.js";
import { formDialog } from "../dialog.js";
import { el } from "../dom.js";
import { NOTHING } from "../format.js";
import { isAdmin } from "../current-user.js";
import { badge, button, choice, actionButton, field, tableOrEmpty, text, toolbar } from "../components.js";
import { withForm } from "../section-view.js";

const HEADS = ["Agent", "Description", "Model", "Tool groups", "State", "Actions"];
const HOW =
  "Each agent is a folder in agents/ in the data directory, with config.yaml and SOUL.md." +
  " To choose the agent for a conversation, send the command agent NAME.";
const NAMES = "Lowercase letters, digits, - and _.";
const SEVERAL = "Comma-separated names. Leave empty for all, or enter - for none.";
const SOUL = "Added to the agent's instructions.";

export async function draw(view) {
  const { agents } = await get("/api/agents");
  const rows = agents.map((agent) => [
    agent.name,
    agent.description,
    agent.model || "default",
    agent.tool_groups ? agent.tool_groups.join(", ") || "none" : "all",
    agent.problem ? el("span", {}, badge("unavailable", "bad"), ` ${agent.problem}`) : badge("ready", "good"),
    isAdmin ? actions(view, agent.name) : NOTHING,
  ]);
  return [
    isAdmin && toolbar(button("New agent", { id: "new-agent", kind: "primary", press: (made) => edit(view, made) })),
    tableOrEmpty("Agents", HEADS, rows, "No custom agents yet."),
    el("p", { className: "none" }, HOW),
  ];
}

function actions(view, name) {
  return toolbar(
    button("Edit", { id: `edit-${name}`, about: name, press: (made) => edit(view, made, name) }),
    actionButton(view, "Delete", {
      id: `delete-${name}`,
      about: name,
      kind: "danger",
      ask: `This deletes ${name} and its folder. Conversations that use it will need another agent.`,
      work: () => call("DELETE", at(name)),
      done: (answer) => answer.message,
    }),
  );
}

async function edit(view, opener, name = "") {
  await withForm(view, opener, "Agent saved.", async () => {
    const [agent, { models }] = await Promise.all([name ? get(at(name)) : null, get("/api/models")]);
    const parts = fieldsOf(agent, models);
    const send = () => (agent ? call("PUT", at(name), parts.values()) : post("/api/agents", parts.values()));
    return formDialog(agent ? `Edit ${name}` : "New agent", parts.fields, "Save", send);
  });
}

function fieldsOf(agent, models) {
  const name = text("", { required: true, maxLength: 64, pattern: "[a-z0-9][a-z0-9_\\-]*" });
  const description = text(agent?.description || "", { maxLength: 500 });
  const offered = models.map((one) => [one.name, one.display_name]);
  if (agent?.model && !models.some((one) => one.name === agent.model)) {
    offered.push([agent.model, `${agent.model} (not available)`]);
  }
  const model = choice([["", "Default"], ...offered], agent?.model || "");
  const groups = text(shown(agent?.tool_groups), { maxLength: 2000 });
  const skills = text(shown(agent?.skills), { maxLength: 2000 });
  const personality = el("textarea", { rows: 8, defaultValue: agent?.personality || "" });
  const values = () => ({
    ...(agent ? {} : { name: name.value.trim() }),
    description: description.value,
    model: model.value || null,
    tool_groups: parseNames(groups.value),
    skills: parseNames(skills.value),
    personality: personality.value,
  });
  const fields = [
    agent?.problem && el("p", { className: "problem" }, `${agent.problem} Saving replaces its files.`),
    agent ? null : field("Name", name, NAMES),
    field("Description", description),
    field("Model", model),
    field("Tool groups", groups, SEVERAL),
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

/** Parse the comma-separated names of a field; null means all. */
function parseNames(written) {
  const names = written.split(",").map((name) => name.trim()).filter(Boolean);
  if (!names.length) return null;
  return names.length === 1 && names[0] === "-" ? [] : names;
}
