// Access: granted roles, pending requests, and the roles in the configuration.

import { call, post } from "../api.js";
import { formDialog } from "../dialog.js";
import { el } from "../dom.js";
import { eraseButton } from "../erasure.js";
import { time } from "../format.js";
import { badge, button, choice, actionButton, field, link, tableOrEmpty, fetchPages, section, text, toolbar } from "../components.js";
import { showStatus } from "../section-view.js";

const ROLES = ["member", "admin", "owner", "blocked"].map((role) => [role, role]);
const KINDS = { owner: "good", admin: "good", blocked: "bad" };
const DEFAULTS = {
  pair: "Everyone else gets a code in a private chat, which an admin can approve.",
  closed: "Everyone else gets a notice in a private chat, at most once a day, that explains how to get access.",
  allow: "Everyone else is a member.",
};
const ENTRY = "platform:id, or platform:team:id for a whole workspace. People can find their id with the command whoami.";
const APPROVED = "Access approved. They have been notified.";

export async function draw(view) {
  const { found, more, answer } = await fetchPages(view, "/api/access", "given");
  return [
    toolbar(
      button("Grant role", { id: "give", kind: "primary", press: (made) => give(view, made) }),
      button("Approve by code", { id: "pair", press: (made) => pair(view, made) }),
    ),
    section("Pending access requests", waiting(view, answer.waiting)),
    section("Granted roles", given(view, found), more),
    section("Roles in config.yaml", configured(answer)),
  ];
}

function waiting(view, people) {
  const rows = people.map((one) => [
    named(one.person, one.name),
    one.account,
    time(one.expires_at),
    button("Approve", {
      id: `let-${one.entry}`,
      about: one.name || one.person,
      press: (made) => approve(view, made, one.entry),
    }),
  ]);
  return tableOrEmpty("Pending access requests", ["Person", "Account", "Expires", "Actions"], rows, "No pending requests.");
}

function given(view, people) {
  const heads = ["Person or group", "Role", "Granted by", "Granted", "Audit log", "Actions"];
  const rows = people.map((one) => [
    named(one.entry, one.name),
    badge(one.role, KINDS[one.role]),
    one.by,
    time(one.at),
    link(`#/audit?person=${encodeURIComponent(one.entry)}`, "Show", `Audit log: ${one.entry}`),
    toolbar(...(one.changeable ? roleActions(view, one) : []), one.erasable ? eraseAction(view, one) : null),
  ]);
  return tableOrEmpty("Granted roles", heads, rows, "No roles granted yet.");
}

function roleActions(view, one) {
  return [
    button("Change", {
      id: `change-${one.entry}`,
      about: one.entry,
      press: (made) => give(view, made, one.entry, one.role),
    }),
    actionButton(view, "Revoke", {
      id: `revoke-${one.entry}`,
      about: one.entry,
      kind: "danger",
      ask: `This removes the role ${one.role} from ${one.name || one.entry}.`,
      work: () => call("DELETE", path(one.entry)),
      done: `Role revoked: ${one.entry}.`,
    }),
  ];
}

function eraseAction(view, one) {
  return eraseButton(view, one.erasable, { id: `erase-${one.entry}`, about: one.entry, name: one.name });
}

function configured(found) {
  const rows = found.configured.map((one) => [one.entry, badge(one.role, KINDS[one.role]), where(one)]);
  const none = DEFAULTS[found.default] || "";
  const own = found.defaults.map((one) => el("p", { className: "none" }, `On ${one.account}: ${DEFAULTS[one.default] || one.default}`));
  const list = tableOrEmpty("Roles in config.yaml", ["Person or group", "Role", "Accounts"], rows, `No roles configured. ${none}`);
  return own.length ? el("div", {}, list, ...own) : list;
}

function where(one) {
  if (one.account) return one.account;
  return one.not_on.length ? `all except ${one.not_on.join(", ")}` : "all";
}

const named = (entry, name) => (name ? `${name} (${entry})` : entry);
const path = (entry) => `/api/access/${encodeURIComponent(entry)}`;

async function give(view, opener, entry = "", role = "member") {
  const who = text(entry, { required: true, maxLength: 256, readOnly: Boolean(entry) });
  const what = choice(ROLES, role);
  const fields = [field("Person or group", who, entry ? "" : ENTRY), field("Role", what)];
  const send = () => call("PUT", path(who.value.trim()), { role: what.value });
  if (await formDialog("Grant role", fields, "Save", send)) await done(view, opener, "Role granted.");
}

async function approve(view, opener, entry) {
  const what = choice(ROLES, "member");
  const fields = [field("Person or group", text(entry, { readOnly: true })), field("Role", what)];
  const send = () => post(`/api/access/waiting/${encodeURIComponent(entry)}`, { role: what.value });
  if (await formDialog("Approve access", fields, "Approve", send)) await done(view, opener, APPROVED);
}

async function pair(view, opener) {
  const code = text("", { required: true, maxLength: 40 });
  const what = choice(ROLES, "member");
  const fields = [field("Code", code, "The code that the person received, such as ABCD-2345"), field("Role", what)];
  const send = () => post("/api/access/pair", { code: code.value, role: what.value });
  if (await formDialog("Approve by code", fields, "Approve", send)) await done(view, opener, APPROVED);
}

async function done(view, opener, said) {
  showStatus(said);
  view.focus = opener.id;
  await view.load();
}
