// A button that opens a menu.

import { html, nothing } from "../vendor/lit.js";
import { icon } from "./icon.js";
import { openMenu } from "./dialog.js";

const draw = ({ item, pick }) => {
  if (item === "-") return html`<hr role="separator" />`;
  if (item.title) return html`<p class="title" role="presentation">${item.title}</p>`;
  const checks = item.checked !== undefined;
  return html`<button class="item ${item.danger ? "problem" : ""}" role=${checks ? "menuitemradio" : "menuitem"}
    aria-checked=${checks ? String(item.checked) : nothing} @click=${pick}>
    ${item.icon ? icon(item.icon) : nothing}<span class="grow words">${item.text}</span>
    ${item.checked ? icon("check") : item.hint ? html`<kbd>${item.hint}</kbd>` : nothing}
  </button>`;
};

/** A button with a menu; `items` is an array, or a function that returns one. */
export function menuButton(label, glyph, items, className = "ghost icon") {
  const open = (event) => openMenu(event.currentTarget, typeof items === "function" ? items() : items, draw);
  return html`<button class="button ${className}" type="button" aria-label=${label} title=${label} aria-haspopup="menu"
    aria-expanded="false" @click=${open}>${icon(glyph)}</button>`;
}

/** Open a menu at any element. */
export const menuAt = (anchor, items) => openMenu(anchor, items, draw);
