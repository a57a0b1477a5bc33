// The model in the header and the accounts in the sidebar.

import { get, post } from "./api.js";
import { $, el, show } from "./dom.js";

const HIDDEN = "roebot.note";

export async function loadModels(chosen = "") {
  let found;
  try {
    found = await get("/api/models");
  } catch (error) {
    draw({ kind: "none", name: "No model", note: error.status === 404 ? "" : `Models: ${error.message}` });
    return error.status === 404;
  }
  const name = chosen || found.default;
  const model = found.models.find((other) => other.name === name);
  if (!model) draw({ kind: "none", name: "No model", note: `No model is available yet. ${found.reason}` });
  else draw({ kind: model.source, name: model.display_name, note: model.note, title: found.reason });
  return true;
}

function draw({ kind, name, note, title = "" }) {
  $("model").dataset.kind = kind;
  $("model").title = title;
  $("model-name").textContent = name;
  show($("model"), true);
  const hidden = note && sessionStorage.getItem(HIDDEN) === note;
  $("model-note").dataset.note = note || "";
  $("note-text").textContent = note || "";
  show($("model-note"), Boolean(note) && !hidden);
}

$("hide-note").addEventListener("click", () => {
  sessionStorage.setItem(HIDDEN, $("model-note").dataset.note);
  show($("model-note"), false);
  $("text").focus();
});

export async function loadAccounts() {
  const { channels } = await get("/api/channels?limit=200");
  $("accounts").replaceChildren(...channels.map(account));
}

function account(channel) {
  const item = el("li", { className: "account" });
  item.dataset.state = channel.state;
  item.dataset.account = channel.account;
  const name = channel.identity ? `${channel.account} (${channel.identity})` : channel.account;
  item.append(
    el("span", { className: "dot", "aria-hidden": "true" }),
    el("span", {}, name),
    el("span", { className: "state" }, channel.state),
  );
  if (channel.reason) item.append(el("span", { className: "reason" }, channel.reason));
  if (["failed", "deaf"].includes(channel.state)) item.append(restartButton(channel));
  return item;
}

function restartButton(channel) {
  const button = el("button", { type: "button", className: "restart link" }, "Restart");
  button.addEventListener("click", async () => {
    button.disabled = true;
    await post(`/api/channels/${encodeURIComponent(channel.account)}/restart`).catch(() => null);
    await loadAccounts().catch(() => null);
  });
  return button;
}
