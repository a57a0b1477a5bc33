// Marks where a text matches what was searched.

import { html } from "../vendor/lit.js";

/** The template of a text with each match of `typed` marked. */
export function marked(text, typed) {
  if (!typed) return text;
  const found = typed.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.split(new RegExp(`(${found})`, "gi")).map((piece, place) => (place % 2 ? html`<mark>${piece}</mark>` : piece));
}
