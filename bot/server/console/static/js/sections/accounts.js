// Platform accounts: state, restart, and how to connect another one.

import { get, post } from "../api.js";
import { el } from "../dom.js";
import { time } from "../format.js";
import { badge, actionButton, tableOrEmpty, section } from "../components.js";

export const pollInterval = 5_000;
const KINDS = { live: "good", connecting: "warn", limited: "warn", failed: "bad", deaf: "bad" };
const HEADS = ["Account", "Platform", "State", "Reason", "Since", "Last event", "Bot name", "Actions"];
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
    actionButton(view, "Restart", {
      id: `restart-${channel.account}`,
      about: channel.account,
      ask: `This restarts ${channel.account}. Accepted messages will be answered once it has reconnected.`,
      work: () => post(`/api/channels/${encodeURIComponent(channel.account)}/restart`),
      done: `Restarting ${channel.account}…`,
    }),
  ]);
  return [
    tableOrEmpty("Accounts", HEADS, rows, "No accounts are configured."),
    section("Connect an account", ...PLATFORMS.map(([name, key, lines]) => guide(name, key, lines))),
  ];
}

function guide(name, key, lines) {
  const settings = ["channels:", `  ${key}:`, ...lines.map((line) => `    ${line}`)].join("\n");
  const steps = [
    el("li", {}, el("code", {}, `.venv/bin/roebot init ${key}`), " prints the steps to complete on the platform."),
    el("li", {}, "It then asks for the credentials, verifies them and writes them to config.yaml. To add them manually:"),
  ];
  const start = "Changes to the file are applied within seconds. New environment variables require a service restart.";
  return el(
    "details",
    { id: `connect-${key}` },
    el("summary", {}, name),
    el("ol", { className: "steps" }, ...steps),
    el("pre", { tabIndex: 0 }, settings),
    el("p", { className: "none" }, start),
  );
}
