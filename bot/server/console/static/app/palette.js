// Search over pages and chats (Ctrl+K).

import { html } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { openDialog } from "../ui/dialog.js";
import { icon } from "../ui/icon.js";
import { PAGES } from "./pages.js";
import { go } from "./router.js";

/** Open the palette. */
export function open() {
  if (document.querySelector("dialog[open]")) return;
  let typed = "";
  const matches = () => PAGES.filter(({ name }) => t(`page.${name}`).toLowerCase().includes(typed.toLowerCase()));
  openDialog(t("app.search"), (close, redraw) => {
    const pick = (page) => {
      close();
      go(`#/${page.name}`);
    };
    const changed = (event) => {
      typed = event.target.value;
      redraw();
    };
    return html`<input class="input" type="search" autofocus aria-label=${t("app.search")} @input=${changed}
        @keydown=${(event) => event.key === "Enter" && matches()[0] && pick(matches()[0])} />
      <div class="stack">${matches().map((page) => html`<button class="nav-item" @click=${() => pick(page)}>${icon(page.icon)}${t(`page.${page.name}`)}</button>`)}</div>`;
  });
}
