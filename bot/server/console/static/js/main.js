// The page: one conversation open at a time, everything over the public API.

import { call, get, post } from "./api.js";
import { Composer } from "./composer.js";
import { Conversations } from "./conversations.js";
import { $, say, show } from "./dom.js";
import { confirmDialog } from "./dialog.js";
import { closeSide } from "./sidebar.js";
import * as link from "./sign-in-link.js";
import { isAdmin } from "./current-user.js";
import * as parts from "./router.js";
import { loadAccounts, loadModels } from "./status.js";
import { Stream } from "./event-stream.js";
import { Transcript } from "./transcript.js";

const POLL = 10_000;
const app = $("app");
const transcript = new Transcript(choose);
const composer = new Composer(app, send, stop);
const conversations = new Conversations((id) => open(id, true));
const state = { conversation: null, stream: null, earlier: null, models: false, titled: "" };

function online(yes) {
  show($("offline"), !yes);
}

function title(text) {
  state.titled = text;
  $("title").textContent = text || "New conversation";
  if (!parts.asked()) document.title = text ? `${text} · Roebot` : "Roebot";
}

function busy() {
  show($("stop"), transcript.busy);
}

/** Show a conversation (null: one that begins with the next message). */
function open(id, push = false) {
  if (push && (id !== state.conversation || location.hash)) address(id);
  if (id === state.conversation && state.stream) return closeSide();
  state.stream?.close();
  state.stream = null;
  state.conversation = id;
  state.earlier = null;
  transcript.clear();
  show($("earlier"), false);
  say($("problem"), "");
  title("");
  show($("composer"), true);
  conversations.select(id);
  if (id) watch(id);
  busy();
  closeSide();
  composer.focus();
  return null;
}

/** The address of a conversation, which is the chat's whatever part was shown. */
function address(id) {
  history.pushState({ id }, "", id ? `?c=${id}` : "/");
  parts.follow();
}

function watch(id) {
  state.stream = new Stream(id, {
    online,
    gone: () => open(null, !parts.asked()),
    snapshot: (data) => {
      online(true);
      if (state.earlier === null) state.earlier = data.next;
      show($("earlier"), Boolean(state.earlier));
      title(data.conversation.title);
      show($("composer"), data.conversation.writable);
      transcript.snapshot(data.turns);
      if (data.conversation.model) refreshModel(data.conversation.model);
      busy();
    },
    turn: (turn) => {
      transcript.turn(turn);
      busy();
      if (turn.kind === "command" && turn.state === "done") refreshConversation();
      // Who answers is there, whatever was said when the page was opened.
      else if (!state.models) refreshModel();
    },
    part: ({ turn, part }) => transcript.part(turn, part),
    typing: () => transcript.typing(),
  });
}

async function send(text, files) {
  const eventId = identity();
  transcript.wait(eventId, text, files.map((file) => ({ filename: file.name })));
  try {
    const id = await ensure();
    await post(`/api/conversations/${id}/messages`, body(text, files, eventId));
  } catch (error) {
    transcript.settle(eventId);
    transcript.welcome();
    online(error.status !== 0);
    throw error;
  }
  online(true);
  refreshList();
}

// Unique is enough, and randomUUID is there on secure origins alone.
function identity() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function body(text, files, eventId) {
  if (!files.length) return { text, event_id: eventId };
  const form = new FormData();
  form.set("text", text);
  form.set("event_id", eventId);
  for (const file of files) form.append("files", file);
  return form;
}

/** The open conversation; the first message makes it. */
async function ensure() {
  if (state.conversation) return state.conversation;
  const made = await post("/api/conversations", {});
  state.conversation = made.id;
  address(made.id);
  conversations.select(made.id);
  watch(made.id);
  return made.id;
}

async function choose(turn, part, choice) {
  await post(`/api/turns/${turn}/parts/${part}/choice`, { choice, event_id: identity() });
}

async function stop() {
  try {
    await post(`/api/conversations/${state.conversation}/stop`);
  } catch (error) {
    say($("problem"), error.message);
  }
}

async function earlier() {
  const { scrollHeight, scrollTop } = $("scroll");
  const page = await get(`/api/conversations/${state.conversation}/messages?limit=30&cursor=${state.earlier}`);
  transcript.pinned = false;
  for (const turn of page.turns) transcript.turn(turn, false);
  state.earlier = page.next || "";
  show($("earlier"), Boolean(page.next));
  $("scroll").scrollTop = scrollTop + $("scroll").scrollHeight - scrollHeight;
}

async function refreshModel(chosen = "") {
  state.models = await loadModels(chosen);
}

async function refreshConversation() {
  const id = state.conversation;
  const found = await get(`/api/conversations/${id}`).catch(() => null);
  if (found && id === state.conversation) await refreshModel(found.model);
}

async function refreshList() {
  await conversations.load().catch(() => null);
  const found = conversations.known.get(state.conversation);
  if (found?.title) title(found.title);
}

/** What changes without an event of this conversation. */
async function poll() {
  try {
    await Promise.all([isAdmin ? loadAccounts() : null, conversations.load(), state.models ? null : refreshModel()]);
    if (!state.stream) online(true);
  } catch (error) {
    if (error.status === 0) online(false);
  }
}

$("new").addEventListener("click", () => open(null, true));
$("earlier").addEventListener("click", earlier);
$("sign-out")?.addEventListener("click", async () => {
  await call("DELETE", "/api/session");
  location.reload();
});
addEventListener("popstate", () => {
  parts.follow();
  if (!parts.asked()) open(asked());
});
$("skip").addEventListener("click", (event) => {
  event.preventDefault();
  $(parts.asked() ? "section-title" : "text").focus();
});

function asked() {
  return Number(new URLSearchParams(location.search).get("c")) || null;
}

/** Somebody is here already, so nobody else is let in unasked. */
async function entered(code) {
  const here = `You are signed in as ${$("current-user").textContent}. Continue only if you asked the bot for this link yourself.`;
  if (!(await confirmDialog("Sign in with this link?", here, "Sign in"))) return;
  await link.enter(code).catch((error) => say($("problem"), error.message));
}

link.follow(entered);
parts.start(() => title(state.titled));
open(asked());
get("/api/commands").then(({ commands }) => (composer.hints.commands = commands)).catch(() => null);
refreshModel();
poll();
setInterval(poll, POLL);
