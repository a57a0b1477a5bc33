// Who may use the bot: roles that were given, strangers who wait, and what the configuration says.

import { call, post } from "../api.js";
import { form } from "../dialog.js";
import { el } from "../dom.js";
import { time } from "../format.js";
import { badge, button, choice, deed, field, link, listing, pages, section, text, toolbar } from "../pieces.js";
import { tell } from "../view.js";

const ROLES = ["member", "admin", "owner", "blocked"].map((role) => [role, role]);
const KINDS = { owner: "good", admin: "good", blocked: "bad" };
const DEFAULTS = {
  pair: "Everybody else gets a code in private, with which they can be let in.",
  closed: "Everybody else is told once a day, in private, how to be let in.",
  allow: "Everybody else is a member.",
};
const ENTRY = "telegram:123456789, slack:team:T024BE7LD; people see their own with /whoami";
const LET_IN = "They are let in, and told so.";

export async function draw(view) {
  const { found, more, answer } = await pages(view, "/api/access", "given");
  return [
    toolbar(
      button("Give a role", { id: "give", kind: "primary", press: (made) => give(view, made) }),
      button("Let in by code", { id: "pair", press: (made) => pair(view, made) }),
    ),
    section("Who waits with a code", waiting(view, answer.waiting)),
    section("Roles that were given", given(view, found), more),
    section("Roles in config.yaml", configured(answer)),
  ];
}

function waiting(view, people) {
  const rows = people.map((one) => [
    named(one.person, one.name),
    one.account,
    time(one.expires_at),
    button("Let in", {
      id: `let-${one.entry}`,
      about: one.name || one.person,
      press: (made) => letIn(view, made, one.entry),
    }),
  ]);
  return listing("Who waits with a code", ["Person", "Account", "Until", "Actions"], rows, "Nobody waits.");
}

function given(view, people) {
  const heads = ["Who", "Role", "Given by", "When", "Deeds", "Actions"];
  const rows = people.map((one) => [
    named(one.entry, one.name),
    badge(one.role, KINDS[one.role]),
    one.by,
    time(one.at),
    link(`#/audit?person=${encodeURIComponent(one.entry)}`, "Audit", `Audit: ${one.entry}`),
    one.changeable ? toolbar(...deeds(view, one)) : "",
  ]);
  return listing("Roles that were given", heads, rows, "Nobody was given a role.");
}

function deeds(view, one) {
  return [
    button("Change", {
      id: `change-${one.entry}`,
      about: one.entry,
      press: (made) => give(view, made, one.entry, one.role),
    }),
    deed(view, "Revoke", {
      id: `revoke-${one.entry}`,
      about: one.entry,
      kind: "danger",
      ask: `${one.name || one.entry} loses the role ${one.role}.`,
      work: () => call("DELETE", path(one.entry)),
      done: `${one.entry} has no role any more.`,
    }),
  ];
}

function configured(found) {
  const rows = found.configured.map((one) => [one.entry, badge(one.role, KINDS[one.role]), where(one)]);
  const none = DEFAULTS[found.default] || "";
  const own = found.defaults.map((one) => el("p", { className: "none" }, `On ${one.account}: ${DEFAULTS[one.default] || one.default}`));
  const list = listing("Roles in config.yaml", ["Who", "Role", "Where"], rows, `It names nobody. ${none}`);
  return own.length ? el("div", {}, list, ...own) : list;
}

function where(one) {
  if (one.account) return one.account;
  return one.not_on.length ? `everywhere but on ${one.not_on.join(", ")}` : "everywhere";
}

const named = (entry, name) => (name ? `${name} (${entry})` : entry);
const path = (entry) => `/api/access/${encodeURIComponent(entry)}`;

async function give(view, opener, entry = "", role = "member") {
  const who = text(entry, { required: true, maxLength: 256, readOnly: Boolean(entry) });
  const what = choice(ROLES, role);
  const fields = [field("Who", who, entry ? "" : ENTRY), field("Role", what)];
  const send = () => call("PUT", path(who.value.trim()), { role: what.value });
  if (await form("Give a role", fields, "Save", send)) await done(view, opener, "The role is given.");
}

async function letIn(view, opener, entry) {
  const what = choice(ROLES, "member");
  const fields = [field("Who", text(entry, { readOnly: true })), field("Role", what)];
  const send = () => post(`/api/access/waiting/${encodeURIComponent(entry)}`, { role: what.value });
  if (await form("Let in", fields, "Let in", send)) await done(view, opener, LET_IN);
}

async function pair(view, opener) {
  const code = text("", { required: true, maxLength: 40 });
  const what = choice(ROLES, "member");
  const fields = [field("Code", code, "ABCD-2345, as the person was told it"), field("Role", what)];
  const send = () => post("/api/access/pair", { code: code.value, role: what.value });
  if (await form("Let in by code", fields, "Let in", send)) await done(view, opener, LET_IN);
}

async function done(view, opener, said) {
  tell(said);
  view.focus = opener.id;
  await view.load();
}
