// The memory of a person or a group: show, edit, export, delete.

import { ApiError, call, get, post } from "../api.js";
import { formDialog } from "../dialog.js";
import { el } from "../dom.js";
import { number, isoTime } from "../format.js";
import { isAdmin } from "../current-user.js";
import { button, choice, actionButton, facts, field, link, tableOrEmpty, section, text, toolbar } from "../components.js";
import { showStatus } from "../section-view.js";

const CATEGORIES = ["context", "preference", "knowledge", "behavior", "goal"].map((name) => [name, name]);
const SCOPE = "person:ACCOUNT:PLATFORM:ID or group:ACCOUNT:CHAT. Leave empty for the memory about you in this console.";
const PERSON = /^person:[^:]*:[^:]+:./;
const GROUP = /^group:[^:]*:./;
const SUMMARIES = [
  ["user", "workContext", "Work"],
  ["user", "personalContext", "Personal"],
  ["user", "topOfMind", "Top of mind"],
  ["history", "recentMonths", "Recent months"],
  ["history", "earlierContext", "Earlier"],
  ["history", "longTermBackground", "Background"],
];

export async function draw(view) {
  const scope = view.settings.get("scope") || "";
  const wrong = scope ? refusal(scope) : "";
  const shown = wrong ? [el("p", { className: "problem", role: "alert" }, wrong)] : await memoryBlocks(view, scope);
  return [isAdmin ? scopeField(scope) : null, ...shown];
}

/** Return why a scope is invalid, "" if it is valid. */
function refusal(scope) {
  if (PERSON.test(scope) || GROUP.test(scope)) return "";
  if (!scope.startsWith("person:")) return "Enter person:ACCOUNT:PLATFORM:ID or group:ACCOUNT:CHAT.";
  return "Enter a person as person:ACCOUNT:PLATFORM:ID.";
}

async function memoryBlocks(view, scope) {
  const api = (path = "") => `/api/memory${path}${scope ? `?scope=${encodeURIComponent(scope)}` : ""}`;
  let memory, status;
  try {
    [memory, status] = await Promise.all([get(api()), get(api("/status"))]);
  } catch (error) {
    if (!(error instanceof ApiError)) console.error(error);
    return [view.failure(error)];
  }
  return [
    section("Memory", statusFacts(status), actions(view, api)),
    section("Summary", summaries(memory)),
    section("Facts", factTable(view, api, memory.facts)),
  ];
}

function scopeField(scope) {
  const whose = text(scope, { id: "scope", maxLength: 512 });
  const show = () => {
    const wanted = whose.value.trim();
    location.hash = wanted ? `#/memory?scope=${encodeURIComponent(wanted)}` : "#/memory";
  };
  whose.addEventListener("keydown", (event) => event.key === "Enter" && show());
  return toolbar(field("Owner", whose, SCOPE), button("Show", { id: "show", press: show }));
}

function statusFacts(status) {
  return facts([
    ["Owner", status.scope],
    ["State", status.enabled ? "on" : "off"],
    ["Facts", number(status.facts)],
    ["Last changed", isoTime(status.last_updated)],
    ["Conversations still to be processed", number(status.updates_waiting)],
  ]);
}

function actions(view, api) {
  const taken = link(api(), "Export");
  taken.className = "plain";
  taken.download = "memory.json";
  return toolbar(
    button("Add fact", { id: "add-fact", kind: "primary", press: (made) => edit(view, api, made) }),
    taken,
    actionButton(view, "Reload", { id: "reload", work: () => post(api("/reload")), done: "Memory reloaded." }),
    actionButton(view, "Delete all", {
      id: "forget",
      kind: "danger",
      ask: "This deletes everything that the agent remembers here. It can't be undone.",
      work: () => call("DELETE", api()),
      done: (answer) => answer.message,
    }),
  );
}

function summaries(memory) {
  const found = SUMMARIES.map(([part, key, label]) => [label, memory[part][key].summary]).filter(([, said]) => said);
  return found.length ? facts(found) : el("p", { className: "none" }, "No summary yet.");
}

function factTable(view, api, list) {
  const heads = ["Fact", "Category", "Confidence", "Created", "Source", "Actions"];
  const rows = list.map((fact) => [
    fact.content,
    fact.category,
    number(fact.confidence),
    isoTime(fact.createdAt),
    fact.source,
    toolbar(
      button("Edit", { id: `edit-${fact.id}`, about: fact.content, press: (made) => edit(view, api, made, fact) }),
      actionButton(view, "Delete", {
        id: `forget-${fact.id}`,
        about: fact.content,
        kind: "danger",
        ask: fact.content,
        work: () => call("DELETE", api(`/facts/${encodeURIComponent(fact.id)}`)),
        done: (answer) => answer.message,
      }),
    ),
  ]);
  return tableOrEmpty("Facts", heads, rows, "No facts yet.");
}

async function edit(view, api, opener, fact = null) {
  const content = el("textarea", { required: true, defaultValue: fact?.content || "" });
  const category = choice(CATEGORIES, fact?.category || "context");
  const confidence = text(String(fact?.confidence ?? 1), { type: "number", min: "0", max: "1", step: "any" });
  const send = () => {
    const body = { content: content.value, category: category.value, confidence: Number(confidence.value) };
    if (!fact) return post(api("/facts"), body);
    return call("PATCH", api(`/facts/${encodeURIComponent(fact.id)}`), body);
  };
  const fields = [field("Fact", content), field("Category", category), field("Confidence (0 to 1)", confidence)];
  if (await formDialog(fact ? "Edit fact" : "Add fact", fields, "Save", send)) {
    showStatus("Fact saved.");
    view.focus = opener.id;
    await view.load();
  }
}
