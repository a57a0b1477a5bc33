// The console: one open conversation at a time, everything through the public API.

import { call, get, post } from "./api.js";
import { Composer } from "./composer.js";
import { Conversations } from "./conversations.js";
import { $, say, show } from "./dom.js";
import { confirmDialog } from "./dialog.js";
import { closeSide } from "./sidebar.js";
import * as signInLink from "./sign-in-link.js";
import { isAdmin } from "./current-user.js";
import * as router from "./router.js";
import { loadAccounts, loadModels } from "./status.js";
import { Stream } from "./event-stream.js";
import { Transcript } from "./transcript.js";

const POLL = 10_000;
const app = $("app");
const transcript = new Transcript(chooseAnswer);
const composer = new Composer(app, sendMessage, stopRun);
const conversations = new Conversations((id) => openConversation(id, true));
const state = { conversation: null, stream: null, earlier: null, models: false, titled: "" };

function setOnline(yes) {
  show($("offline"), !yes);
}

function setTitle(text) {
  state.titled = text;
  $("title").textContent = text || "New conversation";
  if (!router.currentRoute()) document.title = text ? `${text} · Roebot` : "Roebot";
}

function updateStopButton() {
  show($("stop"), transcript.busy);
}

/** Show a conversation (null: a new one, created by the next message). */
function openConversation(id, push = false) {
  if (push && (id !== state.conversation || location.hash)) pushAddress(id);
  if (id === state.conversation && state.stream) return closeSide();
  state.stream?.close();
  state.stream = null;
  state.conversation = id;
  state.earlier = null;
  transcript.clear();
  show($("earlier"), false);
  say($("problem"), "");
  setTitle("");
  show($("composer"), true);
  conversations.select(id);
  if (id) subscribe(id);
  updateStopButton();
  closeSide();
  composer.focus();
  return null;
}

/** Push the URL of a conversation and leave any open section. */
function pushAddress(id) {
  history.pushState({ id }, "", id ? `?c=${id}` : "/");
  router.showRoute();
}

function subscribe(id) {
  state.stream = new Stream(id, {
    online: setOnline,
    gone: () => openConversation(null, !router.currentRoute()),
    snapshot: (data) => {
      setOnline(true);
      if (state.earlier === null) state.earlier = data.next;
      show($("earlier"), Boolean(state.earlier));
      setTitle(data.conversation.title);
      show($("composer"), data.conversation.writable);
      transcript.snapshot(data.turns);
      if (data.conversation.model) refreshModel(data.conversation.model);
      updateStopButton();
    },
    turn: (turn) => {
      transcript.turn(turn);
      updateStopButton();
      if (turn.kind === "command" && turn.state === "done") refreshConversation();
      // The model may have become available since the console was opened.
      else if (!state.models) refreshModel();
      // The agent may have given a title with its answer.
      if (turn.kind === "chat" && turn.state === "done") refreshList();
    },
    delta: (delta) => transcript.delta(delta),
    steps: () => null,
    typing: () => transcript.typing(),
  });
}

async function sendMessage(text, files) {
  const eventId = newEventId();
  transcript.wait(eventId, text, files.map((file) => ({ filename: file.name })));
  try {
    const id = await ensureConversation();
    await post(`/api/conversations/${id}/messages`, messageBody(text, files, eventId));
  } catch (error) {
    transcript.settle(eventId);
    transcript.welcome();
    setOnline(error.status !== 0);
    throw error;
  }
  setOnline(true);
  refreshList();
}

// randomUUID exists only on secure origins; uniqueness is enough here.
function newEventId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function messageBody(text, files, eventId) {
  if (!files.length) return { text, event_id: eventId };
  const form = new FormData();
  form.set("text", text);
  form.set("event_id", eventId);
  for (const file of files) form.append("files", file);
  return form;
}

/** Return the id of the open conversation, creating it for the first message. */
async function ensureConversation() {
  if (state.conversation) return state.conversation;
  const made = await post("/api/conversations", {});
  state.conversation = made.id;
  pushAddress(made.id);
  conversations.select(made.id);
  subscribe(made.id);
  return made.id;
}

async function chooseAnswer(turn, part, choice) {
  await post(`/api/turns/${turn}/parts/${part}/choice`, { choice, event_id: newEventId() });
}

async function stopRun() {
  try {
    await post(`/api/conversations/${state.conversation}/stop`);
  } catch (error) {
    say($("problem"), error.message);
  }
}

async function loadEarlier() {
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
  if (found?.title) setTitle(found.title);
}

/** Refresh whatever changes without an event of this conversation. */
async function poll() {
  try {
    await Promise.all([isAdmin ? loadAccounts() : null, conversations.load(), state.models ? null : refreshModel()]);
    if (!state.stream) setOnline(true);
  } catch (error) {
    if (error.status === 0) setOnline(false);
  }
}

$("new").addEventListener("click", () => openConversation(null, true));
$("earlier").addEventListener("click", loadEarlier);
$("sign-out")?.addEventListener("click", async () => {
  await call("DELETE", "/api/session");
  location.reload();
});
addEventListener("popstate", () => {
  router.showRoute();
  if (!router.currentRoute()) openConversation(conversationInUrl());
});
$("skip").addEventListener("click", (event) => {
  event.preventDefault();
  $(router.currentRoute() ? "section-title" : "text").focus();
});

function conversationInUrl() {
  return Number(new URLSearchParams(location.search).get("c")) || null;
}

/** Someone is signed in already, so ask before signing in as another person. */
async function confirmSignIn(code) {
  const here = `You are signed in as ${$("current-user").textContent}. Continue only if you asked the bot for this link yourself.`;
  if (!(await confirmDialog("Sign in with this link?", here, "Sign in"))) return;
  await signInLink.signIn(code).catch((error) => say($("problem"), error.message));
}

signInLink.follow(confirmSignIn);
router.start(() => setTitle(state.titled));
openConversation(conversationInUrl());
get("/api/commands").then(({ commands }) => (composer.hints.commands = commands)).catch(() => null);
refreshModel();
poll();
setInterval(poll, POLL);
