// People, chats and accounts by name.

import { html, nothing } from "../vendor/lit.js";
import { get } from "../api/client.js";
import { current, isAdmin } from "../app/session.js";
import { t } from "../texts/texts.js";
import "./texts.js";
import { copyText } from "./dialog.js";
import { initials } from "./format.js";

/** The name of a platform, for people. */
export const platformName = (name) => current.platforms[name] || (name && name[0].toUpperCase() + name.slice(1));

/** The models of the service, the built-in ones in the reader's language. @returns {Promise<any>} */
export async function loadModels() {
  const found = await get("/api/models");
  const inWords = (one) => {
    if (one.source === "guide") return { ...one, display_name: t("models.guide"), note: t("models.guideNote") };
    if (one.source !== "local") return one;
    const command = (one.note?.match(/`[^`]+`/g) || []).join(" && ");
    return { ...one, display_name: t("models.local", { model: one.display_name.split(" (")[0] }), note: t("models.localNote", { command }) };
  };
  return { ...found, models: found.models.map(inWords) };
}

/** The name of an account: that of its platform if it has the same. */
export const accountName = (name) => current.platforms[name] || name;

/** The name of a person or group whose id is `platform:id`; without one, their platform. */
export const nameOf = (name, id = "") => name || (id ? t("names.unknown", { platform: platformName(id.split(":")[0]) }) : t("app.none"));

/** A person or chat: initials, name, and a line below. @param {string} name @param {unknown} below */
export function named(name, below = nothing, id = "") {
  const shown = nameOf(name, id);
  return html`<span class="named"><span class="avatar" aria-hidden="true">${initials(shown)}</span><span class="grow"><span class="cut as-block" dir="auto" title=${shown}>${shown}</span>
    ${below === nothing || !below ? nothing : html`<span class="quiet small as-block words">${below}</span>`}</span></span>`;
}

/** A name on one line; the whole one is on hover. */
export const cut = (text) => (text ? html`<span class="cut as-block" dir="auto" title=${text}>${text}</span>` : nothing);

/** Menu item that copies an id. */
export const copyId = (id) => ({ text: t("app.copyId"), icon: "copy", run: () => copyText(String(id)) });

let known = null;

/** Names of people by `platform:id`, loaded once. @returns {Promise<Map<string, string>>} */
export function knownPeople() {
  known ??= get("/api/names?kind=person&limit=200")
    .then(({ people }) => new Map(people.map((one) => [one.person, one.name])))
    .catch(() => {
      known = null;
      return new Map();
    });
  return known;
}

let accounts = null;

/** The accounts whose chats the person may see, as `{account, platform}`. @returns {Promise<{account: string, platform: string}[]>} */
export function knownAccounts() {
  const own = [{ account: "web", platform: "web" }, { account: current.account, platform: current.person.split(":")[0] }].filter((one, at, all) => !at || one.account !== all[0].account);
  accounts ??= isAdmin ? get("/api/channels?limit=200").then(({ channels }) => channels) : Promise.resolve(own);
  return accounts.catch(() => {
    accounts = null;
    return own;
  });
}
