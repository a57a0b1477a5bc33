// Available models, each with a test prompt.

import { get, post } from "../api.js";
import { el } from "../dom.js";
import { NOTHING } from "../format.js";
import { isAdmin } from "../current-user.js";
import { badge, actionButton, tableOrEmpty } from "../components.js";

const HEADS = ["Model", "Name", "Provider model", "Source", "Supports", "Note", "Actions"];
const HOW = "To choose the model for a conversation, send the command model NAME.";
const SKILLS = [
  ["supports_tools", "tools"],
  ["supports_vision", "images"],
  ["supports_thinking", "thinking"],
  ["supports_reasoning_effort", "effort"],
];

export async function draw(view) {
  const { models, reason } = await get("/api/models");
  const rows = models.map((model) => [
    shown(model),
    model.name,
    model.model,
    model.source,
    SKILLS.filter(([key]) => model[key])
      .map(([, name]) => name)
      .join(", "),
    model.note || "",
    !isAdmin ? NOTHING : actionButton(view, "Test", {
      id: `try-${model.name}`,
      about: model.display_name,
      work: () => post(`/api/models/${encodeURIComponent(model.name)}/probe`),
      done: describeResult,
    }),
  ]);
  return [
    el("p", { className: "none" }, reason),
    tableOrEmpty("Models", HEADS, rows, "No models are available yet."),
    el("p", { className: "none" }, `${isAdmin ? "A test costs a few tokens. " : ""}${HOW}`),
  ];
}

function shown(model) {
  const name = el("span", {}, model.display_name);
  if (model.default) name.append(" ", badge("default", "good"));
  return name;
}

function describeResult(found) {
  const took = `${found.seconds.toFixed(1)} s`;
  return found.ok ? `${found.name} answered in ${took}.` : `${found.name} failed: ${found.detail}`;
}
