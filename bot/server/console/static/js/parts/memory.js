// What is remembered of a person or a group: seen, mended, taken along, forgotten.

import { ApiError, call, get, post } from "../api.js";
import { form } from "../dialog.js";
import { el } from "../dom.js";
import { number, since } from "../format.js";
import { senior } from "../me.js";
import { button, choice, deed, facts, field, link, listing, section, text, toolbar } from "../pieces.js";
import { tell } from "../view.js";

const CATEGORIES = ["context", "preference", "knowledge", "behavior", "goal"].map((name) => [name, name]);
const SCOPE = "person:ACCOUNT:PLATFORM:ID or group:ACCOUNT:CHAT; empty: yours, as who writes at this page";
const PERSON = /^person:[^:]*:[^:]+:./;
const GROUP = /^group:[^:]*:./;
const SUMMARIES = [
  ["user", "workContext", "Work"],
  ["user", "personalContext", "Person"],
  ["user", "topOfMind", "On the mind"],
  ["history", "recentMonths", "Recent months"],
  ["history", "earlierContext", "Earlier"],
  ["history", "longTermBackground", "Background"],
];

export async function draw(view) {
  const scope = view.settings.get("scope") || "";
  const wrong = scope ? refusal(scope) : "";
  const shown = wrong ? [el("p", { className: "problem", role: "alert" }, wrong)] : await kept(view, scope);
  return [senior ? chosen(scope) : null, ...shown];
}

/** Why a text is nobody's memory; "" where it may be somebody's. */
function refusal(scope) {
  if (PERSON.test(scope) || GROUP.test(scope)) return "";
  if (!scope.startsWith("person:")) return "Write whose as person:ACCOUNT:PLATFORM:ID or group:ACCOUNT:CHAT.";
  return "A person is written person:ACCOUNT:PLATFORM:ID, such as person:telegram:telegram:123456789.";
}

async function kept(view, scope) {
  const api = (path = "") => `/api/memory${path}${scope ? `?scope=${encodeURIComponent(scope)}` : ""}`;
  let memory, status;
  try {
    [memory, status] = await Promise.all([get(api()), get(api("/status"))]);
  } catch (error) {
    if (!(error instanceof ApiError)) console.error(error);
    return [view.failure(error)];
  }
  return [
    section("Memory", about(status), actions(view, api)),
    section("In short", summaries(memory)),
    section("Facts", known(view, api, memory.facts)),
  ];
}

function chosen(scope) {
  const whose = text(scope, { id: "scope", maxLength: 512 });
  const show = () => {
    const wanted = whose.value.trim();
    location.hash = wanted ? `#/memory?scope=${encodeURIComponent(wanted)}` : "#/memory";
  };
  whose.addEventListener("keydown", (event) => event.key === "Enter" && show());
  return toolbar(field("Whose", whose, SCOPE), button("Show", { id: "show", press: show }));
}

function about(status) {
  return facts([
    ["Whose", status.scope],
    ["Switched on", status.enabled ? "yes" : "no"],
    ["Facts", number(status.facts)],
    ["Last changed", since(status.last_updated)],
    ["Conversations still to be read", number(status.updates_waiting)],
  ]);
}

function actions(view, api) {
  const taken = link(api(), "Export");
  taken.className = "plain";
  taken.download = "memory.json";
  return toolbar(
    button("Add a fact", { id: "add-fact", kind: "primary", press: (made) => edit(view, api, made) }),
    taken,
    deed(view, "Read again", { id: "reload", work: () => post(api("/reload")), done: "The file was read again." }),
    deed(view, "Forget everything", {
      id: "forget",
      kind: "danger",
      ask: "All that is remembered here is erased, and what was said so far does not come back.",
      work: () => call("DELETE", api()),
      done: (answer) => answer.message,
    }),
  );
}

function summaries(memory) {
  const found = SUMMARIES.map(([part, key, label]) => [label, memory[part][key].summary]).filter(([, said]) => said);
  return found.length ? facts(found) : el("p", { className: "none" }, "Nothing yet.");
}

function known(view, api, list) {
  const heads = ["Fact", "Kind", "Confidence", "Since", "From", "Actions"];
  const rows = list.map((fact) => [
    fact.content,
    fact.category,
    number(fact.confidence),
    since(fact.createdAt),
    fact.source,
    toolbar(
      button("Edit", { id: `edit-${fact.id}`, about: fact.content, press: (made) => edit(view, api, made, fact) }),
      deed(view, "Forget", {
        id: `forget-${fact.id}`,
        about: fact.content,
        kind: "danger",
        ask: fact.content,
        work: () => call("DELETE", api(`/facts/${encodeURIComponent(fact.id)}`)),
        done: (answer) => answer.message,
      }),
    ),
  ]);
  return listing("Facts", heads, rows, "No facts yet.");
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
  const fields = [field("Fact", content), field("Kind", category), field("Confidence, 0 to 1", confidence)];
  if (await form(fact ? "Edit a fact" : "Add a fact", fields, "Save", send)) {
    tell("It is remembered.");
    view.focus = opener.id;
    await view.load();
  }
}
