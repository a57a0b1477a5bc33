// Keys that work everywhere, and the list of them.

import { html } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { openDialog } from "../ui/dialog.js";
import { chatAddress, go } from "./router.js";

const LIST = [
  ["keys.palette", ["Ctrl", "K"]],
  ["keys.newChat", ["Ctrl", "Shift", "O"]],
  ["keys.editLast", ["↑"]],
  ["keys.close", ["Esc"]],
  ["keys.send", ["Enter"]],
  ["keys.newLine", ["Shift", "Enter"]],
  ["keys.help", ["?"]],
];

/** Open search over pages, chats and messages. */
export const openPalette = () => import("./palette.js").then((found) => found.open());

/** Show the keyboard shortcuts. */
export function showShortcuts() {
  openDialog(
    t("keys.title"),
    (close) => html`<dl class="shortcuts">
        ${LIST.map(([key, keys]) => html`<div class="row spread"><dt>${t(/** @type {string} */ (key))}</dt><dd>${/** @type {string[]} */ (keys).map((one) => html`<kbd>${one}</kbd> `)}</dd></div>`)}
      </dl>
      <div class="answers"><button class="button" autofocus @click=${() => close()}>${t("app.close")}</button></div>`,
  );
}

const typing = (target) => target.closest?.("input, textarea, select, [contenteditable]");

addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  const control = event.ctrlKey || event.metaKey;
  if (control && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
  } else if (control && event.shiftKey && event.key.toLowerCase() === "o") {
    event.preventDefault();
    go(chatAddress(null));
  } else if (event.key === "?" && !typing(event.target) && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    showShortcuts();
  }
});
