// Skills: what there is, on and off, and installing one.

import { call, get, post } from "../api.js";
import { form } from "../dialog.js";
import { el } from "../dom.js";
import { NOTHING } from "../format.js";
import { owner, senior } from "../me.js";
import { badge, button, deed, field, listing, section, toolbar } from "../pieces.js";
import { tell } from "../view.js";

const HEADS = ["Skill", "What it is for", "Kind", "Version", "Tools", "State", "Actions"];

export async function draw(view) {
  const { skills, problems } = await get("/api/skills");
  const broken = problems.map((one) => [one.path, one.error]);
  return [
    owner && toolbar(button("Install a skill", { id: "install", kind: "primary", press: (made) => install(view, made) })),
    listing("Skills", HEADS, skills.map((skill) => row(view, skill)), "There are no skills."),
    broken.length ? section("What can't be used", listing("Broken skills", ["Folder", "Why"], broken, "")) : null,
  ];
}

function row(view, skill) {
  const label = skill.enabled ? "Switch off" : "Switch on";
  return [
    skill.name,
    skill.description,
    skill.category,
    skill.version || "",
    skill.allowed_tools ? skill.allowed_tools.join(", ") : "any",
    badge(skill.enabled ? "on" : "off", skill.enabled ? "good" : ""),
    !senior ? NOTHING : deed(view, label, {
      id: `switch-${skill.name}`,
      about: skill.name,
      work: () => call("PUT", `/api/skills/${encodeURIComponent(skill.name)}`, { enabled: !skill.enabled }),
      done: `${skill.name} is ${skill.enabled ? "off" : "on"}.`,
    }),
  ];
}

async function install(view, opener) {
  const file = el("input", { type: "file", accept: ".skill", required: true });
  let answer = null;
  const send = async () => {
    const body = new FormData();
    body.set("file", file.files[0]);
    answer = await post("/api/skills/install", body);
  };
  const hint = "A .skill archive. What is in it is followed by the agent: install only what you trust.";
  if (!(await form("Install a skill", [field("Archive", file, hint)], "Install", send))) return;
  const programs = answer.executables.length ? ` It brings programs: ${answer.executables.join(", ")}.` : "";
  tell(answer.message + programs);
  view.focus = opener.id;
  await view.load();
}
