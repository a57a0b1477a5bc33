// The page: one conversation open at a time, everything over the public API.

import { call, get, post } from "./api.js";
import { Composer } from "./composer.js";
import { Conversations } from "./conversations.js";
import { $, say, show } from "./dom.js";
import { loadAccounts, loadModels } from "./status.js";
import { Stream } from "./stream.js";
import { Transcript } from "./transcript.js";

const POLL = 10_000;
const app = $("app");
const transcript = new Transcript();
const composer = new Composer(app, send, stop);
const conversations = new Conversations((id) => open(id, true));
const state = { conversation: null, stream: null, earlier: null, models: false, titled: "" };

function online(yes) {
  show($("offline"), !yes);
}

function title(text) {
  $("title").textContent = text || "New conversation";
  document.title = text ? `${text} · Roebot` : "Roebot";
}

function busy() {
  show($("stop"), transcript.busy);
}

/** Show a conversation (null: one that begins with the next message). */
function open(id, push = false) {
  if (id === state.conversation && state.stream) return close();
  state.stream?.close();
  state.stream = null;
  state.conversation = id;
  state.earlier = null;
  transcript.clear();
  show($("earlier"), false);
  say($("problem"), "");
  title("");
  conversations.select(id);
  if (push) history.pushState({ id }, "", id ? `?c=${id}` : "/");
  if (id) watch(id);
  busy();
  close();
  composer.focus();
  return null;
}

function watch(id) {
  state.stream = new Stream(id, {
    online,
    gone: () => open(null, true),
    snapshot: (data) => {
      online(true);
      if (state.earlier === null) state.earlier = data.next;
      show($("earlier"), Boolean(state.earlier));
      title(data.conversation.title);
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
  history.pushState({ id: made.id }, "", `?c=${made.id}`);
  conversations.select(made.id);
  watch(made.id);
  return made.id;
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
    await Promise.all([loadAccounts(), conversations.load(), state.models ? null : refreshModel()]);
    if (!state.stream) online(true);
  } catch (error) {
    if (error.status === 0) online(false);
  }
}

function side(visible) {
  app.classList.toggle("open", visible);
  show($("veil"), visible);
  $("open-side").setAttribute("aria-expanded", String(visible));
  if (visible) $("close-side").focus();
}

function close() {
  if (app.classList.contains("open")) side(false);
}

$("new").addEventListener("click", () => open(null, true));
$("open-side").addEventListener("click", () => side(true));
$("close-side").addEventListener("click", close);
$("veil").addEventListener("click", close);
$("earlier").addEventListener("click", earlier);
$("sign-out")?.addEventListener("click", async () => {
  await call("DELETE", "/api/session");
  location.reload();
});
addEventListener("popstate", () => open(asked()));
addEventListener("keydown", (event) => event.key === "Escape" && close());

function asked() {
  return Number(new URLSearchParams(location.search).get("c")) || null;
}

open(asked());
get("/api/commands").then(({ commands }) => (composer.hints.commands = commands)).catch(() => null);
refreshModel();
poll();
setInterval(poll, POLL);
