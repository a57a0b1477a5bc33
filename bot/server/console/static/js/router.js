// Which part of the page is shown follows from the address: the chat, or what `#/name` says.

import { closeDialogs } from "./dialog.js";
import { $, el, show } from "./dom.js";
import { closeSide } from "./sidebar.js";
import { showStatus, View, showProblem } from "./section-view.js";

const PARTS = new Map([
  ["schedules", () => import("./sections/schedules.js")],
  ["accounts", () => import("./sections/accounts.js")],
  ["conversations", () => import("./sections/conversations.js")],
  ["turns", () => import("./sections/turns.js")],
  ["people", () => import("./sections/people.js")],
  ["audit", () => import("./sections/audit.js")],
  ["usage", () => import("./sections/usage.js")],
  ["memory", () => import("./sections/memory.js")],
  ["skills", () => import("./sections/skills.js")],
  ["mcp", () => import("./sections/mcp.js")],
  ["models", () => import("./sections/models.js")],
  ["agents", () => import("./sections/agents.js")],
]);
const ADDRESS = /^#\/([a-z]+)(?:\/([a-z0-9-]*))?(?:\?(.*))?$/;
// Coming back to a page that was drawn just now shows nothing new.
const FRESH = 1000;
const state = { address: null, view: null, timer: 0, chat: null };

/** The part that the address names; null for the chat. */
export function asked() {
  const found = ADDRESS.exec(location.hash);
  if (!found || !PARTS.has(found[1]) || !linkTo(found[1])) return null;
  return { name: found[1], rest: found[2] || "", settings: new URLSearchParams(found[3] || "") };
}

/** Show what the address says. */
export async function follow() {
  const wanted = asked();
  show($("not-found"), !wanted && location.hash.startsWith("#/"));
  const address = wanted ? location.hash : "";
  if (address === state.address) return;
  state.address = address;
  leave();
  show($("chat"), !wanted);
  show($("section"), Boolean(wanted));
  mark(wanted?.name);
  if (wanted) await enter(wanted, address);
  else state.chat();
}

function leave() {
  if (state.view) closeDialogs();
  state.view?.close();
  state.view = null;
  clearInterval(state.timer);
}

async function enter(wanted, address) {
  showStatus("");
  closeSide();
  $("section-title").textContent = linkTo(wanted.name).textContent;
  document.title = `${$("section-title").textContent} · Roebot`;
  $("section-content").replaceChildren(el("p", { className: "none" }, "Loading…"));
  $("section-title").focus();
  const part = await PARTS.get(wanted.name)().catch(() => null);
  if (address !== state.address) return;
  if (!part) return warn("Can't reach the service.");
  state.view = new View(part, wanted);
  if (part.every) state.timer = setInterval(() => !document.hidden && state.view?.refresh(), part.every);
  await state.view.load();
}

function linkTo(name) {
  return document.querySelector(`#sections a[href="#/${name}"]`);
}

function mark(name) {
  for (const link of document.querySelectorAll("#sections a")) link.removeAttribute("aria-current");
  if (!name) return;
  linkTo(name).setAttribute("aria-current", "page");
  $("manage").open = true;
}

/** Begin; `chat` is called when the chat is shown. */
export function start(chat) {
  state.chat = chat;
  addEventListener("hashchange", follow);
  addEventListener("focus", () => {
    if (state.view && Date.now() - state.view.drawn > FRESH) state.view.refresh();
  });
  $("sections").addEventListener("click", (event) => event.target.closest("a") && closeSide());
  $("refresh").addEventListener("click", () => state.view?.load());
  follow();
}
