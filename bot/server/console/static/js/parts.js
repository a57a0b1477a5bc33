// Which part of the page is shown follows from the address: the chat, or what `#/name` says.

import { dismiss } from "./dialog.js";
import { $, el, show } from "./dom.js";
import { closeSide } from "./drawer.js";
import { tell, View, warn } from "./view.js";

const PARTS = new Map([
  ["schedules", () => import("./parts/schedules.js")],
  ["accounts", () => import("./parts/accounts.js")],
  ["conversations", () => import("./parts/conversations.js")],
  ["turns", () => import("./parts/turns.js")],
  ["people", () => import("./parts/people.js")],
  ["audit", () => import("./parts/audit.js")],
  ["usage", () => import("./parts/usage.js")],
  ["memory", () => import("./parts/memory.js")],
  ["skills", () => import("./parts/skills.js")],
  ["mcp", () => import("./parts/mcp.js")],
  ["models", () => import("./parts/models.js")],
  ["agents", () => import("./parts/agents.js")],
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
  show($("lost"), !wanted && location.hash.startsWith("#/"));
  const address = wanted ? location.hash : "";
  if (address === state.address) return;
  state.address = address;
  leave();
  show($("chat"), !wanted);
  show($("part"), Boolean(wanted));
  mark(wanted?.name);
  if (wanted) await enter(wanted, address);
  else state.chat();
}

function leave() {
  if (state.view) dismiss();
  state.view?.close();
  state.view = null;
  clearInterval(state.timer);
}

async function enter(wanted, address) {
  tell("");
  closeSide();
  $("part-title").textContent = linkTo(wanted.name).textContent;
  document.title = `${$("part-title").textContent} · Roebot`;
  $("part-box").replaceChildren(el("p", { className: "none" }, "Loading…"));
  $("part-title").focus();
  const part = await PARTS.get(wanted.name)().catch(() => null);
  if (address !== state.address) return;
  if (!part) return warn("The service cannot be reached.");
  state.view = new View(part, wanted);
  if (part.every) state.timer = setInterval(() => !document.hidden && state.view?.refresh(), part.every);
  await state.view.load();
}

function linkTo(name) {
  return document.querySelector(`#parts a[href="#/${name}"]`);
}

function mark(name) {
  for (const link of document.querySelectorAll("#parts a")) link.removeAttribute("aria-current");
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
  $("parts").addEventListener("click", (event) => event.target.closest("a") && closeSide());
  $("refresh").addEventListener("click", () => state.view?.load());
  follow();
}
