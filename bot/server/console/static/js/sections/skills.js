// Skills: list, switch on and off, check and install, update, restore and remove.

import { call, get, post } from "../api.js";
import { formDialog } from "../dialog.js";
import { el } from "../dom.js";
import { NOTHING } from "../format.js";
import { isOwner, isAdmin } from "../current-user.js";
import { badge, button, actionButton, field, tableOrEmpty, section, text, toolbar } from "../components.js";
import { showStatus } from "../section-view.js";

const KINDS = { danger: "bad", warning: "warn" };
const HEADS = ["Skill", "Description", "Type", "Version", "Tools", "State", "Actions"];

export async function draw(view) {
  const { skills, problems } = await get("/api/skills");
  const broken = problems.map((one) => [one.path, one.error]);
  const notes = skills.flatMap((skill) => (skill.notes || []).map((note) => [skill.name, note]));
  return [
    isOwner && toolbar(button("Install a skill", { id: "install", kind: "primary", press: (made) => install(view, made) })),
    tableOrEmpty("Skills", HEADS, skills.map((skill) => row(view, skill)), "No skills are available."),
    notes.length ? section("Notes", tableOrEmpty("Notes", ["Skill", "Note"], notes, "")) : null,
    broken.length ? section("Unavailable skills", tableOrEmpty("Unavailable skills", ["Folder", "Reason"], broken, "")) : null,
  ];
}

function row(view, skill) {
  return [
    skill.name,
    skill.description,
    skill.category,
    skill.version || "",
    skill.allowed_tools ? skill.allowed_tools.join(", ") : "any",
    badge(skill.enabled ? "on" : "off", skill.enabled ? "good" : ""),
    !isAdmin ? NOTHING : toolbar(switchButton(view, skill), ...(isOwner && skill.category === "custom" ? changes(view, skill) : [])),
  ];
}

function switchButton(view, skill) {
  return actionButton(view, skill.enabled ? "Switch off" : "Switch on", {
    id: `switch-${skill.name}`,
    about: skill.name,
    work: () => call("PUT", address(skill), { enabled: !skill.enabled }),
    done: `${skill.name} is ${skill.enabled ? "off" : "on"}.`,
  });
}

function changes(view, skill) {
  return [
    actionButton(view, "Update", {
      id: `update-${skill.name}`,
      about: skill.name,
      work: () => post(`${address(skill)}/upgrade`, {}),
      done: `${skill.name} is up to date.`,
    }),
    actionButton(view, "Restore", {
      id: `restore-${skill.name}`,
      about: skill.name,
      ask: `Restore the previous version of ${skill.name}?`,
      work: () => post(`${address(skill)}/restore`, {}),
      done: `The previous version of ${skill.name} was restored.`,
    }),
    actionButton(view, "Remove", {
      id: `remove-${skill.name}`,
      about: skill.name,
      ask: `Remove the skill ${skill.name}?`,
      work: () => call("DELETE", address(skill)),
      done: `${skill.name} is removed.`,
    }),
  ];
}

const address = (skill) => `/api/skills/${encodeURIComponent(skill.name)}`;

async function install(view, opener) {
  const file = el("input", { type: "file", accept: ".skill,.zip" });
  const repository = text("", { maxLength: 500 });
  const folder = text("", { maxLength: 400 });
  let found = null;
  let answer = null;
  const place = () => {
    // What was checked is installed, even if the repository has changed since then.
    if (!file.files.length) {
      return { repository: repository.value.trim(), commit: found?.commit || "", path: folder.value.trim() };
    }
    const body = new FormData();
    body.set("file", file.files[0]);
    return body;
  };
  const within = () => encodeURIComponent(folder.value.trim());
  const fields = [
    field("Archive", file, "A .skill or .zip archive of the skill's folder."),
    field("or git repository", repository, "The https address of a repository, or of a folder on the pages of GitHub or GitLab."),
    field("Folder", folder, "The skill's folder, if the archive or the repository has several skills."),
  ];
  const check = async () => {
    found = await post(`/api/skills/check?folder=${within()}`, place());
  };
  if (!(await formDialog("Install a skill", fields, "Check", check))) return;
  const replace = found.replaces === "custom";
  const send = async () => {
    answer = await post(`/api/skills/install?replace=${replace}&folder=${within()}`, place());
  };
  if (!(await formDialog(`Install ${found.name}?`, review(found), replace ? "Replace" : "Install", send))) return;
  showStatus(answer.message);
  view.focus = opener.id;
  await view.load();
}

/** What is known of a skill before it is installed. */
function review(found) {
  const findings = found.findings.map((one) => [
    badge(one.severity, KINDS[one.severity]),
    one.line ? `${one.file}:${one.line}` : one.file,
    one.detail,
  ]);
  const replaced = { custom: "It replaces the installed version.", public: "It replaces the bundled skill." }[found.replaces];
  return [
    el("p", {}, found.description),
    replaced ? el("p", {}, replaced) : "",
    tableOrEmpty("Findings", ["Severity", "File", "Finding"], findings, "Nothing suspicious was found."),
    ...found.notes.map((note) => el("p", {}, note)),
    el("p", {}, "The agent follows the instructions of a skill, so install only skills you trust."),
  ];
}
