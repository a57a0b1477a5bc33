// The accounts on platforms: how they are, starting one anew, and how to connect one more.

import { get, post } from "../api.js";
import { el } from "../dom.js";
import { time } from "../format.js";
import { badge, deed, listing, section } from "../pieces.js";

export const every = 5_000;
const KINDS = { live: "good", connecting: "warn", limited: "warn", failed: "bad", deaf: "bad" };
const HEADS = ["Account", "Platform", "State", "Why", "Since", "Last event", "Known there as", "Actions"];
const PLATFORMS = [
  ["Slack", "slack", ["bot_token: $SLACK_BOT_TOKEN", "app_token: $SLACK_APP_TOKEN"]],
  ["Telegram", "telegram", ["bot_token: $TELEGRAM_BOT_TOKEN"]],
  ["Feishu or Lark", "feishu", ["app_id: $FEISHU_APP_ID", "app_secret: $FEISHU_APP_SECRET"]],
  ["Discord", "discord", ["bot_token: $DISCORD_BOT_TOKEN"]],
];

export async function draw(view) {
  const { channels } = await get("/api/channels?limit=200");
  const rows = channels.map((channel) => [
    channel.account,
    channel.platform,
    badge(channel.state, KINDS[channel.state]),
    channel.reason,
    time(channel.since),
    time(channel.last_event),
    channel.identity,
    deed(view, "Restart", {
      id: `restart-${channel.account}`,
      about: channel.account,
      ask: `${channel.account} is stopped and started anew. What was accepted goes on when it is there again.`,
      work: () => post(`/api/channels/${encodeURIComponent(channel.account)}/restart`),
      done: `${channel.account} starts anew.`,
    }),
  ]);
  return [
    listing("Accounts", HEADS, rows, "There are no accounts."),
    section("Connect an account", ...PLATFORMS.map(([name, key, lines]) => guide(name, key, lines))),
  ];
}

function guide(name, key, lines) {
  const settings = ["channels:", `  ${key}:`, ...lines.map((line) => `    ${line}`)].join("\n");
  const steps = [
    el("li", {}, el("code", {}, `.venv/bin/roebot init ${key}`), " prints how to make the bot there."),
    el("li", {}, "It asks for the tokens, tries them, and writes them into config.yaml. By hand it is:"),
  ];
  const start = "A changed file is taken over within seconds; what is new in the environment, with the next start.";
  return el(
    "details",
    { id: `connect-${key}` },
    el("summary", {}, name),
    el("ol", { className: "steps" }, ...steps),
    el("pre", { tabIndex: 0 }, settings),
    el("p", { className: "none" }, start),
  );
}
