// Shows the section that the URL names (`#/name`), or the chat.

import { closeDialogs } from "./dialog.js";
import { $, el, show } from "./dom.js";
import { closeSide } from "./sidebar.js";
import { showStatus, View, showProblem } from "./section-view.js";

const SECTIONS = new Map([
  ["schedules", () => import("./sections/schedules.js")],
  ["accounts", () => import("./sections/accounts.js")],
  ["conversations", () => import("./sections/conversations.js")],
  ["turns", () => import("./sections/turns.js")],
  ["people", () => import("./sections/people.js")],
  ["audit", () => import("./sections/audit.js")],
  ["usage", () => import("./sections/usage.js")],
  ["memory", () => import("./sections/memory.js")],
  ["privacy", () => import("./sections/privacy.js")],
  ["mcp", () => import("./sections/mcp.js")],
  ["models", () => import("./sections/models.js")],
]);
const ADDRESS = /^#\/([a-z]+)(?:\/([a-z0-9-]*))?(?:\?(.*))?$/;
// Skip the refresh on focus if the section was drawn less than this many ms ago.
const FRESH = 1000;
const state = { address: null, view: null, timer: 0, chat: null };

/** Return the section that the URL names, null for the chat. */
export function currentRoute() {
  const found = ADDRESS.exec(location.hash);
  if (!found || !SECTIONS.has(found[1]) || !linkTo(found[1])) return null;
  return { name: found[1], rest: found[2] || "", settings: new URLSearchParams(found[3] || "") };
}

/** Show the section or chat of the URL. */
export async function showRoute() {
  const wanted = currentRoute();
  show($("not-found"), !wanted && location.hash.startsWith("#/"));
  const address = wanted ? location.hash : "";
  if (address === state.address) return;
  state.address = address;
  closeSection();
  show($("chat"), !wanted);
  show($("section"), Boolean(wanted));
  markActive(wanted?.name);
  if (wanted) await openSection(wanted, address);
  else state.chat();
}

function closeSection() {
  if (state.view) closeDialogs();
  state.view?.close();
  state.view = null;
  clearInterval(state.timer);
}

async function openSection(wanted, address) {
  showStatus("");
  closeSide();
  $("section-title").textContent = linkTo(wanted.name).textContent;
  document.title = `${$("section-title").textContent} · Roebot`;
  $("section-content").replaceChildren(el("p", { className: "none" }, "Loading…"));
  $("section-title").focus();
  const section = await SECTIONS.get(wanted.name)().catch(() => null);
  if (address !== state.address) return;
  if (!section) return showProblem("Can't reach the service.");
  state.view = new View(section, wanted);
  if (section.pollInterval) state.timer = setInterval(() => !document.hidden && state.view?.refresh(), section.pollInterval);
  await state.view.load();
}

function linkTo(name) {
  return document.querySelector(`#sections a[href="#/${name}"]`);
}

function markActive(name) {
  for (const link of document.querySelectorAll("#sections a")) link.removeAttribute("aria-current");
  if (!name) return;
  linkTo(name).setAttribute("aria-current", "page");
  $("manage").open = true;
}

/** Start routing; `chat` is called whenever the chat is shown. */
export function start(chat) {
  state.chat = chat;
  addEventListener("hashchange", showRoute);
  addEventListener("focus", () => {
    if (state.view && Date.now() - state.view.drawn > FRESH) state.view.refresh();
  });
  $("sections").addEventListener("click", (event) => event.target.closest("a") && closeSide());
  $("refresh").addEventListener("click", () => state.view?.load());
  showRoute();
}
