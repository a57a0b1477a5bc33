// What can be done with a whole chat: rename, export, delete.

import { html } from "../vendor/lit.js";
import { patch, remove } from "../api/client.js";
import { chatAddress, currentRoute, go } from "../app/router.js";
import { t } from "../texts/texts.js";
import { confirmDialog, formDialog, attempt } from "../ui/dialog.js";

const changed = () => dispatchEvent(new CustomEvent("chats-changed"));

/** The menu items of a chat. `rename` replaces the dialog for the new title. */
export function chatActions(chat, rename = () => askTitle(chat)) {
  return [
    ...(chat.own ? [{ text: t("chat.rename"), icon: "pencil", run: rename }] : []),
    { text: t("chat.exportMarkdown"), icon: "download", run: () => download(chat, "markdown") },
    { text: t("chat.exportJson"), icon: "download", run: () => download(chat, "json") },
    ...(chat.own ? ["-", { text: t("chat.delete"), icon: "trash-2", danger: true, run: () => deleteChat(chat) }] : []),
  ];
}

/** Give a chat a title. Throws ApiError. */
export async function renameChat(chat, title) {
  await patch(`/api/conversations/${chat.id}`, { title });
  dispatchEvent(new CustomEvent("chat-renamed", { detail: { id: chat.id, title } }));
  changed();
}

function askTitle(chat) {
  const field = () => html`<div class="field"><label for="chat-title">${t("chat.title")}</label>
    <input class="input" id="chat-title" name="title" maxlength="200" required autofocus .value=${chat.title} /></div>`;
  formDialog(t("chat.rename"), field, t("app.save"), (data) => renameChat(chat, String(data.get("title")).trim()));
}

function download(chat, format) {
  const link = document.createElement("a");
  link.href = `/api/conversations/${chat.id}/export?format=${format}`;
  link.download = "";
  link.click();
}

async function deleteChat(chat) {
  const name = chat.title || t("chat.untitled");
  if (!(await confirmDialog(t("chat.delete"), t("chat.deleteText", { name }), t("chat.deleteYes"), { danger: true }))) return;
  const done = await attempt(() => remove(`/api/conversations/${chat.id}`).then(() => true), t("chat.deleted"));
  if (!done) return;
  changed();
  if (currentRoute().conversation === chat.id) go(chatAddress(null), { replace: true });
  else /** @type {HTMLElement | null} */ (document.querySelector("#new"))?.focus();
}
