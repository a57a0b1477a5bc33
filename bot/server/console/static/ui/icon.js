// Icons of the sprite.

import { html, svg } from "../vendor/lit.js";

/** An icon by its name in the sprite; it is decoration, so the control around it has the label. */
export const icon = (name) => html`<svg class="glyph" aria-hidden="true">${svg`<use href="/static/vendor/icons.svg#${name}"></use>`}</svg>`;
