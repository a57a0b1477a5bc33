// Base of our elements.

import { LitElement } from "../vendor/lit.js";

/** A Lit element without a shadow tree, so that styles, labels and anchors of the page reach it. */
export class Element extends LitElement {
  createRenderRoot() {
    return this;
  }
}

/**
 * Define an element once. Fields of reactive state are set in the constructor: class fields would hide the accessors.
 * @template T
 * @param {string} tag
 * @param {T} type
 * @returns {T}
 */
export function define(tag, type) {
  customElements.define(tag, type);
  return type;
}
