// What pickers search: people, chats, time zones.

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
