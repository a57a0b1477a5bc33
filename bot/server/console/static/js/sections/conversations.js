// Conversations of an account, and one with its turns.

import { get } from "../api.js";
import { cost, excerpt, NOTHING, number, time } from "../format.js";
import { accounts } from "../current-user.js";
import { choice, facts, field, id, link, tableOrEmpty, fetchPages, section, toolbar } from "../components.js";
import { findRetryable, retryButton } from "../retry.js";
import { Stream } from "../event-stream.js";
import { HEADS, row, transcript } from "../turn-view.js";

export async function draw(view) {
  return view.rest ? one(view) : list(view);
}

async function list(view) {
  const channels = await accounts();
  const account = view.settings.get("account") || "web";
  const { found, more } = await fetchPages(
    view,
    `/api/conversations?account=${encodeURIComponent(account)}`,
    "conversations",
  );
  const chosen = choice(channels.map((channel) => [channel.account, channel.account]), account, { id: "account" });
  chosen.addEventListener("change", () => {
    location.hash = `#/conversations?account=${encodeURIComponent(chosen.value)}`;
  });
  const rows = found.map((conversation) => [
    link(`#/conversations/${conversation.id}`, excerpt(conversation.title) || `Conversation ${conversation.id}`),
    id([conversation.chat, conversation.topic].filter(Boolean).join(" · ")),
    conversation.chat_kind,
    conversation.owner || NOTHING,
    conversation.model || "default",
    conversation.agent || "default",
    time(conversation.created_at),
    time(conversation.active_at),
  ]);
  const heads = ["Conversation", "Chat", "Type", "Owner", "Model", "Agent", "Started", "Last active"];
  return [
    toolbar(field("Account", chosen)),
    tableOrEmpty("Conversations", heads, rows, "No conversations on this account yet."),
    more,
  ];
}

async function one(view) {
  const path = `/api/conversations/${view.rest}`;
  const [conversation, usage, turns] = await Promise.all([
    get(path),
    get(`${path}/usage?days=30`),
    fetchPages(view, `${path}/messages`, "turns"),
  ]);
  watch(view);
  const last = findRetryable(turns.found);
  return [
    toolbar(
      link(`#/conversations?account=${encodeURIComponent(conversation.account)}`, "All conversations"),
      conversation.writable ? link(`/?c=${conversation.id}`, "Open in chat") : null,
      last ? retryButton(view, last) : null,
    ),
    section(conversation.title || `Conversation ${conversation.id}`, about(conversation, usage)),
    section("Turns", tableOrEmpty("Turns", HEADS, turns.found.map(row), "No turns yet."), turns.more),
    turns.found.length ? section("Transcript", transcript(view, [...turns.found].reverse())) : null,
  ];
}

function about(conversation, usage) {
  return facts([
    ["Account", `${conversation.account} (${conversation.platform})`],
    ["Chat", [conversation.chat, conversation.topic].filter(Boolean).join(" · ")],
    ["Owner", conversation.owner || NOTHING],
    ["Agent thread", conversation.thread_id],
    ["Model", conversation.model || "default"],
    ["Agent", conversation.agent || "default"],
    ["Started", time(conversation.created_at)],
    ["Last active", time(conversation.active_at)],
    ["Tokens in the last 30 days", number(usage.total_tokens)],
    ["Cached tokens in the last 30 days", number(usage.cached_tokens)],
    ["Cost in the last 30 days", cost(usage)],
    ["Answers in the last 30 days", number(usage.turns)],
  ]);
}

/** Redraw when the conversation has new events. */
function watch(view) {
  if (view.stream || view.closed) return;
  const nothing = () => null;
  const changed = () => view.soon();
  view.stream = new Stream(Number(view.rest), {
    online: nothing,
    gone: nothing,
    snapshot: nothing,
    turn: changed,
    part: nothing,
    typing: nothing,
  });
}
