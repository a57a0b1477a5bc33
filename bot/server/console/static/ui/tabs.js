// Tabs that are links, so that each has its address.

import { html, nothing } from "../vendor/lit.js";

/** @param {string} label @param {{href: string, text: string, count?: number | string, current: boolean}[]} items */
export function tabs(label, items) {
  return html`<nav class="tabs" aria-label=${label}>
    ${items.map(({ href, text, count, current }) => html`<a data-go href=${href} aria-current=${current ? "page" : nothing}>${text}
      ${count ? html`<span class="badge">${count}</span>` : nothing}</a>`)}
  </nav>`;
}
