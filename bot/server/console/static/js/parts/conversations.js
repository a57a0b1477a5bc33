// Conversations of an account, and one of them with its turns.

import { get } from "../api.js";
import { el } from "../dom.js";
import { excerpt, NOTHING, number, time } from "../format.js";
import { accounts } from "../me.js";
import { choice, facts, field, id, link, listing, pages, section, toolbar } from "../pieces.js";
import { repeatable, retry } from "../retry.js";
import { Stream } from "../stream.js";
import { HEADS, row, transcript } from "../talk.js";

export async function draw(view) {
  return view.rest ? one(view) : list(view);
}

async function list(view) {
  const channels = await accounts();
  const account = view.settings.get("account") || "web";
  const { found, more } = await pages(
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
    conversation.model || "the account's",
    conversation.agent || "the account's",
    time(conversation.created_at),
    time(conversation.active_at),
  ]);
  const heads = ["Conversation", "Chat", "Kind", "Whose", "Model", "Agent", "Begun", "Last used"];
  return [
    toolbar(field("Account", chosen)),
    listing("Conversations", heads, rows, "Nobody has written to this account yet."),
    more,
  ];
}

async function one(view) {
  const path = `/api/conversations/${view.rest}`;
  const [conversation, usage, turns] = await Promise.all([
    get(path),
    get(`${path}/usage?days=30`),
    pages(view, `${path}/messages`, "turns"),
  ]);
  watch(view);
  const last = repeatable(turns.found);
  return [
    toolbar(
      link(`#/conversations?account=${encodeURIComponent(conversation.account)}`, "All conversations"),
      conversation.writable ? link(`/?c=${conversation.id}`, "Open as a chat") : null,
      last ? retry(view, last) : null,
    ),
    section(conversation.title || `Conversation ${conversation.id}`, about(conversation, usage)),
    section("Turns", listing("Turns", HEADS, turns.found.map(row), "Nothing was said yet."), turns.more),
    turns.found.length ? section("Transcript", transcript(view, [...turns.found].reverse())) : null,
  ];
}

function about(conversation, usage) {
  return facts([
    ["Account", `${conversation.account} (${conversation.platform})`],
    ["Chat", [conversation.chat, conversation.topic].filter(Boolean).join(" · ")],
    ["Whose", conversation.owner || NOTHING],
    ["Thread of the agent", conversation.thread_id],
    ["Model", conversation.model || "the account's"],
    ["Agent", conversation.agent || "the account's"],
    ["Begun", time(conversation.created_at)],
    ["Last used", time(conversation.active_at)],
    ["Tokens of the last 30 days", `${number(usage.total_tokens)} in ${number(usage.turns)} turns`],
  ]);
}

/** The conversation's own events say when it has to be drawn again. */
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
