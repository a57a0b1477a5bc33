// What pickers search: people, chats, time zones, and lists that are loaded once.

import { get, withQuery } from "../api/client.js";
import { initials } from "./format.js";
import { platformName } from "./names.js";

const matches = (text, typed) => text.toLowerCase().includes(typed.toLowerCase());

/** People by name; the value is `platform:id`. */
export async function findPeople(q) {
  const { people } = await get(withQuery("/api/names", { kind: "person", q }));
  return people.map((one) => ({ value: one.person, text: one.name, hint: platformName(one.platform), mark: initials(one.name), account: one.account }));
}

/** Chats by name; the value is the number of their latest conversation. */
export async function findChats(q) {
  const { chats } = await get(withQuery("/api/names", { kind: "chat", q }));
  return chats.map((one) => ({ value: String(one.conversation), text: one.name, hint: one.account, mark: initials(one.name) }));
}

/** IANA time zones. */
export function findZones(q) {
  const known = Intl.supportedValuesOf?.("timeZone") || [];
  return ["UTC", ...known].filter((zone) => matches(zone.replaceAll("_", " "), q) || matches(zone, q)).slice(0, 60).map((zone) => ({ value: zone, text: zone }));
}

/** A source over a list that is loaded once: `load()` returns the options. */
export function fromList(load) {
  let known = null;
  return async (q) => (await (known ??= load())).filter(({ text, hint = "" }) => matches(`${text} ${hint}`, q)).slice(0, 100);
}

const listed = (path, key, option) => fromList(async () => (await get(path))[key].map(option));

/** Models, skills and MCP servers by name. */
export const findModels = () => listed("/api/models", "models", (one) => ({ value: one.name, text: one.display_name || one.name, hint: one.name }));
export const findSkills = () => listed("/api/skills", "skills", (one) => ({ value: one.name, text: one.name, hint: one.description }));
