// Platform accounts: state, restart, and how to connect another one.

import { get, post } from "../api.js";
import { el } from "../dom.js";
import { time } from "../format.js";
import { render } from "../markdown.js";
import { badge, actionButton, tableOrEmpty, section } from "../components.js";

export const pollInterval = 5_000;
const KINDS = { live: "good", connecting: "warn", limited: "warn", failed: "bad", deaf: "bad" };
const HEADS = ["Account", "Platform", "State", "Reason", "Since", "Last event", "Bot name", "Actions"];

export async function draw(view) {
  const { channels, platforms } = await get("/api/channels?limit=200");
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
    section("Connect an account", ...platforms.map(connectGuide)),
  ];
}

function connectGuide({ name, title, keys, guide }) {
  const lines = Object.entries(keys).map(([key, variable]) => `    ${key}: $${variable}`);
  const settings = ["channels:", `  ${name}:`, ...lines].join("\n");
  const steps = [
    el("li", {}, el("code", {}, `.venv/bin/roebot init ${name}`), " prints the steps to complete on the platform."),
    el("li", {}, "It then asks for the credentials, verifies them and writes them to config.yaml. To add them manually:"),
  ];
  const start = "Changes to the file are applied within seconds. New environment variables require a service restart.";
  return el(
    "details",
    { id: `connect-${name}` },
    el("summary", {}, title),
    el("ol", { className: "steps" }, ...steps),
    el("pre", { tabIndex: 0 }, settings),
    el("p", { className: "none" }, start),
    ...(guide ? [renderGuide(guide)] : []),
  );
}

function renderGuide(html) {
  const box = el("div", { className: "markdown" });
  render(box, html);
  return box;
}
