// The pages by their name in the address, in the groups of the sidebar.

import { allowed, current, isAdmin } from "./session.js";

/** @typedef {{name: string, group: string, icon: string, permission?: string, load: () => Promise<{tag: string, [property: string]: unknown}>, hidden?: boolean}} PageEntry */

const page = (area, name, tag = name) => () => import(`../${area}/${name}.js`).then(() => ({ tag: `roe-${tag}` }));

/** @type {PageEntry[]} */
const ENTRIES = [
  { name: "overview", group: "", icon: "house", load: page("work", "overview") },
  { name: "turns", group: "work", icon: "activity", load: page("work", "turns") },
  { name: "conversations", group: "work", icon: "message-square", load: page("work", "conversations") },
  { name: "schedules", group: "work", icon: "calendar", load: page("work", "schedules") },
  { name: "people", group: "people", icon: "users", permission: "grant", load: page("people", "people") },
  { name: "memory", group: "people", icon: "brain", load: page("people", "memory") },
  { name: "privacy", group: "people", icon: "lock", load: page("people", "privacy") },
  { name: "accounts", group: "setup", icon: "plug", permission: "accounts", load: page("setup", "accounts") },
  { name: "models", group: "setup", icon: "sparkles", load: page("setup", "models") },
  { name: "agents", group: "setup", icon: "bot", load: page("setup", "agents") },
  { name: "skills", group: "setup", icon: "puzzle", load: page("setup", "skills") },
  { name: "mcp", group: "setup", icon: "wrench", permission: "inspect", load: page("setup", "mcp") },
  { name: "settings", group: "setup", icon: "settings", permission: "configure", load: page("setup", "settings-page", "settings") },
  { name: "usage", group: "records", icon: "chart-no-axes-column", load: page("records", "usage") },
  { name: "audit", group: "records", icon: "scroll-text", permission: "audit", load: page("records", "audit") },
  { name: "docs", group: "records", icon: "book-open", load: page("docs", "docs") },
];

/** The pages that the person may open. */
export const PAGES = ENTRIES.filter(({ permission }) => allowed(permission));

/** The groups of the sidebar, those without pages left out. */
export const GROUPS = ["work", "people", "setup", "records"]
  .map((group) => ({ group, pages: PAGES.filter((page) => page.group === group && !page.hidden) }))
  .filter(({ pages }) => pages.length);

export const findPage = (name) => PAGES.find((page) => page.name === name) || null;

/** The page that opens first ("" for the chat): an admin's is the overview, once somebody has talked to the bot. */
export const FIRST = isAdmin && !current.isNew && findPage("overview") ? "overview" : "";
