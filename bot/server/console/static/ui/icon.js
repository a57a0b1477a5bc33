// Icons of the sprite.

import { html, svg } from "../vendor/lit.js";

const SPRITE = new URL("../vendor/icons.svg", import.meta.url).pathname;

/** An icon by its name in the sprite; it is decoration, so the control around it has the label. */
export const icon = (name) => html`<svg class="glyph" aria-hidden="true">${svg`<use href="${SPRITE}#${name}"></use>`}</svg>`;
