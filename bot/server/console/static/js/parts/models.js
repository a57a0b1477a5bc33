// Models on offer; each can be asked for a word.

import { get, post } from "../api.js";
import { el } from "../dom.js";
import { NOTHING } from "../format.js";
import { senior } from "../me.js";
import { badge, deed, listing } from "../pieces.js";

const HEADS = ["Model", "Name", "At the provider", "Found in", "Can", "Note", "Actions"];
const HOW = "A conversation's model is chosen in it, by /model NAME.";
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
    !senior ? NOTHING : deed(view, "Try", {
      id: `try-${model.name}`,
      about: model.display_name,
      work: () => post(`/api/models/${encodeURIComponent(model.name)}/probe`),
      done: told,
    }),
  ]);
  return [
    el("p", { className: "none" }, reason),
    listing("Models", HEADS, rows, "No model answers yet."),
    el("p", { className: "none" }, `${senior ? "Try costs a few tokens. " : ""}${HOW}`),
  ];
}

function shown(model) {
  const name = el("span", {}, model.display_name);
  if (model.default) name.append(" ", badge("in use", "good"));
  return name;
}

function told(found) {
  const took = `${found.seconds.toFixed(1)} s`;
  return found.ok ? `${found.name} answers, after ${took}.` : `${found.name} does not answer: ${found.detail}`;
}
